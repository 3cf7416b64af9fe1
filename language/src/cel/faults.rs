//! Finds parts of an expression that fail in every evaluation that reaches them.
//!
//! In: a syntax tree, and which paths hold numbers. Out: each fault in words, with its cure. Two kinds of parts
//! are judged: `duration` and `timestamp` of a constant text that does not parse, and the sum of a text and a number.
//! Fails: nothing.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use jiff::Timestamp;

use super::lint::qualified;
use super::walk::{self, Node};
use super::{Expression, environment};
use crate::scope::Scope;

/// A part of an expression that always fails, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The part and the reason why it fails.
    pub message: String,
    /// The text or function that works.
    pub help: String,
}

/// The functions of a constant text, by their names in a tree, with the name that authors write and an example.
const PARSERS: [(&str, &str, &str); 2] = [
    ("@duration", "duration", "write numbers with units and without blanks, such as `duration(\"1h30m\")`"),
    ("@timestamp", "timestamp", "write RFC 3339, such as `timestamp(\"2026-01-02T00:00:00Z\")`"),
];

/// The faults of a tree, each once.
pub(super) fn faults(root: &IdedExpr, is_number: &dyn Fn(&str) -> bool) -> Vec<Fault> {
    let mut found = Vec::new();
    for node in walk::nodes(root) {
        let Expr::Call(call) = node.expr else { continue };
        found.extend(unparsed(call).or_else(|| sum(&node, call, is_number)).filter(|fault| !found.contains(fault)));
    }
    found
}

fn unparsed(call: &CallExpr) -> Option<Fault> {
    let (_, name, help) = PARSERS.iter().find(|(function, ..)| *function == call.func_name)?;
    let [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }] = call.args.as_slice() else { return None };
    let tree = super::node::node(Expr::Call(call.clone()));
    let scope = Scope::new(Timestamp::UNIX_EPOCH);
    let error = Expression::of_tree(String::new(), tree).evaluate_typed(&scope).err()?;
    Some(Fault {
        message: format!("{name}(\"{}\") always fails: {}", text.inner(), error.message),
        help: (*help).to_owned(),
    })
}

fn sum(node: &Node<'_>, call: &CallExpr, is_number: &dyn Fn(&str) -> bool) -> Option<Fault> {
    let ([left, right], operators::ADD) = (call.args.as_slice(), call.func_name.as_str()) else { return None };
    let number = |of: &IdedExpr| number(node, &of.expr, is_number);
    let number = match (is_text(&left.expr), is_text(&right.expr)) {
        (true, false) => number(right)?,
        (false, true) => number(left)?,
        (true, true) | (false, false) => return None,
    };
    Some(Fault {
        message: format!("a text plus {number} always fails: CEL does not convert a number to text"),
        help: "write `string(int(…))` around the number".to_owned(),
    })
}

fn is_text(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(LiteralValue::String(_)) => true,
        Expr::Call(call) if call.func_name == operators::ADD => call.args.iter().any(|part| is_text(&part.expr)),
        Expr::Call(call) => matches!(call.func_name.as_str(), "@string" | "string"),
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

/// What a part is in words, if it is certainly a number.
fn number(node: &Node<'_>, expr: &Expr, is_number: &dyn Fn(&str) -> bool) -> Option<String> {
    match expr {
        Expr::Literal(LiteralValue::Int(number)) => Some(format!("`{}`", number.inner())),
        Expr::Literal(LiteralValue::Double(number)) => Some(format!("`{}`", number.inner())),
        Expr::Call(call) if matches!(call.func_name.as_str(), "int" | "double" | "uint" | "size") => {
            Some(format!("the number that `{}` gives", call.func_name))
        }
        Expr::Ident(_) | Expr::Select(_) => {
            let (root, path) = qualified(expr)?;
            let Expr::Ident(name) = root else { return None };
            let is_variable = !node.binds(name) && !environment::is_type(&path);
            (is_variable && is_number(&path)).then(|| format!("the number `{path}`"))
        }
        Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => None,
    }
}

/// Whether an expression reads a path of fields only by `.` and `[…]`, so that it fails if one of them is missing.
pub(super) fn demands(root: &IdedExpr, path: &[&str]) -> bool {
    let mut is_demanded = false;
    for node in walk::nodes(root) {
        match leads(&node, node.expr, path) {
            Some(Leads { is_optional: true }) => return false,
            Some(Leads { is_optional: false }) => is_demanded = true,
            None => {}
        }
    }
    is_demanded
}

struct Leads {
    /// Whether the path has a step that may be missing: `has(a.k)`, `a.?k`, `a[?"k"]` or `"k" in a`.
    is_optional: bool,
}

/// How a node reads exactly this path, if it does.
fn leads(node: &Node<'_>, expr: &Expr, path: &[&str]) -> Option<Leads> {
    let (last, before) = path.split_last()?;
    if before.is_empty() {
        return matches!(expr, Expr::Ident(name) if super::lint::absolute(name) == *last && !node.binds(name))
            .then_some(Leads { is_optional: false });
    }
    let (operand, key, is_optional) = match expr {
        Expr::Select(select) => (&select.operand.expr, select.field.as_str(), select.test),
        Expr::Call(call) => {
            let (place, key) = super::lint::key_read(call)?;
            (&call.args[place].expr, key, call.func_name != operators::INDEX)
        }
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => return None,
    };
    let leads = (key == *last).then(|| leads(node, operand, before))??;
    Some(Leads { is_optional: is_optional || leads.is_optional })
}

/// The condition of `condition ? text : …`.
pub(super) fn condition_of<'e>(root: &'e IdedExpr, text: &str) -> Option<&'e IdedExpr> {
    let Expr::Call(call) = &root.expr else { return None };
    let ([condition, yes, _], operators::CONDITIONAL) = (call.args.as_slice(), call.func_name.as_str()) else {
        return None;
    };
    matches!(&yes.expr, Expr::Literal(LiteralValue::String(yes)) if yes.inner() == text).then_some(condition)
}
