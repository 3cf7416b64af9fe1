//! Finds tests for the presence of a field that the API may send as null: null has a presence, and no value.
//!
//! In: a syntax tree. Out: a [`NullTest`] for each `has(a.k)`, `a.?k.hasValue()` and `"k" in a` of such a field,
//! unless the expression also compares that field with null. Fails: nothing.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::lint::read_key;
use super::{abstract_value, readings, walk};

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
    found
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
