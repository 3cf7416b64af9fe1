//! The documents in an agent's report.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::spoke::ObjectKey;

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
pub(crate) fn bundle_conditions(version: i32, failure: Option<&str>) -> Vec<Value> {
    let version = Some(version);
    match failure {
        None => vec![
            condition("Applied", true, "AppliedManifestWorkComplete", "Apply manifest work complete", version),
            condition("Available", true, "ResourcesAvailable", "All resources are available", version),
        ],
        Some(message) => vec![
            condition("Applied", false, "AppliedManifestWorkFailed", message, version),
            condition("Available", false, "ResourcesNotAvailable", message, version),
        ],
    }
}

/// What an agent says of one manifest.
pub(crate) struct ManifestReport<'a> {
    pub(crate) ordinal: usize,
    pub(crate) manifest: &'a Value,
    pub(crate) plural: String,
    pub(crate) failure: Option<&'a str>,
    /// Values of the feedback, as the report has them.
    pub(crate) values: Vec<Value>,
}

impl ManifestReport<'_> {
    /// The entry of the manifest in `resourceStatus`.
    pub(crate) fn document(&self) -> Value {
        let key = ObjectKey::of(self.manifest);
        let api_version = self.manifest["apiVersion"].as_str().unwrap_or_default();
        let conditions = match self.failure {
            None => vec![
                condition("Applied", true, "AppliedManifestComplete", "Apply manifest complete", None),
                condition("Available", true, "ResourceAvailable", "Resource is available", None),
            ],
            Some(message) => vec![
                condition("Applied", false, "AppliedManifestFailed", message, None),
                condition("Available", false, "ResourceNotAvailable", message, None),
            ],
        };
        let feedback = if self.values.is_empty() { json!({}) } else { json!({ "values": self.values }) };
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
