//! Tells an object that the adapter wrote from a copy of one, by `metadata.managedFields`.
//!
//! Whoever copies an object copies its labels and annotations; the API server writes down who made the copy. A program that restores
//! backups may bring these records along, but not the time of the creation.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Version;

/// How long after it noted the writer the API server may set the time of creation: it asks the admission webhooks between the two,
/// and a request lasts a minute at most.
const ADMISSION: SignedDuration = SignedDuration::from_secs(60);

/// What the API server recorded of a field manager's writes to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// The manager wrote this object.
    Here,
    /// The manager wrote before the object was created: a restored backup or a copy brought the record along.
    Earlier,
    /// Others wrote the object; the manager did not.
    Never,
    /// The server recorded no writers, as Maestro, or the time of creation is not known.
    Nothing,
}

impl Version {
    /// What the API server recorded of the writes of `manager`, including its patches, for which the manager is called `<manager>-patch`.
    #[must_use]
    pub fn recorded(&self, manager: &str) -> Recorded {
        let list = match self.managed_fields() {
            Some(Value::String(text)) => serde_json::from_str(text).map(Cow::Owned).ok(),
            other => other.map(Cow::Borrowed),
        };
        let Some((list, created)) = list.as_deref().and_then(Value::as_array).zip(self.created_at()) else {
            return Recorded::Nothing;
        };
        let is_its = |writer: &str| writer.strip_suffix("-patch").unwrap_or(writer) == manager || writer == manager;
        let times =
            list.iter().filter(|entry| entry["manager"].as_str().is_some_and(is_its)).map(|entry| &entry["time"]);
        let times: Vec<Option<Timestamp>> = times.map(|time| time.as_str()?.parse().ok()).collect();
        let is_here = |time: &Option<Timestamp>| time.is_none_or(|time| time.duration_until(created) <= ADMISSION);
        match times.as_slice() {
            _ if list.is_empty() => Recorded::Nothing,
            [] => Recorded::Never,
            times if times.iter().any(is_here) => Recorded::Here,
            _ => Recorded::Earlier,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copy_is_told_from_the_object_that_the_adapter_wrote() {
        let entry = |manager: &str, time: &str| json!({ "manager": manager, "operation": "Update", "time": time });
        let (before, at) = ("2026-01-01T00:00:00Z", "2026-01-01T12:00:00Z");
        let cases = [
            ("written once", json!([entry("landing", at)]), Recorded::Here),
            ("written again later", json!([entry("landing", "2026-03-01T00:00:00Z")]), Recorded::Here),
            ("a slow webhook", json!([entry("landing", "2026-01-01T11:59:31Z")]), Recorded::Here),
            ("a patch alone is left", json!([entry("landing-patch", at), entry("kubectl", at)]), Recorded::Here),
            ("no time", json!([{ "manager": "landing" }]), Recorded::Here),
            ("as a list keeps it", json!(json!([entry("landing", at)]).to_string()), Recorded::Here),
            ("copied by kubectl", json!([entry("kubectl-create", at)]), Recorded::Never),
            ("another adapter's", json!([entry("landing-zone", at)]), Recorded::Never),
            ("restored with its records", json!([entry("landing", before), entry("velero", at)]), Recorded::Earlier),
            ("records that somebody removed", json!([]), Recorded::Nothing),
            ("no records", json!(null), Recorded::Nothing),
        ];
        for (name, managed_fields, expected) in cases {
            let metadata = json!({ "name": "a", "creationTimestamp": at, "managedFields": managed_fields });
            assert_eq!(Version::new(json!({ "metadata": metadata })).recorded("landing"), expected, "{name}");
        }
        let undated = json!({ "metadata": { "managedFields": [entry("landing", at)] } });
        assert_eq!(Version::new(undated).recorded("landing"), Recorded::Nothing, "no time of creation");
    }
}
