//! Go `text/template` text: parsed once, rendered per event.
//!
//! Text goes in; a [`Template`] comes out, or what is wrong with the text. At event time the variables
//! of a [`Scope`] go in, and text comes out, or the reason why not: a key is missing, a value is null
//! where something is read below it, a function fails, a limit is reached. Text without `{{` is taken as
//! it is and never parsed.
//!
//! The language is that of the crate `gotmpl`. Where it is more lenient than Go, the parsed tree is
//! checked (`check`) and rewritten (`rewrite`) so that a mistake fails as it does in Go instead of
//! rendering something.
//!
//! # Limits
//! What an event brings must not take the process down: output ends at [`MAX_OUTPUT`] bytes, as does
//! any string made on the way; a rendering makes at most [`MAX_ITERATIONS`] turns of a `range`
//! and [`MAX_WRITES`] pieces of output; templates call each other at most 200 deep, and nest at most
//! 100 deep.
//!
//! # The clock
//! `{{ now }}` gives the event's one clock reading, as a time that has Go's methods (see `template/typed.rs`); `{{ .now }}` is its text. A
//! function of the engine sees its arguments and
//! nothing else, so a template that calls `now` is copied for the rendering and the copy's `now`
//! is bound to the reading. The copy is a few microseconds, for the few templates that need it; there
//! is no state that outlives a rendering or is reachable from another thread.
//!
//! A [`Tree`] is a value whose strings are templates, a [`UrlTemplate`] one that renders to a URL; see there.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use gotmpl::MissingKey;
use serde_json::Value;

use self::check::Findings;
use crate::scope::Scope;

mod check;
mod functions;
mod origin;
mod rewrite;
mod text;
mod time;
mod tree;
pub(crate) mod typed;
mod url;
mod yaml_scalar;

pub use self::url::UrlTemplate;

/// The longest text that a template may make: 4 MiB, the largest message of gRPC; what is kept in etcd
/// is smaller still.
pub const MAX_OUTPUT: usize = 4 << 20;
/// How many turns all `range` loops of one rendering may make together.
pub const MAX_ITERATIONS: u64 = 100_000;
/// How many pieces of text one rendering may write; each call of a template counts as one.
pub const MAX_WRITES: usize = 1_000_000;

/// The name under which the main template is kept; nobody can call it, as it cannot be written.
const MAIN: &str = "\u{0}main";

/// A parsed template. Text without `{{` is taken as it is.
#[derive(Clone)]
pub struct Template {
    source: Arc<str>,
    variables: BTreeSet<String>,
    reads_root: bool,
    body: Body,
}

#[derive(Clone)]
enum Body {
    /// The text has no template in it.
    Literal,
    Compiled(Arc<Compiled>),
    /// The text does not parse: every rendering fails with these words.
    Malformed(Arc<str>),
}

struct Compiled {
    engine: gotmpl::Template,
    /// The top-level variables that it reads; none if it can read any.
    reads: Option<BTreeSet<String>>,
    reads_clock: bool,
    doubts: Vec<String>,
}

/// A tree of YAML values whose strings (keys too) are templates: an inline manifest.
///
/// The Go adapter writes such a tree as YAML text, renders the text, and parses it. Here the structure
/// stays as it is and only scalars are rendered, with the same result: a scalar that the YAML
/// encoder would have quoted (one that *starts* with `{{`, above all) is a string whatever it renders
/// to, and one that it would have left plain (`1{{ .n }}`) is what a YAML parser makes of the rendered
/// text, so perhaps a number. What goes beyond Go is that substituted text never breaks the
/// structure: quotes, line breaks, `: ` and ` #` are text like any other. What falls short of it is
/// that a template cannot reach from one scalar into another: `{{ if }}` and its `{{ end }}`, or a
/// variable and its use, belong into the same string. A manifest that is text has no such limit.
///
/// What has no template in it is settled when it is parsed.
#[derive(Debug, Clone)]
pub struct Tree {
    root: tree::Node,
}

