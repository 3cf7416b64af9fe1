//! CloudEvents, as Maestro reads them from its gRPC messages and stores them.
//!
//! In: messages of the service. Out: [`Event`]s, and their JSON documents, which are a bundle's payload. Fails: with
//! the text that the server puts behind `failed to convert to cloudevent: `.
//!
//! The mapping is Maestro's own and not that of the CloudEvents specification: attributes have the prefix `ce-`, except
//! `contenttype`; others are dropped, and so is data that is not `binary_data`.

mod decode;
mod structured;

use std::collections::BTreeMap;

use jiff::Timestamp;
use prost_types::Timestamp as WireTimestamp;
use serde_json::{Map, Value};

pub use decode::decode;

/// A CloudEvent after decoding.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The event's id.
    pub id: String,
    /// Who sent the event.
    pub source: String,
    /// The event's type.
    pub kind: String,
    /// The media type of the data.
    pub content_type: Option<String>,
    /// When the event happened.
    pub time: Option<Timestamp>,
    /// The attribute `subject`.
    pub subject: Option<String>,
    /// The attribute `dataschema`.
    pub schema: Option<String>,
    /// The extension attributes, by name without prefix.
    pub extensions: BTreeMap<String, Attribute>,
    /// The data.
    pub data: Option<Vec<u8>>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// A boolean.
    Boolean(bool),
    /// An integer of 32 bits.
    Integer(i32),
    /// A string.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A URI, absolute or relative.
    Uri(String),
    /// A point in time.
    Timestamp(Timestamp),
}

impl Attribute {
    /// The value, if it is a string; a URI is none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Boolean(_) | Self::Integer(_) | Self::Bytes(_) | Self::Uri(_) | Self::Timestamp(_) => None,
        }
    }

    /// The value as an integer; a numeric string counts as one.
    #[must_use]
    pub fn integer(&self) -> Option<i32> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::String(text) => text.parse().ok(),
            Self::Boolean(_) | Self::Bytes(_) | Self::Uri(_) | Self::Timestamp(_) => None,
        }
    }

    /// The value as a time; a string in the format of RFC 3339 counts as one.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        match self {
            Self::Timestamp(time) => Some(*time),
            Self::String(text) => text.parse().ok(),
            Self::Boolean(_) | Self::Integer(_) | Self::Bytes(_) | Self::Uri(_) => None,
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Boolean(value) => Value::Bool(*value),
            Self::Integer(value) => Value::from(*value),
            Self::String(value) | Self::Uri(value) => Value::from(value.as_str()),
            Self::Bytes(value) => Value::from(base64::Engine::encode(&base64::prelude::BASE64_STANDARD, value)),
            Self::Timestamp(value) => Value::from(value.to_string()),
        }
    }
}

impl Event {
    /// The event as one JSON document, which is what the server stores; `Err` says which part is not JSON.
    ///
    /// The extension `metadata` becomes an object: only so can a search find labels.
    pub fn document(&self) -> Result<Map<String, Value>, String> {
        let mut document = Map::new();
        for (name, value) in [("specversion", "1.0"), ("id", &self.id), ("source", &self.source), ("type", &self.kind)]
        {
            document.insert(name.to_owned(), Value::from(value));
        }
        let time = self.time.map(|time| time.to_string());
        let optional = [
            ("datacontenttype", &self.content_type),
            ("time", &time),
            ("subject", &self.subject),
            ("dataschema", &self.schema),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                document.insert(name.to_owned(), Value::from(value.as_str()));
            }
        }
        for (name, value) in &self.extensions {
            document.insert(name.clone(), value.json());
        }
        if let Some(metadata) = self.extensions.get("metadata") {
            let text = metadata.text().ok_or("the metadata extension is not a string")?;
            let metadata: Map<String, Value> = serde_json::from_str(text)
                .map_err(|error| format!("failed to unmarshal the metadata extension: {error}"))?;
            document.insert("metadata".to_owned(), Value::Object(metadata));
        }
        if let Some(data) = &self.data {
            let data: Value =
                serde_json::from_slice(data).map_err(|error| format!("failed to unmarshal data: {error}"))?;
            document.insert("data".to_owned(), data);
        }
        Ok(document)
    }
}

/// Converts a time for a message.
#[must_use]
pub(crate) fn wire_time(time: Timestamp) -> WireTimestamp {
    WireTimestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() }
}
