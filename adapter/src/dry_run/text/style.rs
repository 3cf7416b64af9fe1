//! The colours of the trace, each for a meaning.

use std::fmt::Display;

use anstyle::{AnsiColor, Effects, Style};

/// Titles.
pub(super) const HEAD: Style = Style::new().effects(Effects::BOLD);
/// What went well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// What failed.
pub(super) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// What is neither, and worth a look.
pub(super) const TELLING: Style = AnsiColor::Yellow.on_default();
/// What explains something else.
pub(super) const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// Lines that a diff adds.
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
/// Lines that a diff removes, and what is about to go.
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();

/// Gives a text a style; nothing stays nothing.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    let text = text.to_string();
    if text.is_empty() { text } else { format!("{style}{text}{style:#}") }
}
