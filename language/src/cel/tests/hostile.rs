//! Text that tries to take the process down, on the stack that a worker thread has.

use super::*;
use crate::cel::cost::{self, Budget, MAX_ITERATIONS};
use crate::cel::evaluation::{describe, evaluate_within};
use crate::cel::limits::{MAX_BRACKETS, MAX_BYTES, MAX_DEPTH};

#[path = "../../../benches/expressions/costly.rs"]
mod costly;

const ITERATIONS: &str = "loops and lists.range() make more than 100000 iterations";
const BYTES: &str = "copies or goes through more than 32 MiB";

/// Runs on a worker's stack; an overflow would abort the whole test run.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap()
}

fn outcome(source: String) -> Result<Answer, String> {
    on_a_small_stack(move || {
        let expression = Expression::parse(&source).map_err(|error| error.to_string())?;
        expression.evaluate(&scope()).map_err(|error| error.message)
    })
}

#[test]
fn chains_end_in_an_answer_or_a_refusal() {
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: &[Shape] = &[
        ("sums", |n| vec!["1"; n].join("+")),
        ("differences without blanks", |n| vec!["1"; n].join("-")),
        ("comparisons", |n| vec!["1"; n].join("<")),
        ("memberships", |n| vec!["a"; n].join(" in ")),
        ("selects", |n| format!("labels{}", ".a".repeat(n))),
        ("optional selects", |n| format!("labels{}", ".?a".repeat(n))),
        ("indexes", |n| format!("tags{}", "[0]".repeat(n))),
        ("calls", |n| format!("name{}", ".trim()".repeat(n))),
        ("brackets", |n| format!("{}1{}", "(".repeat(n), ")".repeat(n))),
        ("open brackets", |n| "(".repeat(n)),
        ("closing brackets", |n| ")".repeat(n)),
        ("lists", |n| format!("{}{}", "[".repeat(n), "]".repeat(n))),
        ("open lists", |n| "[".repeat(n)),
        ("maps", |n| format!("{}1{}", "{1:".repeat(n), "}".repeat(n))),
        ("open maps", |n| "{".repeat(n)),
        ("nested calls", |n| format!("{}1{}", "size(".repeat(n), ")".repeat(n))),
        ("nested calls of values that pay", |n| format!("{}name{}", "toJson(".repeat(n), ")".repeat(n))),
        ("nested optionals", |n| format!("{}name{}", "optional.of(".repeat(n), ")".repeat(n))),
        ("indexes by indexes", |n| format!("{}name{}", "labels[?".repeat(n), "]".repeat(n))),
        ("methods of what pays", |n| format!("name{}", ".split('x').join('y')".repeat(n))),
        ("sums of variables", |n| vec!["name"; n].join("+")),
        ("comparisons of sums", |n| vec!["name + name"; n].join("==")),
        ("conditionals", |n| format!("{}1", "true?1:".repeat(n))),
        ("conditionals in the middle", |n| format!("{}1{}", "true?".repeat(n), ":1".repeat(n))),
        ("conditionals behind conjunctions", |n| format!("{}1", "a&&b?1:".repeat(n))),
        ("negations", |n| format!("{}true", "!".repeat(n))),
        ("negative numbers", |n| format!("{}1", "-".repeat(n))),
        ("negated brackets", |n| format!("{}1{}", "-(".repeat(n), ")".repeat(n))),
        ("disjunctions", |n| vec!["a"; n].join("||")),
        ("conjunctions", |n| vec!["true"; n].join("&&")),
        ("elements", |n| format!("[{}]", vec!["1"; n].join(","))),
        ("open strings", |n| format!("\"{}", "(".repeat(n))),
        ("strings with bad escapes", |n| format!("'\\q{}'", "(".repeat(n))),
        ("raw strings that end early", |n| format!("r'\\'{}", "(".repeat(n))),
        ("byte order marks", |n| "\u{feff}".repeat(n)),
        ("dots", |n| ".".repeat(n)),
        ("question marks", |n| "?".repeat(n)),
        ("backticks", |n| "`".repeat(n)),
        ("comments", |n| "//\n".repeat(n)),
        ("comprehensions", |n| format!("{}1{}", "[1].map(x,".repeat(n), ")".repeat(n))),
        ("comprehensions over comprehensions", |n| format!("[1]{}", ".map(x,x)".repeat(n))),
        ("optional maps", |n| format!("optional.of(1){}", ".optMap(x,x)".repeat(n))),
        ("nested optional maps", |n| format!("{}1{}", "optional.of(1).optMap(x,".repeat(n), ")".repeat(n))),
    ];
    for (name, shape) in shapes {
        for length in [3, 20, 70, 90, 110, 190, 390, 410, 1000, 2040, 4000, 350_000] {
            let source = shape(length);
            let long = source.len() > MAX_BYTES;
            let result = outcome(source);
            assert!(!long || result.is_err_and(|refusal| refusal.contains("bytes")), "{length} {name}");
        }
    }
}

