//! The types that the result of an expression can have, found at load, before there is an event.
//!
//! In: a syntax tree, and the types of the paths whose types are certain. Out: [`Types`] of every part that can be the
//! result, such as both branches of `?:`; and [`Mismatch`]es, comparisons of values whose types are never equal. Nothing
//! fails: a part whose type only an event knows leaves the types open, and one that always fails has none.

use std::collections::BTreeSet;
use std::fmt;

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

use super::declare::NOW;
use super::environment;
use super::lint::{absolute, namespace, qualified};
use super::readings;
use super::walk::{self, is_comparison, is_logic};
use crate::value::Type;

/// The types that a value can have; perhaps too many, never too few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Types {
    known: BTreeSet<Type>,
    /// The value can be a number, a text, a list, a point or a span of time, but no boolean: a sum.
    is_sum: bool,
    /// The value can be an optional without a value.
    is_absent: bool,
    /// The value can have any type.
    is_open: bool,
}

/// A comparison by `==` or `!=` of two values whose types are never equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The path or part that is compared with a constant, if an author can write it in one line.
    pub subject: Option<String>,
    /// The types of the left side.
    pub left: Types,
    /// The types of the right side.
    pub right: Types,
    /// The constant text on one side.
    pub text: Option<String>,
    /// Whether the comparison is `!=`.
    pub is_unequal: bool,
}

impl Types {
    /// Any type.
    #[must_use]
    pub fn open() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// The type of a value, or none for what never has one.
    #[must_use]
    pub fn of(known: impl IntoIterator<Item = Type>) -> Self {
        Self { known: known.into_iter().collect(), ..Self::default() }
    }

    fn sum() -> Self {
        Self { is_sum: true, ..Self::default() }
    }

    /// The types of both.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.known.extend(other.known);
        self.is_sum |= other.is_sum;
        self.is_absent |= other.is_absent;
        self.is_open |= other.is_open;
        self
    }

    /// The types of a variable that is set to this value: it is not set to null, nor to an optional without a value.
    #[must_use]
    pub fn of_variable(mut self) -> Self {
        self.known.remove(&Type::Null);
        self.is_absent = false;
        if self.known.is_empty() && !self.is_sum { Self::open() } else { self }
    }

    /// Whether no event gives a boolean.
    #[must_use]
    pub fn excludes_boolean(&self) -> bool {
        !self.is_open
            && !self.known.contains(&Type::Boolean)
            && (self.is_absent || self.is_sum || !self.known.is_empty())
    }

    /// The types that are certainly among the results, without the boolean.
    #[must_use]
    pub fn others(&self) -> Option<Self> {
        let others = Self { is_open: false, known: self.known.clone(), ..*self };
        let others = others.without(Type::Boolean);
        (others.is_absent || others.is_sum || !others.known.is_empty()).then_some(others)
    }

    /// The first of the known types, for a cure.
    #[must_use]
    pub fn first(&self) -> Option<Type> {
        self.known.first().copied()
    }

    fn without(mut self, unwanted: Type) -> Self {
        self.known.remove(&unwanted);
        self
    }

    fn is_certain(&self) -> bool {
        !self.is_open && !self.is_sum && !self.is_absent && !self.known.is_empty()
    }

    /// Whether no value of these types equals one of the others. Null, and a variable that is not set, are left out.
    fn are_apart(&self, other: &Self) -> bool {
        self.is_certain()
            && other.is_certain()
            && self.known.is_disjoint(&other.known)
            && !self.known.contains(&Type::Null)
            && !other.known.contains(&Type::Null)
    }
}

impl fmt::Display for Types {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = self.is_sum.then(|| "a sum".to_owned());
        let absent = self.is_absent.then(|| "an optional without a value".to_owned());
        let words: Vec<String> = self.known.iter().map(Type::to_string).chain(sum).chain(absent).collect();
        formatter.write_str(&words.join(" or "))
    }
}

/// What is known of variables: those of the scope by their dotted path, and those that loops bind.
struct Variables<'v> {
    of_path: &'v dyn Fn(&str) -> Types,
    bound: Vec<(&'v str, Types)>,
}

/// The types that the result of a tree can have; `of_path` gives those of a variable, or of a path of fields below one.
pub(super) fn types(root: &IdedExpr, of_path: &dyn Fn(&str) -> Types) -> Types {
    of(root, &mut Variables { of_path, bound: Vec::new() })
}

/// The texts that a tree gives as they stand: those of the branches of `?:` and of the defaults of `orValue`.
pub(super) fn texts(root: &IdedExpr) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.expr {
            Expr::Literal(LiteralValue::String(text)) => found.push(text.inner()),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::CONDITIONAL, [_, yes, no]) => open.extend([no, yes]),
                ("orValue", [default]) => open.extend(call.target.as_deref().into_iter().chain([default])),
                _ => {}
            },
            Expr::Comprehension(_) | Expr::Ident(_) | Expr::List(_) | Expr::Literal(_) => {}
            Expr::Map(_) | Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => {}
        }
    }
    found
}

