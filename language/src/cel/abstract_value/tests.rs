#![expect(clippy::panic, reason = "tests")]

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cel::{Answer, Types};
use crate::scope::Scope;

mod relations;

fn parse(source: &str) -> Expression {
    Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"))
}

/// `gone` is certainly absent, `here` certainly present; nothing is certain of other entries.
fn presence(name: &str) -> Presence {
    match name {
        "gone" => Presence::Absent,
        "here" => Presence::Present,
        _ => Presence::Unknown,
    }
}

fn value(source: &str) -> AbstractValue {
    parse(source).abstract_value(&presence, &|_| None)
}

/// The certain statement about an expression's results that a test expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certain {
    Nothing,
    NeverHolds,
    AlwaysFails,
    AlwaysHolds,
}

fn certain(source: &str) -> Certain {
    let possible = value(source).possible();
    if possible.always_fails() {
        Certain::AlwaysFails
    } else if !possible.can_hold() {
        Certain::NeverHolds
    } else if possible.always_holds() {
        Certain::AlwaysHolds
    } else {
        Certain::Nothing
    }
}

#[test]
fn only_certain_results_are_excluded() {
    use Certain::{AlwaysFails, AlwaysHolds, NeverHolds, Nothing};
    let cases = [
        ("a constant", "false", NeverHolds),
        ("text without a character", "''", NeverHolds),
        ("text", "'x'", AlwaysHolds),
        ("blank text is true", "  ", AlwaysHolds),
        ("constants that differ", "'a' == 'b'", NeverHolds),
        ("constants that are equal", "1 + 1 == 2", AlwaysHolds),
        ("a constant that fails", "1 / 0 == 1", AlwaysFails),
        ("a conjunct that is false", "x && 1 > 2", NeverHolds),
        ("a disjunct that is false", "x || 1 > 2", Nothing),
        ("both disjuncts are false", "'' == 'a' || 1 > 2", NeverHolds),
        ("a disjunct that is true", "x || true", AlwaysHolds),
        ("a present entry, in an open disjunction", "has(resources.here) || x", AlwaysHolds),
        ("an absent entry, in an open disjunction", "!has(resources.gone) || x", AlwaysHolds),
        ("a negated disjunction", "!(x || true)", NeverHolds),
        ("a conditional of constants", "x ? false : 1 > 2", NeverHolds),
        ("a conditional with an open branch", "x ? false : y", Nothing),
        ("a conditional with a constant condition", "1 > 2 ? y : false", NeverHolds),
        ("a variable", "x", Nothing),
        ("a function of a variable", "size(x) > 3", Nothing),
        ("an absent entry", "resources.gone.status.ready", AlwaysFails),
        ("an absent entry, by index", "resources['gone'].status.ready == true", AlwaysFails),
        ("an absent entry, compared with the clock", "timestamp(resources.gone.at) < timestamp(now())", AlwaysFails),
        ("an absent entry behind an open conjunct", "x && resources.gone.ready", NeverHolds),
        ("an absent entry behind an open disjunct", "x || resources.gone.ready", Nothing),
        ("a test for an absent entry", "has(resources.gone)", NeverHolds),
        ("a membership test for an absent entry", "'gone' in resources", NeverHolds),
        ("an absent entry, as an optional", "resources.?gone.hasValue()", NeverHolds),
        ("an absent entry, as an optional index", "resources[?'gone'].hasValue()", NeverHolds),
        ("an absent entry, negated", "!resources.?gone.hasValue()", AlwaysHolds),
        ("a chain of optionals", "resources.?gone.?status.?ready.orValue(false)", NeverHolds),
        ("a chain of selections from an optional", "resources.?gone.status.ready.orValue(false)", NeverHolds),
        ("a chain of optionals with an open default", "resources.?gone.?status.?ready.orValue(x)", Nothing),
        (
            "a condition that an absent entry lacks",
            "resources.?gone.?status.?conditions.orValue([]).exists(c, c.type == x && c.status == 'True')",
            NeverHolds,
        ),
        (
            "the number of conditions of an absent entry",
            "resources.?gone.?status.?conditions.orValue([]).filter(c, c.type == x).size() > 0",
            NeverHolds,
        ),
        ("all conditions of an absent entry", "resources.?gone.?conditions.orValue([]).all(c, c.ok)", AlwaysHolds),
        ("an absent entry, mapped", "resources.?gone.optMap(g, g.ready).orValue(false)", NeverHolds),
        ("a negated test for a present entry", "!has(resources.here)", NeverHolds),
        ("a present entry, as an optional", "!resources.?here.hasValue()", NeverHolds),
        ("a present entry, compared", "resources.?here.hasValue() == false", NeverHolds),
        ("what is in a present entry", "resources.here.status.ready", Nothing),
        ("what is not in a present entry", "!has(resources.here.status)", Nothing),
        ("an entry of which nothing is known", "resources.other.ready", Nothing),
        ("an entry by an open name", "resources[x].ready", Nothing),
        ("a variable of the same name in a loop", "y.all(resources, has(resources.gone))", Nothing),
        ("a loop over constants", "[1, 2].exists(i, i > 3)", NeverHolds),
        ("a loop over variables", "[x, y].exists(i, i > 3)", Nothing),
        ("an open operand beside an absent entry", "x == resources.gone.phase", AlwaysFails),
        ("an open side within an absent entry's comparison", "(x || resources.gone.ready) == true", Nothing),
        ("an absent entry as an open function's argument", "resources.gone.items.exists(i, i == x)", AlwaysFails),
        ("an optional without a value", "optional.none()", Nothing),
    ];
    for (name, source, expected) in cases {
        assert_eq!(certain(source), expected, "{name}: {source}");
    }
}

