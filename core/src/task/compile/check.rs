//! The checks of names, expressions, templates, paths and API calls, which all parts of a task share.

use std::collections::BTreeSet;

use lifecycle_config::decode::suggest;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Mistake, Severity};
use lifecycle_config::document::{Content, Document, Path, Position};
use lifecycle_config::duration::{Units, parse_nanoseconds};

use super::Surroundings;
use super::names::{Known, is_name, is_reserved};
use super::variables;
use crate::api_call::{self, ApiCall, Method, RetryBackoff};
use crate::task::spec::{ApiCallSpec, LogSpec, MethodSpec};
use crate::task::{LogLevel, LogLine};
use lifecycle_language::cel::{self, Expression, ExpressionError, UnknownName};
use lifecycle_language::field::FieldPath;
use lifecycle_language::resource_reads::ResourceReads;
use lifecycle_language::template::{self, Template, TemplateError, UrlTemplate};

/// The place of a value: a document, and the path in it.
#[derive(Clone)]
pub(super) struct Place<'d> {
    pub(super) document: &'d Document,
    pub(super) path: Path,
}

impl Place<'_> {
    pub(super) fn key(&self, key: &str) -> Self {
        Self { document: self.document, path: self.path.key(key) }
    }

    pub(super) fn index(&self, index: usize) -> Self {
        Self { document: self.document, path: self.path.index(index) }
    }
}

/// Whether the Go adapter has a key and checks its text at load: a file that loads there must load here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// The Go adapter checks the syntax of expressions, and the variables of templates, at load.
    Inherited,
    /// The Go adapter reads the text only when an event needs it.
    Unchecked,
    /// The Go adapter does not have the key.
    New,
}

/// The help for text that the Go adapter accepts at load and then fails to parse at an event.
const FAILS_LATER: &str = "the file loads, and an event fails where it needs this value";

/// Collects diagnostics, and the environment variables that the task names.
pub(super) struct Checker<'c> {
    pub(super) surroundings: &'c Surroundings<'c>,
    pub(super) known: &'c Known,
    diagnostics: &'c mut Diagnostics,
    environment: BTreeSet<String>,
}

impl<'c> Checker<'c> {
    pub(super) fn new(surroundings: &'c Surroundings<'c>, known: &'c Known, diagnostics: &'c mut Diagnostics) -> Self {
        Self { surroundings, known, diagnostics, environment: BTreeSet::new() }
    }

    pub(super) fn into_environment(self) -> BTreeSet<String> {
        self.environment
    }

    pub(super) fn error(&mut self, place: &Place<'_>, message: impl Into<String>) {
        self.report(Severity::Error, place, None, message.into(), None);
    }

    pub(super) fn error_with_help(&mut self, place: &Place<'_>, message: impl Into<String>, help: impl Into<String>) {
        self.report(Severity::Error, place, None, message.into(), Some(help.into()));
    }

    /// An error about a required environment variable that is not set.
    pub(super) fn unset(&mut self, place: &Place<'_>, variable: &str) {
        let message = format!("required environment variable {variable} is not set");
        let help = format!("set {variable} for this command too, to any value: `check` does not print it");
        self.diagnostics.push_with(Severity::Error, || Diagnostic {
            mistake: Some(Mistake::UnsetVariable),
            ..place.document.diagnostic(Severity::Error, &place.path, message, Some(help))
        });
    }

    pub(super) fn warn(&mut self, place: &Place<'_>, message: impl Into<String>, help: Option<String>) {
        self.report(Severity::Warning, place, None, message.into(), help);
    }

    pub(super) fn note(&mut self, place: &Place<'_>, message: impl Into<String>, help: impl Into<String>) {
        self.report(Severity::Note, place, None, message.into(), Some(help.into()));
    }

    /// Adds the diagnostics of parsing a referenced file.
    pub(super) fn extend(&mut self, diagnostics: Diagnostics) {
        self.diagnostics.extend(diagnostics);
    }

    fn report(
        &mut self,
        severity: Severity,
        place: &Place<'_>,
        position: Option<Position>,
        message: String,
        help: Option<String>,
    ) {
        let position = position.unwrap_or_else(|| place.document.locate(&place.path));
        let diagnostic = || place.document.diagnostic_at(severity, &place.path, position, message, help);
        self.diagnostics.push_with(severity, diagnostic);
    }

    /// Whether the value at `place` has an error already. The decoder then put a placeholder there, so
    /// further errors about the value would not be the author's.
    pub(super) fn is_reported(&self, place: &Place<'_>) -> bool {
        let path = place.path.to_string();
        let file = place.document.file();
        let mut diagnostics = self.diagnostics.all().iter();
        diagnostics.any(|diagnostic| {
            diagnostic.severity == Severity::Error && diagnostic.path == path && diagnostic.file == file
        })
    }

