//! The stuck resources that somebody asked for: `stuck` and `/stuck` list the same.
//!
//! In: filters, and the database. Out: the resources that match, how many were read to find them, and what is odd about
//! the filters. It can fail as every reading can. Filters that are decided on what was read (the adapter, kinds that are
//! not configured) see the oldest resources only, so an empty answer must not claim that nothing is stuck.

use std::ops::Range;
use std::time::Duration;

use lifecycle_config::decode::suggest;

use crate::config::Kinds;
use crate::diagnosis::{Stuck, diagnose, waits_on};
use crate::figures::OTHER;
use crate::store::{Resource, Selection, Store, StoreError, Trouble};

/// Which stuck resources are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this kind, in any case; [`OTHER`] are all kinds that are not configured.
    pub kind: Option<String>,
    /// Only those that wait on this adapter.
    pub adapter: Option<String>,
    /// Only those that are being deleted, or only the others.
    pub deleting: Option<bool>,
    /// What is the matter with them.
    pub trouble: Trouble,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The resources that match, the oldest first.
    pub found: Vec<Stuck>,
    /// How many were read.
    pub read: usize,
    /// Whether more are stuck than were read.
    pub truncated: bool,
}

impl Filter {
    /// Reads the `most` oldest at most, and lists those that match; the ones that are `shown` of these have their texts.
    ///
    /// # Errors
    /// The database did not answer, or the role cannot read the tables.
    pub async fn list(
        &self,
        store: &Store,
        most: u32,
        shown: Range<usize>,
        limit: Duration,
    ) -> Result<Listing, StoreError> {
        let kinds = store.kinds();
        let selection = Selection {
            kind: self.kind.clone().filter(|_| !self.asks_for_others(kinds)),
            deleting: self.deleting,
            limit: most.saturating_add(1),
            trouble: self.trouble,
        };
        let choose = |resources: &[Resource]| {
            let read = resources.iter().enumerate().take(most as usize);
            let matching = read.filter(|(_, resource)| self.matches(resource, kinds)).map(|(place, _)| place);
            matching.skip(shown.start).take(shown.len()).collect()
        };
        let mut resources = store.list(&selection, limit, choose).await?;
        let truncated = resources.len() > most as usize;
        resources.truncate(most as usize);
        let read = resources.len();
        resources.retain(|resource| self.matches(resource, kinds));
        Ok(Listing { found: diagnose(&resources, kinds), read, truncated })
    }

    /// Whether it is decided on what was read, so that it needs more to choose from than is shown.
    #[must_use]
    pub fn chooses_after_reading(&self, kinds: &Kinds) -> bool {
        self.adapter.is_some() || self.asks_for_others(kinds)
    }

    /// Of filters that match nothing, what was hardly meant: a kind or an adapter that is not configured.
    #[must_use]
    pub fn remark(&self, kinds: &Kinds) -> Option<String> {
        let names: Vec<_> = kinds.all().iter().map(|kind| kind.name.as_str()).collect();
        let unknown_kind =
            self.kind.as_deref().filter(|kind| kinds.by_label(kind).is_none() && !kind.eq_ignore_ascii_case(OTHER));
        if let Some(kind) = unknown_kind.filter(|_| !names.is_empty()) {
            return Some(format!("no kind `{kind}` is configured; {}", known(kind, &names)));
        }
        let adapters: Vec<_> = kinds.adapters().into_iter().collect();
        let unknown_adapter = self.adapter.as_deref().filter(|adapter| !adapters.contains(adapter));
        if let Some(adapter) = unknown_adapter.filter(|_| !adapters.is_empty()) {
            return Some(format!("no configured kind requires an adapter `{adapter}`; {}", known(adapter, &adapters)));
        }
        None
    }

    fn asks_for_others(&self, kinds: &Kinds) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case(OTHER)) && kinds.by_label(OTHER).is_none()
    }

    fn matches(&self, resource: &Resource, kinds: &Kinds) -> bool {
        let is_waited_on = |adapter: &String| {
            waits_on(resource, kinds.get(&resource.kind)).iter().any(|wait| wait.adapter == *adapter)
        };
        (!self.asks_for_others(kinds) || kinds.by_label(&resource.kind).is_none())
            && self.adapter.as_ref().is_none_or(is_waited_on)
    }
}