/// What is certain of a value in a [`Tree`] before anything is rendered.
#[derive(Debug, Clone, Copy)]
pub enum Part<'tree> {
    /// There is none.
    Absent,
    /// A value without a template in it.
    Literal(&'tree Value),
    /// Text that is rendered.
    Template(&'tree Template),
    /// A list or a mapping with templates in it; or a key on the way is a template, and may render to what was asked for.
    Uncertain,
}

/// A template that does not parse.
#[derive(Debug, Clone, thiserror::Error)]
#[error("template parse error{}: {message}", at(*position))]
pub struct TemplateError {
    /// The parser's words.
    pub message: String,
    /// The line and the column in the text, both from 1, if the parser knows them.
    pub position: Option<(usize, usize)>,
}

fn at(position: Option<(usize, usize)>) -> String {
    position.map(|(line, column)| format!(" at {line}:{column}")).unwrap_or_default()
}

/// A template that could not be rendered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to render template: {message}")]
pub struct RenderError {
    /// What went wrong: a missing key, a function that failed.
    pub message: String,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// It is not a Go template, or names an unknown function.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        if !source.contains("{{") {
            return Ok(Self::literal(source));
        }
        let parsed = check::parse(source)?;
        let findings = check::check(&parsed)?;
        let engine = rewrite::rewrite(&parsed);
        let Findings { variables, reads_root, reads_clock, doubts } = findings;
        let top_level = |path: &String| path.split('.').next().unwrap_or(path).to_owned();
        let reads = (!reads_root).then(|| variables.iter().map(top_level).collect());
        let compiled = Compiled { engine, reads, reads_clock, doubts };
        Ok(Self { source: source.into(), variables, reads_root, body: Body::Compiled(Arc::new(compiled)) })
    }

    /// A template that fails whenever it is rendered.
    ///
    /// The Go adapter parses a template when an event renders it. A file of that adapter therefore loads with a template that
    /// does not parse, and the event that comes to the template fails.
    #[must_use]
    pub fn malformed(source: &str, why: &str) -> Self {
        Self { source: source.into(), variables: BTreeSet::new(), reads_root: false, body: Body::Malformed(why.into()) }
    }

    /// Whether the template fails whenever it is rendered, so that nothing is known of what it reads.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.body, Body::Malformed(_))
    }

    /// The text it was parsed from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The dotted paths read from the root, wherever they stand: `{{ if .a.b }}` gives `a.b`.
    ///
    /// Inside `range` and `with` the dot is something else, and only `$.a` is read from the root.
    #[must_use]
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    /// Whether it passes the root on as a whole, and so may read any path: `{{ toJson . }}`.
    #[must_use]
    pub fn reads_root(&self) -> bool {
        self.reads_root
    }

    /// Whether it calls `now`; `{{ .now }}` is a variable.
    #[must_use]
    pub fn reads_clock(&self) -> bool {
        match &self.body {
            Body::Compiled(compiled) => compiled.reads_clock,
            Body::Literal | Body::Malformed(_) => false,
        }
    }

    /// What in it will fail whenever it is rendered, although it parses.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        match &self.body {
            Body::Compiled(compiled) => &compiled.doubts,
            Body::Literal | Body::Malformed(_) => &[],
        }
    }

    /// The text, if there is no template in it.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        self.is_literal().then_some(&*self.source)
    }

    /// Renders.
    ///
    /// # Errors
    /// A key is missing, a function fails, or a limit is reached.
    pub fn render(&self, scope: &Scope) -> Result<Cow<'_, str>, RenderError> {
        let compiled = match &self.body {
            Body::Literal => return Ok(Cow::Borrowed(&self.source)),
            Body::Malformed(why) => return Err(RenderError { message: why.to_string() }),
            Body::Compiled(compiled) => compiled,
        };
        let mut output = Output { text: String::new(), writes: 0 };
        let data = match &compiled.reads {
            Some(names) => &scope.template_data_of(names.iter().map(String::as_str)),
            None => scope.template_data(),
        };
        let rendered = if compiled.reads_clock {
            let now = functions::clock(scope.now());
            let engine = compiled.engine.clone().func("now", now);
            engine.execute_template_fmt(&mut output, MAIN, data)
        } else {
            compiled.engine.execute_template_fmt(&mut output, MAIN, data)
        };
        match rendered {
            Ok(()) => Ok(Cow::Owned(output.text)),
            Err(error) => Err(RenderError { message: output.explain(&error) }),
        }
    }

    /// Text that is taken as it is, whatever is in it.
    fn literal(text: &str) -> Self {
        Self { source: text.into(), variables: BTreeSet::new(), reads_root: false, body: Body::Literal }
    }

    /// Whether there is nothing to render.
    fn is_literal(&self) -> bool {
        matches!(self.body, Body::Literal)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Template").field(&self.source).finish()
    }
}

