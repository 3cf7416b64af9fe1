//! The parts that several pages have.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::{Timestamp, Unit};
use maud::{Markup, PreEscaped, html};

use super::capital;
use crate::model::Pass;
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
    let name = cut(&away.source_name);
    html! {
        p.away role="alert" {
            strong { @match refusal(&away.reason) {
                Some(status) => { (name) " refused the console: HTTP " (status) ". " }
                None => { (name) " is away. " }
            } }
            (sentence(&cut(&away.reason))) " What it knows is missing here."
        }
    }
}

/// The sources without an answer, each reason once.
pub(super) fn all_away<'a>(problems: impl IntoIterator<Item = &'a Away>) -> Markup {
    let key = |away: &&'a Away| (&away.source_name, &away.reason);
    let problems: BTreeMap<_, _> = problems.into_iter().map(|problem| (key(&problem), problem)).collect();
    let (shown, hidden) = fitting(problems.into_values().map(away), OF_AWAY);
    html! { (shown) (rest(hidden, "sources or replicas are away, too")) }
}

/// The status of a source that answers, and lets the console read nothing.
fn refusal(reason: &str) -> Option<&str> {
    let status = reason.strip_prefix("it answered ").or_else(|| reason.strip_prefix("HTTP status "))?.get(..3)?;
    ["401", "403"].contains(&status).then_some(status)
}

/// How many things of a list are not shown, if there are some.
pub(super) fn rest(hidden: usize, what: &str) -> Markup {
    html! { @if hidden > 0 { p.faint { (hidden) " more " (prose(what)) "." } } }
}

/// The tone of the result of a pass.
pub(super) fn tone_of(pass: &Pass) -> Tone {
    match pass.status.as_str() {
        "success" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Busy,
    }
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

/// A number of things, with the word for one or for many.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A link to a resource by its id; without a text it shows the id.
pub(super) fn link(id: &str, text: &str) -> Markup {
    let class = text.is_empty().then_some("id");
    let text = cut(if text.is_empty() { id } else { text });
    html! { @if id.len() > LONGEST_LINKED { (text) } @else { a href=(path(id)) class=[class] { (text) } } }
}

/// A link to an adapter by its name.
pub(super) fn adapter_link(name: &str) -> Markup {
    html! { @if name.len() > LONGEST_LINKED { (cut(name)) } @else { a href={ "/adapters/" (url_segment(name)) } { (name) } } }
}

/// The most bytes of an id or a name with a link: one that is cut would lead nowhere.
const LONGEST_LINKED: usize = 100;

/// The path of the page of a resource.
pub(super) fn path(id: &str) -> String {
    format!("/resources/{}", url_segment(id))
}

/// A text as one segment of a path, or a part of a query.
pub(super) fn url_segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The bytes of the sources that are away.
const OF_AWAY: usize = 8_000;

/// The rows of a list that fit into so many bytes, and how many do not. So a page stays below 100 kB, however many and however long the
/// things that it lists are.
pub(super) fn fitting(rows: impl IntoIterator<Item = Markup>, bytes: usize) -> (Markup, usize) {
    let (mut text, mut hidden) = (String::new(), 0);
    for row in rows {
        if text.len() + row.0.len() > bytes {
            hidden += 1;
        } else {
            text.push_str(&row.0);
        }
    }
    (PreEscaped(text), hidden)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_that_is_too_long_hides_no_other_row() {
        let rows = ["aaa", "bbbbbbbbbbbb", "cc", "dd"].map(|row| PreEscaped(row.to_owned()));
        let (shown, hidden) = fitting(rows, 6);
        assert_eq!((shown.0.as_str(), hidden), ("aaacc", 2));
    }
}
