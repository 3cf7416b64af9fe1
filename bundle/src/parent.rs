//! The parent of a bundle: the ConfigMap that says where its members are, and what members cannot say themselves.
//!
//! In: the live parent, if there is one, and the kinds and namespaces of the rendered objects. Out: the parent to write, when
//! a write is due. Fails: if the live parent is another tool's, or cannot be understood; then nothing is known about the set.
//!
//! The parent is written before the first member of a kind or in a namespace, and names fewer of them only after two passes that
//! came to their ends and had no use for them. So it names, at any time, every place where a member can be.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::observation::Version;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::applyset::{self, Contents};

/// The key of the parent's `data` that holds the [`Memory`].
const MEMORY: &str = "memory";
/// How many digits of a digest are remembered: enough to notice a change. With the name, an object that has served takes some 110 bytes
/// of the 1 MiB that a `ConfigMap` may have.
const DIGITS: usize = 16;

/// What a pass has to know, and cannot read from members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Memory {
    /// How to list each kind, also one that no manifest names any more. It says as much as the annotations, so that an edit
    /// of these loses nothing.
    #[serde(default)]
    kinds: BTreeMap<GroupKind, Listing>,
    /// The namespaces of the members.
    #[serde(default)]
    namespaces: BTreeSet<String>,
    /// The kinds and namespaces for which the last complete pass had no use.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    leaving: BTreeSet<String>,
    /// The beginnings of the digests of objects that have served, by identity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    completed: BTreeMap<String, String>,
    /// When the objects of a step with one interval were last applied again, by both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    applied: BTreeMap<String, Timestamp>,
    /// How often a pass claimed the set before it created something.
    #[serde(default)]
    claims: u64,
}

/// How to list the members of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Listing {
    /// The version in which the kind was last written.
    version: String,
    /// Whether its objects are in namespaces: a cluster may serve kinds that nobody else knows.
    namespaced: bool,
}

/// A parent as the cluster has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    contents: Contents,
    memory: Memory,
    /// The generation for which it was last written; none if that cannot be read, or if it lost an annotation of the set.
    generation: Option<Generation>,
}

/// A parent during a pass.
#[derive(Debug)]
pub struct Parent {
    /// The parent's own namespace, which is always one of its contents.
    namespace: String,
    /// The generation of the event.
    generation: Generation,
    /// What the cluster has; `None` if there is no parent.
    stored: Option<Stored>,
    contents: Contents,
    memory: Memory,
}

