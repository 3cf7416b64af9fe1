//! What a deploy adapter implements.
//!
//! The server reads requests, configuration and state, validates before each write, and writes the answer. A provider decides
//! and acts, and reports each thing it did to the [`Account`] as soon as it did it: that is what remains of a call that fails,
//! panics, or is interrupted.

use std::future::{Future, ready};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::error::{Category, DeployError};
use crate::protocol::{
    ImportRequest, Link, Login, LoginRequest, LoginUrl, LoginUrlRequest, Plan, ProviderInfo, ResourceHealth,
};
use crate::state::{Entry, State};

/// How long a call may go on after a signal. The client kills the program five seconds after the signal; the answer has to be
/// written, and read, before.
pub const GRACE: Duration = Duration::from_millis(3_500);

/// A configuration after its check.
#[derive(Debug)]
pub struct Checked<C> {
    /// The configuration, if enough of it is right to work with. `plan` and `apply` also need it to be without mistakes;
    /// `destroy` and `status` do not.
    pub config: Option<C>,
    /// Every mistake, with its key and the cure.
    pub errors: Vec<String>,
    /// What is allowed and hardly meant.
    pub warnings: Vec<String>,
}

/// What a call is about.
#[derive(Debug)]
pub struct Call<'a, C> {
    /// The configuration.
    pub config: &'a C,
    /// The compiled pack as text; empty where the method has none.
    pub pack: &'a str,
    /// The arena's configuration as text; empty if there is none.
    pub arena_config: &'a str,
    /// The environment's name; empty if there is none.
    pub environment: &'a str,
    /// What is deployed, by the stored state.
    pub prior: &'a State,
    /// Cancelled by a signal: start nothing new, and return [`DeployError::interrupted`]. The server drops a call that has not
    /// returned [after a while](GRACE), and answers with what the account has.
    pub stop: &'a CancellationToken,
}

/// How the deployed resources are.
#[derive(Debug, Default)]
pub struct Status {
    /// Each of them.
    pub resources: Vec<ResourceHealth>,
    /// Pages about the whole.
    pub links: Vec<Link>,
}

/// A deploy adapter. Calls come one at a time. A call that blocks its thread cannot be ended by a signal: it awaits instead.
pub trait Provider: Sync {
    /// The configuration as the provider uses it.
    type Config: Sync;

    /// Names the provider. The server adds the capabilities of its own.
    fn info(&self) -> ProviderInfo;

    /// Decodes and checks a configuration, and finds all mistakes at once.
    fn read_config(&self, config: &Value) -> Checked<Self::Config>;

    /// Says where this configuration deploys to: a state of another scope is not used.
    fn scope(&self, config: &Self::Config) -> String;

    /// Says what `apply` would do. Writes nothing.
    fn plan(&self, call: Call<'_, Self::Config>) -> impl Future<Output = Result<Plan, DeployError>> + Send;

    /// Deploys. An error that is returned ends the call; one that concerns a single resource goes to the account.
    fn apply(
        &self,
        call: Call<'_, Self::Config>,
        account: &Account,
    ) -> impl Future<Output = Result<(), DeployError>> + Send;

    /// Deletes what was deployed. What still exists stays in the account's state.
    fn destroy(
        &self,
        call: Call<'_, Self::Config>,
        account: &Account,
    ) -> impl Future<Output = Result<(), DeployError>> + Send;

    /// Looks at what was deployed. A resource that cannot be asked is unhealthy, not missing.
    fn status(&self, call: Call<'_, Self::Config>) -> impl Future<Output = Result<Status, DeployError>> + Send;

    /// Takes over a resource that exists; returns its entry in the state, and how it is.
    fn import(
        &self,
        _call: Call<'_, Self::Config>,
        _request: &ImportRequest,
    ) -> impl Future<Output = Result<(Entry, ResourceHealth), DeployError>> + Send {
        ready(Err(unsupported(&self.info().name, "import")))
    }

    /// Begins a login; called only with [`Capability::Login`](crate::protocol::Capability::Login).
    fn get_login_url(&self, _request: LoginUrlRequest) -> impl Future<Output = Result<LoginUrl, DeployError>> + Send {
        ready(Err(unsupported(&self.info().name, "login")))
    }

    /// Ends a login; called only with [`Capability::Login`](crate::protocol::Capability::Login).
    fn complete_login(&self, _request: LoginRequest) -> impl Future<Output = Result<Login, DeployError>> + Send {
        ready(Err(unsupported(&self.info().name, "login")))
    }
}

fn unsupported(provider: &str, what: &'static str) -> DeployError {
    DeployError::new(Category::Resource, what, format!("{provider}: {what} is not yet supported"))
}
