//! The variables that describe the adapter's process to a task: `config`, `env` and parts of `adapter`.

use serde_json::json;

use crate::event::LifecycleEvent;
use crate::sensitive;
use lifecycle_language::scope::{Scope, Variable};

/// The process as its task sees it. Built once, at load; the scopes of all events share its variables.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// The adapter's name: the task variable `adapter.name`.
    pub name: String,
    /// `adapter.version`: the version in the deployment file, or empty. Metrics and logs carry the version of
    /// the program instead.
    pub version: String,
    /// `config`: the merged configuration, with secrets redacted.
    pub config: Variable,
    /// The merged configuration with its secrets. Only a param with `source: config.…` reads it.
    pub config_unredacted: Variable,
    /// `env`: the environment variables that the task names, and no others.
    pub environment: Variable,
}

impl Host {
    /// Sets the variables that exist before the first param: `config`, `env`, `event` and an empty `resources`. Says which
    /// of `env` are secret.
    /// The variable `adapter` follows later, from [`Execution::publish`](crate::execution::Execution::publish).
    pub fn introduce(&self, event: &LifecycleEvent, scope: &mut Scope) {
        scope.share("config", &self.config);
        scope.share("env", &self.environment);
        let names = self.environment.value().as_object().into_iter().flat_map(|variables| variables.keys());
        sensitive::of_environment(names.map(String::as_str)).for_each(|path| scope.conceal(&path, true));
        scope.set("event", event.data.clone());
        scope.set("resources", json!({}));
    }
}