    /// Records an environment variable that the task reads.
    pub(super) fn record_environment(&mut self, variable: &str) {
        self.environment.insert(variable.to_owned());
    }

    /// Checks a name that has to be an identifier. The decoder has reported an empty one.
    pub(super) fn name(&mut self, place: &Place<'_>, name: &str) {
        if !name.is_empty() && !is_name(name) {
            self.error(
                place,
                format!(
                    "\"{name}\": must start with lowercase letter and contain only letters, digits and underscores (no hyphens)"
                ),
            );
        }
    }

    /// Checks the name of a variable that the task sets. The Go adapter accepts every name, but a few cannot
    /// be read.
    pub(super) fn variable(&mut self, place: &Place<'_>, name: &str) {
        if is_reserved(name) {
            let message = format!("`{name}` is a variable that the adapter sets itself, and each hides the other");
            self.warn(place, message, Some(format!("write another name, such as `my_{name}`")));
        } else if name.contains(char::is_whitespace) {
            let message = format!("\"{name}\" holds a blank, so that no expression and no template can read it");
            let joined: Vec<_> = name.split_whitespace().collect();
            self.warn(place, message, Some(format!("write `{}`", joined.join("_"))));
        }
    }

    /// Compiles an expression. Where blank text is an error, the caller reports it.
    pub(super) fn expression(&mut self, place: &Place<'_>, text: &str, known: &Known, key: Key) -> Option<Expression> {
        let expression = self.expression_where(place, text, &|name| known.has_variable(name), known, key)?;
        if ["adapter", "config", "event"].iter().any(|variable| text.contains(variable)) {
            for path in expression.member_paths() {
                self.members(place, &path);
            }
        }
        Some(expression)
    }

    /// Warns if a path of keys reads a member that never exists.
    pub(super) fn members(&mut self, place: &Place<'_>, path: &[&str]) {
        if let Some(unknown) = variables::unknown(path, self.known) {
            self.warn(place, unknown.message, Some(unknown.help));
        }
    }

    /// Compiles an expression over a response, whose variables are unknown until an event: checks its
    /// functions only.
    pub(super) fn response_expression(&mut self, place: &Place<'_>, text: &str) -> Option<Expression> {
        let known = self.known;
        self.expression_where(place, text, &|_| true, known, Key::Inherited)
    }

    /// Compiles an expression that reads this variable alone.
    pub(super) fn expression_over(&mut self, place: &Place<'_>, text: &str, variable: &str) -> Option<Expression> {
        let known = self.known;
        self.expression_where(place, text, &|name| name == variable, known, Key::New)
    }

