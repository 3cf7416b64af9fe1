//! Takes the inventory: every object with the label `hyperfleet.io/adapter`, of every kind that may be swept.
//!
//! In: the cluster, and patterns of kinds. Out: a [`Census`], which holds no object; if API resources are gone, by a second
//! look, their objects and what would go with them. Fails: never as a whole. Each kind and group that could not be read is
//! named by [`Inventory::unread`], and a pass with an incomplete inventory deletes nothing.
//!
//! The patterns choose what is swept. What would go along is looked for among all kinds, as Kubernetes knows no patterns:
//! its garbage collector and its namespace controller delete whatever can be listed and deleted.
//!
//! A list of only some API resources' objects would cost the API server as much as a list of all, which it has to look
//! through; and it would not show what lives in a namespace, or names an orphan as its owner.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use lifecycle_core::sweep::verdict::{identified, unclaimed};
use lifecycle_core::sweep::{Candidate, Census, Container, Contents, Hold, KindPattern, Policy};
use lifecycle_kube::{ServedKind, UnreadGroup};
use lifecycle_objects::contents::is_event;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::keys;
use lifecycle_objects::write::WriteError;
use strsim::osa_distance;

use crate::objects::{Choice, Objects};

/// How many kinds are listed concurrently: enough to hide the server's latency, few enough not to load it.
const KINDS_AT_ONCE: usize = 4;

/// The most namespaces that are looked into one by one, with a request for each kind. For more, one list of each kind in
/// all namespaces takes fewer requests.
const NAMESPACES_ONE_BY_ONE: usize = 10;

/// The groups of measurements, which nobody can delete. Their servers are often away, and that hides no object.
const MEASUREMENTS: [&str; 3] = ["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"];

/// Which kinds the sweeper sweeps.
#[derive(Debug, Clone, Default)]
pub struct KindFilter {
    /// Only these kinds; all if empty.
    pub include: Vec<KindPattern>,
    /// None of these kinds, even if included.
    pub exclude: Vec<KindPattern>,
}

impl KindFilter {
    /// Whether the sweeper sweeps this kind: it can be listed and deleted, and the patterns select it.
    #[must_use]
    pub fn selects(&self, served: &ServedKind) -> bool {
        served.has_verbs(&["list", "delete"]) && self.names(&served.kind)
    }

    /// Whether the patterns select the kind, if the cluster serves it.
    #[must_use]
    pub fn names(&self, kind: &GroupVersionKind) -> bool {
        let named = |patterns: &[KindPattern]| patterns.iter().any(|pattern| pattern.matches(kind));
        (self.include.is_empty() || named(&self.include)) && !named(&self.exclude)
    }

    /// Whether the patterns can select a kind of this group.
    #[must_use]
    pub fn can_select_in(&self, group: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.touches_group(group)))
            && !self.exclude.iter().any(|pattern| pattern.covers_group(group))
    }
}

impl KindFilter {
    /// Why no kind that this pattern names is swept, if so.
    fn selects_nothing<'a>(
        &self,
        pattern: &KindPattern,
        served: impl Iterator<Item = &'a ServedKind>,
    ) -> Option<&'static str> {
        let named: Vec<_> = served.filter(|served| pattern.matches(&served.kind)).collect();
        if named.is_empty() {
            Some(NOT_SERVED)
        } else if named.iter().any(|served| self.selects(served)) {
            None
        } else if named.iter().any(|served| served.has_verbs(&["list", "delete"])) {
            Some(NOT_LEFT)
        } else {
            Some(NOT_DELETABLE)
        }
    }

    /// The patterns by which nothing is swept, or spared, in words; or that the filter as a whole selects no kind.
    ///
    /// A pattern of `kinds.exclude` may name a kind that this cluster does not have, unless it may be a misspelt one.
    fn without_kind(&self, cluster_scoped: &[KindPattern], served: &[ServedKind]) -> Vec<String> {
        let is_selected = |pattern: &&KindPattern| served.iter().any(|served| pattern.matches(&served.kind));
        let is_misspelt = |pattern: &&KindPattern| served.iter().any(|served| may_mean(pattern, &served.kind));
        let said = |key: &str, pattern: &KindPattern, why: &str| format!("`{pattern}` in `kinds.{key}` {why}");
        let included = self.include.iter().filter_map(|pattern| {
            let why = self.selects_nothing(pattern, served.iter())?;
            Some(said("include", pattern, why))
        });
        let excluded = self.exclude.iter().filter(|pattern| !is_selected(pattern)).filter(is_misspelt);
        let excluded = excluded.map(|pattern| said("exclude", pattern, NOT_SERVED));
        let cluster_scoped = cluster_scoped.iter().filter_map(|pattern| {
            let why = self.selects_nothing(pattern, served.iter().filter(|served| !served.namespaced))?;
            Some(said("cluster_scoped", pattern, if why == NOT_SERVED { NOT_CLUSTER_SCOPED } else { why }))
        });
        let mut empty: Vec<String> = included.chain(excluded).chain(cluster_scoped).collect();
        if empty.is_empty() && !served.iter().any(|served| self.selects(served)) {
            empty.push("`kinds` selects no kind that can be listed and deleted: nothing is swept".to_owned());
        }
        empty
    }
}

