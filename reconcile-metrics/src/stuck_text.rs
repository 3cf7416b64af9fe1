//! Stuck resources as text for people.
//!
//! In: diagnosed resources. Out: a table for terminals, and the words that the page uses, too. Nothing can fail, and
//! nothing that an adapter wrote reaches a terminal or a browser as a command.

use crate::diagnosis::Stuck;

/// The longest message that is shown in a table; JSON has all of it.
const MESSAGE_WIDTH: usize = 100;

/// One line of what a resource waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitLine {
    /// The generation observed against the one wanted.
    pub generation: String,
    /// The adapter.
    pub on: String,
    /// Why.
    pub cause: String,
    /// The reason and message that were last given.
    pub said: String,
}

/// What a resource waits on, at least one line.
#[must_use]
pub fn waits(stuck: &Stuck) -> Vec<WaitLine> {
    let said = |reason: Option<&String>, message: Option<&String>| {
        let parts: Vec<_> = [reason, message].into_iter().flatten().filter(|text| !text.is_empty()).cloned().collect();
        plain(&parts.join(": "))
    };
    let wanted = stuck.generation;
    if stuck.waits_on.is_empty() {
        let cause = match (stuck.no_condition, stuck.required_adapters_known) {
            (true, _) => "no condition Reconciled",
            (false, true) => "no required adapter",
            (false, false) => "adapters not configured",
        };
        return vec![WaitLine {
            generation: format!("?/{wanted}"),
            on: "-".to_owned(),
            cause: cause.to_owned(),
            said: said(stuck.reason.as_ref(), stuck.message.as_ref()),
        }];
    }
    let lines = stuck.waits_on.iter().map(|wait| WaitLine {
        generation: format!("{}/{wanted}", wait.observed_generation.map_or("-".to_owned(), |seen| seen.to_string())),
        on: plain(&wait.adapter),
        cause: wait.cause.label().to_owned(),
        said: said(wait.reason.as_ref(), wait.message.as_ref()),
    });
    lines.collect()
}

/// A table, one line for each adapter that a resource waits on.
#[must_use]
pub fn table(stuck: &[Stuck]) -> String {
    let header = ["ID", "KIND", "AGE", "FLOW", "GENERATION", "WAITS ON", "CAUSE", "LAST REASON AND MESSAGE"];
    let mut rows: Vec<[String; 8]> = vec![header.map(str::to_owned)];
    for stuck in stuck {
        for (index, wait) in waits(stuck).into_iter().enumerate() {
            let flow = if stuck.deleting { "deleting" } else { "" };
            let [id, kind, age, flow] = match index {
                0 => [plain(&stuck.id), plain(&stuck.kind), age(stuck.age_seconds), flow.to_owned()],
                _ => Default::default(),
            };
            rows.push([id, kind, age, flow, wait.generation, wait.on, wait.cause, wait.said]);
        }
        if !stuck.blocks.is_empty() {
            let mut row: [String; 8] = Default::default();
            row[6] = plain(&format!("blocks the deletion of {}", stuck.blocks.join(", ")));
            rows.push(row);
        }
    }
    let mut widths = [0; 8];
    for row in &rows {
        // A note runs into the last column: it has that to itself.
        for (width, cell) in widths.iter_mut().zip(row).filter(|_| !row[6].starts_with("blocks")) {
            *width = (*width).max(cell.chars().count());
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

/// A duration with its two largest units: `3d4h`, `1h5m`, `12m30s`.
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

/// One line without anything that a terminal obeys, cut to what fits.
fn plain(text: &str) -> String {
    // Beside control characters, the marks that turn the direction of writing around.
    let odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown: String = text.chars().take(MESSAGE_WIDTH).map(|c| if odd(c) { ' ' } else { c }).collect();
    if text.chars().nth(MESSAGE_WIDTH).is_some() { format!("{shown}…") } else { shown }
}

/// Text that a browser shows as it is.
#[must_use]
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::diagnosis::{Cause, Wait};

    fn stuck(id: &str, deleting: bool, waits_on: Vec<Wait>, blocks: &[&str]) -> Stuck {
        Stuck {
            id: id.to_owned(),
            kind: "Cluster".to_owned(),
            name: "name".to_owned(),
            owner_id: None,
            deleting,
            no_condition: false,
            since: Timestamp::UNIX_EPOCH,
            age_seconds: 3_900,
            generation: 4,
            reason: Some("ReconciledMissingAdapters".to_owned()),
            message: None,
            required_adapters_known: true,
            waits_on,
            blocks: blocks.iter().map(|&id| id.to_owned()).collect(),
        }
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
    fn a_table_has_a_line_for_each_adapter_that_is_waited_on() {
        let waits = vec![
            wait("dns", Cause::OlderGeneration, Some(3), "quota \u{1b}[31mexceeded\n\u{202e}"),
            wait("hypershift", Cause::NeverReported, None, ""),
        ];
        let long = vec![wait("validation", Cause::NotFinalized, Some(4), &"x".repeat(200))];
        let all = [
            stuck("0198f1c2-aaaa", false, waits, &[]),
            stuck("0198f1c2-bbbb", true, long, &["0198f1c2-cccc"]),
            stuck("0198f1c2-dddd", false, Vec::new(), &[]),
        ];
        let text = table(&all);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn ages_are_read_at_a_glance() {
        let cases = [(0, "0s"), (59, "59s"), (750, "12m30s"), (3_900, "1h5m"), (273_600, "3d4h")];
        for (seconds, text) in cases {
            assert_eq!(age(seconds), text);
        }
    }

    #[test]
    fn markup_is_shown_and_not_obeyed() {
        assert_eq!(escape_html("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
