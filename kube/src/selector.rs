//! Label selectors, by which lists choose objects.
//!
//! In: labels, one label's key, or nothing. Out: the selector's text. Fails: with a message, if labels would choose every object or the
//! text would have another meaning. Pure.

use std::collections::BTreeMap;

/// Which objects a list chooses. Only [`Everything`](Self::Everything) chooses every object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector<'a> {
    /// Objects that carry all of these labels; at least one.
    Labels(&'a BTreeMap<String, String>),
    /// Objects that carry a label of this key, whatever its value.
    Exists(&'a str),
    /// Every object. A variant of its own, so that a missing label never means this.
    Everything,
}

impl Selector<'_> {
    /// The selector as the parameter `labelSelector` of a list; refuses characters with a meaning in selectors.
    pub(crate) fn text(&self) -> Result<String, String> {
        match self {
            Self::Labels(labels) if labels.is_empty() => Err("the selector has no label".to_owned()),
            Self::Labels(labels) => {
                let requirements: Result<Vec<_>, String> = labels
                    .iter()
                    .map(|(key, value)| Ok(format!("{}={}", checked_key(key)?, checked_value(key, value)?)))
                    .collect();
                Ok(requirements?.join(","))
            }
            Self::Exists(key) => checked_key(key).map(str::to_owned),
            Self::Everything => Ok(String::new()),
        }
    }
}

fn checked_key(key: &str) -> Result<&str, String> {
    let is_key = !key.is_empty() && key.chars().all(|c| is_plain(c) || c == '/');
    is_key.then_some(key).ok_or_else(|| format!("{key:?} cannot be a label's key"))
}

fn checked_value<'a>(key: &str, value: &'a str) -> Result<&'a str, String> {
    let is_value = value.chars().all(is_plain);
    is_value.then_some(value).ok_or_else(|| format!("{value:?} cannot be the value of label {key}"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn selector_requires_exactly_its_labels() {
        let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let second = "\"1,b=2\" cannot be the value of label a";
        let cases = [
            ("sorted", Selector::Labels(&labels(&[("b", "2"), ("a/x", "1")])), Ok("a/x=1,b=2")),
            ("an empty value", Selector::Labels(&labels(&[("a", "")])), Ok("a=")),
            ("nothing would select all", Selector::Labels(&labels(&[])), Err("the selector has no label")),
            ("a second requirement in a value", Selector::Labels(&labels(&[("a", "1,b=2")])), Err(second)),
            ("a negation", Selector::Labels(&labels(&[("!a", "1")])), Err("\"!a\" cannot be a label's key")),
            ("an empty key", Selector::Labels(&labels(&[("", "1")])), Err("\"\" cannot be a label's key")),
            ("any value", Selector::Exists("a/x"), Ok("a/x")),
            ("everything, said explicitly", Selector::Everything, Ok("")),
            ("no value at all", Selector::Exists("!a"), Err("\"!a\" cannot be a label's key")),
            ("an empty key with any value", Selector::Exists(""), Err("\"\" cannot be a label's key")),
            ("two requirements in a key", Selector::Exists("a,b"), Err("\"a,b\" cannot be a label's key")),
        ];
        for (name, selector, expected) in cases {
            assert_eq!(selector.text(), expected.map(str::to_owned).map_err(str::to_owned), "{name}");
        }
    }

    proptest! {
        #[test]
        fn selector_has_one_requirement_for_each_label(labels in proptest::collection::btree_map(".*", ".*", 1..4)) {
            if let Ok(text) = Selector::Labels(&labels).text() {
                prop_assert_eq!(text.split(',').count(), labels.len());
                prop_assert_eq!(text.matches('=').count(), labels.len());
            }
        }
    }
}
