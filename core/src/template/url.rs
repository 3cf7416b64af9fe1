//! The template of a URL, in which a value cannot leave its place in the path.
//!
//! In: a parsed [`Template`]; at event time, a [`Scope`]. Out: the URL, or the reason why a value does not fit into it.
//! The URL is not called and not resolved here.
//!
//! An event's `id` is whatever the sender wrote. As `../../x` it would turn a call about one resource into a call about
//! another one, whose 404 would then read as "the resource is gone". So the author's text gives the path its shape:
//!
//! * A value behind the author's first character is one segment of the path, or a part of one: it holds none of
//!   `/ \ ? # %`, it completes no percent-encoding, and the segment is neither empty nor a dot segment. In the host it holds no `@` either.
//! * A value that begins the URL (a base URL, an `href`) holds what it likes but dot segments in its path.
//! * Where the author's functions make such a value of several fields, each field is held to one segment, as behind the author's text. Free
//!   are the field that the value begins with, and a field behind the author's `?`.
//! * A value in the query holds what it likes.
//! * No value holds a control character: URL parsers drop some of them, and Go refuses them all.

use std::ops::Range;
use std::sync::Arc;

use gotmpl::TemplateError;
use serde_json::Value;

use super::origin::Origin;
use super::{Body, Compiled, RenderError, Template, functions};
use crate::scope::Scope;

/// Stand around each value in the marked text, which begins with its origin. No value holds one, because a value holds no control character.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';
/// Stands between the origin of a value and the value.
const MIDDLE: char = '\u{3}';
/// What ends a segment of a path or a path, or begins an encoded character.
const RESERVED: [char; 5] = ['/', '\\', '?', '#', '%'];
/// How much of a value is quoted in an error.
const MAX_QUOTED: usize = 64;

/// A template that renders to a URL.
#[derive(Debug, Clone)]
pub struct UrlTemplate {
    written: Template,
    /// Renders to the same text with a mark on each side of each value.
    marked: Arc<Template>,
}

impl UrlTemplate {
    /// Makes the template of a URL from any template.
    #[must_use]
    pub fn new(written: Template) -> Self {
        let Body::Compiled(compiled) = &written.body else {
            return Self { marked: Arc::new(written.clone()), written };
        };
        let engine = compiled.engine.clone().func(functions::SHOW, |values| {
            let value = functions::shown_text(values)?;
            if value.chars().any(|character| character.is_ascii_control()) {
                let message = format!("the value {} holds a control character, which no URL can", quoted(&value));
                return Err(TemplateError::Exec(message));
            }
            let origin = values.first().and_then(gotmpl::Value::as_str).unwrap_or_default();
            Ok(gotmpl::Value::String(format!("{BEGIN}{origin}{MIDDLE}{value}{END}").into()))
        });
        let Compiled { reads, reads_clock, doubts, .. } = &**compiled;
        let marked = Compiled { engine, reads: reads.clone(), reads_clock: *reads_clock, doubts: doubts.clone() };
        let marked = Template { body: Body::Compiled(Arc::new(marked)), ..written.clone() };
        Self { marked: Arc::new(marked), written }
    }

    /// The template as its author wrote it.
    #[must_use]
    pub fn written(&self) -> &Template {
        &self.written
    }

    /// The text that its author wrote.
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
            return Err(failed("it holds a control character".to_owned()));
        }
        let marked = self.marked.render(scope).map_err(|error| failed(error.message))?;
        let (url, values) = unmarked(&marked);
        check(&url, &values, |origin| self.texts(origin, scope)).map_err(failed)?;
        Ok(url)
    }

    /// The texts that may be in a value of this origin; none for a value that is one field.
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

/// A value in the URL.
struct Inserted {
    place: Range<usize>,
    origin: Origin,
}

