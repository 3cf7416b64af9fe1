//! Translates character classes: `[a-z]`, `\d`, `\pN`, `[[:word:]]`.
//!
//! In: a reader at the beginning of a class. Out: the class in the syntax of `regex`, and its size. Fails for
//! an unknown or unclosed class. Perl classes are ASCII only, as in RE2. Unicode classes are general
//! categories and scripts, and no other property.

use super::PatternError;
use super::translate::{Reader, write_character};

/// The approximate number of states of a class with characters of several bytes.
pub(super) const WIDE: usize = 12;

/// The approximate number of states of a Unicode class: letters and the like are many ranges.
const UNICODE: usize = 300;

/// Perl's classes with RE2's meaning.
const PERL: [(char, &str); 6] = [
    ('d', "[0-9]"),
    ('D', "[^0-9]"),
    ('s', r"[\t\n\x0C\r\x20]"),
    ('S', r"[^\t\n\x0C\r\x20]"),
    ('w', "[0-9A-Za-z_]"),
    ('W', "[^0-9A-Za-z_]"),
];

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs", "Any",
];

#[cfg(test)]
thread_local! {
    /// The number of Unicode class names that this thread has compiled.
    pub(super) static CHECKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn is_unicode_class(class: &str) -> bool {
    #[cfg(test)]
    CHECKED.set(CHECKED.get() + 1);
    regex::Regex::new(class).is_ok()
}

/// Translates a class named by an escape, after its backslash; returns none, and reads nothing, if the escape
/// names no class.
pub(super) fn escaped<'p>(
    reader: &mut Reader<'p>,
    start: &'p str,
    text: &mut String,
) -> Result<Option<usize>, PatternError> {
    for (letter, class) in PERL {
        if reader.rest.starts_with(letter) {
            reader.next();
            text.push_str(class);
            return Ok(Some(if letter.is_ascii_lowercase() { 1 } else { WIDE }));
        }
    }
    let is_negated = reader.rest.starts_with('P');
    if !is_negated && !reader.rest.starts_with('p') {
        return Ok(None);
    }
    reader.next();
    let name = if reader.skip("{") {
        let end = reader.rest.find('}').ok_or_else(|| reader.mistake(start, "a `{` is not closed"))?;
        let (name, rest) = reader.rest.split_at(end);
        reader.rest = &rest[1..];
        name
    } else {
        let rest = reader.rest;
        reader.next();
        reader.since(rest)
    };
    let (is_negated, name) = match name.strip_prefix('^') {
        Some(name) => (!is_negated, name),
        None => (is_negated, name),
    };
    let kind = if name == "Any" {
        ""
    } else if CATEGORIES.contains(&name) {
        "gc="
    } else {
        "sc="
    };
    let letter = if is_negated { 'P' } else { 'p' };
    let class = format!("\\{letter}{{{kind}{name}}}");
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !is_name || !(reader.unicode.contains(name) || is_unicode_class(&class)) {
        return Err(reader.mistake(start, "not a general category or script of Unicode"));
    }
    reader.unicode.insert(name);
    text.push_str(&class);
    Ok(Some(UNICODE))
}

/// Translates a class in brackets, after the opening bracket; returns its size.
pub(super) fn brackets<'p>(reader: &mut Reader<'p>, start: &'p str, text: &mut String) -> Result<usize, PatternError> {
    let mut size = 1;
    text.push('[');
    if reader.skip("^") {
        text.push('^');
        size = WIDE;
    }
    let mut is_first = true;
    while is_first || !reader.skip("]") {
        is_first = false;
        if let Some(name) = posix(reader, start)? {
            text.push_str(name);
            continue;
        }
        let item = reader.rest;
        if reader.skip("\\") {
            if let Some(escaped) = escaped(reader, item, text)? {
                size = size.max(escaped);
                continue;
            }
            reader.rest = item;
        }
        let low = character(reader, start)?;
        let is_range = reader.rest.starts_with('-') && !reader.rest.starts_with("-]") && reader.rest.len() > 1;
        let high = if is_range {
            reader.next();
            character(reader, start)?
        } else {
            low
        };
        if high < low {
            return Err(reader.mistake(item, "the range ends before it begins"));
        }
        write_character(low, text);
        if high != low {
            text.push('-');
            write_character(high, text);
        }
        size = size.max(if high.is_ascii() { 1 } else { WIDE });
    }
    text.push(']');
    Ok(size)
}

/// Reads a named class, `[:alpha:]` or `[:^alpha:]`, if there is one.
fn posix<'p>(reader: &mut Reader<'p>, start: &'p str) -> Result<Option<&'p str>, PatternError> {
    let class = reader.rest;
    let Some(rest) = class.strip_prefix("[:").filter(|_| !reader.has_no_named_class) else { return Ok(None) };
    let Some(end) = rest.find(":]") else {
        // The search has read to the end of the pattern: remember its result, or many `[:` would make it
        // quadratic.
        reader.has_no_named_class = true;
        return Ok(None);
    };
    let name = &class[2..end + 2];
    let length = end + 4;
    reader.rest = &class[length..];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(reader.mistake(start, "no such named class"));
    }
    Ok(Some(&class[..length]))
}

/// Reads one character within brackets.
fn character<'p>(reader: &mut Reader<'p>, start: &'p str) -> Result<char, PatternError> {
    let place = reader.rest;
    match reader.next() {
        Some('\\') => reader.escape(place),
        Some(character) => Ok(character),
        None => Err(reader.mistake(start, "a `[` is not closed")),
    }
}
