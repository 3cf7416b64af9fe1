//! Declares functions of the adapter in a CEL environment.

use cel::common::ast::Expr;
use cel::common::functions::Function;
use cel::common::types::DYN_TYPE;
use cel::parser::Macro;
use cel::{DeclarationError, Env};

use super::node::call;

/// The variable that holds the time of the event; no author can write its name.
pub(super) const NOW: &str = "@now";

/// Declares a function of ours, whose arguments can have any type.
pub(super) fn declare_any(
    environment: &mut Env,
    name: &str,
    arguments: usize,
    function: Function,
) -> Result<(), DeclarationError> {
    let types = std::iter::repeat_with(|| DYN_TYPE).take(arguments).collect();
    environment.add_overload(name, &format!("{name}_{arguments}"), types, function)
}

/// Replaces a function of one argument: calls of `name` become calls of `target`, as the standard library's overloads cannot
/// be removed.
pub(super) fn replace(
    environment: &mut Env,
    name: &str,
    target: &'static str,
    function: Function,
) -> Result<(), DeclarationError> {
    declare_any(environment, target, 1, function)?;
    environment.add_macro(Macro::global(name, 1, move |helper, _, arguments| {
        Ok(Some(helper.next_expr(call(target, std::mem::take(arguments)))))
    }))
}

/// Appends the time of the event to the arguments of `name`.
pub(super) fn with_now(name: &'static str, arguments: usize) -> Macro {
    Macro::global(name, arguments, move |helper, _, arguments| {
        let mut args = std::mem::take(arguments);
        args.push(helper.next_expr(Expr::Ident(NOW.to_owned())));
        Ok(Some(helper.next_expr(call(name, args))))
    })
}
