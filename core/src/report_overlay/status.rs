//! Reads a status as the API does.
//!
//! In: the text of a request's body. Out: the members that the API's decoder (Go's `encoding/json`) finds, or
//! `None` if it would find no status. That decoder ignores the case of the keys that it knows, uses the last of
//! several equal keys, and ignores everything after the first JSON value.
//!
//! Values stay JSON text and are not parsed, as the API does not parse unknown members either, whatever their
//! depth or range.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use lifecycle_language::value;

/// The keys of a status that the API matches without regard to case.
const STATUS: [&str; 6] =
    ["\"adapter\"", CONDITIONS, "\"data\"", "\"metadata\"", "\"observed_generation\"", "\"observed_time\""];
const CONDITIONS: &str = "\"conditions\"";
/// The keys of a condition that the API matches without regard to case.
const CONDITION: [&str; 4] = ["\"message\"", "\"reason\"", "\"status\"", "\"type\""];

/// The statuses that a condition can have.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
/// How many characters of an invalid status a message quotes.
const QUOTED: usize = 60;

/// The body of a report: an object with `adapter` and a list of `conditions`.
#[derive(Debug)]
pub(super) struct Status<'t> {
    members: Object<'t>,
    pub(super) conditions: Vec<Element<'t>>,
    /// Whether a status or a condition in the text has one of the API's keys twice.
    pub(super) has_repeated_keys: bool,
}

/// An element of the status's list `conditions`.
#[derive(Debug)]
pub(super) enum Element<'t> {
    /// An object, which the API reads as a condition.
    Condition(Condition<'t>),
    /// An element that is no object; the API rejects a status that has one.
    Other(&'t str),
}

/// One condition of a status, by its members.
#[derive(Debug)]
pub(super) struct Condition<'t>(Object<'t>);

/// The members of an object, keys and values as JSON text. Keys that the API knows have the API's spelling.
type Object<'t> = BTreeMap<Cow<'t, str>, Cow<'t, str>>;

impl<'t> Status<'t> {
    /// Reads a body; `None` if the API would find no status there.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let mut has_repeated_keys = false;
        let mut members = object(text, &STATUS, &mut has_repeated_keys)?;
        members.get("\"adapter\"")?;
        let Cow::Borrowed(conditions) = members.remove(CONDITIONS)? else { return None };
        let conditions = list(conditions)?.into_iter().map(|element| {
            let members = object(element, &CONDITION, &mut has_repeated_keys);
            members.map_or(Element::Other(element), |members| Element::Condition(Condition(members)))
        });
        let conditions = conditions.collect();
        Some(Self { members, conditions, has_repeated_keys })
    }

    /// Whether the status has an `observed_generation`.
    pub(super) fn has_generation(&self) -> bool {
        self.members.get("\"observed_generation\"").is_some_and(|generation| generation != "null")
    }

    /// The conditions of a type.
    pub(super) fn of_type<'s>(&'s mut self, kind: &'s str) -> impl Iterator<Item = &'s mut Condition<'t>> {
        self.each().filter(move |condition| condition.text("type").as_deref() == Some(kind))
    }

    /// Iterates over the conditions of every type; skips elements that are no objects.
    pub(super) fn each<'s>(&'s mut self) -> impl Iterator<Item = &'s mut Condition<'t>> {
        self.conditions.iter_mut().filter_map(|element| match element {
            Element::Condition(condition) => Some(condition),
            Element::Other(_) => None,
        })
    }

    /// Writes the status as JSON text, each key once.
    pub(super) fn write(mut self) -> String {
        let conditions = self.conditions.into_iter().map(|element| match element {
            Element::Condition(Condition(members)) => Cow::Owned(written(&members)),
            Element::Other(text) => Cow::Borrowed(text),
        });
        let conditions = conditions.collect::<Vec<_>>().join(",");
        self.members.insert(Cow::Borrowed(CONDITIONS), Cow::Owned(format!("[{conditions}]")));
        written(&self.members)
    }
}

impl Condition<'_> {
    /// A condition with this type and no other member.
    pub(super) fn new(kind: &str) -> Self {
        let mut condition = Self(Object::new());
        condition.set("type", kind);
        condition
    }

    /// The value of a member that is a string; `None` for any other value.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.0.get(quoted(key).as_str())?).ok()
    }

    /// Why the API would reject the report because of this condition's status; `None` if it would accept it.
    pub(super) fn status_fault(&self) -> Option<String> {
        let text = self.0.get("\"status\"").map_or("null", Cow::as_ref);
        // JSON text that this decoder rejects, such as an unpaired surrogate, is not one of the three statuses
        // for the API either.
        serde_json::from_str(text).map_or_else(|_| Some(refused(text)), |status| status_fault(&status))
    }

    /// Sets a member to a string.
    pub(super) fn set(&mut self, key: &str, text: &str) {
        self.0.insert(Cow::Owned(quoted(key)), Cow::Owned(quoted(text)));
    }
}

