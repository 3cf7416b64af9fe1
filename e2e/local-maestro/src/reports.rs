//! The documents in an agent's report.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::database::StoredStatus;
use crate::spoke::ObjectKey;
use crate::status::Report;

/// A condition; `version` is that of the bundle, and absent for a manifest.
pub(crate) fn condition(kind: &str, status: bool, reason: &str, message: &str, version: Option<i32>) -> Value {
    let mut condition = json!({
        "type": kind,
        "status": if status { "True" } else { "False" },
        "reason": reason,
        "message": message,
        "lastTransitionTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    if let Some(version) = version {
        condition["observedGeneration"] = version.into();
    }
    condition
}

/// The conditions of a bundle that is applied, or that could not be.
pub(crate) fn bundle_conditions(version: i32, failure: Option<&str>, is_available: bool) -> Vec<Value> {
    let version = Some(version);
    let applied = match failure {
        None => condition("Applied", true, "AppliedManifestWorkComplete", "Apply manifest work complete", version),
        Some(message) => condition("Applied", false, "AppliedManifestWorkFailed", message, version),
    };
    let available = match is_available {
        true => condition("Available", true, "ResourcesAvailable", "All resources are available", version),
        false => condition("Available", false, "ResourcesNotAvailable", "Not all resources are available", version),
    };
    vec![applied, available]
}

/// Gives the conditions of a report the times of the stored ones, unless their status is another.
pub(crate) fn keep_times(stored: &StoredStatus, report: &mut Report) {
    keep(&stored.conditions, &mut report.conditions);
    for entry in &mut report.resource_status {
        let before = stored.resource_status.iter().find(|before| before["resourceMeta"] == entry["resourceMeta"]);
        let before = before.and_then(|before| before["conditions"].as_array());
        if let (Some(before), Some(now)) = (before, entry["conditions"].as_array_mut()) {
            keep(before, now);
        }
    }
}

fn keep(before: &[Value], now: &mut [Value]) {
    for condition in now {
        let is_same = |old: &&Value| old["type"] == condition["type"] && old["status"] == condition["status"];
        if let Some(old) = before.iter().find(is_same) {
            condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
        }
    }
}

/// What an agent says of one manifest.
pub(crate) struct ManifestReport<'a> {
    pub(crate) ordinal: usize,
    pub(crate) manifest: &'a Value,
    pub(crate) plural: String,
    pub(crate) failure: Option<&'a str>,
    pub(crate) is_available: bool,
    pub(crate) feedback: Feedback,
}

/// The values that an agent read from an object.
#[derive(Debug, Default)]
pub(crate) struct Feedback {
    /// The values, as the report has them.
    pub(crate) values: Vec<Value>,
    /// Whether every rule could be followed; none without a rule.
    pub(crate) is_synced: Option<bool>,
}

impl ManifestReport<'_> {
    /// The entry of the manifest in `resourceStatus`.
    pub(crate) fn document(&self) -> Value {
        let key = ObjectKey::of(self.manifest);
        let api_version = self.manifest["apiVersion"].as_str().unwrap_or_default();
        let mut conditions = vec![
            match self.failure {
                None => condition("Applied", true, "AppliedManifestComplete", "Apply manifest complete", None),
                Some(message) => condition("Applied", false, "AppliedManifestFailed", message, None),
            },
            match self.is_available {
                true => condition("Available", true, "ResourceAvailable", "Resource is available", None),
                false => condition("Available", false, "ResourceNotAvailable", "Resource is not available", None),
            },
        ];
        conditions.extend(self.feedback.is_synced.map(|is_synced| match is_synced {
            true => condition("StatusFeedbackSynced", true, "StatusFeedbackSynced", "", None),
            false => condition("StatusFeedbackSynced", false, "StatusFeedbackSyncFailed", "a value is too large", None),
        }));
        let values = &self.feedback.values;
        let feedback = if values.is_empty() { json!({}) } else { json!({ "values": values }) };
        json!({
            "resourceMeta": {
                "ordinal": self.ordinal,
                "group": key.group,
                "version": api_version.rsplit('/').next().unwrap_or_default(),
                "kind": key.kind,
                "resource": self.plural,
                "name": key.name,
                "namespace": key.namespace,
            },
            "statusFeedback": feedback,
            "conditions": conditions,
        })
    }
}