/// What is wrong with a pattern.
const NOT_SERVED: &str = "selects no kind that the cluster serves: correct or remove it";
const NOT_CLUSTER_SCOPED: &str = "selects no cluster-scoped kind that the cluster serves: correct or remove it";
const NOT_DELETABLE: &str = "selects only kinds that cannot be listed and deleted: remove it";
const NOT_LEFT: &str = "selects only kinds that `kinds.exclude`, which has a default, or `kinds.include` leaves out: correct \
                        one of them";

/// Whether a pattern may be meant for this kind: at most one letter of kind and group is wrong.
fn may_mean(pattern: &KindPattern, served: &GroupVersionKind) -> bool {
    let is_near = |name: Option<&str>, other: &str| name.is_none_or(|name| osa_distance(name, other) <= 1);
    is_near(pattern.group(), &served.group) && is_near(pattern.kind(), &served.kind)
}

/// Which adapters and kinds are swept, in words: passes that sweep the same have the same words.
pub fn sweeps(policy: &Policy, filter: &KindFilter) -> String {
    fn list<T: ToString>(of: impl IntoIterator<Item = T>) -> String {
        of.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" ")
    }
    let (adapters, include, exclude) = (list(&policy.adapters), list(&filter.include), list(&filter.exclude));
    format!("adapters: {adapters}; kinds: {include}; not: {exclude}")
}

/// The adapters of this installation that no object names although objects name one that is spelt almost so, in words.
/// Warns if objects name only others: that may be right, of an installation without objects.
fn misspelt(own: &BTreeSet<String>, named: &BTreeSet<String>) -> Vec<String> {
    let others: Vec<&str> = named.difference(own).map(String::as_str).filter(|name| !name.is_empty()).collect();
    let misspelt = |name: &String| {
        let other = others.iter().find(|other| is_slip(name, other))?;
        Some(format!("no object has the adapter `{name}` of `adapters`; did you mean `{other}`?"))
    };
    let found: Vec<String> = own.difference(named).filter_map(misspelt).collect();
    if found.is_empty() && !others.is_empty() && own.is_disjoint(named) {
        let others = others.join(", ");
        tracing::warn!(others, "No object has an adapter of `adapters`, and nothing is swept: others have objects");
    }
    found
}

/// Whether two names differ by one typing error in a word. Names that are numbered or lettered, such as `dns-a` and
/// `dns-b`, are those of two adapters; so are names with abbreviations, such as `eks-provisioner` and `aks-provisioner`.
fn is_slip(name: &str, other: &str) -> bool {
    let words = |name: &str| name.split('-').map(str::to_owned).collect::<Vec<_>>();
    let (name, other) = (words(name), words(other));
    let mut different = name.iter().zip(&other).filter(|(word, other)| word != other);
    let (Some((word, other_word)), None) = (different.next(), different.next()) else { return false };
    let is_word = |word: &str| word.len() >= 5 && !word.bytes().any(|byte| byte.is_ascii_digit());
    name.len() == other.len() && is_word(word) && is_word(other_word) && osa_distance(word, other_word) == 1
}