impl Listing {
    /// Why it is empty, in words that claim no more than is known.
    #[must_use]
    pub fn why_empty(&self, filter: &Filter) -> String {
        let narrowed = filter.kind.is_some() || filter.adapter.is_some() || filter.deleting.is_some();
        if self.truncated {
            return format!(
                "none of the {} oldest matches; there are more, which were not looked into (details.max_resources)",
                self.read
            );
        }
        let nothing = match (filter.trouble, narrowed) {
            (Trouble::Stuck, true) => "nothing that is stuck matches",
            (Trouble::Stuck, false) => "nothing is stuck",
            (Trouble::Stalled, true) => "no stalled deletion matches",
            (Trouble::Stalled, false) => "no deletion is stalled",
        };
        nothing.to_owned()
    }
}

fn known(written: &str, known: &[&str]) -> String {
    let meant = suggest(written, known).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    format!("{meant}known are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Kind;

    fn kinds(names: &[(&str, &[&str])]) -> Kinds {
        let kind = |(name, adapters): &(&str, &[&str])| Kind {
            name: (*name).to_owned(),
            required_adapters: adapters.iter().map(|&adapter| adapter.to_owned()).collect(),
            stuck_after: Duration::from_secs(600),
            stuck_after_deleting: Duration::from_secs(600),
        };
        Kinds::new(names.iter().map(kind).collect(), Duration::from_secs(600))
    }

    fn filter(kind: Option<&str>, adapter: Option<&str>) -> Filter {
        Filter { kind: kind.map(str::to_owned), adapter: adapter.map(str::to_owned), ..Filter::default() }
    }

    #[test]
    fn a_name_that_is_not_configured_is_remarked_on() {
        let kinds = kinds(&[("Cluster", &["dns", "hypershift"]), ("NodePool", &["hypershift"])]);
        let cases = [
            (None, None, None),
            (Some("cluster"), Some("dns"), None),
            (Some("other"), None, None),
            (
                Some("Clutser"),
                None,
                Some("no kind `Clutser` is configured; did you mean `Cluster`? known are Cluster, NodePool"),
            ),
            (Some("X"), None, Some("no kind `X` is configured; known are Cluster, NodePool")),
            (
                None,
                Some("hypershfit"),
                Some(
                    "no configured kind requires an adapter `hypershfit`; did you mean `hypershift`? known are dns, hypershift",
                ),
            ),
        ];
        for (kind, adapter, remark) in cases {
            assert_eq!(filter(kind, adapter).remark(&kinds).as_deref(), remark, "{kind:?} {adapter:?}");
        }
        let nothing = Kinds::new(Vec::new(), Duration::from_secs(600));
        assert_eq!(filter(Some("X"), Some("y")).remark(&nothing), None, "nothing is known, so nothing is unknown");
    }

    #[test]
    fn a_kind_that_is_really_called_other_is_that_kind() {
        assert!(filter(Some("other"), None).chooses_after_reading(&kinds(&[("Cluster", &[])])));
        assert!(!filter(Some("other"), None).chooses_after_reading(&kinds(&[("Other", &[])])));
    }

    #[test]
    fn an_empty_answer_claims_no_more_than_is_known() {
        let listing = |truncated| Listing { found: Vec::new(), read: 7, truncated };
        assert_eq!(listing(false).why_empty(&filter(None, None)), "nothing is stuck");
        assert_eq!(listing(false).why_empty(&filter(None, Some("dns"))), "nothing that is stuck matches");
        let text = listing(true).why_empty(&filter(None, Some("dns")));
        assert!(text.starts_with("none of the 7 oldest matches; there are more"), "{text}");
        let stalled = Filter { trouble: Trouble::Stalled, ..Filter::default() };
        assert_eq!(listing(false).why_empty(&stalled), "no deletion is stalled");
    }
}
