//! Which operands of an expression are charged, and how.
//!
//! In goes a node of a tree, out comes the same node with its operands in calls of our [`functions`](super::functions).
//! What only looks at a value is free: a selection, `has`, a comparison with a literal.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::BUDGET;
use super::functions::{JOIN, LOOK, LOOP, PAIRS, PIECES, RANGE, REPLACE, WHOLE};
use crate::cel::lint::namespace;

/// Charges for the operands of one node, whose children are charged for theirs.
pub(in crate::cel) fn charge(node: &mut IdedExpr) {
    match &mut node.expr {
        Expr::List(list) => list.elements.iter_mut().for_each(whole),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    whole(&mut entry.key);
                    whole(&mut entry.value);
                }
            }
        }
        Expr::Comprehension(comprehension) => {
            // Macros such as `optMap` bind a name by a loop over nothing.
            let is_empty = matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty());
            if !is_empty {
                wrap(RANGE, &mut comprehension.iter_range, None);
            }
            whole(&mut comprehension.accu_init);
        }
        Expr::Call(call) => charge_call(call),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

/// Charges for all of an operand, or of an answer. A scalar is free, and the members of what is written as a list or
/// mapping are charged already.
pub(in crate::cel) fn whole(operand: &mut IdedExpr) {
    if !is_scalar(&operand.expr) && !matches!(operand.expr, Expr::List(_) | Expr::Map(_)) {
        wrap(WHOLE, operand, None);
    }
}

fn look(operand: &mut IdedExpr) {
    if !is_scalar(&operand.expr) {
        wrap(LOOK, operand, None);
    }
}

fn wrap(function: &str, operand: &mut IdedExpr, more: Option<IdedExpr>) {
    let args = [std::mem::take(operand)].into_iter().chain(more).chain([budget()]).collect();
    operand.expr = Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args });
}

fn charge_call(call: &mut CallExpr) {
    let is_namespaced = namespace(call).is_some();
    let target = call.target.as_deref_mut().filter(|_| !is_namespaced);
    match (call.func_name.as_str(), target, call.args.as_mut_slice()) {
        // A literal bounds what is compared.
        (name, None, [left, right]) if is_comparison(name) => {
            if ![&left.expr, &right.expr].into_iter().any(|side| matches!(side, Expr::Literal(_))) {
                whole(left);
                whole(right);
            }
        }
        (operators::IN, None, [element, container]) => {
            whole(element);
            look(container);
        }
        // A key that is not there is copied into the error.
        (operators::INDEX | operators::OPT_INDEX, None, [_, key]) => whole(key),
        (name, target, _) if is_free(name, target.is_some()) => {}
        ("size" | "first", target, arguments) => target.into_iter().chain(arguments).for_each(look),
        ("conditionAge" | "conditionStatus" | "stableFor", None, [list, more @ ..]) => {
            wrap(LOOP, list, None);
            more.iter_mut().for_each(look);
        }
        ("distinct", Some(list), _) => wrap(PAIRS, list, None),
        ("split", Some(text), [separator, ..]) => {
            // What is not written there may come to the empty text, which separates everything.
            let literal = Some(&*separator).filter(|separator| matches!(separator.expr, Expr::Literal(_))).cloned();
            let everything = || IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::String("".into())) };
            wrap(PIECES, text, Some(literal.unwrap_or_else(everything)));
        }
        ("range", None, [count]) if is_namespaced => wrap(LOOP, count, None),
        // What these make can be larger than what they are given, so they see to it themselves.
        ("replace", Some(_), [_, _] | [_, _, _]) => become_function(call, REPLACE),
        ("join", Some(_), [] | [_]) => become_function(call, JOIN),
        (_, target, arguments) => target.into_iter().chain(arguments).for_each(whole),
    }
}

/// Turns a method into the function of ours that does the same within the budget.
fn become_function(call: &mut CallExpr, function: &str) {
    let target = call.target.take().map(|target| *target);
    let args = target.into_iter().chain(std::mem::take(&mut call.args)).chain([budget()]).collect();
    *call = CallExpr { func_name: function.to_owned(), target: None, args };
}

fn is_comparison(name: &str) -> bool {
    use operators::{EQUALS, GREATER, GREATER_EQUALS, LESS, LESS_EQUALS, NOT_EQUALS};
    [EQUALS, NOT_EQUALS, LESS, LESS_EQUALS, GREATER, GREATER_EQUALS].contains(&name)
}

/// Operators and functions that look at little of what they are given, or at a little that a path leads to.
fn is_free(name: &str, is_method: bool) -> bool {
    match name {
        "hasValue" | "value" | "toUnixTime" => is_method,
        "dig" | "dyn" | "type" => !is_method,
        operators::ADD | "@string" | "@duration" | "@sortByAssociatedKeys" | "@indexOf" | "@lastIndexOf" => false,
        name if name.starts_with("get") => is_method,
        name => name.starts_with(['_', '!', '@']),
    }
}

/// Whether the result is a boolean, a literal or a value of ours, whatever the operands are.
fn is_scalar(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => name.starts_with('@'),
        Expr::Call(call) => match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT | operators::IN => true,
            name => is_comparison(name),
        },
        Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

fn budget() -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Ident(BUDGET.to_owned()) }
}
