//! Parses CloudEvents in structured and in binary mode.
//!
//! Checks the attributes first, then the members of `data` that the adapter reads, and at last turns every
//! number of `data` into a double. Ignores all other attributes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_language::value;
use lifecycle_language::value::bounded::{self, BoundedError};
use lifecycle_objects::id::Generation;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{EventDataError, EventError, LifecycleEvent, MAX_EVENT_VALUES, OwnerReference};

/// The value of an absent member of `data`.
const ABSENT: &Value = &Value::Null;

impl LifecycleEvent {
    /// Reads an event in structured mode: one JSON object with the attributes, and with `data` or `data_base64`.
    ///
    /// # Errors
    /// The event is larger than `max_bytes`, is no CloudEvent, or has unusable data.
    pub fn from_structured(body: &[u8], max_bytes: usize) -> Result<Self, EventError> {
        check_size(body, max_bytes)?;
        let event = parse(body, || id_of(body), EventError::NotJson)?;
        let found = describe(&event);
        let Value::Object(mut envelope) = event else { return Err(EventError::NotAnObject { found }) };
        let data = structured_data(&mut envelope, body)?;
        let attributes = Attributes::read(|name| match envelope.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(describe(&other)),
        })?;
        attributes.with_data(data)
    }

    /// Reads an event in binary mode: attributes named without the transport's prefix (such as `ce-`), and the
    /// bytes of `data`.
    ///
    /// Of an attribute that is given twice, the last value counts.
    ///
    /// # Errors
    /// As [`from_structured`](Self::from_structured).
    pub fn from_binary<'a>(
        attributes: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
        max_bytes: usize,
    ) -> Result<Self, EventError> {
        check_size(body, max_bytes)?;
        let mut given: Map<String, Value> =
            attributes.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.into())).collect();
        let attributes = Attributes::read(|name| match given.remove(name) {
            Some(Value::String(text)) => Ok(Some(text)),
            _ => Ok(None),
        })?;
        let data = parse_data(body, || attributes.id.clone())?;
        attributes.with_data(data)
    }
}

/// The attributes that the adapter uses.
struct Attributes {
    id: String,
    source: String,
    event_type: String,
    time: Option<String>,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl Attributes {
    /// Calls `take` for each attribute; `take` returns its text, nothing, or the wrong type that it found.
    fn read(mut take: impl FnMut(&str) -> Result<Option<String>, &'static str>) -> Result<Self, EventError> {
        let mut required = |attribute: &'static str| match take(attribute) {
            Ok(Some(text)) if !text.is_empty() => Ok(text),
            Ok(_) => Err(EventError::MissingAttribute { attribute }),
            Err(found) => Err(EventError::AttributeType { attribute, found }),
        };
        let version = required("specversion")?;
        if version != "1.0" && version != "0.3" {
            return Err(EventError::SpecVersion { found: version });
        }
        let (id, source, event_type) = (required("id")?, required("source")?, required("type")?);
        // The CloudEvents SDK of the Go adapter refuses such a time, too.
        let time = take("time").map_err(|found| EventError::AttributeType { attribute: "time", found })?;
        // Another malformed optional attribute counts as absent: only logs and traces read it, which is no reason to
        // lose an event.
        let mut optional = |attribute| take(attribute).ok().flatten().filter(|text| !text.is_empty());
        Ok(Self {
            id,
            source,
            event_type,
            time: time.filter(|text| !text.is_empty()),
            traceparent: optional("traceparent"),
            tracestate: optional("tracestate"),
        })
    }

    fn with_data(self, data: Value) -> Result<LifecycleEvent, EventError> {
        let view = DataView::read(&data).map_err(EventError::Data)?;
        Ok(LifecycleEvent {
            event_id: self.id,
            source: self.source,
            event_type: self.event_type,
            time: self.time,
            traceparent: self.traceparent,
            tracestate: self.tracestate,
            resource_id: view.id,
            kind: view.kind,
            href: view.href,
            generation: view.generation,
            owner: view.owner,
            data: value::as_go_numbers(data),
        })
    }
}

/// The members of `data` that the adapter reads.
struct DataView {
    id: String,
    kind: String,
    href: String,
    generation: Generation,
    owner: Option<OwnerReference>,
}

