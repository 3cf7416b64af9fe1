//! Writes lines for people to standard output.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Writes a line. Nothing depends on whether somebody reads it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(anstream::stdout().lock(), "{line}");
}

/// Writes what happens next.
pub(crate) fn step(what: &str) {
    say(&format!("{HEADING}==> {what}{HEADING:#}"));
}

/// Text that says that all is well.
pub(crate) fn good(text: &str) -> String {
    format!("{GOOD}{text}{GOOD:#}")
}

/// Text that says that something is wrong.
pub(crate) fn bad(text: &str) -> String {
    format!("{BAD}{text}{BAD:#}")
}
