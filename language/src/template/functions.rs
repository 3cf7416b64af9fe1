//! The functions that templates can call in addition to those of the template engine.
//!
//! The order of arguments is that of the Go function of the same name, so the subject comes first (`replace s
//! old new`), and not last as in Sprig. Go's functions are typed: text where they take text, and an error for
//! anything else. Functions that print values replace the engine's, which print Rust's numbers and have no
//! limit of length.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use gotmpl::{FuncMap, TemplateError, Value, ValueFunc};
use jiff::Timestamp;

use super::text::{check_length, text, type_name};
use super::{confined, time};
use crate::value;
use crate::value::base64;
use crate::value::convert::truncate;

pub(super) mod printf;
mod words;

/// `member base "a" "b"` reads base.a.b. The NUL in each of these names keeps templates from calling the
/// function.
pub(super) const MEMBER: &str = "\u{0}member";
/// Prints the value of an action; the first argument is its [`Origin`](super::origin::Origin), and one between
/// both says that `toJson` made the value.
pub(super) const SHOW: &str = "\u{0}show";
/// Returns null, Go's `nil`.
pub(super) const NIL: &str = "\u{0}nil";

/// `toJson value` prints a value as JSON, which is YAML too.
pub(super) const TO_JSON: &str = "toJson";

type Result = gotmpl::Result<Value>;
type Function = fn(&[Value]) -> Result;

/// The engine's own functions that templates use unchanged.
const BUILT_IN: [&str; 13] = ["and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "index", "slice", "len", "call"];

static FUNCTIONS: LazyLock<FuncMap> = LazyLock::new(|| {
    let functions: [(&str, Function); 32] = [
        (MEMBER, member),
        (SHOW, show),
        (NIL, |_| Ok(Value::Nil)),
        ("print", |values| printf::print(values)),
        ("println", |values| printf::println(values)),
        ("printf", |values| printf::printf(values)),
        ("html", |values| escaped(values, gotmpl::html_escape)),
        ("js", |values| escaped(values, gotmpl::js_escape)),
        ("urlquery", |values| escaped(values, gotmpl::url_encode)),
        ("now", now),
        ("date", |values| date("date", values)),
        ("dateFormat", |values| date("dateFormat", values)),
        ("lower", |values| string(on_text("lower", values)?.to_lowercase())),
        ("upper", |values| string(on_text("upper", values)?.to_uppercase())),
        ("title", |values| string(words::title(on_text("title", values)?))),
        ("trim", |values| string(on_text("trim", values)?.trim().to_owned())),
        ("trimPrefix", |values| {
            let [subject, prefix] = texts("trimPrefix", values)?;
            string(subject.strip_prefix(prefix).unwrap_or(subject).to_owned())
        }),
        ("trimSuffix", |values| {
            let [subject, suffix] = texts("trimSuffix", values)?;
            string(subject.strip_suffix(suffix).unwrap_or(subject).to_owned())
        }),
        ("replace", replace),
        ("contains", |values| texts("contains", values).map(|[subject, part]| Value::Bool(subject.contains(part)))),
        ("hasPrefix", |values| {
            texts("hasPrefix", values).map(|[subject, part]| Value::Bool(subject.starts_with(part)))
        }),
        ("hasSuffix", |values| texts("hasSuffix", values).map(|[subject, part]| Value::Bool(subject.ends_with(part)))),
        ("quote", |values| string(words::quote(on_text("quote", values)?))),
        ("b64enc", |values| string(base64::encode(on_text("b64enc", values)?.as_bytes()))),
        ("b64dec", decode),
        ("default", default),
        (TO_JSON, |values| {
            let [value] = arguments(TO_JSON, values)?;
            string(value::json::to_string(&json(value)))
        }),
        ("int", |values| integer("int", values)),
        ("int64", |values| integer("int64", values)),
        ("float", |values| float("float", values)),
        ("float64", |values| float("float64", values)),
        ("string", |values| {
            let [value] = arguments("string", values)?;
            string(text(value)?.into_owned())
        }),
    ];
    functions.into_iter().map(|(name, function)| (name.to_owned(), Arc::new(function) as ValueFunc)).collect()
});

/// Returns all functions of this module.
pub(super) fn all() -> FuncMap {
    FUNCTIONS.clone()
}

/// Whether a template may call a function of this name.
pub(super) fn is_known(name: &str) -> bool {
    BUILT_IN.contains(&name) || FUNCTIONS.contains_key(name)
}

/// Returns the names of all functions that a template may call, sorted.
pub(super) fn names() -> Vec<&'static str> {
    let names = FUNCTIONS.keys().map(String::as_str).filter(|name| !name.starts_with('\u{0}'));
    let mut names: Vec<&str> = names.chain(BUILT_IN).collect();
    names.sort_unstable();
    names.dedup();
    names
}

thread_local! {
    /// The time of the event for which this thread renders a template. A function `now` for each event, as the
    /// engine offers it, would copy all functions for each rendering.
    static CLOCK: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// Renders a template, in which `now` returns the event's time.
pub(super) fn at<T>(now: Timestamp, render: impl FnOnce() -> T) -> T {
    CLOCK.set(Some(now));
    let rendered = render();
    CLOCK.set(None);
    rendered
}

fn now(values: &[Value]) -> Result {
    let [] = arguments("now", values)?;
    CLOCK.get().map_or_else(|| failure("now is not bound"), |now| string(time::text(now)))
}

fn failure<T>(message: impl Into<String>) -> gotmpl::Result<T> {
    Err(TemplateError::Exec(message.into()))
}

fn string(text: String) -> Result {
    check_length(text.len())?;
    Ok(Value::String(text.into()))
}

fn arguments<'values, const COUNT: usize>(
    name: &str,
    values: &'values [Value],
) -> gotmpl::Result<&'values [Value; COUNT]> {
    values
        .try_into()
        .map_err(|_| TemplateError::Exec(format!("wrong number of args for {name}: want {COUNT} got {}", values.len())))
}

