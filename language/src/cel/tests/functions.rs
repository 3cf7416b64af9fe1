//! Tests of properties that every CEL function has.

use std::collections::BTreeSet;

use cel::common::ast::Expr;

use super::*;
use crate::cel::cost::operands;
use crate::cel::dialect::adapt;
use crate::cel::environment::{FUNCTIONS, MEMBER_FUNCTIONS};

/// Values of every type, as expressions; the text is nobody's to read.
const VALUES: [&str; 15] = [
    "secret",
    "'aGk='",
    "'2026-03-01T12:00:00Z'",
    "2",
    "2u",
    "1.5",
    "true",
    "null",
    "tags",
    "nested",
    "labels",
    "conditions",
    "timestamp(now())",
    "duration('90m')",
    "labels.?app",
];

const SECRET: &str = "hunter2";

/// The secret among what parsers of patterns, templates, zones and numbers complain about.
const HIDDEN: &str = "%hunter2(+99:99";

fn secretive() -> Scope {
    let mut scope = scope();
    scope.set("secret", json!(HIDDEN));
    scope
}

/// Calls of one function on and with values of every type; with more than one argument, of few types.
fn calls(name: &str, is_method: bool) -> Vec<String> {
    let macros = ["all", "exists", "exists_one", "existsOne", "filter", "map", "optFlatMap", "optMap", "sortBy"];
    let mut arguments: Vec<String> = vec![String::new()];
    arguments.extend(VALUES.map(str::to_owned));
    let few = ["secret", "'a'", "2", "true", "labels", "conditions"];
    for first in few {
        arguments.extend(few.map(|second| format!("{first}, {second}")));
    }
    for first in ["secret", "conditions", "1"] {
        for second in ["secret", "'Ready'", "1"] {
            arguments.extend(["secret", "600", "-1"].map(|third| format!("{first}, {second}, {third}")));
        }
    }
    match name {
        "has" => ["labels.app", "labels.nope", "secret.nope", "nope.a"].map(|path| format!("has({path})")).to_vec(),
        _ if macros.contains(&name) => VALUES
            .iter()
            .flat_map(|target| ["x == secret", "labels.?app", "x"].map(|body| format!("({target}).{name}(x, {body})")))
            .collect(),
        _ if is_method => VALUES
            .iter()
            .flat_map(|target| arguments.iter().map(move |arguments| format!("({target}).{name}({arguments})")))
            .collect(),
        _ => arguments.iter().map(|arguments| format!("{name}({arguments})")).collect(),
    }
}

#[test]
fn functions_are_pure_and_errors_hide_their_arguments() {
    let (scope, same) = (secretive(), secretive());
    let functions = FUNCTIONS
        .iter()
        .copied()
        .flatten()
        .map(|name| (*name, false))
        .chain(MEMBER_FUNCTIONS.iter().copied().flatten().map(|name| (*name, true)));
    for (name, is_method) in functions {
        let mut succeeded = BTreeSet::new();
        for source in calls(name, is_method) {
            // Macros refuse some literals.
            let Ok(expression) = Expression::parse(&source) else { continue };
            let shown = |scope: &Scope| expression.evaluate(scope).map_err(|error| error.message);
            let answer = shown(&scope);
            assert_eq!(answer, shown(&scope), "again: {source}");
            assert_eq!(answer, shown(&same), "in a scope that is the same: {source}");
            match answer {
                Ok(_) => _ = succeeded.insert(source),
                Err(message) => assert!(!message.contains(SECRET), "{source}: {message}"),
            }
        }
        assert!(!succeeded.is_empty(), "{name}: no call of it gives an answer");
    }
}