impl Parent {
    /// Reads the live parent, which is in this namespace, or would be.
    ///
    /// # Errors
    /// [`FailReason::DiscoveryFailed`]: it belongs to another tool, or somebody changed what it says.
    pub fn read(live: Option<&Version>, namespace: &str, generation: Generation) -> Result<Self, Failure> {
        let namespace = namespace.to_owned();
        let Some(live) = live else {
            let contents = Contents { namespaces: [namespace.clone()].into(), ..Contents::default() };
            return Ok(Self { namespace, generation, stored: None, contents, memory: Memory::default() });
        };
        let refused = |cause: String| {
            let message = format!("the parent ConfigMap {}/{}: {cause}", live.namespace(), live.name());
            Failure::new(FailReason::DiscoveryFailed, message)
        };
        let mut contents = Contents::read(live.object()).map_err(|error| refused(error.to_string()))?;
        let memory: Memory = match live.object().pointer("/data").and_then(|data| data.get(MEMORY)).and_then(Value::as_str) {
            None => Memory::default(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                refused(format!(
                    "its data `{MEMORY}` was changed by somebody else ({error}); write `{{}}` there, and all objects that have \
                     served and were deleted are created once more"
                ))
            })?,
        };
        let is_marked = applyset::is_marked(live.object());
        let generation_of = live.generation().filter(|_| is_marked);
        let stored = Stored { contents: contents.clone(), memory: memory.clone(), generation: generation_of };
        contents.group_kinds.extend(memory.kinds.keys().cloned());
        contents.namespaces.extend(memory.namespaces.iter().cloned());
        Ok(Self { namespace, generation, stored: Some(stored), contents, memory })
    }

    /// Whether the parent says where all members are: nobody removed it, its marks, or how to list a kind.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let can_list = |kind: &GroupKind| self.memory.kinds.contains_key(kind);
        self.stored.as_ref().is_some_and(|stored| stored.generation.is_some() && !stored.memory.kinds.is_empty())
            && self.contents.group_kinds.iter().all(can_list)
    }

    /// Where members can be: one list for each, and a namespace for kinds that are in one. A kind whose listing somebody removed from
    /// the memory is listed in the whole cluster, unless Kubernetes' own kinds say otherwise; whichever version is served counts.
    #[must_use]
    pub fn places(&self) -> Vec<(GroupVersionKind, Option<String>)> {
        let mut places = Vec::new();
        for kind in &self.contents.group_kinds {
            let known = self.memory.kinds.get(kind);
            let version = known.map_or("v1", |listing| &listing.version);
            let api_version =
                if kind.group.is_empty() { version.to_owned() } else { format!("{}/{version}", kind.group) };
            let kind = GroupVersionKind::new(&api_version, &kind.kind);
            let own = || is_namespaced(&kind).unwrap_or(false);
            if known.map_or_else(own, |listing| listing.namespaced) {
                let namespaces = self.contents.namespaces.iter();
                places.extend(namespaces.map(|namespace| (kind.clone(), Some(namespace.clone()))));
            } else {
                places.push((kind, None));
            }
        }
        places
    }

    /// Adds the place of an object that is to be written.
    pub fn grow(&mut self, kind: &GroupVersionKind, namespace: Option<&str>) {
        let listing = Listing { version: kind.version.clone(), namespaced: namespace.is_some() };
        let of = GroupKind::new(&kind.group, &kind.kind);
        self.memory.kinds.insert(of.clone(), listing);
        self.contents.group_kinds.insert(of);
        if let Some(namespace) = namespace {
            self.memory.namespaces.insert(namespace.to_owned());
            self.contents.namespaces.insert(namespace.to_owned());
        }
    }

    /// Drops the places for which two complete passes had no use, one after the other: all but these, in which the pass wants or
    /// found an object.
    pub fn shrink(&mut self, kinds: &BTreeSet<&GroupKind>, namespaces: &BTreeSet<&str>) {
        let unused_kinds = self.contents.group_kinds.iter().filter(|kind| !kinds.contains(kind));
        let is_unused = |namespace: &&String| **namespace != self.namespace && !namespaces.contains(namespace.as_str());
        let unused_namespaces = self.contents.namespaces.iter().filter(is_unused).cloned();
        let unused: BTreeSet<String> = unused_kinds.map(GroupKind::to_string).chain(unused_namespaces).collect();
        let (gone, unused): (BTreeSet<String>, _) =
            unused.into_iter().partition(|place| self.memory.leaving.contains(place));
        self.memory.leaving = unused;
        self.contents.group_kinds.retain(|kind| !gone.contains(&kind.to_string()));
        self.contents.namespaces.retain(|namespace| !gone.contains(namespace));
        self.memory.kinds.retain(|kind, _| !gone.contains(&kind.to_string()));
        self.memory.namespaces.retain(|namespace| !gone.contains(namespace));
    }

    /// Notes that an object is about to be created that serves once, or where no member was. The write that follows is fenced: of
    /// two passes at the same time only one goes on, so that nothing runs twice, and nothing is created in a place that the parent
    /// no longer names.
    pub fn claim(&mut self) {
        let before = self.stored.as_ref().map_or(0, |stored| stored.memory.claims);
        self.memory.claims = before.wrapping_add(1);
    }

    /// Forgets the objects that have served but are no longer wanted, or are wanted with another digest.
    pub fn keep_completed<'r>(&mut self, wanted: impl Iterator<Item = (&'r Identity, &'r str)>) {
        if self.memory.completed.is_empty() {
            return;
        }
        let wanted: BTreeMap<String, &str> = wanted.map(|(identity, digest)| (identity.to_string(), digest)).collect();
        self.memory
            .completed
            .retain(|identity, known| wanted.get(identity).is_some_and(|digest| short(digest) == *known));
    }

    /// Whether an object with this digest has served.
    #[must_use]
    pub fn is_completed(&self, identity: &Identity, digest: &str) -> bool {
        let completed = &self.memory.completed;
        !completed.is_empty() && completed.get(&identity.to_string()).is_some_and(|known| *known == short(digest))
    }

    /// Remembers that an object with this digest has served. This is stored before the object is deleted, so that neither a crash
    /// in between nor somebody who deletes it runs it again.
    pub fn complete(&mut self, identity: &Identity, digest: &str) {
        self.memory.completed.insert(identity.to_string(), short(digest));
    }

    /// Whether the objects of a step with this interval are to be applied again. An unknown time counts from now on.
    pub fn is_due(&mut self, step: &str, interval: SignedDuration, now: Timestamp) -> bool {
        let last = self.memory.applied.entry(applied_key(step, interval)).or_insert(now);
        *last != now && now.duration_since(*last) >= interval
    }

    /// Remembers that they were applied again.
    pub fn applied(&mut self, step: &str, interval: SignedDuration, now: Timestamp) {
        self.memory.applied.insert(applied_key(step, interval), now);
    }

    /// Forgets the times of steps and intervals that no object has any more.
    pub fn keep_applied<'i>(&mut self, known: impl IntoIterator<Item = &'i (String, SignedDuration)>) {
        let known: BTreeSet<String> = known.into_iter().map(|(step, interval)| applied_key(step, *interval)).collect();
        self.memory.applied.retain(|key, _| known.contains(key));
    }

    /// Whether the parent has to be written before a member is: for a new generation, a place, an object that has served, or a
    /// claim. What an older event or another pass does with the parent or a place then fails.
    #[must_use]
    pub fn precedes_members(&self) -> bool {
        self.stored.as_ref().is_none_or(|Stored { contents, memory, generation }| {
            let ours = &self.memory;
            *generation != Some(self.generation)
                || *contents != self.contents
                || (&memory.kinds, &memory.namespaces) != (&ours.kinds, &ours.namespaces)
                || (&memory.completed, memory.claims) != (&ours.completed, ours.claims)
        })
    }

    /// Whether the cluster does not have what this parent says.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let Memory { applied, leaving, .. } = &self.memory;
        let has_new = |Stored { memory, .. }: &Stored| (&memory.applied, &memory.leaving) != (applied, leaving);
        self.precedes_members() || self.stored.as_ref().is_some_and(has_new)
    }

    /// Notes that the parent was written.
    pub fn note_written(&mut self) {
        let (contents, memory) = (self.contents.clone(), self.memory.clone());
        self.stored = Some(Stored { contents, memory, generation: Some(self.generation) });
    }

    /// Writes contents and memory into the stamped object of the parent. `version` is this tool's.
    pub fn write(&self, parent: &mut Value, version: &str) {
        self.contents.write(parent, version);
        // Texts and times have a form in JSON.
        parent["data"] = json!({ MEMORY: serde_json::to_string(&self.memory).unwrap_or_default() });
    }
}

