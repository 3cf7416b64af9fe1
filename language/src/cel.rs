//! CEL expressions: parsed and checked once, evaluated per event.
//!
//! In goes an author's text; out comes an [`Expression`] that says what it refers to and, given the
//! event's [`Scope`], what it evaluates to. The language is that of the Go adapter: the standard library, optional
//! values, the strings and lists extensions, and functions of our own; `docs/cel.md` lists all of them.
//!
//! Parsing fails for what is not CEL and for what could take the process down. Evaluation fails for what only values can
//! tell, as there is no type check, and beyond a limit of iterations or of bytes. Nothing here decides what a failure
//! means.

mod abstract_value;
mod answer;
mod arguments;
mod awaits;
mod conditions;
mod conversions;
mod cost;
mod data;
mod declare;
mod dialect;
mod environment;
mod evaluation;
mod faults;
mod internal;
mod limits;
mod lint;
mod lists;
mod node;
mod presence;
mod readings;
mod shown;
mod summary;
mod syntax;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod view;
mod walk;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use cel::common::ast::IdedExpr;
use serde_json::Value;

pub use self::abstract_value::{AbstractValue, Fact, Key, Possible, Presence, Relation};
pub use self::faults::Fault;
use self::internal::Internal;
use self::lint::Name;
pub use self::presence::NullTest;
pub use self::readings::Reading;
pub use self::types::{Mismatch, Types};
#[cfg(feature = "measure")]
pub use self::walk::VISITED;
use crate::pattern::PatternError;
use crate::resource_reads::ResourceReads;
use crate::scope::Scope;
use crate::value::Typed;
use crate::value::typed::truthy;

/// A parsed expression that is safe to evaluate.
#[derive(Clone)]
pub struct Expression {
    parsed: Arc<Parsed>,
}

struct Parsed {
    source: String,
    one_line: Arc<str>,
    /// The syntax tree of the expression as its author wrote it, for lints, abstract values and explanations.
    tree: IdedExpr,
    /// The program that an evaluation runs, with the adapter's checks and limits built in.
    program: evaluation::Program,
    names: Vec<Name>,
    resources: ResourceReads,
    /// Made when first asked for: only explanations need it.
    paths: OnceLock<Vec<readings::Path>>,
    /// The operands of its outermost `&&`; made when first asked for, for the same reason.
    terms: OnceLock<Vec<Expression>>,
}

/// The result of an expression that was evaluated without an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The expression came to an optional without a value, `optional.none()`.
    Absent,
    /// A value; CEL's null is [`Value::Null`].
    Value(Value),
}

/// A name that an expression uses and nothing provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownName {
    /// A variable, by its name.
    Variable(String),
    /// A function, by its name.
    Function(String),
}

/// An expression that cannot be loaded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExpressionError {
    /// The expression does not parse; `line` and `column` are 1-based within the expression.
    #[error("CEL parse error: {message}")]
    Parse {
        /// The parser's fault in plain words.
        message: String,
        /// The text or syntax to write instead, if there is one to name.
        help: Option<String>,
        /// 1-based line within the expression.
        line: usize,
        /// 1-based column within the line.
        column: usize,
    },
    /// The expression exceeds a limit that protects the process; the text names the limit.
    #[error("{0}")]
    Limit(String),
}

/// An evaluation that gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("CEL evaluation error for expression \"{}\": {message}", one_line(expression))]
pub struct EvaluationError {
    /// The source text of the expression.
    pub expression: String,
    /// The kind of failure, for code that decides by it.
    pub kind: EvaluationErrorKind,
    /// The cause of the failure, for the task's author.
    pub message: String,
}

/// Why an evaluation failed, for those who decide by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationErrorKind {
    /// A key or field is missing in a map that exists.
    MissingKey {
        /// Where: `["resources", "job", "status", "conditions"]`; list elements by decimal index. Only
        /// the key itself if the map is no part of the scope but was made by the expression.
        path: Vec<String>,
    },
    /// The expression reads a variable or calls a function of this name, which nothing provides.
    Undeclared(String),
    /// Anything else: overloads, conversions, functions that failed.
    Other,
}

