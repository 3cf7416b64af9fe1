//! Which values of a scope are secret, and texts without these values.
//!
//! In: the paths of the secret variables, and their values. Out: whether an expression or a template reads a secret, and a
//! text in which `[redacted]` stands in place of each secret. The paths decide what is secret; the search only finds what a
//! text, such as an error's, quotes of it. Fails: nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Number, Value};

use crate::cel::Expression;
use crate::template::Template;

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// The shortest secret that is also looked for inside of longer texts. Shorter ones, such as `eu`, are parts of
/// many words; a text that is one as a whole is always redacted.
const WITHIN_TEXT: usize = 6;

/// The shortest secret; a shorter text tells nobody anything, and is in every trace.
const SHORTEST: usize = 3;

/// The paths of the variables, or of their parts, that are secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretPaths {
    paths: BTreeSet<Vec<String>>,
}

impl SecretPaths {
    /// Says whether the value at a path, such as `["env", "TOKEN"]`, is secret.
    pub fn set(&mut self, path: &[&str], is_secret: bool) {
        let path = path.iter().map(|&key| key.to_owned()).collect();
        if is_secret {
            self.paths.insert(path);
        } else {
            self.paths.remove(&path);
        }
    }

    /// Whether nothing is secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether the value at a path is secret, or a part of a secret.
    #[must_use]
    pub fn cover(&self, path: &[&str]) -> bool {
        self.paths.iter().any(|secret| secret.len() <= path.len() && leads_as(secret, path))
    }

    /// Whether the value at a path is secret, a part of a secret, or has one within it.
    #[must_use]
    pub fn touch(&self, path: &[&str]) -> bool {
        self.paths.iter().any(|secret| leads_as(secret, path))
    }

    /// Whether an expression reads a secret.
    #[must_use]
    pub fn are_read_by(&self, expression: &Expression) -> bool {
        !self.is_empty() && expression.member_paths().iter().any(|path| self.touch(path))
    }

    /// Whether a template reads a secret.
    #[must_use]
    pub fn are_rendered_by(&self, template: &Template) -> bool {
        let touches = |path: &String| self.touch(&path.split('.').collect::<Vec<_>>());
        !self.is_empty() && (template.reads_root() || template.variables().iter().any(touches))
    }

    /// The paths, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[String]> {
        self.paths.iter().map(Vec::as_slice)
    }
}

/// Whether one of two paths begins with the other.
fn leads_as(secret: &[String], path: &[&str]) -> bool {
    secret.iter().zip(path).all(|(secret, key)| secret == key)
}

/// The texts that are secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Each secret, as text and as JSON writes the text.
    texts: BTreeSet<String>,
}

impl Secrets {
    /// Whether nothing is secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Adds every text and number of a value.
    pub fn add(&mut self, value: &Value) {
        leaves(value, &mut |text| self.texts.extend(forms(text)));
    }

    /// Removes every text and number of a value, because everybody may see them.
    pub fn forget(&mut self, value: &Value) {
        leaves(value, &mut |text| {
            for form in forms(text) {
                self.texts.remove(&form);
            }
        });
    }

    /// Whether a text as a whole is secret.
    #[must_use]
    pub fn contain(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// Whether a number is secret.
    #[must_use]
    pub fn contain_number(&self, number: &Number) -> bool {
        self.contain(&digits(number))
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.contain(text) {
            return Cow::Borrowed(REDACTED);
        }
        let within = self.texts.iter().filter(|secret| secret.len() >= WITHIN_TEXT && text.contains(secret.as_str()));
        let mut found: Vec<&String> = within.collect();
        // A secret may contain another one.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.iter().fold(Cow::Borrowed(text), |text, secret| Cow::Owned(text.replace(secret.as_str(), REDACTED)))
    }
}

/// Prints no text, because each is secret.
impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secrets").field("texts", &self.texts.len()).finish()
    }
}

/// A number as most texts print it: one of the API is a double, also if it is whole.
fn digits(number: &Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A secret as it may stand in a text.
fn forms(text: &str) -> [String; 3] {
    let json = Value::from(text).to_string();
    let escaped = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(&json);
    [text.trim().to_owned(), escaped.to_owned(), text.to_owned()]
}

/// Visits the texts and numbers of a value that are long enough to be a secret.
fn leaves(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) if text.trim().len() >= SHORTEST => visit(text),
        Value::Number(number) => {
            let text = digits(number);
            if text.len() >= SHORTEST {
                visit(&text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, visit)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, visit)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A value of the same structure in which each text and number reads `[redacted]`.
#[must_use]
pub fn masked(value: &Value) -> Value {
    match value {
        Value::String(_) | Value::Number(_) => Value::from(REDACTED),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), masked(member))).collect(),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        texts.iter().for_each(|text| secrets.add(&Value::from(*text)));
        secrets
    }

    #[test]
    fn secret_is_redacted_as_a_whole_and_within_text() {
        let secrets = secrets(&["hunter2", "hunter2-long", "dev", "a \"quoted\" one", "x"]);
        let cases = [
            ("hunter2", "[redacted]"),
            ("Bearer hunter2!", "Bearer [redacted]!"),
            ("hunter2-long and hunter2", "[redacted] and [redacted]"),
            ("dev", "[redacted]"),
            ("device", "device"),
            ("x", "x"),
            (r#"{"a":"a \"quoted\" one"}"#, r#"{"a":"[redacted]"}"#),
            ("nothing", "nothing"),
        ];
        for (text, expected) in cases {
            assert_eq!(secrets.text(text), expected, "{text}");
        }
    }

    #[test]
    fn text_that_everybody_may_see_is_no_secret() {
        let mut secrets = Secrets::default();
        secrets.add(&json!({"id": "c-12345", "token": "hunter2", "port": 8443.0}));
        secrets.forget(&json!(["c-12345"]));
        assert_eq!(secrets.text("/clusters/c-12345/hunter2:8443"), "/clusters/c-12345/[redacted]:8443");
        assert_eq!(secrets.text("8443"), REDACTED);
        assert!(secrets.contain_number(&Number::from(8443)));
    }

    #[test]
    fn path_is_secret_with_its_parts_and_read_with_what_contains_it() {
        let mut paths = SecretPaths::default();
        paths.set(&["cluster", "spec", "pullSecret"], true);
        let cases = [
            ("cluster", false, true),
            ("cluster.spec", false, true),
            ("cluster.spec.pullSecret", true, true),
            ("cluster.spec.pullSecret.auths", true, true),
            ("cluster.spec.region", false, false),
            ("clusters", false, false),
        ];
        for (path, is_covered, is_touched) in cases {
            let keys: Vec<&str> = path.split('.').collect();
            assert_eq!((paths.cover(&keys), paths.touch(&keys)), (is_covered, is_touched), "{path}");
            let expression = Expression::parse(&path.replace('.', ".?")).unwrap();
            assert_eq!(paths.are_read_by(&expression), is_touched, "{path}");
            let template = Template::parse(&format!("a {{{{ .{path} }}}}")).unwrap();
            assert_eq!(paths.are_rendered_by(&template), is_touched, "{path}");
        }
        paths.set(&["cluster", "spec", "pullSecret"], false);
        assert!(paths.is_empty());
    }
}
