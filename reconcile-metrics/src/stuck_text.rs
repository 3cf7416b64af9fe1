//! Formats stuck resources as a table for terminals; the HTML page uses the same words.
//!
//! In: stuck resources. Out: text. Cannot fail. Control characters in texts that an adapter wrote are replaced, so they
//! cannot control the terminal.

use crate::diagnosis::Stuck;
use crate::store::Resource;

/// The most characters of a cell; JSON has more.
const MESSAGE_WIDTH: usize = 100;

/// The cells about one adapter that a resource waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitLine {
    /// The generation of the last report, and the resource's: `3/4`.
    pub generation: String,
    /// The name of the adapter that the resource waits on, or `-`.
    pub on: String,
    /// The reason why the resource waits on the adapter, in words.
    pub cause: String,
    /// The reason and message of the last report.
    pub said: String,
}

/// Formats the adapters that a resource waits on, in at least one line; cuts texts to `width` characters.
#[must_use]
pub fn waits(stuck: &Stuck, width: usize) -> Vec<WaitLine> {
    let said = |reason: Option<&String>, message: Option<&String>| {
        let parts: Vec<_> = [reason, message].into_iter().flatten().filter(|text| !text.is_empty()).cloned().collect();
        plain(&parts.join(": "), width)
    };
    let Stuck { resource, required_adapters_known, waits_on } = stuck;
    let wanted = resource.generation;
    if waits_on.is_empty() {
        let cause = match (&resource.children, *required_adapters_known) {
            (Some(children), _) if children.is_empty() => "nothing is left",
            (Some(_), _) => "children are left",
            (None, true) => "no required adapter",
            (None, false) => "adapters not configured",
        };
        return vec![WaitLine {
            generation: format!("?/{wanted}"),
            on: "-".to_owned(),
            cause: cause.to_owned(),
            said: said(resource.reason.as_ref(), resource.message.as_ref()),
        }];
    }
    let lines = waits_on.iter().map(|wait| WaitLine {
        generation: format!("{}/{wanted}", wait.observed_generation.map_or("-".to_owned(), |seen| seen.to_string())),
        on: plain(&wait.adapter, width),
        cause: wait.cause.label().to_owned(),
        said: said(wait.reason.as_ref(), wait.message.as_ref()),
    });
    lines.collect()
}

/// Formats further facts about a resource, one line for each.
#[must_use]
pub fn notes(resource: &Resource) -> Vec<String> {
    let mut notes = Vec::new();
    if resource.no_condition {
        notes.push("has no condition Reconciled".to_owned());
    }
    if let Some(children) = resource.children.as_ref().filter(|children| !children.is_empty()) {
        notes.push(format!("has children that still exist: {}", children.join(", ")));
    }
    if !resource.blocks.is_empty() {
        notes.push(format!("blocks the deletion of {}", resource.blocks.join(", ")));
    }
    notes
}

const HEADER: [&str; 9] =
    ["ID", "KIND", "NAME", "AGE", "FLOW", "GENERATION", "WAITS ON", "CAUSE", "LAST REASON AND MESSAGE"];
/// The column in which notes begin; they may extend into the next one.
const CAUSE: usize = 7;

/// Formats a table, with one line for each adapter that a resource waits on, and for each note.
#[must_use]
pub fn table(stuck: &[Stuck]) -> String {
    let mut rows = vec![HEADER.map(str::to_owned)];
    let mut widths = HEADER.map(|title| title.chars().count());
    for stuck in stuck {
        let resource = &stuck.resource;
        for (index, wait) in waits(stuck, MESSAGE_WIDTH).into_iter().enumerate() {
            let flow = if resource.deleting { "deleting" } else { "" };
            let [id, kind, name] =
                [&resource.id, &resource.kind, &resource.name].map(|text| plain(text, MESSAGE_WIDTH));
            let [id, kind, name, age, flow] = match index {
                0 => [id, kind, name, age(resource.age_seconds), flow.to_owned()],
                _ => Default::default(),
            };
            let row = [id, kind, name, age, flow, wait.generation, wait.on, wait.cause, wait.said];
            for (width, cell) in widths.iter_mut().zip(&row) {
                *width = (*width).max(cell.chars().count());
            }
            rows.push(row);
        }
        for note in notes(resource) {
            let mut row: [String; 9] = Default::default();
            row[CAUSE] = plain(&note, MESSAGE_WIDTH);
            rows.push(row);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Formats a duration with its two largest units: `3d4h`, `1h5m`, `12m30s`.
#[must_use]
pub fn age(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m{}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, hours, _) => format!("{days}d{hours}h"),
    }
}

/// Replaces control and invisible characters by blanks, and cuts the text to `width` characters.
fn plain(text: &str, width: usize) -> String {
    let shown: String = text.chars().take(width).map(|c| if is_invisible(c) { ' ' } else { c }).collect();
    if text.chars().nth(width).is_some() { format!("{shown}…") } else { shown }
}

/// Whether a terminal interprets or hides the character: control characters, line separators, direction marks, and
/// characters without width.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{feff}'
        )
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Cause, Wait};

    fn stuck(id: &str, deleting: bool, waits_on: Vec<Wait>, blocks: &[&str]) -> Stuck {
        let resource = Resource {
            id: id.to_owned(),
            kind: "Cluster".to_owned(),
            name: "name".to_owned(),
            deleting,
            age_seconds: 3_900,
            generation: 4,
            reason: Some("ReconciledMissingAdapters".to_owned()),
            blocks: blocks.iter().map(|&id| id.to_owned()).collect(),
            ..Resource::default()
        };
        Stuck { resource, required_adapters_known: true, waits_on }
    }

    fn wait(adapter: &str, cause: Cause, observed: Option<i64>, message: &str) -> Wait {
        Wait {
            adapter: adapter.to_owned(),
            cause,
            observed_generation: observed,
            last_report_time: None,
            reason: observed.map(|_| "JobFailed".to_owned()),
            message: Some(message.to_owned()),
        }
    }

    #[test]
    fn table_has_a_line_for_each_adapter_waited_on() {
        let waits = vec![
            wait("dns", Cause::OlderGeneration, Some(3), "quota \u{1b}[31mexceeded\n\u{202e}"),
            wait("hypershift", Cause::NeverReported, None, ""),
        ];
        let long = vec![wait("validation", Cause::NotFinalized, Some(4), &"x".repeat(200))];
        let mut all = [
            stuck("0198f1c2-aaaa", false, waits, &[]),
            stuck("0198f1c2-bbbb", true, long, &["0198f1c2-cccc"]),
            stuck("0198f1c2-dddd", false, Vec::new(), &[]),
            stuck("0198f1c2-eeee", false, vec![wait("dns", Cause::NeverReported, None, "")], &[]),
        ];
        all[3].resource.no_condition = true;
        let text = table(&all);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn plain_replaces_invisible_characters() {
        for invisible in [
            '\u{1b}',
            '\n',
            '\u{200b}',
            '\u{2028}',
            '\u{2029}',
            '\u{202e}',
            '\u{2060}',
            '\u{feff}',
            '\u{ad}',
            '\u{e0041}',
        ] {
            assert_eq!(plain(&format!("a{invisible}b"), 10), "a b", "{invisible:?}");
        }
        assert_eq!(plain("zone é – 東", 20), "zone é – 東");
    }

    #[test]
    fn age_has_the_two_largest_units() {
        let cases = [(0, "0s"), (59, "59s"), (750, "12m30s"), (3_900, "1h5m"), (273_600, "3d4h")];
        for (seconds, text) in cases {
            assert_eq!(age(seconds), text);
        }
    }
}
