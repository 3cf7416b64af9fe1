//! Finds the paths whose values an expression can return, whole, in part or within a text.
//!
//! In: a checked syntax tree. Out: its paths, but for those that it only compares, tests for presence, or measures. Fails: nothing.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, operators,
};

use super::declare::NOW;
use super::{lint, readings, walk};

/// Functions that tell something about their arguments, and return no part of them.
const TELLING: [&str; 13] = [
    operators::LOGICAL_NOT,
    operators::NOT_STRICTLY_FALSE,
    "conditionStatus",
    "contains",
    "endsWith",
    "exists",
    "has",
    "hasValue",
    "indexOf",
    "matches",
    "size",
    "startsWith",
    "type",
];

/// The paths whose values an expression can return: the variable, then the keys below it.
pub(super) fn paths(root: &IdedExpr) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    of(&root.expr, &mut Vec::new(), &mut found);
    found
}

fn of<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>, found: &mut Vec<Vec<String>>) {
    match expr {
        Expr::Select(select) if select.test => {}
        Expr::Ident(_) | Expr::Select(_) => path_or(expr, bound, found),
        Expr::Call(call) => of_call(expr, call, bound, found),
        Expr::Comprehension(comprehension) => of_comprehension(comprehension, bound, found),
        Expr::List(list) => list.elements.iter().for_each(|element| of(&element.expr, bound, found)),
        Expr::Map(map) => map.entries.iter().for_each(|entry| of_entry(entry, bound, found)),
        Expr::Struct(literal) => literal.entries.iter().for_each(|entry| of_entry(entry, bound, found)),
        Expr::Literal(_) | Expr::Unspecified => {}
    }
}

/// The path that an expression is, or what the operand of its last step returns.
fn path_or<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>, found: &mut Vec<Vec<String>>) {
    match (readings::keys(expr), expr) {
        (Some((variable, _, _)), _) if bound.contains(&variable) || variable.starts_with('@') => {}
        (Some((variable, keys, _)), _) => found.push(std::iter::once(variable.to_owned()).chain(keys).collect()),
        (None, Expr::Select(select)) => of(&select.operand.expr, bound, found),
        (
            None,
            Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Struct(_)
            | Expr::Unspecified,
        ) => {}
    }
}

fn of_call<'e>(expr: &'e Expr, call: &'e CallExpr, bound: &mut Vec<&'e str>, found: &mut Vec<Vec<String>>) {
    let function = call.func_name.as_str();
    if walk::is_comparison(function) || walk::is_logic(function) || TELLING.contains(&function) {
        return;
    }
    if readings::keys(expr).is_some() {
        return path_or(expr, bound, found);
    }
    let parts: Vec<&IdedExpr> = match (function, call.args.as_slice()) {
        // The test decides, and is not returned; neither is an index.
        (operators::CONDITIONAL, [_, yes, no]) => vec![yes, no],
        (operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT, [operand, ..]) => vec![operand],
        (_, arguments) if lint::namespace(call).is_some() => arguments.iter().collect(),
        (_, arguments) => call.target.iter().map(AsRef::as_ref).chain(arguments).collect(),
    };
    parts.into_iter().for_each(|part| of(&part.expr, bound, found));
}

fn of_comprehension<'e>(comprehension: &'e ComprehensionExpr, bound: &mut Vec<&'e str>, found: &mut Vec<Vec<String>>) {
    let ComprehensionExpr { iter_range, iter_var, iter_var2, accu_var, accu_init, loop_step, result, .. } =
        comprehension;
    // `all`, `exists` and `exists_one` return whether an element is so.
    let counts = matches!(&accu_init.expr, Expr::Literal(LiteralValue::Boolean(_) | LiteralValue::Int(_)));
    if counts {
        return;
    }
    of(&iter_range.expr, bound, found);
    of(&accu_init.expr, bound, found);
    let outer = bound.len();
    bound.push(accu_var);
    of(&result.expr, bound, found);
    bound.extend([Some(iter_var.as_str()), iter_var2.as_deref()].into_iter().flatten());
    of(&loop_step.expr, bound, found);
    bound.truncate(outer);
}

fn of_entry<'e>(entry: &'e IdedEntryExpr, bound: &mut Vec<&'e str>, found: &mut Vec<Vec<String>>) {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => {
            of(&entry.key.expr, bound, found);
            of(&entry.value.expr, bound, found);
        }
        EntryExpr::StructField(field) => of(&field.value.expr, bound, found),
    }
}

/// Whether the result is the time of the event, or is computed from it so that it changes with it.
pub(super) fn has_clock(root: &IdedExpr) -> bool {
    match &root.expr {
        Expr::Ident(name) => name == NOW,
        Expr::Call(call) => {
            let mut parts = call.target.iter().map(AsRef::as_ref).chain(&call.args);
            match call.func_name.as_str() {
                operators::ADD | operators::SUBSTRACT | "@string" | "@timestamp" => parts.any(has_clock),
                _ => false,
            }
        }
        Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::cel::Expression;

    #[test]
    fn shown_paths_are_those_that_the_result_can_contain() {
        let cases = [
            ("a.b", "a.b"),
            ("a.?b.orValue('')", "a.b"),
            ("a['b']", "a.b"),
            ("'x' + a.b", "a.b"),
            ("string(a.b)", "a.b"),
            ("toJson(a)", "a"),
            ("'%s'.format([a.b])", "a.b"),
            ("[a.b, c].join(',')", "a.b c"),
            ("{'k': a.b}", "a.b"),
            ("a.b.upperAscii()", "a.b"),
            ("a.b.split(',')[0]", "a.b"),
            ("a.b == c ? a.d : 'no'", "a.d"),
            ("a.b != '' ? 'set' : 'unset'", ""),
            ("has(a.b) && c", ""),
            ("!a.b", ""),
            ("a.?b.hasValue()", ""),
            ("size(a.b) + a.c.size()", ""),
            ("a.b.contains('x')", ""),
            ("a.list.exists(x, x.name == c)", ""),
            ("a.list.exists_one(x, x.name == c)", ""),
            ("a.list.map(x, x.name)", "a.list"),
            ("a.list.filter(x, x.name == c)", "a.list"),
            ("a.?b.optMap(x, x + c).orValue(d)", "a.b c d"),
            ("a[c]", "a"),
        ];
        for (source, expected) in cases {
            let expression = Expression::parse(source).unwrap();
            let mut shown: Vec<String> = expression.shown_paths().iter().map(|path| path.join(".")).collect();
            shown.sort();
            shown.dedup();
            assert_eq!(shown.join(" "), expected, "{source}");
        }
    }

    #[test]
    fn clock_is_shown_where_the_result_changes_with_it() {
        let cases = [
            ("now()", true),
            ("timestamp(now())", true),
            ("timestamp(now()) + duration('1h')", true),
            ("'at ' + string(now())", true),
            ("timestamp(a) < timestamp(now())", false),
            ("now() > a ? 'late' : 'early'", false),
            ("now().substring(0, 10)", false),
            ("a", false),
        ];
        for (source, expected) in cases {
            assert_eq!(Expression::parse(source).unwrap().shows_clock(), expected, "{source}");
        }
    }
}
