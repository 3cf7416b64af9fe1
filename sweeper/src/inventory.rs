//! Takes the inventory: every object with the label `hyperfleet.io/adapter`, of every kind that may be swept.
//!
//! In: the cluster, and patterns of kinds. Out: a [`Census`], which holds no object; if API resources are gone, by a second
//! look at everything, their objects and what would go with them. Fails: never as a whole. Each kind and group that could
//! not be read is named in [`Inventory::unread`], and a pass with an incomplete inventory deletes nothing.
//!
//! A list of only some API resources' objects would cost the API server as much as a list of all, which it has to look
//! through; and it would not show what lives in a namespace, or names an orphan as its owner.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};
use lifecycle_core::keys;
use lifecycle_core::sweep::verdict::identified;
use lifecycle_core::sweep::{Candidate, Census, Contents, KindPattern, Policy};
use lifecycle_kube::{ServedKind, UnreadGroup};

use crate::objects::Objects;

/// How many kinds are listed concurrently: enough to hide the server's latency, few enough not to load it.
const KINDS_AT_ONCE: usize = 4;

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

        let mut census = Census::of(kinds.iter().map(|served| served.kind.clone()));
        unread
            .extend(list(objects, &kinds, keys::ADAPTER, |kind, candidate| census.add(kind, &candidate, policy)).await);
        Self { census, unread, kinds }
    }

    /// Lists all objects once more, and finds those whose API resource is gone, each once. Notes kinds that cannot be read.
    pub async fn look_again(
        &mut self,
        objects: &impl Objects,
        policy: &Policy,
        is_gone: impl Fn(&str) -> bool,
    ) -> Found {
        let definition = |served: &ServedKind| format!("{}.{}", served.plural, served.kind.group);
        let (mut contents, mut candidates) = (Contents::of(self.kinds.iter().map(definition)), Vec::new());
        // Two groups can serve the same object, such as an Event.
        let mut uids = BTreeSet::new();
        let each = |kind: usize, candidate: Candidate| {
            let names_gone = is_gone(&candidate.resource_id);
            contents.add(kind, &candidate, names_gone && identified(&candidate, policy).is_ok());
            if names_gone && uids.insert(candidate.uid.clone()) {
                candidates.push(candidate);
            }
        };
        self.unread.extend(list(objects, &self.kinds, keys::ADAPTER, each).await);
        // Disowned objects have no adapter any more, and must survive.
        let each = |kind: usize, candidate: Candidate| contents.add(kind, &candidate, false);
        self.unread.extend(list(objects, &self.kinds, keys::DISOWNED, each).await);
        Found { contents, candidates }
    }
}

/// What the second look found.
#[derive(Debug, Default)]
pub struct Found {
    /// The objects whose API resource is gone.
    pub candidates: Vec<Candidate>,
    /// What would go with them.
    pub contents: Contents,
}

/// Passes the objects of each kind that have a label to `each`, with the kind's index; returns the errors.
async fn list(
    objects: &impl Objects,
    kinds: &[ServedKind],
    label: &str,
    each: impl FnMut(usize, Candidate),
) -> Vec<String> {
    let each = RefCell::new(each);
    let lists = stream::iter(kinds.iter().enumerate()).map(async |(index, served)| {
        objects.list(served, label, &mut |candidate| each.borrow_mut()(index, candidate)).await
    });
    let results: Vec<_> = lists.buffered(KINDS_AT_ONCE).collect().await;
    results.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect()
}
