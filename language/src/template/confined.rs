//! Refuses text with a structure, such as YAML or JSON, in which a value has become structure.
//!
//! In: a template, and the value that its rendered text parses to. Out: nothing, or the place at which a value
//! brought a key, an element, a document or the end of a scalar. The check renders the template twice more, with
//! the same conditions and loops:
//!
//! * *inert*: a token in place of each value. The structure of this text is the author's alone.
//! * *marked*: each value between two marks. Where both marks are within one scalar, so is the value.
//!
//! All three texts must have the same structure, and the same scalars outside of the values; and each value must be in its
//! scalar as it was printed, not a comment or an anchor. Values that could
//! not change any structure, such as numbers and names, are printed as they are. The function `toJson` may print
//! a mapping or a list in place of a whole scalar, because its output ends where it began.

use std::cell::RefCell;

use serde_json::Value;

use super::{RenderError, Template};
use crate::scope::Scope;

/// The marks around a value: characters for private use, which neither YAML nor JSON gives a meaning.
const BEGIN: char = '\u{f8f0}';
const END: char = '\u{f8f1}';
/// The first character of the token of a mapping or list that `toJson` printed.
const STRUCTURE: char = 'j';

/// How the actions of a rendering print values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Inert,
    Marked,
}

#[derive(Debug)]
struct Printing {
    form: Form,
    /// Texts that are printed as they are, whatever they contain.
    trusted: Vec<String>,
    /// The values of this rendering that can change the structure, each once.
    values: Vec<String>,
}

thread_local! {
    /// The rendering of this thread that is checked, if any; a function of the engine receives its arguments and
    /// nothing else.
    static PRINTING: RefCell<Option<Printing>> = const { RefCell::new(None) };
}

/// Returns how an action prints a value, if not as it is; `is_json` says that `toJson` made it.
pub(super) fn printed(value: &str, is_json: bool) -> Option<String> {
    PRINTING.with_borrow_mut(|printing| {
        let printing = printing.as_mut()?;
        if is_inert(value) || printing.trusted.iter().any(|trusted| trusted == value) {
            return None;
        }
        let core = value.trim();
        let index = printing.values.iter().position(|known| known == core).unwrap_or_else(|| {
            printing.values.push(core.to_owned());
            printing.values.len() - 1
        });
        let is_structure = is_json && core.starts_with(['{', '[']);
        match printing.form {
            Form::Plain => None,
            Form::Marked if is_structure || core.is_empty() => None,
            Form::Inert if core.is_empty() => Some(String::new()),
            Form::Inert if is_structure => Some(format!("{BEGIN}{STRUCTURE}{index}{END}")),
            Form::Inert => Some(within_quotes(core, |_| format!("{BEGIN}{index}{END}"))),
            Form::Marked => {
                let (before, after) = value.split_once(core)?;
                let marked = within_quotes(core, |text| format!("{BEGIN}{text}{END}"));
                Some(format!("{before}{marked}{after}"))
            }
        }
    })
}

/// Rewrites a value, but leaves quotes around it outside: they must stay the ends of their scalar.
fn within_quotes(text: &str, rewrite: impl Fn(&str) -> String) -> String {
    quoted(text).map_or_else(|| rewrite(text), |inner| format!("\"{}\"", rewrite(inner)))
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// Whether a text is part of a scalar wherever it stands: words, without anything that YAML or JSON reads.
fn is_inert(text: &str) -> bool {
    let mut characters = text.chars().peekable();
    let Some(first) = characters.next() else { return true };
    let is_second = |next: Option<&char>| next.is_some_and(|next| next.is_alphanumeric());
    let begins = first.is_alphanumeric() || "-+./_".contains(first) && is_second(characters.peek());
    if !begins {
        return text.chars().all(|character| character == ' ');
    }
    while let Some(character) = characters.next() {
        let next = characters.peek();
        let is_word = match character {
            ':' => is_second(next) || next == Some(&'/'),
            ' ' => is_second(next),
            '.' | '_' | '-' | '/' | '@' | '+' | '=' => true,
            other => other.is_alphanumeric(),
        };
        if !is_word {
            return false;
        }
    }
    true
}

/// Why a text was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unconfined {
    /// The template cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A value became structure.
    #[error(
        "a value becomes structure{}: it brings a key, an element, a line, a quote, a comment or a sign; write a \
         mapping in place of the text, or print the value with `| toJson`", at(.0)
    )]
    Structure(String),
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at `{place}`") }
}

impl Template {
    /// Renders the template; also returns whether it printed a value that could change the structure of a text.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_watched(&self, scope: &Scope) -> Result<(String, bool), RenderError> {
        let (text, values) = self.render_as(Form::Plain, &[], scope)?;
        Ok((text, !values.is_empty()))
    }

    /// Checks that no value became structure in the rendered text, which `parse` has turned into `actual`. Values
    /// that are equal to a text in `trusted` may.
    ///
    /// # Errors
    /// A value became structure, or a rendering fails.
    pub fn confine(
        &self,
        scope: &Scope,
        actual: &Value,
        trusted: &[String],
        parse: impl Fn(&str) -> Option<Value>,
    ) -> Result<(), Unconfined> {
        let (inert, values) = self.render_as(Form::Inert, trusted, scope)?;
        let (marked, _) = self.render_as(Form::Marked, trusted, scope)?;
        let is_marked = values.iter().any(|value| value.contains([BEGIN, END]));
        let (Some(inert), Some(marked), false) = (parse(&inert), parse(&marked), is_marked) else {
            return Err(Unconfined::Structure(String::new()));
        };
        compare([&inert, &marked, actual], &values, "").map_err(Unconfined::Structure)
    }

    fn render_as(&self, form: Form, trusted: &[String], scope: &Scope) -> Result<(String, Vec<String>), RenderError> {
        PRINTING.set(Some(Printing { form, trusted: trusted.to_vec(), values: Vec::new() }));
        let text = self.render(scope);
        let values = PRINTING.take().map(|printing| printing.values).unwrap_or_default();
        Ok((text?.into_owned(), values))
    }
}

