//! The parts that several pages have.

use std::borrow::Cow;

use jiff::{Timestamp, Unit};
use maud::{Markup, PreEscaped, html};

use super::capital;
use crate::source::Away;
use crate::why::{Tone, age};

/// A point in time: how long ago, with the time itself for those who point at it.
pub(super) fn ago(time: Option<Timestamp>, now: Timestamp) -> Markup {
    let Some(time) = time else { return html! { span.faint { "–" } } };
    let exact = time.round(Unit::Second).unwrap_or(time);
    html! { time datetime=(exact) title=(exact) { (age(now.duration_since(time))) " ago" } }
}

/// A source without an answer.
pub(super) fn away(away: &Away) -> Markup {
    html! { p.away role="alert" { strong { (away.source_name) " is away. " } (sentence(&away.reason)) " What it knows is missing here." } }
}

/// A state as a word with a mark, so that it does not depend on colours.
pub(super) fn mark(tone: Tone, word: &str) -> Markup {
    let (class, sign) = match tone {
        Tone::Good => ("good", "✓"),
        Tone::Busy => ("busy", "…"),
        Tone::Bad => ("bad", "!"),
    };
    html! { span class={ "mark " (class) } { span.sign aria-hidden="true" { (sign) } " " (word) } }
}

/// A table that scrolls by itself if it is wider than the page.
pub(super) fn table(caption: &str, headings: &[&str], rows: Markup) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// A link to a resource by its id.
pub(super) fn link(id: &str, text: &str) -> Markup {
    html! { a href=(path(id)) { (if text.is_empty() { id } else { text }) } }
}

/// The path of the page of a resource.
pub(super) fn path(id: &str) -> String {
    format!("/resources/{}", escaped(id))
}

/// A text as one segment of a path, or a part of a query.
pub(super) fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The rows of a list that fit into so many bytes, from its beginning, and how many do not. So a page stays below 100 kB, however many
/// and however long the things that it lists are.
pub(super) fn fitting(rows: impl IntoIterator<Item = Markup>, bytes: usize) -> (Markup, usize) {
    let mut text = String::new();
    let mut rows = rows.into_iter();
    for row in rows.by_ref() {
        if text.len() + row.0.len() > bytes {
            return (PreEscaped(text), 1 + rows.count());
        }
        text.push_str(&row.0);
    }
    (PreEscaped(text), 0)
}

/// The most characters of a text in a list.
const SHORT: usize = 240;

/// A text for a list: its beginning, if it is long.
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    cut_to(text, SHORT)
}

/// The first characters of a text.
pub(super) fn cut_to(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A text with names between backticks, which are shown as code.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without another one is a character like any other.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! { @for (index, part) in parts.iter().enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// A text as a sentence: with a capital at its beginning, and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    capital(text) + end
}
