//! Parses JSON without the values of `managedFields`.
//!
//! In: the text of an answer. Out: the same JSON, without every member of this name or with its text in place of its value. Fails:
//! if the text is no JSON.
//!
//! `managedFields` has an entry for each field of an object, and so takes most of its metadata. As JSON values, the
//! entries of 100,000 objects would cost seconds of CPU, and those of one page tens of megabytes. Whoever lists metadata does not
//! want them; a write may have to migrate those of one object, and [`unpack`]s them then.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const NAME: &str = "managedFields";

/// JSON whose members `managedFields` are texts, which [`unpack`] parses, if they are `KEPT`; else JSON without them.
pub(crate) struct Json<const KEPT: bool>(pub(crate) Value);

impl<'de, const KEPT: bool> Deserialize<'de> for Json<KEPT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor::<KEPT>).map(Self)
    }
}

/// The value of a member `managedFields` that may be a text; null if the text is no JSON.
pub(crate) fn unpack(managed_fields: &Value) -> Cow<'_, Value> {
    match managed_fields.as_str() {
        Some(text) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
        None => Cow::Borrowed(managed_fields),
    }
}

struct JsonVisitor<const KEPT: bool>;

impl<'de, const KEPT: bool> Visitor<'de> for JsonVisitor<KEPT> {
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
        let mut array = Vec::new();
        while let Some(Json::<KEPT>(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if name != NAME {
                let Json::<KEPT>(value) = members.next_value()?;
                object.insert(name, value);
            } else if KEPT {
                let text: Box<RawValue> = members.next_value()?;
                object.insert(name, text.get().into());
            } else {
                members.next_value::<IgnoredAny>()?;
            }
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

    fn parse(text: &str) -> Value {
        serde_json::from_str::<Json<false>>(text).unwrap().0
    }

    #[test]
    fn managed_fields_are_left_out_wherever_they_are() {
        let metadata = json!({ "name": "a", "managedFields": [{ "fieldsV1": { "f:data": {} } }] });
        let list = json!({ "kind": "List", "items": [{ "metadata": metadata }, { "metadata": { "name": "b" } }] });
        let expected =
            json!({ "kind": "List", "items": [{ "metadata": { "name": "a" } }, { "metadata": { "name": "b" } }] });
        assert_eq!(parse(&list.to_string()), expected);
        assert!(serde_json::from_str::<Json<false>>(r#"{"managedFields":[}"#).is_err(), "no JSON");
    }

    #[test]
    fn packed_managed_fields_are_unpacked_as_they_were() {
        let entries = json!([{ "manager": "a", "fieldsV1": { "f:data": { ".": {} } } }]);
        let text = json!({ "metadata": { "name": "a", "managedFields": entries } }).to_string();
        let Json::<true>(packed) = serde_json::from_str(&text).unwrap();
        let found = &packed["metadata"]["managedFields"];
        assert!(found.is_string(), "{found}");
        assert_eq!((&*unpack(found), &*unpack(&entries)), (&entries, &entries));
        assert_eq!(packed["metadata"]["name"], "a");
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
            let text = json.to_string();
            let Json::<true>(packed) = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(packed, json.clone());
            prop_assert_eq!(parse(&text), json);
        }
    }
}
