use super::*;

/// The abstract value of an expression for which `here` is present, `deleting` is a param, and `never` refers to itself.
fn claimed(source: &str) -> AbstractValue {
    let entries = |name: &str| if name == "here" { Presence::Present } else { Presence::Unknown };
    let definitions = |name: &str| match name {
        "deleting" => Some(parse("cluster.?deleted_time.hasValue()")),
        "never" => Some(parse("never")),
        "flag" => Some(parse("c == 1")),
        _ => None,
    };
    parse(source).abstract_value(&entries, &definitions)
}

#[test]
fn expressions_relate_by_their_tests() {
    use Relation::{Apart, Around, Overlapping, Same, Unrelated, Within};
    let cases = [
        ("the same", "deleting", "deleting", Same),
        ("the negation", "deleting && !handover", "deleting && handover", Apart),
        ("the negation of a part", "!(a && b)", "a && b && c", Apart),
        ("one more condition", "deleting && handover", "deleting", Within),
        ("one condition less", "deleting", "deleting && handover", Around),
        ("a common part", "deleting && handover", "deleting && abandoned", Overlapping),
        ("a common negative part", "!active && a", "!active && b", Overlapping),
        ("nothing in common", "handover", "deleting && abandoned", Unrelated),
        ("a common part on one side of an alternative", "deleting && a", "(deleting && !a) || expired", Unrelated),
        ("different constants", "deleting && policy == 'Retain'", "deleting && policy == 'Delete'", Apart),
        ("a constant and not", "policy == 'Retain'", "'Retain' != policy", Apart),
        ("constants in a list", "policy in ['a', 'b']", "policy == 'c'", Apart),
        ("a constant of a list", "policy == 'a'", "policy in ['a', 'b']", Within),
        ("different parts of two lists", "x in ['a', 'b']", "x in ['b', 'c']", Unrelated),
        ("a comparison and its opposite", "age > 3", "age <= 3", Apart),
        ("comparisons of which one is turned around", "age > limit", "limit > age", Apart),
        ("a comparison, written both ways", "age > limit", "limit < age", Same),
        ("a conditional", "deleting ? handover : false", "deleting && !handover", Apart),
        ("booleans compared with constants", "deleting == true && handover != true", "deleting && handover", Apart),
        ("a variable and its definition", "deleting && a", "has(cluster.deleted_time) && !a", Apart),
        ("presence in three ways", "has(a.b) && c", "'b' in a && a.?b.hasValue() && !c", Apart),
        ("an entry that is there", "resources.?here.hasValue() && a", "!has(resources.here) || a", Same),
        ("an entry that may be there", "has(resources.other)", "!('other' in resources)", Apart),
        ("a loop", "l.exists(c, c.t == 'a')", "!l.exists(c, c.t == 'a')", Apart),
        ("a loop over something else", "l.exists(c, c.t == 'a')", "!l.exists(c, c.t == 'b')", Unrelated),
        ("an optional with a default", "x.?keep.orValue(false)", "!x.?keep.orValue(false)", Apart),
        ("entries selected in two ways", "a['b'].c == 'x'", "a.b.c == 'y'", Apart),
        ("maps in atoms", "f == {'a': 1}", "f != {'a': 1}", Apart),
        ("a variable that refers to itself", "never && a", "never", Within),
        ("a constant", "true", "a", Around),
        ("never", "false", "a", Apart),
        ("a text, which counts as true", "'yes'", "a", Around),
        ("a variable whose definition reads a name of the loop", "[1].exists(c, flag)", "!flag", Unrelated),
    ];
    for (name, first, second, expected) in cases {
        assert_eq!(claimed(first).relation(&claimed(second)), expected, "{name}: {first}, {second}");
    }
}

#[test]
fn more_than_twelve_tests_are_not_combined() {
    let many = |count: usize| (0..count).map(|i| format!("x{i}")).collect::<Vec<_>>().join(" && ");
    assert_eq!(claimed(&many(12)).relation(&claimed("x0")), Relation::Within);
    assert_eq!(claimed(&many(13)).relation(&claimed("x0")), Relation::Unrelated);
    assert!(!claimed(&format!("{} && false", many(13))).is_impossible());
}

