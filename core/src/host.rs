//! What a task can read of the process that runs it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::LifecycleEvent;
use crate::scope::Scope;

/// The adapter as its task sees it. Made once, at load.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// `adapter.name`.
    pub name: String,
    /// The binary's version.
    pub version: String,
    /// The merged configuration, secrets redacted: `config` in expressions and templates.
    pub config: Value,
    /// The merged configuration as it is. Only a param that names a path of it (`source: config.…`) reads it.
    pub config_unredacted: Value,
    /// The environment variables that the task names; no other one is here.
    pub environment: BTreeMap<String, String>,
}

impl Host {
    /// Puts the built-in variables of one event into its scope: all but `adapter`, which is the account of the pass
    /// ([`Execution::publish`](crate::execution::Execution::publish)).
    pub fn introduce(&self, event: &LifecycleEvent, scope: &mut Scope) {
        scope.set("config", self.config.clone());
        scope.set("env", json!(self.environment));
        scope.set("event", event.data.clone());
        scope.set("resources", json!({}));
    }
}
