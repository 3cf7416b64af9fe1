//! The functions `print`, `println` and `printf`.
//!
//! `printf` knows the verbs of Go that tasks use, `%s %q %d %v %t %x %f`, with a width, the flags `-` and `0`, and for
//! `%f` a number of digits. Fails for any other verb, and for a value that its verb does not print: Go would write the
//! mistake into the text, and from there into the name of an object.

use gotmpl::Value;

use super::super::text::{check_length, text, type_name};
use super::{Result, failure, string, words};

/// The largest width and number of digits.
const MAX_WIDTH: usize = 1000;

/// Prints the arguments in a row, with a space between two that are both no text, as Go's `print` does.
pub(super) fn concatenate(values: &[Value]) -> gotmpl::Result<String> {
    joined(values, |before, next| !is_text(before) && !is_text(next))
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_))
}

fn joined(values: &[Value], is_apart: fn(&Value, &Value) -> bool) -> gotmpl::Result<String> {
    let mut out = String::new();
    let mut before = None;
    for value in values {
        if before.replace(value).is_some_and(|before| is_apart(before, value)) {
            out.push(' ');
        }
        let piece = text(value)?;
        check_length(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    Ok(out)
}

pub(super) fn print(values: &[Value]) -> Result {
    string(concatenate(values)?)
}

/// Prints the arguments with a space between any two, and a line break at the end.
pub(super) fn println(values: &[Value]) -> Result {
    string(joined(values, |_, _| true)? + "\n")
}

/// Formats the arguments by Go's verbs.
pub(super) fn printf(values: &[Value]) -> Result {
    let Some((Value::String(format), arguments)) = values.split_first() else {
        return failure("printf: the first argument is not a format");
    };
    let mut arguments = arguments.iter();
    let mut out = String::new();
    for piece in pieces(format) {
        match piece {
            Err(fault) => return failure(format!("printf: {fault}")),
            Ok(Piece::Text(text)) => out.push_str(text),
            Ok(Piece::Verb(verb)) => match arguments.next() {
                Some(value) => verb.print(value, &mut out)?,
                None => return failure(format!("printf: a value is missing for `{}`", verb.written)),
            },
        }
        check_length(out.len())?;
    }
    if arguments.next().is_some() { failure("printf: more values than verbs") } else { string(out) }
}

/// Checks a format that a template writes out, and the number of its values.
///
/// # Errors
/// What is wrong with it.
pub(in crate::template) fn check(format: &str, values: usize) -> std::result::Result<(), String> {
    let pieces: Vec<Piece<'_>> = pieces(format).collect::<std::result::Result<_, _>>()?;
    let verbs = pieces.iter().filter(|piece| matches!(piece, Piece::Verb(_))).count();
    if verbs == values { Ok(()) } else { Err(format!("{verbs} verbs, but {values} values")) }
}

enum Piece<'f> {
    Text(&'f str),
    Verb(Verb<'f>),
}

struct Verb<'f> {
    written: &'f str,
    letter: char,
    is_left: bool,
    has_zeros: bool,
    width: usize,
    digits: usize,
}

fn pieces(format: &str) -> impl Iterator<Item = std::result::Result<Piece<'_>, String>> {
    let mut rest = format;
    std::iter::from_fn(move || match rest.find('%') {
        None if rest.is_empty() => None,
        Some(0) => {
            let is_inside = |next: char| next.is_ascii_digit() || matches!(next, '-' | '.');
            let letter = rest[1..].find(|next| !is_inside(next)).map_or(rest.len(), |at| at + 1);
            let end = rest[letter..].chars().next().map_or(letter, |next| letter + next.len_utf8());
            let (written, after) = rest.split_at(end);
            rest = after;
            let unknown = || format!("`{written}` is none of `%s %q %d %v %t %x %f`, with `-`, `0` and a width");
            Some(if written == "%%" {
                Ok(Piece::Text("%"))
            } else {
                verb(written).map(Piece::Verb).ok_or_else(unknown)
            })
        }
        end => {
            let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            Some(Ok(Piece::Text(text)))
        }
    })
}

fn verb(written: &str) -> Option<Verb<'_>> {
    let letter = written.chars().next_back().filter(|letter| "sqdvtxf".contains(*letter))?;
    let numbers = written.strip_prefix('%')?.strip_suffix(letter)?;
    let flags = numbers.find(|next| !matches!(next, '-' | '0')).unwrap_or(numbers.len());
    let (flags, numbers) = numbers.split_at(flags);
    let (width, digits) = numbers.split_once('.').map_or((numbers, None), |(width, digits)| (width, Some(digits)));
    let number = |text: &str| text.parse().ok().filter(|number| *number <= MAX_WIDTH);
    Some(Verb {
        written,
        letter,
        is_left: flags.contains('-'),
        has_zeros: flags.contains('0'),
        width: if width.is_empty() { 0 } else { number(width)? },
        digits: digits.map_or(Some(6), |digits| number(digits).filter(|_| letter == 'f'))?,
    })
}

impl Verb<'_> {
    fn print(&self, value: &Value, out: &mut String) -> gotmpl::Result<()> {
        let shown = match (self.letter, value) {
            // Go would fill each item up to the width.
            ('v', Value::List(_) | Value::Map(_)) if self.width > 0 => {
                return failure(format!("printf: `{}` prints no list or mapping; write `%v`", self.written));
            }
            ('v', _) => text(value)?.into_owned(),
            ('s', Value::String(text)) => text.to_string(),
            ('q', Value::String(text)) => words::quote(text),
            ('d', Value::Int(number)) => number.to_string(),
            ('d', Value::Uint(number)) => number.to_string(),
            ('t', Value::Bool(flag)) => flag.to_string(),
            ('x', Value::Int(number)) if *number < 0 => format!("-{:x}", number.unsigned_abs()),
            ('x', Value::Int(number)) => format!("{number:x}"),
            ('x', Value::Uint(number)) => format!("{number:x}"),
            ('x', Value::String(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            ('f', Value::Float(number)) => format!("{number:.*}", self.digits),
            _ => return failure(format!("printf: `{}` prints no {}; write `%v`", self.written, type_name(value))),
        };
        let missing = self.width.saturating_sub(shown.chars().count());
        let sign = usize::from(shown.starts_with('-') && !is_text(value));
        match (self.is_left, self.has_zeros) {
            (true, _) => out.extend([shown.as_str(), &" ".repeat(missing)]),
            (false, true) => out.extend([&shown[..sign], &"0".repeat(missing), &shown[sign..]]),
            (false, false) => out.extend([" ".repeat(missing).as_str(), &shown]),
        }
        Ok(())
    }
}
