//! `field:` paths: the JSON path dialect of Kubernetes, applied to JSON values.
//!
//! In: the text of a path, parsed once, and a JSON value. Out: the value found, the list of several, or
//! [`Found::Missing`]. The dialect is that of `kubectl` (client-go). It is older than RFC 9535 and differs in
//! ways that authors notice: a missing key, an index out of bounds or a comparison between types makes the
//! whole path find nothing, while a filter without a match gives null. So this module has a parser and an
//! evaluator of its own; most paths are plain dotted keys, and are followed without the evaluator.
//!
//! Unlike in client-go, a path gives values, not printed text; a wildcard gives the values of a mapping in
//! the order of its keys.

use std::borrow::Cow;

use serde_json::Value;

use crate::scope::Scope;

mod evaluate;
mod parse;

/// A parsed JSON path in the dialect of `kubectl`.
#[derive(Debug, Clone)]
pub struct FieldPath {
    source: String,
    plan: Plan,
}

#[derive(Debug, Clone)]
enum Plan {
    /// A path that consists of keys only, which a lookup follows without the query engine.
    Keys(Vec<String>),
    /// A path with any other step, such as a filter, a wildcard or a range.
    Query(Vec<Block>),
    /// The text does not parse. Lookups find nothing, so callers must check [`fault`](FieldPath::fault)
    /// first.
    Malformed(FieldPathError),
}

/// A part of a path outside of any other: text, braces, or a range.
#[derive(Debug, Clone, PartialEq)]
enum Block {
    /// Literal text outside braces, which the result contains as it is.
    Text(String),
    /// The steps in one pair of braces.
    Steps(Vec<Step>),
    /// `{range …}` up to its `{end}`.
    Range(Vec<Step>, Vec<Block>),
}

/// One step of a path, which selects the next values from those that the steps before found.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Slice(Slice),
    Wildcard,
    Recursive,
    Filter(Filter),
    Union(Vec<Vec<Step>>),
    /// A quoted string inside braces.
    Text(String),
    /// A number or a boolean.
    Literal(Value),
    /// A word that is no string, number or boolean.
    Identifier(String),
}

/// `[start:end:step]`; of `[index]`, the end is `index + 1` and marked as derived.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    end_is_derived: bool,
    step: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Filter {
    Exists(Vec<Step>),
    Compare { left: Vec<Step>, operator: String, right: Vec<Step> },
}

/// Why a path does not parse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSONPath parse error: {0}")]
pub struct FieldPathError(pub String);

/// The result of looking a path up.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The path leads to nothing.
    Missing,
    /// The value found, or the list of several. [`Value::Null`] stands for null and for blank strings.
    Value(Value),
}

impl FieldPath {
    /// Parses a path. Text without a leading `{` is wrapped: `a.b` becomes `{.a.b}`.
    ///
    /// As in the Go adapter, `$.a` becomes `{.$.a}`, which finds nothing ([`finds_nothing`](Self::finds_nothing)).
    ///
    /// # Errors
    /// The text is not a JSON path.
    pub fn parse(source: &str) -> Result<Self, FieldPathError> {
        let text = source.trim();
        let blocks = if text.starts_with('{') {
            parse::template(text)?
        } else if text.starts_with('.') {
            parse::template(&format!("{{{text}}}"))?
        } else {
            parse::template(&format!("{{.{text}}}"))?
        };
        Ok(Self { source: source.to_owned(), plan: Plan::of(blocks) })
    }

    /// Keeps a path that does not parse, with the error. As in the Go adapter, which parses paths when an
    /// event reads them, the task loads and the event fails.
    #[must_use]
    pub fn malformed(source: &str, fault: FieldPathError) -> Self {
        Self { source: source.to_owned(), plan: Plan::Malformed(fault) }
    }

    /// Returns why the path does not parse, if so.
    #[must_use]
    pub fn fault(&self) -> Option<&FieldPathError> {
        match &self.plan {
            Plan::Malformed(fault) => Some(fault),
            Plan::Keys(_) | Plan::Query(_) => None,
        }
    }

