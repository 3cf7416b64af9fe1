//! The parent of a bundle: the ConfigMap that says where its members are, and what members cannot say themselves.
//!
//! In: the live parent, if there is one, and the kinds and namespaces of the rendered objects. Out: the parent to write, when
//! a write is due. Fails: if the live parent is another tool's, or cannot be understood; then nothing is known about the set.
//!
//! The parent is written before the first member of a kind or in a namespace, and names fewer of them only after a pass that
//! came to its end. So it names, at any time, every place where a member can be.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::applyset::{self, Contents};
use super::identity::{GroupKind, Identity};
use crate::decision::{FailReason, Failure};
use crate::id::GroupVersionKind;
use crate::observation::Version;

/// The key of the parent's `data` that holds the [`Memory`].
const MEMORY: &str = "memory";
/// How many digits of a digest are remembered: enough to notice a change, and few enough that 1,000 completed objects fit
/// into 64 KiB.
const DIGITS: usize = 16;

/// What a pass has to know, and cannot read from members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    /// How to list each kind, also one that no manifest names any more.
    #[serde(default)]
    kinds: BTreeMap<String, Listing>,
    /// The beginnings of the digests of objects that have served and were deleted, by identity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    completed: BTreeMap<String, String>,
    /// When the objects of a step with one interval were last applied again, by both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    applied: BTreeMap<String, Timestamp>,
}

/// How to list the members of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    /// The version in which the kind was last written.
    version: String,
    /// Whether its objects are in namespaces: a cluster may serve kinds that nobody else knows.
    namespaced: bool,
}

/// A parent during a pass.
#[derive(Debug)]
pub struct Parent {
    /// The parent's own namespace, which is always one of its contents.
    namespace: String,
    /// Contents and memory as the cluster has them; `None` if there is no parent.
    stored: Option<(Contents, Memory)>,
    contents: Contents,
    memory: Memory,
}

