//! The question by which Maestro selects works.
//!
//! In: conditions, and the id after which to go on. Out: the text of the parameter `search`. Nothing fails, but
//! [`Search::fault`] tells which values could end their quotes.
//!
//! Pages begin after an id, not at a number of rows: rows that go meanwhile would move others to a page that was read
//! already, and a work that no page shows looks deleted.

use std::collections::BTreeMap;

use serde_json::json;

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// Which works are searched: those that satisfy every condition. Maestro allows ten.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The source that created them.
    pub source: Option<&'a str>,
    /// The consumer.
    pub consumer: Option<&'a str>,
    /// The name.
    pub name: Option<&'a str>,
    /// Labels with exactly these values.
    pub labels: &'a BTreeMap<String, String>,
    /// A label with any value but an empty one.
    pub present: Option<&'a str>,
}

impl Default for Search<'_> {
    fn default() -> Self {
        Self { source: None, consumer: None, name: None, labels: &NO_LABELS, present: None }
    }
}

impl Search<'_> {
    /// The part of the question that is no text of a label, a name, a consumer or a source.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let labels = self.labels.iter().flat_map(|(key, value)| [key.as_str(), value]);
        let mut texts = labels.chain(self.present).chain(self.source).chain(self.consumer).chain(self.name);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        let hostile = texts.find(|text| !text.chars().all(is_plain))?;
        Some(format!("`{hostile}` cannot be searched for: it has other characters than letters, digits and -_./:@"))
    }

    /// The question for the works after this id.
    #[must_use]
    pub fn text(&self, after: Option<&str>) -> String {
        let mut conditions = Vec::new();
        conditions.extend(self.source.map(|source| format!("source='{source}'")));
        conditions.extend(self.consumer.map(|consumer| format!("consumer_name='{consumer}'")));
        conditions.extend(self.name.map(|name| format!("payload->'metadata'->>'name'='{name}'")));
        if !self.labels.is_empty() {
            conditions.push(format!("payload->'metadata'->'labels'@>'{}'", json!(self.labels)));
        }
        conditions.extend(self.present.map(|key| format!("payload->'metadata'->'labels'->>'{key}'<>''")));
        conditions.extend(after.map(|after| format!("id>'{after}'")));
        conditions.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_has_a_part_for_each_condition_and_the_last_id() {
        let labels = BTreeMap::from([("a/b".to_owned(), "c".to_owned()), ("d".to_owned(), "e".to_owned())]);
        let search = Search { source: Some("s"), consumer: Some("c1"), labels: &labels, ..Search::default() };
        assert_eq!(
            search.text(Some("id-1")),
            "source='s' and consumer_name='c1' and payload->'metadata'->'labels'@>'{\"a/b\":\"c\",\"d\":\"e\"}' \
             and id>'id-1'"
        );
        assert_eq!(search.fault(), None);
        let named = Search { consumer: Some("c1"), name: Some("w"), ..Search::default() };
        assert_eq!(named.text(None), "consumer_name='c1' and payload->'metadata'->>'name'='w'");
        let labelled = Search { present: Some("a/b"), ..Search::default() };
        assert_eq!(labelled.text(None), "payload->'metadata'->'labels'->>'a/b'<>''");
    }

    #[test]
    fn text_that_would_end_its_quotes_is_a_fault() {
        let labels = BTreeMap::from([("a".to_owned(), "x' or 'y'='y".to_owned())]);
        let search = Search { source: Some("s"), labels: &labels, ..Search::default() };
        assert!(search.fault().is_some_and(|fault| fault.contains("cannot be searched for")));
    }
}