impl Expression {
    /// Parses and checks an expression. Blank text is `true`.
    ///
    /// # Errors
    /// The expression does not parse, is longer than 4 KiB, nests more than 100 levels deep, or nests comprehensions
    /// more than 3 levels deep.
    pub fn parse(source: &str) -> Result<Self, ExpressionError> {
        let source = match source.trim() {
            "" => "true",
            source => source,
        };
        limits::check_text(source).map_err(ExpressionError::Limit)?;
        let parse = || {
            let tree = environment::parse(source).map_err(|(message, line, column)| {
                let syntax::Fault { found, cure } = syntax::explain(&message, source);
                ExpressionError::Parse { message: found, help: cure.map(str::to_owned), line, column }
            })?;
            limits::check_tree(&tree).map_err(ExpressionError::Limit)?;
            Ok(tree)
        };
        let failed = || {
            let message = "the parser failed".to_owned();
            Err(ExpressionError::Parse { message, help: None, line: 1, column: 1 })
        };
        let tree = limits::guard(source, parse).unwrap_or_else(failed)?;
        Ok(Self::of_tree(source.to_owned(), tree))
    }

    /// The expression of a tree that has been checked.
    fn of_tree(source: String, tree: IdedExpr) -> Self {
        let resources = lint::reads(&tree, "resources").into();
        let names = lint::names(&tree);
        let program = evaluation::Program::new(tree.clone());
        let one_line = one_line(&source).into();
        let (paths, terms) = (OnceLock::new(), OnceLock::new());
        Self { parsed: Arc::new(Parsed { source, one_line, tree, program, names, resources, paths, terms }) }
    }

