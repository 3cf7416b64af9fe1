//! The part of an API resource that the Sentinel reads.
//!
//! In: an item of the API's list. Out: a [`Resource`], and the event about it. Fails: decoding fails if the item
//! has no id, kind or generation, or if a time is not a time.

use jiff::Timestamp;
use lifecycle_sentinel_event::Event;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The condition that says whether all adapters have reconciled a resource.
const RECONCILED: &str = "Reconciled";

/// An API resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Resource {
    /// The resource's id.
    pub id: String,
    /// The resource's kind, such as `NodePool`.
    pub kind: String,
    /// The path at which the API serves the resource.
    #[serde(default)]
    pub href: String,
    /// The number of the resource's current specification, from 1.
    pub generation: i64,
    /// The parent resource, of kinds that have one.
    pub owner_references: Option<Owner>,
    /// What the adapters have reported.
    pub status: Option<Status>,
}

/// The reference to a parent resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Owner {
    /// The parent's id.
    pub id: Option<String>,
    /// The path at which the API serves the parent.
    pub href: Option<String>,
    /// The parent's kind.
    pub kind: Option<String>,
}

/// A resource's status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// The conditions, which the API aggregates from the adapters' reports; the API may write `null` for none.
    pub conditions: Option<Vec<Condition>>,
}

/// A condition of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// The condition's name.
    #[serde(rename = "type")]
    pub name: String,
    /// `True` or `False`.
    pub status: String,
    /// The generation that the condition is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// The oldest report that the condition is made of.
    pub last_updated_time: Option<Timestamp>,
}

impl Resource {
    /// The condition `Reconciled`; kinds without adapters have none.
    #[must_use]
    pub fn reconciled(&self) -> Option<&Condition> {
        let conditions = self.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.name == RECONCILED)
    }

    /// Builds an event that asks for the reconciliation of this resource.
    #[must_use]
    pub fn event(&self) -> Event {
        let event = Event::about(&self.kind, &self.id, &self.href, self.generation);
        match self.owner_references.as_ref().map(Owner::data) {
            // The Sentinel leaves out a mapping without members.
            Some(owner) if !owner.is_empty() => event.with("owner_references", Value::Object(owner)),
            Some(_) | None => event,
        }
    }
}

impl Owner {
    fn data(&self) -> Map<String, Value> {
        let members = [("id", &self.id), ("href", &self.href), ("kind", &self.kind)];
        let present = members.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        present.map(|(name, value)| (name.to_owned(), Value::String(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn event_names_the_owner_if_there_is_one() -> serde_json::Result<()> {
        let owner = json!({"id": "c1", "href": "/c/c1", "kind": "Cluster"});
        let cases = [
            ("no owner", json!(null), None),
            ("an owner", owner.clone(), Some(owner)),
            ("an owner with an id only", json!({"id": "c1"}), Some(json!({"id": "c1"}))),
            ("an empty owner", json!({}), None),
        ];
        for (name, written, expected) in cases {
            let document =
                json!({"id": "n1", "kind": "NodePool", "href": "/n/n1", "generation": 2, "owner_references": written});
            let event = serde_json::from_value::<Resource>(document)?.event();
            assert_eq!(event.data.get("owner_references"), expected.as_ref(), "{name}");
            assert_eq!((event.data.get("id"), event.data.get("generation")), (Some(&json!("n1")), Some(&json!(2))));
            assert_eq!(event.kind, "com.redhat.hyperfleet.nodepool.reconcile");
        }
        Ok(())
    }

    #[test]
    fn status_may_lack_conditions() -> serde_json::Result<()> {
        for status in [
            json!(null),
            json!({}),
            json!({"conditions": null}),
            json!({"conditions": [{"type": "Other", "status": "True", "reason": null, "message": null}]}),
        ] {
            let document = json!({"id": "c1", "kind": "Cluster", "generation": 1, "status": status});
            assert_eq!(serde_json::from_value::<Resource>(document)?.reconciled(), None, "{status}");
        }
        Ok(())
    }
}
