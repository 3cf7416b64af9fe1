//! Go `text/template` templates: parsed once, rendered per event.
//!
//! In: the text of a template, and at each event the variables of a [`Scope`]. Out: a [`Template`], and the
//! rendered text. Parsing fails for text that Go would not parse. Rendering fails if a key is missing, a null
//! value has no fields to read, a function fails, or a limit is reached. Text without `{{` is literal and
//! never parsed.
//!
//! The crate `gotmpl` parses and runs the templates. Where it is more lenient than Go, `check` and `rewrite`
//! examine and change the parsed tree, so that a mistake fails as in Go instead of rendering something.
//!
//! # Limits
//! An event must not exhaust the process: output and every string in between end at [`MAX_OUTPUT`] bytes; a
//! rendering makes at most [`MAX_ITERATIONS`] iterations of `range` and [`MAX_WRITES`] writes; templates call
//! each other at most 200 deep, and nest at most 100 deep.
//!
//! # The clock
//! `{{ now }}` is the event's reading of the clock, as a time with Go's methods (`typed`); `{{ .now }}` is
//! its text. A function of the engine receives its arguments and nothing else. So a template that calls `now`
//! is copied for each rendering, and the function `now` of the copy returns the reading. The copy takes a few
//! microseconds, and needs no state beyond the rendering.
//!
//! A [`Tree`] is a value whose strings are templates; a [`UrlTemplate`] renders to a URL.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use gotmpl::MissingKey;
use lifecycle_config::document::Node;
use serde_json::Value;

use self::check::Findings;
use crate::resource_reads::ResourceReads;
use crate::scope::Scope;

mod branches;
mod check;
mod confined;
mod functions;
mod origin;
mod rewrite;
mod text;
pub(crate) mod time;
mod tree;
mod url;
mod yaml_scalar;

pub use self::branches::Branch;
pub use self::confined::Unconfined;
pub use self::url::UrlTemplate;

/// The longest text that a template may render, in bytes: 4 MiB, the largest message of gRPC. etcd's limit
/// for an object is lower still.
pub const MAX_OUTPUT: usize = 4 << 20;
/// The limit of iterations of all `range` loops in one rendering.
pub const MAX_ITERATIONS: u64 = 100_000;
/// The limit of writes in one rendering; each call of a template counts as one.
pub const MAX_WRITES: usize = 1_000_000;

/// The name of the main template in the engine. It contains a NUL, so no template can call it.
const MAIN: &str = "\u{0}main";

/// A parsed template. Text without `{{` is literal.
#[derive(Clone)]
pub struct Template {
    source: Arc<str>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    /// The text contains no template action.
    Literal,
    Compiled(Arc<Compiled>),
    /// The text does not parse: every rendering fails with this message.
    Malformed(Arc<str>),
}

struct Compiled {
    engine: gotmpl::Template,
    /// The top-level variables that the template reads; none if it can read any.
    reads: Option<BTreeSet<String>>,
    findings: Findings,
}

/// The findings about text that has no action, or does not parse.
static NOTHING: Findings = Findings::nothing();

/// A tree of YAML values whose strings (keys too) are templates: an inline manifest.
///
/// The Go adapter encodes such a tree as YAML text, renders the text, and parses the result. Here the
/// structure stays, and only scalars are rendered, with the same result. A scalar that the YAML encoder would
/// quote (such as one that *starts* with `{{`) is a string, whatever it renders to. A scalar that it would
/// leave plain (`1{{ .n }}`) gets the type that a YAML parser gives the rendered text, perhaps a number.
/// Better than in Go, a rendered value never breaks the structure: quotes, line breaks, `: ` and ` #` are
/// ordinary text. Other than in Go, an action cannot span scalars: `{{ if }}` and its `{{ end }}`, or a
/// variable and its use, have to be in the same string. A manifest that is text has no such limit.
///
/// Parsing converts values without templates once and for all.
#[derive(Debug, Clone)]
pub struct Tree {
    root: tree::Node,
}

