//! Plans, applies, deletes and looks at the deployment of one pack, wherever its objects are written.
//!
//! In: a call of the protocol, and a [`Site`]. Out: a plan, the health of resources, or what the account has. Fails: before the first
//! write, with everything that is wrong with pack and configuration; later with what ends a call. What concerns one object goes to the
//! account.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use lifecycle_bundle::need::{Answer, Need, Request, Response};
use lifecycle_bundle::report::{ObjectReport, Report};
use lifecycle_bundle::table::{Decision, Intent};
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::observation::{Observation, Query, QueryBy, Version};
use lifecycle_objects::write::WriteError;
use lifecycle_transport::Transport;
use promptkit_deploy::account::Account;
use promptkit_deploy::drive::{Driver, Planned};
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::poll::{Probe, Unready, poll};
use promptkit_deploy::protocol::{Action, Health, Plan, ResourceHealth};
use promptkit_deploy::provider::{Call, Status};
use promptkit_deploy::state::{Entry, State};
use promptkit_pack::reader::lines;
use promptkit_pack::{arena, pack};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::binding::{self, Registry};
use crate::config::{Config, Target};
use crate::desired::{Desired, Inputs, Kind, Surface, desired};
use crate::engine::{Deployment, Set};
use crate::errors::deploy_error;
use crate::labels::{self, Claim};
use crate::plan::{self, Notes};
use crate::readiness;

/// How many objects are written at the same time.
const WRITES: usize = 8;
/// How often a deletion is looked at that has begun, and the time in between.
const LOOKS: u32 = 30;
const EVERY: Duration = Duration::from_secs(2);

/// Where the objects of a deployment are written.
#[derive(Debug)]
pub struct Site<T> {
    /// Reads and writes objects.
    pub transport: T,
    /// Which form the objects have there.
    pub surface: Surface,
}

/// A deployment that can be written.
struct Prepared {
    pack_id: String,
    version: String,
    desired: Desired,
    warnings: Vec<String>,
}

impl<T: Transport> Site<T> {
    /// Says what an apply would do.
    ///
    /// # Errors
    /// Pack or configuration has a mistake, or nothing can be read.
    pub async fn plan(&self, call: &Call<'_, Config>) -> Result<Plan, DeployError> {
        let prepared = self.prepare(call).await?;
        let set = self.set(call, &prepared.pack_id, &prepared.desired);
        let (pass, names) = set.begin(Intent::Apply)?;
        let catalog = Deployment { names, transport: &self.transport };
        let planned = self.driver(&catalog, call.stop).plan(pass).await?;
        let drifted = catalog.names.drifted(&planned.found);
        let notes = Notes { drifted, taken: self.taken(&set, &planned.report).await? };
        Ok(plan::plan(&planned, &set.wanted(), &notes, prepared.warnings))
    }

    /// Whose the objects are that have the names of objects to create. A list by labels does not find them.
    async fn taken(&self, set: &Set<'_>, report: &Report) -> Result<BTreeMap<Identity, String>, DeployError> {
        let is_new = |object: &&ObjectReport| matches!(object.verdict, Some((_, Decision::Create)));
        let new = report.objects.iter().filter(is_new).map(|object| object.identity.clone());
        let looks = new.filter_map(|identity| Some((Kind::of(&identity.kind)?, identity)));
        let looks = looks.map(|(kind, identity)| async move {
            let found = self.find(kind, &identity.name, set.workspace).await;
            found.map(|found| (identity, found))
        });
        let looks: Vec<_> = looks.collect();
        let found: Vec<Result<_, WriteError>> = stream::iter(looks).buffered(WRITES).collect().await;
        let mut taken = BTreeMap::new();
        for found in found {
            let (identity, object) = found.map_err(|error| deploy_error("plan", &error))?;
            let claim = object.map(|object| labels::claim(&labels::read(&object), set.pack_id));
            if let Some(Claim::Foreign(owner)) = claim {
                taken.insert(identity, owner);
            }
        }
        Ok(taken)
    }