impl DataView {
    fn read(data: &Value) -> Result<Self, EventDataError> {
        Ok(Self {
            id: text(data, "id", "data.id")?,
            kind: text(data, "kind", "data.kind")?,
            href: text(data, "href", "data.href")?,
            generation: generation(data)?,
            owner: owner(data)?,
        })
    }
}

/// Reads `data` or `data_base64` of the envelope, whose text is `event`.
fn structured_data(envelope: &mut Map<String, Value>, event: &[u8]) -> Result<Value, EventError> {
    // Version 0.3 marks a base64 body by the attribute `datacontentencoding`; version 1.0 by the member's name.
    let marked =
        matches!(envelope.get("datacontentencoding"), Some(Value::String(e)) if e.eq_ignore_ascii_case("base64"));
    let encoded = match (envelope.remove("data"), envelope.remove("data_base64")) {
        (Some(_), Some(_)) => return Err(EventError::TwoBodies),
        (Some(Value::String(encoded)), None) if marked => encoded,
        (None, Some(Value::String(encoded))) => encoded,
        (None, Some(Value::Null)) | (None, None) => return object(Value::Null),
        (None, Some(other)) => {
            return Err(EventError::AttributeType { attribute: "data_base64", found: describe(&other) });
        }
        (Some(inline), None) => return object(inline),
    };
    parse_data(&STANDARD.decode(encoded).map_err(EventError::Base64)?, || id_of(event))
}

fn parse_data(body: &[u8], id: impl FnOnce() -> String) -> Result<Value, EventError> {
    if body.is_empty() {
        return object(Value::Null);
    }
    object(parse(body, id, |error| EventError::Data(EventDataError::NotJson(error)))?)
}

/// Parses JSON of at most [`MAX_EVENT_VALUES`] values. `id` names the event that has more, and `not_json` makes the error
/// of bytes that are not JSON.
fn parse(
    json: &[u8],
    id: impl FnOnce() -> String,
    not_json: impl FnOnce(serde_json::Error) -> EventError,
) -> Result<Value, EventError> {
    bounded::parse(json, MAX_EVENT_VALUES).map_err(|error| match error {
        BoundedError::NotJson(error) => not_json(error),
        BoundedError::TooManyValues { found, limit } => EventError::TooManyValues { id: id(), found, limit },
    })
}

/// The `id` of a structured event, whose other members are skipped without memory for them; empty if there is none.
fn id_of(event: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Envelope {
        id: String,
    }
    serde_json::from_slice(event).map_or_else(|_| String::new(), |Envelope { id }| id)
}

/// Reads absent or null data as an empty object.
fn object(data: Value) -> Result<Value, EventError> {
    if data.is_null() {
        return Ok(Value::Object(Map::new()));
    }
    if !data.is_object() {
        return Err(EventError::Data(EventDataError::NotAnObject { found: describe(&data) }));
    }
    Ok(data)
}

fn text(parent: &Value, name: &str, path: &'static str) -> Result<String, EventDataError> {
    let value = parent.get(name).unwrap_or(ABSENT);
    if value.is_null() {
        return Ok(String::new());
    }
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| EventDataError::Member { path, found: describe(value), expected: "a string" })
}

fn generation(data: &Value) -> Result<Generation, EventDataError> {
    let value = data.get("generation").unwrap_or(ABSENT);
    if value.is_null() {
        return Ok(Generation::default());
    }
    value.as_i64().map(Generation).ok_or_else(|| EventDataError::Member {
        path: "data.generation",
        found: describe(value),
        expected: "an integer of 64 bits, written without fraction, exponent and quotes",
    })
}

fn owner(data: &Value) -> Result<Option<OwnerReference>, EventDataError> {
    let owner = data.get("owner_references").unwrap_or(ABSENT);
    if owner.is_null() {
        return Ok(None);
    }
    if !owner.is_object() {
        return Err(EventDataError::Member {
            path: "data.owner_references",
            found: describe(owner),
            expected: "one object with `id`, `kind` and `href`",
        });
    }
    Ok(Some(OwnerReference {
        id: text(owner, "id", "data.owner_references.id")?,
        kind: text(owner, "kind", "data.owner_references.kind")?,
        href: text(owner, "href", "data.owner_references.href")?,
    }))
}

fn check_size(body: &[u8], limit: usize) -> Result<(), EventError> {
    if body.len() > limit { Err(EventError::TooLarge { bytes: body.len(), limit }) } else { Ok(()) }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction or beyond 64 bits",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
