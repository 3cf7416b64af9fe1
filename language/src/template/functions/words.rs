//! Text functions of Go that Rust's library lacks.

use std::fmt::Write as _;

/// Writes each word with a capital first letter and otherwise in lower case, as an English title.
///
/// A word is letters, digits and underscores, and an apostrophe, a dot or a colon between two letters.
pub(super) fn title(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for (index, character) in characters.iter().copied().enumerate() {
        if is_word_character(character) {
            if inside || !character.is_alphabetic() {
                out.extend(character.to_lowercase());
            } else {
                out.extend(character.to_uppercase());
            }
            inside = inside || character.is_alphabetic();
            continue;
        }
        let letter_at = |index: Option<usize>| {
            index.and_then(|index| characters.get(index)).is_some_and(|neighbour| neighbour.is_alphabetic())
        };
        let joins = matches!(character, '\'' | '.' | ':' | '\u{b7}' | '\u{2019}')
            && letter_at(index.checked_sub(1))
            && letter_at(index.checked_add(1));
        inside = inside && joins;
        out.push(character);
    }
    out
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Writes text as a Go string literal.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            ' '..='~' => out.push(character),
            '\0'..='\u{7f}' => push(&mut out, format_args!("\\x{:02x}", u32::from(character))),
            _ if is_printable(character) => out.push(character),
            '\u{80}'..='\u{ffff}' => push(&mut out, format_args!("\\u{:04x}", u32::from(character))),
            _ => push(&mut out, format_args!("\\U{:08x}", u32::from(character))),
        }
    }
    out.push('"');
    out
}

fn push(out: &mut String, escape: std::fmt::Arguments<'_>) {
    let _infallible = out.write_fmt(escape);
}

/// Whether Go prints a character without an escape.
///
/// `escape_debug` uses the same categories of characters, but also escapes a combining mark at the beginning
/// of a text; the letter before it prevents that.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    let mut text = String::from("a");
    text.push(character);
    !text.escape_debug().to_string().contains('\\')
}
