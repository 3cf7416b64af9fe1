//! The objects that a pack needs in Omnia, in the order in which they are applied.
//!
//! In: pack, arena configuration, deploy configuration, which registry serves the tools, and where the objects are written. Out:
//! [`Desired`]: each object with the body that is sent. Fails: with everything that cannot be named, or that the target cannot
//! express and must not lose, such as a blocklist; all of it is known before the first write.
//!
//! Each kind is in a file of its own, which says what is in its object for each target.

use lifecycle_config::diagnostics::Diagnostics;
use promptkit_pack::arena::Arena;
use promptkit_pack::pack::{self, Pack};
use promptkit_pack::reader::Reader;
use serde_json::{Map, Value, json};

use crate::binding::Binding;
use crate::config::{self, Config};
use crate::kinds::{Kind, Surface};
use crate::labels;
use crate::names::{self, Names, Prompts};

mod agent_policy;
mod agent_runtime;
mod config_map;
mod prompt_pack;
mod tool_registry;

/// An object with its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The kind of the object.
    pub kind: Kind,
    /// The name of the object.
    pub name: String,
    /// What is sent.
    pub body: Value,
}

/// What a deployment is made of.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The pack.
    pub pack: &'a Pack,
    /// The arena configuration.
    pub arena: &'a Arena,
    /// The deploy configuration.
    pub config: &'a Config,
    /// Which registry serves the tools.
    pub binding: &'a Binding,
    /// Where the objects are written.
    pub surface: Surface,
    /// Whether today's API takes all of it in [one request](crate::intent), which says more than the objects do.
    pub in_one_request: bool,
}

/// The objects of a pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The objects, in the order of application.
    pub objects: Vec<Object>,
    /// The names of objects and agents.
    pub names: Names,
    /// The environment variables whose values the Secret of the tools' credentials has; sorted.
    pub variables: Vec<String>,
    /// What the target leaves out, and what is hardly meant.
    pub warnings: Diagnostics,
}

/// What the bodies are made of, and where their mistakes go.
struct Making<'a> {
    inputs: Inputs<'a>,
    names: Names,
    blocklist: Vec<String>,
    /// The entries of the registry that is made.
    tools: Vec<Value>,
    of_pack: Reader,
    of_config: Reader,
}

/// Says which objects a pack needs.
///
/// # Errors
/// An object cannot be named, or the target cannot express what must not be lost. All mistakes are reported.
pub fn desired(inputs: Inputs<'_>) -> Result<Desired, Diagnostics> {
    let of_pack = Reader::new(pack::FILE);
    let prompts = match inputs.surface {
        Surface::Current => Prompts::Apart,
        Surface::Versioned | Surface::Cluster => Prompts::Together,
    };
    let names = names::of(inputs.pack, prompts, &of_pack);
    let (blocklist, of_config) = (inputs.pack.blocklist(), Reader::new(config::FILE));
    let mut making = Making { inputs, names, blocklist, tools: Vec::new(), of_pack, of_config };
    making.warn_of_what_is_left_out();
    let (tools, variables) = tool_registry::entries(&making);
    making.tools = tools;
    let contents = [
        (Kind::ConfigMap, making.names.config_map.clone(), config_map::content(&making)),
        (Kind::PromptPack, making.names.pack.clone(), Some(prompt_pack::content(&making))),
        (Kind::ToolRegistry, making.names.tools.clone(), tool_registry::content(&making)),
        (Kind::AgentPolicy, making.names.policy.clone(), agent_policy::content(&making)),
    ];
    let agents = making.names.agents.iter();
    let agents = agents.map(|it| (Kind::AgentRuntime, it.runtime.clone(), Some(agent_runtime::content(&making, it))));
    let object = |(kind, name, content): (Kind, String, Option<Map<String, Value>>)| {
        let body = making.body(kind, &name, content?);
        Some(Object { kind, name, body })
    };
    let objects = contents.into_iter().chain(agents).filter_map(object).collect();
    making.finish(objects, variables)
}

