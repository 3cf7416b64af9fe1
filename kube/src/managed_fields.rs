//! Parses a list of objects without the values of their `managedFields`.
//!
//! In: the text of an answer. Out: the same JSON, without each object's `metadata.managedFields` or with its text in place of its
//! value. What has this name elsewhere is somebody's data, and stays. Fails: if the text is no JSON.
//!
//! `managedFields` has an entry for each field of an object, and so takes most of its metadata. As JSON values, the
//! entries of 100,000 objects would cost seconds of CPU, and those of one page tens of megabytes. Whoever lists metadata does not
//! want them; a write may have to migrate those of one object, and [`unpack`]s them then.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A list whose objects have their `managedFields` as texts, which [`unpack`] parses, if they are `KEPT`; else without them.
pub(crate) struct List<const KEPT: bool>(pub(crate) Value);

impl<'de, const KEPT: bool> Deserialize<'de> for List<KEPT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Place::<KEPT>::List.deserialize(deserializer).map(Self)
    }
}

/// The value of a member `managedFields` that may be a text; null if the text is no JSON.
pub(crate) fn unpack(managed_fields: &Value) -> Cow<'_, Value> {
    match managed_fields.as_str() {
        Some(text) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
        None => Cow::Borrowed(managed_fields),
    }
}

/// What the value is in a list that is parsed next.
#[derive(Clone, Copy, PartialEq)]
enum Place<const KEPT: bool> {
    List,
    Items,
    Object,
    Metadata,
    Other,
}

impl<'de, const KEPT: bool> DeserializeSeed<'de> for Place<KEPT> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Self::Other => Value::deserialize(deserializer),
            Self::List | Self::Items | Self::Object | Self::Metadata => deserializer.deserialize_any(self),
        }
    }
}

impl<'de, const KEPT: bool> Visitor<'de> for Place<KEPT> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let place = if self == Self::Items { Self::Object } else { Self::Other };
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(place)? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let place = match (self, name.as_str()) {
                (Self::List, "items") => Self::Items,
                (Self::Object, "metadata") => Self::Metadata,
                (Self::Metadata, "managedFields") if KEPT => {
                    let text: Box<RawValue> = members.next_value()?;
                    object.insert(name, text.get().into());
                    continue;
                }
                (Self::Metadata, "managedFields") => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => Self::Other,
            };
            object.insert(name, members.next_value_seed(place)?);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse<const KEPT: bool>(text: &str) -> Value {
        serde_json::from_str::<List<KEPT>>(text).unwrap().0
    }

    #[test]
    fn managed_fields_of_objects_are_left_out_or_packed_and_others_stay() {
        let entries = json!([{ "manager": "a", "fieldsV1": { "f:data": { ".": {} } } }]);
        // A definition of types, a ManifestWork or a ConfigMap may have the name in its own data.
        let data = json!({ "managedFields": "x", "metadata": { "managedFields": [1] } });
        let list = |metadata: Value| {
            json!({
                "kind": "List", "metadata": { "managedFields": [] },
                "items": [{ "metadata": metadata, "data": data }, { "metadata": { "name": "b" } }],
            })
        };
        let text = list(json!({ "name": "a", "managedFields": entries })).to_string();
        assert_eq!(parse::<false>(&text), list(json!({ "name": "a" })));
        let packed = parse::<true>(&text);
        let found = &packed["items"][0]["metadata"]["managedFields"];
        assert_eq!((found.is_string(), &*unpack(found), &*unpack(&entries)), (true, &entries, &entries));
        assert_eq!(packed, list(json!({ "name": "a", "managedFields": found })));
        let broken = r#"{"items":[{"metadata":{"managedFields":[}}]}"#;
        assert!(
            serde_json::from_str::<List<false>>(broken).is_err() && serde_json::from_str::<List<true>>(broken).is_err()
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"]{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn other_json_is_unchanged(json in any_json()) {
            for text in [json.to_string(), json!({ "items": [{ "metadata": json }] }).to_string()] {
                let expected: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(parse::<true>(&text), expected.clone());
                prop_assert_eq!(parse::<false>(&text), expected);
            }
        }
    }
}
