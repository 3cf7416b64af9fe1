//! One look of an agent at everything that it has to do.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Client;
use serde_json::Value;

use super::cluster::{Cluster, Outcome};
use crate::reports::{Feedback, ManifestReport, bundle_conditions, condition};
use crate::spoke::{Applied, FeedbackRule, Heard, ObjectKey, Spec, Work, feedback_value};
use crate::state::{Shared, State};
use crate::status::Report;

/// The most bytes of one value of the feedback.
const LARGEST_VALUE: usize = 1 << 20;

/// The agent's side of one consumer.
pub(super) struct Worker {
    shared: Arc<Shared>,
    consumer: String,
    cluster: Cluster,
    /// The versions that are applied as a whole, by bundle.
    done: BTreeMap<String, i32>,
    /// What the agent last reported, by bundle.
    reported: BTreeMap<String, Report>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, consumer: String, client: Client) -> Self {
        let cluster = Cluster::new(client);
        Self { shared, consumer, cluster, done: BTreeMap::new(), reported: BTreeMap::new() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.shared.with(act)
    }

    /// Hears of everything that waits, and then applies, reads and deletes objects.
    pub(super) async fn pass(&mut self) {
        if self.with(|state| state.agent(&self.consumer).is_offline) {
            return;
        }
        while let Some((id, heard)) = self.hear() {
            // The server may have lost the last report, too.
            self.reported.remove(&id);
            // An agent that never had the bundle has nothing to delete.
            if heard == Heard::Deleting && self.with(|state| !state.agent(&self.consumer).works.contains_key(&id)) {
                let version = self.with(|state| state.database.bundles.get(&id).map_or(0, |bundle| bundle.version));
                self.confirm_deletion(&id, version);
            }
        }
        for (id, work) in self.with(|state| state.agent(&self.consumer).works.clone()) {
            if work.is_deleting {
                self.delete(&id, &work).await;
            } else {
                self.reconcile(&id, work).await;
            }
        }
    }

    fn hear(&self) -> Option<(String, Heard)> {
        self.with(|state| {
            let State { database, agents, .. } = state;
            let agent = agents.get_mut(&self.consumer)?;
            let id = agent.queue.pop_front()?;
            let heard = agent.hear(database, &id);
            Some((id, heard))
        })
    }

    async fn reconcile(&mut self, id: &str, work: Work) {
        let spec = Spec(&work.spec);
        let is_due = self.done.get(id) != Some(&work.version);
        let (mut entries, mut applied, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_available = true;
        for (ordinal, manifest) in spec.manifests().iter().enumerate() {
            let key = ObjectKey::of(manifest);
            let Outcome { plural, object, failure } = self.cluster.manifest(spec, manifest, is_due).await;
            if let Some(object) = &object
                && spec.strategy(&key, &plural) != "ReadOnly"
            {
                let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
                applied.push(Applied { uid, ..Applied::pretended(manifest) });
            }
            is_available &= object.is_some();
            let feedback = object.as_ref().map(|object| read(object, &spec.feedback_rules(&key, &plural)));
            let report = ManifestReport {
                ordinal,
                manifest,
                plural,
                failure: failure.as_deref(),
                is_available: object.is_some(),
                feedback: feedback.unwrap_or_default(),
            };
            entries.push(report.document());
            failures.extend(failure);
        }
        let is_new = |old: &Applied, applied: &[Applied]| applied.iter().all(|applied| applied.key != old.key);
        for old in work.applied.iter().filter(|old| is_new(old, &applied)).cloned().collect::<Vec<_>>() {
            let plural = self.cluster.plural(&old.api_version, &old.key.kind);
            let stays = spec.is_orphaned(&old.key, &plural) || self.is_shared(id, &old.key);
            // Objects of dropped manifests go after all others are applied.
            if !failures.is_empty() || (!stays && !self.cluster.delete(&old).await) {
                applied.push(old);
            }
        }
        let failure = failures.first().map(String::as_str);
        if failure.is_none() {
            self.done.insert(id.to_owned(), work.version);
        }
        self.with(|state| {
            if let Some(known) = state.agent(&self.consumer).works.get_mut(id) {
                known.applied = applied;
            }
        });
        let conditions = bundle_conditions(work.version, failure, is_available);
        self.report(id, work.version, conditions, entries);
    }

    async fn delete(&mut self, id: &str, work: &Work) {
        let spec = Spec(&work.spec);
        let mut left = Vec::new();
        for applied in &work.applied {
            let plural = self.cluster.plural(&applied.api_version, &applied.key.kind);
            let stays = spec.is_orphaned(&applied.key, &plural) || self.is_shared(id, &applied.key);
            if !stays && !self.cluster.delete(applied).await {
                left.push(applied.clone());
            }
        }
        if left.is_empty() {
            self.confirm_deletion(id, work.version);
            return;
        }
        self.with(|state| {
            if let Some(known) = state.agent(&self.consumer).works.get_mut(id) {
                known.applied = left;
            }
        });
        let last = self.reported.get(id).cloned();
        let (mut conditions, entries) =
            last.map(|report| (report.conditions, report.resource_status)).unwrap_or_default();
        conditions.retain(|condition| condition["type"] != "Deleting");
        conditions.push(condition("Deleting", true, "ManifestsDeleting", "", Some(work.version)));
        self.report(id, work.version, conditions, entries);
    }

    fn is_shared(&self, id: &str, key: &ObjectKey) -> bool {
        self.with(|state| state.agent(&self.consumer).is_shared(id, key))
    }

    fn confirm_deletion(&mut self, id: &str, version: i32) {
        self.done.remove(id);
        self.reported.remove(id);
        let deleted = condition("Deleted", true, "ManifestsDeleted", "", Some(version));
        let report = self.document(id, version, vec![deleted], Vec::new());
        self.with(|state| {
            state.agent(&self.consumer).works.remove(id);
            self.shared.send(state, report);
        });
    }

    /// Reports, if there is something new to say.
    fn report(&mut self, id: &str, version: i32, conditions: Vec<Value>, resource_status: Vec<Value>) {
        let report = self.document(id, version, conditions, resource_status);
        if self.reported.get(id).is_some_and(|last| timeless(last) == timeless(&report)) {
            return;
        }
        self.reported.insert(id.to_owned(), report.clone());
        self.with(|state| self.shared.send(state, report));
    }

    fn document(&self, id: &str, version: i32, conditions: Vec<Value>, resource_status: Vec<Value>) -> Report {
        let (id, consumer) = (id.to_owned(), self.consumer.clone());
        Report { id, consumer, version, sequence_id: String::new(), conditions, resource_status }
    }
}

/// A report without the times of its conditions.
fn timeless(report: &Report) -> Report {
    let forget = |conditions: &mut [Value]| {
        conditions.iter_mut().for_each(|condition| condition["lastTransitionTime"] = Value::Null);
    };
    let mut report = report.clone();
    forget(&mut report.conditions);
    for conditions in report.resource_status.iter_mut().filter_map(|entry| entry["conditions"].as_array_mut()) {
        forget(conditions);
    }
    report
}

/// Reads the values of an object by its rules. A path that leads nowhere has no value.
fn read(object: &Value, rules: &[FeedbackRule<'_>]) -> Feedback {
    let mut feedback = Feedback { values: Vec::new(), is_synced: (!rules.is_empty()).then_some(true) };
    for rule in rules {
        let FeedbackRule::Path { name, path } = rule else { continue };
        let Some(value) = value_at(object, path) else { continue };
        if value.to_string().len() > LARGEST_VALUE {
            feedback.is_synced = Some(false);
        } else {
            feedback.values.push(feedback_value(name, value));
        }
    }
    feedback
}

/// The value at `@`, which is the whole object, or at a path of names such as `.status.phase`.
fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    match path.strip_prefix('.') {
        Some(names) => names.split('.').try_fold(object, |value, name| value.get(name)),
        None => (path == "@").then_some(object),
    }
}