    /// The text it was parsed from, trimmed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.parsed.source
    }

    /// Its text on one line, for logs and traces: each line break becomes a space.
    #[must_use]
    pub fn one_line(&self) -> &Arc<str> {
        &self.parsed.one_line
    }

    /// Variables and functions that it uses and that neither CEL, nor our library, nor `is_known` knows.
    #[must_use]
    pub fn unknown_names(&self, is_known: &dyn Fn(&str) -> bool) -> Vec<UnknownName> {
        let unknown = self.parsed.names.iter().filter_map(|name| match name {
            Name::Variable(name) => (!is_known(name)).then(|| UnknownName::Variable(name.clone())),
            Name::UnknownFunction(name) => Some(UnknownName::Function(name.clone())),
        });
        unknown.collect()
    }

    /// The errors of the constant patterns that the expression passes to `matches`; a call with such a pattern
    /// fails.
    pub fn pattern_errors(&self) -> impl Iterator<Item = &PatternError> {
        self.parsed.program.patterns.iter().filter_map(|Internal(pattern)| pattern.as_ref().err())
    }

    /// Whether it reads a variable for which `is_meant` holds.
    #[must_use]
    pub fn reads_variable(&self, is_meant: &dyn Fn(&str) -> bool) -> bool {
        self.parsed.names.iter().any(|name| matches!(name, Name::Variable(variable) if is_meant(variable)))
    }

    /// Parts that fail in every evaluation that reaches them; `is_number` says whether a dotted path is a number.
    #[must_use]
    pub fn faults(&self, is_number: &dyn Fn(&str) -> bool) -> Vec<Fault> {
        faults::faults(&self.parsed.tree, is_number)
    }

    /// Whether it fails unless every field of this path exists: it reads the path, and tests for none of its fields.
    #[must_use]
    pub fn demands(&self, path: &[&str]) -> bool {
        faults::demands(&self.parsed.tree, path)
    }

    /// The condition of `condition ? text : …`, if it has this form.
    #[must_use]
    pub fn condition_of(&self, text: &str) -> Option<Self> {
        let condition = faults::condition_of(&self.parsed.tree, text)?;
        Some(Self::of_tree(format!("the condition of {}", self.source()), condition.clone()))
    }

    /// Which entries of `resources` it can read.
    #[must_use]
    pub fn resource_reads(&self) -> &ResourceReads {
        &self.parsed.resources
    }

    /// The results that it can have, given what is certain of the entries of `resources`, and the expressions that variables
    /// stand for.
    #[must_use]
    pub fn abstract_value(
        &self,
        entries: &dyn Fn(&str) -> Presence,
        definitions: &dyn Fn(&str) -> Option<Self>,
    ) -> AbstractValue {
        self.abstract_value_given(entries, definitions, &|_| None)
    }

    /// The results that it can have in the events in which these `facts` about variables are certain; a variable with a fact
    /// does not stand for its definition.
    #[must_use]
    pub fn abstract_value_given(
        &self,
        entries: &dyn Fn(&str) -> Presence,
        definitions: &dyn Fn(&str) -> Option<Self>,
        facts: &dyn Fn(&str) -> Option<Fact>,
    ) -> AbstractValue {
        AbstractValue::of(&self.parsed.tree, &abstract_value::Context { entries, definitions, facts })
    }

    /// Whether every result that it can have is a boolean.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        self.abstract_value(&|_| Presence::Unknown, &|_| None).is_boolean()
    }

    /// The types that its result can have; `of_path` gives those of a variable, or of a path of fields below one.
    #[must_use]
    pub fn types(&self, of_path: &dyn Fn(&str) -> Types) -> Types {
        types::types(&self.parsed.tree, of_path)
    }

    /// The texts that it gives as they stand, such as both of `x ? 'True' : 'False'`.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        types::texts(&self.parsed.tree)
    }

    /// Its comparisons of values whose types are never equal; `of_path` as for [`types`](Self::types).
    #[must_use]
    pub fn mismatches(&self, of_path: &dyn Fn(&str) -> Types) -> Vec<Mismatch> {
        types::mismatches(&self.parsed.tree, of_path)
    }

    /// The paths that it compares by `==` or `!=` with a text as it stands, each with that text. A path is the variable and the keys
    /// after it, with an index as its digits.
    #[must_use]
    pub fn compared_texts(&self) -> Vec<(Vec<String>, &str)> {
        types::compared_texts(&self.parsed.tree)
    }

    /// Which entries it can read below a member of a top-level object: of `adapter.outcomes`, for `["adapter", "outcomes"]`.
    #[must_use]
    pub fn reads_below(&self, object: &str, member: &str) -> ResourceReads {
        lint::reads_below(&self.parsed.tree, object, member).into()
    }

    /// The constant names that it reads below the top-level object `object`: `env.HOME`, `env["HOME"]` give `HOME`.
    ///
    /// A use of the object as a whole adds no name.
    #[must_use]
    pub fn member_reads(&self, object: &str) -> BTreeSet<String> {
        lint::reads(&self.parsed.tree, object).names
    }

    /// Whether it reads the clock: `now()`, or a function that compares with it, such as `stableFor`.
    #[must_use]
    pub fn reads_clock(&self) -> bool {
        let paths = self.parsed.paths.get_or_init(|| readings::paths(&self.parsed.tree));
        paths.iter().any(|path| path.keys().first() == Some(&declare::NOW))
    }

    /// The paths of constant keys that it reads: the variable, then the keys below it, up to what is not constant.
    #[must_use]
    pub fn member_paths(&self) -> Vec<Vec<&str>> {
        let paths = self.parsed.paths.get_or_init(|| readings::paths(&self.parsed.tree));
        paths.iter().map(readings::Path::keys).collect()
    }

    /// The paths whose values it can return, whole, in part or within a text: without those that it only compares or measures.
    #[must_use]
    pub fn shown_paths(&self) -> Vec<Vec<String>> {
        shown::paths(&self.parsed.tree)
    }

    /// Whether its result is the time of the event, or is computed from it so that each event has another.
    #[must_use]
    pub fn shows_clock(&self) -> bool {
        shown::has_clock(&self.parsed.tree)
    }

    /// Its tests for the presence of a field of the API that may be null, which are true for null.
    #[must_use]
    pub fn null_tests(&self) -> Vec<NullTest> {
        presence::find(&self.parsed.tree)
    }

    /// What the expression reads of the scope: each path once, in the order of appearance, with its value now.
    ///
    /// The list includes paths in operands that `&&` or `?:` would skip in an evaluation. Traces print the list to
    /// explain a gate's result.
    #[must_use]
    pub fn readings(&self, scope: &Scope) -> Vec<Reading> {
        let paths = self.parsed.paths.get_or_init(|| readings::paths(&self.parsed.tree));
        paths.iter().filter_map(|path| path.read(scope)).collect()
    }

    /// Whether it is only a path, such as `cluster.spec.?tier`, which fails for nothing but a missing value.
    #[must_use]
    pub fn is_path(&self) -> bool {
        readings::is_path(&self.parsed.tree)
    }

    /// Evaluates to JSON, as payloads and traces show values.
    ///
    /// # Errors
    /// A variable or key is missing, no overload fits, a function fails.
    pub fn evaluate(&self, scope: &Scope) -> Result<Answer, EvaluationError> {
        let answer = self.evaluate_typed(scope)?;
        Ok(answer.map_or(Answer::Absent, |answer| Answer::Value(answer.value)))
    }

    /// Evaluates to what the next expression can compute with: times stay times. None is `optional.none()`.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn evaluate_typed(&self, scope: &Scope) -> Result<Option<Typed>, EvaluationError> {
        evaluation::evaluate(&self.parsed.program, scope).map_err(|error| {
            let (kind, message) = evaluation::describe(&error, scope, &self.parsed.source);
            // The cause may quote a value.
            let message = scope.secrets().text(&message).into_owned();
            EvaluationError { expression: self.parsed.source.clone(), kind, message }
        })
    }

    /// Evaluates and says whether the answer counts as true (see [`Typed::is_truthy`]); no value does.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn matches(&self, scope: &Scope) -> Result<bool, EvaluationError> {
        Ok(self.evaluate_typed(scope)?.is_none_or(|answer| answer.is_truthy()))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Expression").field(&self.parsed.source).finish()
    }
}

