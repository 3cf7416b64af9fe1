//! From a request to its answer.
//!
//! In: a method and its params. Out: a result or an error as it is on the wire. Before a provider is called, params,
//! configuration and stored state are read; `plan` and `apply` also want a configuration without mistakes, so that a mistake is
//! found before the first write.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::answer::{Answer, Output, RpcError, raw};
use crate::error::{Category, DeployError, combined};
use crate::protocol::{
    Aggregate, Capability, DestroyRequest, Extensions, Health, ImportRequest, ImportResult, PlanRequest, Request,
    ResourceHealth, StatusResult, ValidateRequest, Validation,
};
use crate::provider::{Call, Checked, GRACE, Provider};
use crate::state::{Owner, Prior};

/// What all calls of a server share.
pub(crate) struct Server<'a, P> {
    pub(crate) provider: &'a P,
    pub(crate) output: &'a Output,
    pub(crate) stop: &'a CancellationToken,
}

/// What a call works with, read from the request's texts.
struct Ready<C> {
    checked: Checked<C>,
    config: C,
    prior: Prior,
}

impl<P: Provider> Server<'_, P> {
    pub(crate) async fn answer(&self, request: &Request<'_>) -> Answer {
        let info = self.provider.info();
        let params = request.params;
        match request.method.as_str() {
            "get_provider_info" => {
                let mut info = info;
                info.capabilities.retain(|capability| *capability != Capability::Stream);
                info.capabilities.push(Capability::Stream);
                raw(&info)
            }
            "validate_config" => raw(&self.validate(&decode(params)?)),
            "plan" => self.plan(decode(params)?).await,
            "apply" => self.apply(request.id, decode(params)?).await,
            "destroy" => self.destroy(request.id, decode(params)?).await,
            "status" => self.status(decode(params)?).await,
            "import" => self.import(decode(params)?).await,
            "get_login_url" if info.capabilities.contains(&Capability::Login) => {
                raw(&self.guarded("login", self.provider.get_login_url(decode(params)?)).await.map_err(failure)?)
            }
            "complete_login" if info.capabilities.contains(&Capability::Login) => {
                raw(&self.guarded("login", self.provider.complete_login(decode(params)?)).await.map_err(failure)?)
            }
            unknown => Err(RpcError::method(unknown)),
        }
    }

    fn check(&self, config: &str) -> Checked<P::Config> {
        match serde_json::from_str(config) {
            Ok(config) => self.provider.read_config(&config),
            Err(error) => {
                let errors = vec![format!("the configuration is not valid JSON: {error}")];
                Checked { config: None, errors, warnings: Vec::new() }
            }
        }
    }

    fn validate(&self, request: &ValidateRequest) -> Validation {
        let Checked { config, errors, warnings } = self.check(&request.config);
        Validation { valid: config.is_some() && errors.is_empty(), errors, warnings }
    }

    /// Reads configuration and state. `is_strict` refuses a configuration with any mistake.
    fn ready(
        &self,
        config: &str,
        state: &str,
        environment: &str,
        is_strict: bool,
    ) -> Result<Ready<P::Config>, DeployError> {
        let mut checked = self.check(config);
        let config = match checked.config.take() {
            Some(config) if checked.errors.is_empty() || !is_strict => config,
            Some(_) | None => return Err(mistakes(&checked.errors)),
        };
        let owner = Owner::new(&self.provider.info().name, environment, &self.provider.scope(&config));
        let prior = Prior::read(state, &owner).map_err(|error| {
            let message = lifecycle_errors::Chain(&error).to_string();
            DeployError::new(Category::Configuration, "deploy", message)
        })?;
        Ok(Ready { checked, config, prior })
    }

    async fn plan(&self, request: PlanRequest) -> Answer {
        let ready = self.ready(&request.deploy_config, &request.prior_state, &request.environment, true);
        let Ready { checked, config, prior } = ready.map_err(failure)?;
        let call = self.call(&config, &request, &prior);
        let mut plan = self.guarded("plan", self.provider.plan(call)).await.map_err(failure)?;
        let first = checked.warnings.into_iter().chain(prior.foreign);
        plan.warnings = first.chain(plan.warnings).collect();
        raw(&plan)
    }

    async fn apply(&self, id: Option<&RawValue>, request: PlanRequest) -> Answer {
        let ready = self.ready(&request.deploy_config, &request.prior_state, &request.environment, true);
        let Ready { checked, config, prior } = ready.map_err(failure)?;
        let account = self.account(id, &prior, request.lifecycle);
        checked.warnings.iter().chain(&prior.foreign).for_each(|warning| account.warn(warning));
        let call = self.call(&config, &request, &prior);
        let end = self.guarded("deploy", self.provider.apply(call, &account)).await;
        delivered(&account)?;
        // What was only planned must not take the place of another owner's state, which the client would replace.
        let kept = prior.foreign.is_some() && account.is_only_planned();
        account.applied(end, kept.then_some(request.prior_state), request.lifecycle)
    }

    async fn destroy(&self, id: Option<&RawValue>, request: DestroyRequest) -> Answer {
        let ready = self.ready(&request.deploy_config, &request.prior_state, &request.environment, false);
        let Ready { checked, config, prior } = ready.map_err(failure)?;
        let account = self.account(id, &prior, request.lifecycle);
        checked.errors.iter().chain(&checked.warnings).chain(&prior.foreign).for_each(|warning| account.warn(warning));
        let call = self.bare_call(&config, &request.environment, &prior);
        let end = self.guarded("delete", self.provider.destroy(call, &account)).await;
        delivered(&account)?;
        // After a success the client removes its only state file, and with it the other owner's state.
        let kept = prior
            .foreign
            .map(|reason| (format!("{reason}; it is kept, nothing of it was deleted"), request.prior_state));
        account.destroyed(end, kept, request.lifecycle)
    }

    async fn status(&self, request: DestroyRequest) -> Answer {
        let ready = self.ready(&request.deploy_config, &request.prior_state, &request.environment, false);
        let Ready { config, prior, .. } = ready.map_err(failure)?;
        let call = self.bare_call(&config, &request.environment, &prior);
        let status = self.guarded("status", self.provider.status(call)).await.map_err(failure)?;
        // The client stores what comes back, and would store an empty state over another owner's.
        let state = if prior.foreign.is_some() { String::new() } else { request.prior_state };
        raw(&StatusResult {
            status: aggregate(&status.resources),
            resources: status.resources,
            state,
            links: status.links,
        })
    }

    async fn import(&self, request: ImportRequest) -> Answer {
        let ready = self.ready(&request.deploy_config, &request.prior_state, &request.environment, false);
        let Ready { config, mut prior, .. } = ready.map_err(failure)?;
        let call = self.bare_call(&config, &request.environment, &prior);
        let import = self.guarded("import", self.provider.import(call, &request)).await;
        let (entry, resource) = import.map_err(failure)?;
        prior.state.record(entry);
        raw(&ImportResult { resource, state: text(&prior.state)? })
    }

    fn account(&self, id: Option<&RawValue>, prior: &Prior, extensions: Extensions) -> Account {
        let id = || id.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
        let events_to = extensions.stream.then(|| (self.output.clone(), id()));
        Account::streaming(prior.state.clone(), events_to)
    }

    fn call<'c>(&'c self, config: &'c P::Config, request: &'c PlanRequest, prior: &'c Prior) -> Call<'c, P::Config> {
        let call = self.bare_call(config, &request.environment, prior);
        Call { pack: &request.pack_json, arena_config: &request.arena_config, ..call }
    }

    fn bare_call<'c>(&'c self, config: &'c P::Config, environment: &'c str, prior: &'c Prior) -> Call<'c, P::Config> {
        Call { config, pack: "", arena_config: "", environment, prior: &prior.state, stop: self.stop }
    }

    /// Runs a call of the provider; a panic is an error, and so is a call that goes on too long after a signal.
    async fn guarded<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, DeployError>>,
    ) -> Result<T, DeployError> {
        let cut = async {
            self.stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            end = AssertUnwindSafe(call).catch_unwind() => end.unwrap_or_else(|panic| Err(panicked(operation, &*panic))),
            () = cut => Err(DeployError::interrupted(operation)),
        }
    }
}

