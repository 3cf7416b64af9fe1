//! Templates of URLs, in which no value can change the structure of the path.
//!
//! In: a parsed [`Template`], and at each event a [`Scope`]. Out: the URL. Fails if the template fails, or if
//! a value does not fit into the URL. Neither resolves nor calls the URL.
//!
//! An event's `id` is whatever the sender wrote. `../../x` would turn a call about one resource into a call
//! about another, and its 404 would then mean "the resource is gone". So the author's text determines the
//! structure of the path:
//!
//! * A value after the author's first character is one segment of the path, or a part of one: it contains
//!   none of `/ \ ? # %`, completes no percent-encoding, and the segment is neither empty nor a dot segment.
//!   In the host, a value contains no `@` either.
//! * A value that begins the URL (a base URL, an `href`) may contain anything but dot segments in its path.
//! * If the author's functions compute such a first value from several fields, each field has to be one
//!   segment, as after the author's text. Exceptions are the field with which the value begins, and a field
//!   after the author's `?`.
//! * A value in the query may contain anything.
//! * No value contains a control character: URL parsers drop some of them, and Go rejects them all.

use std::ops::Range;
use std::sync::Arc;

use gotmpl::TemplateError;
use serde_json::Value;

use super::origin::Origin;
use super::{Body, Compiled, RenderError, Template, functions};
use crate::scope::Scope;

/// The marks around each inserted value, with its origin, in the marked text. No value contains a mark,
/// because values with control characters are rejected.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';
/// The mark between the origin of a value and the value.
const MIDDLE: char = '\u{3}';
/// The characters that end a path or its segment, or begin a percent-encoding.
const RESERVED: [char; 5] = ['/', '\\', '?', '#', '%'];
/// The most characters of a value in an error.
const MAX_QUOTED: usize = 64;

/// A template that renders to a URL.
#[derive(Debug, Clone)]
pub struct UrlTemplate {
    written: Template,
    /// The template with marks around each value that it inserts.
    marked: Arc<Template>,
}

impl UrlTemplate {
    /// Makes a URL template from any template.
    #[must_use]
    pub fn new(written: Template) -> Self {
        let Body::Compiled(compiled) = &written.body else {
            return Self { marked: Arc::new(written.clone()), written };
        };
        let engine = compiled.engine.clone().func(functions::SHOW, |values| {
            let value = functions::printed_text(values)?;
            if value.chars().any(|character| character.is_ascii_control()) {
                let message = format!("the value {} contains a control character, which no URL may", quoted(&value));
                return Err(TemplateError::Exec(message));
            }
            let origin = values.first().and_then(gotmpl::Value::as_str).unwrap_or_default();
            Ok(gotmpl::Value::String(format!("{BEGIN}{origin}{MIDDLE}{value}{END}").into()))
        });
        let marked = Compiled { engine, reads: compiled.reads.clone(), findings: compiled.findings.clone() };
        let marked = Template { body: Body::Compiled(Arc::new(marked)), ..written.clone() };
        Self { marked: Arc::new(marked), written }
    }

    /// Returns the template as its author wrote it.
    #[must_use]
    pub fn written(&self) -> &Template {
        &self.written
    }

    /// Returns the text that its author wrote.
    #[must_use]
    pub fn source(&self) -> &str {
        self.written.source()
    }

    /// Renders the URL.
    ///
    /// # Errors
    /// The template fails, or a value does not fit into the URL.
    pub fn render(&self, scope: &Scope) -> Result<String, RenderError> {
        if let Some(literal) = self.written.as_literal() {
            return Ok(literal.to_owned());
        }
        let failed = |message: String| RenderError { message: format!("URL {}: {message}", self.written.source()) };
        if self.written.source().contains([BEGIN, MIDDLE, END]) {
            return Err(failed("it contains a control character".to_owned()));
        }
        let marked = self.marked.render(scope).map_err(|error| failed(error.message))?;
        let (url, values) = unmarked(&marked);
        check(&url, &values, |origin| self.texts(origin, scope)).map_err(failed)?;
        Ok(url)
    }

    /// Returns the texts that a value of this origin can contain; none for a value that is a single field.
    fn texts<'s>(&self, origin: &Origin, scope: &'s Scope) -> Option<Vec<&'s str>> {
        let paths = match origin {
            Origin::Field => return None,
            Origin::Fields(paths) => paths,
            Origin::Unknown if self.written.reads_root() => {
                let mut texts = Vec::new();
                scope.variables().for_each(|(_, value)| collect_texts(value, &mut texts));
                return Some(texts);
            }
            Origin::Unknown => self.written.variables(),
        };
        let mut texts = Vec::new();
        for path in paths {
            let (variable, path) = path.split_once('.').unwrap_or((path, ""));
            let Some(mut value) = scope.get(variable) else { continue };
            for field in path.split('.') {
                value = value.get(field).unwrap_or(value);
            }
            collect_texts(value, &mut texts);
        }
        Some(texts)
    }
}

/// A value inserted into the URL.
struct Inserted {
    range: Range<usize>,
    origin: Origin,
}

