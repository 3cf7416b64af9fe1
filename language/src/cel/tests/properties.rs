//! Tests of properties that hold for any expression and any data.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other", |number| number.is_finite()).prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map("[a-z./]{0,6}", inner, 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Pieces of expressions, so that more than the first token gets parsed.
fn any_expression() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "resources",
        ".",
        ".?",
        "[",
        "[?",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        "?",
        "'x'",
        "\"",
        "r'",
        "1",
        "2.5",
        "-",
        "!",
        "+",
        "==",
        "<",
        "&&",
        "||",
        " in ",
        "has(",
        ".map(x,",
        ".exists(x,",
        ".optMap(v,",
        ".sortBy(x,",
        "now()",
        "dig(",
        "string(",
        "duration(",
        "conditionAge(",
        "optional.of(",
        "`",
        "//",
        "\n",
        "Pod{",
        "null",
        "true",
        "é",
        "\\",
    ]);
    prop_oneof![vec(piece, 0..40).prop_map(|pieces| pieces.concat()), "\\PC{0,200}", "[\0-\u{ff}]{0,200}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_is_parsed_or_refused(source in any_expression()) {
        if let Ok(expression) = Expression::parse(&source) {
            // Whatever parsed can be evaluated; what it yields is not the point.
            let _ = expression.evaluate(&scope());
            let readings = expression.readings(&scope());
            prop_assert!(readings.iter().all(|reading| !reading.path.starts_with('@')), "{:?}", readings);
            let names = expression.unknown_names(&|_| true);
            prop_assert!(names.iter().all(|name| matches!(name, UnknownName::Function(_))));
        }
    }
}

proptest! {
    #[test]
    fn data_goes_through_unchanged(value in any_json()) {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("value", value.clone());
        for source in ["value", "[value][0]", "{'a': value}.a", "optional.of(value)", "dig({'a': [value]}, 'a.0')"] {
            prop_assert_eq!(evaluate(&scope, source).unwrap(), Answer::Value(value.clone()), "{}", source);
        }
    }

    #[test]
    fn data_equals_itself_however_it_is_held(value in any_json()) {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("value", value.clone());
        scope.set("copy", value);
        for source in ["value == copy", "[value] == [copy]", "{'a': value} == {'a': copy}", "value in [copy]", "[value, copy].distinct().size() == 1"] {
            prop_assert_eq!(evaluate(&scope, source).unwrap(), Answer::Value(json!(true)), "{}", source);
        }
    }
}