#[test]
fn limits_apply_at_their_documented_values() {
    let accepted = |source: &str| Expression::parse(source).is_ok();
    let refused = |source: &str, part: &str| {
        let refusal = Expression::parse(source).expect_err(part);
        assert!(matches!(&refusal, ExpressionError::Limit(text) if text.contains(part)), "{part}: {refusal}");
    };
    let text = |length: usize| format!("'{}'", "x".repeat(length - 2));
    assert!(accepted(&text(MAX_BYTES)));
    refused(&text(MAX_BYTES + 1), "4097 bytes");

    assert!(accepted(&vec!["1"; MAX_DEPTH].join("+")));
    refused(&vec!["1"; MAX_DEPTH + 1].join("+"), "nests 101 deep");

    let brackets = |count: usize| format!("{}1{}", "(".repeat(count), ")".repeat(count));
    assert!(accepted(&brackets(MAX_BRACKETS)));
    refused(&brackets(MAX_BRACKETS + 1), "brackets deep");

    let loops = "tags.all(a, tags.all(b, tags.all(c, a == b && b == c)))";
    assert!(accepted(loops));
    refused(&format!("tags.exists(d, {loops})"), "nests 4 comprehensions");
    assert!(accepted("tags.filter(a, true).map(a, a).filter(a, true).map(a, a).all(a, true)"), "one after another");
    assert!(
        accepted("tags.all(a, tags.all(b, tags.all(c, labels.?a.optMap(v, v == a).orValue(true))))"),
        "optMap is no loop"
    );
}

#[test]
fn realistic_long_expressions_load() {
    let status =
        (0..30).map(|number| format!("c{number}.?status.?conditions.orValue([]).exists(x, x.type == 'Ready')"));
    assert!(Expression::parse(&status.collect::<Vec<_>>().join("\n  && ")).is_ok());
    let reason =
        (0..20).map(|number| format!("resources.job.status.phase == 'p{number}' ? 'r{number}' : ")).collect::<String>();
    assert!(Expression::parse(&(reason + "'none'")).is_ok());
    let message =
        (0..40).map(|number| format!("'part {number} (of many): ' + resources.job.m{number}")).collect::<Vec<_>>();
    assert!(Expression::parse(&message.join(" + ")).is_ok());
}

#[test]
fn parse_errors_have_line_and_column() {
    let cases = [
        ("an open end", "a ||", 1, 5),
        ("on the second line", "a &&\n  b c", 2, 5),
        ("an unfinished map", "{'a': }", 1, 7),
        ("a reserved word", "1 + namespace", 1, 5),
        ("a number too large", "1 + 99999999999999999999", 1, 5),
        ("leading blanks do not count", "  \n a b", 1, 3),
        ("too deep for the parser is not reached", "size(", 1, 6),
    ];
    for (name, source, line, column) in cases {
        match Expression::parse(source).expect_err(name) {
            ExpressionError::Parse { message, line: l, column: c, .. } => {
                assert_eq!((l, c), (line, column), "{name}: {message}");
            }
            ExpressionError::Limit(limit) => panic!("{name}: {limit}"),
        }
    }
}

