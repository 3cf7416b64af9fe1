//! Stuck resources as a page for browsers.
//!
//! In: one page of diagnosed resources, and what was asked for. Out: HTML without scripts; its form asks for other
//! filters and pages, so that the browser encodes them. Nothing can fail, and nothing that an adapter wrote reaches
//! the browser as markup.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::diagnosis::Stuck;
use crate::stuck_text::{age, notes, waits};

/// The longest message that is shown: a page has room for more than a terminal, and wraps.
const MESSAGE_WIDTH: usize = 500;

const HEAD: &str = "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>Stuck resources</title><style>\
    :root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:2em}\
    form>*{margin-right:1em}input:not([type]){width:11em}table{border-collapse:collapse}\
    th,td{text-align:left;vertical-align:top;padding:.3em .8em}.first td{border-top:1px solid #8888}\
    .id,.age{white-space:nowrap}.id{font-family:monospace}.note{font-style:italic}\
    </style><h1>Stuck resources</h1>";

/// What the reader asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only this kind.
    pub kind: Option<String>,
    /// Only those that wait on this adapter.
    pub adapter: Option<String>,
    /// Only those that are being deleted, or only the others.
    pub deleting: Option<bool>,
    /// Whether resources without the condition are looked for where that takes a pass over all resources.
    pub missing: bool,
}

/// One page of the stuck resources.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// The resources on it.
    pub items: &'a [Stuck],
    /// Its number, from 1.
    pub number: usize,
    /// How many resources a page has at most.
    pub size: usize,
    /// How many resources there are on all pages.
    pub total: usize,
    /// Whether more are stuck than were looked into.
    pub truncated: bool,
    /// What was asked for.
    pub filter: &'a Filter,
    /// When the database was read.
    pub read_at: Timestamp,
}

impl Page<'_> {
    /// The page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::from(HEAD);
        self.form(&mut page);
        self.summary(&mut page);
        if !self.items.is_empty() {
            page.push_str(
                "<table><tr><th>Id<th>Kind<th>Name<th>Age<th>Flow<th>Generation<th>Waits on<th>Cause\
                 <th>Last reason and message",
            );
            for stuck in self.items {
                resource(&mut page, stuck);
            }
            page.push_str("</table>");
        }
        page.push_str("</html>\n");
        page
    }

    fn form(&self, page: &mut String) {
        page.push_str("<form>");
        for (label, name, value) in [("Kind", "kind", &self.filter.kind), ("Adapter", "adapter", &self.filter.adapter)]
        {
            let value = escape(value.as_deref().unwrap_or_default());
            let _ = write!(page, "<label>{label} <input name=\"{name}\" value=\"{value}\"></label>");
        }
        page.push_str("<label>Flow <select name=\"deleting\">");
        for (value, text, is) in
            [("", "all", None), ("true", "deleting", Some(true)), ("false", "not deleting", Some(false))]
        {
            let selected = if self.filter.deleting == is { " selected" } else { "" };
            let _ = write!(page, "<option value=\"{value}\"{selected}>{text}");
        }
        let checked = if self.filter.missing { " checked" } else { "" };
        let _ = write!(
            page,
            "</select></label><label><input type=\"checkbox\" name=\"missing\" value=\"true\"{checked}> \
             look for missing conditions</label><input type=\"hidden\" name=\"size\" value=\"{}\"><button>Show</button>",
            self.size
        );
        if self.number > 1 {
            let _ = write!(page, "<button name=\"page\" value=\"{}\">Previous page</button>", self.number - 1);
        }
        if self.number.saturating_mul(self.size) < self.total {
            let _ = write!(page, "<button name=\"page\" value=\"{}\">Next page</button>", self.number + 1);
        }
        page.push_str("</form>");
    }

    fn summary(&self, page: &mut String) {
        let before = (self.number - 1).saturating_mul(self.size);
        match (self.total, self.items.len()) {
            (0, _) if *self.filter == Filter::default() => page.push_str("<p>Nothing is stuck."),
            (0, _) => page.push_str("<p>Nothing that is stuck fits the filter."),
            (total, 0) => {
                let _ = write!(page, "<p>None of {total} is on this page.");
            }
            (total, shown) => {
                let _ = write!(page, "<p>{}–{} of {total}, the oldest first.", before + 1, before + shown);
            }
        }
        if self.truncated {
            page.push_str(" There are more: only the oldest were looked into.");
        }
        let _ = write!(page, " Read at {:.0}.</p>", self.read_at);
    }
}

/// A line for each adapter that it waits on, and for each note.
fn resource(page: &mut String, stuck: &Stuck) {
    let (waits, notes) = (waits(stuck, MESSAGE_WIDTH), notes(stuck));
    let lines = waits.len() + notes.len();
    let owner = stuck.owner_id.as_ref().map(|id| format!("<br><small>of {}</small>", escape(id)));
    let _ = write!(
        page,
        "<tr class=\"first\"><td class=\"id\" rowspan=\"{lines}\">{}{}<td rowspan=\"{lines}\">{}<td rowspan=\"{lines}\">{}\
         <td class=\"age\" rowspan=\"{lines}\" title=\"since {:.0}\">{}<td rowspan=\"{lines}\">{}",
        escape(&stuck.id),
        owner.unwrap_or_default(),
        escape(&stuck.kind),
        escape(&stuck.name),
        stuck.since,
        age(stuck.age_seconds),
        if stuck.deleting { "deleting" } else { "" },
    );
    for (index, wait) in waits.iter().enumerate() {
        if index > 0 {
            page.push_str("<tr>");
        }
        for text in [&wait.generation, &wait.on, &wait.cause, &wait.said] {
            let _ = write!(page, "<td>{}", escape(text));
        }
    }
    for note in notes {
        let _ = write!(page, "<tr><td class=\"note\" colspan=\"4\">{}", escape(&note));
    }
}

/// Text that a browser shows as it is.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests;
