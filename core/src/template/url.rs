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
//! * A value in front of the author's text (a base URL, an `href`) holds what it likes but dot segments in its path.
//! * A value in the query holds what it likes.
//! * No value holds a control character: URL parsers drop some of them, and Go refuses them all.

use std::ops::Range;
use std::sync::Arc;

use gotmpl::TemplateError;

use super::{Body, Compiled, RenderError, Template, functions};
use crate::scope::Scope;

/// Stand around each value in the marked text. No value holds one, because a value holds no control character.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';
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
            Ok(gotmpl::Value::String(format!("{BEGIN}{value}{END}").into()))
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
        if self.written.source().contains([BEGIN, END]) {
            return Err(failed("it holds a control character".to_owned()));
        }
        let marked = self.marked.render(scope).map_err(|error| failed(error.message))?;
        let (url, values) = unmarked(&marked);
        check(&url, &values).map_err(failed)?;
        Ok(url)
    }
}

/// Takes the marks off, and says where the values stand.
fn unmarked(marked: &str) -> (String, Vec<Range<usize>>) {
    let mut url = String::with_capacity(marked.len());
    let mut values = Vec::new();
    let mut rest = marked;
    while let Some((text, tail)) = rest.split_once(BEGIN) {
        url.push_str(text);
        let (value, behind) = tail.split_once(END).unwrap_or((tail, ""));
        values.push(url.len()..url.len() + value.len());
        url.push_str(value);
        rest = behind;
    }
    url.push_str(rest);
    (url, values)
}

/// Says which value does not fit into its place.
fn check(url: &str, values: &[Range<usize>]) -> Result<(), String> {
    let mut front = 0;
    let leading = values.iter().take_while(|value| value.start == std::mem::replace(&mut front, value.end)).count();
    let (leading, inner) = values.split_at(leading);
    let misfit = |value: &Range<usize>| {
        format!(
            "the value {} does not fit into the path, where it has to be one segment: not empty, without / \\ ? # % \
             (or @ in a host), and neither . nor ..",
            quoted(&url[value.clone()])
        )
    };

    for value in inner {
        let before = &url[..value.start];
        if before.contains(['?', '#']) {
            // The query, where a value is free.
            break;
        }
        let text = &url[value.clone()];
        if text.contains(['/', '\\', '?', '#', '%']) || ends_within_encoding(before) {
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
        let touches = |value: &&Range<usize>| value.start <= end && value.end >= start;
        if let Some(value) = inner.iter().find(touches)
            && (segment.trim().is_empty() || is_dot_segment(segment))
        {
            return Err(misfit(value));
        }
        if leading.iter().any(|value| touches(&value)) && is_dot_segment(segment) {
            return Err(format!("a value brings the dot segment {segment:?} into the path"));
        }
        start = end + 1;
    }
    Ok(())
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