/// Why the API would reject a report with a condition of this status; `None` if it would accept it.
#[must_use]
pub fn status_fault(status: &Value) -> Option<String> {
    match status {
        Value::Null => Some("the status has no value".to_owned()),
        Value::String(text) if STATUSES.contains(&text.as_str()) => None,
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Some(refused(&value::json::to_string(other)))
        }
    }
}

fn refused(status: &str) -> String {
    let shown: String = status.chars().take(QUOTED).collect();
    let dots = if shown.len() < status.len() { "…" } else { "" };
    format!("the status is {shown}{dots}, but it has to be one of the texts True, False and Unknown")
}

/// Whether the API's decoder matches `key` to its own key `known`, given in lower case.
#[must_use]
pub fn is_key(key: &str, known: &str) -> bool {
    if key.is_ascii() {
        return key.eq_ignore_ascii_case(known);
    }
    // Unicode case folding maps two letters outside of ASCII onto ASCII letters: `ſ` and the Kelvin sign.
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(known.chars())
}

fn quoted(text: &str) -> String {
    value::json::to_string(&Value::from(text))
}

fn written(members: &Object<'_>) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Reads the members of the object at the beginning of the text. Ignores everything after the object. Keys in
/// `known` get that spelling. Sets `repeats` if one of them occurs twice.
fn object<'t>(text: &'t str, known: &[&'static str], repeats: &mut bool) -> Option<Object<'t>> {
    let mut rest = text.trim_start_matches(SPACE).strip_prefix('{')?.trim_start_matches(SPACE);
    let mut members = Object::new();
    if rest.starts_with('}') {
        return Some(members);
    }
    loop {
        let (key, after) = first_value(rest).filter(|(key, _)| key.starts_with('"'))?;
        let (value, after) = first_value(after.strip_prefix(':')?)?;
        let name = unquoted(key);
        let known = known.iter().copied().find(|known| name.as_deref().is_some_and(|name| is_key(name, bare(known))));
        *repeats |= known.is_some_and(|known| members.contains_key(known));
        match known {
            // Go's decoder keeps a string unchanged if the value is `null`, and sets a list to nil.
            Some(known) if value == "null" && known != CONDITIONS => {
                members.entry(Cow::Borrowed(known)).or_insert(Cow::Borrowed(value));
            }
            Some(known) => drop(members.insert(Cow::Borrowed(known), Cow::Borrowed(value))),
            None => drop(members.insert(Cow::Borrowed(key), Cow::Borrowed(value))),
        }
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return after.starts_with('}').then_some(members),
        }
    }
}

/// The value of a JSON string; `None` for an unpaired surrogate, which no key of the API contains.
fn unquoted(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('\\') { serde_json::from_str(text).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(bare(text))) }
}

/// A JSON string without its quotes.
fn bare(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// The elements of a JSON list, as text; `None` if the text is no list.
fn list(text: &str) -> Option<Vec<&str>> {
    let mut rest = text.strip_prefix('[')?.trim_start_matches(SPACE);
    let mut elements = Vec::new();
    if rest.starts_with(']') {
        return Some(elements);
    }
    loop {
        let (element, after) = first_value(rest)?;
        elements.push(element);
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return after.starts_with(']').then_some(elements),
        }
    }
}

/// The characters that JSON allows as white space between tokens.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Why the text does not begin with a JSON value: the fault and its position, without quoting the text, which
/// may hold secrets.
pub(super) fn json_fault(text: &str) -> Option<String> {
    match Deserializer::from_str(text).into_iter::<IgnoredAny>().next() {
        Some(Ok(IgnoredAny)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some("it is empty".to_owned()),
    }
}

/// Splits the text into its first JSON value and the rest, both without surrounding white space.
fn first_value(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(SPACE);
    // `IgnoredAny` skips a value without recursion, and accepts any number and unpaired surrogates.
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let (value, rest) = text.split_at_checked(values.byte_offset())?;
    Some((value, rest.trim_start_matches(SPACE)))
}
