//! The rules of the published schema of packs, built in: nothing is fetched, and no pack names its own judge.
//!
//! In: the text of a pack. Out: the version of the schema that the pack names, and every breach of its rules, with path and
//! cure. Fails never.
//!
//! The rules are those that deploy adapters rely on: the required fields, and the forms of names, versions and metrics. They
//! are the same from 1.0 to 1.4, as far as we know them. The published schema says more about what only the runtime of prompts
//! reads, such as templates and media; an adapter that refused a pack for it would know more than the program that runs it.

use lifecycle_config::diagnostics::Diagnostics;

use crate::pack::FILE;
use crate::reader::{Field, Reader};
use crate::rule::{PACK_ID, PROMPT_ID, Rule, TOOL_NAME, VERSION};

/// A version of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 1.0.
    V1_0,
    /// 1.1.
    V1_1,
    /// 1.2.
    V1_2,
    /// 1.3.
    V1_3,
    /// 1.4, the latest: packs that name no version are judged by it.
    V1_4,
}

impl Version {
    /// The versions and their names, as they stand in the URL of a schema.
    pub const ALL: [(Self, &'static str); 5] =
        [(Self::V1_0, "1.0"), (Self::V1_1, "1.1"), (Self::V1_2, "1.2"), (Self::V1_3, "1.3"), (Self::V1_4, "1.4")];

    /// The version that a URL names; `None` if it names an unknown one.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        let names = |segment: &str| {
            let number = segment.strip_prefix('v').unwrap_or(segment);
            // `1.4.2` is a correction of `1.4`.
            let is_it =
                |name: &str| number == name || number.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            Self::ALL.iter().find(|(_, name)| is_it(name)).map(|(version, _)| *version)
        };
        url.split('/').find_map(|segment| if segment == "latest" { Some(Self::V1_4) } else { names(segment) })
    }
}

/// The kinds of metrics.
const METRICS: [&str; 4] = ["gauge", "counter", "histogram", "boolean"];

/// Checks a pack against its schema. An unknown `$schema` is a warning, and the latest version is used.
#[must_use]
pub fn check(text: &str) -> (Version, Diagnostics) {
    let reader = Reader::new(FILE);
    let value = reader.parse(text);
    let version = judge(&reader.root(&value));
    (version, reader.into_found())
}

fn judge(root: &Field<'_>) -> Version {
    named(root, "id", PACK_ID);
    named(root, "version", VERSION);
    root.key("name").required("write a name for people");
    root.key("name").text();
    root.key("template_engine").required("write `{\"version\": \"v1\", \"syntax\": \"{{variable}}\"}`");
    root.key("template_engine").object();
    let prompts = root.key("prompts");
    if prompts.entries().is_empty() {
        prompts.refuse("has no prompt".to_owned(), "write one prompt at least".to_owned());
    }
    for (_, prompt) in prompts.entries() {
        prompt.key("id").keeps(&PROMPT_ID);
        evals(&prompt.key("evals"));
    }
    for (_, tool) in root.key("tools").entries() {
        tool.key("name").keeps(&TOOL_NAME);
    }
    agents(&root.key("agents"));
    evals(&root.key("evals"));
    version(&root.key("$schema"))
}

fn named(root: &Field<'_>, key: &str, rule: Rule) {
    root.key(key).required(rule.cure);
    root.key(key).keeps(&rule);
}

fn agents(agents: &Field<'_>) {
    let members = agents.key("members");
    let names: Vec<_> = members.entries().into_iter().map(|(name, _)| name).collect();
    if let Some(entry) = agents.key("entry").filled().filter(|entry| !names.contains(&entry.as_str())) {
        let cure = names.first().map_or_else(
            || "write the entry's agent into `members`".to_owned(),
            |name| format!("write the name of a member, such as `{name}`"),
        );
        agents.key("entry").refuse(format!("`{entry}` is no member"), cure);
    }
}

fn evals(list: &Field<'_>) {
    for eval in list.items() {
        eval.key("id").required("write an id");
        eval.key("type").required("write the kind of eval, such as `llm_as_judge`");
        let metric = eval.key("metric");
        if metric.is_set() {
            metric.key("name").required("write the name of the metric");
            metric.key("type").choice(&METRICS);
        }
    }
}

fn version(schema: &Field<'_>) -> Version {
    let Some(url) = schema.filled() else { return Version::V1_4 };
    Version::of(&url).unwrap_or_else(|| {
        let cure = "write `https://promptpack.org/schema/v1.4/promptpack.schema.json`, or remove it".to_owned();
        schema.warn(format!("`{url}` names no known schema: the pack is checked against version 1.4"), cure);
        Version::V1_4
    })
}

#[cfg(test)]
mod tests;
