//! What deploy adapters read of a pack.
//!
//! In: the text of a pack. Out: a [`Pack`], with the text itself, which some targets store as it is. Fails: with every mistake at
//! once. Reads as leniently as the adapters of others: `{}` is a pack, unknown keys are skipped, and only a wrong type or a text
//! that is no JSON object is refused. [`schema`](crate::schema) says what else the published schema asks.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_config::diagnostics::Diagnostics;
use serde_json::Value;

use crate::reader::{Field, Reader};

/// The name of the pack's text in diagnostics.
pub const FILE: &str = "pack";
/// The share of conversations that an eval samples unless it says otherwise, in percent.
const SAMPLE_PERCENTAGE: f64 = 5.0;
/// The mode of an agent that names none.
const TEXT_PLAIN: &str = "text/plain";
/// Tools with this in their names are the runtime's own.
const SYSTEM: &str = "__";

/// A pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// The text from which the pack was read.
    pub text: String,
    /// The id; empty if the pack has none.
    pub id: String,
    /// The version; empty if the pack has none.
    pub version: String,
    /// What the pack is for.
    pub description: Option<String>,
    /// The prompts, by their keys.
    pub prompts: BTreeMap<String, Prompt>,
    /// The tools, by their keys.
    pub tools: BTreeMap<String, Tool>,
    /// The agents of a multi-agent pack.
    pub agents: Agents,
    /// The evals of the pack; those of a prompt are there.
    pub evals: Vec<Eval>,
}

/// A prompt of a pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The id; the prompt's key, if it names none.
    pub id: String,
    /// The validators, in the author's order.
    pub validators: Vec<Validator>,
    /// The evals of this prompt alone.
    pub evals: Vec<Eval>,
    /// What the prompt may do with tools.
    pub tool_policy: ToolPolicy,
}

/// A check of what a model says.
#[derive(Debug, Clone, PartialEq)]
pub struct Validator {
    /// The kind of check.
    pub kind: String,
    /// Whether it runs; true unless the author says otherwise.
    pub enabled: bool,
    /// Whether a violation fails the answer.
    pub fail_on_violation: bool,
    /// What the check takes.
    pub params: BTreeMap<String, Value>,
}

/// What a prompt, or a scenario, may do with tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// The most rounds of tool calls in a turn.
    pub max_rounds: Option<i64>,
    /// The most calls in a turn.
    pub max_tool_calls_per_turn: Option<i64>,
    /// The tools that must not be called, as the author wrote them.
    pub blocklist: Vec<String>,
}

/// A tool that the pack's prompts may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name; the tool's key, if it names none.
    pub name: String,
    /// What the tool does.
    pub description: Option<String>,
    /// The JSON Schema of its parameters.
    pub parameters: Option<Value>,
}

/// The agents of a pack. There are several iff there is a member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agents {
    /// The member that is asked first; empty if the pack names none.
    pub entry: String,
    /// The agents, sorted by name.
    pub members: BTreeMap<String, Member>,
}

/// An agent of a multi-agent pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What the agent does.
    pub description: Option<String>,
    /// The author's tags.
    pub tags: Vec<String>,
    /// What it reads, as media types.
    pub input_modes: Vec<String>,
    /// What it writes, as media types.
    pub output_modes: Vec<String>,
    /// What the agent keeps between turns, as the author wrote it.
    pub state: Option<Value>,
}

/// An evaluation of what agents say.
#[derive(Debug, Clone, PartialEq)]
pub struct Eval {
    /// The id of the eval.
    pub id: String,
    /// The kind of eval, such as `llm_as_judge`.
    pub kind: String,
    /// When the eval runs.
    pub trigger: Option<String>,
    /// What the eval takes.
    pub params: BTreeMap<String, Value>,
    /// What the eval finds out.
    pub description: Option<String>,
    /// Whether it runs; true unless the author says otherwise.
    pub enabled: bool,
    /// The share of conversations that is sampled, in percent.
    pub sample_percentage: f64,
    /// The figure that the eval reports.
    pub metric: Option<Metric>,
}

/// The figure of an eval.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The name of the metric.
    pub name: String,
    /// `gauge`, `counter`, `histogram` or `boolean`; empty if the author names none.
    pub kind: String,
    /// The lower bound of the values.
    pub min: Option<f64>,
    /// The upper bound of the values.
    pub max: Option<f64>,
}

/// Reads a pack.
///
/// # Errors
/// The text is no JSON object, or a value has a wrong type. All mistakes are reported.
pub fn read(text: &str) -> Result<Pack, Diagnostics> {
    let reader = Reader::new(FILE);
    let value = reader.parse(text);
    let pack = pack(text, &reader.root(&value));
    reader.finish(pack).map(|(pack, _)| pack)
}

