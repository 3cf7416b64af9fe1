//! What a task can read of the process that runs it.

use serde_json::json;

use crate::event::LifecycleEvent;
use crate::scope::{Scope, Variable};

/// The adapter as its task sees it. Made once, at load; what events read of it, they share.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// `adapter.name`.
    pub name: String,
    /// `adapter.version`: the version that the deployment file names, or nothing. The program's own version is in metrics and logs.
    pub version: String,
    /// The merged configuration, secrets redacted: `config` in expressions and templates.
    pub config: Variable,
    /// The merged configuration as it is. Only a param that names a path of it (`source: config.…`) reads it.
    pub config_unredacted: Variable,
    /// `env`: an object of the environment variables that the task names; no other one is here.
    pub environment: Variable,
}

impl Host {
    /// Puts the built-in variables of one event into its scope: all but `adapter`, which is the account of the pass
    /// ([`Execution::publish`](crate::execution::Execution::publish)).
    pub fn introduce(&self, event: &LifecycleEvent, scope: &mut Scope) {
        scope.share("config", &self.config);
        scope.share("env", &self.environment);
        scope.set("event", event.data.clone());
        scope.set("resources", json!({}));
    }
}