/// How much is known about a value in a [`Tree`] before an event renders it.
#[derive(Debug, Clone, Copy)]
pub enum Part<'tree> {
    /// The tree has no such value.
    Absent,
    /// A value without templates, which is the same for every event.
    Literal(&'tree Value),
    /// A string template, whose value only an event decides.
    Template(&'tree Template),
    /// A list or a mapping with templates; or a key on the path is a template, and may render to the key in
    /// question.
    Uncertain,
}

/// Why a template does not parse.
#[derive(Debug, Clone, thiserror::Error)]
#[error("template parse error{}: {message}", at(*position))]
pub struct TemplateError {
    /// The parser's message about the mistake.
    pub message: String,
    /// The line and the column of the mistake, both from 1, if the parser reports them.
    pub position: Option<(usize, usize)>,
}

fn at(position: Option<(usize, usize)>) -> String {
    position.map(|(line, column)| format!(" at {line}:{column}")).unwrap_or_default()
}

/// Why a template could not be rendered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to render template: {message}")]
pub struct RenderError {
    /// The error, such as a missing key or a failed function.
    pub message: String,
}

/// Returns the names of all functions that a template may call.
#[must_use]
pub fn functions() -> Vec<&'static str> {
    functions::names()
}

impl TemplateError {
    /// The function that the template calls and that does not exist, if that is the error.
    #[must_use]
    pub fn unknown_function(&self) -> Option<&str> {
        self.message.strip_prefix("function \"")?.strip_suffix("\" not defined")
    }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// The text is not a Go template, or calls an unknown function.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        if !source.contains("{{") {
            return Ok(Self::literal(source));
        }
        let parsed = check::parse(source)?;
        let findings = check::check(&parsed)?;
        let engine = rewrite::rewrite(&parsed);
        let top_level = |path: &String| path.split('.').next().unwrap_or(path).to_owned();
        let reads = (!findings.reads_root).then(|| findings.variables.iter().map(top_level).collect());
        Ok(Self { source: source.into(), body: Body::Compiled(Arc::new(Compiled { engine, reads, findings })) })
    }

    /// Makes a template whose every rendering fails.
    ///
    /// The Go adapter parses a template when an event renders it. So its task files have to load here with a
    /// template that does not parse, and only the event that renders it fails.
    #[must_use]
    pub fn malformed(source: &str, why: &str) -> Self {
        Self { source: source.into(), body: Body::Malformed(why.into()) }
    }

    /// Whether every rendering fails because the text does not parse. What such a template reads is unknown.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.body, Body::Malformed(_))
    }

    /// Returns the text that was parsed.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the dotted paths that the template reads from the root, in any position: `{{ if .a.b }}` gives
    /// `a.b`.
    ///
    /// Inside `range` and `with` the dot is another value, and only `$.a` is read from the root.
    #[must_use]
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.findings().variables
    }

    /// Whether the template uses the root itself, and so may read any path: `{{ toJson . }}`.
    #[must_use]
    pub fn reads_root(&self) -> bool {
        self.findings().reads_root
    }

    /// The entries of `resources` that the template can read: `.resources.job` and `index .resources "job"` read
    /// `job`.
    #[must_use]
    pub fn resource_reads(&self) -> &ResourceReads {
        &self.findings().resources
    }

    /// Whether a part of the template depends on a condition, a loop or another template.
    #[must_use]
    pub fn has_branch(&self) -> bool {
        self.findings().has_branch
    }

    /// The parts of the template that a condition or a loop decides.
    #[must_use]
    pub fn branches(&self) -> Vec<Branch> {
        check::parse(&self.source).map_or_else(|_| Vec::new(), |parsed| branches::branches(&parsed.main))
    }

    /// Whether the template calls the function `now`; `{{ .now }}` is a variable.
    #[must_use]
    pub fn reads_clock(&self) -> bool {
        self.findings().reads_clock
    }

    /// Returns the text, if it is literal.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        self.is_literal().then_some(&*self.source)
    }

    /// Renders the template with the variables of an event.
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
        match functions::at(scope.now(), || compiled.engine.execute_template_fmt(&mut output, MAIN, data)) {
            Ok(()) => Ok(Cow::Owned(output.text)),
            // The error may quote a value.
            Err(error) => Err(RenderError { message: scope.secrets().text(&output.explain(&error)).into_owned() }),
        }
    }

    /// Renders the template for readers of logs: each secret reads `[redacted]` before the template makes anything of it.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_without_secrets(&self, scope: &Scope) -> Result<String, RenderError> {
        let reads_secret = scope.secret_paths().are_rendered_by(self);
        let text =
            if reads_secret { self.render(&scope.masked())?.into_owned() } else { self.render(scope)?.into_owned() };
        Ok(scope.secrets().text(&text).into_owned())
    }

    fn findings(&self) -> &Findings {
        match &self.body {
            Body::Compiled(compiled) => &compiled.findings,
            Body::Literal | Body::Malformed(_) => &NOTHING,
        }
    }

    /// Makes a literal template, even of text with `{{`.
    fn literal(text: &str) -> Self {
        Self { source: text.into(), body: Body::Literal }
    }

    /// Whether the text is literal.
    fn is_literal(&self) -> bool {
        matches!(self.body, Body::Literal)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Template").field(&self.source).finish()
    }
}

