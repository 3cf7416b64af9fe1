//! Plain YAML scalars: which text Go's encoder leaves plain.
//!
//! It decides whether a templated scalar of an inline manifest is text whatever it renders to, or takes the type of what
//! it renders to ([`plain`](lifecycle_config::document::plain)). The encoder is that of yaml.v3 in block style. Only scalars on one
//! line are of interest: the encoder writes others as literal blocks, which are strings.

/// Whether the encoder leaves a text that contains `{{` plain.
///
/// Such a text is no number, boolean, null or timestamp, so only its characters count.
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

/// What the encoder prints without an escape, on one line. Characters beyond the basic plane are not
/// among it.
fn is_printable_on_a_line(character: char) -> bool {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        _ => false,
    }
}