/// The digest of the content, or the only one, with its first digits alone; what follows its digits, such as a generation, stays.
/// Policies do not count: an object that has served does not run again because a default of its bundle changed.
fn short(digest: &str) -> String {
    let digest = digest.split_once('~').map_or(digest, |(_, content)| content);
    let (digits, rest) = digest.split_at(digest.find('@').unwrap_or(digest.len()));
    format!("{}{rest}", digits.get(..DIGITS).unwrap_or(digits))
}

fn applied_key(step: &str, interval: SignedDuration) -> String {
    format!("{step}/{}s", interval.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use lifecycle_objects::keys;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;
    const ONE: Generation = Generation(1);

    /// A parent with a Deployment in each of two namespaces and a `ClusterRole`, as the cluster has it.
    fn stored() -> Value {
        let mut parent = Parent::read(None, "team", ONE).unwrap();
        parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("team"));
        parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("other"));
        parent.grow(&GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole"), None);
        let annotations = json!({ keys::GENERATION: "1" });
        let mut object = json!({ "metadata": { "name": "p", "namespace": "team", "annotations": annotations } });
        parent.write(&mut object, "1");
        object
    }

    fn read(object: Value) -> Result<Parent, Failure> {
        Parent::read(Some(&Version::new(object)), "team", ONE)
    }

    fn identity(name: &str) -> Identity {
        Identity { kind: GroupKind::new("batch", "Job"), namespace: Some("team".to_owned()), name: name.to_owned() }
    }

    #[test]
    fn places_are_a_list_for_each_kind_and_namespace() {
        let places = read(stored()).unwrap().places();
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
            read(object).unwrap_err().to_string()
        };
        let text = changed(|object| object["data"]["memory"] = json!("{"));
        assert!(text.contains("ConfigMap team/p: its data `memory` was changed by somebody else"), "{text}");
        let text = changed(|object| object["metadata"]["annotations"][applyset::TOOLING] = json!("kubectl/v1"));
        assert!(text.contains("kept by another tool, `kubectl/v1`"), "{text}");
    }

    #[test]
    fn memory_that_somebody_emptied_loses_no_place() {
        let custom = |object: &mut Value| {
            let kinds = &mut object["metadata"]["annotations"][applyset::GROUP_KINDS];
            *kinds = json!(format!("{},Foo.example.io", kinds.as_str().unwrap()));
        };
        for data in [json!({}), json!({ "memory": "{}" })] {
            let mut object = stored();
            custom(&mut object);
            object["data"] = data;
            let found: Vec<_> = read(object).unwrap().places();
            let found: Vec<_> = found.iter().map(|(kind, namespace)| (&*kind.kind, namespace.as_deref())).collect();
            // Kubernetes' own kinds are where they are; a custom one may be in any namespace.
            let expected =
                [("Foo", None), ("ClusterRole", None), ("Deployment", Some("other")), ("Deployment", Some("team"))];
            let sorted = |mut places: Vec<_>| {
                places.sort_unstable();
                places
            };
            assert_eq!(sorted(found), sorted(expected.to_vec()));
        }
    }

    #[test]
    fn edit_of_annotations_loses_no_place() {
        let all = read(stored()).unwrap().places();
        let edits: [fn(&mut Value); 2] = [
            |object| object["metadata"]["annotations"][applyset::GROUP_KINDS] = json!(""),
            |object| object["metadata"]["annotations"][applyset::NAMESPACES] = json!(""),
        ];
        for edit in edits {
            let mut object = stored();
            edit(&mut object);
            let parent = read(object).unwrap();
            assert_eq!(parent.places(), all);
            assert!(parent.precedes_members());
        }
    }

    #[test]
    fn parent_that_lost_the_name_of_its_tool_is_written_again() {
        let mut object = stored();
        object["metadata"]["annotations"].as_object_mut().unwrap().remove(applyset::TOOLING);
        assert!(read(object).unwrap().precedes_members());
    }

    #[test]
    fn parent_is_written_before_members_for_a_new_generation_and_for_a_claim() {
        let parent = Parent::read(Some(&Version::new(stored())), "team", Generation(2)).unwrap();
        assert!(parent.precedes_members());
        let mut parent = read(stored()).unwrap();
        parent.claim();
        assert!(parent.precedes_members());
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
    fn served_object_whose_policies_changed_has_served() {
        let mut parent = read(stored()).unwrap();
        parent.complete(&identity("a"), "0123~c0ffee@5");
        assert!(parent.is_completed(&identity("a"), "9876~c0ffee@5"));
        assert!(
            !parent.is_completed(&identity("a"), "0123~decaf@5")
                && !parent.is_completed(&identity("a"), "0123~c0ffee@6")
        );
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
