//! What is known of an expression at load.
//!
//! In: a tree and the [`Context`]. [`prepare`] replaces variables by the boolean expressions that they stand for,
//! and tests for an entry of `resources` that is there by `true`; an entry that is not there becomes one of an
//! empty object. [`evaluate`] then evaluates parts of that tree: a part whose evaluation needs a variable of the
//! event is not known.

use std::cell::Cell;
use std::collections::BTreeSet;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr,
    SelectExpr, operators,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::results::Results;
use super::{Context, Fact, Presence, claim};
use crate::cel::declare::NOW;
use crate::cel::lint::{Name, absolute, key_read, names};
use crate::cel::node::{node, text, variable};
use crate::cel::walk::{is_comparison, is_logic};
use crate::cel::{EvaluationErrorKind, Expression, readings, walk};
use crate::scope::Scope;
use crate::value::Typed;
use crate::value::typed::truthy;

/// How many variables are replaced by expressions, so that variables over variables do not grow without bound.
const MAX_REPLACED: usize = 64;

/// The empty object that absent entries of `resources` are looked for in. No author can write this name.
const ABSENT: &str = "@absent";

/// A variable that only an event sets. No author can write this name.
const UNKNOWN: &str = "@unknown";

/// The tree with what is known in it.
pub(super) fn prepare(root: &IdedExpr, context: &Context<'_>) -> IdedExpr {
    let mut tree = root.clone();
    replace(&mut tree, context, &Cell::new(0));
    tree
}

fn replace(root: &mut IdedExpr, context: &Context<'_>, replaced: &Cell<usize>) {
    let bound = bound(root);
    // Inside of a loop over `resources`, the name may be another variable's.
    let entries = |name: &str| if bound.contains("resources") { Presence::Unknown } else { (context.entries)(name) };
    let fact = |name: &str| (context.facts)(absolute(name));
    // The object with the one field that is read, if it is certain.
    let field_of = |operand: &IdedExpr, field: &str| {
        let Expr::Ident(name) = &operand.expr else { return None };
        match fact(name).filter(|_| !bound.contains(absolute(name)))? {
            Fact::Object { fields, lacks } => match fields.get(field) {
                Some(value) => object_of(field, value),
                None => lacks(field).then(|| Expr::Ident(ABSENT.to_owned())),
            },
            Fact::Unset | Fact::Is(_) => None,
        }
    };
    // The place of the object in `a["k"]`, `a.?k`, `"k" in a` and `dig(a, "k")`, and `k`.
    let read_field = |call: &CallExpr| {
        let (place, key) = key_read(call).map(|(place, key)| (place, key.to_owned())).or_else(|| dug(call))?;
        field_of(call.args.get(place)?, &key).map(|_| (place, key))
    };
    walk::rewrite(root, &mut |node| match &mut node.expr {
        Expr::Ident(name) if name == NOW => UNKNOWN.clone_into(name),
        Expr::Ident(name) if !bound.contains(absolute(name)) && fact(name).is_some() => {
            let of_variable = match fact(name) {
                Some(Fact::Is(value)) => literal(&value),
                // A key that an empty object lacks fails as a variable that is not set.
                Some(Fact::Unset) => Some(Expr::Select(SelectExpr {
                    operand: Box::new(variable(ABSENT)),
                    field: absolute(name).to_owned(),
                    test: false,
                })),
                Some(Fact::Object { .. }) | None => None,
            };
            if let Some(expr) = of_variable {
                node.expr = expr;
            }
        }
        Expr::Ident(name) if !bound.contains(absolute(name)) => {
            // A loop must not bind a variable of the definition.
            let is_capturing = |name: &Name| matches!(name, Name::Variable(variable) if bound.contains(variable));
            if let Some(definition) = definition(name, context, replaced)
                && !names(&definition).iter().any(is_capturing)
            {
                *node = definition;
            }
        }
        Expr::Select(SelectExpr { operand, field, .. }) if field_of(operand, field).is_some() => {
            if let Some(known) = field_of(operand, field) {
                operand.expr = known;
            }
        }
        Expr::Call(call) if read_field(call).is_some() => {
            let known = read_field(call).and_then(|(place, key)| Some((place, field_of(&call.args[place], &key)?)));
            if let Some((place, known)) = known {
                call.args[place].expr = known;
            }
        }
        Expr::Select(SelectExpr { operand, field, test }) if is_resources(operand) => match (entries(field), *test) {
            (Presence::Present, true) => *node = boolean(true),
            (Presence::Absent, _) => operand.expr = Expr::Ident(ABSENT.to_owned()),
            (Presence::Present, false) | (Presence::Unknown, _) => {}
        },
        Expr::Call(call) => {
            if let Some((object, key)) = presence_test(call)
                && is_resources(object)
                && entries(key) == Presence::Present
            {
                *node = boolean(true);
            } else if let Some((place, key)) = key_read(call)
                && is_resources(&call.args[place])
                && entries(key) == Presence::Absent
            {
                call.args[place].expr = Expr::Ident(ABSENT.to_owned());
            } else if call.func_name == operators::IN
                && let Some((object, key)) = presence_test(call)
                && readings::is_path(object)
                && has_variable(object, "resources")
            {
                // The paths that an expression reads contain the key of `has(a.k)`, but not that of `"k" in a`.
                let (operand, field) = (Box::new(object.clone()), key.to_owned());
                node.expr = Expr::Select(SelectExpr { operand, field, test: true });
            }
        }
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)
        | Expr::Unspecified => {}
    });
}