/// A comparison by `==` or `!=`.
struct Comparison<'e> {
    node: walk::Node<'e>,
    left: &'e IdedExpr,
    right: &'e IdedExpr,
    is_unequal: bool,
}

fn comparisons(root: &IdedExpr) -> impl Iterator<Item = Comparison<'_>> {
    walk::nodes(root).filter_map(|node| {
        let Expr::Call(call) = node.expr else { return None };
        let ([left, right], operators::EQUALS | operators::NOT_EQUALS) =
            (call.args.as_slice(), call.func_name.as_str())
        else {
            return None;
        };
        let is_unequal = call.func_name == operators::NOT_EQUALS;
        Some(Comparison { node, left, right, is_unequal })
    })
}

/// The comparisons of a tree that no event makes true, or that every event does.
pub(super) fn mismatches(root: &IdedExpr, of_path: &dyn Fn(&str) -> Types) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for Comparison { node, left, right, is_unequal } in comparisons(root) {
        // A loop may bind the name of a variable of the scope.
        let known = |path: &str| {
            let name = path.split('.').next().unwrap_or_default();
            if node.binds(name) { Types::open() } else { of_path(path) }
        };
        let types = [left, right].map(|side| types(side, &known));
        if types[0].are_apart(&types[1]) {
            let path = |side: &IdedExpr| readings::text(&node, &side.expr);
            let constant = |side: &IdedExpr| match &side.expr {
                Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
                Expr::Call(_) | Expr::Comprehension(_) | Expr::Ident(_) | Expr::List(_) | Expr::Literal(_) => None,
                Expr::Map(_) | Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => None,
            };
            let (subject, text) = match (constant(left), constant(right)) {
                (None, text @ Some(_)) => (path(left), text),
                (text @ Some(_), None) => (path(right), text),
                (_, _) => (None, None),
            };
            let [left, right] = types;
            let mismatch = Mismatch { subject, left, right, text, is_unequal };
            if !found.contains(&mismatch) {
                found.push(mismatch);
            }
        }
    }
    found
}

fn of<'v>(node: &'v IdedExpr, variables: &mut Variables<'v>) -> Types {
    match &node.expr {
        Expr::Literal(literal) => Types::of([of_literal(literal)]),
        Expr::Ident(name) if name == NOW => Types::of([Type::Text]),
        Expr::Ident(name) => {
            let bound = variables.bound.iter().rev().find(|(bound, _)| bound == name);
            bound.map_or_else(|| of_path(&node.expr, variables), |(_, types)| types.clone())
        }
        Expr::Select(select) if select.test => Types::of([Type::Boolean]),
        Expr::Select(_) => of_path(&node.expr, variables),
        Expr::Call(call) => of_keys(&node.expr, variables).unwrap_or_else(|| of_call(call, variables)),
        Expr::Comprehension(comprehension) => of_comprehension(comprehension, variables),
        Expr::List(_) => Types::of([Type::List]),
        Expr::Map(_) => Types::of([Type::Mapping]),
        Expr::Struct(_) | Expr::Unspecified => Types::open(),
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Boolean,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => Type::Number,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::Text,
    }
}

fn of_path(expr: &Expr, variables: &Variables<'_>) -> Types {
    let Some((root, path)) = qualified(expr) else { return Types::open() };
    let is_bound = matches!(root, Expr::Ident(name) if variables.bound.iter().any(|(bound, _)| bound == name))
        || environment::is_type(&path);
    if is_bound { Types::open() } else { (variables.of_path)(&path) }
}

/// The types of a path that is written with brackets, with optional fields or with `dig`.
fn of_keys(expr: &Expr, variables: &Variables<'_>) -> Option<Types> {
    let (variable, keys, is_absent) = readings::keys(expr).filter(|(_, keys, _)| !keys.is_empty())?;
    if variables.bound.iter().any(|(bound, _)| *bound == variable) {
        return Some(Types::open());
    }
    let path = std::iter::once(variable).chain(keys.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
    let types = (variables.of_path)(&path);
    Some(Types { is_absent, ..types })
}

/// The paths that a tree compares by `==` or `!=` with a text as it stands, or with an optional of them, each with that text.
pub(super) fn compared_texts(root: &IdedExpr) -> Vec<(Vec<String>, &str)> {
    let mut found = Vec::new();
    for Comparison { node, left, right, .. } in comparisons(root) {
        for (side, other) in [(left, right), (right, left)] {
            let Expr::Literal(LiteralValue::String(text)) = &other.expr else { continue };
            let side = if let Expr::Call(CallExpr { target: Some(target), func_name, .. }) = &side.expr
                && func_name == "orValue"
            {
                target
            } else {
                side
            };
            if let Some((variable, keys, _)) = readings::keys(&side.expr).filter(|(variable, ..)| !node.binds(variable))
            {
                found.push((std::iter::once(variable.to_owned()).chain(keys).collect(), text.inner()));
            }
        }
    }
    found
}

/// The value of a loop is the variable that collects it, or is computed from that.
fn of_comprehension<'v>(comprehension: &'v ComprehensionExpr, variables: &mut Variables<'v>) -> Types {
    let collected = of(&comprehension.accu_init, variables);
    let bound = variables.bound.len();
    variables.bound.push((comprehension.accu_var.as_str(), collected));
    let types = of(&comprehension.result, variables);
    variables.bound.truncate(bound);
    types
}

