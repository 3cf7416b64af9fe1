//! Decides which operands of an expression are charged, and how.
//!
//! In goes a node of a tree, out comes the node with its operands in calls of our [`functions`](super::functions).
//! Selections, `has`, comparisons with a literal, and the functions listed here are free. A function that no list and no
//! arm of the match names is charged for the whole of its operands, so that a new one is never free by mistake.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};

use super::BUDGET;
use super::functions::{COPY, JOIN, LOOK, LOOP, PAIRS, PIECES, RANGE, REPLACE, WHOLE};
use crate::cel::lint::namespace;
use crate::cel::walk::is_comparison;
use crate::cel::{node, walk};

/// Charges for the operands of one node, after its children.
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
            if walk::is_loop(comprehension) {
                wrap(RANGE, &mut comprehension.iter_range, None);
            }
            whole(&mut comprehension.accu_init);
        }
        Expr::Call(call) => charge_call(call),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

/// Charges for the whole of an operand, or of the result. Scalars are free; the elements of a list or mapping literal are
/// charged already.
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
    let args = [std::mem::take(operand)].into_iter().chain(more).chain([node::variable(BUDGET)]).collect();
    operand.expr = node::call(function, args);
}

fn charge_call(call: &mut CallExpr) {
    let is_namespaced = namespace(call).is_some();
    let target = call.target.as_deref_mut().filter(|_| !is_namespaced);
    match (call.func_name.as_str(), target, call.args.as_mut_slice()) {
        (operators::IN, None, [element, container]) => {
            whole(element);
            look(container);
        }
        // A comparison reads no more than the literal has.
        (name, None, [left, right]) if is_comparison(name) => {
            if ![&left.expr, &right.expr].into_iter().any(|side| matches!(side, Expr::Literal(_))) {
                whole(left);
                whole(right);
            }
        }
        // An optional holds a copy of what it selects, and so do the results of `value` and `dig`.
        (operators::OPT_SELECT, None, [container, _]) => wrap(COPY, container, None),
        ("value", Some(container), []) => wrap(COPY, container, None),
        ("dig", None, [container, _]) => wrap(COPY, container, None),
        ("first", Some(list), []) => {
            look(list);
            wrap(COPY, list, None);
        }
        // The error of a missing key copies the key.
        (operators::INDEX, None, [_, key]) => whole(key),
        (operators::OPT_INDEX, None, [container, key]) => {
            wrap(COPY, container, None);
            whole(key);
        }
        ("size", target, arguments) => target.into_iter().chain(arguments).for_each(look),
        ("conditionAge" | "conditionStatus" | "stableFor", None, [list, more @ ..]) => {
            wrap(LOOP, list, None);
            more.iter_mut().for_each(look);
        }
        ("distinct", Some(list), _) => wrap(PAIRS, list, None),
        ("split", Some(text), [separator, ..]) => {
            // A computed separator may be empty, which separates every character.
            let literal = Some(&*separator).filter(|separator| matches!(separator.expr, Expr::Literal(_))).cloned();
            wrap(PIECES, text, Some(literal.unwrap_or_else(|| node::text(""))));
        }
        ("range", None, [count]) if is_namespaced => wrap(LOOP, count, None),
        // The results of these two functions can be far larger than their operands, so functions of ours that count the
        // result replace them.
        ("replace", Some(_), [_, _] | [_, _, _]) => become_function(call, REPLACE),
        ("join", Some(_), [] | [_]) => become_function(call, JOIN),
        (name, Some(_), _) if FREE_METHODS.contains(&name) => {}
        (name, None, _) if FREE.contains(&name) => {}
        (_, target, arguments) => target.into_iter().chain(arguments).for_each(whole),
    }
}

/// Turns a method call into a call of our function, with the budget as last argument.
fn become_function(call: &mut CallExpr, function: &str) {
    let target = call.target.take().map(|target| *target);
    let args = target.into_iter().chain(std::mem::take(&mut call.args)).chain([node::variable(BUDGET)]).collect();
    *call = CallExpr { func_name: function.to_owned(), target: None, args };
}

/// Operators and functions that read only a bounded part of their operands, or that charge for themselves.
const FREE: [&str; 17] = [
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::NOT_STRICTLY_FALSE,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    "@bool",
    "@has",
    "@matches",
    "@negate",
    "@optional",
    "@timestamp",
    "dyn",
    "type",
];

/// Methods that read only a bounded part of their operands.
const FREE_METHODS: [&str; 12] = [
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "toUnixTime",
];

/// Whether the result is always a boolean, a literal or a variable of ours.
fn is_scalar(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => name.starts_with('@'),
        Expr::Call(call) => match call.func_name.as_str() {
            operators::LOGICAL_NOT => true,
            name => walk::is_logic(name) || is_comparison(name),
        },
        Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}
