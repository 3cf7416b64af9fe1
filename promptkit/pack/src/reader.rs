//! Reads the fields of a JSON document, and collects every mistake with its path and its cure.
//!
//! In: a text, or a value that another format gave. Out: the values of fields; what is absent, null or of a wrong type is
//! `None` or empty. Fails: [`Reader::finish`] returns the mistakes that were found on the way. A mistake does not end the
//! reading, so that one run reports all of them.

use std::cell::RefCell;

use lifecycle_config::decode::suggest;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::document::Path;
use serde_json::{Map, Value};

use crate::rule::Rule;

/// Collects the mistakes of one document.
#[derive(Debug)]
pub struct Reader {
    file: String,
    found: RefCell<Diagnostics>,
}

/// A field of the document, whether it is there or not. To read a field is to check it: a wrong type becomes a mistake.
#[derive(Debug, Clone)]
pub struct Field<'r> {
    reader: &'r Reader,
    path: Path,
    value: Option<&'r Value>,
}

impl Reader {
    /// Reads a document; diagnostics name `file`.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), found: RefCell::default() }
    }

    /// Parses a text as JSON. Returns null, and keeps a mistake, if the text is none.
    #[must_use]
    pub fn parse(&self, text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| {
            let message = match text.trim().is_empty() {
                true => "the text is empty".to_owned(),
                false => format!("is no JSON: {error}"),
            };
            self.push(Severity::Error, &Path::root(), message, Some("write a JSON object, `{}` at least".to_owned()));
            Value::Null
        })
    }

    /// The root of the document, which has to be an object. Null reads as an empty one.
    pub fn root<'r>(&'r self, value: &'r Value) -> Field<'r> {
        let root = Field { reader: self, path: Path::root(), value: Some(value).filter(|value| !value.is_null()) };
        root.object();
        root
    }

    /// Returns the value, or every mistake if there was an error. Warnings come with the value.
    ///
    /// # Errors
    /// The document has a mistake.
    pub fn finish<T>(self, value: T) -> Result<(T, Diagnostics), Diagnostics> {
        let found = self.into_found();
        if found.has_errors() { Err(found) } else { Ok((value, found)) }
    }

    /// Returns what was found, errors and warnings.
    #[must_use]
    pub fn into_found(self) -> Diagnostics {
        self.found.into_inner()
    }

    /// Adds the mistakes of a document inside of this one.
    pub fn extend(&self, found: Diagnostics) {
        self.found.borrow_mut().extend(found);
    }

    fn push(&self, severity: Severity, path: &Path, message: String, help: Option<String>) {
        let found = Diagnostic::outside(&self.file, &path.to_string(), message, help);
        let found = found.as_severity(severity);
        let mut all = self.found.borrow_mut();
        // A field may be asked more than once, as an object is for each of its keys.
        if !all.all().contains(&found) {
            all.push(found);
        }
    }
}