impl Parent {
    /// Reads the live parent, which is in this namespace, or would be.
    ///
    /// # Errors
    /// [`FailReason::DiscoveryFailed`]: it belongs to another tool, or somebody changed what it says.
    pub fn read(live: Option<&Version>, namespace: &str) -> Result<Self, Failure> {
        let namespace = namespace.to_owned();
        let Some(live) = live else {
            let contents = Contents { namespaces: [namespace.clone()].into(), ..Contents::default() };
            return Ok(Self { namespace, stored: None, contents, memory: Memory::default() });
        };
        let refused = |cause: String| {
            let message = format!("the parent ConfigMap {}/{}: {cause}", live.namespace(), live.name());
            Failure::new(FailReason::DiscoveryFailed, message)
        };
        let contents = Contents::read(live.object()).map_err(|error| refused(error.to_string()))?;
        let memory = match live.object().pointer("/data").and_then(|data| data.get(MEMORY)).and_then(Value::as_str) {
            None => Memory::default(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                refused(format!(
                    "its data `{MEMORY}` was changed by somebody else ({error}); remove the key, and all objects that have \
                     served and were deleted are created once more"
                ))
            })?,
        };
        Ok(Self { namespace, stored: Some((contents.clone(), memory.clone())), contents, memory })
    }

    /// Where members can be: one list for each, and a namespace for kinds that are in one.
    ///
    /// # Errors
    /// [`FailReason::DiscoveryFailed`]: somebody removed how to list one of the kinds.
    pub fn places(&self) -> Result<Vec<(GroupVersionKind, Option<String>)>, Failure> {
        let mut places = Vec::new();
        for kind in &self.contents.group_kinds {
            let Some(Listing { version, namespaced }) = self.memory.kinds.get(&kind.to_string()) else {
                let message = format!(
                    "the parent's data `{MEMORY}` lacks the kind {kind}, which its annotation `{}` has; write both again, or \
                     delete the objects of this kind and remove it from the annotation",
                    applyset::GROUP_KINDS
                );
                return Err(Failure::new(FailReason::DiscoveryFailed, message));
            };
            let api_version = if kind.group.is_empty() { version.clone() } else { format!("{}/{version}", kind.group) };
            let kind = GroupVersionKind::new(&api_version, &kind.kind);
            if *namespaced {
                let namespaces = self.contents.namespaces.iter();
                places.extend(namespaces.map(|namespace| (kind.clone(), Some(namespace.clone()))));
            } else {
                places.push((kind, None));
            }
        }
        Ok(places)
    }

    /// Adds the place of an object that is to be written.
    pub fn grow(&mut self, kind: &GroupVersionKind, namespace: Option<&str>) {
        let listing = Listing { version: kind.version.clone(), namespaced: namespace.is_some() };
        let of = GroupKind::new(&kind.group, &kind.kind);
        self.memory.kinds.insert(of.to_string(), listing);
        self.contents.group_kinds.insert(of);
        self.contents.namespaces.extend(namespace.map(str::to_owned));
    }

    /// Drops all places but these: those of the objects that are left after a complete pass.
    pub fn shrink(&mut self, kinds: &BTreeSet<GroupKind>, namespaces: &BTreeSet<String>) {
        self.contents.group_kinds.retain(|kind| kinds.contains(kind));
        self.contents.namespaces.retain(|namespace| *namespace == self.namespace || namespaces.contains(namespace));
        let names: BTreeSet<String> = kinds.iter().map(GroupKind::to_string).collect();
        self.memory.kinds.retain(|kind, _| names.contains(kind));
    }

    /// Forgets what is remembered of objects that are no longer wanted.
    pub fn forget_all_but(&mut self, wanted: &BTreeSet<String>) {
        self.memory.completed.retain(|identity, _| wanted.contains(identity));
    }

    /// Whether an object with this digest has served, and was deleted or is to be deleted.
    #[must_use]
    pub fn is_completed(&self, identity: &Identity, digest: &str) -> bool {
        self.memory.completed.get(&identity.to_string()).is_some_and(|known| *known == short(digest))
    }

    /// Remembers that an object with this digest has served. This is stored before the object is deleted, so that a crash in
    /// between does not run it again.
    pub fn complete(&mut self, identity: &Identity, digest: &str) {
        self.memory.completed.insert(identity.to_string(), short(digest));
    }

    /// Whether the objects of a step with this interval are to be applied again. An unknown time counts from now on.
    pub fn is_due(&mut self, step: &str, interval: SignedDuration, now: Timestamp) -> bool {
        let last = self.memory.applied.entry(beat(step, interval)).or_insert(now);
        *last != now && now.duration_since(*last) >= interval
    }

    /// Remembers that they were applied again.
    pub fn applied(&mut self, step: &str, interval: SignedDuration, now: Timestamp) {
        self.memory.applied.insert(beat(step, interval), now);
    }

    /// Forgets the times of steps and intervals that no object has any more.
    pub fn keep_beats<'b>(&mut self, beats: impl IntoIterator<Item = &'b (String, SignedDuration)>) {
        let known: BTreeSet<String> = beats.into_iter().map(|(step, interval)| beat(step, *interval)).collect();
        self.memory.applied.retain(|beat, _| known.contains(beat));
    }

    /// Whether the parent has to be written before a member is: it lacks a place, or an object that has served.
    #[must_use]
    pub fn precedes_members(&self) -> bool {
        self.stored.as_ref().is_none_or(|(contents, memory)| {
            *contents != self.contents || memory.kinds != self.memory.kinds || memory.completed != self.memory.completed
        })
    }

    /// Whether the cluster does not have what this parent says.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.stored.as_ref().is_none_or(|(contents, memory)| *contents != self.contents || *memory != self.memory)
    }

    /// Notes that the parent was written.
    pub fn note_written(&mut self) {
        self.stored = Some((self.contents.clone(), self.memory.clone()));
    }

    /// Writes contents and memory into the stamped object of the parent. `version` is this tool's.
    pub fn write(&self, parent: &mut Value, version: &str) {
        self.contents.write(parent, version);
        // Texts and times have a form in JSON.
        parent["data"] = json!({ MEMORY: serde_json::to_string(&self.memory).unwrap_or_default() });
    }
}

/// The digest with its first digits alone; what follows its digits, such as a generation, stays.
fn short(digest: &str) -> String {
    let (digits, rest) = digest.split_at(digest.find('@').unwrap_or(digest.len()));
    format!("{}{rest}", digits.get(..DIGITS).unwrap_or(digits))
}

