//! The agents' part, played by the test: nothing is applied, reported or confirmed until the test says so.
//!
//! Each consumer has one agent, which is the test or a [`KubeAgent`](crate::KubeAgent), with a memory of its own and with pretended objects. What the test makes an agent do
//! goes through the same checks as a real agent's reports.

use jiff::Timestamp;
use serde_json::Value;

use crate::reports::{Feedback, ManifestReport, bundle_conditions, condition};
use crate::server::LocalMaestro;
use crate::spoke::{Agent, AgentRefusal, Applied, FeedbackRule, Heard, ObjectKey, Spec, Work, feedback_value, plural};
use crate::state::State;
use crate::status::{Report, Reported};

/// Why an agent cannot do what the test demands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The server has no bundle of this id.
    #[error("there is no bundle `{0}`")]
    NoSuchBundle(String),
    /// The agent is offline.
    #[error("the agent of `{0}` is offline")]
    Offline(String),
    /// The bundle is being deleted, so the agent hears of no spec.
    #[error("the bundle is being deleted")]
    Deleting,
    /// Nobody asked for the bundle's deletion.
    #[error("the bundle is not being deleted")]
    NotDeleting,
    /// The agent has never applied the bundle.
    #[error("the agent has not applied the bundle")]
    NotApplied,
    /// The agent does not take the bundle.
    #[error("the agent refuses the bundle")]
    Refused(#[source] AgentRefusal),
    /// No rule of the bundle reads a value of this name.
    #[error("the bundle has no feedback rule `{0}`")]
    NoFeedbackRule(String),
}

impl LocalMaestro {
    /// Makes the agent receive and apply a bundle, and report that everything is applied and available.
    pub fn apply(&self, id: &str) -> Result<Reported, DriverError> {
        self.act(id, |state, consumer| {
            receive(state, consumer, id)?;
            state.agent(consumer).write_objects(id);
            self.report_work(state, consumer, id, None)
        })
    }

    /// Makes the agent receive a bundle and report that it failed to apply every manifest.
    pub fn fail_apply(&self, id: &str, message: &str) -> Result<Reported, DriverError> {
        self.act(id, |state, consumer| {
            receive(state, consumer, id)?;
            self.report_work(state, consumer, id, Some(message))
        })
    }

    /// Makes the agent report a value of an applied bundle. A rule of the bundle must read a value of this name.
    pub fn feedback(&self, id: &str, name: &str, value: &Value) -> Result<Reported, DriverError> {
        self.act(id, |state, consumer| {
            let work = state.agent(consumer).works.get_mut(id).ok_or(DriverError::NotApplied)?;
            let key = Spec(&work.spec).manifests().iter().map(ObjectKey::of).find(|key| has_rule(work, key, name));
            let key = key.ok_or_else(|| DriverError::NoFeedbackRule(name.to_owned()))?;
            work.feedback.insert((key, name.to_owned()), value.clone());
            self.report_work(state, consumer, id, None)
        })
    }

    /// Sends a report of a version and a sequence id, as an agent would that lags behind or repeats itself.
    ///
    /// Neither the agent's memory nor whether it is online matters.
    pub fn status(&self, id: &str, version: i32, sequence_id: &str) -> Result<Reported, DriverError> {
        let consumer = self.consumer_of(id)?;
        let conditions = bundle_conditions(version, None, true);
        let (id, sequence_id) = (id.to_owned(), sequence_id.to_owned());
        Ok(self.report(Report { id, consumer, version, sequence_id, conditions, resource_status: Vec::new() }))
    }

    /// Sends any report to the server.
    pub fn report(&self, report: Report) -> Reported {
        let reported = self.shared.report(report);
        self.shared.wake();
        reported
    }