/// What a rendering has written so far.
struct Output {
    text: String,
    writes: usize,
}

impl fmt::Write for Output {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.writes += 1;
        if self.writes > MAX_WRITES || self.text.len() + piece.len() > MAX_OUTPUT {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

impl Output {
    /// Words an error as Go does where the engine's words differ, or leave out the reason.
    fn explain(&self, error: &gotmpl::TemplateError) -> String {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors; the others speak for themselves")]
        match error {
            gotmpl::TemplateError::MissingKey { key } => format!("map has no entry for key {key:?}"),
            gotmpl::TemplateError::Write if self.writes > MAX_WRITES => {
                format!("more than {MAX_WRITES} pieces of text were written")
            }
            gotmpl::TemplateError::Write => format!("output is longer than {MAX_OUTPUT} bytes"),
            gotmpl::TemplateError::RangeIterLimit => format!("more than {MAX_ITERATIONS} turns of range were made"),
            gotmpl::TemplateError::Exec(message) => message.clone(),
            other => other.to_string(),
        }
    }
}

impl Tree {
    /// Parses every string of `value`, keys included.
    ///
    /// # Errors
    /// Every string that does not parse, with its dotted path below `value`.
    pub fn parse(value: &Value) -> Result<Self, Vec<(String, TemplateError)>> {
        let (root, mistakes) = tree::parse(value);
        if mistakes.is_empty() { Ok(Self { root }) } else { Err(mistakes) }
    }

    /// As [`parse`](Self::parse), but a string that does not parse becomes a [malformed](Template::malformed) template.
    #[must_use]
    pub fn parse_lenient(value: &Value) -> Self {
        Self { root: tree::parse(value).0 }
    }

    /// The dotted paths that any of its templates reads from the root, each with the place that reads it.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        tree::variables(&self.root)
    }

    /// Its templates, in the order in which they stand.
    #[must_use]
    pub fn templates(&self) -> Vec<&Template> {
        tree::templates(&self.root)
    }

    /// What is certain of the value at a path of keys.
    #[must_use]
    pub fn part(&self, path: &[&str]) -> Part<'_> {
        tree::part(&self.root, path)
    }

    /// The part of it that can hold the values at these paths of keys. Entries whose keys are templates are part of it.
    #[must_use]
    pub fn keep(&self, paths: &[&[&str]]) -> Self {
        Self { root: tree::keep(&self.root, paths) }
    }

    /// Renders every template.
    ///
    /// # Errors
    /// The first template that fails, named by its place; or two keys of a mapping that render to the same text.
    pub fn render(&self, scope: &Scope) -> Result<Value, RenderError> {
        tree::render(&self.root, scope)
    }
}

/// An engine that knows this crate's functions and limits, without a template.
fn engine() -> gotmpl::Template {
    static ENGINE: LazyLock<gotmpl::Template> = LazyLock::new(|| {
        gotmpl::Template::new("template")
            .missing_key(MissingKey::Error)
            .max_range_iters(MAX_ITERATIONS)
            .funcs(functions::all())
    });
    ENGINE.clone()
}

#[cfg(test)]
mod tests;