/// Errors by the kind or group that could not be read, so that each counts once however often it is asked for.
pub type Unread = BTreeMap<String, WriteError>;

/// The inventory of one pass.
#[derive(Debug, Default)]
pub struct Inventory {
    /// The counts, and the ids of API resources.
    pub census: Census,
    unread: Unread,
    /// The groups that could not be read, and that can have no swept kind, but objects that would go along.
    hidden: Unread,
    /// The swept kinds, which the census knows by their index, and behind them all others whose objects could go along.
    kinds: Vec<ServedKind>,
    /// How many kinds are swept.
    swept: usize,
    /// What the configuration names, and nothing in the cluster is.
    unselected: Vec<String>,
}

impl Inventory {
    /// Lists the labelled objects of every selected kind.
    pub async fn take(objects: &impl Objects, filter: &KindFilter, policy: &Policy) -> Self {
        let discovery = match objects.discover().await {
            Ok(discovery) => discovery,
            Err(error) => return Self { unread: [(error.call.clone(), error)].into(), ..Self::default() },
        };
        let (mut unread, mut hidden) = (Unread::new(), Unread::new());
        for UnreadGroup { group, error } in discovery.unread {
            if filter.can_select_in(&group) {
                unread.insert(error.call.clone(), error);
            } else if !MEASUREMENTS.contains(&group.as_str()) {
                hidden.insert(error.call.clone(), error);
            }
        }
        let mut unselected = filter.without_kind(&policy.cluster_scoped, &discovery.kinds);
        let (mut kinds, others): (Vec<_>, Vec<_>) =
            discovery.kinds.into_iter().partition(|served| filter.selects(served));
        let swept = kinds.len();
        let mut census = Census::of(kinds.iter().map(|served| served.kind.clone()));
        let each = |kind: usize, candidate: Candidate| census.add(kind, &candidate, policy);
        unread.extend(list(objects, &kinds, Choice::Labelled(keys::ADAPTER), each).await);
        kinds.extend(others.into_iter().filter(can_go_along));
        unselected.extend(misspelt(&policy.adapters, census.adapters()));
        Self { census, unread, hidden, kinds, swept, unselected }
    }

    /// Lists all objects once more, of all kinds, and finds those of swept kinds whose API resource is gone, each once.
    /// Looks into the namespaces and custom kinds that may go. Notes kinds that cannot be read.
    pub async fn look_again(
        &mut self,
        objects: &impl Objects,
        policy: &Policy,
        is_gone: impl Fn(&str) -> bool,
    ) -> Found {
        let (kinds, swept) = (&self.kinds, self.swept);
        let (mut contents, mut candidates) = (Contents::of(kinds.iter().map(definition)), Vec::new());
        // Two groups can serve the same object, such as an Event.
        let mut uids = BTreeSet::new();
        let each = |kind: usize, candidate: Candidate| {
            let names_gone = is_gone(&candidate.resource_id);
            contents.add(kind, &candidate, names_gone && identified(&candidate, policy).is_ok());
            if kind < swept && names_gone && uids.insert(candidate.uid.clone()) {
                candidates.push(candidate);
            }
        };
        let mut unread = std::mem::take(&mut self.hidden);
        unread.extend(list(objects, kinds, Choice::Labelled(keys::ADAPTER), each).await);
        // Disowned objects have no adapter any more, and must survive.
        let each = |kind: usize, candidate: Candidate| contents.add(kind, &candidate, false);
        unread.extend(list(objects, kinds, Choice::Labelled(keys::DISOWNED), each).await);

        let may_go =
            |candidate: &&Candidate| identified(candidate, policy).and_then(|()| unclaimed(candidate, policy)).is_ok();
        let containers: BTreeSet<_> =
            candidates.iter().filter(may_go).filter_map(|candidate| Container::of(&candidate.object)).collect();
        let containers: Vec<_> = containers.into_iter().filter(|container| !contents.has_labelled(container)).collect();
        unread.extend(look_into(objects, kinds, &containers, policy, &mut contents).await);
        for (kind, error) in unread {
            self.unread.entry(kind).or_insert(error);
        }
        Found { contents, candidates }
    }

