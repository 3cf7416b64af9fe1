#![expect(clippy::panic, reason = "tests")]

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cel::Expression;
use crate::scope::Scope;

/// `gone` is certainly absent, `here` certainly present; nothing is known of other entries.
fn presence(name: &str) -> Presence {
    match name {
        "gone" => Presence::Absent,
        "here" => Presence::Present,
        _ => Presence::Unknown,
    }
}

fn told(source: &str) -> Prospect {
    Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}")).prospect(&presence)
}

#[test]
fn only_what_is_certain_is_told() {
    use Prospect::{AlwaysFails, AlwaysHolds, NeverHolds, Open};
    let cases = [
        ("a constant", "false", NeverHolds),
        ("text without a character", "''", NeverHolds),
        ("text", "'x'", AlwaysHolds),
        ("blank text is true", "  ", AlwaysHolds),
        ("constants that differ", "'a' == 'b'", NeverHolds),
        ("constants that are equal", "1 + 1 == 2", AlwaysHolds),
        ("a constant that fails", "1 / 0 == 1", AlwaysFails),
        ("a conjunct that is false", "x && 1 > 2", NeverHolds),
        ("a disjunct that is false", "x || 1 > 2", Open),
        ("both disjuncts are false", "'' == 'a' || 1 > 2", NeverHolds),
        ("a disjunct that is true", "x || true", AlwaysHolds),
        ("a present entry, in an open disjunction", "has(resources.here) || x", AlwaysHolds),
        ("an absent entry, in an open disjunction", "!has(resources.gone) || x", AlwaysHolds),
        ("a negated disjunction", "!(x || true)", NeverHolds),
        ("a conditional of constants", "x ? false : 1 > 2", NeverHolds),
        ("a conditional with an open branch", "x ? false : y", Open),
        ("a conditional with a constant condition", "1 > 2 ? y : false", NeverHolds),
        ("a variable", "x", Open),
        ("a function of a variable", "size(x) > 3", Open),
        ("an absent entry", "resources.gone.status.ready", AlwaysFails),
        ("an absent entry, by index", "resources['gone'].status.ready == true", AlwaysFails),
        ("an absent entry, compared with the clock", "timestamp(resources.gone.at) < timestamp(now())", AlwaysFails),
        ("an absent entry behind an open conjunct", "x && resources.gone.ready", NeverHolds),
        ("an absent entry behind an open disjunct", "x || resources.gone.ready", Open),
        ("an absent entry, asked for", "has(resources.gone)", NeverHolds),
        ("an absent entry, looked for", "'gone' in resources", NeverHolds),
        ("an absent entry, as an optional", "resources.?gone.hasValue()", NeverHolds),
        ("an absent entry, as an optional index", "resources[?'gone'].hasValue()", NeverHolds),
        ("an absent entry, negated", "!resources.?gone.hasValue()", AlwaysHolds),
        ("a chain of optionals", "resources.?gone.?status.?ready.orValue(false)", NeverHolds),
        ("a chain of selections from an optional", "resources.?gone.status.ready.orValue(false)", NeverHolds),
        ("a chain of optionals with an open default", "resources.?gone.?status.?ready.orValue(x)", Open),
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
        ("a mapped optional is left alone", "resources.?gone.optMap(g, g.ready).orValue(false)", Open),
        ("a present entry, asked for", "!has(resources.here)", NeverHolds),
        ("a present entry, as an optional", "!resources.?here.hasValue()", NeverHolds),
        ("a present entry, compared", "resources.?here.hasValue() == false", NeverHolds),
        ("what is in a present entry", "resources.here.status.ready", Open),
        ("what is not in a present entry", "!has(resources.here.status)", Open),
        ("an entry of which nothing is known", "resources.other.ready", Open),
        ("an entry by an open name", "resources[x].ready", Open),
        ("a variable of the same name in a loop", "y.all(resources, has(resources.gone))", Open),
        ("a loop over constants is left alone", "[1, 2].exists(i, i > 3)", Open),
        ("an optional without a value", "optional.none()", Open),
    ];
    for (name, source, expected) in cases {
        assert_eq!(told(source), expected, "{name}: {source}");
    }
}

#[test]
fn every_answer_that_is_possible_is_told() {
    let cases = [
        ("false", (false, true, false)),
        ("'x'", (true, false, false)),
        ("1 / 0 == 1", (false, false, true)),
        ("optional.none()", (false, false, true)),
        ("has(resources.here)", (true, false, false)),
        ("x && 1 > 2", (false, true, false)),
        ("x && resources.gone.ready", (false, true, true)),
        ("resources.?here", (true, true, false)),
        ("x", (true, true, true)),
    ];
    for (source, (holds, does_not_hold, fails)) in cases {
        let expression = Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(expression.possible(&presence), Possible { holds, does_not_hold, fails }, "{source}");
    }
}

#[test]
fn what_the_clock_says_is_open() {
    assert_eq!(told("now() > '2030'"), Prospect::Open);
    assert_eq!(told("timestamp(now()) < timestamp('2030-01-01T00:00:00Z')"), Prospect::Open);
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

fn value() -> impl Strategy<Value = Option<Value>> {
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
    fn no_event_proves_it_wrong(source in source(), x in value(), y in value(), here in value(), other in value()) {
        let Ok(expression) = Expression::parse(&source) else { return Ok(()) };
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        for (name, value) in [("x", x), ("y", y)] {
            if let Some(value) = value {
                scope.set(name, value);
            }
        }
        scope.set_member("resources", "here", Some(json!({ "a": here })));
        scope.set_member("resources", "other", other);
        let kinds = outlook(&expression.parsed.tree, &presence).kinds();
        let holds = expression.matches(&scope);
        let actual = match expression.evaluate(&scope) {
            Err(_) => Kinds::ERROR,
            Ok(Answer::Absent) => Kinds::NONE,
            // The answer does not tell an optional from its value.
            Ok(Answer::Value(Value::Bool(true))) => Kinds::TRUE.or(Kinds::SOME),
            Ok(Answer::Value(Value::Bool(false))) => Kinds::FALSE.or(Kinds::SOME),
            Ok(Answer::Value(_)) => Kinds::OTHER.or(Kinds::SOME),
        };
        prop_assert!(kinds.has(actual), "{source} gave {actual:?}, not {kinds:?}");
        let possible = expression.possible(&presence);
        let is_told = match expression.evaluate(&scope) {
            Err(_) | Ok(Answer::Absent) => possible.fails,
            Ok(answer) => if answer.is_truthy() { possible.holds } else { possible.does_not_hold },
        };
        prop_assert!(is_told, "{source} gave {actual:?}, not one of {possible:?}");
        match expression.prospect(&presence) {
            Prospect::Open => {}
            Prospect::NeverHolds => prop_assert!(!holds.unwrap_or(false), "{source} holds"),
            Prospect::AlwaysFails => prop_assert!(holds.is_err(), "{source} does not fail"),
            Prospect::AlwaysHolds => prop_assert!(holds.unwrap_or(false), "{source} does not hold"),
        }
    }
}