    /// Writes what a pack needs, and deletes what it needs no longer once all of that is written.
    ///
    /// # Errors
    /// Pack or configuration has a mistake, nothing can be read, or a signal came.
    pub async fn apply(&self, call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        let prepared = self.prepare(call).await?;
        prepared.warnings.iter().for_each(|warning| account.warn(warning));
        account.update_state(|state| {
            (state.pack_id, state.version) = (prepared.pack_id.clone(), prepared.version.clone());
        });
        let set = self.set(call, &prepared.pack_id, &prepared.desired);
        let (pass, names) = set.begin(Intent::Apply)?;
        let catalog = Deployment { names, transport: &self.transport };
        let report = self.driver(&catalog, call.stop).drive(pass, account).await?;
        self.forget_gone(&set, &report, account).await;
        Ok(())
    }

    /// Deletes what is deployed, and waits until it is gone.
    ///
    /// # Errors
    /// Nothing can be read, or a signal came.
    pub async fn destroy(&self, call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        account.progress(format!("Destroying {} resources", call.prior.resources.len()), -1.0);
        let pack_id = pack_id(call.prior);
        let set = Set { objects: &[], ..self.set_of(call, &pack_id) };
        let mut last = None;
        let end = poll(EVERY, LOOKS, call.stop, || async {
            match self.delete_once(&set, call.stop, account).await {
                Ok(report) if report.is_complete() || report.failure().is_some() => Probe::Ready(report),
                Ok(_) => Probe::Pending,
                Err(error) => Probe::Failed(error),
            }
        });
        match end.await {
            Ok(report) => last = Some(report),
            Err(Unready::Failed(error)) => return Err(error),
            Err(Unready::Interrupted) => return Err(DeployError::interrupted("delete")),
            Err(Unready::Exhausted) => {}
        }
        if let Some(report) = last {
            self.forget_gone(&set, &report, account).await;
        }
        for entry in account.state().resources.iter().filter(|entry| Kind::of_type(&entry.kind).is_none()) {
            let why = format!("this adapter writes no {}; delete it by hand", entry.kind);
            account.left(&entry.kind, &entry.name, &why);
        }
        if account.state().resources.is_empty() {
            account.complete("Destroy complete");
        }
        Ok(())
    }

    async fn delete_once(
        &self,
        set: &Set<'_>,
        stop: &CancellationToken,
        account: &Account,
    ) -> Result<Report, DeployError> {
        let (pass, names) = set.begin(Intent::Delete)?;
        let catalog = Deployment { names, transport: &self.transport };
        self.driver(&catalog, stop).drive(pass, account).await
    }

    /// Looks at each entry of the state.
    pub async fn status(&self, call: &Call<'_, Config>) -> Status {
        let set = self.set_of(call, "");
        let looks = call.prior.resources.iter().map(|entry| self.look(&set, entry));
        let looks: Vec<_> = looks.collect();
        Status { resources: stream::iter(looks).buffered(WRITES).collect().await, links: Vec::new() }
    }

    async fn look(&self, set: &Set<'_>, entry: &Entry) -> ResourceHealth {
        let (status, detail) = match Kind::of_type(&entry.kind) {
            None => (Health::Unhealthy, format!("this adapter writes no {}", entry.kind)),
            Some(kind) => match self.find(kind, &entry.name, set.workspace).await {
                Err(error) => (Health::Unhealthy, error.message),
                Ok(None) => (Health::Missing, String::new()),
                Ok(Some(object)) => match readiness::health(&object, kind == Kind::AgentRuntime) {
                    readiness::Health::Healthy => (Health::Healthy, String::new()),
                    readiness::Health::Unhealthy(why) => (Health::Unhealthy, why),
                },
            },
        };
        let links = set.link(entry).into_iter().collect();
        ResourceHealth { kind: entry.kind.clone(), name: entry.name.clone(), status, detail, links }
    }

    async fn find(&self, kind: Kind, name: &str, workspace: &str) -> Result<Option<Value>, WriteError> {
        let query = query(kind.version_kind(), workspace, QueryBy::Name(name.to_owned()));
        Ok(self.transport.find(&query).await?.into_iter().next())
    }