#[test]
fn loops_end_at_the_iteration_limit() {
    let list = |length: usize| format!("[{}]", vec!["1"; length].join(","));
    let cases = [
        ("a map", format!("{0}.map(a, {0}.map(b, {0}.map(c, a + b + c)))", list(400))),
        ("a filter", format!("{0}.filter(a, {0}.filter(b, {0}.filter(c, a + b > c) == []) == [])", list(300))),
        ("a mapped filter", format!("{0}.map(a, true, {0}.map(b, true, {0}.map(c, true, a)))", list(300))),
        ("for all", format!("{0}.all(a, {0}.all(b, {0}.all(c, a + b > c)))", list(400))),
        ("exists", format!("{0}.exists(a, {0}.exists(b, {0}.exists(c, a + b < c)))", list(400))),
        ("what ends early", format!("lists.range(1000).all(a, {}.exists(b, true))", list(200))),
        ("a range", "lists.range(1000).all(i, lists.range(1000000).size() > 0)".to_owned()),
        ("conditions", "lists.range(1000).all(i, conditionStatus(lists.range(200), 'a') == 'Unknown')".to_owned()),
        ("exists one", format!("{0}.exists_one(a, {0}.exists_one(b, {0}.exists_one(c, a + b < c)))", list(300))),
    ];
    for (name, source) in cases {
        assert_eq!(outcome(source), Err(ITERATIONS.to_owned()), "{name}");
    }
}

#[test]
fn loops_below_the_limit_give_their_answers() {
    let list = format!("[{}]", vec!["1"; 300].join(","));
    let cases = [
        (format!("{list}.map(a, {list}.map(b, a + b).size()).size()"), json!(300)),
        (format!("{list}.filter(a, {list}.filter(b, b > a) == []).size()"), json!(300)),
        (format!("{list}.map(a, a > 1, a)"), json!([])),
        (format!("{list}.all(a, {list}.all(b, a == b))"), json!(true)),
        (format!("{list}.exists(a, {list}.exists(b, a != b))"), json!(false)),
        ("[1, 2, 2].exists_one(a, a == 1)".to_owned(), json!(true)),
        ("[3, 1, 2].sortBy(a, a)".to_owned(), json!([1, 2, 3])),
    ];
    for (source, expected) in cases {
        assert_eq!(outcome(source.clone()), Ok(Answer::Value(expected)), "{source}");
    }
}

/// Data of the size that an event has at most.
fn large() -> Scope {
    costly::large(Scope::new(NOW.parse().unwrap()))
}

#[test]
fn expensive_expressions_end_at_the_byte_limit() {
    let scope = large();
    for source in costly::expressions() {
        let expression = Expression::parse(&source).unwrap();
        // What is looked at before there is an event comes to an end, too.
        let _ = expression.abstract_value(&|_| Presence::Absent, &|_| None).possible();
        let error = expression.evaluate(&scope).expect_err(&source);
        assert_eq!(error.message, BYTES, "{source}");
        assert_eq!(error.kind, EvaluationErrorKind::Other, "{source}");
    }
}

#[test]
fn constant_patterns_are_compiled_once_and_bounded_together() {
    let scope = large();
    let evaluate = |source: &str| Expression::parse(source).unwrap().evaluate(&scope);
    assert_eq!(evaluate("list.all(i, !'x'.matches('\\\\w{1000}'))").unwrap(), Answer::Value(json!(true)));
    assert_eq!(evaluate("text.matches('(x+x+)+y')").unwrap(), Answer::Value(json!(false)));
    let error = evaluate("'x'.matches('(.{1000}){1}.{1000}.{1000}.{1000}.{1000}.{1000}.{1000}')").unwrap_err();
    assert!(error.message.starts_with("matches: the pattern is too large"), "{error}");
    let many = vec![r"'x'.matches('\\pL{80}')"; 100].join(" || ");
    let expression = Expression::parse(&many).unwrap();
    assert!(expression.pattern_errors().count() > 90);
    assert_eq!(expression.pattern_errors().next(), Some(&crate::pattern::PatternError::TooLarge));
}

