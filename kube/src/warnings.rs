//! Warnings that the API server sends with its answers, in headers `Warning`.
//!
//! In: the headers of an answer, and the object of the call. Out: the texts that no earlier answer about the
//! object had. Never fails: a header of any other form is ignored.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;
use http::header::WARNING;
use lifecycle_objects::object_ref::ObjectRef;

/// How many warnings are remembered: 16,384 hashes take about 300 KiB. When there are more, all are forgotten,
/// and each may be returned once more.
const REMEMBERED: usize = 16_384;
/// How many characters of a warning are kept. The server limits the warnings of one answer to 4 KiB.
const LONGEST: usize = 500;

/// The warnings that were returned already, as hashes of object and text.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<HashSet<u64>>);

impl Warnings {
    /// The warnings in the headers of an answer about `object`, without those that were returned before.
    pub(crate) fn new_in(&self, headers: &HeaderMap, object: &ObjectRef) -> Vec<String> {
        let texts = headers.get_all(WARNING).iter().filter_map(|value| text(value.to_str().ok()?));
        texts.filter(|text| self.is_new(object, text)).collect()
    }

    fn is_new(&self, object: &ObjectRef, text: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        (object.to_string(), text).hash(&mut hasher);
        let mut returned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if returned.len() >= REMEMBERED {
            returned.clear();
        }
        returned.insert(hasher.finish())
    }
}

/// Reads a warning such as `299 - "unknown field \"spec.x\""`; Kubernetes uses only the code 299.
fn text(header: &str) -> Option<String> {
    let (_, quoted) = header.strip_prefix("299 ")?.split_once(" \"")?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return Some(text.chars().take(LONGEST).collect()),
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use lifecycle_objects::id::GroupVersionKind;

    use super::*;

    fn object(name: &str) -> ObjectRef {
        ObjectRef { name: name.to_owned(), ..ObjectRef::all(GroupVersionKind::new("v1", "ConfigMap"), Some("team")) }
    }

    #[test]
    fn warning_is_read_from_its_quotes() {
        let cases = [
            (r#"299 - "unknown field \"spec.x\"""#, Some("unknown field \"spec.x\"")),
            (r#"299 kube-apiserver "a \\ b" "Tue, 15 Nov 1994 08:12:31 GMT""#, Some("a \\ b")),
            (r#"299 - """#, Some("")),
            (r#"199 - "of a cache""#, None),
            (r#"299 - "not closed"#, None),
            ("299 - bare", None),
            ("", None),
        ];
        for (header, expected) in cases {
            assert_eq!(text(header).as_deref(), expected, "{header}");
        }
        assert_eq!(text(&format!("299 - \"{}\"", "ä".repeat(5000))).unwrap().chars().count(), LONGEST);
    }

    #[test]
    fn warning_is_returned_once_for_each_object_and_text() {
        let warnings = Warnings::default();
        let new = |name: &str, texts: &[&str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(WARNING, format!("299 - \"{text}\"").parse().unwrap());
            }
            warnings.new_in(&headers, &object(name))
        };
        assert_eq!(new("a", &["one", "two"]), ["one", "two"]);
        assert_eq!(new("a", &["one", "three"]), ["three"]);
        assert_eq!(new("b", &["one"]), ["one"]);
        assert_eq!(new("b", &[]), Vec::<String>::new());
        for number in 0..=REMEMBERED {
            new("c", &[&number.to_string()]);
        }
        assert!(warnings.0.lock().unwrap().len() <= REMEMBERED);
    }
}
