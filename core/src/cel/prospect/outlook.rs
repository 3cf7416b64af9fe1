//! What each part of a tree comes to, from the leaves upwards.
//!
//! In go a tree and what is certain of the entries of `resources`, out comes an [`Outlook`]. Nothing can fail: what
//! cannot be told may be anything.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue, MapEntryExpr,
    MapExpr, SelectExpr, operators,
};
use jiff::Timestamp;
use serde_json::Value;

use super::kinds::{Kinds, conjunction, equality, has_value, negation};
use super::{Entries, Presence};
use crate::cel::evaluation::{Program, evaluate};
use crate::cel::{Answer, walk};
use crate::scope::Scope;

/// What a part of a tree comes to.
pub(super) enum Outlook {
    /// It reads nothing of an event: it comes to what this tree comes to.
    Closed(IdedExpr),
    /// A result of one of these kinds.
    Open(Kinds),
}

pub(super) struct Failed;

/// Evaluates a closed tree.
pub(super) fn constant(tree: &IdedExpr) -> Result<Answer, Failed> {
    let scope = Scope::new(Timestamp::UNIX_EPOCH);
    let answer = evaluate(&Program::new(tree.clone()), &scope).map_err(|_| Failed)?;
    Ok(answer.map_or(Answer::Absent, |answer| Answer::Value(answer.value)))
}

impl Outlook {
    pub(super) fn kinds(&self) -> Kinds {
        let tree = match self {
            Self::Closed(tree) => tree,
            Self::Open(kinds) => return *kinds,
        };
        // An answer does not tell an optional from its value.
        match constant(&call_on(tree.clone(), "hasValue")) {
            Ok(Answer::Value(Value::Bool(true))) => return Kinds::SOME,
            Ok(Answer::Value(Value::Bool(false))) => return Kinds::NONE,
            Ok(_) | Err(Failed) => {}
        }
        match constant(tree) {
            Ok(Answer::Value(Value::Bool(true))) => Kinds::TRUE,
            Ok(Answer::Value(Value::Bool(false))) => Kinds::FALSE,
            Ok(Answer::Absent) => Kinds::NONE,
            Ok(Answer::Value(_)) => Kinds::OTHER,
            Err(Failed) => Kinds::ERROR,
        }
    }

    fn always_fails(&self) -> bool {
        self.kinds() == Kinds::ERROR
    }
}

/// What a part of a tree comes to.
pub(super) fn outlook(node: &IdedExpr, entries: &Entries<'_>) -> Outlook {
    match &node.expr {
        Expr::Literal(_) => Outlook::Closed(node.clone()),
        Expr::Select(select) => selection(select, entries),
        Expr::Call(call) => match entry_read(call, entries) {
            Some(outlook) => outlook,
            None => invocation(call, entries),
        },
        Expr::List(list) => elements(list, entries),
        Expr::Map(map) => fields(map, entries),
        Expr::Comprehension(comprehension) => repetition(comprehension, entries),
        Expr::Ident(_) | Expr::Struct(_) | Expr::Unspecified => Outlook::Open(Kinds::ANYTHING),
    }
}

fn tree(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn closed(expr: Expr) -> Outlook {
    Outlook::Closed(tree(expr))
}

fn boolean(value: bool) -> Outlook {
    closed(Expr::Literal(LiteralValue::Boolean(value.into())))
}

fn none() -> Outlook {
    Outlook::Closed(call_on(tree(Expr::Ident("optional".to_owned())), "none"))
}

fn call_on(target: IdedExpr, function: &str) -> IdedExpr {
    tree(Expr::Call(CallExpr { func_name: function.to_owned(), target: Some(Box::new(target)), args: Vec::new() }))
}

fn is_resources(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Ident(name) if name == "resources" || name == ".resources")
}

fn selection(select: &SelectExpr, entries: &Entries<'_>) -> Outlook {
    if is_resources(&select.operand) {
        match (entries(&select.field), select.test) {
            (Presence::Absent, true) => return boolean(false),
            (Presence::Present, true) => return boolean(true),
            (Presence::Absent, false) => return Outlook::Open(Kinds::ERROR),
            (Presence::Present, false) => return Outlook::Open(Kinds::OTHER),
            (Presence::Unknown, _) => {}
        }
    }
    match outlook(&select.operand, entries) {
        Outlook::Closed(operand) => closed(Expr::Select(SelectExpr { operand: Box::new(operand), ..select.clone() })),
        operand if operand.always_fails() => operand,
        Outlook::Open(_) if select.test => Outlook::Open(Kinds::TEST),
        Outlook::Open(_) => Outlook::Open(Kinds::ANYTHING),
    }
}