impl<'r> Field<'r> {
    /// The field below this one.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.below(self.path.key(key), self.object().and_then(|object| object.get(key)))
    }

    /// The path of the field, as messages write it.
    #[must_use]
    pub fn path(&self) -> String {
        self.path.to_string()
    }

    /// Whether the field has a value other than null.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// The value, whatever its type.
    #[must_use]
    pub fn any(&self) -> Option<Value> {
        self.value.cloned()
    }

    /// The text of the field.
    pub fn text(&self) -> Option<String> {
        self.typed("text", "put the value in quotes", Value::as_str).map(str::to_owned)
    }

    /// The text of the field, if it is not empty.
    pub fn filled(&self) -> Option<String> {
        self.text().filter(|text| !text.is_empty())
    }

    /// The boolean of the field.
    pub fn flag(&self) -> Option<bool> {
        self.typed("a boolean", "write true or false, without quotes", Value::as_bool)
    }

    /// The number of the field.
    pub fn number(&self) -> Option<f64> {
        self.typed("a number", "write a number, without quotes", Value::as_f64)
    }

    /// The whole number of the field, within bounds.
    pub fn whole(&self, least: i64, most: i64) -> Option<i64> {
        let whole = self.typed("a whole number", "write a number without a fraction and without quotes", as_whole)?;
        if (least..=most).contains(&whole) {
            return Some(whole);
        }
        let bounds = if most == i64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
        self.refuse(format!("must be {bounds}, but is {whole}"), format!("write a number of {bounds}"));
        None
    }

    /// The items of a list; null items are refused.
    pub fn items(&self) -> Vec<Self> {
        let items = self.typed("a list", "put the value in brackets, as in `[…]`", Value::as_array);
        let item = |(index, value)| self.below(self.path.index(index), Some(value));
        items.into_iter().flatten().enumerate().map(item).filter(Self::has_value).collect()
    }

    /// The texts of a list.
    pub fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(Self::text).collect()
    }

    /// The fields of an object with keys of the author's choice, sorted by key. Null ones are refused.
    pub fn entries(&self) -> Vec<(&'r str, Self)> {
        let entry = |(key, value): (&'r String, &'r Value)| {
            let field = self.below(self.path.key(key), Some(value));
            field.has_value().then_some((key.as_str(), field))
        };
        let mut entries: Vec<_> = self.object().into_iter().flatten().filter_map(entry).collect();
        entries.sort_by_key(|(key, _)| *key);
        entries
    }

    /// The texts of an object with keys of the author's choice, sorted by key.
    pub fn text_entries(&self) -> Vec<(String, String)> {
        self.entries().into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.text()?))).collect()
    }

    /// The text of the field, which has to be one of these; the first is the default.
    pub fn choice(&self, choices: &[&'static str]) -> Option<&'static str> {
        let Some(text) = self.filled() else { return choices.first().copied() };
        let chosen = choices.iter().find(|choice| **choice == text);
        if chosen.is_none() {
            let nearest = suggest(&text, choices).map(|nearest| format!("write `{nearest}`"));
            let cure = nearest.unwrap_or_else(|| format!("write one of {}", quoted(choices)));
            self.refuse(format!("`{text}` is none of {}", quoted(choices)), cure);
        }
        chosen.copied()
    }

    /// Refuses a text that breaks the rule.
    pub fn keeps(&self, rule: &Rule) {
        let Some(text) = self.filled().filter(|text| !rule.accepts(text)) else { return };
        self.refuse(format!("`{text}` is not {}", rule.pattern), rule.cure.to_owned());
    }

    /// Refuses the field if it is absent, null or an empty text.
    pub fn required(&self, cure: &str) {
        if self.value.is_none_or(|value| value.as_str() == Some("")) {
            self.refuse("is required".to_owned(), cure.to_owned());
        }
    }

    /// Refuses keys of the object that are none of these, and names the nearest.
    pub fn only(&self, known: &[&str]) {
        for key in self.object().into_iter().flatten().map(|(key, _)| key) {
            if known.contains(&key.as_str()) {
                continue;
            }
            let cure = suggest(key, known).map_or_else(
                || format!("remove it; the keys here are {}", quoted(known)),
                |nearest| format!("write `{nearest}`"),
            );
            self.reader.push(Severity::Error, &self.path.key(key), "unknown key".to_owned(), Some(cure));
        }
    }

    /// Adds a mistake at this field.
    pub fn refuse(&self, message: String, cure: String) {
        self.reader.push(Severity::Error, &self.path, message, Some(cure));
    }

    /// Adds a warning at this field.
    pub fn warn(&self, message: String, cure: String) {
        self.reader.push(Severity::Warning, &self.path, message, Some(cure));
    }

    /// The object of the field.
    pub fn object(&self) -> Option<&'r Map<String, Value>> {
        self.typed("an object", "write `{…}`", Value::as_object)
    }

    /// Whether the value is a text, which is read before an object in the few fields that take either.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.value.is_some_and(Value::is_string)
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.value.is_some_and(Value::is_array)
    }

    fn has_value(&self) -> bool {
        if self.value.is_none() {
            self.refuse("is null".to_owned(), "write a value, or remove it".to_owned());
        }
        self.value.is_some()
    }

    fn below(&self, path: Path, value: Option<&'r Value>) -> Self {
        Self { reader: self.reader, path, value: value.filter(|value| !value.is_null()) }
    }

    fn typed<T>(&self, wanted: &str, cure: &str, read: impl Fn(&'r Value) -> Option<T>) -> Option<T> {
        let value = self.value?;
        let read = read(value);
        if read.is_none() {
            self.refuse(format!("must be {wanted}, but is {}", describe(value)), cure.to_owned());
        }
        read
    }
}

/// Above this bound (2^53) a float no longer stands for one whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn as_whole(value: &Value) -> Option<i64> {
    let exact = |float: &f64| float.fract() == 0.0 && float.abs() <= EXACT;
    value.as_i64().or_else(|| value.as_f64().filter(exact).map(|float| float as i64))
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The mistakes as lines for a person: file, path, message and cure.
#[must_use]
pub fn lines(found: &Diagnostics, severity: Severity) -> Vec<String> {
    let line = |found: &Diagnostic| {
        let line = found.line.iter().map(|line| format!(":{line}")).collect::<String>();
        let path = if found.path.is_empty() { String::new() } else { format!(": {}", found.path) };
        let cure = found.help.iter().map(|help| format!("; {help}")).collect::<String>();
        format!("{}{line}{path}: {}{cure}", found.file, found.message)
    };
    found.all().iter().filter(|found| found.severity == severity).map(line).collect()
}

#[cfg(test)]
mod tests;
