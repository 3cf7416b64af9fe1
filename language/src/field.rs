//! `field:` paths: the JSON path dialect of Kubernetes, applied to JSON values.
//!
//! In: the text of a path, parsed once, and a JSON value. Out: the value found, the list of several, or
//! [`Found::Missing`]. The dialect is that of `kubectl` (client-go), without slices, unions, `..`, `{range}` and text
//! outside of the braces, which are refused. It is older than RFC 9535 and differs in ways that authors notice: a
//! missing key, an index out of bounds or a comparison between types makes the whole path find nothing, while a filter
//! without a match gives null; and a name may contain `-`. So no library of that RFC can stand in.

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
    Steps(Vec<Step>),
    /// The text does not parse. Lookups find nothing, so callers must check [`fault`](FieldPath::fault)
    /// first.
    Malformed(FieldPathError),
}

/// One step of a path, which selects the next values from those that the steps before found.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// `[1]`; a negative index counts from the end.
    Index(i64),
    /// `[*]`, the items of a list.
    Items,
    /// `.*`, the items of a list or the values of a mapping.
    Wildcard,
    Filter(Filter),
}

/// `[?(@.path == literal)]`; without a comparison, the path must find something.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    path: Vec<Step>,
    comparison: Option<(String, Value)>,
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
        let steps = if text.starts_with('{') {
            parse::path(text)?
        } else if text.starts_with('.') {
            parse::path(&format!("{{{text}}}"))?
        } else {
            parse::path(&format!("{{.{text}}}"))?
        };
        Ok(Self { source: source.to_owned(), plan: Plan::Steps(steps) })
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
            Plan::Steps(_) => None,
        }
    }

    fn steps(&self) -> &[Step] {
        match &self.plan {
            Plan::Steps(steps) => steps,
            Plan::Malformed(_) => &[],
        }
    }

    /// Whether the path begins with an empty key, as `$.a`, `[0]` and the empty path do: client-go finds
    /// nothing there.
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        self.prefix().first() == Some(&"")
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
        let keys = self.steps().iter().map_while(|step| if let Step::Field(name) = step { Some(name) } else { None });
        keys.map(String::as_str).collect()
    }

    /// Looks the path up in `root`.
    #[must_use]
    pub fn find(&self, root: &Value) -> Found {
        match &self.plan {
            Plan::Steps(steps) => found(steps, root),
            Plan::Malformed(_) => Found::Missing,
        }
    }

    /// Looks the path up in the variables of an event.
    #[must_use]
    pub fn find_in(&self, scope: &Scope) -> Found {
        match &self.plan {
            Plan::Steps(steps) => match steps.split_first() {
                Some((Step::Field(name), steps)) => scope.get(name).map_or(Found::Missing, |value| found(steps, value)),
                // A path that does not begin with a key reads all variables as one value.
                Some(_) | None => {
                    let root = scope.variables().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                    found(steps, &Value::Object(root))
                }
            },
            Plan::Malformed(_) => Found::Missing,
        }
    }
}

fn found(steps: &[Step], value: &Value) -> Found {
    match evaluate::follow(steps, value).as_deref() {
        None => Found::Missing,
        Some(found) if found.iter().all(|value| is_blank(value)) => Found::Value(Value::Null),
        Some([only]) => Found::Value((*only).clone()),
        Some(several) => Found::Value(several.iter().copied().cloned().collect()),
    }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
mod tests;
