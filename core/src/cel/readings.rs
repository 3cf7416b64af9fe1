//! What an expression reads, and what it finds there: the explanation of a decision.
//!
//! In goes a syntax tree, out come the paths in it that lead into the scope; in go a path and a scope, out comes the
//! text of the value. A path is as long as the text allows: `resources.job.status.phase`, not `resources` as well.
//! What a loop binds leads nowhere in the scope and is no path; what it runs over is one. An index that
//! is not constant ends a path, a [`dig`](super::data) with a constant path goes on. Nothing can fail.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};
use serde_json::Value;

use super::data;
use super::environment::{self, NOW};
use super::lint::{absolute, explains, namespace};
use super::summary::Place;
use super::walk::{self, Node};
use crate::scope::Scope;

/// A path that an expression reads, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The path as the author wrote it where it appears first: `is_deleting`, `resources.?job.status["phase"]`,
    /// `dig(labels, "example.io/tier")`. The clock is `now()`.
    pub path: String,
    /// Compact JSON, cut after 100 characters with `…`; of a whole Kubernetes object its kind and name; `absent` if
    /// nothing is there; `[redacted]` for what belongs to `env` or is the data of a Secret.
    pub value: String,
}

/// A path into the scope.
#[derive(Debug)]
pub(super) struct Path {
    text: String,
    variable: String,
    steps: Vec<Step>,
}

/// What leads from a value to one within it.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// An object's entry, however it was selected.
    Key(String),
    /// A list's element.
    Element(i64),
    /// What `dig` finds.
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
            // What is a part of a path, or of a name, is none itself.
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

/// The path that this part of a tree is, if it is one.
fn path_to(node: &Node<'_>, expr: &Expr) -> Option<Path> {
    if let Expr::Ident(name) = expr {
        let text = match name.as_str() {
            NOW => "now()",
            name if name.starts_with('@') || node.binds(name) => return None,
            name => name,
        };
        return Some(Path { text: text.to_owned(), variable: absolute(name).to_owned(), steps: Vec::new() });
    }
    let link = link(expr)?;
    let mut path = path_to(node, link.operand)?;
    path.text = link.written.after(&path.text);
    path.steps.push(link.step);
    Some(path)
}

/// Whether a part of a tree leads from something to what is in it.
pub(super) fn is_path(node: &IdedExpr) -> bool {
    link(&node.expr).is_some()
}

/// The last step of a path.
struct Link<'e> {
    operand: &'e Expr,
    step: Step,
    written: Written,
}

/// How a step is written.
enum Written {
    /// Behind its operand.
    Suffix(String),
    /// As a call of `dig` with this second argument.
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

/// `a.k`, `a.?k`, `a["k"]`, `a[?"k"]`, `a[0]`, `a[?0]`, `dig(a, "k")`, and `a.k` of `has(a.k)`.
fn link(expr: &Expr) -> Option<Link<'_>> {
    let call = match expr {
        Expr::Select(select) => {
            let written = Written::Suffix(format!(".{}", field(&select.field)));
            return Some(Link { operand: &select.operand.expr, step: Step::Key(select.field.clone()), written });
        }
        Expr::Call(call) if call.target.is_none() => call,
        Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)
        | Expr::Unspecified => return None,
    };
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

/// A field's name; one that is no identifier is written between backticks.
fn field(name: &str) -> String {
    let is_identifier = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_identifier { name.to_owned() } else { format!("`{name}`") }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A step from an object to what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// One key.
    Exact(String),
    /// What `dig` takes: one key with dots in it, or several.
    Dotted(String),
}

impl Path {
    /// The entry of `resources` that it leads to, and the keys below it, up to an index.
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

    /// The variable, and the keys below it up to a list's element or a `dig`.
    pub(super) fn keys(&self) -> Vec<&str> {
        let below = self.steps.iter().map_while(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Element(_) | Step::Dig(_) => None,
        });
        std::iter::once(self.variable.as_str()).chain(below).collect()
    }

    /// Whether both lead to the same value.
    fn leads_as(&self, other: &Self) -> bool {
        self.variable == other.variable && self.steps == other.steps
    }

    /// What is there now. The name of a type, unless a variable has it, is no path.
    pub(super) fn read(&self, scope: &Scope) -> Option<Reading> {
        let value = match scope.get(&self.variable) {
            _ if self.variable == NOW => quoted(scope.now_text()),
            None if environment::is_type(absolute(&self.text)) => return None,
            variable => {
                let place = variable.and_then(|value| self.follow(value));
                place.map_or_else(|| "absent".to_owned(), Place::summary)
            }
        };
        Some(Reading { path: self.text.clone(), value })
    }

    fn follow<'v>(&self, variable: &'v Value) -> Option<Place<'v>> {
        let root = if self.variable == "env" { Place::confidential(variable) } else { Place::of(variable) };
        self.steps.iter().try_fold(root, |place, step| match step {
            Step::Key(key) => place.entry(key),
            Step::Element(index) => place.element(usize::try_from(*index).ok()?),
            Step::Dig(path) => data::descend(place, path, Place::child),
        })
    }
}
