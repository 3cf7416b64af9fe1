#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::rule::DNS_LABEL;

/// The mistakes that reading finds, each as its line.
fn mistakes(value: &Value, read: impl Fn(&Field<'_>)) -> Vec<String> {
    let reader = Reader::new("file");
    read(&reader.root(value));
    reader.finish(()).err().map(|found| lines(&found, Severity::Error)).unwrap_or_default()
}

#[test]
fn wrong_type_names_path_and_cure() {
    type Read = fn(&Field<'_>);
    let cases: [(&str, Value, Read, &str); 12] = [
        (
            "text",
            json!(5),
            |f| {
                f.text();
            },
            "file: a: must be text, but is a number; put the value in quotes",
        ),
        (
            "a flag",
            json!("true"),
            |f| {
                f.flag();
            },
            "file: a: must be a boolean, but is text; write true or false, without quotes",
        ),
        (
            "a number",
            json!("5"),
            |f| {
                f.number();
            },
            "file: a: must be a number, but is text; write a number, without quotes",
        ),
        (
            "a fraction",
            json!(1.5),
            |f| {
                f.whole(0, 9);
            },
            "file: a: must be a whole number, but is a number; write a number without a fraction and without quotes",
        ),
        (
            "above the bound",
            json!(10),
            |f| {
                f.whole(1, 9);
            },
            "file: a: must be 1 to 9, but is 10; write a number of 1 to 9",
        ),
        (
            "below the bound",
            json!(0),
            |f| {
                f.whole(1, i64::MAX);
            },
            "file: a: must be 1 or more, but is 0; write a number of 1 or more",
        ),
        (
            "a list",
            json!({}),
            |f| {
                f.items();
            },
            "file: a: must be a list, but is an object; put the value in brackets, as in `[…]`",
        ),
        (
            "an item",
            json!(["x", 1]),
            |f| {
                f.texts();
            },
            "file: a[1]: must be text, but is a number; put the value in quotes",
        ),
        (
            "a null item",
            json!([null]),
            |f| {
                f.texts();
            },
            "file: a[0]: is null; write a value, or remove it",
        ),
        (
            "an object",
            json!([]),
            |f| {
                f.entries();
            },
            "file: a: must be an object, but is a list; write `{…}`",
        ),
        (
            "a choice",
            json!("onee"),
            |f| {
                f.choice(&["one", "two"]);
            },
            "file: a: `onee` is none of `one`, `two`; write `one`",
        ),
        (
            "a rule",
            json!("A b"),
            |f| f.keeps(&DNS_LABEL),
            "file: a: `A b` is not ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$; write lower case letters, digits and hyphens, and a letter or digit \
             first and last",
        ),
    ];
    for (name, value, read, expected) in cases {
        assert_eq!(mistakes(&json!({ "a": value }), |root| read(&root.key("a"))), [expected], "{name}");
    }
}

#[test]
fn absent_and_null_are_the_same() {
    for value in [json!({}), json!({ "a": null }), Value::Null] {
        let found = mistakes(&value, |root| {
            let field = root.key("a");
            assert_eq!((field.text(), field.flag(), field.items().len(), field.entries().len()), (None, None, 0, 0));
            assert_eq!(field.choice(&["one", "two"]), Some("one"));
            assert_eq!(field.key("b").text(), None);
        });
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn unknown_key_names_the_nearest() {
    let value = json!({ "api_endpont": 1, "volume": 2, "name": 3 });
    assert_eq!(
        mistakes(&value, |root| root.only(&["api_endpoint", "name"])),
        [
            "file: api_endpont: unknown key; write `api_endpoint`",
            "file: volume: unknown key; remove it; the keys here are `api_endpoint`, `name`"
        ]
    );
}

#[test]
fn text_that_is_no_json_is_one_mistake() {
    for (text, expected) in [
        ("", "file: the text is empty; write a JSON object, `{}` at least"),
        ("{", "file: is no JSON: EOF while parsing an object at line 1 column 1; write a JSON object, `{}` at least"),
        ("[]", "file: must be an object, but is a list; write `{…}`"),
    ] {
        let reader = Reader::new("file");
        let value = reader.parse(text);
        reader.root(&value);
        assert_eq!(lines(&reader.finish(()).unwrap_err(), Severity::Error), [expected], "{text}");
    }
}

proptest! {
    #[test]
    fn whole_numbers_are_read_exactly(number in any::<i64>()) {
        prop_assert_eq!(mistakes(&json!({ "a": number }), |root| {
            assert_eq!(root.key("a").whole(i64::MIN, i64::MAX), Some(number));
        }), Vec::<String>::new());
    }
}
