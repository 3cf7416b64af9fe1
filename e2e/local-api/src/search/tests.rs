//! What the search language accepts, refuses, and writes as SQL.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::parser::DEEPEST;
use super::*;

/// The SQL condition of a search.
fn sql(search: &str) -> String {
    let mut query = QueryBuilder::new("");
    parse(search).unwrap_or_else(|error| panic!("{search}: {error}")).push(&mut query);
    query.into_string()
}

#[test]
fn operators_apply_to_the_classes_of_fields() {
    let operators =
        ["= V", "!= V", "< V", "<= V", "> V", ">= V", "in [V, V]", "between V and V", "like 'a%'", "ilike 'a%'"];
    let nulls = ["is null", "is not null"];
    let comparisons = ["= V", "!= V", "< V", "<= V", "> V", ">= V"];
    let all_but_patterns = &operators[..8];
    let labels = ["= V", "!= V", "in [V, V]", "like 'a%'", "ilike 'a%'"];
    let cases: [(&str, &str, &[&str]); 15] = [
        ("name", "'a'", &operators),
        ("owner_href", "'a'", &operators),
        ("generation", "3", all_but_patterns),
        ("generation", "-1.5", all_but_patterns),
        ("created_time", "'2026-09-01T12:00:00Z'", all_but_patterns),
        ("deleted_time", "2026-09-01", all_but_patterns),
        ("labels.env", "'a'", &labels),
        ("labels.app.kubernetes.io/name", "'a'", &labels),
        ("spec.nodePool.size", "'a'", &operators),
        ("spec.nodePool.size", "3", &operators),
        ("spec.enabled", "true", &["= V", "!= V", "in [V, V]", "like 'a%'", "ilike 'a%'"]),
        ("status.conditions.Reconciled", "'False'", &["= V"]),
        ("status.conditions.Reconciled.last_updated_time", "'2026-09-01'", &comparisons),
        ("status.conditions.Reconciled.last_transition_time", "'2026-09-01T12:00:00+02:00'", &comparisons),
        ("status.conditions.Reconciled.observed_generation", "3", &comparisons),
    ];
    for (field, value, allowed) in cases {
        for operator in operators {
            let search = format!("{field} {}", operator.replace('V', value));
            assert_eq!(parse(&search).is_ok(), allowed.contains(&operator), "{search}");
        }
        for operator in nulls {
            assert!(parse(&format!("{field} {operator}")).is_ok(), "{field} {operator}");
        }
    }
}

#[test]
fn search_becomes_a_condition_with_parameters() {
    let label = "(SELECT l.value FROM resource_labels l WHERE l.resource_id = r.id AND l.key = $1)";
    let cases = [
        ("name='a'", "(r.name = $1)".to_owned()),
        ("id IN ['a','b']", "(r.id IN ($1, $2))".to_owned()),
        (
            "generation between 1 and 2 and id='a'",
            "((r.generation BETWEEN $1::numeric AND $2::numeric) AND (r.id = $3))".to_owned(),
        ),
        ("not name='a' or id='b' and kind='c'", "((NOT (r.name = $1)) OR ((r.id = $2) AND (r.kind = $3)))".to_owned()),
        ("(name='a' or id='b') and kind='c'", "(((r.name = $1) OR (r.id = $2)) AND (r.kind = $3))".to_owned()),
        ("name not in ['a']", "(NOT (r.name IN ($1)))".to_owned()),
        ("not not name is null", "(NOT (NOT (r.name IS NULL)))".to_owned()),
        ("labels.a.b/c='x'", format!("({label} = $2)")),
        ("labels.'a.b/c'='x'", format!("({label} = $2)")),
        ("spec.'a.b'.cD like '%x'", "((r.spec #>> $1) LIKE $2)".to_owned()),
        ("deleted_time<2026-09-01", "(r.deleted_time < $1::timestamptz)".to_owned()),
    ];
    for (search, expected) in cases {
        assert_eq!(sql(search), expected, "{search}");
    }
}

