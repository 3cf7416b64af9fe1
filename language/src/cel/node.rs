//! Makes nodes of syntax trees. They stand in no text, so that their id is 0.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

pub(super) fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

/// A call of a function, without a target.
pub(super) fn call(function: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args })
}

pub(super) fn variable(name: &str) -> IdedExpr {
    node(Expr::Ident(name.to_owned()))
}

pub(super) fn text(text: &str) -> IdedExpr {
    node(Expr::Literal(LiteralValue::String(text.to_owned().into())))
}
