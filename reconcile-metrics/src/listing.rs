//! Filters stuck resources, for the command `stuck` and the page `/stuck`.
//!
//! In: a filter and the database. Out: the matching resources, how many were read, and a hint if the filter looks like a
//! mistake. Fails: if the database cannot be read. SQL cannot filter by adapter or by `other`, so those filters run in
//! memory over the oldest resources only; an empty result then does not mean that nothing is stuck.

use std::ops::Range;
use std::time::Duration;

use lifecycle_config::decode::suggest;

use crate::config::Kinds;
use crate::diagnosis::{Stuck, diagnose, waits_on};
use crate::figures::OTHER;
use crate::store::{Resource, Selection, Store, StoreError, Trouble};

/// Selects resources; every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Lists only resources of this kind, in any case; [`OTHER`] means all kinds that are not configured.
    pub kind: Option<String>,
    /// Lists only resources that wait on this adapter.
    pub adapter: Option<String>,
    /// Lists only resources that are being deleted if true, and only the others if false.
    pub deleting: Option<bool>,
    /// Whether to list stuck resources or stalled deletions.
    pub trouble: Trouble,
}

/// The result of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The matching resources, the oldest first.
    pub found: Vec<Stuck>,
    /// How many resources were read to find them.
    pub read: usize,
    /// Whether more are stuck than were read.
    pub truncated: bool,
}

impl Filter {
    /// Reads the `most` oldest resources and returns those that match. Of these, the ones in the range `shown` have the texts
    /// of their conditions and reports.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub async fn list(
        &self,
        store: &Store,
        most: u32,
        shown: Range<usize>,
        limit: Duration,
    ) -> Result<Listing, StoreError> {
        let kinds = store.kinds();
        let selection = Selection {
            kind: self.kind.clone().filter(|_| !self.selects_other_kinds(kinds)),
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
        Ok(Listing { found: diagnose(resources, kinds), read, truncated })
    }

    /// Whether SQL cannot apply the filter, so that the caller must read more resources than it shows.
    #[must_use]
    pub fn filters_in_memory(&self, kinds: &Kinds) -> bool {
        self.adapter.is_some() || self.selects_other_kinds(kinds)
    }

    /// Returns a hint if the filter names a kind or an adapter that is not configured, for filters that match nothing.
    #[must_use]
    pub fn hint(&self, kinds: &Kinds) -> Option<String> {
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

    fn selects_other_kinds(&self, kinds: &Kinds) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case(OTHER)) && kinds.by_label(OTHER).is_none()
    }

    fn matches(&self, resource: &Resource, kinds: &Kinds) -> bool {
        let is_waited_on = |adapter: &String| {
            waits_on(resource, kinds.get(&resource.kind)).iter().any(|wait| wait.adapter == *adapter)
        };
        (!self.selects_other_kinds(kinds) || kinds.by_label(&resource.kind).is_none())
            && self.adapter.as_ref().is_none_or(is_waited_on)
    }
}

impl Listing {
    /// Returns a sentence for an empty list. It claims "nothing is stuck" only if all stuck resources were read.
    #[must_use]
    pub fn why_empty(&self, filter: &Filter) -> String {
        let narrowed = filter.kind.is_some() || filter.adapter.is_some() || filter.deleting.is_some();
        if self.truncated {
            return format!(
                "none of the {} oldest matches; there are more, which were not read (details.max_resources)",
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
    fn hint_names_the_configured_kind_or_adapter_most_like_the_filter() {
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
        for (kind, adapter, hint) in cases {
            assert_eq!(filter(kind, adapter).hint(&kinds).as_deref(), hint, "{kind:?} {adapter:?}");
        }
        let nothing = Kinds::new(Vec::new(), Duration::from_secs(600));
        assert_eq!(filter(Some("X"), Some("y")).hint(&nothing), None, "without configured kinds there is no hint");
    }

    #[test]
    fn filter_other_selects_a_configured_kind_of_that_name() {
        assert!(filter(Some("other"), None).filters_in_memory(&kinds(&[("Cluster", &[])])));
        assert!(!filter(Some("other"), None).filters_in_memory(&kinds(&[("Other", &[])])));
    }

    #[test]
    fn why_empty_mentions_resources_that_were_not_read() {
        let listing = |truncated| Listing { found: Vec::new(), read: 7, truncated };
        assert_eq!(listing(false).why_empty(&filter(None, None)), "nothing is stuck");
        assert_eq!(listing(false).why_empty(&filter(None, Some("dns"))), "nothing that is stuck matches");
        let text = listing(true).why_empty(&filter(None, Some("dns")));
        assert!(text.starts_with("none of the 7 oldest matches; there are more"), "{text}");
        let stalled = Filter { trouble: Trouble::Stalled, ..Filter::default() };
        assert_eq!(listing(false).why_empty(&stalled), "no deletion is stalled");
    }
}