/// What functions and operators charge for their operands `a`, `b` and `c`: the names of the functions that charge, then
/// calls. `matches` charges for itself.
const CHARGES: &str = "\
nothing: a.b; has(a.b); a - b; a * b; a / b; a % b; -a; a && b; a || b; !a; a ? b : c; a == 1; optional.none(); now()
nothing: dyn(a); type(a); bool(a); timestamp(a); matches(a, b); a.matches(b); a.hasValue(); a.toUnixTime(); a.getDate()
nothing: a.getDayOfMonth(); a.getDayOfWeek(); a.getDayOfYear(); a.getFullYear(); a.getHours(); a.getMilliseconds()
nothing: a.getMinutes(); a.getMonth(); a.getSeconds()
@whole: a + b; a == b; a < b; a[b]; [a]; {a: b}; bytes(a); double(a); duration(a); int(a); string(a); uint(a); toJson(a)
@whole: optional.of(a); optional.ofNonZeroValue(a); optional.unwrap(a); strings.quote(a); triState(a, b)
@whole: base64.decode(a); base64.encode(a)
@whole: statusFeedbackValue(a, b); a.contains(b); a.endsWith(b); a.startsWith(b); a.or(b); a.orValue(b); a.unwrapOpt()
@whole: a.charAt(b); a.format(b); a.indexOf(b); a.indexOf(b, c); a.lastIndexOf(b); a.lastIndexOf(b, c); a.trim()
@whole: a.lowerAscii(); a.upperAscii(); a.substring(b); a.reverse(); a.flatten(); a.last(); a.slice(b, c); a.sort()
@look: size(a); a.size()
@look @whole: a in b
@copy: dig(a, b); a.value(); a.?b
@copy @look: a.first()
@copy @whole: a[?b]; a.optMap(x, x); a.optFlatMap(x, x)
@loop: lists.range(a)
@look @loop: conditionStatus(a, b); conditionAge(a, b); stableFor(a, b, c)
@range: a.all(x, x); a.exists(x, x); a.exists_one(x, x); a.existsOne(x, x)
@range @whole: a.filter(x, x); a.map(x, x); a.sortBy(x, x)
@pairs: a.distinct()
@pieces: a.split(b)
@replace: a.replace(b, c)
@join: a.join(); a.join(b)";

/// The functions of [`cost`](crate::cel::cost) that the program of an expression calls.
fn charges(source: &str) -> BTreeSet<String> {
    let mut tree = Expression::parse(source).unwrap().parsed.tree.clone();
    walk::rewrite(&mut tree, &mut |node| {
        adapt(node, &mut Vec::new());
        operands::charge(node);
    });
    let is_charge = |name: &&String| {
        ["@copy", "@join", "@look", "@loop", "@pairs", "@pieces", "@range", "@replace", "@whole"]
            .contains(&name.as_str())
    };
    let calls = walk::nodes(&tree)
        .filter_map(|node| if let Expr::Call(call) = node.expr { Some(&call.func_name) } else { None });
    calls.filter(is_charge).cloned().collect()
}

#[test]
fn every_function_charges_for_its_operands_or_is_listed_as_free() {
    let mut told = BTreeSet::new();
    for (expected, source) in CHARGES.lines().flat_map(|line| {
        let (expected, calls) = line.split_once(": ").unwrap();
        calls.split("; ").map(move |call| (expected, call))
    }) {
        let charges = charges(source).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(if charges.is_empty() { "nothing" } else { &charges }, expected, "{source}");
        told.insert(source.split('(').next().unwrap().to_owned());
    }
    let methods = MEMBER_FUNCTIONS.iter().copied().flatten().map(|name| format!("a.{name}"));
    let missing: Vec<_> = FUNCTIONS
        .iter()
        .copied()
        .flatten()
        .map(|name| (*name).to_owned())
        .chain(methods)
        .filter(|it| !told.contains(it))
        .collect();
    assert!(missing.is_empty(), "the table does not say what these charge: {missing:?}");
    assert_eq!(charges("a.somethingNew(b)"), ["@whole".to_owned()].into(), "a function that nobody listed");
}