    /// Makes the agent report that it has begun to delete a bundle.
    pub fn begin_delete(&self, id: &str) -> Result<Reported, DriverError> {
        self.act(id, |state, consumer| {
            let version = hear_of_deletion(state, consumer, id)?;
            let deleting = condition("Deleting", true, "ManifestsDeleting", "", Some(version));
            // What was applied is applied still.
            let mut report = match state.agent(consumer).works.get(id) {
                Some(work) => work.report(consumer, id, None),
                None => empty_report(consumer, id, version),
            };
            report.conditions.push(deleting);
            Ok(self.shared.send(state, report))
        })
    }

    /// Makes the agent delete the objects of a bundle, by the `deleteOption` that it last received, and confirm.
    pub fn finish_delete(&self, id: &str) -> Result<Reported, DriverError> {
        self.act(id, |state, consumer| {
            let version = hear_of_deletion(state, consumer, id)?;
            state.agent(consumer).remove_objects(id);
            let deleted = condition("Deleted", true, "ManifestsDeleted", "", Some(version));
            let report = Report { conditions: vec![deleted], ..empty_report(consumer, id, version) };
            Ok(self.shared.send(state, report))
        })
    }

    /// Disconnects an agent: it hears of nothing, and does nothing.
    pub fn agent_offline(&self, consumer: &str) {
        self.shared.with(|state| {
            let agent = state.agent(consumer);
            agent.is_offline = true;
            agent.queue.clear();
        });
    }

    /// Connects an agent again: it hears of every bundle of its consumer as it is now.
    pub fn agent_online(&self, consumer: &str) {
        self.shared.with(|state| {
            let State { database, agents, .. } = state;
            let agent = agents.entry(consumer.to_owned()).or_default();
            agent.is_offline = false;
            agent.resync(database, consumer);
        });
        self.shared.wake();
    }

    /// The pretended objects of a consumer's cluster.
    #[must_use]
    pub fn spoke_objects(&self, consumer: &str) -> Vec<Value> {
        self.shared.with(|state| state.agent(consumer).objects.values().cloned().collect())
    }

    /// A sequence id that is newer than every one before.
    #[must_use]
    pub fn next_sequence_id(&self) -> String {
        self.shared.with(|state| state.sequence.next(Timestamp::now()))
    }

    fn consumer_of(&self, id: &str) -> Result<String, DriverError> {
        let found = self.shared.with(|state| state.database.bundles.get(id).map(|bundle| bundle.consumer.clone()));
        found.ok_or_else(|| DriverError::NoSuchBundle(id.to_owned()))
    }

    /// Lets the online agent of a bundle act.
    fn act<T>(&self, id: &str, act: impl FnOnce(&mut State, &str) -> Result<T, DriverError>) -> Result<T, DriverError> {
        let consumer = self.consumer_of(id)?;
        let result = self.shared.with(|state| {
            if state.agent(&consumer).is_offline {
                return Err(DriverError::Offline(consumer.clone()));
            }
            act(state, &consumer)
        });
        self.shared.wake();
        result
    }
}

/// Passes the waiting event of a bundle to its agent.
fn receive(state: &mut State, consumer: &str, id: &str) -> Result<(), DriverError> {
    let State { database, agents, .. } = state;
    let agent = agents.entry(consumer.to_owned()).or_default();
    match agent.hear(database, id) {
        Heard::Spec => Ok(()),
        Heard::Refused(refusal) => Err(DriverError::Refused(refusal)),
        Heard::Deleting => Err(DriverError::Deleting),
        Heard::Gone => Err(DriverError::NoSuchBundle(id.to_owned())),
    }
}

/// Passes the deletion of a bundle to its agent, and returns the version that the agent has.
fn hear_of_deletion(state: &mut State, consumer: &str, id: &str) -> Result<i32, DriverError> {
    if state.database.bundles.get(id).is_some_and(|bundle| bundle.deleted_at.is_none()) {
        return Err(DriverError::NotDeleting);
    }
    match receive(state, consumer, id) {
        Ok(()) | Err(DriverError::Deleting) => {}
        Err(other) => return Err(other),
    }
    let work = state.agent(consumer).works.get(id).map(|work| work.version);
    let row = state.database.bundles.get(id).map(|bundle| bundle.version);
    work.or(row).ok_or_else(|| DriverError::NoSuchBundle(id.to_owned()))
}

