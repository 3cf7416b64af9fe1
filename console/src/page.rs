//! The pages as HTML.
//!
//! In: what the sources answered. Out: the content of a page, and the document around it. Cannot fail: a source without an answer is
//! shown as away, in the place of what it would have said.
//!
//! Maud escapes every value, so texts that others wrote cannot become markup. The scripts and styles of a page are files of their own,
//! so that the pages can forbid all others. The pages work without the script; it only brings them up to date.

use jiff::Timestamp;
use lifecycle_service::version::THIS;
use maud::{DOCTYPE, Markup, html};

use crate::source::Away;

pub mod adapter;
pub mod fleet;
mod graph;
mod parts;
pub mod resource;
pub mod sweeper;

/// The content of a page.
#[derive(Debug, Clone)]
pub struct Page {
    /// The title, without the product's name.
    pub title: String,
    /// The part of the console that it belongs to.
    pub part: Part,
    /// The content.
    pub content: Markup,
    /// Whether what it is about exists, as far as known.
    pub exists: bool,
}

/// A part of the console, with a link in the head of each page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All resources, and single ones.
    Fleet,
    /// The adapters.
    Adapters,
    /// The sweeper.
    Sweeper,
}

impl Part {
    const EACH: [(Self, &'static str, &'static str); 3] = [
        (Self::Fleet, "/", "Fleet"),
        (Self::Adapters, "/adapters", "Adapters"),
        (Self::Sweeper, "/sweeper", "Sweeper"),
    ];
}

impl Page {
    /// The whole document; `live` is the path from which the script gets the content again, and none of a page that does not change.
    #[must_use]
    pub fn document(&self, live: Option<&str>) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · HyperFleet" }
                    link rel="stylesheet" href="/assets/style.css";
                    link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                    @if live.is_some() { script src="/assets/live.js" defer {} }
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    header {
                        span.product { "HyperFleet" }
                        nav aria-label="Parts" {
                            @for (part, path, name) in Part::EACH {
                                a href=(path) aria-current=[(part == self.part).then_some("page")] { (name) }
                            }
                        }
                        @if live.is_some() { p #live role="status" { "Not live: this page shows one moment." } }
                    }
                    main #content tabindex="-1" data-live=[live] { (self.content) }
                    footer { "hyperfleet-console " (THIS.number) ", which only reads" }
                }
            }
        };
        plain(page.into_string())
    }

    /// The content as the script puts it into the page.
    #[must_use]
    pub fn fragment(&self) -> String {
        plain(self.content.clone().into_string())
    }
}

/// HTML without the marks that turn the direction of text around, also of the text after them; others wrote most texts on a page.
fn plain(html: String) -> String {
    const MARKS: [char; 9] =
        ['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}'];
    if html.contains(MARKS) { html.replace(MARKS, "\u{fffd}") } else { html }
}

/// A page about something that does not exist; names in the message are between backticks.
#[must_use]
pub fn missing(part: Part, title: &str, message: &str) -> Page {
    instead(part, title, &html! { p { (parts::prose(message)) } }, false)
}

/// A page about something that may exist: the source that knows it is away.
#[must_use]
pub fn unknown(part: Part, title: &str, away: &Away) -> Page {
    instead(part, title, &parts::away(away), true)
}

fn instead(part: Part, title: &str, why: &Markup, exists: bool) -> Page {
    let content = html! { h1 { (title) } (why) p { a href="/" { "To the fleet" } } };
    Page { title: title.to_owned(), part, content, exists }
}

/// A text with a capital at its beginning.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(char::to_uppercase).into_iter().flatten().chain(characters).collect()
}

/// What every page is made with.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The current time.
    pub now: Timestamp,
}