/// The output of a rendering, with the limits on its length and writes.
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
    /// Returns the text of an error as Go prints it, or names the limit that was exceeded.
    fn explain(&self, error: &gotmpl::TemplateError) -> String {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's errors; the others speak for themselves")]
        match error {
            gotmpl::TemplateError::MissingKey { key } => format!("map has no entry for key {key:?}"),
            gotmpl::TemplateError::Write if self.writes > MAX_WRITES => {
                format!("more than {MAX_WRITES} pieces of text were written")
            }
            gotmpl::TemplateError::Write => format!("output is longer than {MAX_OUTPUT} bytes"),
            gotmpl::TemplateError::RangeIterLimit => {
                format!("more than {MAX_ITERATIONS} iterations of range were made")
            }
            gotmpl::TemplateError::Exec(message) => message.clone(),
            other => other.to_string(),
        }
    }
}

impl Tree {
    /// Parses every string of `value`, keys included.
    ///
    /// # Errors
    /// All strings that do not parse, each with its dotted path below `value`.
    pub fn parse(value: &Value) -> Result<Self, Vec<(String, TemplateError)>> {
        let (root, mistakes) = tree::parse(value);
        if mistakes.is_empty() { Ok(Self { root }) } else { Err(mistakes) }
    }

    /// As [`parse`](Self::parse), but a string that does not parse becomes a [malformed](Template::malformed) template.
    #[must_use]
    pub fn parse_lenient(value: &Value) -> Self {
        Self { root: tree::parse(value).0 }
    }

    /// The tree with the tags of the file that the value was read from: a string behind `!!int`, `!!float` or `!!bool`
    /// becomes a value of that type.
    #[must_use]
    pub fn tagged(mut self, written: &Node) -> Self {
        tree::tag(&mut self.root, written);
        self
    }

    /// Returns the dotted paths that the templates read from the root, each with the path of the template in
    /// the tree.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        tree::variables(&self.root)
    }

    /// Returns the templates, in the order of the tree.
    #[must_use]
    pub fn templates(&self) -> Vec<&Template> {
        tree::templates(&self.root)
    }

    /// Returns what is known of the value at a path of keys before rendering.
    #[must_use]
    pub fn part(&self, path: &[&str]) -> Part<'_> {
        tree::part(&self.root, path)
    }

    /// Returns the elements of the list at a path of keys, each as a tree; none if there is no list, or only rendering tells.
    #[must_use]
    pub fn elements(&self, path: &[&str]) -> Option<Vec<Self>> {
        Some(tree::elements(&self.root, path)?.into_iter().map(|root| Self { root }).collect())
    }

    /// Returns the value as its author wrote it: a template is its source, which contains `{{`, as no literal text does.
    /// Behind a tag such as `!!int` a template is any value of that type.
    #[must_use]
    pub fn specimen(&self) -> Value {
        tree::specimen(&self.root)
    }

    /// Returns the part of the tree that can contain the values at these paths of keys. A key that is a
    /// template can render to any key, so its entry is always included.
    #[must_use]
    pub fn keep(&self, paths: &[&[&str]]) -> Self {
        Self { root: tree::keep(&self.root, paths) }
    }

    /// Renders every template.
    ///
    /// # Errors
    /// The first template that fails, with its path; or two keys of a mapping that render to the same text.
    pub fn render(&self, scope: &Scope) -> Result<Value, RenderError> {
        tree::render(&self.root, scope)
    }
}

/// Returns an engine with this crate's functions and limits, and without templates.
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
