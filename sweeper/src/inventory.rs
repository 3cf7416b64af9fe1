//! Takes the inventory: every object with the label `hyperfleet.io/adapter`, of every kind that may be swept.
//!
//! In: the cluster, and patterns of kinds. Out: a [`Census`], which holds no object; later the objects of the API
//! resources that are gone. Fails: never as a whole. Each kind and group that could not be read is named in
//! [`Inventory::unread`], and a pass with an incomplete inventory deletes nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use lifecycle_core::sweep::{Candidate, Census, KindPattern, Policy};
use lifecycle_kube::{ServedKind, UnreadGroup};

use crate::objects::{Labelled, Objects};

/// How many kinds are listed concurrently: enough to hide the server's latency, few enough not to load it.
const KINDS_AT_ONCE: usize = 4;

/// How many ids one label selector names: 50 UUIDs are 2 kB of a URL, and proxies limit a URL to 4 to 8 kB.
const IDS_PER_LIST: usize = 50;

/// Which kinds the sweeper lists.
#[derive(Debug, Clone, Default)]
pub struct KindFilter {
    /// Only these kinds; all if empty.
    pub include: Vec<KindPattern>,
    /// None of these kinds, even if included.
    pub exclude: Vec<KindPattern>,
}

impl KindFilter {
    /// Whether the sweeper lists this kind: it can be listed and deleted, and the patterns select it.
    #[must_use]
    pub fn selects(&self, served: &ServedKind) -> bool {
        let named = |patterns: &[KindPattern]| patterns.iter().any(|pattern| pattern.matches(&served.kind));
        served.has_verbs(&["list", "delete"])
            && (self.include.is_empty() || named(&self.include))
            && !named(&self.exclude)
    }

    /// Whether the patterns can select a kind of this group.
    #[must_use]
    pub fn can_select_in(&self, group: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.touches_group(group)))
            && !self.exclude.iter().any(|pattern| pattern.covers_group(group))
    }
}

/// The inventory of one pass.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The counts, and the ids of API resources.
    pub census: Census,
    /// The errors of kinds and groups that could not be read.
    pub unread: Vec<String>,
    kinds: Vec<ServedKind>,
}

impl Inventory {
    /// Lists the labelled objects of every selected kind.
    pub async fn take(objects: &impl Objects, filter: &KindFilter, policy: &Policy) -> Self {
        let discovery = match objects.discover().await {
            Ok(discovery) => discovery,
            Err(error) => return Self { unread: vec![error.to_string()], ..Self::default() },
        };
        let may_hide = |unread: &UnreadGroup| filter.can_select_in(&unread.group);
        let unread = discovery.unread.iter().filter(|unread| may_hide(unread)).map(|unread| unread.error.to_string());
        let mut unread: Vec<_> = unread.collect();
        let kinds: Vec<_> = discovery.kinds.into_iter().filter(|served| filter.selects(served)).collect();

        let census = RefCell::new(Census::default());
        let lists = stream::iter(&kinds).map(async |served| {
            let index = census.borrow_mut().add_kind(served.kind.clone(), served.plural.clone());
            let mut add = |candidate: Candidate| census.borrow_mut().add(index, &candidate, policy);
            objects.list(served, Labelled::ByAnyAdapter, &mut add).await
        });
        let results: Vec<_> = lists.buffered(KINDS_AT_ONCE).collect().await;
        unread.extend(results.into_iter().filter_map(Result::err).map(|error| error.to_string()));
        Self { census: census.into_inner(), unread, kinds }
    }

    /// Lists the objects of these API resources, each once, and notes kinds that cannot be read.
    pub async fn objects_of(&mut self, objects: &impl Objects, owners: &BTreeSet<&str>) -> Vec<Candidate> {
        let kinds = self.census.kinds_of(owners);
        let served: Vec<_> = self.kinds.iter().filter(|served| kinds.contains(&served.kind)).collect();
        let owners: Vec<_> = owners.iter().copied().collect();
        let lists = served.iter().flat_map(|served| owners.chunks(IDS_PER_LIST).map(move |ids| (*served, ids)));

        // Two groups can serve the same object, such as an Event.
        let found = RefCell::new((BTreeSet::new(), Vec::new()));
        let lists = stream::iter(lists).map(async |(served, ids)| {
            let mut add = |candidate: Candidate| {
                let (uids, candidates) = &mut *found.borrow_mut();
                // A server that ignores the selector must not widen what is judged.
                if ids.contains(&candidate.resource_id.as_str()) && uids.insert(candidate.uid.clone()) {
                    candidates.push(candidate);
                }
            };
            objects.list(served, Labelled::ForResources(ids), &mut add).await
        });
        let results: Vec<_> = lists.buffered(KINDS_AT_ONCE).collect().await;
        self.unread.extend(results.into_iter().filter_map(Result::err).map(|error| error.to_string()));
        found.into_inner().1
    }
}