impl Answer {
    /// Booleans are themselves; null, the empty string, list and map are false; all else is true.
    ///
    /// "All else" includes the number 0 and [`Absent`](Self::Absent), as in the Go adapter. Whoever
    /// destroys something by an answer should not take an absent one for a yes.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Value(value) => truthy(value),
        }
    }
}

/// The names of all functions, without those of namespaces such as `optional.of`.
#[must_use]
pub fn functions() -> Vec<&'static str> {
    let all = environment::FUNCTIONS.iter().chain(environment::MEMBER_FUNCTIONS).copied().flatten();
    all.copied().filter(|name| !name.contains('.')).collect()
}

/// The source of an expression on one line, for diagnostics and logs: each line break becomes a space.
#[must_use]
pub fn one_line(expression: &str) -> String {
    expression.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl EvaluationError {
    /// Whether a key was missing at `path` or below it: `["resources", "job", "status"]` covers
    /// `resources.job.status` itself and `resources.job.status.conditions`.
    #[must_use]
    pub fn is_missing_below(&self, path: &[&str]) -> bool {
        match &self.kind {
            EvaluationErrorKind::MissingKey { path: missing } => {
                missing.len() >= path.len() && missing.iter().zip(path).all(|(missing, segment)| missing == segment)
            }
            EvaluationErrorKind::Undeclared(_) | EvaluationErrorKind::Other => false,
        }
    }
}
