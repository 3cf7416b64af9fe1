//! Predicts whether Go's YAML encoder writes a text as a plain scalar.
//!
//! A templated string of an inline manifest stays text if the encoder would quote it; otherwise the rendered
//! text decides the type ([`plain`](lifecycle_config::document::plain)). The encoder is that of yaml.v3 in
//! block style. Only single lines matter: the encoder writes other texts as literal blocks, which are
//! strings.

/// Whether the encoder writes a text that contains `{{` as a plain scalar.
///
/// Such a text is no number, boolean, null or timestamp, so only its characters matter.
pub(super) fn is_written_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return true };
    let bytes = text.as_bytes();
    let blank_after = |position: usize| matches!(bytes.get(position + 1), None | Some(b' ' | b'\t'));
    let indicator_at_the_start = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
        '?' | ':' | '-' => blank_after(0),
        _ => text.starts_with("---") || text.starts_with("..."),
    } || text.starts_with("---");
    let indicator_inside = bytes.iter().enumerate().skip(1).any(|(position, byte)| match byte {
        b':' => blank_after(position),
        b'#' => matches!(bytes[position - 1], b' ' | b'\t'),
        _ => false,
    });
    !indicator_at_the_start
        && !indicator_inside
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && text.chars().all(is_printable_on_a_line)
}

/// Whether the encoder prints a character on one line without an escape. It escapes characters beyond the
/// basic plane.
fn is_printable_on_a_line(character: char) -> bool {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        _ => false,
    }
}
