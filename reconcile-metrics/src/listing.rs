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
use crate::store::{Found, Resource, Selection, Store, StoreError, Trouble, Unread};

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
    /// The kinds that were asked for, among others, and cannot be read.
    pub unread: Vec<Unread>,
}

impl Filter {
    /// Reads the `most` oldest at most, and lists those that match; the ones that are `shown` of these have their texts.
    ///
    /// # Errors
    /// The database did not answer, or has no schema that is known.
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
        let Found { mut resources, mut unread } = store.stuck(&selection, limit, choose).await?;
        // One that is asked for by its name is an error, if it is not read.
        unread.retain(|_| self.kind.is_none());
        let truncated = resources.len() > most as usize;
        resources.truncate(most as usize);
        let read = resources.len();
        resources.retain(|resource| self.matches(resource, kinds));
        Ok(Listing { found: diagnose(&resources, kinds), read, truncated, unread })
    }

    /// Whether it is decided on what was read, so that it needs more to choose from than is shown.
    #[must_use]
    pub fn chooses_after_reading(&self, kinds: &Kinds) -> bool {
        self.adapter.is_some() || self.asks_for_others(kinds)
    }

    /// Of filters that match nothing, what was hardly meant: a kind or an adapter that is not configured, or a condition
    /// that no kind is to have.
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
        let why = "only of kinds that have required_adapters in the configuration is it known that they are to have the \
                   condition Reconciled; no such kind is asked for";
        (!self.looks_for_any(kinds)).then(|| why.to_owned())
    }

    /// Whether there is a kind of which it is known what to look for.
    fn looks_for_any(&self, kinds: &Kinds) -> bool {
        let is_asked_for = |name: &str| self.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case(name));
        self.trouble != Trouble::Missing || kinds.with_adapters().any(|kind| is_asked_for(&kind.name))
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
    pub fn why_empty(&self, filter: &Filter, kinds: &Kinds) -> String {
        if !filter.looks_for_any(kinds) {
            return "nothing was looked for".to_owned();
        }
        let said = self.nothing(filter);
        if self.unread.is_empty() { said } else { format!("of the kinds that are read, {said}") }
    }

    fn nothing(&self, filter: &Filter) -> String {
        let narrowed = filter.kind.is_some() || filter.adapter.is_some() || filter.deleting.is_some();
        match (self.truncated, narrowed) {
            (true, _) => format!(
                "none of the {} oldest matches; there are more, which were not looked into (details.max_resources)",
                self.read
            ),
            (false, narrowed) => match (filter.trouble, narrowed) {
                (Trouble::Pending, true) => "nothing that is stuck matches",
                (Trouble::Pending, false) => "nothing is stuck",
                (Trouble::Missing, true) => "nothing that lacks the condition Reconciled matches",
                (Trouble::Missing, false) => "nothing lacks the condition Reconciled",
                (Trouble::Lingering, true) => "no deletion that lingers matches",
                (Trouble::Lingering, false) => "no deletion lingers",
            }
            .to_owned(),
        }
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
            parent: None,
            table: None,
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
        let kinds = kinds(&[("Cluster", &["dns"])]);
        let listing = |truncated| Listing { found: Vec::new(), read: 7, truncated, unread: Vec::new() };
        assert_eq!(listing(false).why_empty(&filter(None, None), &kinds), "nothing is stuck");
        assert_eq!(listing(false).why_empty(&filter(None, Some("dns")), &kinds), "nothing that is stuck matches");
        let text = listing(true).why_empty(&filter(None, Some("dns")), &kinds);
        assert!(text.starts_with("none of the 7 oldest matches; there are more"), "{text}");
        let unread = vec![Unread { kind: "NodePool".to_owned(), problem: "no table".to_owned() }];
        let text = Listing { unread, ..listing(false) }.why_empty(&filter(None, None), &kinds);
        assert_eq!(text, "of the kinds that are read, nothing is stuck");
    }

    #[test]
    fn what_nobody_looked_for_is_not_said_to_be_absent() {
        let listing = Listing { found: Vec::new(), read: 0, truncated: false, unread: Vec::new() };
        let some = kinds(&[("Cluster", &["dns"]), ("Channel", &[])]);
        let cases = [
            ("no kinds", kinds(&[]), None, false),
            ("no adapters", kinds(&[("Channel", &[])]), None, false),
            ("adapters", some.clone(), None, true),
            ("a kind without them", some.clone(), Some("channel"), false),
            ("a kind with them", some.clone(), Some("CLUSTER"), true),
            ("kinds that are not configured", some, Some("other"), false),
        ];
        for (name, kinds, kind, looked) in cases {
            let missing = Filter { trouble: Trouble::Missing, ..filter(kind, None) };
            let text = listing.why_empty(&missing, &kinds);
            assert_eq!(text == "nothing was looked for", !looked, "{name}: {text}");
            assert_eq!(missing.remark(&kinds).is_none(), looked, "{name}");
            assert_eq!(filter(kind, None).remark(&kinds), None, "{name}: what is pending needs no adapters");
        }
    }
}