    /// Everything that has to be right before the first write.
    async fn prepare(&self, call: &Call<'_, Config>) -> Result<Prepared, DeployError> {
        let pack = pack::read(call.pack).map_err(|found| mistakes(&found))?;
        let arena = match call.arena_config {
            "" => arena::Arena::default(),
            text => arena::read(text).map_err(|found| mistakes(&found))?,
        };
        let registries = self.registries(call.config).await?;
        let (binding, mut warnings) = binding::decide(self.surface, &pack, &arena, call.config, &registries);
        warnings.extend(self.check_providers(call.config).await?);
        let inputs = Inputs {
            pack: &pack,
            arena: &arena,
            config: call.config,
            binding: &binding,
            surface: self.surface,
            in_one_request: false,
        };
        let desired = desired(inputs).map_err(|found| mistakes(&found))?;
        warnings.extend(lines(&desired.warnings, Severity::Warning));
        if !desired.variables.is_empty() {
            warnings.push(format!(
                "create the Secret `{}` with the keys {}: tools read the values of their headers from it",
                desired.names.credentials,
                desired.variables.join(", ")
            ));
        }
        Ok(Prepared { pack_id: pack.id.clone(), version: pack.version.clone(), desired, warnings })
    }

    /// The registries of tools that exist; only today's API is asked.
    async fn registries(&self, config: &Config) -> Result<Vec<Registry>, DeployError> {
        if self.surface != Surface::Current {
            return Ok(Vec::new());
        }
        let by = QueryBy::Labels(labels::Labels::new());
        let found = self.transport.find(&query(Kind::ToolRegistry.version_kind(), &config.workspace, by)).await;
        let found = found.map_err(|error| deploy_error("plan", &error))?;
        Ok(found.iter().filter_map(Registry::of).collect())
    }

    /// Each provider has to exist; one that is not ready is a warning.
    async fn check_providers(&self, config: &Config) -> Result<Vec<String>, DeployError> {
        let mut warnings = Vec::new();
        let kind = || GroupVersionKind::new("omnia.altairalabs.ai/v1alpha1", "Provider");
        for provider in &config.providers {
            let by = QueryBy::Name(provider.reference.clone());
            let found = self.transport.find(&query(kind(), &config.workspace, by)).await;
            let found = found.map_err(|error| deploy_error("plan", &error))?.into_iter().next();
            let Some(found) = found else {
                let all = query(kind(), &config.workspace, QueryBy::Labels(labels::Labels::new()));
                let all = self.transport.find(&all).await.unwrap_or_default();
                let names: Vec<_> = all.into_iter().map(|it| Version::new(it).name().to_owned()).collect();
                let there = if names.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                let message = format!("the workspace has no provider `{}`; {there}", provider.reference);
                return Err(DeployError::new(Category::Configuration, "plan", message)
                    .hint(format!("write one of them as `providers.{}`", provider.name)));
            };
            let phase = found.pointer("/status/phase").and_then(Value::as_str).filter(|phase| *phase != "Ready");
            warnings.extend(phase.map(|phase| format!("the provider `{}` is not ready: {phase}", provider.reference)));
        }
        Ok(warnings)
    }

    /// Drops the entries of objects that are gone, or that turn out to be somebody else's.
    async fn forget_gone(&self, set: &Set<'_>, report: &Report, account: &Account) {
        let known: BTreeSet<_> = report.objects.iter().map(|object| object.identity.clone()).collect();
        for entry in account.state().resources {
            let Some(identity) = set.identity(&entry).filter(|identity| !known.contains(identity)) else { continue };
            let Some(kind) = Kind::of(&identity.kind) else { continue };
            match self.find(kind, &entry.name, set.workspace).await {
                Ok(None) => account.deleted(&entry.kind, &entry.name),
                Ok(Some(object)) => {
                    let labels = labels::read(&object);
                    match labels::claim(&labels, set.pack_id) {
                        Claim::Foreign(owner) => {
                            account.warn(&format!("{} \"{}\" is left: it belongs to {owner}", entry.kind, entry.name));
                        }
                        Claim::Ours => account.progress(
                            format!("Left {} \"{}\" in place (operator-owned)", entry.kind, entry.name),
                            -1.0,
                        ),
                    }
                    account.update_state(|state| state.forget(&entry.kind, &entry.name));
                }
                Err(error) => account.failed(deploy_error("delete", &error).of(&entry.kind, &entry.name)),
            }
        }
    }

    fn set<'s>(&self, call: &'s Call<'_, Config>, pack_id: &'s str, desired: &'s Desired) -> Set<'s> {
        Set { objects: &desired.objects, ..self.set_of(call, pack_id) }
    }

