//! Reads a message of the service into an [`Event`].

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue};

use super::structured;
use super::{Attribute, Event};

/// The one attribute without prefix.
const CONTENT_TYPE: &str = "contenttype";
/// The prefix of every other attribute.
const PREFIX: &str = "ce-";
/// The beginning of the media types whose data is a whole event.
const STRUCTURED: &str = "application/cloudevents";

/// Reads a message; `Err` says why the message is no event.
pub fn decode(event: Option<&CloudEvent>) -> Result<Event, String> {
    let event = event.ok_or("unknown Message encoding")?;
    let content_type = event.attributes.get(CONTENT_TYPE).and_then(text);
    let data = match &event.data {
        Some(Data::BinaryData(data)) => Some(data.clone()),
        // The server's reader knows no other field of data.
        Some(Data::TextData(_) | Data::ProtoData(_)) | None => None,
    };
    if content_type.as_deref().is_some_and(|kind| kind.starts_with(STRUCTURED)) {
        return structured::parse(data.as_deref().unwrap_or_default());
    }
    // The version of the specification is looked for only if there is an attribute.
    if event.attributes.is_empty() || !matches!(event.spec_version.as_str(), "1.0" | "0.3") {
        return Err("unknown Message encoding".to_owned());
    }
    let mut read = Event {
        id: event.id.clone(),
        source: event.source.clone(),
        kind: event.r#type.clone(),
        content_type,
        time: None,
        subject: None,
        schema: None,
        extensions: BTreeMap::new(),
        data,
    };
    for (key, value) in &event.attributes {
        // Attributes without the prefix are dropped without a word.
        let Some(name) = key.strip_prefix(PREFIX) else { continue };
        let value = attribute(value).map_err(|reason| format!("invalid attribute {key}: {reason}"))?;
        match name {
            "time" => read.time = Some(value.time().ok_or_else(|| format!("invalid attribute {key}: not a time"))?),
            "subject" => read.subject = Some(described(key, &value)?),
            "dataschema" => read.schema = Some(described(key, &value)?),
            _ => {
                check_name(name)?;
                read.extensions.insert(name.to_owned(), value);
            }
        }
    }
    Ok(read)
}

/// Says whether a name may be that of an extension.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_valid = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    is_valid.then_some(()).ok_or_else(|| {
        format!("bad key, CloudEvents attribute names MUST consist of lower-case letters or digits: {name:?}")
    })
}

fn described(key: &str, value: &Attribute) -> Result<String, String> {
    match value {
        Attribute::String(text) | Attribute::Uri(text) => Ok(text.clone()),
        Attribute::Boolean(_) | Attribute::Integer(_) | Attribute::Bytes(_) | Attribute::Timestamp(_) => {
            Err(format!("invalid attribute {key}: not a string"))
        }
    }
}

fn text(value: &CloudEventAttributeValue) -> Option<String> {
    match &value.attr {
        Some(Attr::CeString(text)) => Some(text.clone()),
        _ => None,
    }
}

fn attribute(value: &CloudEventAttributeValue) -> Result<Attribute, String> {
    Ok(match value.attr.as_ref().ok_or("no value")? {
        Attr::CeBoolean(value) => Attribute::Boolean(*value),
        Attr::CeInteger(value) => Attribute::Integer(*value),
        Attr::CeString(value) => Attribute::String(value.clone()),
        Attr::CeBytes(value) => Attribute::Bytes(value.clone()),
        Attr::CeUri(value) | Attr::CeUriRef(value) => Attribute::Uri(value.clone()),
        Attr::CeTimestamp(value) => Attribute::Timestamp(
            Timestamp::new(value.seconds, value.nanos).map_err(|error| format!("not a time: {error}"))?,
        ),
    })
}