    fn expression_where(
        &mut self,
        place: &Place<'_>,
        text: &str,
        is_known: &dyn Fn(&str) -> bool,
        known: &Known,
        key: Key,
    ) -> Option<Expression> {
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(error) => {
                let (position, help) = match &error {
                    ExpressionError::Parse { line, column, help, .. } => {
                        let position = place.document.locate_within(&place.path, (*line).max(1), (*column).max(1));
                        (Some(position), help.clone())
                    }
                    ExpressionError::Limit(_) => (None, None),
                };
                let (severity, help) = match (key, help) {
                    (Key::Inherited | Key::New, help) => (Severity::Error, help),
                    (Key::Unchecked, None) => (Severity::Warning, Some(FAILS_LATER.to_owned())),
                    (Key::Unchecked, Some(help)) => (Severity::Warning, Some(format!("{help}; {FAILS_LATER}"))),
                };
                self.report(severity, place, position, error.to_string(), help);
                return None;
            }
        };
        let severity = match key {
            Key::Inherited | Key::Unchecked => Severity::Warning,
            Key::New => Severity::Error,
        };
        for unknown in expression.unknown_names(is_known) {
            let (message, help) = match unknown {
                UnknownName::Variable(name) if known.why_later(&name).is_some() => {
                    let why = known.why_later(&name).unwrap_or_default();
                    (format!("`{name}` has no value yet: {why}"), None)
                }
                UnknownName::Variable(name) => {
                    let help = suggest(&name, &known.variables()).map(|similar| format!("did you mean `{similar}`?"));
                    (format!("undeclared variable `{name}`"), help)
                }
                UnknownName::Function(name) => {
                    let similar = suggest(&name, &cel::functions()).map(|it| format!("did you mean `{it}`?"));
                    let help = similar.unwrap_or_else(|| "docs/cel.md lists every function".to_owned());
                    (format!("unknown function `{name}`"), Some(help))
                }
            };
            self.report(severity, place, None, message, help);
        }
        for error in expression.pattern_errors() {
            let help = "docs/cel.md says what a pattern may contain";
            self.report(severity, place, None, format!("matches() always fails: {error}"), Some(help.to_owned()));
        }
        for test in expression.null_tests() {
            let field = test.field;
            let message = format!(
                "`{field}` may be null in the API's answer, and null is present: the test is true then, as for a value"
            );
            let help = format!("write `{}`, which is false for null and for a field that is left out", test.comparison);
            self.warn(place, message, Some(help));
        }
        for fault in expression.faults(&|path| self.known.is_number(path)) {
            self.warn(place, fault.message, Some(fault.help));
        }
        self.resource_reads(place, &expression);
        for variable in expression.member_reads("env") {
            self.record_environment(&variable);
        }
        Some(expression)
    }

    fn resource_reads(&mut self, place: &Place<'_>, expression: &Expression) {
        let ResourceReads::Only(names) = expression.resource_reads() else { return };
        let unknown: Vec<_> = names.iter().filter(|name| !self.known.has_resource(name)).cloned().collect();
        for name in unknown {
            let help = suggest(&name, &self.known.resources()).map(|similar| format!("did you mean `{similar}`?"));
            self.warn(place, format!("`resources.{name}` never exists: no resource has that name"), help);
        }
    }

    /// Compiles a template over the variables in `known`, in a key that the Go adapter has.
    pub(super) fn template(&mut self, place: &Place<'_>, text: &str, known: &Known) -> Option<Template> {
        self.template_in(place, text, known, Key::Inherited)
    }

    /// Compiles a template over the variables in `known`.
    pub(super) fn template_in(&mut self, place: &Place<'_>, text: &str, known: &Known, key: Key) -> Option<Template> {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(error) => {
                self.template_error(place, text, &error, key);
                return match key {
                    Key::Inherited | Key::Unchecked => Some(Template::malformed(text, &error.to_string())),
                    Key::New => None,
                };
            }
        };
        let plain = plain_variables(text);
        for variable in template.variables() {
            match variable.strip_prefix("env.").and_then(|rest| rest.split('.').next()) {
                Some(name) => self.record_environment(name),
                None if variable == "env" => {
                    let help = "name the variable: `{{ .env.NAME }}`".to_owned();
                    self.warn(place, "reads `env` as a whole, which holds named variables only", Some(help));
                }
                None => {}
            }
            let is_text = |name: &&str| {
                !known.has_variable(name) && variable.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
            };
            if let Some(name) = ["now", "date"].iter().find(|name| is_text(name)) {
                let help = "print it in parts: `{{ now | date \"2006-01-02\" }}`".to_owned();
                self.warn(place, format!("`.{name}` is text and has no members"), Some(help));
            }
            if known.has_path(variable) {
                self.members(place, &variable.split('.').collect::<Vec<_>>());
                continue;
            }
            // The Go adapter checks only variables that stand alone or before a pipe, and accepts all others;
            // an error for one of those would reject a file that it loads.
            let first = variable.split('.').next().unwrap_or_default();
            let is_declared =
                first != "resources" || variable.split('.').nth(1).is_none_or(|it| known.has_resource(it));
            let later = known.why_later(first).filter(|_| is_declared);
            let is_error = match key {
                // `index .resources "job"` looks an entry up, and is no undefined variable.
                Key::New => variable != "resources" || plain.contains("resources"),
                Key::Inherited if later.is_some() => false,
                Key::Inherited => plain.contains(variable.as_str()),
                Key::Unchecked => false,
            };
            // `index .resources "job"` is valid: it looks an entry up.
            if variable == "resources" && !is_error && later.is_none() {
                continue;
            }
            let severity = if is_error { Severity::Error } else { Severity::Warning };
            if let Some(why) = later {
                self.report(severity, place, None, format!("`{first}` has no value yet: {why}"), None);
                continue;
            }
            let help = suggest(first, &known.variables()).map(|similar| format!("did you mean `{similar}`?"));
            let message = format!("undefined template variable \"{variable}\"");
            self.report_within(severity, place, text, position_of(text, variable), message, help);
        }
        Some(template)
    }

    /// Reports an error in the document that begins at a line of `text`, which stands at `place`.
    pub(super) fn error_in_document(
        &mut self,
        place: &Place<'_>,
        text: &str,
        line: usize,
        message: String,
        help: Option<String>,
    ) {
        self.report_within(Severity::Error, place, text, Some((line, 1)), message, help);
    }

    /// Reports a diagnostic at a line and column within `text`: at that position of the file if the text is the whole value at
    /// `place`. A key has no such position; that in a referenced file stands in the message.
    fn report_within(
        &mut self,
        severity: Severity,
        place: &Place<'_>,
        text: &str,
        position: Option<(usize, usize)>,
        message: String,
        help: Option<String>,
    ) {
        match position {
            Some((line, column)) if is_value(place, text) => {
                let position = place.document.locate_within(&place.path, line, column);
                self.report(severity, place, Some(position), message, help);
            }
            Some((line, _)) if text.contains('\n') => {
                self.report(severity, place, None, format!("line {line}: {message}"), help);
            }
            Some(_) | None => self.report(severity, place, None, message, help),
        }
    }

    /// Reports a template error, at its line and column in the template if the template is the whole value at
    /// `place`. A key or a referenced file has no such position in the document.
    fn template_error(&mut self, place: &Place<'_>, text: &str, error: &TemplateError, key: Key) {
        let functions = error.unknown_function().map(|unknown| {
            let known = template::functions();
            let similar = suggest(unknown, &known).map(|similar| format!("did you mean `{similar}`? "));
            format!("{}templates can call: {}", similar.unwrap_or_default(), known.join(", "))
        });
        let (severity, help) = match (key, functions) {
            (Key::Inherited | Key::Unchecked, None) => (Severity::Warning, Some(FAILS_LATER.to_owned())),
            (Key::Inherited | Key::Unchecked, Some(help)) => {
                (Severity::Warning, Some(format!("{help}; {FAILS_LATER}")))
            }
            (Key::New, help) => (Severity::Error, help),
        };
        let position = error.position.filter(|_| is_value(place, text));
        let Some((line, column)) = position else {
            return self.report(severity, place, None, error.to_string(), help);
        };
        let position = place.document.locate_within(&place.path, line, column);
        let message = format!("template parse error: {}", error.message);
        self.report(severity, place, Some(position), message, help);
    }

    /// Compiles the text of a `field:` key to a path; reports a diagnostic if it does not parse.
    pub(super) fn field(&mut self, place: &Place<'_>, text: &str) -> FieldPath {
        match FieldPath::parse(text) {
            Ok(path) => {
                if let Some(variable) = environment_of(text) {
                    self.record_environment(variable);
                }
                if path.finds_nothing() {
                    let help = "as in the Go adapter; write `a.b`, or the whole path in braces: `{$.a.b}`".to_owned();
                    self.warn(place, format!("the path `{text}` finds nothing"), Some(help));
                }
                path
            }
            Err(error) => {
                self.warn(place, error.to_string(), Some(FAILS_LATER.to_owned()));
                FieldPath::malformed(text, error)
            }
        }
    }

    /// Compiles a `field:` path over the variables, and checks its first keys.
    pub(super) fn variable_field(&mut self, place: &Place<'_>, text: &str) -> FieldPath {
        let path = self.field(place, text);
        let prefix = path.prefix();
        self.members(place, &prefix);
        let known = self.known;
        if let Some(first) = prefix.first().filter(|first| !first.is_empty() && !known.has_variable(first)) {
            match known.why_later(first) {
                Some(why) => self.warn(place, format!("`{first}` has no value yet: {why}"), None),
                None => {
                    let help = suggest(first, &known.variables()).map(|similar| format!("did you mean `{similar}`?"));
                    self.warn(place, format!("undeclared variable `{first}`: the path finds nothing"), help);
                }
            }
        }
        path
    }

    /// Compiles an API call of a param, precondition or post action, with all of its templates.
    pub(super) fn api_call(&mut self, place: &Place<'_>, spec: &ApiCallSpec, known: &Known) -> Option<ApiCall> {
        let url = self.template(&place.key("url"), &spec.url, known);
        let timeout = spec.timeout.as_deref().and_then(|text| self.timeout(&place.key("timeout"), text));
        let retry_backoff =
            spec.retry_backoff.as_deref().and_then(|text| self.backoff(&place.key("retry_backoff"), text));
        let body = match spec.body.as_deref() {
            None | Some("") => None,
            Some(body) => Some(self.template(&place.key("body"), body, known)?),
        };
        let headers = spec.headers.iter().enumerate().filter_map(|(index, header)| {
            let place = place.key("headers").index(index);
            if !header.name.is_empty() && !is_header_name(&header.name) {
                let message = format!("\"{}\" is not the name of a header: the call fails each time", header.name);
                let help = "write letters, digits and `-` only, such as `X-Request-Source`".to_owned();
                self.warn(&place.key("name"), message, Some(help));
            }
            let place = place.key("value");
            Some((header.name.clone(), self.template(&place, &header.value, known)?))
        });
        let headers = headers.collect();
        Some(ApiCall {
            method: method(spec.method),
            url: UrlTemplate::new(url?),
            timeout,
            retry_attempts: spec.retry_attempts.and_then(api_call::attempts),
            retry_backoff,
            body,
            headers,
        })
    }

    fn timeout(&mut self, place: &Place<'_>, text: &str) -> Option<std::time::Duration> {
        if text.is_empty() {
            return None;
        }
        match parse_nanoseconds(text, Units::Go) {
            Ok(nanoseconds) => u64::try_from(nanoseconds).ok().filter(|n| *n > 0).map(std::time::Duration::from_nanos),
            Err(error) => {
                let unit = text.parse::<u64>().is_ok();
                let example = if unit { format!("{text}s") } else { "10s".to_owned() };
                self.error_with_help(
                    place,
                    error.to_string(),
                    format!("write a number with its unit, such as `{example}`"),
                );
                None
            }
        }
    }

    fn backoff(&mut self, place: &Place<'_>, text: &str) -> Option<RetryBackoff> {
        match text {
            "" => None,
            "exponential" => Some(RetryBackoff::Exponential),
            "linear" => Some(RetryBackoff::Linear),
            "constant" => Some(RetryBackoff::Constant),
            other => {
                let message = format!("\"{other}\" is unknown and is taken as constant");
                self.warn(place, message, Some("write exponential, linear or constant".to_owned()));
                Some(RetryBackoff::Constant)
            }
        }
    }

    /// Compiles a log line; none without a message.
    pub(super) fn log(&mut self, place: &Place<'_>, spec: &LogSpec) -> Option<LogLine> {
        let text = spec.message.as_deref().filter(|message| !message.is_empty())?;
        let known = self.known;
        let message = self.template_in(&place.key("message"), text, known, Key::Unchecked)?;
        let level = spec.level.as_deref().unwrap_or_default();
        let level = match level.to_ascii_lowercase().as_str() {
            "debug" => LogLevel::Debug,
            "" | "info" => LogLevel::Info,
            "warn" | "warning" => LogLevel::Warn,
            "error" => LogLevel::Error,
            _ => {
                let message = format!("\"{level}\" is unknown and is taken as info");
                self.warn(&place.key("level"), message, Some("write debug, info, warn or error".to_owned()));
                LogLevel::Info
            }
        };
        Some(LogLine { message, level })
    }
}

