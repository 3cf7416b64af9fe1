//! Finds the names that an expression uses, without evaluating it.
//!
//! In: a syntax tree. Out: its variables, its functions that do not exist, and the members of an object that it
//! reads. Types are not checked: only an evaluation knows them. Fails: nothing.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::environment;
use super::walk::{self, Node};
use crate::resource_reads::ResourceReads;

/// A name that an expression uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// A variable, which may or may not exist.
    Variable(String),
    /// A function that does not exist.
    UnknownFunction(String),
}

/// The members of one object that an expression reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// The members with constant names.
    pub(super) names: BTreeSet<String>,
    /// Whether it can read any member: it uses the whole object, or a member with a computed name.
    pub(super) any: bool,
}

impl From<Reads> for ResourceReads {
    fn from(reads: Reads) -> Self {
        if reads.any { Self::Any } else { Self::Only(reads.names) }
    }
}

/// The variables that no loop of the expression binds, and functions that do not exist, in the order of first use.
pub(super) fn names(root: &IdedExpr) -> Vec<Name> {
    let mut explained: Vec<&Expr> = Vec::new();
    let mut found = Vec::new();
    for node in walk::nodes(root) {
        let name = match node.expr {
            Expr::Ident(name) if !explains(&explained, node.expr) => free_variable(&node, name).map(Name::Variable),
            Expr::Select(_) => {
                // `google.protobuf.Duration` is the name of a type, and `google` no variable.
                explained
                    .extend(qualified(node.expr).filter(|(_, name)| environment::is_type(name)).map(|(root, _)| root));
                None
            }
            Expr::Call(call) => {
                let namespace = namespace(call);
                explained.extend(namespace);
                unknown_function(call, namespace.is_some()).map(Name::UnknownFunction)
            }
            Expr::Struct(literal) => Some(Name::UnknownFunction(literal.type_name.clone())),
            Expr::Ident(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Unspecified => None,
        };
        found.extend(name.filter(|name| !found.contains(name)).into_iter().collect::<Vec<_>>());
    }
    found
}

fn free_variable(node: &Node<'_>, name: &str) -> Option<String> {
    let known = name.starts_with('@') || node.binds(name) || environment::is_type(absolute(name));
    (!known).then(|| absolute(name).to_owned())
}

fn unknown_function(call: &CallExpr, namespaced: bool) -> Option<String> {
    let name = absolute(&call.func_name);
    let known = namespaced
        || is_operator(name)
        || call.target.is_none() && environment::is_function(name)
        || call.target.is_some() && environment::is_member_function(name);
    (!known).then(|| name.to_owned())
}

/// Whether a function is an operator; operators have names such as `_==_` and `@in`.
fn is_operator(name: &str) -> bool {
    !name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '.'))
}

/// The root of a call's target if that is a namespace, such as `optional` in `optional.of(x)`.
pub(super) fn namespace(call: &CallExpr) -> Option<&Expr> {
    let (root, path) = qualified(&call.target.as_deref()?.expr)?;
    environment::is_function(&format!("{path}.{}", call.func_name)).then_some(root)
}

/// The identifier `a` at the root of `a.b.c`, and the text `a.b.c`.
pub(super) fn qualified(expr: &Expr) -> Option<(&Expr, String)> {
    let mut segments = Vec::new();
    let mut at = expr;
    while let Expr::Select(select) = at {
        if select.test {
            return None;
        }
        segments.push(select.field.as_str());
        at = &select.operand.expr;
    }
    let Expr::Ident(name) = at else { return None };
    segments.push(absolute(name));
    segments.reverse();
    Some((at, segments.join(".")))
}

pub(super) fn explains(explained: &[&Expr], expr: &Expr) -> bool {
    explained.iter().any(|known| std::ptr::eq(*known, expr))
}

/// The name without the leading dot by which CEL names a variable outside of all loops.
pub(super) fn absolute(name: &str) -> &str {
    name.strip_prefix('.').unwrap_or(name)
}

/// The members that an expression reads of the variable `object`.
pub(super) fn reads(root: &IdedExpr, object: &str) -> Reads {
    reads_of(root, |node, expr| is_variable(node, expr, object))
}

/// The members that an expression reads of `object.member`; any member if it uses the whole `object`.
pub(super) fn reads_below(root: &IdedExpr, object: &str, member: &str) -> Reads {
    let of_object = reads(root, object);
    if of_object.any || !of_object.names.contains(member) {
        return Reads { any: of_object.any, names: BTreeSet::new() };
    }
    reads_of(root, |node, expr| {
        read_key(expr).is_some_and(|(operand, key)| key == member && is_variable(node, operand, object))
    })
}

fn is_variable(node: &Node<'_>, expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Ident(variable) if absolute(variable) == name && !node.binds(variable))
}

/// The members that an expression reads of the nodes that `is_object` accepts.
fn reads_of(root: &IdedExpr, is_object: impl Fn(&Node<'_>, &Expr) -> bool) -> Reads {
    let mut reads = Reads::default();
    let mut explained: Vec<&Expr> = Vec::new();
    for node in walk::nodes(root) {
        reads.any |= is_object(&node, node.expr) && !explains(&explained, node.expr);
        if let Some((operand, name)) = read_key(node.expr).filter(|(operand, _)| is_object(&node, operand)) {
            reads.names.insert(name.to_owned());
            explained.push(operand);
        }
    }
    reads
}

/// `a.k`, `a["k"]`, `a[?"k"]`, `a.?k` and `"k" in a` as `a` and `k`.
pub(super) fn read_key(expr: &Expr) -> Option<(&Expr, &str)> {
    if let Expr::Select(select) = expr {
        return Some((&select.operand.expr, &select.field));
    }
    let Expr::Call(call) = expr else { return None };
    key_read(call).map(|(place, key)| (&call.args[place].expr, key))
}

/// Which argument `a` is in `a["k"]`, `a[?"k"]`, `a.?k` and `"k" in a`, and `k`.
pub(super) fn key_read(call: &CallExpr) -> Option<(usize, &str)> {
    let [left, right] = call.args.as_slice() else { return None };
    let (place, key) = match call.func_name.as_str() {
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => (0, right),
        operators::IN => (1, left),
        _ => return None,
    };
    let Expr::Literal(LiteralValue::String(key)) = &key.expr else { return None };
    Some((place, key.inner()))
}
