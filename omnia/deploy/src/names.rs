//! The names of deployed objects.
//!
//! In: a pack. Out: the name of each object, and the runtimes of its agents. Fails: if a name has no letter or digit left, or
//! if two agents would share a runtime; the error names both.

use std::collections::BTreeMap;

use promptkit_pack::pack::Pack;
use promptkit_pack::reader::{Field, Reader};
use serde_json::Value;

/// The most characters of a name in Kubernetes.
const LIMIT: usize = 253;

/// The names of a pack's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The pack, and its only runtime.
    pub pack: String,
    /// The pack's text.
    pub config_map: String,
    /// The pack's tools.
    pub tools: String,
    /// What its agents must not call.
    pub policy: String,
    /// The values of its tools' headers.
    pub credentials: String,
    /// The agents, sorted by the names of their runtimes.
    pub agents: Vec<Agent>,
}

/// An agent, which has a runtime of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The name of the runtime.
    pub runtime: String,
    /// The agent's name in the pack; none for the only agent of a pack.
    pub member: Option<String>,
    /// The prompt that the runtime serves alone.
    pub prompt: Option<String>,
}

/// Which agents a pack without members has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// One, which serves all prompts.
    Together,
    /// One for each prompt, if there are several.
    Apart,
}

/// Names the objects of a pack. Adds what cannot be named to the reader's mistakes.
#[must_use]
pub fn of(pack: &Pack, prompts: Prompts, reader: &Reader) -> Names {
    let null = Value::Null;
    let root = reader.root(&null);
    let named = |suffix: &str| sanitise(&format!("{}{suffix}", pack.id));
    if named("").is_empty() {
        root.key("id").refuse(unnameable(&pack.id), NAMEABLE.to_owned());
    }
    Names {
        pack: named(""),
        config_map: named("-packdata"),
        tools: named("-tools"),
        policy: named("-policy"),
        credentials: named("-tool-credentials"),
        agents: agents(pack, prompts, &root),
    }
}

const NAMEABLE: &str = "write a name with letters and digits";

fn unnameable(name: &str) -> String {
    format!("`{name}` has no letter or digit of which an object's name could be made")
}

fn agents(pack: &Pack, prompts: Prompts, root: &Field<'_>) -> Vec<Agent> {
    let is_apart = prompts == Prompts::Apart && pack.prompts.len() > 1;
    let (place, agents): (_, Vec<(&str, Agent)>) = if pack.is_multi_agent() {
        let member = |name: &String| Agent { runtime: sanitise(name), member: Some(name.clone()), prompt: None };
        (
            root.key("agents").key("members"),
            pack.agents.members.keys().map(|name| (name.as_str(), member(name))).collect(),
        )
    } else if is_apart {
        let named = |name: &String| Agent {
            runtime: sanitise(&format!("{}-{name}", pack.id)),
            member: None,
            prompt: Some(name.clone()),
        };
        (root.key("prompts"), pack.prompts.keys().map(|name| (name.as_str(), named(name))).collect())
    } else {
        return vec![Agent { runtime: sanitise(&pack.id), member: None, prompt: None }];
    };
    let mut by_runtime: BTreeMap<String, (&str, Agent)> = BTreeMap::new();
    for (name, agent) in agents {
        if agent.runtime.is_empty() || (is_apart && sanitise(name).is_empty()) {
            place.key(name).refuse(unnameable(name), NAMEABLE.to_owned());
        } else if let Some((other, _)) = by_runtime.get(&agent.runtime) {
            let both = format!("`{other}` and `{name}` would both be deployed as `{}`", agent.runtime);
            place.key(name).refuse(both, "rename one of them".to_owned());
        } else {
            by_runtime.insert(agent.runtime.clone(), (name, agent));
        }
    }
    by_runtime.into_values().map(|(_, agent)| agent).collect()
}

/// The text as a name of Kubernetes; empty if nothing of it can be in one.
///
/// The upstream adapter keeps a dot beside a dot or a hyphen, which Kubernetes refuses: only the first of them is kept here.
#[must_use]
pub fn sanitise(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = if matches!(c, '_' | ' ') { '-' } else { c };
        let is_separator = matches!(c, '-' | '.');
        let is_repeated = name.is_empty() || name.ends_with(['-', '.']);
        if c.is_ascii_lowercase() || c.is_ascii_digit() || (is_separator && !is_repeated) {
            name.push(c);
        }
    }
    name.truncate(LIMIT);
    name.truncate(name.trim_end_matches(['-', '.']).len());
    name
}

#[cfg(test)]
mod tests;