impl Work {
    /// A report on all manifests: all are applied, or none could be.
    fn report(&self, consumer: &str, id: &str, failure: Option<&str>) -> Report {
        let is_available = failure.is_none();
        let manifests = Spec(&self.spec).manifests().iter().enumerate();
        let resource_status = manifests.map(|(ordinal, manifest)| {
            let key = ObjectKey::of(manifest);
            let values = self.feedback.iter().filter(|((of, name), _)| *of == key && has_rule(self, of, name));
            let values = values.map(|((_, name), value)| feedback_value(name, value)).collect();
            let feedback = Feedback { values, is_synced: self.has_rules(&key).then_some(true) };
            ManifestReport { ordinal, manifest, plural: plural(&key.kind), failure, is_available, feedback }.document()
        });
        Report {
            conditions: bundle_conditions(self.version, failure, is_available),
            resource_status: resource_status.collect(),
            ..empty_report(consumer, id, self.version)
        }
    }

    fn has_rules(&self, key: &ObjectKey) -> bool {
        !Spec(&self.spec).feedback_rules(key, &plural(&key.kind)).is_empty()
    }
}

fn has_rule(work: &Work, key: &ObjectKey, name: &str) -> bool {
    Spec(&work.spec).feedback_rules(key, &plural(&key.kind)).iter().any(|rule| match rule {
        FeedbackRule::Path { name: known, .. } => *known == name,
        FeedbackRule::WellKnown => true,
    })
}

impl Agent {
    /// Writes the pretended objects of a bundle, and removes those of dropped manifests.
    fn write_objects(&mut self, id: &str) {
        let Some(work) = self.works.get_mut(id) else { return };
        let spec = Spec(&work.spec);
        let mut owned = Vec::new();
        for manifest in spec.manifests() {
            let key = ObjectKey::of(manifest);
            match spec.strategy(&key, &plural(&key.kind)) {
                "ReadOnly" => continue,
                "CreateOnly" => drop(self.objects.entry(key).or_insert_with(|| manifest.clone())),
                _ => drop(self.objects.insert(key, manifest.clone())),
            }
            owned.push(Applied::pretended(manifest));
        }
        let before = std::mem::replace(&mut work.applied, owned.clone());
        for Applied { key, .. } in before.iter().filter(|applied| !owned.contains(applied)) {
            if !self.is_shared(id, key) {
                self.objects.remove(key);
            }
        }
    }

    /// Forgets a bundle, and removes its pretended objects, except those that its `deleteOption` orphans.
    pub(crate) fn remove_objects(&mut self, id: &str) {
        let Some(work) = self.works.remove(id) else { return };
        let spec = Spec(&work.spec);
        for Applied { key, .. } in &work.applied {
            if !spec.is_orphaned(key, &plural(&key.kind)) && !self.is_shared(id, key) {
                self.objects.remove(key);
            }
        }
    }
}

impl LocalMaestro {
    /// Reports on a bundle that the agent has.
    fn report_work(
        &self,
        state: &mut State,
        consumer: &str,
        id: &str,
        failure: Option<&str>,
    ) -> Result<Reported, DriverError> {
        let work = state.agent(consumer).works.get(id).ok_or(DriverError::NotApplied)?;
        let report = work.report(consumer, id, failure);
        Ok(self.shared.send(state, report))
    }
}

fn empty_report(consumer: &str, id: &str, version: i32) -> Report {
    let (id, consumer) = (id.to_owned(), consumer.to_owned());
    Report { id, consumer, version, sequence_id: String::new(), conditions: Vec::new(), resource_status: Vec::new() }
}
