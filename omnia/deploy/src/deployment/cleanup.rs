//! What is looked at one by one: names that are taken, objects that are going, and entries whose objects no list has found.
//!
//! In: the set, and the report of its pass. Out: events and entries of the account. Nothing here fails: what cannot be looked at is a
//! failure of its object.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::join_all;
use lifecycle_bundle::member::Effect;
use lifecycle_bundle::report::{ObjectReport, Report};
use lifecycle_bundle::table::{Decision, Intent, Row};
use lifecycle_objects::identity::Identity;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::QueryBy;
use lifecycle_transport::Transport;
use promptkit_deploy::account::Account;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::poll::{Probe, Unready, poll};
use promptkit_deploy::provider::Call;
use promptkit_deploy::state::State;
use tokio_util::sync::CancellationToken;

use super::{Site, query};
use crate::config::Config;
use crate::engine::Set;
use crate::errors::{deploy_error, is_passing};
use crate::kinds::Kind;
use crate::labels::{self, Claim};

/// How often a deletion is looked at that has begun, and the time in between.
const LOOKS: u32 = 30;
const EVERY: Duration = Duration::from_secs(2);

impl<T: Transport> Site<T> {
    /// Whose the objects are that have the names of objects to create. A list by labels does not find them, so that one of all objects of
    /// each such kind is made.
    pub(super) async fn taken(
        &self,
        set: &Set<'_>,
        report: &Report,
        warnings: &mut Vec<String>,
    ) -> BTreeMap<Identity, String> {
        let is_new = |object: &&ObjectReport| matches!(object.verdict, Some((_, Decision::Create)));
        let new: BTreeSet<&Identity> = report.objects.iter().filter(is_new).map(|object| &object.identity).collect();
        let kinds: BTreeSet<Kind> = new.iter().filter_map(|identity| Kind::of(&identity.kind)).collect();
        let mut taken = BTreeMap::new();
        for kind in kinds {
            let all = query(kind.version_kind(), set.workspace, QueryBy::Labels(labels::Labels::new()));
            let found = self.transport.find(&all).await.unwrap_or_else(|error| {
                let kind = kind.type_name();
                warnings.push(format!("it is not known whether a name of a {kind} is taken: {}", error.message));
                Vec::new()
            });
            for object in found {
                let identity = Identity::from(ObjectRef::of(&object));
                if let Claim::Foreign(owner) = labels::claim(&labels::read(&object), set.pack_id)
                    && new.contains(&identity)
                {
                    taken.insert(identity, owner);
                }
            }
        }
        taken
    }

    /// Waits until the objects are gone whose deletion has begun.
    pub(super) async fn await_gone(&self, set: &Set<'_>, report: &Report, stop: &CancellationToken, account: &Account) {
        let is_going = |object: &&ObjectReport| {
            object.effect == Effect::Deleting || matches!(object.verdict, Some((Row::Going, _)))
        };
        let going = report.objects.iter().filter(is_going).map(|object| &object.identity);
        let waits = going.filter_map(|identity| Some((Kind::of(&identity.kind)?, identity))).map(
            |(kind, identity)| async move {
                let gone = poll(EVERY, LOOKS, stop, || async {
                    match self.find(kind, &identity.name, set.workspace).await {
                        Ok(None) => Probe::Ready(()),
                        Ok(Some(_)) => Probe::Pending,
                        Err(error) if is_passing(&error) => Probe::Pending,
                        Err(error) => Probe::Failed(error),
                    }
                });
                let (name, of) = (&identity.name, kind.type_name());
                let late = "it is still there: something has to finish before, as its finalizers say";
                match gone.await {
                    Ok(()) => account.deleted(of, name),
                    Err(Unready::Failed(error)) => account.failed(deploy_error("delete", &error).of(of, name)),
                    Err(Unready::Interrupted) => account.failed(DeployError::interrupted("delete").of(of, name)),
                    Err(Unready::Exhausted) => {
                        account.failed(DeployError::new(Category::Timeout, "delete", late).of(of, name));
                    }
                }
            },
        );
        join_all(waits).await;
    }

    /// The pack of the state. States of others may lack its id: then the labels of its object tell.
    pub(super) async fn pack_id(&self, call: &Call<'_, Config>) -> Result<String, DeployError> {
        let State { pack_id, resources, .. } = call.prior;
        if !pack_id.is_empty() {
            return Ok(pack_id.clone());
        }
        for entry in resources {
            let Some(kind) = Kind::of_type(&entry.kind) else { continue };
            let found = self.find(kind, &entry.name, &call.config.workspace).await;
            let found = found.map_err(|error| deploy_error("delete", &error).of(&entry.kind, &entry.name))?;
            if let Some(id) = found.and_then(|object| labels::read(&object).remove(labels::PACK_ID)) {
                return Ok(id);
            }
        }
        Ok(String::new())
    }

    /// Drops the entries of objects that are gone, or that turn out to be somebody else's.
    pub(super) async fn forget_gone(&self, set: &Set<'_>, report: &Report, account: &Account) {
        let known: BTreeSet<_> = report.objects.iter().map(|object| object.identity.clone()).collect();
        for entry in account.state().resources {
            let Some(identity) = set.identity(&entry).filter(|identity| !known.contains(identity)) else { continue };
            let Some(kind) = Kind::of(&identity.kind) else { continue };
            match self.find(kind, &entry.name, set.workspace).await {
                Ok(None) => account.deleted(&entry.kind, &entry.name),
                Ok(Some(object)) => {
                    let labels = labels::read(&object);
                    let is_of_promptarena = labels.get(labels::MANAGED_BY).is_some_and(|it| it == labels::MANAGER);
                    let is_same = !entry.uid.is_empty() && object["metadata"]["uid"] == entry.uid;
                    match labels::claim(&labels, set.pack_id) {
                        Claim::Foreign(owner) if is_of_promptarena && is_same => {
                            let message = format!("it was deployed from here, and has the labels of {owner} now");
                            let error = DeployError::new(Category::Conflict, "delete", message);
                            account.failed(
                                error.hint("restore its labels, or delete it by hand").of(&entry.kind, &entry.name),
                            );
                        }
                        Claim::Foreign(owner) => {
                            account.left(&entry.kind, &entry.name, &format!("it belongs to {owner}"));
                        }
                        Claim::Ours if set.is_operators(kind) => {
                            let left = format!("Left {} \"{}\" in place (operator-owned)", entry.kind, entry.name);
                            account.progress(left, -1.0);
                            account.update_state(|state| state.forget(&entry.kind, &entry.name));
                        }
                        // A version that was replaced, or the registry to which agents are bound.
                        Claim::Ours if report.intent == Intent::Apply => {}
                        Claim::Ours => {
                            let message = "it is still there, although no list has it";
                            let error = DeployError::new(Category::Conflict, "delete", message);
                            account.failed(error.hint("run the command again").of(&entry.kind, &entry.name));
                        }
                    }
                }
                Err(error) => account.failed(deploy_error("delete", &error).of(&entry.kind, &entry.name)),
            }
        }
    }
}
