//! Parses the JSON path of `kubectl`, as far as this dialect goes.
//!
//! In: the text of a path, in braces. Out: its steps. Fails with the part that is no step, or that is refused.

use serde_json::Value;

use super::{FieldPathError, Filter, Step};

type Parsed<T> = Result<T, FieldPathError>;

/// Parses a path such as `{.a.b[0]}`.
pub(super) fn path(text: &str) -> Parsed<Vec<Step>> {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    steps(inside.ok_or_else(|| error("a path that begins with `{` ends with `}`"))?, Filters::Allowed)
}

/// Whether a path may have filters; that within a filter may not.
#[derive(Clone, Copy, PartialEq)]
enum Filters {
    Allowed,
    Refused,
}

fn error(message: impl Into<String>) -> FieldPathError {
    FieldPathError(message.into())
}

fn steps(text: &str, filters: Filters) -> Parsed<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let after = &rest[next.len_utf8()..];
        match next {
            ' ' | '@' | '$' => rest = after,
            '.' if after.starts_with('.') => return Err(error("`..` is not supported: name every key")),
            '.' => {
                let name;
                (name, rest) = self::name(after);
                steps.push(if name == "*" { Step::Wildcard } else { Step::Field(name) });
            }
            '[' => match after.strip_prefix("?(") {
                Some(_) if filters == Filters::Refused => return Err(error("a filter within a filter")),
                Some(text) => {
                    let filter;
                    (filter, rest) = self::filter(text)?;
                    steps.push(Step::Filter(filter));
                }
                None => {
                    let inside;
                    (inside, rest) = after.split_once(']').ok_or_else(|| error("unterminated array"))?;
                    bracket(inside, &mut steps)?;
                }
            },
            other => return Err(error(format!("unexpected {other:?}; a step begins with `.` or `[`"))),
        }
    }
    Ok(steps)
}

/// Reads a name up to the next terminator; a backslash makes the next character part of the name.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if matches!(next, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}') {
            break;
        }
        rest = &rest[next.len_utf8()..];
        if next == '\\' {
            let escaped = rest.chars().next();
            rest = &rest[escaped.map_or(0, char::len_utf8)..];
            // client-go drops a backslash that follows a backslash.
            name.extend(escaped.filter(|escaped| *escaped != '\\'));
        } else {
            name.push(next);
        }
    }
    (name, rest)
}

fn bracket(inside: &str, steps: &mut Vec<Step>) -> Parsed<()> {
    let key = inside.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')).filter(|key| !key.contains('\''));
    if let Some(key) = key {
        // As in client-go, a dot in the key separates two keys, unless a backslash is before it.
        steps.extend(self::steps(&format!(".{key}"), Filters::Refused)?);
    } else if inside == "*" {
        steps.push(Step::Items);
    } else if inside.contains([':', ',']) {
        return Err(error(format!("[{inside}]: slices and unions are not supported; write one index, or `[*]`")));
    } else {
        let index = inside.parse::<i32>().map_err(|_| error(format!("invalid array index {inside}")))?;
        steps.push(Step::Index(index.into()));
    }
    Ok(())
}

/// Parses a filter after its `[?(`; returns the text after its `)]`.
fn filter(text: &str) -> Parsed<(Filter, &str)> {
    let end = end_of_filter(text).ok_or_else(|| error("unterminated filter"))?;
    let (inside, rest) = (&text[..end], &text[end + 2..]);
    let is_operator = |character: char| matches!(character, '!' | '<' | '>' | '=');
    let (left, right) = inside.split_at(inside.find(is_operator).unwrap_or(end));
    let path = steps(left, Filters::Refused)?;
    if right.is_empty() {
        return Ok((Filter { path, comparison: None }, rest));
    }
    let (operator, right) = right.split_at(right.find(|next| !is_operator(next)).unwrap_or(right.len()));
    if !["==", "!=", "<", "<=", ">", ">="].contains(&operator) {
        return Err(error(format!("unrecognized filter operator {operator}")));
    }
    Ok((Filter { path, comparison: Some((operator.to_owned(), literal(right.trim())?)) }, rest))
}

/// The index of the `)]` outside of quotes.
fn end_of_filter(text: &str) -> Option<usize> {
    let (mut quote, mut is_escaped) = (None, false);
    for (index, next) in text.char_indices() {
        match quote {
            _ if is_escaped => is_escaped = false,
            Some(_) if next == '\\' => is_escaped = true,
            Some(open) if next == open => quote = None,
            None if matches!(next, '"' | '\'') => quote = Some(next),
            None if text[index..].starts_with(")]") => return Some(index),
            Some(_) | None => {}
        }
    }
    None
}

/// Parses the right side of a comparison.
fn literal(text: &str) -> Parsed<Value> {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).and_then(|text| unescaped(text, quote));
    let number = || text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok();
    let literal = match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        text if text.starts_with(['"', '\'']) => quoted('"').or_else(|| quoted('\'')).map(Value::from),
        _ => number(),
    };
    literal.ok_or_else(|| error(format!("{text}: a filter compares with one text in quotes, number or boolean")))
}

/// Takes the backslashes from before quotes and backslashes; returns none for another escape, and for a quote without one.
fn unescaped(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.push(characters.next().filter(|next| *next == '\\' || *next == quote)?),
            character if character == quote => return None,
            character => out.push(character),
        }
    }
    Some(out)
}
