//! The question by which Maestro selects works.
//!
//! In: a source, optionally a consumer, labels, and the id after which to go on. Out: the text of the parameter `search`.
//! Nothing fails, but [`Search::fault`] tells which values could end their quotes.
//!
//! Pages begin after an id, not at a number of rows: rows that go meanwhile would move others to a page that was read
//! already, and a work that no page shows looks deleted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

/// Which works are searched.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The source that created them.
    pub source: &'a str,
    /// The consumer; every one if `None`.
    pub consumer: Option<&'a str>,
    /// Labels with exactly these values.
    pub labels: &'a BTreeMap<String, String>,
    /// Labels with any value. At most five, because Maestro counts operators.
    pub present: &'a [&'a str],
}

impl Search<'_> {
    /// The part of the question that is no text of a label, a consumer or a source.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let labels = self.labels.iter().flat_map(|(key, value)| [key.as_str(), value]);
        let texts = labels.chain(self.present.iter().copied()).chain([self.source]).chain(self.consumer);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        let mut hostile = texts.filter(|text| !text.chars().all(is_plain));
        hostile.next().map(|text| {
            format!("`{text}` cannot be searched for: it has other characters than letters, digits and -_./:@")
        })
    }

    /// The question for the works after this id.
    #[must_use]
    pub fn text(&self, after: Option<&str>) -> String {
        let mut text = format!("source='{}'", self.source);
        // Writing to a string does not fail.
        if let Some(consumer) = self.consumer {
            let _ = write!(text, " and consumer_name='{consumer}'");
        }
        if !self.labels.is_empty() {
            let _ = write!(text, " and payload->'metadata'->'labels'@>'{}'", json!(self.labels));
        }
        for key in self.present {
            let _ = write!(text, " and payload->'metadata'->'labels'->>'{key}'<>''");
        }
        if let Some(after) = after {
            let _ = write!(text, " and id>'{after}'");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_names_source_consumer_labels_and_the_last_id() {
        let labels = BTreeMap::from([("a/b".to_owned(), "c".to_owned()), ("d".to_owned(), "e".to_owned())]);
        let search = Search { source: "s", consumer: Some("c1"), labels: &labels, present: &["f"] };
        assert_eq!(
            search.text(Some("id-1")),
            "source='s' and consumer_name='c1' and payload->'metadata'->'labels'@>'{\"a/b\":\"c\",\"d\":\"e\"}' \
             and payload->'metadata'->'labels'->>'f'<>'' and id>'id-1'"
        );
        assert_eq!(search.fault(), None);
        let all = Search { source: "s", consumer: None, labels: &BTreeMap::new(), present: &[] };
        assert_eq!(all.text(None), "source='s'");
    }

    #[test]
    fn text_that_would_end_its_quotes_is_a_fault() {
        let labels = BTreeMap::from([("a".to_owned(), "x' or 'y'='y".to_owned())]);
        let search = Search { source: "s", consumer: None, labels: &labels, present: &[] };
        assert!(search.fault().is_some_and(|fault| fault.contains("cannot be searched for")));
    }
}