/// The object in `dig(object, "k")`, and `k`.
fn dug(call: &CallExpr) -> Option<(usize, String)> {
    let ("dig", [_, IdedExpr { expr: Expr::Literal(LiteralValue::String(path)), .. }]) =
        (call.func_name.as_str(), call.args.as_slice())
    else {
        return None;
    };
    Some((0, path.inner().split('.').next().unwrap_or_default().to_owned()))
}

fn object_of(field: &str, value: &Value) -> Option<Expr> {
    let entry = MapEntryExpr { key: text(field), value: node(literal(value)?), optional: false };
    let entries = vec![IdedEntryExpr { id: 0, expr: EntryExpr::MapEntry(entry) }];
    Some(Expr::Map(MapExpr { entries }))
}

/// A scalar as an expression; other values stay unknown.
fn literal(value: &Value) -> Option<Expr> {
    Some(Expr::Literal(match value {
        Value::Null => LiteralValue::Null,
        Value::Bool(value) => LiteralValue::Boolean((*value).into()),
        Value::Number(number) => match number.as_i64() {
            Some(number) => LiteralValue::Int(number.into()),
            None => LiteralValue::Double(number.as_f64()?.into()),
        },
        Value::String(text) => LiteralValue::String(text.clone().into()),
        Value::Array(_) | Value::Object(_) => return None,
    }))
}

/// The only value of a prepared tree, null for none; nothing if it fails or depends on the event.
pub(super) fn constant(tree: &IdedExpr) -> Option<Value> {
    let is_free = names(tree).iter().any(|name| matches!(name, Name::Variable(_))) || has_variable(tree, UNKNOWN);
    let evaluate = || Expression::of_tree(String::new(), tree.clone()).evaluate_typed(&scope()).ok();
    // A side that depends on the event need not matter: the evaluation then succeeds without it.
    if is_free
        && !has_sides(tree)
        && !matches!(&tree.expr, Expr::Call(call) if call.func_name == operators::CONDITIONAL)
    {
        return None;
    }
    evaluate().map(|answer| answer.map_or(Value::Null, |answer| answer.value))
}

/// The variables that loops bind.
fn bound(root: &IdedExpr) -> BTreeSet<String> {
    let mut bound = BTreeSet::new();
    for node in walk::nodes(root) {
        if let Expr::Comprehension(comprehension) = node.expr {
            let ComprehensionExpr { iter_var, iter_var2, accu_var, .. } = comprehension.as_ref();
            bound.extend([iter_var, accu_var].into_iter().chain(iter_var2).cloned());
        }
    }
    bound
}

/// The boolean expression that defines a variable. Other expressions do not replace their variable: its value is null where
/// the expression has no value.
fn definition(name: &str, context: &Context<'_>, replaced: &Cell<usize>) -> Option<IdedExpr> {
    let expression = (context.definitions)(absolute(name)).filter(|_| replaced.get() < MAX_REPLACED)?;
    replaced.set(replaced.get() + 1);
    let mut tree = expression.parsed.tree.clone();
    replace(&mut tree, context, replaced);
    claim::claim(&tree, context.entries).results().within(Results::TEST).then_some(tree)
}

