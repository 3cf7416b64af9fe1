//! Converts an AMQP delivery into the parts of an event.
//!
//! The Sentinel publishes structured events without a content type that says so. A message is therefore
//! structured, whatever its content type, unless its headers contain the attributes of a binary event.

use bytes::Bytes;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, ShortString};

use crate::consumer::Message;

/// The prefixes of attribute headers in the AMQP and HTTP bindings, and in publishers that mix the two.
const PREFIXES: [&str; 3] = ["cloudevents:", "cloudevents_", "ce-"];
const STRUCTURED: &str = "application/cloudevents+json";

/// Takes the payload and the attributes out of a delivery.
pub(super) fn message_of(delivery: &mut Delivery) -> Message {
    let body = Bytes::from(std::mem::take(&mut delivery.data));
    let content_type = delivery.properties.content_type().as_ref().map(ShortString::as_str);
    if content_type.is_some_and(is_structured) {
        return Message::Structured(body);
    }
    let headers = delivery.properties.headers().iter().flat_map(|headers| headers.inner());
    let mut attributes: Vec<(String, String)> =
        headers.filter_map(|(name, value)| Some((attribute_name(name.as_str())?, text_of(value)?))).collect();
    if attributes.is_empty() {
        return Message::Structured(body);
    }
    attributes.extend(content_type.map(|content_type| ("datacontenttype".to_owned(), content_type.to_owned())));
    Message::Binary { attributes, body }
}

fn is_structured(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(STRUCTURED)
}

fn attribute_name(header: &str) -> Option<String> {
    let header = header.to_ascii_lowercase();
    PREFIXES.iter().find_map(|prefix| header.strip_prefix(prefix)).map(str::to_owned)
}

/// An attribute's value as text; `None` for an AMQP type that no attribute can have.
fn text_of(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(text.to_string()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        AMQPValue::Boolean(value) => Some(value.to_string()),
        AMQPValue::ShortShortInt(value) => Some(value.to_string()),
        AMQPValue::ShortShortUInt(value) => Some(value.to_string()),
        AMQPValue::ShortInt(value) => Some(value.to_string()),
        AMQPValue::ShortUInt(value) => Some(value.to_string()),
        AMQPValue::LongInt(value) => Some(value.to_string()),
        AMQPValue::LongUInt(value) => Some(value.to_string()),
        AMQPValue::LongLongInt(value) => Some(value.to_string()),
        AMQPValue::Timestamp(seconds) => {
            let seconds = i64::try_from(*seconds).ok()?;
            Some(jiff::Timestamp::from_second(seconds).ok()?.to_string())
        }
        AMQPValue::Float(_)
        | AMQPValue::Double(_)
        | AMQPValue::DecimalValue(_)
        | AMQPValue::FieldArray(_)
        | AMQPValue::FieldTable(_)
        | AMQPValue::ByteArray(_)
        | AMQPValue::Void => None,
    }
}

#[cfg(test)]
mod tests {
    use lapin::BasicProperties;
    use lapin::types::FieldTable;

    use super::*;

    fn long(text: &str) -> AMQPValue {
        AMQPValue::LongString(text.into())
    }

    fn read(content_type: Option<&str>, headers: &[(&str, AMQPValue)]) -> Message {
        let mut delivery = Delivery::mock(1, "".into(), "".into(), false, b"body".to_vec());
        let mut table = FieldTable::default();
        for (name, value) in headers {
            table.insert((*name).into(), value.clone());
        }
        delivery.properties = BasicProperties::default().with_headers(table);
        if let Some(content_type) = content_type {
            delivery.properties = delivery.properties.with_content_type(content_type.into());
        }
        message_of(&mut delivery)
    }

    #[test]
    fn message_is_structured_unless_headers_hold_attributes() {
        let id = || ("cloudEvents:id", long("1"));
        let uuid = || ("_watermill_message_uuid", long("1"));
        let cases: [(&str, Option<&str>, &[_], bool); 7] = [
            ("what the Sentinel sends", None, &[uuid()], true),
            ("no headers at all", None, &[], true),
            ("a wrong content type", Some("text/plain"), &[uuid()], true),
            ("headers that no text fits", None, &[("x-death", AMQPValue::FieldArray(Default::default()))], true),
            ("attributes, but marked structured", Some("Application/CloudEvents+JSON; charset=utf-8"), &[id()], true),
            ("attributes", Some("application/json"), &[id(), uuid()], false),
            ("attributes without content type", None, &[id()], false),
        ];
        for (name, content_type, headers, structured) in cases {
            let message = read(content_type, headers);
            assert_eq!(matches!(message, Message::Structured(_)), structured, "{name}: {message:?}");
        }
    }

    #[test]
    fn attribute_headers_are_read_in_every_prefix_and_type() {
        let message = read(
            Some("application/json"),
            &[
                ("ce-source", long("s")),
                ("cloudEvents:id", AMQPValue::ShortString("1".into())),
                ("cloudEvents:time", AMQPValue::Timestamp(0)),
                ("cloudEvents_sequence", AMQPValue::LongInt(-4)),
                ("cloudEvents_table", AMQPValue::FieldTable(FieldTable::default())),
                ("other", long("x")),
            ],
        );
        let mut expected = vec![
            ("source".to_owned(), "s".to_owned()),
            ("id".to_owned(), "1".to_owned()),
            ("time".to_owned(), "1970-01-01T00:00:00Z".to_owned()),
            ("sequence".to_owned(), "-4".to_owned()),
            ("datacontenttype".to_owned(), "application/json".to_owned()),
        ];
        let Message::Binary { mut attributes, body } = message else { panic!("not binary: {message:?}") };
        attributes.sort();
        expected.sort();
        assert_eq!((attributes, body), (expected, Bytes::from_static(b"body")));
    }
}
