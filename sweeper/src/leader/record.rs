//! Reads a Lease of `coordination.k8s.io/v1`, and writes its `spec`.
//!
//! In: the JSON of a Lease, whoever wrote it. Out: a [`Record`]. Fails: a text that names the field by which no
//! term can begin. A missing or null field is no failure. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_objects::object_ref::ObjectRef;
use serde_json::{Value, json};

/// The duration that a released Lease carries: the least that the API server accepts, as other electors write it.
const RELEASED: Duration = Duration::from_secs(1);

/// A Lease as the API server returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) uid: String,
    pub(super) resource_version: String,
    /// Empty if nobody holds the Lease.
    pub(super) holder: String,
    pub(super) duration: Duration,
    pub(super) transitions: u32,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Record {
    pub(super) fn read(lease: &Value) -> Result<Self, String> {
        let metadata = lease.get("metadata").unwrap_or(&Value::Null);
        // A fence without a UID and a resource version would let a write go through unseen changes.
        let required = |key: &str| match metadata.get(key).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(format!("the Lease has no metadata.{key}")),
        };
        let spec = lease.get("spec").unwrap_or(&Value::Null);
        let field = |key: &str| spec.get(key).filter(|value| !value.is_null());
        let number = |key: &str| match field(key) {
            None => Ok(0),
            Some(value) => value
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
                .ok_or_else(|| format!("spec.{key} of the Lease is {value}, which is no count")),
        };
        let transitions = number("leaseTransitions")?;
        if transitions >= i32::MAX.unsigned_abs() {
            return Err(format!(
                "spec.leaseTransitions of the Lease is {transitions}, which cannot rise: delete the Lease"
            ));
        }
        let holder = match field("holderIdentity") {
            None => String::new(),
            Some(Value::String(holder)) => holder.clone(),
            Some(other) => return Err(format!("spec.holderIdentity of the Lease is {other}, which is no text")),
        };
        let annotations = metadata.get("annotations").and_then(Value::as_object).into_iter().flatten();
        Ok(Self {
            uid: required("uid")?,
            resource_version: required("resourceVersion")?,
            holder,
            duration: Duration::from_secs(number("leaseDurationSeconds")?.into()),
            transitions,
            annotations: annotations
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
        })
    }

    /// Whether the last holder gave the Lease back, after its claim had ended.
    ///
    /// A holder that a person removed is not enough: the replica that it named still has a claim.
    pub(super) fn is_released(&self) -> bool {
        self.holder.is_empty() && self.duration == RELEASED
    }
}

/// The `spec` that a write leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) holder: String,
    pub(super) duration: Duration,
    pub(super) acquired: Timestamp,
    pub(super) renewed: Timestamp,
    pub(super) transitions: u32,
}

impl Spec {
    /// The `spec` of the same term, given back.
    pub(super) fn released(self) -> Self {
        Self { holder: String::new(), duration: RELEASED, ..self }
    }

    /// A merge patch, which leaves everything else of the Lease as it is.
    pub(super) fn patch(&self) -> Value {
        json!({ "spec": {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration.as_secs(),
            "acquireTime": micro_time(self.acquired),
            "renewTime": micro_time(self.renewed),
            "leaseTransitions": self.transitions,
        } })
    }

    /// The Lease to create.
    pub(super) fn lease(&self, object: &ObjectRef) -> Value {
        let mut lease = self.patch();
        lease["apiVersion"] = object.kind.api_version().into();
        lease["kind"] = object.kind.kind.as_str().into();
        lease["metadata"] = json!({ "namespace": object.namespace, "name": object.name });
        lease
    }
}

/// Formats a time as a `MicroTime`: with exactly six digits after the point.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::leader::Settings;

    fn lease(spec: &Value) -> Value {
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
                "metadata": { "name": "sweeper", "namespace": "fleet", "uid": "u1", "resourceVersion": "7",
                              "annotations": { "a": "1" } } })
    }

    #[test]
    fn lease_is_read_whoever_wrote_it() {
        let full = json!({ "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 3,
                           "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": null, "strategy": "x" });
        let nulls = json!({ "holderIdentity": null, "leaseDurationSeconds": null, "leaseTransitions": null });
        let cases = [
            ("a held Lease", full, "a", 15, 3),
            ("a Lease with null fields", nulls, "", 0, 0),
            ("a Lease with an empty spec", json!({}), "", 0, 0),
            ("a Lease without a spec", Value::Null, "", 0, 0),
        ];
        for (name, spec, holder, duration, transitions) in cases {
            let expected = Record {
                uid: "u1".to_owned(),
                resource_version: "7".to_owned(),
                holder: holder.to_owned(),
                duration: Duration::from_secs(duration),
                transitions,
                annotations: BTreeMap::from([("a".to_owned(), "1".to_owned())]),
            };
            assert_eq!(Record::read(&lease(&spec)), Ok(expected), "{name}");
        }
    }

    #[test]
    fn lease_that_no_term_can_follow_is_an_error_that_names_the_field() {
        let mut unversioned = lease(&json!({}));
        unversioned["metadata"]["resourceVersion"] = json!("");
        let mut nameless = lease(&json!({}));
        nameless["metadata"]["uid"] = Value::Null;
        let cases = [
            (unversioned, "metadata.resourceVersion"),
            (nameless, "metadata.uid"),
            (Value::Null, "metadata.uid"),
            (lease(&json!({ "leaseTransitions": i32::MAX })), "spec.leaseTransitions of the Lease is 2147483647"),
            (lease(&json!({ "leaseTransitions": -1 })), "spec.leaseTransitions of the Lease is -1"),
            (lease(&json!({ "leaseDurationSeconds": "15s" })), "spec.leaseDurationSeconds"),
            (lease(&json!({ "holderIdentity": 7 })), "spec.holderIdentity"),
        ];
        for (lease, field) in cases {
            let error = Record::read(&lease).unwrap_err();
            assert!(error.contains(field), "{error}");
        }
    }

    #[test]
    fn only_the_holders_own_release_frees_the_lease_at_once() {
        let cases = [
            ("released by its holder", json!({ "holderIdentity": "", "leaseDurationSeconds": 1 }), true),
            ("emptied by a person", json!({ "holderIdentity": "", "leaseDurationSeconds": 15 }), false),
            ("made without a holder", json!({}), false),
            ("held for a second", json!({ "holderIdentity": "a", "leaseDurationSeconds": 1 }), false),
        ];
        for (name, spec, expected) in cases {
            assert_eq!(Record::read(&lease(&spec)).unwrap().is_released(), expected, "{name}");
        }
    }

    #[test]
    fn written_lease_has_the_fields_and_formats_of_the_api() {
        let spec = Spec {
            holder: "a".to_owned(),
            duration: Duration::from_secs(15),
            acquired: "2026-01-01T00:00:00Z".parse().unwrap(),
            renewed: "2026-01-01T00:00:02.123456789Z".parse().unwrap(),
            transitions: 4,
        };
        let expected = json!({ "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 4,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:02.123456Z" });
        assert_eq!(spec.patch(), json!({ "spec": expected }));
        assert_eq!(
            spec.lease(&Settings { namespace: Some("fleet".to_owned()), ..Settings::default() }.object().unwrap()),
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": expected,
                    "metadata": { "namespace": "fleet", "name": "hyperfleet-sweeper" } })
        );
        let released = spec.released();
        assert_eq!((released.holder.as_str(), released.duration, released.transitions), ("", RELEASED, 4));
    }
}