impl Pack {
    /// The tools that some prompt must not call: sorted, each once.
    #[must_use]
    pub fn blocklist(&self) -> Vec<String> {
        union(self.prompts.values().map(|prompt| &prompt.tool_policy))
    }

    /// Whether the pack has agents of its own.
    #[must_use]
    pub fn is_multi_agent(&self) -> bool {
        !self.agents.members.is_empty()
    }
}

impl Tool {
    /// Whether the runtime serves the tool by itself.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.name.contains(SYSTEM)
    }
}

/// The tools that some of these policies block: sorted, each once.
#[must_use]
pub fn union<'p>(policies: impl IntoIterator<Item = &'p ToolPolicy>) -> Vec<String> {
    let all: BTreeSet<_> = policies.into_iter().flat_map(|policy| &policy.blocklist).collect();
    all.into_iter().cloned().collect()
}

fn pack(text: &str, root: &Field<'_>) -> Pack {
    let agents = root.key("agents");
    Pack {
        text: text.to_owned(),
        id: root.key("id").text().unwrap_or_default(),
        version: root.key("version").text().unwrap_or_default(),
        description: root.key("description").filled(),
        prompts: keyed(&root.key("prompts"), prompt),
        tools: keyed(&root.key("tools"), tool),
        agents: Agents {
            entry: agents.key("entry").text().unwrap_or_default(),
            members: keyed(&agents.key("members"), |_, field| member(field)),
        },
        evals: evals(&root.key("evals")),
    }
}

fn keyed<T>(map: &Field<'_>, read: impl Fn(&str, &Field<'_>) -> T) -> BTreeMap<String, T> {
    map.entries().iter().map(|(key, field)| ((*key).to_owned(), read(key, field))).collect()
}

fn prompt(key: &str, field: &Field<'_>) -> Prompt {
    Prompt {
        id: field.key("id").filled().unwrap_or_else(|| key.to_owned()),
        validators: field.key("validators").items().iter().map(validator).collect(),
        evals: evals(&field.key("evals")),
        tool_policy: tool_policy(&field.key("tool_policy")),
    }
}

fn validator(field: &Field<'_>) -> Validator {
    Validator {
        kind: field.key("type").text().unwrap_or_default(),
        enabled: field.key("enabled").flag().unwrap_or(true),
        fail_on_violation: field.key("fail_on_violation").flag().unwrap_or_default(),
        params: values(&field.key("params")),
    }
}

pub(crate) fn tool_policy(field: &Field<'_>) -> ToolPolicy {
    let limit = |key: &str| field.key(key).whole(i64::MIN, i64::MAX);
    ToolPolicy {
        max_rounds: limit("max_rounds"),
        max_tool_calls_per_turn: limit("max_tool_calls_per_turn"),
        blocklist: field.key("blocklist").texts(),
    }
}

fn tool(key: &str, field: &Field<'_>) -> Tool {
    let parameters = field.key("parameters");
    Tool {
        name: field.key("name").filled().unwrap_or_else(|| key.to_owned()),
        description: field.key("description").filled(),
        parameters: parameters.object().map(|schema| Value::Object(schema.clone())),
    }
}

fn member(field: &Field<'_>) -> Member {
    let modes = |key: &str| {
        let modes = field.key(key).texts();
        if modes.is_empty() { vec![TEXT_PLAIN.to_owned()] } else { modes }
    };
    Member {
        description: field.key("description").filled(),
        tags: field.key("tags").texts(),
        input_modes: modes("input_modes"),
        output_modes: modes("output_modes"),
        state: field.key("state").any(),
    }
}

fn evals(list: &Field<'_>) -> Vec<Eval> {
    list.items().iter().map(eval).collect()
}

fn eval(field: &Field<'_>) -> Eval {
    let metric = field.key("metric");
    Eval {
        id: field.key("id").text().unwrap_or_default(),
        kind: field.key("type").text().unwrap_or_default(),
        trigger: field.key("trigger").filled(),
        params: values(&field.key("params")),
        description: field.key("description").filled(),
        enabled: field.key("enabled").flag().unwrap_or(true),
        sample_percentage: field.key("sample_percentage").number().unwrap_or(SAMPLE_PERCENTAGE),
        metric: metric.object().map(|_| Metric {
            name: metric.key("name").text().unwrap_or_default(),
            kind: metric.key("type").text().unwrap_or_default(),
            min: metric.key("range").key("min").number(),
            max: metric.key("range").key("max").number(),
        }),
    }
}

fn values(map: &Field<'_>) -> BTreeMap<String, Value> {
    map.object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests;
