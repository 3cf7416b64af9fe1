//! Reads an event that is one JSON document, the structured mode of CloudEvents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::decode::check_name;
use super::{Attribute, Event};

/// Reads the document; `Err` says what is missing or wrong.
pub(super) fn parse(document: &[u8]) -> Result<Event, String> {
    let mut members: Map<String, Value> =
        serde_json::from_slice(document).map_err(|error| format!("failed to read the structured event: {error}"))?;
    let mut take = |name: &str| match members.remove(name) {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name} is not a string")),
        None => Ok(None),
    };
    let version = take("specversion")?;
    if !matches!(version.as_deref(), Some("1.0" | "0.3")) {
        return Err("specversion: unknown".to_owned());
    }
    let mut event = Event {
        id: take("id")?.unwrap_or_default(),
        source: take("source")?.unwrap_or_default(),
        kind: take("type")?.unwrap_or_default(),
        content_type: take("datacontenttype")?,
        time: take("time")?
            .map(|time| time.parse().map_err(|error| format!("time is not valid: {error}")))
            .transpose()?,
        subject: take("subject")?,
        schema: take("dataschema")?,
        extensions: std::collections::BTreeMap::new(),
        data: None,
    };
    let encoded = take("data_base64")?;
    event.data = match (members.remove("data"), encoded) {
        (_, Some(encoded)) => {
            Some(BASE64_STANDARD.decode(encoded).map_err(|error| format!("data_base64 is not valid: {error}"))?)
        }
        (Some(data), None) => Some(data.to_string().into_bytes()),
        (None, None) => None,
    };
    for (name, value) in members {
        check_name(&name)?;
        let value = match value {
            Value::Bool(value) => Attribute::Boolean(value),
            Value::String(value) => Attribute::String(value),
            Value::Number(number) => {
                let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
                Attribute::Integer(number.ok_or_else(|| format!("{name} is not an integer of 32 bits"))?)
            }
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => return Err(format!("{name} is not an attribute's value")),
        };
        event.extensions.insert(name, value);
    }
    Ok(event)
}
