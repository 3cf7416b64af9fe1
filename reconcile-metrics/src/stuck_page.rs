//! Renders one page of stuck resources as HTML.
//!
//! In: stuck resources and the filter. Out: HTML without scripts, with a form for other filters and pages. Cannot fail.
//! Maud escapes every value, so texts that an adapter wrote cannot become markup.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::config::Kinds;
use crate::diagnosis::Stuck;
use crate::figures::OTHER;
use crate::listing::{Filter, Listing};
use crate::store::Trouble;
use crate::stuck_text::{age, notes, waits};

/// The most characters of a message. A page has more room than a terminal.
const MESSAGE_WIDTH: usize = 500;

const STYLE: &str = ":root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:2em}\
    form>*{margin-right:1em}input:not([type]){width:11em}table{border-collapse:collapse}\
    th,td{text-align:left;vertical-align:top;padding:.3em .8em}.first td{border-top:1px solid #8888}\
    .id,.age{white-space:nowrap}.id{font-family:monospace}.note{font-style:italic}";

const HEADINGS: [&str; 9] =
    ["Id", "Kind", "Name", "Age", "Flow", "Generation", "Waits on", "Cause", "Last reason and message"];

/// One page of the list of stuck resources, with all that its HTML shows.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// The whole list of matching resources, of which this page shows a part.
    pub listing: &'a Listing,
    /// The matching resources on this page.
    pub items: &'a [Stuck],
    /// The number of this page, from 1.
    pub number: usize,
    /// The most resources on a page.
    pub size: usize,
    /// The filter of the request, which the links to other pages repeat.
    pub filter: &'a Filter,
    /// A hint if the filter looks like a mistake.
    pub hint: Option<&'a str>,
    /// The kinds and adapters that the form suggests.
    pub kinds: &'a Kinds,
    /// When the database was read.
    pub read_at: Timestamp,
}

impl Page<'_> {
    /// Renders the page as an HTML document.
    #[must_use]
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width";
                    title { "Stuck resources" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { "Stuck resources" }
                    (self.form())
                    (self.summary())
                    @if !self.items.is_empty() {
                        table {
                            tr { @for heading in HEADINGS { th { (heading) } } }
                            @for stuck in self.items { (resource(stuck)) }
                        }
                    }
                }
            }
        };
        page.into_string()
    }

    fn form(&self) -> Markup {
        let kinds: Vec<_> = self.kinds.all().iter().map(|kind| kind.name.as_str()).chain([OTHER]).collect();
        let adapters: Vec<_> = self.kinds.adapters().into_iter().collect();
        let texts =
            [("Kind", "kind", &self.filter.kind, kinds), ("Adapter", "adapter", &self.filter.adapter, adapters)];
        let flows = [("", "all", None), ("true", "deleting", Some(true)), ("false", "not deleting", Some(false))];
        let pages = self.listing.found.len().div_ceil(self.size);
        // On a page after the last one, "Previous page" leads to the last.
        let previous = (self.number - 1).min(pages);
        html! {
            form {
                @for (label, name, value, known) in texts {
                    label { (label) " " input name=(name) value=(value.as_deref().unwrap_or_default()) list={ (name) "s" }; }
                    datalist id={ (name) "s" } { @for known in known { option value=(known); } }
                }
                label {
                    "Flow "
                    select name="deleting" {
                        @for (value, text, is) in flows {
                            option value=(value) selected[self.filter.deleting == is] { (text) }
                        }
                    }
                }
                label {
                    input type="checkbox" name="stalled" value="true" checked[self.filter.trouble == Trouble::Stalled];
                    " instead, stalled deletions"
                }
                input type="hidden" name="size" value=(self.size);
                button { "Show" }
                @if previous > 0 { button name="page" value=(previous) { "Previous page" } }
                @if self.number < pages { button name="page" value=(self.number + 1) { "Next page" } }
            }
        }
    }

    fn summary(&self) -> Markup {
        let (total, shown) = (self.listing.found.len(), self.items.len());
        let before = (self.number - 1).saturating_mul(self.size);
        html! {
            p {
                @if total == 0 {
                    (sentence(&self.listing.why_empty(self.filter)))
                } @else {
                    @if shown == 0 { "None of " (total) " is on this page." }
                    @else { (before + 1) "–" (before + shown) " of " (total) ", the oldest first." }
                    @if self.listing.truncated {
                        " There are more: only the " (self.listing.read) " oldest were read."
                    }
                }
                " Read at " (format!("{:.0}", self.read_at)) "."
            }
            @if let Some(hint) = self.hint { p { (sentence(hint)) } }
        }
    }
}

/// Renders a row for each adapter that a resource waits on, and for each note.
fn resource(stuck: &Stuck) -> Markup {
    let resource = &stuck.resource;
    let (waits, notes) = (waits(stuck, MESSAGE_WIDTH), notes(resource));
    let lines = waits.len() + notes.len();
    html! {
        @for (index, wait) in waits.iter().enumerate() {
            tr class=[(index == 0).then_some("first")] {
                @if index == 0 {
                    td.id rowspan=(lines) {
                        (resource.id)
                        @if let Some(owner) = &resource.owner_id { br; small { "of " (owner) } }
                    }
                    td rowspan=(lines) { (resource.kind) }
                    td rowspan=(lines) { (resource.name) }
                    td.age rowspan=(lines) title=(format!("since {:.0}", resource.since)) { (age(resource.age_seconds)) }
                    td rowspan=(lines) { @if resource.deleting { "deleting" } }
                }
                @for text in [&wait.generation, &wait.on, &wait.cause, &wait.said] { td { (text) } }
            }
        }
        @for note in notes {
            tr { td.note colspan="4" { (note) } }
        }
    }
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(characters).chain(['.']).collect()
}

#[cfg(test)]
mod tests;