/// Compares the three forms of a value: inert, marked and actual. The error is the place of the first difference.
fn compare([inert, marked, actual]: [&Value; 3], values: &[String], place: &str) -> Result<(), String> {
    let differs = || Err(place.to_owned());
    match (inert, marked, actual) {
        (Value::Object(inert), Value::Object(marked), Value::Object(actual)) => {
            if inert.len() != marked.len() || inert.len() != actual.len() {
                return differs();
            }
            inert.iter().try_for_each(|(key, value)| {
                let below = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                let found = [with_values(key, values, true), with_values(key, values, false)];
                match (marked.get(&found[0]), actual.get(&found[1])) {
                    (Some(marked), Some(actual)) => compare([value, marked, actual], values, &below),
                    _ => differs(),
                }
            })
        }
        (Value::Array(inert), Value::Array(marked), Value::Array(actual)) => {
            if inert.len() != marked.len() || inert.len() != actual.len() {
                return differs();
            }
            let items = inert.iter().zip(marked).zip(actual).enumerate();
            items
                .map(|(index, ((inert, marked), actual))| ([inert, marked, actual], format!("{place}[{index}]")))
                .try_for_each(|(forms, place)| compare(forms, values, &place))
        }
        (Value::String(inert), marked, actual) if inert.contains(BEGIN) => {
            let is_scalar = !actual.is_object() && !actual.is_array();
            let is_confined = match marked {
                _ if is_structure(inert) => true,
                // A mapping within a longer scalar is printed without marks.
                Value::String(_) if inert.contains(&format!("{BEGIN}{STRUCTURE}")) => is_scalar,
                Value::String(marked) => is_scalar && outside(inert).is_some() && outside(inert) == outside(marked),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
            };
            if is_confined && (is_structure(inert) || survives(inert, actual, values)) { Ok(()) } else { differs() }
        }
        (inert, marked, actual) if inert == marked && inert == actual => Ok(()),
        _ => differs(),
    }
}

/// Whether a scalar is nothing but the token of a mapping or list that `toJson` printed.
fn is_structure(inert: &str) -> bool {
    let token = inert.strip_prefix(BEGIN).and_then(|rest| rest.strip_prefix(STRUCTURE)?.strip_suffix(END));
    token.is_some_and(|index| !index.contains([BEGIN, END]))
}

/// Whether the values are in a scalar as they were printed; white space aside, which a scalar of several lines folds. A
/// number or a boolean is what its text says. A value may have escapes of JSON, for its quotes.
fn survives(inert: &str, actual: &Value, values: &[String]) -> bool {
    let printed = |unescapes: bool| {
        values.iter().enumerate().fold(inert.to_owned(), |text, (index, value)| {
            let inner = quoted(value);
            let unescaped = || serde_json::from_str::<String>(&format!("\"{}\"", inner.unwrap_or(value))).ok();
            let value = if inner.is_some() || unescapes { unescaped() } else { None }.unwrap_or_else(|| value.clone());
            text.replace(&format!("{BEGIN}{index}{END}"), &value)
        })
    };
    let written = |text: &str| text.split_whitespace().collect::<String>();
    match actual {
        _ if inert.contains(&format!("{BEGIN}{STRUCTURE}")) => true,
        Value::String(actual) => [false, true].iter().any(|escapes| written(actual) == written(&printed(*escapes))),
        Value::Null => written(&printed(false)).is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Replaces the tokens of a key by their values.
fn with_values(key: &str, values: &[String], is_marked: bool) -> String {
    values.iter().enumerate().fold(key.to_owned(), |key, (index, value)| {
        let value = quoted(value).unwrap_or(value);
        let value = if is_marked { format!("{BEGIN}{value}{END}") } else { value.to_owned() };
        key.replace(&format!("{BEGIN}{index}{END}"), &value)
    })
}

/// The text outside of marks, without white space; `None` if a mark lacks its counterpart.
fn outside(text: &str) -> Option<String> {
    let mut outside = String::new();
    let mut is_inside = false;
    for character in text.chars() {
        match character {
            BEGIN | END if is_inside == (character == BEGIN) => return None,
            BEGIN | END => is_inside = !is_inside,
            // Each value counts, even if nothing is between two of them.
            _ if is_inside || character.is_whitespace() => continue,
            other => outside.push(other),
        }
        if character == BEGIN {
            outside.push(BEGIN);
        }
    }
    (!is_inside).then_some(outside)
}

#[cfg(test)]
mod tests;