#[test]
fn every_possible_result_is_found() {
    let cases = [
        ("false", "does not hold"),
        ("'x'", "holds"),
        ("1 / 0 == 1", "fails"),
        ("optional.none()", "has no value"),
        ("has(resources.here)", "holds"),
        ("x && 1 > 2", "does not hold"),
        ("x && resources.gone.ready", "does not hold, fails"),
        ("resources.?here", "holds, does not hold"),
        ("x", "holds, does not hold, fails, has no value"),
        ("x == true ? y : false", "holds, does not hold, fails, has no value"),
        ("x == false ? false : (x == true ? false : y)", "holds, does not hold, fails, has no value"),
    ];
    for (source, expected) in cases {
        let Possible { holds, does_not_hold, fails, has_no_value } = value(source).possible();
        let results =
            [(holds, "holds"), (does_not_hold, "does not hold"), (fails, "fails"), (has_no_value, "has no value")];
        let results: Vec<_> =
            results.iter().filter(|(is_possible, _)| *is_possible).map(|(_, result)| *result).collect();
        assert_eq!(results.join(", "), expected, "{source}");
    }
}

#[test]
fn time_is_unknown() {
    assert_eq!(certain("now() > '2030'"), Certain::Nothing);
    assert_eq!(certain("timestamp(now()) < timestamp('2030-01-01T00:00:00Z')"), Certain::Nothing);
}

