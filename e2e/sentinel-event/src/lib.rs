//! Builds events as the Sentinel sends them.
//!
//! In: an API resource and its generation. Out: the bytes of a CloudEvent in structured mode, with its
//! members in the Sentinel's order and without those that the Sentinel does not set (`time`, `subject`); and
//! the AMQP properties of its message. Fails: never, because every member can be written as JSON.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The header in which the Sentinel's publisher sets the message's id.
const MESSAGE_UUID: &str = "_watermill_message_uuid";
/// The delivery mode of a message that the broker writes to disk.
const PERSISTENT: u8 = 2;

/// A CloudEvent that requests the reconciliation of an API resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the CloudEvents specification: always `1.0`.
    pub specversion: String,
    /// A fresh UUID of version 7.
    pub id: String,
    /// The source of the event: always `hyperfleet-sentinel`.
    pub source: String,
    /// The type of the event: `com.redhat.hyperfleet.<kind in lower case>.reconcile`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The media type of `data`: always `application/json`.
    pub datacontenttype: String,
    /// The resource's fields that the Sentinel's configuration `message_data` selects.
    pub data: Map<String, Value>,
    /// The W3C trace context, if the Sentinel has tracing enabled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traceparent: Option<String>,
}

impl Event {
    /// An event about a cluster at a generation.
    #[must_use]
    pub fn cluster(id: &str, generation: i64) -> Self {
        Self::about("Cluster", id, &format!("/api/hyperfleet/v1/clusters/{id}"), generation)
    }

    /// An event about a node pool of a cluster at a generation.
    #[must_use]
    pub fn node_pool(cluster: &str, id: &str, generation: i64) -> Self {
        let owner = format!("/api/hyperfleet/v1/clusters/{cluster}");
        Self::about("NodePool", id, &format!("{owner}/nodepools/{id}"), generation)
            .with("owner_references", json!({"id": cluster, "href": owner, "kind": "Cluster"}))
    }

    /// An event about a resource of any kind.
    #[must_use]
    pub fn about(kind: &str, id: &str, href: &str, generation: i64) -> Self {
        let data = [
            ("id".to_owned(), json!(id)),
            ("kind".to_owned(), json!(kind)),
            ("href".to_owned(), json!(href)),
            ("generation".to_owned(), json!(generation)),
        ];
        Self {
            specversion: "1.0".to_owned(),
            id: Uuid::now_v7().to_string(),
            source: "hyperfleet-sentinel".to_owned(),
            kind: format!("com.redhat.hyperfleet.{}.reconcile", kind.to_lowercase()),
            datacontenttype: "application/json".to_owned(),
            data: data.into_iter().collect(),
            traceparent: None,
        }
    }

    /// Adds or replaces a member of the data.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.data.insert(key.to_owned(), value);
        self
    }

    /// Sets the attribute `traceparent`, which carries the trace context of the event's sender.
    #[must_use]
    pub fn traced(mut self, traceparent: &str) -> Self {
        self.traceparent = Some(traceparent.to_owned());
        self
    }

    /// The body of the message.
    ///
    /// # Errors
    /// Never: every member can be written as JSON.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// The properties of the message: nothing but the delivery mode and one header.
    ///
    /// A header that is not a long string would make consumers in Go reject the message for ever.
    #[must_use]
    pub fn properties(&self) -> BasicProperties {
        let mut headers = FieldTable::default();
        headers.insert(MESSAGE_UUID.into(), AMQPValue::LongString(LongString::from(self.id.as_str())));
        BasicProperties::default().with_delivery_mode(PERSISTENT).with_headers(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_has_the_sentinels_members_in_its_order() -> serde_json::Result<()> {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let event = Event::cluster("c1", 3).traced(trace);
        let id = &event.id;
        let expected = format!(
            r#"{{"specversion":"1.0","id":"{id}","source":"hyperfleet-sentinel","type":"com.redhat.hyperfleet.cluster.reconcile","datacontenttype":"application/json","data":{{"generation":3,"href":"/api/hyperfleet/v1/clusters/c1","id":"c1","kind":"Cluster"}},"traceparent":"{trace}"}}"#
        );
        assert_eq!(String::from_utf8_lossy(&event.to_bytes()?), expected);
        Ok(())
    }

    #[test]
    fn node_pool_event_names_its_cluster_as_owner() {
        let event = Event::node_pool("c1", "n1", 1);
        assert_eq!(event.kind, "com.redhat.hyperfleet.nodepool.reconcile");
        assert_eq!(event.data.get("href"), Some(&json!("/api/hyperfleet/v1/clusters/c1/nodepools/n1")));
        let owner = json!({"id": "c1", "href": "/api/hyperfleet/v1/clusters/c1", "kind": "Cluster"});
        assert_eq!(event.data.get("owner_references"), Some(&owner));
    }
}
