//! Tests that every body which the API decodes as a status is corrected, however it is spelled.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::*;

/// A JSON value that keeps every member of an object, repeated keys included.
#[derive(Debug)]
enum Json {
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
    Other,
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
                let mut map = Vec::new();
                while let Some(key) = members.next_key::<String>()? {
                    // Values of unknown keys are not compared: the API ignores them.
                    if key == "data" {
                        members.next_value::<IgnoredAny>()?;
                        map.push((key, Json::Other));
                    } else {
                        map.push((key, members.next_value()?));
                    }
                }
                Ok(Json::Map(map))
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
                Ok(Json::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
                Ok(Json::Other)
            }
        }
        deserializer.deserialize_any(Tree)
    }
}

/// The only member whose key the API matches to `known`; the test fails if there are several.
#[track_caller]
fn only<'j>(json: &'j Json, known: &str) -> Option<&'j Json> {
    let Json::Map(members) = json else { return None };
    let mut found = members.iter().filter(|(key, _)| is_key(key, known));
    let first = found.next();
    assert!(found.next().is_none(), "{known} stands twice: {json:?}");
    first.map(|(key, value)| {
        assert_eq!(key, known, "it is spelled as the API spells it");
        value
    })
}

/// Every status of a condition type that the API can read in a text.
#[track_caller]
fn read(text: &str, kind: &str) -> Vec<String> {
    let json: Json = serde_json::from_str(text).unwrap();
    let Some(Json::List(conditions)) = only(&json, "conditions") else { panic!("no conditions: {text}") };
    let of_type =
        conditions.iter().filter(|condition| matches!(only(condition, "type"), Some(Json::Text(it)) if it == kind));
    of_type
        .map(|condition| match only(condition, "status") {
            Some(Json::Text(status)) => status.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn each_spelling_that_the_api_accepts_is_corrected() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let deep = format!(r#"{{"adapter":"a","data":{deep},"conditions":[{{"type":"Available","status":"True"}}]}}"#);
    let cases = [
        ("as documented", r#"{"adapter":"a","conditions":[{"type":"Available","status":"True"}]}"#),
        ("capitals", r#"{"Adapter":"a","Conditions":[{"Type":"Available","STATUS":"True"}]}"#),
        (
            "letters that fold onto ASCII",
            "{\"adapter\":\"a\",\"condition\u{17f}\":[{\"type\":\"Available\",\"\u{17f}tatus\":\"True\"}]}",
        ),
        ("escapes in keys", r#"{"\u0061dapter":"a","c\u006fnditions":[{"type":"Av\u0061ilable","status":"True"}]}"#),
        (
            "the last of two lists",
            r#"{"adapter":"a","conditions":[],"Conditions":[{"type":"Available","status":"True"}]}"#,
        ),
        (
            "the last of two types",
            r#"{"adapter":"a","conditions":[{"type":"Other","Type":"Available","status":"True"}]}"#,
        ),
        (
            "null leaves a text as it was",
            r#"{"adapter":"a","conditions":[{"type":"Available","type":null,"status":"True","status":null}]}"#,
        ),
        (
            "the last of two statuses",
            r#"{"adapter":"a","conditions":[{"type":"Available","status":"False","Status":"True"}]}"#,
        ),
        ("text behind it", r#" {"adapter":"a","conditions":[{"type":"Available","status":"True"}]} and more } "#),
        (
            "a byte order mark",
            "\u{feff}{\"adapter\":\"a\",\"conditions\":[{\"type\":\"Available\",\"status\":\"True\"}]}",
        ),
        (
            "a number beyond all ranges",
            r#"{"adapter":"a","x":1e9999,"conditions":[{"type":"Available","status":"True"}]}"#,
        ),
        (
            "half a surrogate pair",
            r#"{"adapter":"\ud800","conditions":[{"type":"Available","status":"True","reason":"\udfff"}]}"#,
        ),
        (
            "unknown keys with half a pair",
            r#"{"adapter":"a","\ud800":1,"conditions":[{"\ud800":1,"type":"Available","status":"True"}]}"#,
        ),
        ("deeper than a parser that recurses", &deep),
    ];
    for (name, text) in cases {
        let sent = sent(text, &[failed("a", FailReason::Conflict, "m")]);
        // This test's JSON reader rejects unpaired surrogates and numbers out of range.
        let readable = sent.replace(r"\ud800", "half").replace(r"\udfff", "half").replace("1e9999", "1");
        assert_eq!(read(&readable, "Available"), ["False"], "{name}: {sent}");
    }
}

#[test]
fn text_that_the_api_rejects_is_unchanged() {
    for text in [
        r#"{"adapter":"a","conditions":[{"type":"Available","status":"True"}]"#,
        r#"{"adapter":"a","conditions":[{"type":"Available","status":"True"}],}"#,
        r#"{"adapter":"a","conditions":[{"type":"Available" "status":"True"}]}"#,
        r#"{adapter:"a","conditions":[]}"#,
        r#"{"adapter":"a","conditions":[],"conditions":null}"#,
        r#"[{"adapter":"a","conditions":[]}]"#,
        "{} {\"adapter\":\"a\",\"conditions\":[]}",
    ] {
        assert_eq!(sent(text, &[failed("a", FailReason::Conflict, "m")]), text);
    }
}

#[test]
fn invalid_condition_status_is_sent_as_unknown() {
    for refused in ["true", "1", "\"\"", "\"true\"", "\"Progressing\"", "[]", "{\"a\":1}", "\"\\ud800\"", "1e999"] {
        let text = format!(
            r#"{{"adapter":"a","conditions":[{{"type":"Available","status":"False"}},{{"type":"Health","status":{refused}}}]}}"#
        );
        let corrected = sent(&text, &[]);
        assert_eq!(
            (read(&corrected, "Available"), read(&corrected, "Health")),
            (vec!["False".to_owned()], vec!["Unknown".to_owned()]),
            "{text}"
        );
        let message = format!("the status is {refused}, but it has to be one of the texts True, False and Unknown");
        assert!(corrected.contains(&Value::from(message).to_string()), "{corrected}");
    }
    let long = format!(r#"{{"adapter":"a","conditions":[{{"type":"Health","status":"{}"}}]}}"#, "ä".repeat(1000));
    assert!(sent(&long, &[]).len() < 400, "a long status is cut");
}

#[test]
fn condition_without_a_status_is_sent_as_unknown() {
    let text = r#"{"adapter":"a","conditions":[{"type":"Health","status":null,"reason":"Mine"},{"type":"Applied"},7]}"#;
    let unknown = |kind: &str| {
        format!(
            r#"{{"message":"the status has no value","reason":"StatusNotEvaluated","status":"Unknown","type":"{kind}"}}"#
        )
    };
    let expected = format!(r#"{{"adapter":"a","conditions":[{},{},7]}}"#, unknown("Health"), unknown("Applied"));
    assert_eq!(sent(text, &[]), expected);
    let failed = sent(
        r#"{"adapter":"a","conditions":[{"type":"Available","status":null}]}"#,
        &[failed("a", FailReason::Conflict, "m")],
    );
    assert_eq!(read(&failed, "Available"), ["False"]);
}

#[test]
fn available_is_never_unknown() {
    let status = |conditions: Value| json!({ "adapter": "a", "conditions": conditions }).to_string();
    for (name, available, expected) in [
        ("no status", json!({}), ["False", "StatusNotEvaluated", "the status has no value"]),
        ("null", json!({"status": null, "reason": "Mine"}), ["False", "StatusNotEvaluated", "the status has no value"]),
        (
            "a boolean",
            json!({"status": true}),
            [
                "False",
                "StatusNotEvaluated",
                "the status is true, but it has to be one of the texts True, False and Unknown",
            ],
        ),
        ("the task's Unknown", json!({"status": "Unknown"}), ["False", "StatusNotEvaluated", ""]),
        ("with its reason", json!({"status": "Unknown", "reason": "A", "message": "b"}), ["False", "A", "b"]),
        ("True", json!({"status": "True", "reason": "A", "message": "b"}), ["True", "A", "b"]),
    ] {
        let mut condition = available;
        condition["type"] = json!("Available");
        let others = [json!({"type": "Health", "status": "Unknown"}), json!({"type": "Finalized", "status": "True"})];
        let text = status(json!([condition, others[0], others[1]]));
        let corrected: Value = serde_json::from_str(&sent(&text, &[])).unwrap();
        let conditions = &corrected["conditions"];
        let available = ["status", "reason", "message"].map(|key| conditions[0][key].as_str().unwrap_or_default());
        assert_eq!(available, expected, "{name}");
        assert_eq!([&conditions[1], &conditions[2]], [&others[0], &others[1]], "{name}: the others stay");
    }
}

#[test]
fn status_without_a_generation_is_recognized() {
    for (text, lacks) in [
        (r#"{"adapter":"a","conditions":[]}"#, true),
        (r#"{"adapter":"a","conditions":[],"observed_generation":null}"#, true),
        ("\u{feff}{\"adapter\":\"a\",\"conditions\":[]}", true),
        (r#"{"adapter":"a","conditions":[],"Observed_Generation":3}"#, false),
        (r#"{"conditions":[]}"#, false),
        ("text", false),
    ] {
        let corrected =
            super::super::apply(text.to_owned(), Account { outcomes: &[], unread: None, is_deleting: Some(true) });
        assert_eq!(corrected.lacks_generation, lacks, "{text}");
    }
}

/// A key in one of the spellings that the API accepts for it.
fn key(known: &'static str) -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        format!("\"{known}\""),
        format!("\"{}\"", known.to_uppercase()),
        format!("\"{}\"", known.replacen('s', "\u{17f}", 1)),
        format!("\"\\u{:04x}{}\"", u32::from(known.as_bytes()[0]), &known[1..]),
    ])
}

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "\n\t", "\r\n"])
}

fn member(key: impl Strategy<Value = String>, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (key, space(), space(), value)
        .prop_map(|(key, before, after, value)| format!("{before}{key}{after}:{after}{value}{before}"))
}

fn texts(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(values).prop_map(str::to_owned)
}

/// Members that the API does not know.
fn unknown() -> impl Strategy<Value = String> {
    member(
        texts(&["\"x\"", "\"statu\"", "\"\\ud800\"", "\"\""]),
        texts(&["1e999", "\"\\udc00\"", "null", "{\"type\":[]}", "-0.5"]),
    )
}

fn shuffled(members: Vec<String>) -> impl Strategy<Value = String> {
    Just(members).prop_shuffle().prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn a_condition() -> impl Strategy<Value = String> {
    let kinds = || member(key("type"), texts(&["\"Available\"", "\"Avail\\u0061ble\"", "\"Applied\"", "null"]));
    let statuses = || member(key("status"), texts(&["\"True\"", "\"Tru\\u0065\"", "\"False\"", "null"]));
    let members = (
        prop::collection::vec(kinds(), 0..3),
        prop::collection::vec(statuses(), 0..3),
        prop::collection::vec(unknown(), 0..2),
    );
    members.prop_flat_map(|(kinds, statuses, unknown)| shuffled([kinds, statuses, unknown].concat()))
}

/// Bodies that the API's decoder accepts as statuses.
fn a_body() -> impl Strategy<Value = String> {
    let list =
        prop::collection::vec(a_condition(), 0..4).prop_map(|conditions| format!("[{}]", conditions.join(" , ")));
    let lists = prop::collection::vec(member(key("conditions"), list), 1..3);
    let adapters = prop::collection::vec(member(key("adapter"), texts(&["\"a\"", "\"b\""])), 1..3);
    let members = (lists, adapters, prop::collection::vec(unknown(), 0..3));
    let object = members.prop_flat_map(|(lists, adapters, unknown)| shuffled([lists, adapters, unknown].concat()));
    let around = (
        prop::sample::select(vec!["", "\u{feff}", "\u{feff} ", " \n"]),
        object,
        prop::sample::select(vec!["", "\n", "}", " {\"a\":1}", "x"]),
    );
    around.prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

proptest! {
    #[test]
    fn no_accepted_body_reports_available_after_a_failure(body in a_body()) {
        let sent = sent(&body, &[failed("a", FailReason::Conflict, "m")]);
        let readable = sent.replace(r"\ud800", "half").replace(r"\udc00", "half").replace("1e999", "1");
        let available = read(&readable, "Available");
        prop_assert!(!available.is_empty() && available.iter().all(|status| status == "False"), "{body} -> {sent}");
    }
}

#[test]
fn key_that_is_written_twice_is_sent_once() {
    let texts = [
        r#"{"adapter":"a","conditions":[{"type":"Available","status":"True","Reason":"Old","reason":"New"}]}"#,
        r#"{"adapter":"a","Conditions":[],"conditions":[{"type":"Available","status":"True","reason":"New"}]}"#,
        r#"{"adapter":"b","Adapter":"a","conditions":[{"type":"Available","status":"True","reason":"New"}]}"#,
    ];
    let once = r#"{"adapter":"a","conditions":[{"reason":"New","status":"True","type":"Available"}]}"#;
    for text in texts {
        assert_eq!(sent(text, &[]), once, "{text}");
    }
    let distinct = r#"{"Adapter":"a","conditions":[{"type":"Available","status":"True","Reason":"Old"}]}"#;
    assert_eq!(sent(distinct, &[]), distinct);
}
