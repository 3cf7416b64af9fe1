//! `print`, `println` and `printf`.
//!
//! The engine's `printf` does all of Go's verbs but writes Rust's numbers under `%v`, and it can be
//! reached through a template only. So a format is adapted here, and then formatted by a template that
//! does nothing else.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use gotmpl::Value;

use super::super::text::{check_length, text};
use super::{Result, failure, string};

/// How much work one format may ask for: verbs times the widest column and all arguments.
const MAX_FORMAT_WORK: usize = 64 << 20;
/// The widest column that the engine makes.
const MAX_WIDTH: usize = u16::MAX as usize;

/// The arguments one after the other, with a space between two of which neither is text.
pub(super) fn concatenate(values: &[Value]) -> gotmpl::Result<String> {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|previous| values.get(previous));
        if previous.is_some_and(|previous| !is_text(previous) && !is_text(value)) {
            out.push(' ');
        }
        let piece = text(value)?;
        check_length(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    Ok(out)
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_))
}

pub(super) fn print(values: &[Value]) -> Result {
    string(concatenate(values)?)
}

/// The arguments with a space between any two, and a line break behind.
pub(super) fn println(values: &[Value]) -> Result {
    let mut out = String::new();
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let piece = text(value)?;
        check_length(out.len() + piece.len())?;
        out.push_str(&piece);
    }
    out.push('\n');
    string(out)
}

/// Formats by Go's verbs.
pub(super) fn printf(values: &[Value]) -> Result {
    let (format, values) = match values.split_first() {
        Some((Value::String(format), values)) => (format, values),
        Some((other, _)) => {
            return failure(format!("wrong type for value of printf; expected string; got {}", other.type_name()));
        }
        None => return failure("wrong number of args for printf: want at least 1 got 0"),
    };
    let mut arguments = values.to_vec();
    let format_text = adapt(format, &mut arguments)?;
    let verbs = format_text.matches('%').count();
    let size: usize = arguments.iter().filter_map(Value::as_str).map(str::len).sum();
    if verbs.saturating_mul(MAX_WIDTH + size) > MAX_FORMAT_WORK {
        return failure(format!("printf: {verbs} verbs over {size} bytes are too much"));
    }
    let mut source = "{{printf .format".to_owned();
    for index in 0..arguments.len() {
        // Writing to a string cannot fail.
        let _infallible = write!(source, " (index .arguments {index})");
    }
    source.push_str("}}");
    let data = Value::from_entries([
        ("format".to_owned(), Value::String(format_text.into())),
        ("arguments".to_owned(), Value::List(arguments.into())),
    ]);
    string(gotmpl::Template::new("printf").parse(&source)?.execute_to_string(&data)?)
}

/// Turns `%v` into `%g` where it meets a double, which is what it stands for in Go, and writes a list or
/// a mapping that `%v` or `%s` meets.
fn adapt(format: &str, arguments: &mut [Value]) -> gotmpl::Result<String> {
    let mut out = String::with_capacity(format.len());
    let mut characters = format.chars().peekable();
    let mut next_argument = 0;
    while let Some(character) = characters.next() {
        out.push(character);
        if character != '%' {
            continue;
        }
        take_while(&mut characters, &mut out, |next| "+-# 0".contains(next));
        // A width, a precision: each may be a number or an argument, and be preceded by an index.
        loop {
            match characters.peek() {
                Some('[') => {
                    let mut index = String::new();
                    take_while(&mut characters, &mut index, |next| next != ']');
                    out.push_str(&index);
                    if let Ok(position) = index[1..].parse::<usize>() {
                        next_argument = position.saturating_sub(1);
                    }
                    out.extend(characters.next());
                }
                Some('*') => {
                    next_argument += 1;
                    out.extend(characters.next());
                }
                Some(next) if next.is_ascii_digit() || *next == '.' => out.extend(characters.next()),
                Some(_) | None => break,
            }
        }
        match characters.next() {
            Some('%') => out.push('%'),
            Some(verb) => {
                let argument = if matches!(verb, 'v' | 's') { arguments.get_mut(next_argument) } else { None };
                out.push(if verb == 'v' && matches!(argument, Some(Value::Float(_))) { 'g' } else { verb });
                if let Some(argument @ (Value::List(_) | Value::Map(_))) = argument {
                    *argument = string(text(argument)?.into_owned())?;
                }
                next_argument += 1;
            }
            None => {}
        }
    }
    Ok(out)
}

fn take_while(characters: &mut Peekable<Chars<'_>>, out: &mut String, wanted: impl Fn(char) -> bool) {
    while let Some(next) = characters.next_if(|next| wanted(*next)) {
        out.push(next);
    }
}