fn texts<'values, const COUNT: usize>(name: &str, values: &'values [Value]) -> gotmpl::Result<[&'values str; COUNT]> {
    let mut texts = [""; COUNT];
    for (slot, value) in texts.iter_mut().zip(arguments::<COUNT>(name, values)?) {
        *slot = match value {
            Value::String(text) => text,
            Value::Nil => return failure(format!("invalid value for {name}; expected string")),
            other @ (Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Float(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Function(_)) => {
                return failure(format!("wrong type for value of {name}; expected string; got {}", type_name(other)));
            }
        };
    }
    Ok(texts)
}

fn on_text<'values>(name: &str, values: &'values [Value]) -> gotmpl::Result<&'values str> {
    texts(name, values).map(|[subject]| subject)
}

/// Reads nested fields. Each has to exist, in a mapping.
fn member(values: &[Value]) -> Result {
    let Some((base, names)) = values.split_first() else { return Ok(Value::Nil) };
    let mut value = base.clone();
    for name in names {
        let Value::String(name) = name else { return failure("a field name is not text") };
        value = field(&value, name)?;
    }
    Ok(value)
}

/// Reads one field: the entry of a mapping.
fn field(value: &Value, name: &str) -> Result {
    match value {
        Value::Map(map) => map.get(name).cloned().ok_or_else(|| TemplateError::MissingKey { key: name.to_owned() }),
        Value::Nil => failure(format!("nil data; no entry for key {name:?}")),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::List(_)
        | Value::Function(_) => failure(format!("can't evaluate field {name} in type {}", type_name(value))),
    }
}

fn show(values: &[Value]) -> Result {
    let [Value::String(origin), marks @ .., value] = values else { return failure("nothing to show") };
    match value {
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => Ok(value.clone()),
        // A value that comes from no field is the author's.
        Value::String(_) if origin.is_empty() => Ok(value.clone()),
        Value::String(text) => confined::printed(text, !marks.is_empty()).map_or_else(|| Ok(value.clone()), string),
        Value::Float(_) | Value::List(_) | Value::Map(_) | Value::Function(_) => {
            let text = text(value)?;
            string(confined::printed(&text, false).unwrap_or_else(|| text.into_owned()))
        }
    }
}

/// Converts a value of the engine to JSON.
fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Nil | Value::Function(_) => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(integer) => (*integer).into(),
        Value::Uint(integer) => (*integer).into(),
        Value::Float(float) => (*float).into(),
        Value::String(text) => (**text).into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => map.iter().map(|(key, value)| (key.to_string(), json(value))).collect(),
    }
}

/// Returns the text that an action prints, `<no value>` for null.
pub(super) fn printed_text(values: &[Value]) -> gotmpl::Result<String> {
    let shown = show(values)?;
    if matches!(shown, Value::Nil) { Ok("<no value>".to_owned()) } else { text(&shown).map(Cow::into_owned) }
}

fn escaped(values: &[Value], escape: fn(&str) -> String) -> Result {
    let written = printf::concatenate(values)?;
    string(escape(&written))
}

fn replace(values: &[Value]) -> Result {
    let [subject, old, new] = texts("replace", values)?;
    let places = if old.is_empty() { subject.chars().count() + 1 } else { subject.matches(old).count() };
    check_length(subject.len() + places.saturating_mul(new.len()))?;
    string(subject.replace(old, new))
}

fn decode(values: &[Value]) -> Result {
    match base64::decode(on_text("b64dec", values)?).map(String::from_utf8) {
        Ok(Ok(decoded)) => string(decoded),
        Ok(Err(_)) => failure("b64dec: the decoded bytes are not text"),
        Err(error) => failure(format!("b64dec: {error}")),
    }
}

fn default(values: &[Value]) -> Result {
    let [fallback, value] = arguments("default", values)?;
    let empty = match value {
        Value::Nil => true,
        Value::String(text) => text.is_empty(),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Function(_) => false,
    };
    Ok(if empty { fallback.clone() } else { value.clone() })
}

/// Converts a value to an integer; zero if it is no number, as in Go.
fn integer(name: &str, values: &[Value]) -> Result {
    let [value] = arguments(name, values)?;
    Ok(Value::Int(match value {
        Value::Int(integer) => *integer,
        Value::Uint(integer) => i64::try_from(*integer).unwrap_or(0),
        Value::Float(float) => truncate(*float).unwrap_or(0),
        Value::String(text) => text.parse().unwrap_or(0),
        Value::Nil | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Function(_) => 0,
    }))
}

fn float(name: &str, values: &[Value]) -> Result {
    let [value] = arguments(name, values)?;
    #[expect(clippy::cast_precision_loss, reason = "as Go converts an integer")]
    Ok(Value::Float(match value {
        Value::Int(integer) => *integer as f64,
        Value::Uint(integer) => *integer as f64,
        Value::Float(float) => *float,
        Value::String(text) => text.parse().unwrap_or(0.0),
        Value::Nil | Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Function(_) => 0.0,
    }))
}

fn date(name: &str, values: &[Value]) -> Result {
    let [layout, moment] = texts(name, values)?;
    match time::parse(moment) {
        Some(moment) => string(time::format(layout, moment)),
        None => failure(format!("{name}: {moment:?} is not a time")),
    }
}