/// Removes the marks, and returns the URL with the ranges of the values.
fn unmarked(marked: &str) -> (String, Vec<Inserted>) {
    let mut url = String::with_capacity(marked.len());
    let mut values = Vec::new();
    let mut rest = marked;
    while let Some((text, tail)) = rest.split_once(BEGIN) {
        url.push_str(text);
        let (value, behind) = tail.split_once(END).unwrap_or((tail, ""));
        let (origin, value) = value.split_once(MIDDLE).unwrap_or(("", value));
        values.push(Inserted { range: url.len()..url.len() + value.len(), origin: Origin::read(origin) });
        url.push_str(value);
        rest = behind;
    }
    url.push_str(rest);
    (url, values)
}

/// Collects every text within a value, keys included.
fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            texts.push(key);
            collect_texts(value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Fails with the first value that does not fit into its position.
fn check<'s>(url: &str, values: &[Inserted], texts: impl Fn(&Origin) -> Option<Vec<&'s str>>) -> Result<(), String> {
    let leading = values.first().filter(|value| value.range.start == 0);
    let inner: Vec<_> = values[usize::from(leading.is_some())..].iter().map(|value| &value.range).collect();
    if let Some(value) = leading
        && let Some(texts) = texts(&value.origin)
        && let Some(text) = unfitting_text(&url[value.range.clone()], &texts)
    {
        return Err(format!("{} unless the URL begins with it", misfit_message(text)));
    }
    let misfit_of = |value: &Range<usize>| misfit_message(&url[value.clone()]);

    for value in &inner {
        let before = &url[..value.start];
        if before.contains(['?', '#']) {
            // The query begins here, and may contain any value.
            break;
        }
        let text = &url[(*value).clone()];
        if text.contains(RESERVED) || ends_within_encoding(before) {
            return Err(misfit_of(value));
        }
        if text.contains('@') && is_in_authority(before) {
            return Err(misfit_of(value));
        }
    }

    let path = url.split(['?', '#']).next().unwrap_or_default();
    let mut start = 0;
    for segment in path.split(['/', '\\']) {
        let end = start + segment.len();
        let touches = |value: &Range<usize>| value.start <= end && value.end >= start;
        if let Some(value) = inner.iter().find(|value| touches(value))
            && (segment.trim().is_empty() || is_dot_segment(segment))
        {
            return Err(misfit_of(value));
        }
        if leading.is_some_and(|value| touches(&value.range)) && is_dot_segment(segment) {
            return Err(format!("a value brings the dot segment {segment:?} into the path"));
        }
        start = end + 1;
    }
    Ok(())
}

fn misfit_message(value: &str) -> String {
    format!(
        "the value {} does not fit into the path, where it has to be one segment: not empty, without / \\ ? # % \
         (or @ in a host), and neither . nor ..",
        quoted(value)
    )
}

/// Returns the first of `texts` that would break the path, if any does. `value` begins the URL, and template
/// functions computed it from fields with these texts. Ignores case, because a function may have changed it.
fn unfitting_text<'t>(value: &str, texts: &[&'t str]) -> Option<&'t str> {
    let value = value.to_lowercase();
    let lowered: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
    // The question mark is the author's only if no text contains one.
    let is_authors = !lowered.iter().any(|text| text.contains(['?', '#']));
    let (path, query) = match value.find(['?', '#']).filter(|_| is_authors) {
        Some(end) => value.split_at(end),
        None => (&*value, ""),
    };
    let (authority, segments) = match path.split_once("://").filter(|(scheme, _)| !scheme.contains('/')) {
        Some((_, rest)) => (rest.split(['/', '\\']).next().unwrap_or_default(), rest),
        None => ("", path.split_once(['/', '\\']).map_or("none", |(_, rest)| rest)),
    };
    let has_empty_segment = segments.split(['/', '\\']).any(|segment| segment.trim().is_empty());
    let is_blank = |text: &String| text.trim().is_empty();
    if lowered.iter().any(|text| text.contains(&value)) && !(has_empty_segment && lowered.iter().any(is_blank)) {
        // The value is a single text, perhaps trimmed.
        return None;
    }
    let is_unfit = |text: &str| {
        if text.trim().is_empty() {
            return has_empty_segment;
        }
        let is_unsafe = text.contains(RESERVED) || text.contains('@') && authority.contains('@');
        let is_first = value.rfind(text) == Some(0);
        let is_in_query = query.contains(text) && !path.contains(text);
        is_unsafe && !is_first && !is_in_query
    };
    texts.iter().zip(&lowered).find(|(_, lowered)| is_unfit(lowered)).map(|(text, _)| *text)
}

/// Whether the text ends within a percent-encoding such as `%2F`, so that the next character would complete
/// it.
fn ends_within_encoding(text: &str) -> bool {
    let mut back = text.bytes().rev();
    match back.next() {
        Some(b'%') => true,
        Some(digit) => digit.is_ascii_hexdigit() && back.next() == Some(b'%'),
        None => false,
    }
}

/// Whether the text ends within the authority of a URL: user, host and port.
fn is_in_authority(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| !scheme.contains('/') && !rest.contains(['/', '\\']))
}

/// Whether a URL parser would read a segment as `.` or `..`: it drops line breaks and tabs, and decodes
/// `%2e`.
fn is_dot_segment(segment: &str) -> bool {
    let plain: String = segment.chars().filter(|character| !character.is_ascii_control()).collect();
    let plain = plain.trim().to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

/// Quotes a value for an error; of a long value, its beginning.
fn quoted(value: &str) -> String {
    let beginning: String = value.chars().take(MAX_QUOTED).collect();
    if beginning.len() < value.len() { format!("{beginning:?}…") } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests;