/// Whether a name is a token of RFC 9110, as the names of headers have to be.
fn is_header_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

fn method(spec: MethodSpec) -> Method {
    match spec {
        MethodSpec::Get => Method::Get,
        MethodSpec::Post => Method::Post,
        MethodSpec::Put => Method::Put,
        MethodSpec::Patch => Method::Patch,
        MethodSpec::Delete => Method::Delete,
    }
}

/// Whether `text` is the whole value at `place`, and not a part of it or the content of a file.
fn is_value(place: &Place<'_>, text: &str) -> bool {
    let node = place.document.node(&place.path);
    node.is_some_and(|node| matches!(&node.content, Content::Scalar(scalar) if scalar.text == text))
}

/// The line and the column, both from 1, of the first action that reads `variable`.
fn position_of(text: &str, variable: &str) -> Option<(usize, usize)> {
    let is_read = |at: usize, found: &str| {
        let (before, rest) = (&text[..at], &text[at + found.len()..]);
        let is_in_action = before.rfind("{{") > before.rfind("}}");
        is_in_action && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    let read = format!(".{variable}");
    let (at, _) = text.match_indices(&read).find(|(at, found)| is_read(*at, found))?;
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
    Some((line, column))
}

/// Returns the variables that stand alone or before a pipe in an action: `{{ .a.b }}`, `{{ .a | upper }}`.
fn plain_variables(text: &str) -> BTreeSet<&str> {
    let actions = text.split("{{").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('.'));
    let variables = actions.filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))?;
        let (variable, rest) = rest.split_at(end);
        let rest = rest.trim_start();
        (!variable.is_empty() && (rest.starts_with("}}") || rest.starts_with('|'))).then_some(variable)
    });
    variables.collect()
}

/// Returns the environment variable that a path reads: `env.HOME`, `{.env.HOME}`.
fn environment_of(path: &str) -> Option<&str> {
    let path = path.trim().trim_start_matches('{').trim_start_matches(['$', '.']);
    let name = path.strip_prefix("env.")?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}
