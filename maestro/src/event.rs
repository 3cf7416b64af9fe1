//! A write as a `CloudEvent`, in Maestro's own mapping to protobuf.
//!
//! In: an action, the work's place and id, and what is written. Out: the request to send. Fails if the version does not
//! fit the 32 bits that the mapping has for integers.
//!
//! The mapping differs from the official one in ways that fail silently: id, source, version and type are fields only;
//! every other attribute begins with `ce-`, but the content type is `contenttype`; and only `binary_data` counts.

use std::collections::HashMap;

use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue, PublishRequest};
use prost_types::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// The type of `ManifestWorks` in events.
const DATA_TYPE: &str = "io.open-cluster-management.works.v1alpha1.manifestbundles";

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Store a new work.
    Create,
    /// Replace a work and its metadata.
    Update,
    /// Delete a work.
    Delete,
}

impl Action {
    fn suffix(self) -> &'static str {
        match self {
            Self::Create => "create_request",
            Self::Update => "update_request",
            Self::Delete => "delete_request",
        }
    }
}

/// A write of one work.
#[derive(Debug)]
pub struct Write<'a> {
    /// What the write does.
    pub action: Action,
    /// The source in whose name it is sent.
    pub source: &'a str,
    /// The name of the consumer.
    pub consumer: &'a str,
    /// The id of the work.
    pub id: &'a str,
    /// The version that the write is about: an update of another one is refused. 0 for a creation.
    pub version: i64,
    /// The work's metadata.
    pub metadata: &'a Value,
    /// The work's bundle; `None` for a deletion.
    pub bundle: Option<&'a Value>,
}

/// The version does not fit the attribute.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {0} does not fit the 32 bits that Maestro has for it")]
pub struct VersionTooLarge(i64);

/// Encodes a write as an event of the time `now`.
///
/// # Errors
/// The version has more than 31 bits.
pub fn request(write: &Write<'_>, now: Timestamp) -> Result<PublishRequest, VersionTooLarge> {
    let version = i32::try_from(write.version).map_err(|_| VersionTooLarge(write.version))?;
    let text = |text: &str| Attr::CeString(text.to_owned());
    let mut attributes = vec![
        ("contenttype", text("application/json")),
        ("ce-time", Attr::CeTimestamp(now)),
        ("ce-clustername", text(write.consumer)),
        ("ce-resourceid", text(write.id)),
        ("ce-resourceversion", Attr::CeInteger(version)),
        ("ce-metadata", text(&write.metadata.to_string())),
        // The Go client sends it, too.
        ("ce-originalsource", text("")),
    ];
    if write.action == Action::Delete {
        attributes.push(("ce-deletiontimestamp", Attr::CeTimestamp(now)));
    }
    let attributes: HashMap<String, CloudEventAttributeValue> = attributes
        .into_iter()
        .map(|(key, attr)| (key.to_owned(), CloudEventAttributeValue { attr: Some(attr) }))
        .collect();
    let event = CloudEvent {
        id: Uuid::new_v4().to_string(),
        source: write.source.to_owned(),
        spec_version: "1.0".to_owned(),
        r#type: format!("{DATA_TYPE}.spec.{}", write.action.suffix()),
        attributes,
        data: write.bundle.map(|bundle| Data::BinaryData(bundle.to_string().into_bytes())),
    };
    Ok(PublishRequest { event: Some(event) })
}

/// An event without attributes, which Maestro cannot read.
#[must_use]
pub fn unreadable() -> PublishRequest {
    let event = CloudEvent {
        id: Uuid::new_v4().to_string(),
        spec_version: "1.0".to_owned(),
        r#type: format!("{DATA_TYPE}.spec.probe"),
        ..CloudEvent::default()
    };
    PublishRequest { event: Some(event) }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, Result};
    use serde_json::json;

    use super::*;

    fn write<'a>(action: Action, metadata: &'a Value, bundle: Option<&'a Value>) -> Write<'a> {
        Write { action, source: "adapter", consumer: "c1", id: "an-id", version: 3, metadata, bundle }
    }

    #[test]
    fn event_has_the_attributes_that_maestro_reads_and_no_other() -> Result<()> {
        let (metadata, bundle) = (json!({"name": "w"}), json!({"manifests": []}));
        let now = Timestamp { seconds: 1, nanos: 0 };
        let event = request(&write(Action::Update, &metadata, Some(&bundle)), now)?.event.context("no event")?;
        assert_eq!(event.r#type, "io.open-cluster-management.works.v1alpha1.manifestbundles.spec.update_request");
        assert_eq!((event.source.as_str(), event.spec_version.as_str()), ("adapter", "1.0"));
        assert_eq!(event.data, Some(Data::BinaryData(br#"{"manifests":[]}"#.to_vec())));
        let mut keys: Vec<&str> = event.attributes.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected = [
            "ce-clustername",
            "ce-metadata",
            "ce-originalsource",
            "ce-resourceid",
            "ce-resourceversion",
            "ce-time",
            "contenttype",
        ];
        assert_eq!(keys, expected);
        assert_eq!(event.attributes["ce-resourceversion"].attr, Some(Attr::CeInteger(3)));
        assert_eq!(event.attributes["ce-metadata"].attr, Some(Attr::CeString(r#"{"name":"w"}"#.to_owned())));
        Ok(())
    }

    #[test]
    fn deletion_has_a_time_and_no_data() -> Result<()> {
        let metadata = json!({});
        let event =
            request(&write(Action::Delete, &metadata, None), Timestamp::default())?.event.context("no event")?;
        assert_eq!(event.data, None);
        assert!(event.attributes.contains_key("ce-deletiontimestamp"));
        Ok(())
    }

    #[test]
    fn version_of_33_bits_is_refused() {
        let metadata = json!({});
        let write = Write { version: 1 << 31, ..write(Action::Delete, &metadata, None) };
        let error = request(&write, Timestamp::default()).err();
        assert_eq!(error, Some(VersionTooLarge(2_147_483_648)));
    }
}