fn decode<'de, T: Default + Deserialize<'de>>(params: Option<&'de RawValue>) -> Result<T, RpcError> {
    let params = params.ok_or_else(|| RpcError::params("there are none"))?;
    // An array would pass for a structure with its members in order.
    if params.get().starts_with('[') {
        return Err(RpcError::params("an array, expected an object"));
    }
    let params: Option<T> = serde_json::from_str(params.get()).map_err(|error| RpcError::params(&error.to_string()))?;
    Ok(params.unwrap_or_default())
}

fn failure(error: DeployError) -> RpcError {
    #[derive(Serialize)]
    struct Data {
        errors: [crate::error::Entry; 1],
    }
    let data = raw(&Data { errors: [error.entry()] }).ok();
    RpcError::provider(error.to_string(), data)
}

fn mistakes(errors: &[String]) -> DeployError {
    let message = match errors {
        [alone] => format!("deploy.config: {alone}"),
        several => combined(&format!("deploy.config has {} mistakes:", several.len()), several),
    };
    DeployError::new(Category::Configuration, "validate", message)
}

fn panicked(operation: &'static str, panic: &(dyn Any + Send)) -> DeployError {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("a defect of the adapter: {}", text.unwrap_or("it panicked"));
    DeployError::new(Category::Resource, operation, message).hint("report it, and run the command again")
}

/// An event that could not be written means that nobody reads: the answer's write fails as well, and ends the server.
fn delivered(account: &Account) -> Result<(), RpcError> {
    let unwritten = |error: std::io::Error| RpcError::provider(format!("failed to write an event: {error}"), None);
    account.broken().map_or(Ok(()), |error| Err(unwritten(error)))
}

fn text(state: &impl Serialize) -> Result<String, RpcError> {
    Ok(raw(state)?.get().to_owned())
}

fn aggregate(resources: &[ResourceHealth]) -> Aggregate {
    if resources.is_empty() {
        Aggregate::NotDeployed
    } else if resources.iter().all(|resource| resource.status == Health::Healthy) {
        Aggregate::Deployed
    } else {
        Aggregate::Degraded
    }
}