impl Making<'_> {
    fn body(&self, kind: Kind, name: &str, content: Map<String, Value>) -> Value {
        let Inputs { pack, config, surface, .. } = self.inputs;
        let labels = labels::of(&pack.id, &pack.version, kind.type_name(), &config.labels);
        let mut metadata = json!({ "name": name, "labels": labels });
        let mut body = match surface {
            Surface::Versioned => present([("kind", Some(json!(kind.name())))]),
            Surface::Current => Map::new(),
            Surface::Cluster => {
                metadata["namespace"] = json!(config.workspace);
                present([("apiVersion", Some(json!(kind.api_version()))), ("kind", Some(json!(kind.name())))])
            }
        };
        body.insert("metadata".to_owned(), metadata);
        body.extend(content);
        Value::Object(body)
    }

    /// The name of the registry that serves the agents' tools.
    fn registry(&self) -> Option<&str> {
        match self.inputs.binding {
            Binding::Create => Some(self.names.tools.as_str()).filter(|_| !self.tools.is_empty()),
            Binding::Bind(name) => Some(name),
            Binding::None => None,
        }
    }

    fn has_policy(&self) -> bool {
        !self.blocklist.is_empty() && self.inputs.surface != Surface::Cluster
    }

    /// Who may call an agent must not be lost, so it is an error; anything else that a target lacks is a warning.
    fn warn_of_what_is_left_out(&self) {
        let Inputs { config, surface, .. } = self.inputs;
        let is_plain = surface != Surface::Current;
        let all = [
            ("skills", is_plain && !config.skills.is_empty()),
            ("skillsConfig", is_plain && config.skills_config.is_some()),
            ("memory", is_plain && config.memory.is_some()),
            ("evals", is_plain && config.evals.is_some()),
            ("rollout", config.rollout.is_some() && !self.inputs.in_one_request),
            ("runtime", surface == Surface::Versioned && config.runtime.autoscaling.is_some()),
            ("tools", surface == Surface::Versioned && !config.tools.is_empty()),
        ];
        let null = Value::Null;
        let root = self.of_config.root(&null);
        let place = surface.describe();
        for (key, _) in all.into_iter().filter(|(_, is_left_out)| *is_left_out) {
            root.key(key).warn(
                format!("{place} has no field for all of it: it is left out in part or whole"),
                format!("remove `{key}`"),
            );
        }
        if is_plain && config.external_auth.is_some() {
            let message = format!("{place} cannot say who may call an agent");
            root.key("externalAuth").refuse(message, "remove it, or deploy to a server of today".to_owned());
        }
    }

    /// Refuses the blocklists in which a tool stands that the target would not block.
    fn refuse_blocked(&self, tool: &str, why: &str, cure: &str) {
        let null = Value::Null;
        let prompts = self.of_pack.root(&null).key("prompts");
        let blocks = |(_, prompt): &(&String, &pack::Prompt)| prompt.tool_policy.blocklist.iter().any(|it| it == tool);
        for (key, _) in self.inputs.pack.prompts.iter().filter(blocks) {
            let place = prompts.key(key).key("tool_policy").key("blocklist");
            place.refuse(format!("`{tool}` would not be blocked: {why}"), cure.to_owned());
        }
    }

    fn finish(self, objects: Vec<Object>, variables: Vec<String>) -> Result<Desired, Diagnostics> {
        let mut found = self.of_pack.into_found();
        found.extend(self.of_config.into_found());
        if found.has_errors() {
            return Err(found);
        }
        Ok(Desired { objects, names: self.names, variables, warnings: found })
    }
}

/// An object of the fields that have a value.
fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The object, if it has a field.
fn filled(object: Map<String, Value>) -> Option<Value> {
    (!object.is_empty()).then_some(Value::Object(object))
}

#[cfg(test)]
mod tests;
