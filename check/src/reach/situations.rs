//! The canonical situations: a set of live versions for each case that the decision table distinguishes.
//!
//! Two versions are enough: the table compares each version with the rendered manifest, and at most one version
//! has the rendered name.

use lifecycle_core::plan::decide::{Rendered, Seen};
use lifecycle_objects::id::Generation;
use lifecycle_objects::keys;
use lifecycle_objects::observation::Version;
use serde_json::json;

use super::found::Found;

/// The generation of every explored event; versions have an older one, the same, a newer one, or none.
const DESIRED: i64 = 2;

/// The name that every explored manifest renders to.
const NAME: &str = "a";

/// The observation of a resource.
pub(super) struct Situation {
    /// The live versions; none if they could not be read.
    versions: Option<Vec<Version>>,
    /// Whether no adapter wrote the versions.
    is_foreign: bool,
}

/// The identity of the rendered manifest.
pub(super) fn rendered() -> Rendered {
    Rendered { generation: Generation(DESIRED), namespace: String::new(), name: NAME.to_owned() }
}

fn version(name: &str, generation: Option<i64>, is_terminating: bool, is_disowned: bool) -> Version {
    let mut metadata = json!({ "name": name, "uid": name, "labels": {}, "annotations": {} });
    if let Some(generation) = generation {
        metadata["annotations"][keys::GENERATION] = json!(generation.to_string());
    }
    if is_terminating {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if is_disowned {
        metadata["labels"][keys::DISOWNED] = json!("id");
    }
    Version::new(json!({ "metadata": metadata }))
}

impl Situation {
    /// Returns every situation to explore: unread, absent, and each combination of live versions that the table
    /// tells apart.
    pub(super) fn all() -> Vec<Self> {
        let generations = [Some(DESIRED - 1), Some(DESIRED), Some(DESIRED + 1), None];
        let live = |name: &str, generation: Option<i64>| version(name, generation, false, false);
        let going = |name: &str, generation: Option<i64>| version(name, generation, true, false);
        let disowned = || version(NAME, Some(DESIRED), false, true);
        let mut found = vec![
            vec![disowned(), live("b", Some(DESIRED))],
            vec![disowned(), going("b", Some(DESIRED))],
            vec![disowned()],
            vec![version(NAME, Some(DESIRED), true, true)],
            Vec::new(),
            vec![going(NAME, Some(DESIRED))],
        ];
        for generation in generations {
            found.extend([NAME, "b"].map(|name| vec![live(name, generation)]));
            for other in generations {
                found.push(vec![live(NAME, generation), live("b", other)]);
                found.push(vec![live(NAME, generation), going("b", other)]);
                found.push(vec![going(NAME, generation), live("b", other)]);
            }
        }
        let foreign = [live(NAME, None), live("b", None), going(NAME, None)].map(|version| vec![version]);
        let foreign = foreign.map(|found| Self { versions: Some(found), is_foreign: true });
        let unread = Self { versions: None, is_foreign: false };
        let found = found.into_iter().map(|found| Self { versions: Some(found), is_foreign: false });
        std::iter::once(unread).chain(found).chain(foreign).collect()
    }

    /// Whether discovery can find this set of versions.
    pub(super) fn fits(&self, found: &Found) -> bool {
        let versions = self.versions();
        (versions.len() < 2 || !found.is_single)
            && (!found.is_named || versions.iter().all(|version| version.name() == NAME))
    }

    /// Whether versions were found that an adapter wrote.
    pub(super) fn is_owned(&self) -> bool {
        !self.is_foreign && !self.versions().is_empty()
    }

    /// The versions; empty if they could not be read.
    pub(super) fn versions(&self) -> &[Version] {
        self.versions.as_deref().unwrap_or_default()
    }

    /// The situation as the table's input.
    pub(super) fn seen(&self) -> Seen<'_> {
        match &self.versions {
            None => Seen::Unknown("the live objects could not be read"),
            Some(versions) if self.is_foreign => Seen::Foreign(versions.iter().collect()),
            Some(versions) => Seen::Versions(versions.iter().collect()),
        }
    }
}