#[test]
fn conjunction_of_contradicting_tests_is_impossible() {
    for source in ["a && !a", "x == 'a' && x == 'b'", "!has(resources.here)", "age > 3 && age < 3", "x in []"] {
        assert!(claimed(source).is_impossible(), "{source}");
    }
    for source in ["a", "x == 'a' && y == 'b'", "x == 'a' || x == 'b'", "has(resources.other)"] {
        assert!(!claimed(source).is_impossible(), "{source}");
    }
}

#[test]
fn places_in_an_entry_are_those_read_besides_its_presence() {
    let exact = |keys: &[&str]| keys.iter().map(|key| Key::Exact((*key).to_owned())).collect::<Vec<_>>();
    let cases = [
        ("resources.?here.hasValue() && phase == 'x'", Some(vec![])),
        ("has(resources.here) || resources.other.ready", Some(vec![])),
        ("resources.here.status.ready", Some(vec![exact(&["status", "ready"])])),
        ("resources.here.items[0].ready == x", Some(vec![exact(&["items"])])),
        (
            "resources.?here.?metadata.?labels[?'a/b'].orValue('') != x",
            Some(vec![exact(&["metadata", "labels", "a/b"])]),
        ),
        ("'a' in resources.here.labels", Some(vec![exact(&["labels", "a"])])),
        ("toJson(resources.here) == x", Some(vec![exact(&[])])),
        (
            "dig(resources.here.metadata, 'a.b') != b",
            Some(vec![vec![Key::Exact("metadata".to_owned()), Key::Dotted("a.b".to_owned())]]),
        ),
        ("size(resources) > 1", None),
        ("dig(resources, 'here.a') == x", None),
        ("resources[x].a", None),
    ];
    for (source, expected) in cases {
        assert_eq!(claimed(source).places_in("here"), expected, "{source}");
    }
}

fn source() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "true",
        "false",
        "x",
        "y",
        "x == 'a'",
        "x != 'b'",
        "'a' == x",
        "x == y",
        "x != y",
        "y == x",
        "x == true",
        "y != false",
        "x in ['a', true]",
        "x < y",
        "x >= y",
        "y > x",
        "x <= 1",
        "x > 1",
        "has(x.a)",
        "'a' in x",
        "x.?a.hasValue()",
        "x[?'a'].hasValue()",
        "x.a",
        "x.?a.orValue(y)",
        "has(resources.here)",
        "resources.?other.hasValue()",
        "'other' in resources",
        "size(x) == 1",
    ]);
    atoms.prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
        let two = prop::sample::select(vec!["(#) && (@)", "(#) || (@)", "!(#)", "(#) == (@)", "(#) && !(@)"]);
        prop_oneof![
            (two, inner.clone(), inner.clone()).prop_map(|(shape, a, b)| shape.replace('#', &a).replace('@', &b)),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

fn event_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(1),
        json!(2),
        json!("a"),
        json!("b"),
        json!([]),
        json!({"a": true}),
        json!({"a": 1}),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_event_contradicts_the_relation(one in source(), two in source(), x in event_value(), y in event_value(), other in any::<bool>()) {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("x", x);
        scope.set("y", y);
        scope.set_member("resources", "here", Some(json!({})));
        scope.set_member("resources", "other", other.then(|| json!({})));
        let is_true = |source: &str| matches!(
            parse(source).evaluate(&scope),
            Ok(Answer::Value(Value::Bool(true)))
        );
        let (first, second) = (is_true(&one), is_true(&two));
        prop_assert!(!(first && claimed(&one).is_impossible()), "{one} is true");
        match claimed(&one).relation(&claimed(&two)) {
            Relation::Same => prop_assert!(
                (!first || is_not_false(&two, &scope)) && (!second || is_not_false(&one, &scope)),
                "{one}, {two}: one alone is true"
            ),
            Relation::Apart => prop_assert!(!(first && second), "{one}, {two}: both are true"),
            Relation::Within => prop_assert!(!first || is_not_false(&two, &scope), "{one}, {two}: the first alone is true"),
            Relation::Around => prop_assert!(!second || is_not_false(&one, &scope), "{one}, {two}: the second alone is true"),
            Relation::Overlapping | Relation::Unrelated => {}
        }
    }
}

/// Whether an expression is true, fails or is no boolean. A relation describes boolean expressions only, and `y != false`
/// is true for a list `y`.
fn is_not_false(source: &str, scope: &Scope) -> bool {
    !matches!(parse(source).evaluate(scope), Ok(Answer::Value(Value::Bool(false))))
}
