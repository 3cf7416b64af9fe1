//! Tests of `docs/cel.md`: every example evaluates to the result beside it, and every function is listed.

use std::collections::BTreeSet;

use super::*;
use crate::cel::environment::{FUNCTIONS, MEMBER_FUNCTIONS};

const PAGE: &str = include_str!("../../../../docs/cel.md");

/// The variables that the page's examples are about.
fn page_scope() -> Scope {
    let block = PAGE.split("```json scope\n").nth(1).unwrap().split("```").next().unwrap();
    let variables: serde_json::Map<String, Value> = serde_json::from_str(block).unwrap();
    let mut scope = Scope::new(NOW.parse().unwrap());
    variables.into_iter().for_each(|(name, value)| scope.set(&name, value));
    scope
}

/// The cells of a line of a table, without the bars that are escaped.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{0}");
    line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

/// The rows of every table with such a column: the cells of each.
fn rows(column: &str) -> Vec<(usize, Vec<String>)> {
    let mut rows = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        let Some(at) = cells(line).iter().position(|cell| line.starts_with('|') && cell == column) else { continue };
        rows.extend(lines.by_ref().skip(1).take_while(|line| line.starts_with('|')).map(|line| (at, cells(line))));
    }
    rows
}

/// Returns the text of a table cell without its backticks, one or two on each side.
fn code(cell: &str) -> &str {
    let two = cell.strip_prefix("``").and_then(|cell| cell.strip_suffix("``"));
    two.map_or_else(|| cell.trim_matches('`'), str::trim)
}

#[test]
fn page_examples_evaluate_to_what_they_say() {
    let scope = page_scope();
    let examples = rows("gives");
    assert!(examples.len() > 120, "{}", examples.len());
    for (at, row) in examples {
        let source = code(&row[at - 1]);
        let answer = evaluate(&scope, source);
        match row[at].as_str() {
            "absent" => assert_eq!(answer.unwrap(), Answer::Absent, "{source}"),
            error if error.starts_with("error ") => {
                let told = answer.expect_err(source).message;
                assert!(told.contains(code(&error["error ".len()..])), "{source}: {told}");
            }
            value => {
                let expected: Value = serde_json::from_str(code(value)).unwrap_or_else(|_| panic!("{source}: {value}"));
                assert_eq!(answer.unwrap_or_else(|error| panic!("{error}")), Answer::Value(expected), "{source}");
            }
        }
    }
}

#[test]
fn page_lists_every_function() {
    let mut told = BTreeSet::new();
    for (at, row) in rows("function") {
        let name = code(&row[at]).split('(').next().unwrap().to_owned();
        // A namespace is a part of the name; anything else before a dot is what a method is called on.
        let name = match name.rsplit_once('.') {
            Some(_) if FUNCTIONS.concat().contains(&name.as_str()) => name,
            Some((_, method)) => format!(".{method}"),
            None => name,
        };
        let call = format!("{}(", name.trim_start_matches('.'));
        assert!(row[at + 1].contains(&call), "the example of `{name}` does not call it: {}", row[at + 1]);
        assert!(told.insert(name.clone()), "`{name}` twice");
    }
    let methods = MEMBER_FUNCTIONS.iter().copied().flatten().map(|name| format!(".{name}"));
    let known: BTreeSet<_> =
        FUNCTIONS.iter().copied().flatten().map(|name| (*name).to_owned()).chain(methods).collect();
    let difference: Vec<_> = told.symmetric_difference(&known).collect();
    assert!(difference.is_empty(), "only on the page, or only in the environment: {difference:?}");
}

#[test]
fn page_lists_every_limit() {
    use crate::cel::{cost, limits};
    let limits: Vec<_> = rows("limit").into_iter().map(|(_, row)| (row[0].clone(), row[1].clone())).collect();
    for (limit, is) in [
        ("text", format!("{} KiB", limits::MAX_BYTES >> 10)),
        ("brackets", limits::MAX_BRACKETS.to_string()),
        ("depth", limits::MAX_DEPTH.to_string()),
        ("loops within loops", limits::MAX_LOOPS.to_string()),
        ("iterations of all loops", format!("{} 000", cost::MAX_ITERATIONS / 1000)),
        ("values copied or gone through", format!("{} MiB", cost::MAX_BYTES >> 20)),
        ("a path of `dig`", "1 KiB".to_owned()),
    ] {
        assert!(limits.iter().any(|(name, told)| name == limit && told.starts_with(&is)), "{limit}: {is}");
    }
    assert_eq!(limits.len(), 7);
}
