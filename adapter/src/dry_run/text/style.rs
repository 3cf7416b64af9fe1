//! The styles of text traces, named by meaning.

use std::fmt::Display;

use anstyle::{AnsiColor, Effects, Style};

/// Titles of the trace and its phases.
pub(super) const HEAD: Style = Style::new().effects(Effects::BOLD);
/// The style of successful steps: green.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of failed steps: bold red.
pub(super) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// Neither success nor failure, but worth a look, such as a wait.
pub(super) const NOTABLE: Style = AnsiColor::Yellow.on_default();
/// An explanation of another line.
pub(super) const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// Lines that a diff adds.
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
/// Lines that a diff removes, and objects that are terminating.
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();

/// Formats a text with a style; an empty text stays empty.
pub(super) fn styled(style: Style, text: impl Display) -> String {
    let text = text.to_string();
    if text.is_empty() { text } else { format!("{style}{text}{style:#}") }
}