/// Takes the marks off, and says where the values stand.
fn unmarked(marked: &str) -> (String, Vec<Inserted>) {
    let mut url = String::with_capacity(marked.len());
    let mut values = Vec::new();
    let mut rest = marked;
    while let Some((text, tail)) = rest.split_once(BEGIN) {
        url.push_str(text);
        let (value, behind) = tail.split_once(END).unwrap_or((tail, ""));
        let (origin, value) = value.split_once(MIDDLE).unwrap_or(("", value));
        values.push(Inserted { place: url.len()..url.len() + value.len(), origin: Origin::read(origin) });
        url.push_str(value);
        rest = behind;
    }
    url.push_str(rest);
    (url, values)
}

/// Every text within a value, keys included.
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

/// Says which value does not fit into its place.
fn check<'s>(url: &str, values: &[Inserted], texts: impl Fn(&Origin) -> Option<Vec<&'s str>>) -> Result<(), String> {
    let leading = values.first().filter(|value| value.place.start == 0);
    let inner: Vec<_> = values[usize::from(leading.is_some())..].iter().map(|value| &value.place).collect();
    if let Some(value) = leading
        && let Some(texts) = texts(&value.origin)
        && let Some(text) = misplaced(&url[value.place.clone()], &texts)
    {
        return Err(format!("{} unless the URL begins with it", misfit(text)));
    }
    let misfit = |value: &Range<usize>| misfit(&url[value.clone()]);

    for value in &inner {
        let before = &url[..value.start];
        if before.contains(['?', '#']) {
            // The query, where a value is free.
            break;
        }
        let text = &url[(*value).clone()];
        if text.contains(RESERVED) || ends_within_encoding(before) {
            return Err(misfit(value));
        }
        if text.contains('@') && is_in_authority(before) {
            return Err(misfit(value));
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
            return Err(misfit(value));
        }
        if leading.is_some_and(|value| touches(&value.place)) && is_dot_segment(segment) {
            return Err(format!("a value brings the dot segment {segment:?} into the path"));
        }
        start = end + 1;
    }
    Ok(())
}

fn misfit(value: &str) -> String {
    format!(
        "the value {} does not fit into the path, where it has to be one segment: not empty, without / \\ ? # % \
         (or @ in a host), and neither . nor ..",
        quoted(value)
    )
}

/// The first of `texts` that stands in `value`, the beginning of a URL that template functions computed. The comparison ignores
/// case, because a function may have changed it.
fn misplaced<'t>(value: &str, texts: &[&'t str]) -> Option<&'t str> {
    let value = value.to_lowercase();
    let lowered: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
    // Only where no text brings one is the question mark the author's.
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
        // The value is one text, perhaps trimmed.
        return None;
    }
    let is_misplaced = |text: &str| {
        if text.trim().is_empty() {
            return has_empty_segment;
        }
        let is_unsafe = text.contains(RESERVED) || text.contains('@') && authority.contains('@');
        let is_first = value.rfind(text) == Some(0);
        let is_in_query = query.contains(text) && !path.contains(text);
        is_unsafe && !is_first && !is_in_query
    };
    texts.iter().zip(&lowered).find(|(_, lowered)| is_misplaced(lowered)).map(|(text, _)| *text)
}

/// Whether the next character would be taken for a part of `%2F`.
fn ends_within_encoding(text: &str) -> bool {
    let mut back = text.bytes().rev();
    match back.next() {
        Some(b'%') => true,
        Some(digit) => digit.is_ascii_hexdigit() && back.next() == Some(b'%'),
        None => false,
    }
}

/// Whether what follows is a part of user, host and port.
fn is_in_authority(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| !scheme.contains('/') && !rest.contains(['/', '\\']))
}

/// Whether a URL parser would take a segment for `.` or `..`: it drops line breaks and tabs, and decodes dots.
fn is_dot_segment(segment: &str) -> bool {
    let plain: String = segment.chars().filter(|character| !character.is_ascii_control()).collect();
    let plain = plain.trim().to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

/// A value as an error quotes it: its beginning, if it is long.
fn quoted(value: &str) -> String {
    let beginning: String = value.chars().take(MAX_QUOTED).collect();
    if beginning.len() < value.len() { format!("{beginning:?}…") } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests;