    /// The hold of a pass whose configuration names what is not there: it would sweep less than its author wants. None
    /// while something could not be read, which may be what is missing.
    #[must_use]
    pub fn nothing_selected(&self) -> Option<Hold> {
        let is_certain = self.unread.is_empty() && !self.unselected.is_empty();
        is_certain.then(|| Hold::NothingSelected { why: self.unselected.clone() })
    }

    /// The errors of kinds and groups that could not be read, one for each.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        self.unread.values().map(WriteError::to_string).collect()
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

/// Adds every object in these namespaces and of these custom kinds to `contents`, labelled or not; returns the errors.
async fn look_into(
    objects: &impl Objects,
    kinds: &[ServedKind],
    containers: &[Container],
    policy: &Policy,
    contents: &mut Contents,
) -> Unread {
    let namespaces: BTreeSet<_> =
        containers.iter().filter(|container| matches!(container, Container::Namespace(_))).collect();
    let namespaced: Vec<_> = kinds.iter().filter(|served| served.namespaced).cloned().collect();
    let mut unread = Unread::new();
    for container in containers {
        contents.look_into(container.clone());
        let (kinds, choice) = match container {
            Container::Namespace(_) if namespaces.len() > NAMESPACES_ONE_BY_ONE => continue,
            Container::Namespace(name) => (namespaced.clone(), Choice::InNamespace(name)),
            Container::Definition(name) => {
                (kinds.iter().filter(|served| definition(served) == *name).cloned().collect(), Choice::All)
            }
        };
        let each = |_, candidate: Candidate| contents.add_content(container, &candidate, policy);
        unread.extend(list(objects, &kinds, choice, each).await);
    }
    if namespaces.len() > NAMESPACES_ONE_BY_ONE {
        let each = |_, candidate: Candidate| {
            let container = Container::Namespace(candidate.object.namespace.clone().unwrap_or_default());
            if namespaces.contains(&container) {
                contents.add_content(&container, &candidate, policy);
            }
        };
        unread.extend(list(objects, &namespaced, Choice::All, each).await);
    }
    unread
}

/// Finds everything in this container, of every kind that the cluster serves by now: while a pass waits for the API, a CRD
/// can be created.
///
/// # Errors
///
/// Some kind could not be read, and may have objects in the container.
pub async fn contents_now(
    objects: &impl Objects,
    container: Container,
    policy: &Policy,
) -> Result<Contents, WriteError> {
    let discovery = objects.discover().await?;
    let mut hidden = discovery.unread.into_iter().filter(|unread| !MEASUREMENTS.contains(&unread.group.as_str()));
    if let Some(UnreadGroup { error, .. }) = hidden.next() {
        return Err(error);
    }
    let kinds: Vec<_> = discovery.kinds.into_iter().filter(can_go_along).collect();
    let mut contents = Contents::of(kinds.iter().map(definition));
    let unread = look_into(objects, &kinds, &[container], policy, &mut contents).await;
    unread.into_values().next().map_or(Ok(contents), Err)
}

/// Whether Kubernetes can delete objects of this kind along with others, and their loss counts.
fn can_go_along(served: &ServedKind) -> bool {
    served.has_verbs(&["list", "delete"]) && !is_event(&GroupKind::new(&served.kind.group, &served.kind.kind))
}

/// The name of the `CustomResourceDefinition` that the kind would have.
fn definition(served: &ServedKind) -> String {
    format!("{}.{}", served.plural, served.kind.group)
}

/// Passes the chosen objects of each kind to `each`, with the kind's index; returns the errors.
async fn list(
    objects: &impl Objects,
    kinds: &[ServedKind],
    choice: Choice<'_>,
    each: impl FnMut(usize, Candidate),
) -> Unread {
    let each = RefCell::new(each);
    let lists = stream::iter(kinds.iter().enumerate()).map(async |(index, served)| {
        let listed = objects.list(served, choice, &mut |candidate| each.borrow_mut()(index, candidate)).await;
        (definition(served), listed)
    });
    let results: Vec<_> = lists.buffered(KINDS_AT_ONCE).collect().await;
    results.into_iter().filter_map(|(kind, listed)| Some((kind, listed.err()?))).collect()
}