fn source() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "true",
        "false",
        "0",
        "1",
        "''",
        "'a'",
        "null",
        "[]",
        "[1]",
        "{}",
        "optional.none()",
        "optional.of(true)",
        "optional.of(false)",
        "optional.of([])",
        "x",
        "y",
        "x.a",
        "resources",
        "resources.gone",
        "resources.?gone",
        "resources['gone']",
        "resources[?'gone']",
        "has(resources.gone)",
        "'gone' in resources",
        "resources.here",
        "resources.?here",
        "has(resources.here)",
        "resources.here.a",
        "resources.?here.?a",
        "resources.other",
        "resources.?other",
        "'here' in resources",
    ]);
    atoms.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let one = prop::sample::select(vec![
            "!(#)",
            "(#).a",
            "(#).?a",
            "(#)[0]",
            "(#)['a']",
            "(#)[?'a']",
            "has((#).a)",
            "(#).hasValue()",
            "(#).value()",
            "size(#)",
            "[#]",
            "{'a': #}",
            "[?#]",
            "int(#)",
            "string(#)",
            "type(#)",
            "(#).exists(e, e)",
            "(#).all(e, e == x)",
            "(#).filter(e, e.a)",
            "(#).map(e, x)",
            "(#).exists_one(e, e)",
            "(#).optMap(e, e)",
            "(#).optFlatMap(e, e)",
            "(#).trim()",
            "-(#)",
            "toJson(#)",
            "dig(#, 'a')",
        ]);
        let two = prop::sample::select(vec![
            "(#) && (@)",
            "(#) || (@)",
            "(#) == (@)",
            "(#) != (@)",
            "(#) < (@)",
            "(#) in (@)",
            "(#) + (@)",
            "(#).orValue(@)",
            "(#).or(@)",
            "(#).exists(e, e == (@))",
            "(#).map(e, @)",
            "(#).optMap(e, @)",
            "[#, @]",
            "(#)[@]",
            "(#).contains(@)",
            "{#: @}",
            "conditionStatus(#, @)",
        ]);
        prop_oneof![
            (one, inner.clone()).prop_map(|(shape, a)| shape.replace('#', &a)),
            (two, inner.clone(), inner.clone()).prop_map(|(shape, a, b)| shape.replace('#', &a).replace('@', &b)),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

fn event_value() -> impl Strategy<Value = Option<Value>> {
    prop::sample::select(vec![
        None,
        Some(json!(null)),
        Some(json!(true)),
        Some(json!(false)),
        Some(json!(1)),
        Some(json!("a")),
        Some(json!([])),
        Some(json!([true, {"a": 1}])),
        Some(json!({"a": true})),
        Some(json!({"a": {"a": []}})),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_event_has_a_result_that_is_excluded(source in source(), x in event_value(), y in event_value(), here in event_value(), other in event_value()) {
        let Ok(expression) = Expression::parse(&source) else { return Ok(()) };
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        for (name, value) in [("x", x), ("y", y)] {
            if let Some(value) = value {
                scope.set(name, value);
            }
        }
        scope.set_member("resources", "here", Some(json!({ "a": here })));
        scope.set_member("resources", "other", other);
        let possible = value(&source).possible();
        let result = expression.evaluate(&scope);
        let is_possible = match &result {
            Err(_) => possible.fails,
            Ok(Answer::Absent) => possible.has_no_value,
            Ok(answer) => if answer.is_truthy() { possible.holds } else { possible.does_not_hold },
        };
        prop_assert!(is_possible, "{source} gave {result:?}, not one of {possible:?}");
        let results = value(&source).results();
        let actual = match &result {
            Err(_) => Results::ERROR,
            Ok(Answer::Absent) => Results::NONE,
            // The answer does not tell an optional from its value.
            Ok(Answer::Value(Value::Bool(value))) => Results::boolean(*value).or(Results::OTHER),
            Ok(Answer::Value(_)) => Results::OTHER,
        };
        prop_assert!(results.has(actual), "{source} gave {result:?}, not one of {results:?}");
        let types = expression.types(&|_| Types::open());
        let is_boolean = matches!(&result, Ok(Answer::Value(Value::Bool(_))));
        prop_assert!(!is_boolean || !types.excludes_boolean(), "{source} gave {result:?}, not one of {types:?}");
    }

    #[test]
    fn no_event_of_a_fact_has_a_result_that_is_excluded(source in source(), a in event_value(), y in event_value()) {
        let Ok(expression) = Expression::parse(&source) else { return Ok(()) };
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        let known: BTreeMap<String, Value> = a.map(|a| ("a".to_owned(), a)).into_iter().collect();
        scope.set("x", json!(known));
        if let Some(y) = &y {
            scope.set("y", y.clone());
        }
        scope.set("resources", json!({ "here": {} }));
        let facts = |name: &str| match name {
            "x" => Some(Fact::Object { fields: known.clone(), lacks: |field| field == "a" }),
            "y" => Some(y.clone().map_or(Fact::Unset, Fact::Is)),
            _ => None,
        };
        let value = expression.abstract_value_given(&presence, &|_| None, &facts);
        let (possible, result) = (value.possible(), expression.evaluate(&scope));
        let is_possible = match &result {
            Err(_) => possible.fails,
            Ok(Answer::Absent) => possible.has_no_value,
            Ok(answer) => if answer.is_truthy() { possible.holds } else { possible.does_not_hold },
        };
        prop_assert!(is_possible, "{source} gave {result:?}, not one of {possible:?}");
        if let Some(constant) = value.constant() {
            let of_event = match &result {
                Ok(Answer::Value(value)) => Some(value.clone()),
                Ok(Answer::Absent) => Some(Value::Null),
                Err(_) => None,
            };
            prop_assert_eq!(Some(constant), of_event, "{}", source);
        }
    }
}