    fn set_of<'s>(&self, call: &'s Call<'_, Config>, pack_id: &'s str) -> Set<'s> {
        let config = call.config;
        let (workspace, console) = (config.workspace.as_str(), config.console_endpoint.as_deref());
        Set { pack_id, workspace, surface: self.surface, console, prior: call.prior, objects: &[] }
    }

    fn driver<'d>(
        &'d self,
        catalog: &'d Deployment<'d, T>,
        stop: &'d CancellationToken,
    ) -> Driver<'d, T, Deployment<'d, T>> {
        Driver { transport: &self.transport, catalog, writes: WRITES, stop }
    }
}

/// Whether there is nothing to delete, which is told.
#[must_use]
pub fn has_nothing(call: &Call<'_, Config>, account: &Account) -> bool {
    let is_empty = call.prior.resources.is_empty();
    if is_empty {
        account.progress("No resources to destroy", -1.0);
        account.complete("Destroy complete (nothing to do)");
    }
    is_empty
}

/// Says what an apply would do, without a request: what the state has is what is there.
///
/// # Errors
/// Pack or configuration has a mistake.
pub fn dry_plan(call: &Call<'_, Config>) -> Result<Plan, DeployError> {
    let (pack, desired) = dry_objects(call)?;
    let (workspace, prior) = (call.config.workspace.as_str(), call.prior);
    let set =
        Set { pack_id: &pack, workspace, surface: dry_surface(call), console: None, prior, objects: &desired.objects };
    let (mut pass, names) = set.begin(Intent::Apply)?;
    if let Some(Need::Request(Request::Read(queries))) = pass.next_need() {
        let found = |query| Observation::Found(names.remembered(query).into_iter().map(Version::new).collect());
        pass.answer(Answer::Response(Response::Read(queries.iter().map(found).collect())));
    }
    let report = pass.plan().map_err(|failure| DeployError::new(Category::Resource, "plan", failure.message))?;
    let planned = Planned { report, found: Vec::new(), warnings: Vec::new() };
    Ok(plan::plan(&planned, &set.wanted(), &Notes::default(), lines(&desired.warnings, Severity::Warning)))
}

/// What an apply would write, without a request: nothing is known but the state.
///
/// # Errors
/// Pack or configuration has a mistake.
pub fn dry_run(call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
    let objects = dry_objects(call)?.1.objects;
    let all = objects.len() + 1;
    for (place, object) in objects.iter().enumerate() {
        let (kind, name) = (object.kind.type_name(), &object.name);
        account.progress(format!("Planned {kind}: {name}"), place as f64 / all as f64);
        let action = if call.prior.find(kind, name).is_some() { Action::Update } else { Action::Create };
        account.planned(kind, name, action);
    }
    Ok(())
}

/// Without a request, nobody knows which API a workspace has: the designed one, which has all kinds, is shown.
fn dry_surface(call: &Call<'_, Config>) -> Surface {
    match call.config.target {
        Target::Workspace { .. } => Surface::Versioned,
        Target::Cluster { .. } => Surface::Cluster,
    }
}

/// The pack's id, and the objects of a deployment of which nothing is asked.
fn dry_objects(call: &Call<'_, Config>) -> Result<(String, Desired), DeployError> {
    let pack = pack::read(call.pack).map_err(|found| mistakes(&found))?;
    let arena = match call.arena_config {
        "" => arena::Arena::default(),
        text => arena::read(text).map_err(|found| mistakes(&found))?,
    };
    let surface = dry_surface(call);
    let (binding, _) = binding::decide(surface, &pack, &arena, call.config, &[]);
    let inputs =
        Inputs { pack: &pack, arena: &arena, config: call.config, binding: &binding, surface, in_one_request: false };
    let desired = desired(inputs).map_err(|found| mistakes(&found))?;
    Ok((pack.id.clone(), desired))
}

fn query(kind: GroupVersionKind, workspace: &str, by: QueryBy) -> Query {
    Query { destination: Destination::ThisCluster, kind, namespace: Some(workspace.to_owned()), by }
}

/// The pack of a state. States of others may lack its id: then its name tells, which is the id of every valid pack.
fn pack_id(prior: &State) -> String {
    let of_entry = || prior.resources.iter().find(|entry| entry.kind == Kind::PromptPack.type_name());
    let id = Some(prior.pack_id.clone()).filter(|id| !id.is_empty());
    id.or_else(|| of_entry().map(|entry| entry.name.clone())).unwrap_or_default()
}

fn mistakes(found: &Diagnostics) -> DeployError {
    DeployError::new(Category::Configuration, "build", lines(found, Severity::Error).join("\n"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