fn beat(step: &str, interval: SignedDuration) -> String {
    format!("{step}/{}s", interval.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// A parent with a Deployment in each of two namespaces and a `ClusterRole`, as the cluster has it.
    fn stored() -> Value {
        let mut parent = Parent::read(None, "team").unwrap();
        parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("team"));
        parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("other"));
        parent.grow(&GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole"), None);
        let mut object = json!({ "metadata": { "name": "p", "namespace": "team" } });
        parent.write(&mut object, "1");
        object
    }

    fn read(object: Value) -> Result<Parent, Failure> {
        Parent::read(Some(&Version::new(object)), "team")
    }

    fn identity(name: &str) -> Identity {
        Identity { kind: GroupKind::new("batch", "Job"), namespace: Some("team".to_owned()), name: name.to_owned() }
    }

    #[test]
    fn places_are_a_list_for_each_kind_and_namespace() {
        let places = read(stored()).unwrap().places().unwrap();
        let places: Vec<(String, Option<String>)> = places
            .into_iter()
            .map(|(kind, namespace)| (format!("{} {}", kind.api_version(), kind.kind), namespace))
            .collect();
        let deployment = |namespace: &str| ("apps/v1 Deployment".to_owned(), Some(namespace.to_owned()));
        let role = ("rbac.authorization.k8s.io/v1 ClusterRole".to_owned(), None);
        assert_eq!(places, [deployment("other"), deployment("team"), role]);
    }

    #[test]
    fn parent_that_somebody_changed_is_refused() {
        let changed = |change: fn(&mut Value)| {
            let mut object = stored();
            change(&mut object);
            read(object).and_then(|parent| parent.places()).unwrap_err().to_string()
        };
        let text = changed(|object| object["data"]["memory"] = json!("{"));
        assert!(text.contains("ConfigMap team/p: its data `memory` was changed by somebody else"), "{text}");
        let text = changed(|object| object["data"] = json!({}));
        assert!(text.contains("lacks the kind Deployment.apps"), "{text}");
        let text = changed(|object| object["metadata"]["annotations"][applyset::TOOLING] = json!("kubectl/v1"));
        assert!(text.contains("kept by another tool, `kubectl/v1`"), "{text}");
    }

    #[test]
    fn parent_is_written_before_members_only_for_places_and_objects_that_served() {
        let mut parent = read(stored()).unwrap();
        parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("team"));
        assert!(!parent.precedes_members() && !parent.is_changed());
        parent.applied("wave 0", SignedDuration::from_mins(60), NOW);
        assert!(!parent.precedes_members() && parent.is_changed());
        parent.complete(&identity("a"), "0123456789abcdef0123");
        assert!(parent.precedes_members());
    }

    #[test]
    fn served_objects_are_told_apart_by_the_beginning_of_their_digest_and_by_generation() {
        let mut parent = read(stored()).unwrap();
        parent.complete(&identity("a"), "0123456789abcdef0123@5");
        assert!(parent.is_completed(&identity("a"), "0123456789abcdef9999@5"));
        assert!(!parent.is_completed(&identity("a"), "0123456789abcdef0123@6"));
        assert!(!parent.is_completed(&identity("a"), "9123456789abcdef0123@5"));
        assert!(!parent.is_completed(&identity("b"), "0123456789abcdef0123@5"));
    }

    #[test]
    fn objects_are_due_after_their_interval_which_begins_when_it_is_first_asked_for() {
        let mut parent = read(stored()).unwrap();
        let hour = SignedDuration::from_hours(1);
        assert!(!parent.is_due("wave 0", hour, NOW));
        assert!(!parent.is_due("wave 0", hour, NOW + SignedDuration::from_mins(59)));
        assert!(parent.is_due("wave 0", hour, NOW + hour));
        assert!(!parent.is_due("wave 0", SignedDuration::from_hours(2), NOW + hour));
        parent.applied("wave 0", hour, NOW + hour);
        assert!(!parent.is_due("wave 0", hour, NOW + hour + hour - SignedDuration::from_secs(1)));
    }

    #[test]
    fn memory_of_1000_objects_that_served_fits_into_64_kib() {
        let mut parent = read(stored()).unwrap();
        for number in 0..1000 {
            parent.complete(&identity(&format!("job-{number}")), &"0123456789abcdef".repeat(4));
        }
        let mut object = json!({ "metadata": { "name": "p", "namespace": "team" } });
        parent.write(&mut object, "1");
        let bytes = object["data"]["memory"].as_str().unwrap().len();
        assert!(bytes < 64 * 1024, "{bytes}");
    }
}