fn of_call<'v>(call: &'v CallExpr, variables: &mut Variables<'v>) -> Types {
    let name = call.func_name.as_str();
    if is_logic(name) || is_comparison(name) || name == operators::LOGICAL_NOT {
        return Types::of([Type::Boolean]);
    }
    match (name, call.args.as_slice()) {
        (operators::CONDITIONAL, [_, yes, no]) => return of(yes, variables).or(of(no, variables)),
        (operators::ADD | operators::SUBSTRACT, [left, right]) => {
            let [left, right] = [left, right].map(|side| of(side, variables));
            let [left, right] = [left, right].map(|types| types.without(Type::Boolean).without(Type::Null));
            return match () {
                // A sum of values of one type has that type; a sum with another one fails, or is about time.
                () if left.is_certain() && left.known.len() == 1 && left.known == right.known && !is_time(&left) => {
                    left
                }
                () => Types::sum(),
            };
        }
        (operators::MULTIPLY | operators::DIVIDE | operators::MODULO, _) => return Types::of([Type::Number]),
        ("@negate" | operators::NEGATE, _) => return Types::of([Type::Number, Type::Duration]),
        _ => {}
    }
    let of_namespace = namespace(call).and_then(|root| {
        let Expr::Ident(root) = root else { return None };
        Some(absolute(root))
    });
    match (of_namespace, call.target.as_deref(), call.args.as_slice()) {
        (Some("optional"), _, [value]) if name == "of" => of(value, variables),
        (Some("optional"), _, []) if name == "none" => Types { is_absent: true, ..Types::default() },
        (Some("base64"), _, _) => Types::of([if name == "decode" { Type::Bytes } else { Type::Text }]),
        (Some("strings"), _, _) => Types::of([Type::Text]),
        (Some("lists"), _, _) => Types::of([Type::List]),
        (Some(_), _, _) => Types::open(),
        (None, Some(target), [other]) if name == "orValue" => {
            let mut of_target = of(target, variables);
            of_target.is_absent = false;
            of_target.or(of(other, variables))
        }
        (None, Some(target), [other]) if name == "or" => {
            let mut of_target = of(target, variables);
            of_target.is_absent = false;
            of_target.or(of(other, variables))
        }
        (None, Some(target), []) if name == "value" => {
            let mut of_target = of(target, variables);
            of_target.is_absent = false;
            of_target
        }
        (None, Some(_), _) => of_member_function(name),
        (None, None, [value]) if name == "dyn" => of(value, variables),
        (None, None, _) => of_function(name),
    }
}

fn is_time(types: &Types) -> bool {
    types.known.contains(&Type::Timestamp) || types.known.contains(&Type::Duration)
}

fn of_function(name: &str) -> Types {
    Types::of([match name {
        "@bool" | "bool" | "matches" | "stableFor" => Type::Boolean,
        "@string" | "string" | "conditionStatus" | "statusFeedbackValue" | "toJson" | "triState" => Type::Text,
        "double" | "int" | "uint" | "size" | "conditionAge" => Type::Number,
        "@timestamp" | "timestamp" => Type::Timestamp,
        "@duration" | "duration" => Type::Duration,
        "bytes" => Type::Bytes,
        // `dig`, an index, an optional path, `type`: whatever the event brings.
        _ => return Types::open(),
    }])
}

fn of_member_function(name: &str) -> Types {
    Types::of([match name {
        "contains" | "endsWith" | "matches" | "startsWith" | "hasValue" => Type::Boolean,
        "charAt" | "format" | "join" | "lowerAscii" | "replace" | "substring" | "trim" | "upperAscii" => Type::Text,
        "size" | "indexOf" | "lastIndexOf" | "toUnixTime" => Type::Number,
        "split" | "distinct" | "flatten" | "slice" | "sort" | "unwrapOpt" => Type::List,
        name if name.starts_with("get") => Type::Number,
        _ => return Types::open(),
    }])
}

#[cfg(test)]
mod tests;