#[test]
fn quoted_and_bare_labels_are_the_same() {
    assert_eq!(parse("labels.app.kubernetes.io/name = 'x'"), parse("labels.'app.kubernetes.io/name' = 'x'"));
    assert_ne!(parse("spec.a.b = 'x'"), parse("spec.'a.b' = 'x'"));
    assert_eq!(parse("created_time > '2026-09-01'"), parse("created_time > 2026-09-01T02:00:00+02:00"));
}

#[test]
fn what_is_no_search_is_refused_with_its_place() {
    let cases = [
        ("", 1, "a test begins with a field"),
        ("  ", 3, "a test begins with a field"),
        ("name", 5, "after a field stands an operator"),
        ("name = ", 8, "name is compared with a string in single quotes"),
        ("name = 5", 8, "name is compared with a string in single quotes"),
        ("name = \"a\"", 8, "replace the double quotes"),
        ("name = 'ä' ; drop", 12, "';' begins no word"),
        ("name = 'a", 8, "the string does not end"),
        ("name = 'a\0'", 10, "remove it"),
        ("name = 'a' name = 'b'", 12, "join this one with `and` or `or`"),
        ("name = 'a' and", 15, "a test begins with a field"),
        ("name ! 'a'", 6, "`!` alone is no operator"),
        ("name not = 'a'", 10, "`not` after a field"),
        ("name is 'a'", 9, "`null` or `not null`"),
        ("name in 'a'", 9, "after `in` stands a list"),
        ("name in []", 10, "name is compared with"),
        ("name in ['a' 'b']", 14, "a list is not closed"),
        ("name between 'a', 'b'", 17, "between needs two values"),
        ("name like 5", 11, "a pattern is a string"),
        (r"name like 'a\'", 11, "so double it"),
        ("(name = 'a'", 12, "add `)`"),
        ("name = 'a')", 11, "`)` closes nothing"),
        ("name='x') or (name!=''", 9, "`)` closes nothing"),
        ("color = 'a'", 1, "`color` is no field"),
        ("Name = 'a'", 1, "`Name` is no field"),
        ("spec = 'a'", 1, "`spec` is no field"),
        ("labels = 'a'", 1, "`labels` is no field"),
        ("labels. = 'a'", 8, "a segment of the field is empty"),
        ("spec.a..b = 'a'", 8, "a segment of the field is empty"),
        ("spec.'' = 'a'", 6, "a segment of the field is empty"),
        ("name.a = 'a'", 1, "`name.a` is no field"),
        ("status.phase = 'a'", 1, "`status.phase` is no field"),
        ("status.conditions = 'True'", 1, "`status.conditions` is no field"),
        ("generation = '3'", 14, "generation is compared with a number"),
        ("generation = 1e9", 14, "neither a number such as 1.5 nor a time"),
        ("generation = 1.", 14, "neither a number such as 1.5 nor a time"),
        ("generation like '3'", 12, "like does not apply to generation"),
        ("created_time = 'yesterday'", 16, "a time such as"),
        ("created_time = '2026-09-01T12:00:00'", 16, "a time such as"),
        ("created_time = '2026-02-30'", 16, "a time such as"),
        ("created_time = '0000-01-01'", 16, "a time such as"),
        ("created_time = 5", 16, "a time such as"),
        ("labels.a < 'a'", 10, "< does not apply to labels.a, so use =, !=, in"),
        ("not labels.a = 'a'", 1, "`not` does not apply to a test of labels.a"),
        ("labels.a not in ['a']", 10, "`not` does not apply to a test of labels.a"),
        ("id = 'a' and not (id = 'b' or labels.a = 'a')", 14, "`not` does not apply"),
        ("labels.a = 5", 12, "labels.a is compared with a string"),
        ("spec.a in ['a', 1]", 17, "another type"),
        ("spec.a between 1 and 'b'", 22, "another type"),
        ("spec.a < true", 10, "a boolean has no order"),
        ("spec.a = null", 10, "a string, a number, true or false"),
        ("status.conditions.Ready != 'True'", 25, "!= does not apply"),
        ("status.conditions.Ready in ['True']", 25, "in does not apply"),
        ("status.conditions.Ready like 'T%'", 25, "like does not apply"),
        ("status.conditions.Ready between 'a' and 'b'", 25, "between does not apply"),
        ("not status.conditions.Ready = 'True'", 1, "`not` does not apply"),
        ("status.conditions.Ready = 'true'", 27, "'True', 'False' or 'Unknown'"),
        ("status.conditions.Ready.reason = 'a'", 1, "`reason` cannot be searched"),
        ("status.conditions.Ready.observed_generation = 2147483648", 47, "an integer of 32 bits"),
        ("status.conditions.Ready.observed_generation = 1.5", 47, "an integer of 32 bits"),
        ("status.conditions.Ready.last_updated_time in ['2026-09-01']", 43, "in does not apply"),
        ("not status.conditions.Ready.last_updated_time = '2026-09-01'", 1, "`not` does not apply"),
    ];
    for (search, position, problem) in cases {
        let error = parse(search).map(|_| sql(search)).unwrap_err();
        assert_eq!(error.position(), position, "{search}: {error}");
        assert!(error.to_string().contains(problem), "{search}: {error}");
    }
    let error = parse("name='x') or (name!=''").unwrap_err();
    assert_eq!(error.to_string(), "character 9 of the search: `)` closes nothing, so remove it or add a `(`");
}

