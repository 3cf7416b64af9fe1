//! The rows of the API's tables, and the documents that clients see.
//!
//! In: rows as PostgreSQL's `to_jsonb` writes them. Out: the API's JSON documents. Pure; fails never.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The path prefix of every resource.
pub const BASE: &str = "/api/hyperfleet/v1";

/// The caller of every request, as the real API names it while its authentication is off.
pub const CALLER: &str = "system@hyperfleet.local";

/// An API resource: its row, and the rows that belong to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// A UUID of version 7.
    pub id: String,
    /// The kind, such as `Cluster`.
    pub kind: String,
    /// The name, unique among the live resources of the same kind and owner.
    pub name: String,
    /// The path at which the API serves the resource.
    pub href: String,
    /// What the user wants.
    pub spec: Value,
    /// Raised by one with each change of `spec`, labels or references, and with the deletion; begins at 1.
    pub generation: i64,
    /// When the resource was created.
    pub created_time: Timestamp,
    /// When a user last changed the resource.
    pub updated_time: Timestamp,
    /// Who created it.
    pub created_by: String,
    /// Who last changed it.
    pub updated_by: String,
    /// When its deletion was requested.
    pub deleted_time: Option<Timestamp>,
    /// Who requested its deletion.
    pub deleted_by: Option<String>,
    /// The id of the parent.
    pub owner_id: Option<String>,
    /// The kind of the parent.
    pub owner_kind: Option<String>,
    /// The path of the parent.
    pub owner_href: Option<String>,
    /// The labels, from a table of their own.
    #[serde(default, skip_serializing)]
    pub labels: BTreeMap<String, String>,
    /// The resources that this one refers to, from a table of their own.
    #[serde(default, skip_serializing)]
    pub references: Vec<Reference>,
    /// What the reports of adapters result in, from a table of their own.
    #[serde(default, skip_serializing)]
    pub conditions: Vec<Condition>,
}

/// A reference of one resource to another, which neither owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The role of the other resource, such as `wif_config`.
    pub ref_type: String,
    /// The other resource's id.
    pub id: String,
    /// The other resource's kind.
    pub kind: String,
    /// The other resource's path.
    pub href: String,
}

/// A condition of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The type, such as `Reconciled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True` or `False`.
    pub status: String,
    /// A word for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The generation of the resource that the condition is about.
    pub observed_generation: i64,
    /// When the condition first appeared.
    pub created_time: Timestamp,
    /// The time of the oldest report that the condition rests on.
    pub last_updated_time: Timestamp,
    /// When the status last changed.
    pub last_transition_time: Timestamp,
}

/// The last report of one adapter on one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The adapter's name.
    pub adapter: String,
    /// The generation of the resource that the adapter saw.
    pub observed_generation: i64,
    /// What the adapter says.
    pub conditions: Vec<ReportCondition>,
    /// Facts about the adapter's job.
    pub metadata: Option<Value>,
    /// Further facts, in a form of the adapter's own.
    pub data: Option<Value>,
    /// The time of the adapter's first report.
    pub created_time: Timestamp,
    /// The time of this report.
    pub last_report_time: Timestamp,
}

/// A condition of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportCondition {
    /// The type, such as `Available`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A word for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Timestamp,
}

impl Resource {
    /// Whether the deletion of the resource was requested.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.deleted_time.is_some()
    }

    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// The resource as clients see it. What is not set is left out.
    #[must_use]
    pub fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
        put("id", json!(self.id));
        put("kind", json!(self.kind));
        put("name", json!(self.name));
        put("href", json!(self.href));
        put("spec", self.spec.clone());
        if !self.labels.is_empty() {
            put("labels", json!(self.labels));
        }
        put("generation", json!(self.generation));
        put("created_time", json!(self.created_time));
        put("updated_time", json!(self.updated_time));
        put("created_by", json!(self.created_by));
        put("updated_by", json!(self.updated_by));
        if let Some(time) = self.deleted_time {
            put("deleted_time", json!(time));
        }
        if let Some(caller) = &self.deleted_by {
            put("deleted_by", json!(caller));
        }
        if let Some(id) = &self.owner_id {
            // One object, despite the plural: so the API writes it.
            put("owner_references", json!({ "id": id, "kind": self.owner_kind, "href": self.owner_href }));
        }
        if !self.references.is_empty() {
            let mut references: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
            for Reference { ref_type, id, kind, href } in &self.references {
                let target = json!({ "id": id, "kind": kind, "href": href });
                references.entry(ref_type).or_default().push(target);
            }
            put("references", json!(references));
        }
        put("status", json!({ "conditions": self.conditions }));
        document
    }
}

impl Report {
    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&ReportCondition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the report has this condition with the status `True`.
    #[must_use]
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == "True")
    }

    /// The report as clients see it.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut document = json!({
            "adapter": self.adapter,
            "observed_generation": self.observed_generation,
            "conditions": self.conditions,
            "data": self.data,
            "created_time": self.created_time,
            "last_report_time": self.last_report_time,
        });
        if let (Some(metadata), Value::Object(document)) = (&self.metadata, &mut document) {
            document.insert("metadata".to_owned(), metadata.clone());
        }
        document
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn living_resource_has_the_fields_that_are_documented_to_be_always_there() {
        let page = include_str!("../../../docs/configuration.md");
        let (_, section) = page.split_once("### What the API answers").unwrap();
        let rows = section.lines().skip_while(|line| !line.starts_with("| field ")).skip(2);
        let rows =
            rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
        let documented = |is_there: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
            let cells = rows.clone().filter(|row| is_there(row[3])).map(|row| row[1]);
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
        };
        let time = "2026-03-01T12:00:00Z";
        let bare = json!({
            "id": "r", "kind": "Cluster", "name": "r", "href": "/r", "spec": {}, "generation": 1, "created_time": time,
            "updated_time": time, "created_by": "", "updated_by": "", "deleted_time": null,
        });
        let keys = |resource: &Resource| resource.document().keys().cloned().collect::<BTreeSet<_>>();
        let living: Resource = serde_json::from_value(bare).unwrap();
        assert_eq!(keys(&living), documented(&|there| there.starts_with("always")));
        let deleted = Resource { deleted_time: Some(time.parse().unwrap()), deleted_by: Some(String::new()), ..living };
        assert_eq!(keys(&deleted), documented(&|there| there.starts_with("always") || there.contains("deleted")));
    }
}
