//! What can be seen of a cluster, and what changed since the last look.
//!
//! In: documents of the API, works of Maestro, and objects of Kubernetes. Out: an [`Observation`], and the lines that tell its difference from
//! an earlier one. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use serde_json::Value;

use crate::terminal::{bad, good};

/// The label of an object that its adapter disowned.
const DISOWNED: &str = "hyperfleet.io/disowned";

/// What can be seen of a cluster at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Observation {
    /// What the API says about the cluster; `None` if there is no such cluster.
    pub(super) cluster: Option<ClusterState>,
    /// The conditions that each adapter reported, as one line.
    pub(super) adapters: BTreeMap<String, String>,
    /// The objects by kind and name.
    pub(super) objects: BTreeMap<(Kind, String), ObjectState>,
}

/// A kind of objects; those that others are in come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    ManifestWork,
    Namespace,
    ConfigMap,
    Job,
}

/// What the API says about a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterState {
    pub(super) generation: i64,
    pub(super) is_deleting: bool,
    /// Whether all adapters are done with the current generation.
    pub(super) is_reconciled: bool,
    /// The condition Reconciled, as text.
    pub(super) reconciled: String,
}

/// An object of Kubernetes, or a work in Maestro, by its UID and what can be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectState {
    pub(super) uid: String,
    pub(super) state: String,
}

impl ClusterState {
    /// Reads a cluster's document.
    pub(super) fn read(document: &Value) -> Self {
        let generation = document["generation"].as_i64().unwrap_or_default();
        let conditions = document["status"]["conditions"].as_array();
        let condition = conditions.into_iter().flatten().find(|condition| condition["type"] == "Reconciled");
        let condition = condition.unwrap_or(&Value::Null);
        let observed = condition["observed_generation"].as_i64();
        let text = |key: &str| condition[key].as_str().unwrap_or("?").to_owned();
        Self {
            generation,
            is_deleting: document["deleted_time"].is_string(),
            is_reconciled: text("status") == "True" && observed == Some(generation),
            reconciled: format!("Reconciled={}: {}", text("status"), text("message")),
        }
    }
}

/// Reads the reports about a cluster: each adapter's conditions for the generation that it has seen.
pub(super) fn adapters(statuses: &Value) -> BTreeMap<String, String> {
    let line = |report: &Value| {
        let conditions = report["conditions"].as_array().into_iter().flatten();
        let shown = conditions.filter(|condition| condition["type"] != "Finalized" || condition["status"] == "True");
        let shown = shown.map(|condition| {
            let (kind, status) =
                (condition["type"].as_str().unwrap_or("?"), condition["status"].as_str().unwrap_or("?"));
            let reason = condition["reason"].as_str().unwrap_or("no reason");
            match (status, reason, condition["message"].as_str()) {
                ("True", _, _) => format!("{kind}={status}"),
                // The adapter's own reason, whose message says for what.
                (_, "Waiting", Some(message)) => format!("{kind}={status} ({reason}: {message})"),
                _ => format!("{kind}={status} ({reason})"),
            }
        });
        format!("generation {}: {}", report["observed_generation"], shown.collect::<Vec<_>>().join(" "))
    };
    let reports = statuses["items"].as_array().into_iter().flatten();
    reports.map(|report| (report["adapter"].as_str().unwrap_or("?").to_owned(), line(report))).collect()
}

impl Observation {
    /// The state of an object, if it is there.
    pub(super) fn state(&self, kind: Kind, name: &str) -> Option<&str> {
        self.objects.get(&(kind, name.to_owned())).map(|object| object.state.as_str())
    }
}

impl ObjectState {
    /// The state of any object.
    pub(super) fn of(object: &impl ResourceExt) -> Self {
        let state = if object.meta().deletion_timestamp.is_some() {
            "is being deleted"
        } else if object.labels().contains_key(DISOWNED) {
            "is disowned"
        } else {
            "exists"
        };
        Self { uid: object.uid().unwrap_or_default(), state: state.to_owned() }
    }

    /// The state of a work as Maestro shows it. Its agent's conditions belong to one version.
    pub(super) fn of_work(work: &Value) -> Self {
        let (version, status) = (&work["version"], &work["status"]);
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let is_applied = conditions.any(|condition| condition["type"] == "Applied" && condition["status"] == "True");
        let state = if work["deleted_at"].is_string() {
            "is being deleted".to_owned()
        } else if status["ObservedVersion"] == *version && is_applied {
            format!("is applied by its agent, version {version}")
        } else {
            format!("is not yet applied, version {version}")
        };
        // A later work of the same name has the same id.
        Self { uid: format!("{}@{}", work["id"], work["created_at"]), state }
    }

    /// The state of a Job, which also says how it ended.
    pub(super) fn of_job(job: &Job) -> Self {
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        let end = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed"));
        let mut state = Self::of(job);
        if let Some(end) = end
            && state.state == "exists"
        {
            state.state = if end.type_ == "Complete" { "is complete" } else { "has failed" }.to_owned();
        }
        state
    }
}

/// The lines that tell what changed.
pub(super) fn changes(before: &Observation, after: &Observation) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tell = |(kind, name): &(Kind, String), text: &str| {
        let who = if *kind == Kind::ManifestWork { "Maestro" } else { "Kubernetes" };
        lines.push(line(who, &format!("{kind:?} {name} {text}")));
    };
    for (key, object) in &after.objects {
        let former = before.objects.get(key);
        let is_new = former.is_none_or(|former| former.uid != object.uid);
        if is_new {
            tell(key, if former.is_some() { "is made again" } else { "is there" });
        }
        let state = former.filter(|_| !is_new).map_or("exists", |former| &former.state);
        if state != object.state {
            tell(key, &if object.state == "has failed" { bad(&object.state) } else { object.state.clone() });
        }
    }
    for key in before.objects.keys().filter(|key| !after.objects.contains_key(*key)) {
        tell(key, "is gone");
    }
    for (adapter, report) in &after.adapters {
        if before.adapters.get(adapter) != Some(report) {
            lines.push(line(adapter, report));
        }
    }
    match (&before.cluster, &after.cluster) {
        (Some(_), None) => lines.push(line("API", "the cluster is gone")),
        (former, Some(now)) if former.as_ref() != Some(now) => {
            let reconciled = if now.is_reconciled { good(&now.reconciled) } else { now.reconciled.clone() };
            let deleting = if now.is_deleting { ", deleted" } else { "" };
            lines.push(line("API", &format!("generation {}{deleting}: {reconciled}", now.generation)));
        }
        _ => {}
    }
    lines
}

fn line(who: &str, what: &str) -> String {
    format!("{who:<12} {what}")
}

#[cfg(test)]
mod tests;