#[test]
fn search_is_bounded_in_length_and_depth() {
    let long = |length: usize| format!("name = '{}'", "ä".repeat(length - 9));
    assert!(parse(&long(LONGEST)).is_ok());
    assert_eq!(parse(&long(LONGEST + 1)).unwrap_err().position(), LONGEST + 1);

    for (open, close) in [("(", ")"), ("not ", ""), ("not(", ")")] {
        let nested = |depth: usize| {
            let search = format!("{}id='a'{}", open.repeat(depth), close.repeat(depth));
            parse(&search).map(|expression| expression.push(&mut QueryBuilder::new("")))
        };
        let deepest = DEEPEST / if open == "not(" { 2 } else { 1 };
        assert_eq!(nested(deepest), Ok(()), "{open}");
        assert!(nested(deepest + 1).unwrap_err().to_string().contains("simplify"), "{open}");
        assert!(nested(500).is_err(), "{open}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_within_it(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_words_are_read_or_refused_within_them(words in prop::collection::vec(word(), 0..40)) {
        check(&words.join(" "))?;
        check(&words.concat())?;
    }

    #[test]
    fn no_string_becomes_part_of_the_statement(string in "[^\0]{0,40}") {
        let quoted = string.replace('\'', "''");
        prop_assert_eq!(sql(&format!("name = '{quoted}'")), "(r.name = $1)");
        prop_assert_eq!(parse(&format!("name = '{quoted}'")).unwrap().0, text_test(string));
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(expression) => expression.push(&mut QueryBuilder::new("")),
        Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.position()), "{error}"),
    }
    Ok(())
}

fn text_test(value: String) -> Node {
    let name = Field::find(vec!["name".to_owned()]).unwrap();
    Node::Test(name, Test::Compare(Comparison::Equal, Value::Text(value)))
}

fn word() -> impl Strategy<Value = &'static str> {
    let words = [
        "name",
        "generation",
        "created_time",
        "labels.a",
        "spec.a.b",
        "status.conditions.A",
        "=",
        "!=",
        "<",
        "in",
        "[",
        "]",
        ",",
        "(",
        ")",
        "and",
        "or",
        "not",
        "between",
        "like",
        "is",
        "null",
        "'a'",
        "'",
        "5",
        "-",
        "true",
        ".",
        "2026-09-01",
        "ä",
        "\0",
        "\\",
    ];
    prop::sample::select(words.to_vec())
}
