//! Lists the paths that an expression reads, with the value at each: logs and traces explain a decision by these.
//!
//! In: a syntax tree. Out: its paths into the scope, and for a path and a scope the value as text. A path is as
//! long as possible: `resources.job.status.phase` is one path, and its beginnings are none. A loop's variable is
//! no path, but the list that a loop iterates over is. A computed index ends a path; [`dig`](super::data) with a
//! constant path extends it. Fails: nothing.

use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use serde_json::Value;

use super::data;
use super::declare::NOW;
use super::environment;
use super::lint::{absolute, explains, namespace};
use super::summary::Place;
use super::walk::{self, Node};
use crate::scope::Scope;

/// A path that an expression reads, and the value at that path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The path as the author wrote it where it appears first: `is_deleting`, `resources.?job.status["phase"]`,
    /// `dig(labels, "example.io/tier")`. The clock is `now()`.
    pub path: Arc<str>,
    /// Compact JSON, cut after 100 characters with `…`; of a whole Kubernetes object its kind and name; `absent` if
    /// the path has no value; `[redacted]` for what is [secret](Scope::conceal), or is the data of a Secret.
    pub value: String,
}

/// A path into the scope.
#[derive(Debug)]
pub(super) struct Path {
    text: Arc<str>,
    variable: String,
    steps: Vec<Step>,
}

/// A step from a value to a value within it.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A key of an object, in any spelling.
    Key(String),
    /// An index of a list.
    Element(i64),
    /// The dotted path of a call of `dig`.
    Dig(String),
}

/// The paths of a tree, each once, in the order of appearance.
pub(super) fn paths(root: &IdedExpr) -> Vec<Path> {
    let mut found: Vec<Path> = Vec::new();
    let mut explained: Vec<&Expr> = Vec::new();
    for node in walk::nodes(root) {
        if let Expr::Call(call) = node.expr {
            explained.extend(namespace(call));
        }
        if explains(&explained, node.expr) {
            // The beginnings of a path, and the parts of a type's name, are no paths.
            explained.extend(link(node.expr).map(|link| link.operand));
        } else if let Some(path) = path_to(&node, node.expr) {
            explained.extend(link(node.expr).map(|link| link.operand));
            if !found.iter().any(|known| known.leads_as(&path)) {
                found.push(path);
            }
        }
    }
    found
}

/// The spelling of the path that an operand of a node is, if it is one.
pub(super) fn text(node: &Node<'_>, operand: &Expr) -> Option<String> {
    path_to(node, operand).map(|path| path.text.to_string())
}

/// The path that a node is, if it is one.
fn path_to(node: &Node<'_>, expr: &Expr) -> Option<Path> {
    if let Expr::Ident(name) = expr {
        let text = match name.as_str() {
            NOW => "now()",
            name if name.starts_with('@') || node.binds(name) => return None,
            name => name,
        };
        return Some(Path { text: text.into(), variable: absolute(name).to_owned(), steps: Vec::new() });
    }
    let link = link(expr)?;
    let mut path = path_to(node, link.operand)?;
    path.text = link.written.after(&path.text).into();
    path.steps.push(link.step);
    Some(path)
}

/// The variable and the keys of a path, with an index as its digits, and the path of `dig` as it stands; and whether the value is
/// an optional.
pub(super) fn keys(expr: &Expr) -> Option<(&str, Vec<String>, bool)> {
    let (mut keys, mut is_optional, mut at) = (Vec::new(), false, expr);
    while let Some(Link { operand, step, .. }) = link(at) {
        keys.push(match step {
            Step::Key(key) | Step::Dig(key) => key,
            Step::Element(index) => index.to_string(),
        });
        is_optional |=
            matches!(at, Expr::Call(call) if [operators::OPT_INDEX, operators::OPT_SELECT].contains(&&*call.func_name));
        at = operand;
    }
    let Expr::Ident(variable) = at else { return None };
    keys.reverse();
    Some((absolute(variable), keys, is_optional))
}

/// Whether a node selects a part of another value.
pub(super) fn is_path(node: &IdedExpr) -> bool {
    link(&node.expr).is_some()
}

/// The last step of a path.
struct Link<'e> {
    operand: &'e Expr,
    step: Step,
    written: Written,
}

/// The spelling of a step.
enum Written {
    /// After its operand, such as `.status`.
    Suffix(String),
    /// A call of `dig` with this second argument.
    Dig(String),
}

impl Written {
    fn after(&self, operand: &str) -> String {
        match self {
            Self::Suffix(suffix) => format!("{operand}{suffix}"),
            Self::Dig(path) => format!("dig({operand}, {path})"),
        }
    }
}