/// A read of one entry of `resources` by a constant name, of whose presence something is certain.
fn entry_read(call: &CallExpr, entries: &Entries<'_>) -> Option<Outlook> {
    let [left, right] = call.args.as_slice() else { return None };
    let (object, key) = if call.func_name == operators::IN { (right, left) } else { (left, right) };
    let Expr::Literal(LiteralValue::String(key)) = &key.expr else { return None };
    if !is_resources(object) {
        return None;
    }
    let presence = entries(key.inner());
    let chosen = |absent: Outlook, present: Outlook| match presence {
        Presence::Absent => Some(absent),
        Presence::Present => Some(present),
        Presence::Unknown => None,
    };
    match call.func_name.as_str() {
        operators::IN => chosen(boolean(false), boolean(true)),
        operators::INDEX => chosen(Outlook::Open(Kinds::ERROR), Outlook::Open(Kinds::OTHER)),
        operators::OPT_SELECT | operators::OPT_INDEX => chosen(none(), Outlook::Open(Kinds::SOME)),
        _ => None,
    }
}

/// Functions that are worth an evaluation: cheap, and found in gates.
const FOLDED: [&str; 13] = [
    "hasValue",
    "or",
    "orValue",
    "value",
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "trim",
    "lowerAscii",
    "upperAscii",
    "int",
    "string",
];

/// Operators are calls of names that no author can write.
fn is_folded(call: &CallExpr) -> bool {
    let is_operator = call.func_name.starts_with(['_', '!', '-', '@']);
    let is_optional = call.target.as_deref().is_some_and(is_optional_namespace)
        && matches!(call.func_name.as_str(), "none" | "of" | "ofNonZeroValue");
    is_operator || is_optional || FOLDED.contains(&call.func_name.as_str())
}

/// Operators that look at both operands.
fn is_strict(function: &str) -> bool {
    is_comparison(function) || matches!(function, operators::EQUALS | operators::NOT_EQUALS)
}

fn is_comparison(function: &str) -> bool {
    matches!(
        function,
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS | operators::IN
    )
}

fn is_optional_namespace(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Ident(name) if name == "optional")
}

fn invocation(call: &CallExpr, entries: &Entries<'_>) -> Outlook {
    let target = call.target.as_deref().map(|target| {
        if is_optional_namespace(target) { Outlook::Closed(target.clone()) } else { outlook(target, entries) }
    });
    let arguments: Vec<Outlook> = call.args.iter().map(|argument| outlook(argument, entries)).collect();
    if is_folded(call)
        && let Some(call) = closed_call(call, target.as_ref(), &arguments)
    {
        return closed(Expr::Call(call));
    }
    match (call.func_name.as_str(), target, arguments.as_slice()) {
        (operators::CONDITIONAL, None, [_, _, _]) => conditional(arguments),
        (operators::LOGICAL_AND, None, [left, right]) => Outlook::Open(conjunction(left.kinds(), right.kinds())),
        (operators::LOGICAL_OR, None, [left, right]) => {
            Outlook::Open(negation(conjunction(negation(left.kinds()), negation(right.kinds()))))
        }
        (operators::LOGICAL_NOT, None, [operand]) => Outlook::Open(negation(operand.kinds())),
        // What a function is called on, or is given first, it always looks at; the rest only some do.
        (_, target, arguments) if target.as_ref().or(arguments.first()).is_some_and(Outlook::always_fails) => {
            Outlook::Open(Kinds::ERROR)
        }
        (name, None, [_, right]) if is_strict(name) && right.always_fails() => Outlook::Open(Kinds::ERROR),
        (operators::EQUALS, None, [left, right]) => Outlook::Open(equality(left.kinds(), right.kinds())),
        (operators::NOT_EQUALS, None, [left, right]) => Outlook::Open(negation(equality(left.kinds(), right.kinds()))),
        (name, None, _) if is_comparison(name) => Outlook::Open(Kinds::TEST),
        ("hasValue", Some(target), []) => Outlook::Open(has_value(target.kinds())),
        _ => Outlook::Open(Kinds::ANYTHING),
    }
}