#[test]
fn exceeded_budget_fails_the_evaluation() {
    let scope = large();
    let source = "list.exists(i, list.map(j, text + 'a') != []) || text + 'a' == text";
    let error = Expression::parse(source).unwrap().evaluate(&scope).unwrap_err();
    assert_eq!(error.message, BYTES);
    // Each evaluation has a budget of its own.
    let expression = Expression::parse("(text + text).size()").unwrap();
    for _ in 0..40 {
        assert_eq!(expression.evaluate(&scope).unwrap(), Answer::Value(json!(2 << 20)));
    }
}

#[test]
fn realistic_use_of_large_data_is_within_the_limits() {
    let mut scope = large();
    let whole = scope.get("objects").unwrap().clone();
    let cases = [
        ("objects", whole.clone()),
        ("{'items': objects}.items", whole.clone()),
        ("optional.of(objects)", whole.clone()),
        ("objects.map(o, o)", whole.clone()),
        ("toJson(objects).size() > 100000", json!(true)),
        ("objects == objects", json!(true)),
        ("text == text + ''", json!(true)),
        ("(text + text + text).size()", json!(3 << 20)),
        ("objects.filter(o, o.status.conditions.exists(c, c.type == 'Ready')).size()", json!(2_000)),
        ("objects.map(o, o.metadata.name).join(',').size()", json!(10_889)),
        ("objects.map(o, o.metadata.name).distinct().size()", json!(2_000)),
        ("objects.exists(o, o.metadata.name.matches('^o1999$'))", json!(true)),
        ("objects.sortBy(o, o.metadata.name)[0].metadata.name", json!("o0")),
        ("text.replace('x', 'y').size() + text.split('y').size()", json!((1 << 20) + 1)),
        ("lists.range(20000).map(i, list[i]) == list", json!(true)),
        ("optional.of(objects.map(o, o.metadata.name)).optMap(names, names.all(n, n in names))", json!(true)),
        ("dig(objects, '1999.metadata.name')", json!("o1999")),
    ];
    for (source, expected) in cases {
        let answer = Expression::parse(source).unwrap().evaluate(&scope);
        assert_eq!(answer.unwrap_or_else(|error| panic!("{error}")), Answer::Value(expected), "{source}");
    }
    scope.set("path", json!(". ".repeat(600)));
    let error = Expression::parse("dig(objects, path)").unwrap().evaluate(&scope).unwrap_err();
    assert_eq!(error.message, "dig: a path has at most 1024 bytes");
}

#[test]
fn search_for_the_side_that_failed_stays_within_the_limits() {
    const ABSENT: &str = "no such key: objects.0.absent";
    let scope = large();
    // 20,000 iterations, and about 20 MiB.
    let (loops, work) = ("list.exists(i, i < 0)", "text + text + text + text + text == text");
    let cases = [
        ("the last side fails", format!("{loops} || {loops} || {loops} || {loops} || objects[0].absent"), ABSENT),
        (
            "a side within sides fails",
            format!(
                "{loops} || (true && ({loops} || (true && ({loops} || (true && ({loops} || objects[0].absent))))))"
            ),
            ABSENT,
        ),
        ("a limit is reached", [loops; 12].join(" || "), ITERATIONS),
        ("a limit is reached first", format!("list.exists(i, {loops}) || objects[0].absent"), ITERATIONS),
        ("a side is spent on copies", format!("{work} || objects[0].absent"), ABSENT),
        ("two sides fail", format!("objects[0].absent || (1 / 0 > 0 && {loops})"), ABSENT),
    ];
    for (name, source, expected) in cases {
        let expression = Expression::parse(&source).unwrap();
        let budget = Budget::default();
        let error = evaluate_within(&budget, &expression.parsed.program, &scope).unwrap_err();
        assert_eq!(describe(&error, &scope, &source).1, expected, "{name}");
        // What exceeds a limit is counted, and not done.
        assert!(budget.iterations() <= MAX_ITERATIONS + 20_000, "{name}: {} iterations", budget.iterations());
        assert!(budget.bytes() <= cost::MAX_BYTES + (8 << 20), "{name}: {} bytes", budget.bytes());
    }
}