/// The last step of `a.k`, `a.?k`, `a["k"]`, `a[?"k"]`, `a[0]`, `a[?0]`, `dig(a, "k")` and `has(a.k)`.
fn link(expr: &Expr) -> Option<Link<'_>> {
    if let Expr::Select(select) = expr {
        let written = Written::Suffix(format!(".{}", field(&select.field)));
        return Some(Link { operand: &select.operand.expr, step: Step::Key(select.field.clone()), written });
    }
    let Expr::Call(call @ CallExpr { target: None, .. }) = expr else { return None };
    let [operand, IdedExpr { expr: Expr::Literal(key), .. }] = call.args.as_slice() else { return None };
    let (key, text) = match key {
        LiteralValue::String(key) => (Step::Key(key.inner().to_owned()), quoted(key.inner())),
        LiteralValue::Int(index) => (Step::Element(*index.inner()), index.inner().to_string()),
        LiteralValue::Boolean(_)
        | LiteralValue::Bytes(_)
        | LiteralValue::Double(_)
        | LiteralValue::Null
        | LiteralValue::UInt(_) => return None,
    };
    let (step, written) = match (call.func_name.as_str(), key) {
        (operators::INDEX, step) => (step, Written::Suffix(format!("[{text}]"))),
        (operators::OPT_INDEX, step) => (step, Written::Suffix(format!("[?{text}]"))),
        (operators::OPT_SELECT, Step::Key(key)) => {
            let suffix = format!(".?{}", field(&key));
            (Step::Key(key), Written::Suffix(suffix))
        }
        ("dig", Step::Key(path)) => (Step::Dig(path), Written::Dig(text)),
        _ => return None,
    };
    Some(Link { operand: &operand.expr, step, written })
}

/// The name of a field, in backticks if it is no identifier.
fn field(name: &str) -> String {
    let is_identifier = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_identifier { name.to_owned() } else { format!("`{name}`") }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A key of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Exactly this key, dots included.
    Exact(String),
    /// The dotted path of a call of `dig`: one key with dots, or several keys.
    Dotted(String),
}

impl Path {
    /// The entry of `resources` that the path begins with, and the keys below that entry, up to an index.
    pub(super) fn in_resources(&self) -> Option<(String, Vec<Key>)> {
        let [Step::Key(entry), below @ ..] = self.steps.as_slice() else { return None };
        if self.variable != "resources" {
            return None;
        }
        let keys = below.iter().map_while(|step| match step {
            Step::Key(key) => Some(Key::Exact(key.clone())),
            Step::Dig(path) => Some(Key::Dotted(path.clone())),
            Step::Element(_) => None,
        });
        Some((entry.clone(), keys.collect()))
    }

    /// The path's variable and keys, up to an index or a `dig`.
    pub(super) fn keys(&self) -> Vec<&str> {
        let below = self.steps.iter().map_while(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Element(_) | Step::Dig(_) => None,
        });
        std::iter::once(self.variable.as_str()).chain(below).collect()
    }

    /// Whether two paths have the same variable and steps.
    fn leads_as(&self, other: &Self) -> bool {
        self.variable == other.variable && self.steps == other.steps
    }

    /// The path with its value in a scope; none for the name of a type that no variable has.
    pub(super) fn read(&self, scope: &Scope) -> Option<Reading> {
        let value = match scope.get(&self.variable) {
            _ if self.variable == NOW => quoted(scope.now_text()),
            None if environment::is_type(absolute(&self.text)) => return None,
            variable => {
                let place = variable.and_then(|value| self.follow(Place::of(value, scope.secrets())));
                let is_secret =
                    scope.secret_paths().cover(&self.all_keys().iter().map(String::as_str).collect::<Vec<_>>());
                let place = place.map(|place| if is_secret { place.confidential() } else { place });
                place.map_or_else(|| "absent".to_owned(), Place::summary)
            }
        };
        Some(Reading { path: Arc::clone(&self.text), value })
    }

    /// The path's variable, and all keys and indices after it.
    fn all_keys(&self) -> Vec<String> {
        let steps = self.steps.iter().flat_map(|step| match step {
            Step::Key(key) => vec![key.clone()],
            Step::Element(index) => vec![index.to_string()],
            Step::Dig(path) => path.split('.').map(str::to_owned).collect(),
        });
        std::iter::once(self.variable.clone()).chain(steps).collect()
    }

    fn follow<'v>(&self, variable: Place<'v>) -> Option<Place<'v>> {
        self.steps.iter().try_fold(variable, |place, step| match step {
            Step::Key(key) => place.entry(key),
            Step::Element(index) => place.element(usize::try_from(*index).ok()?),
            Step::Dig(path) => data::descend(place, path, Place::child),
        })
    }
}