fn closed_call(call: &CallExpr, target: Option<&Outlook>, arguments: &[Outlook]) -> Option<CallExpr> {
    let tree = |outlook: &Outlook| match outlook {
        Outlook::Closed(tree) => Some(tree.clone()),
        Outlook::Open(_) => None,
    };
    let target = match target {
        Some(target) => Some(Box::new(tree(target)?)),
        None => None,
    };
    let args = arguments.iter().map(tree).collect::<Option<_>>()?;
    Some(CallExpr { func_name: call.func_name.clone(), target, args })
}

fn conditional(mut arguments: Vec<Outlook>) -> Outlook {
    let (Some(no), Some(yes), Some(condition)) = (arguments.pop(), arguments.pop(), arguments.pop()) else {
        return Outlook::Open(Kinds::ANYTHING);
    };
    let condition = condition.kinds();
    if condition == Kinds::TRUE {
        return yes;
    }
    if condition == Kinds::FALSE {
        return no;
    }
    let yes = yes.kinds().when(condition.has(Kinds::TRUE));
    let no = no.kinds().when(condition.has(Kinds::FALSE));
    Outlook::Open(yes.or(no).or(condition.error_unless_boolean()))
}

fn elements(list: &ListExpr, entries: &Entries<'_>) -> Outlook {
    let outlooks: Vec<Outlook> = list.elements.iter().map(|element| outlook(element, entries)).collect();
    if outlooks.iter().any(Outlook::always_fails) {
        return Outlook::Open(Kinds::ERROR);
    }
    let trees = outlooks.into_iter().map(|outlook| match outlook {
        Outlook::Closed(tree) => Some(tree),
        Outlook::Open(_) => None,
    });
    match trees.collect() {
        Some(elements) => closed(Expr::List(ListExpr { elements, optional_indices: list.optional_indices.clone() })),
        None => Outlook::Open(Kinds::OTHER.or(Kinds::ERROR)),
    }
}

fn fields(map: &MapExpr, entries: &Entries<'_>) -> Outlook {
    let closed_entry = |entry: &IdedEntryExpr| {
        let EntryExpr::MapEntry(entry) = &entry.expr else { return None };
        match (outlook(&entry.key, entries), outlook(&entry.value, entries)) {
            (Outlook::Closed(key), Outlook::Closed(value)) => {
                let entry = MapEntryExpr { key, value, optional: entry.optional };
                Some(IdedEntryExpr { id: 0, expr: EntryExpr::MapEntry(entry) })
            }
            (Outlook::Closed(_) | Outlook::Open(_), Outlook::Closed(_) | Outlook::Open(_)) => None,
        }
    };
    match map.entries.iter().map(closed_entry).collect() {
        Some(entries) => closed(Expr::Map(MapExpr { entries })),
        None => Outlook::Open(Kinds::OTHER.or(Kinds::ERROR)),
    }
}

/// A loop over nothing ends as it begins; any other one is left alone.
fn repetition(comprehension: &ComprehensionExpr, entries: &Entries<'_>) -> Outlook {
    let range = match outlook(&comprehension.iter_range, entries) {
        Outlook::Closed(range) => range,
        range if range.always_fails() => return range,
        Outlook::Open(_) => return Outlook::Open(Kinds::ANYTHING),
    };
    let is_empty = match constant(&range) {
        Ok(Answer::Value(Value::Array(items))) => items.is_empty(),
        Ok(Answer::Value(Value::Object(fields))) => fields.is_empty(),
        Ok(_) | Err(Failed) => false,
    };
    let whole = Outlook::Closed(range);
    if whole.always_fails() {
        return Outlook::Open(Kinds::ERROR);
    }
    let (Outlook::Closed(range), Outlook::Closed(start)) = (whole, outlook(&comprehension.accu_init, entries)) else {
        return Outlook::Open(Kinds::ANYTHING);
    };
    if !is_empty || !reads_only(&comprehension.result, &comprehension.accu_var) {
        return Outlook::Open(Kinds::ANYTHING);
    }
    let accumulator = tree(Expr::Ident(comprehension.accu_var.clone()));
    closed(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: range,
        accu_init: start,
        loop_cond: tree(Expr::Literal(LiteralValue::Boolean(true.into()))),
        loop_step: accumulator,
        ..comprehension.clone()
    })))
}

fn reads_only(root: &IdedExpr, variable: &str) -> bool {
    walk::nodes(root).all(|node| match node.expr {
        Expr::Ident(name) => name == variable,
        Expr::Call(call) => is_folded(call),
        Expr::Literal(_) | Expr::List(_) | Expr::Map(_) | Expr::Select(_) => true,
        Expr::Comprehension(_) | Expr::Struct(_) | Expr::Unspecified => false,
    })
}
