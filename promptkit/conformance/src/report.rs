//! The table of results.

use serde::Serialize;

use crate::profile::Profile;
use crate::rows::{End, Row};
use crate::stage::Stage;

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The adapter did what the row says.
    Passed,
    /// It did something else.
    Failed,
    /// The profile lacks what the row needs.
    NotPlayed,
}

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::NotPlayed => "not played",
        }
    }
}

/// A row and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// The row's name.
    pub row: &'static str,
    /// What it plays.
    pub what: &'static str,
    /// What became of it.
    pub result: Verdict,
    /// What was seen, or what is missing.
    pub seen: String,
}

/// The results of all rows that were asked for.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// One for each row.
    pub rows: Vec<Line>,
}

impl Report {
    /// Plays rows, one after the other.
    #[must_use]
    pub fn play(profile: &Profile, rows: &[&'static Row]) -> Self {
        Self { rows: rows.iter().map(|row| play(profile, row)).collect() }
    }

    /// Says whether a row failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.rows.iter().any(|line| line.result == Verdict::Failed)
    }

    /// Prints JSON.
    #[must_use]
    pub fn json(&self) -> String {
        // Texts and enums always have JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Prints a table, and a last line with the sums.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.rows.iter().map(|line| line.what.chars().count()).max().unwrap_or_default();
        let mut text: String = self.rows.iter().map(|line| row(line, width)).collect();
        let count = |verdict| self.rows.iter().filter(|line| line.result == verdict).count();
        let [passed, failed, missing] = [Verdict::Passed, Verdict::Failed, Verdict::NotPlayed].map(count);
        text.push_str(&format!("\n{passed} passed, {failed} failed, {missing} not played\n"));
        text
    }
}

fn row(line: &Line, width: usize) -> String {
    let seen = line.seen.replace('\n', "; ");
    format!("{:<4} {:<width$}  {:<10}  {seen}", line.row, line.what, line.result.text()).trim_end().to_owned() + "\n"
}

fn play(profile: &Profile, row: &'static Row) -> Line {
    let stage = Stage { profile };
    let ended = (row.play)(&stage);
    // The next row must not meet this one's fault.
    let cleared = stage.end_faults();
    let (result, seen) = match ended.and_then(|seen| cleared.map(|()| seen)) {
        Ok(seen) => (Verdict::Passed, seen),
        Err(End::Failed(seen)) => (Verdict::Failed, seen),
        Err(End::NotPlayed(why)) => (Verdict::NotPlayed, why),
    };
    Line { row: row.name, what: row.what, result, seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_one_line_for_each_row_and_the_sums() {
        let line = |row, result, seen: &str| Line { row, what: "is exact", result, seen: seen.to_owned() };
        let rows = vec![
            line("P1", Verdict::Passed, ""),
            line("P20", Verdict::Failed, "a\nb"),
            line("P3", Verdict::NotPlayed, "no pack"),
        ];
        let report = Report { rows };
        let expected = "P1   is exact  passed\nP20  is exact  FAILED      a; b\nP3   is exact  not played  no pack\n\n1 passed, 1 failed, 1 not played\n";
        assert_eq!(report.table(), expected);
        assert!(report.has_failed());
        assert!(report.json().contains("\"not_played\""));
    }
}
