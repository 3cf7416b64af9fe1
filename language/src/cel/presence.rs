//! Finds tests for the presence of a field that the API may send as null: null has a presence, and no value.
//!
//! In: a syntax tree. Out: a [`NullTest`] for each `has(a.k)`, `a.?k.hasValue()` and `"k" in a` of such a field, and for
//! each other test of `a` that holds for a null field and not for a missing one; unless the expression also compares that
//! field with null. Fails: nothing.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::lint::read_key;
use super::{Expression, abstract_value, environment, readings, walk};
use crate::scope::Scope;

/// Optional fields of a resource of the API whose names Kubernetes does not use. The API may leave such a field out, or
/// send null.
const NULLABLE: [&str; 3] = ["deleted_by", "deleted_time", "owner_references"];

/// A test that is true for a field that is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullTest {
    /// The name of the field.
    pub field: String,
    /// The comparison that is false both for null and for a field that is left out.
    pub comparison: String,
}

/// The tests of an expression that are true for a field that is null, each once.
pub(super) fn find(root: &IdedExpr) -> Vec<NullTest> {
    let compared: Vec<&str> = walk::nodes(root).filter_map(|node| compared_with_null(node.expr)).collect();
    let mut found = Vec::new();
    for node in walk::nodes(root) {
        let tested = match node.expr {
            Expr::Select(select) if select.test => Some((&*select.operand, select.field.as_str())),
            Expr::Call(call) => abstract_value::presence_test(call),
            Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_)
            | Expr::Unspecified => None,
        };
        let Some((object, field)) = tested.filter(|(_, field)| NULLABLE.contains(field)) else { continue };
        let object = readings::text(&node, &object.expr).unwrap_or_else(|| "…".to_owned());
        let comparison = format!("{object}.?{field}.orValue(null) != null");
        let test = NullTest { field: field.to_owned(), comparison };
        if !compared.contains(&field) && !found.contains(&test) {
            found.push(test);
        }
    }
    let mut judged = usize::MAX;
    for node in walk::nodes(root) {
        if node.depth > judged {
            continue;
        }
        judged = usize::MAX;
        let Some((object, field)) = sole_variable(node.expr).zip(NULLABLE.iter().find(|field| names(node.expr, field)))
        else {
            continue;
        };
        // Where both are known, the parts of this part decide nothing more.
        let of_null = holds(node.expr, &object, json!({ *field: null }));
        let (Some(of_null), Some(of_absent)) = (of_null, holds(node.expr, &object, json!({}))) else { continue };
        judged = node.depth;
        let comparison = format!("{object}.?{field}.orValue(null) != null");
        let test = NullTest { field: (*field).to_owned(), comparison };
        if of_null && !of_absent && !compared.contains(field) && !found.contains(&test) {
            found.push(test);
        }
    }
    found
}

/// The only variable that a part reads, if it reads just one.
fn sole_variable(part: &Expr) -> Option<String> {
    let root = super::node::node(part.clone());
    let mut names = walk::nodes(&root).filter_map(|node| {
        let Expr::Ident(name) = node.expr else { return None };
        let is_known = name == "optional" || name.starts_with('@') || environment::is_type(name);
        (!is_known && !node.binds(name)).then(|| name.clone())
    });
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

/// Whether a part names a field.
fn names(part: &Expr, field: &str) -> bool {
    let root = super::node::node(part.clone());
    walk::nodes(&root).any(|node| {
        matches!(node.expr, Expr::Select(select) if select.field == field)
            || matches!(node.expr, Expr::Literal(LiteralValue::String(text)) if text.inner() == field)
    })
}

/// Whether a test holds if its variable has this value; `None` if it is no test, or fails.
fn holds(test: &Expr, variable: &str, value: Value) -> Option<bool> {
    let test = Expression::of_tree(String::new(), super::node::node(test.clone()));
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set(variable, value);
    test.evaluate_typed(&scope).ok()??.value.as_bool()
}

/// The last key of the path that a comparison compares with null.
fn compared_with_null(expr: &Expr) -> Option<&str> {
    let Expr::Call(call) = expr else { return None };
    let ([left, right], operators::EQUALS | operators::NOT_EQUALS) = (call.args.as_slice(), call.func_name.as_str())
    else {
        return None;
    };
    let is_null = |node: &IdedExpr| matches!(node.expr, Expr::Literal(LiteralValue::Null));
    let other = if is_null(right) { left } else { Some(right).filter(|_| is_null(left))? };
    read_key(&other.expr).map(|(_, key)| key)
}
