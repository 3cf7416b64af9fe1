//! The file that names the adapter, its inputs, and how to make faults.
//!
//! In: YAML or JSON. Out: a [`Profile`]. Fails: on a file that cannot be read, unknown keys included. `docs/deployers.md` has an
//! example with every key.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

/// A command and its arguments; no shell is involved.
pub type Command = Vec<String>;

/// What is played, with what.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The program.
    pub adapter: Adapter,
    /// What it is asked to deploy.
    pub inputs: Inputs,
    /// How to look at what it deploys to.
    #[serde(default)]
    pub backend: Backend,
    /// How to make each fault, by name.
    #[serde(default)]
    pub faults: BTreeMap<FaultName, Fault>,
}

/// The adapter's process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The program and its arguments.
    pub command: Command,
    /// Variables beside those of this process.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Seconds within which each call answers.
    #[serde(default = "half_a_minute")]
    pub answers_within: u64,
}

fn half_a_minute() -> u64 {
    30
}

impl Adapter {
    /// How long an answer may take.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.answers_within)
    }
}

/// What the adapter is asked to deploy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// A configuration with every key that the adapter knows.
    pub config: Value,
    /// A configuration that lacks a required key.
    #[serde(default = "empty")]
    pub mistaken_config: Value,
    /// The same deployment in another scope: a workspace, or an account.
    pub other_scope_config: Option<Value>,
    /// The configuration of a dry run.
    pub dry_run_config: Option<Value>,
    /// A pack that deploys four resources or more.
    pub pack: Value,
    /// The same pack without one of its members.
    pub smaller_pack: Option<Value>,
    /// A pack whose deployment has 20,000 events or more.
    pub large_pack: Option<Value>,
    /// The arena's configuration.
    pub arena_config: Option<Value>,
    /// The environment's name.
    #[serde(default = "conformance")]
    pub environment: String,
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

fn conformance() -> String {
    "conformance".to_owned()
}

/// How to look at what the adapter deploys to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Removes every resource and every fault.
    pub reset: Option<Command>,
    /// Ends every fault; resources stay.
    pub clear: Option<Command>,
    /// Prints one line for each resource that exists, whoever made it.
    pub list: Option<Command>,
    /// Prints how many writes there were since `reset`.
    pub writes: Option<Command>,
}

/// The faults that rows ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultName {
    /// The second resource in the order of `apply` cannot be written.
    WriteFails,
    /// The deletion of what `smaller_pack` lacks fails.
    DeleteFails,
    /// The deletion of one resource is refused.
    DeleteRefused,
    /// Another resource than that of `delete-refused` disappears.
    Gone,
    /// One resource cannot be read.
    CheckFails,
    /// One resource is unhealthy.
    Unhealthy,
    /// No resource that is written from now on becomes ready.
    NeverReady,
    /// Writes after the `{n}`th are never answered, nor that one.
    HangAfter,
}

impl FaultName {
    /// The name in a profile.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::WriteFails => "write-fails",
            Self::DeleteFails => "delete-fails",
            Self::DeleteRefused => "delete-refused",
            Self::Gone => "gone",
            Self::CheckFails => "check-fails",
            Self::Unhealthy => "unhealthy",
            Self::NeverReady => "never-ready",
            Self::HangAfter => "hang-after",
        }
    }
}

/// How to make a fault.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The command that makes it; `{n}` is a number where the fault has one.
    pub make: Command,
    /// The category of the error that it leads to.
    pub category: Option<String>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// The file cannot be read, or is no profile.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {name}"))?;
        Self::parse(&text).with_context(|| format!("{name} is no profile; docs/deployers.md describes it"))
    }

    /// Parses a profile's text.
    ///
    /// # Errors
    /// The text is no profile.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(serde_saphyr::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn example_of_the_page_is_a_profile() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployers.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, example) = page.split_once("```yaml\n").unwrap();
        let profile = Profile::parse(example.split_once("```").unwrap().0).unwrap();
        let inputs = &profile.inputs;
        assert!(inputs.large_pack.is_some() && inputs.arena_config.is_some() && profile.backend.writes.is_some());
        assert_eq!(profile.adapter.patience(), Duration::from_secs(30));
    }

    #[test]
    fn page_has_every_fault() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployers.md");
        let page = std::fs::read_to_string(page).unwrap();
        let names = "write-fails delete-fails delete-refused gone check-fails unhealthy never-ready hang-after";
        for name in names.split(' ') {
            let fault: FaultName = serde_json::from_value(name.into()).unwrap();
            assert!(page.contains(&format!("| `{}` |", fault.text())), "{fault:?}");
            assert_eq!(fault.text(), name);
        }
    }
}