/// Tries functions of other CEL engines, and names that an author might expect: none exists, above all none
/// that does I/O or returns random values.
#[test]
fn library_has_no_function_that_does_io() {
    for call in [
        "http.get('https://example.io')",
        "fetch('https://example.io')",
        "lookup('v1', 'Secret', 'ns', 'name')",
        "file('/etc/passwd')",
        "readFile('/etc/passwd')",
        "exec('id')",
        "getenv('HOME')",
        "os.env('HOME')",
        "log('x')",
        "print('x')",
        "sleep(1)",
        "random()",
        "rand.int(1)",
        "uuid()",
        "clock()",
        "today()",
        "time.now()",
        "authorizer.path('/').check('get')",
        "cel.eval('1')",
        "cel.bind(x, 1, x)",
        "math.greatest(1, 2)",
        "sets.intersects([1], [1])",
        "regex.extract('a', 'a')",
        "url('https://example.io')",
        "ip('127.0.0.1')",
        "quantity('1Gi')",
        "'a'.find('a')",
        "[1].sum()",
        "[1].transformList(i, v, v)",
    ] {
        let expression = Expression::parse(call).unwrap();
        let unknown = expression.unknown_names(&|_| true);
        assert!(matches!(unknown.as_slice(), [UnknownName::Function(_), ..]), "{call}: {unknown:?}");
        let error = expression.evaluate(&scope()).expect_err(call);
        let nothing = matches!(error.kind, EvaluationErrorKind::Undeclared(_));
        assert!(nothing, "{call}: {error}");
    }
}

/// The clock is the one thing that differs between two evaluations in the same scope.
#[test]
fn same_scope_gives_the_same_answer_at_any_time() {
    let (early, late) =
        (Scope::new("2026-03-01T12:00:00Z".parse().unwrap()), Scope::new("2030-03-01T12:00:00Z".parse().unwrap()));
    for name in
        FUNCTIONS.iter().copied().flatten().filter(|name| !["now", "conditionAge", "stableFor", "has"].contains(name))
    {
        for arguments in ["", "1", "'a'", "[1]", "'1s'", "1, 'a'", "[], 'a'", "true, false"] {
            let expression = Expression::parse(&format!("{name}({arguments})")).unwrap();
            let shown = |scope: &Scope| expression.evaluate(scope).map_err(|error| error.message);
            assert_eq!(shown(&early), shown(&late), "{name}({arguments})");
        }
    }
}

/// Mappings that an expression makes have an order, too: that of the keys.
#[test]
fn mappings_iterate_in_one_order() {
    for source in [
        "{'d': 1, 'a': 2, 'c': 3, 'b': 4}.map(k, k)",
        "{'d': 1, 'a': 2, 'c': 3, 'b': 4}.filter(k, k != 'x')",
        "labels.map(k, k)",
        "optional.of({'d': 1, 'a': 2, 'c': 3, 'b': 4}).value().map(k, k)",
        "['%s'.format([{'d': 1, 'a': 2, 'c': 3, 'b': 4}])]",
        "[toJson({1: 1, '1': 2}), toJson({'d': 1, 'a': 2, 'c': 3, 'b': 4})]",
        "[{'d': 1, 'a': 2, 'c': 3, 'b': 4}].map(m, m.map(k, k))",
    ] {
        let expression = Expression::parse(source).unwrap();
        let first = expression.evaluate(&scope()).unwrap();
        for _ in 0..20 {
            assert_eq!(expression.evaluate(&scope()).unwrap(), first, "{source}");
        }
    }
    let keys = "{'b': 1, 2u: 1, true: 1, 'a': 1, -1: 1, false: 1, 10: 1}.map(k, k)";
    assert_eq!(evaluate(&scope(), keys).unwrap(), Answer::Value(json!([false, true, -1, 2, 10, "a", "b"])));
    // Where two keys are the same as JSON, text comes last.
    assert_eq!(evaluate(&scope(), "{1: 'number', '1': 'text'}").unwrap(), Answer::Value(json!({"1": "text"})));
}
