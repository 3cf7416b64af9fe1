//! Plans, applies, deletes and looks at the deployment of one pack, wherever its objects are written.
//!
//! In: a call of the protocol, and a [`Site`]. Out: a plan, the health of resources, or what the account has. Fails: before the first
//! write, with everything that is wrong with pack and configuration; later with what ends a call. What concerns one object goes to the
//! account.

mod cleanup;
pub mod dry;
mod prepare;

use futures::{StreamExt as _, stream};
use lifecycle_bundle::table::Intent;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::WriteError;
use lifecycle_transport::Transport;
use promptkit_deploy::account::Account;
use promptkit_deploy::drive::Driver;
use promptkit_deploy::error::DeployError;
use promptkit_deploy::protocol::{Health, Plan, ResourceHealth};
use promptkit_deploy::provider::{Call, Status};
use promptkit_deploy::state::Entry;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::prepare::Prepared;
use crate::config::Config;
use crate::engine::{Deployment, Set};
use crate::kinds::{Kind, Surface};
use crate::plan::{self, Notes};
use crate::readiness;

/// How many objects are written at the same time.
const WRITES: usize = 8;

/// Where the objects of a deployment are written.
#[derive(Debug)]
pub struct Site<T> {
    /// Reads and writes objects.
    pub transport: T,
    /// Which form the objects have there.
    pub surface: Surface,
}

impl<T: Transport> Site<T> {
    /// Says what an apply would do.
    ///
    /// # Errors
    /// Pack or configuration has a mistake, or nothing can be read.
    pub async fn plan(&self, call: &Call<'_, Config>) -> Result<Plan, DeployError> {
        let prepared = self.prepare(call).await?;
        let set = self.set(call, &prepared);
        let (pass, names) = set.begin(Intent::Apply)?;
        let catalog = Deployment { names, transport: &self.transport };
        let planned = self.driver(&catalog, call.stop).plan(pass).await?;
        let drifted = catalog.names.drifted(&planned.found);
        let mut warnings = prepared.warnings.clone();
        let taken = self.taken(&set, &planned.report, &mut warnings).await;
        let notes = Notes { drifted, taken, surface: self.surface };
        let mut plan = plan::plan(&planned, &set.wanted(), &notes, warnings);
        plan.changes.extend(plan::superseded(&planned, &set));
        Ok(plan)
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
        let set = self.set(call, &prepared);
        let (pass, names) = set.begin(Intent::Apply)?;
        let catalog = Deployment { names, transport: &self.transport };
        let report = self.driver(&catalog, call.stop).drive(pass, account).await?;
        self.await_gone(&set, &report, call.stop, account).await;
        self.forget_gone(&set, &report, account).await;
        Ok(())
    }

    /// Deletes what is deployed, and waits until it is gone.
    ///
    /// # Errors
    /// Nothing can be read, or a signal came.
    pub async fn destroy(&self, call: &Call<'_, Config>, account: &Account) -> Result<(), DeployError> {
        account.progress(format!("Destroying {} resources", call.prior.resources.len()), -1.0);
        let pack_id = self.pack_id(call).await?;
        let set = self.set_of(call, &pack_id);
        let (pass, names) = set.begin(Intent::Delete)?;
        let catalog = Deployment { names, transport: &self.transport };
        let report = self.driver(&catalog, call.stop).drive(pass, account).await?;
        self.await_gone(&set, &report, call.stop, account).await;
        self.forget_gone(&set, &report, account).await;
        for entry in account.state().resources.iter().filter(|entry| Kind::of_type(&entry.kind).is_none()) {
            let why = format!("this adapter writes no {}; delete it by hand", entry.kind);
            account.left(&entry.kind, &entry.name, &why);
        }
        if account.state().resources.is_empty() {
            account.complete("Destroy complete");
        }
        Ok(())
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

    fn set<'s>(&self, call: &'s Call<'_, Config>, prepared: &'s Prepared) -> Set<'s> {
        let Prepared { pack_id, desired, bound, .. } = prepared;
        Set { objects: &desired.objects, bound: bound.as_deref(), ..self.set_of(call, pack_id) }
    }

    fn set_of<'s>(&self, call: &'s Call<'_, Config>, pack_id: &'s str) -> Set<'s> {
        let config = call.config;
        let (workspace, console) = (config.workspace.as_str(), config.console_endpoint.as_deref());
        Set { pack_id, workspace, surface: self.surface, console, prior: call.prior, objects: &[], bound: None }
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
    // A state with a pack and without resources is that of a deletion that could not look everywhere.
    let is_empty = call.prior.resources.is_empty() && call.prior.pack_id.is_empty();
    if is_empty {
        account.progress("No resources to destroy", -1.0);
        account.complete("Destroy complete (nothing to do)");
    }
    is_empty
}

fn query(kind: GroupVersionKind, workspace: &str, by: QueryBy) -> Query {
    Query { destination: Destination::ThisCluster, kind, namespace: Some(workspace.to_owned()), by }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