    /// Whether the path begins with an empty key, as `$.a`, `[0]` and the empty path do: client-go finds
    /// nothing there.
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        let first = match &self.plan {
            Plan::Keys(keys) => keys.first().map(String::as_str),
            Plan::Query(blocks) => match blocks.as_slice() {
                [Block::Steps(steps)] => {
                    steps.first().and_then(|step| if let Step::Field(name) = step { Some(name.as_str()) } else { None })
                }
                _ => None,
            },
            Plan::Malformed(_) => None,
        };
        first == Some("")
    }

    /// Returns the text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the keys with which the path begins: `a`, `b` for `{.a.b[0]}`. Empty if the path can read
    /// anything.
    #[must_use]
    pub fn prefix(&self) -> Vec<&str> {
        match &self.plan {
            Plan::Keys(keys) => keys.iter().map(String::as_str).collect(),
            Plan::Query(blocks) => match blocks.as_slice() {
                [Block::Steps(steps)] => {
                    steps.iter().map_while(|step| if let Step::Field(name) = step { Some(name.as_str()) } else { None })
                }
                .collect(),
                _ => Vec::new(),
            },
            Plan::Malformed(_) => Vec::new(),
        }
    }

    /// Looks the path up in `root`.
    #[must_use]
    pub fn find(&self, root: &Value) -> Found {
        match &self.plan {
            Plan::Keys(keys) => follow(Some(root), keys),
            Plan::Query(blocks) => found(evaluate::blocks(blocks, root)),
            Plan::Malformed(_) => Found::Missing,
        }
    }

    /// Looks the path up in the variables of an event.
    #[must_use]
    pub fn find_in(&self, scope: &Scope) -> Found {
        match &self.plan {
            Plan::Keys(keys) => match keys.split_first() {
                Some((name, keys)) => follow(scope.get(name), keys),
                None => Found::Missing,
            },
            Plan::Query(blocks) => match blocks.as_slice() {
                [Block::Steps(steps)] if matches!(steps.first(), Some(Step::Field(_))) => {
                    let Some((Step::Field(name), steps)) = steps.split_first() else { return Found::Missing };
                    scope.get(name).map_or(Found::Missing, |value| found(evaluate::steps(steps, value)))
                }
                // A path that does not begin with a key reads all variables as one value.
                blocks => {
                    let root = scope.variables().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                    found(evaluate::blocks(blocks, &Value::Object(root)))
                }
            },
            Plan::Malformed(_) => Found::Missing,
        }
    }
}

impl Plan {
    fn of(blocks: Vec<Block>) -> Self {
        if let [Block::Steps(steps)] = blocks.as_slice() {
            let keys: Option<Vec<String>> =
                steps.iter().map(|step| if let Step::Field(name) = step { Some(name.clone()) } else { None }).collect();
            if let Some(keys) = keys
                && !keys.is_empty()
            {
                return Self::Keys(keys);
            }
        }
        Self::Query(blocks)
    }
}

fn follow(value: Option<&Value>, keys: &[String]) -> Found {
    let found = keys.iter().try_fold(value, |value, key| Some(value?.as_object()?.get(key))).flatten();
    found.map_or(Found::Missing, |value| Found::Value(null_if_blank(value.clone())))
}

fn found(results: Result<Vec<Cow<'_, Value>>, evaluate::Nothing>) -> Found {
    let Ok(results) = results else { return Found::Missing };
    if results.iter().all(|value| is_blank(value)) {
        return Found::Value(Value::Null);
    }
    let mut values: Vec<Value> = results.into_iter().map(Cow::into_owned).collect();
    match values.pop() {
        Some(only) if values.is_empty() => Found::Value(only),
        Some(last) => {
            values.push(last);
            Found::Value(Value::Array(values))
        }
        None => Found::Value(Value::Null),
    }
}

fn null_if_blank(value: Value) -> Value {
    if is_blank(&value) { Value::Null } else { value }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
mod tests;
