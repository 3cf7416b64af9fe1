//! Compares the results of paths with those of client-go.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Paths and their results in client-go v0.35, one pair per line, without the paths that are refused here. A result is
/// JSON, `MISSING`, or `PARSE` for a parse error.
const GOLDEN: &str = include_str!("golden.tsv");

fn document() -> Value {
    let document = json!({
        "a": {
            "b": {"c": "deep"}, "n": null, "blank": "  ", "zero": 0, "no": false, "empty": {},
            "dotted.key/x": "dots", "hy-phen": "h",
        },
        "items": [
            {"name": "one", "n": 1, "on": true, "labels": {"x.y/z": "l1"}},
            {"name": "two", "n": 2, "on": false},
            {"name": "three", "n": 3, "on": true},
        ],
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Available", "status": "False"},
            {"type": "It's", "status": "odd"},
        ],
        "matrix": [[1, 2], [3, 4]],
        "blanks": [{"v": ""}, {"v": " "}],
        "text": "word",
        "list": [],
    });
    crate::value::as_go_numbers(document)
}

fn printed(found: &Found) -> String {
    match found {
        Found::Missing => "MISSING".to_owned(),
        Found::Value(value) => crate::value::json::to_string(value),
    }
}

#[test]
fn paths_give_the_same_results_as_client_go() {
    let document = document();
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    for (name, value) in document.as_object().into_iter().flatten() {
        scope.set(name, value.clone());
    }
    for row in GOLDEN.lines() {
        let Some((source, expected)) = row.split_once('\t') else { panic!("{row}") };
        let (in_value, in_scope) = match FieldPath::parse(source) {
            Ok(path) => (printed(&path.find(&document)), printed(&path.find_in(&scope))),
            Err(_) => ("PARSE".to_owned(), "PARSE".to_owned()),
        };
        assert_eq!(in_value, expected, "{source} in a value");
        assert_eq!(in_scope, expected, "{source} in the variables");
    }
}

#[test]
fn filter_compares_integers_only_with_integers() -> Result<(), FieldPathError> {
    let root = json!({"items": [{"n": 2, "name": "two"}, {"n": 3, "name": "three"}]});
    let path = FieldPath::parse("{.items[?(@.n>=3)].name}")?;
    assert_eq!(path.find(&root), Found::Value(json!("three")));
    let path = FieldPath::parse("{.items[?(@.n==2.0)].name}")?;
    assert_eq!(path.find(&root), Found::Missing, "a double is another type");
    Ok(())
}

#[test]
fn wildcard_gives_the_values_of_a_mapping_in_key_order() -> Result<(), FieldPathError> {
    let root = json!({"m": {"b": 2, "a": 1, "c": 3}});
    assert_eq!(FieldPath::parse("m.*")?.find(&root), Found::Value(json!([1, 2, 3])));
    Ok(())
}

#[test]
fn source_returns_the_text_as_written() -> Result<(), FieldPathError> {
    assert_eq!(FieldPath::parse("a.b")?.source(), "a.b");
    Ok(())
}

#[test]
fn steps_that_no_task_uses_are_refused_by_name() {
    let cases = [
        ("items[0:2].name", "[0:2]: slices and unions are not supported"),
        ("items[0,1].name", "[0,1]: slices and unions are not supported"),
        ("a..c", "`..` is not supported"),
        ("{range .items[*]}{.name}{end}", "unexpected 'r'; a step begins with `.` or `[`"),
        ("{.a}-{.b}", "unexpected '}'"),
        ("{.a} and more", "begins with `{` ends with `}`"),
        ("{a.b}", "unexpected 'a'"),
        ("{.a.b", "begins with `{` ends with `}`"),
        ("{.items[?(@.n==@.m)].name}", "@.m: a filter compares with one text"),
        ("{.items[?(@.a[?(@.b)])]}", "a filter within a filter"),
        ("{.items[?(@.n=~2.0)]}", "unrecognized filter operator ="),
    ];
    for (source, expected) in cases {
        let error = FieldPath::parse(source).map(drop).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|error| error.contains(expected)), "{source}: {error:?}");
    }
}

#[test]
fn deeply_nested_path_does_not_parse() {
    let source = format!("{{{}", "[?(@.a".repeat(10_000));
    assert!(FieldPath::parse(&source).is_err());
    let source = format!("{{.a{}.b{}}}", "[?(@.c".repeat(100), ")]".repeat(100));
    assert!(FieldPath::parse(&source).is_err());
    assert!(FieldPath::parse(&"{range .a[*]}".repeat(10_000)).is_err());
}

proptest! {
    #[test]
    fn random_path_never_panics(
        source in r#"\{?([.]{0,2}(items|a|b|n|\*|name|\\.)|\[(-?[0-9]{1,2}|:|,|\*|'a'|\?\(@\.n(==|<|>)?[0-9']*\)?){1,3}\]|[{}$@'" ]|range |end){0,8}\}?|.*"#
    ) {
        if let Ok(path) = FieldPath::parse(&source) {
            let _either = path.find(&document());
        }
    }

    #[test]
    fn key_with_escaped_dots_is_found(key in "[a-zA-Z_][a-zA-Z0-9_./-]{0,20}") {
        let root = json!({ "labels": { &key: 1 } });
        let source = format!("labels.{}", key.replace('.', "\\."));
        let found = FieldPath::parse(&source).map(|path| path.find(&root));
        prop_assert_eq!(found.ok(), Some(Found::Value(json!(1))));
    }
}