/// The results of a part that are known; none if they depend on the event.
pub(super) fn evaluate(node: &IdedExpr) -> Option<Results> {
    if let Expr::Literal(LiteralValue::Boolean(value)) = &node.expr {
        return Some(Results::boolean(*value.inner()));
    }
    let is_free = names(node).iter().any(|name| matches!(name, Name::Variable(_))) || has_variable(node, UNKNOWN);
    if is_free && !has_variable(node, ABSENT) {
        return None;
    }
    let scope = scope();
    let run = |tree: IdedExpr| Expression::of_tree(String::new(), tree).evaluate_typed(&scope);
    match run(node.clone()) {
        Ok(None) => Some(Results::NONE),
        Ok(Some(_)) if !is_test(node) && run(has_value(node)).is_ok() => Some(Results::OTHER),
        Ok(Some(Typed { value: Value::Bool(value), .. })) => Some(Results::boolean(value)),
        Ok(Some(Typed { value, .. })) => Some(if truthy(&value) { Results::TRUTHY } else { Results::FALSY }),
        Err(error) => {
            let is_certain = match error.kind {
                EvaluationErrorKind::Undeclared(_) => false,
                // Beside an unknown side of `&&` or `||`, an error need not be the result.
                EvaluationErrorKind::MissingKey { .. } | EvaluationErrorKind::Other => !is_free || !has_sides(node),
            };
            let always_fails = |part: &IdedExpr| evaluate(part) == Some(Results::ERROR);
            (is_certain || always_evaluated(node).into_iter().any(always_fails)).then_some(Results::ERROR)
        }
    }
}

/// `a.hasValue()`: an error for what is no optional, which the result of an evaluation does not tell from its value.
fn has_value(node: &IdedExpr) -> IdedExpr {
    let target = Some(Box::new(node.clone()));
    self::node(Expr::Call(CallExpr { func_name: "hasValue".to_owned(), target, args: Vec::new() }))
}

fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set(ABSENT, json!({}));
    scope
}

fn has_variable(node: &IdedExpr, variable: &str) -> bool {
    walk::nodes(node).any(|node| matches!(node.expr, Expr::Ident(name) if name == variable))
}

/// Whether a part contains `&&`, `||` or a loop: an evaluation may need one side only, and loops combine their
/// iterations by `&&` and `||`.
fn has_sides(node: &IdedExpr) -> bool {
    let is_side = |expr: &Expr| matches!(expr, Expr::Call(call) if is_logic(&call.func_name));
    walk::nodes(node).any(|node| matches!(node.expr, Expr::Comprehension(_)) || is_side(node.expr))
}

/// The parts that every evaluation of a node evaluates: the target or the first argument of a function, and both sides
/// of a comparison.
fn always_evaluated(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Select(select) => vec![&select.operand],
        Expr::Comprehension(comprehension) => vec![&comprehension.iter_range],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Call(call) if is_logic(&call.func_name) => Vec::new(),
        Expr::Call(call) if is_comparison(&call.func_name) => call.args.iter().collect(),
        Expr::Call(call) => call.target.as_deref().or(call.args.first()).into_iter().collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => Vec::new(),
    }
}

/// Whether the result of a part is certainly no optional.
fn is_test(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Select(select) => select.test,
        Expr::Call(call) => is_comparison(&call.func_name) || call.func_name == "hasValue",
        Expr::Literal(_) => true,
        Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => false,
    }
}

/// `a.?k.hasValue()`, `a[?"k"].hasValue()` and `"k" in a` as `a` and `k`.
pub(in crate::cel) fn presence_test(call: &CallExpr) -> Option<(&IdedExpr, &str)> {
    match (call.func_name.as_str(), call.target.as_deref()) {
        (operators::IN, None) => key_read(call).map(|(place, key)| (&call.args[place], key)),
        ("hasValue", Some(IdedExpr { expr: Expr::Call(target), .. })) => {
            selected(target).filter(|_| target.func_name != operators::INDEX)
        }
        _ => None,
    }
}

/// `a.?k`, `a["k"]` and `a[?"k"]` as `a` and `k`.
pub(super) fn selected(call: &CallExpr) -> Option<(&IdedExpr, &str)> {
    key_read(call).filter(|_| call.func_name != operators::IN).map(|(place, key)| (&call.args[place], key))
}

pub(super) fn is_resources(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Ident(name) if absolute(name) == "resources")
}

fn boolean(value: bool) -> IdedExpr {
    node(Expr::Literal(LiteralValue::Boolean(value.into())))
}
