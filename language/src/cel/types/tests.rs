#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::cel::Expression;

/// `name` is a text, `count` a number, `is_deleting` a boolean; nothing is known of other variables.
fn of_path(path: &str) -> Types {
    match path {
        "name" => Types::of([Type::Text]),
        "count" => Types::of([Type::Number]),
        "is_deleting" => Types::of([Type::Boolean]),
        _ => Types::open(),
    }
}

fn types_of(source: &str) -> Types {
    Expression::parse(source).unwrap().types(&of_path)
}

#[test]
fn results_that_are_never_a_boolean_are_known() {
    let cases = [
        ("'is_deleting'", "a text"),
        ("1", "a number"),
        ("null", "null"),
        ("is_deleting ? 'True' : 'False'", "a text"),
        ("is_deleting ? 1 : 0", "a number"),
        ("is_deleting ? 1 : 'no'", "a number or a text"),
        ("string(is_deleting)", "a text"),
        ("name", "a text"),
        ("name + '!'", "a text"),
        ("count + x", "a sum"),
        ("count * 2", "a number"),
        ("-count", "a number or a duration"),
        ("optional.none()", "an optional without a value"),
        ("optional.none().orValue('none')", "a text"),
        ("optional.of(name)", "a text"),
        ("x.?a.optMap(v, 'a').orValue('b')", "a text"),
        ("x.filter(e, e)", "a list"),
        ("x.map(e, e == 1)", "a list"),
        ("{'a': true}", "a mapping"),
        ("triState(is_deleting, true)", "a text"),
        ("timestamp(x) - duration('1h')", "a sum"),
        ("timestamp(x)", "a timestamp"),
        ("now()", "a text"),
        ("x.size()", "a number"),
        ("dyn('a')", "a text"),
        ("conditionStatus(x, 'Ready')", "a text"),
    ];
    for (source, expected) in cases {
        let types = types_of(source);
        assert!(types.excludes_boolean(), "{source}: {types:?}");
        assert_eq!(types.to_string(), expected, "{source}");
    }
}

#[test]
fn results_that_an_event_can_make_a_boolean_are_left_to_the_event() {
    for source in [
        "true",
        "is_deleting",
        "is_deleting ? true : false",
        "is_deleting && x",
        "!x",
        "x",
        "x.a",
        "x.?a",
        "x['a']",
        "dig(x, 'a')",
        "x.?a.orValue(false)",
        "x.?a.orValue('none')",
        "is_deleting ? true : 'no'",
        "bool('true')",
        "x.exists(e, e == 1)",
        "x.all(e, e)",
        "x.exists_one(e, e)",
        "x.?a.hasValue()",
        "x.?a.optMap(v, v == 1).orValue(false)",
        "x.map(name, name)[0]",
        "optional.of(true)",
        "stableFor(x, 'Ready', 5)",
        "name in ['a']",
        "x.first().value()",
        "undeclared(1)",
    ] {
        let types = types_of(source);
        assert!(!types.excludes_boolean(), "{source}: {types:?}");
    }
}

#[test]
fn parts_that_are_no_boolean_are_named() {
    let cases = [
        ("x.?a.orValue('none')", Some("a text")),
        ("is_deleting ? true : 'no'", Some("a text")),
        ("is_deleting ? true : 1", Some("a number")),
        ("is_deleting ? true : optional.none()", Some("an optional without a value")),
        ("x.?a.orValue(false)", None),
        ("is_deleting", None),
        ("x", None),
    ];
    for (source, expected) in cases {
        assert_eq!(types_of(source).others().map(|types| types.to_string()).as_deref(), expected, "{source}");
    }
}

#[test]
fn comparisons_of_types_that_are_never_equal_are_found() {
    let cases = [
        ("is_deleting == 'true'", 1),
        ("'true' != is_deleting && x", 1),
        ("count == '1'", 1),
        ("is_deleting == 1", 1),
        ("(x ? 'True' : 'False') == true", 1),
        ("is_deleting == true", 0),
        ("count == 1.5", 0),
        ("name == 'a'", 0),
        ("x == 'true'", 0),
        ("is_deleting == null", 0),
        ("x.exists(is_deleting, is_deleting == 'true')", 0),
        ("timestamp(x) - timestamp(y) == duration('1s')", 0),
    ];
    for (source, expected) in cases {
        let found = Expression::parse(source).unwrap().mismatches(&of_path);
        assert_eq!(found.len(), expected, "{source}: {found:?}");
    }
    let found = Expression::parse("is_deleting == 'true'").unwrap().mismatches(&of_path);
    assert_eq!((found[0].subject.as_deref(), found[0].text.as_deref()), (Some("is_deleting"), Some("true")));
}
