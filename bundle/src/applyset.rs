//! The convention of `ApplySets` (Kubernetes' KEP 3659): how a parent names its members.
//!
//! In: the parent's place, and the kinds and namespaces of its members. Out: labels and annotations of the parent, and back.
//! Fails: if the annotations belong to another tool, or cannot be understood.
//!
//! | key | on | value |
//! | --- | --- | --- |
//! | label `applyset.kubernetes.io/id` | the parent | the [`id`] of the set |
//! | label `applyset.kubernetes.io/part-of` | each member | the id of the set |
//! | annotation `applyset.kubernetes.io/tooling` | the parent | the tool and its version: others refuse to change the set |
//! | annotation `applyset.kubernetes.io/contains-group-kinds` | the parent | the kinds of the members, sorted |
//! | annotation `applyset.kubernetes.io/additional-namespaces` | the parent | the namespaces of the members without the parent's, sorted |

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use lifecycle_objects::identity::{GroupKind, GroupKindError};
use lifecycle_objects::observation::Described as _;

/// The label of the parent.
pub const ID: &str = "applyset.kubernetes.io/id";
/// The label of members.
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The annotation with the tool that keeps the set.
pub const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// The annotation with the kinds of the members.
pub const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// The annotation with the namespaces of the members.
pub const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// This tool's name in [`TOOLING`], before the version.
pub const TOOL: &str = "hyperfleet-lifecycle";

/// The id of the set whose parent is the `ConfigMap` of this place.
#[must_use]
pub fn id(namespace: &str, name: &str) -> String {
    let hash = Sha256::digest(format!("{name}.{namespace}.ConfigMap."));
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
}

/// Where the members of a set can be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The kinds of the members.
    pub group_kinds: BTreeSet<GroupKind>,
    /// The namespaces of the members, the parent's included.
    pub namespaces: BTreeSet<String>,
}

/// Why a parent's annotations are refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Another tool keeps the set.
    #[error("it is kept by another tool, `{0}`; give the bundle another name, or end that set with its own tool")]
    OtherTool(String),
    /// A kind cannot be understood.
    #[error("its annotation `{GROUP_KINDS}` was changed by somebody else; write the kinds of all members into it")]
    GroupKinds(#[from] GroupKindError),
}

impl Contents {
    /// Reads the annotations of a live parent. The parent's own namespace is always one of the namespaces.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn read(parent: &Value) -> Result<Self, Unusable> {
        let annotation = |key: &str| parent.pointer("/metadata/annotations").and_then(|all| all.get(key)?.as_str());
        if let Some(tool) = annotation(TOOLING).filter(|tool| tool.split('/').next() != Some(TOOL)) {
            return Err(Unusable::OtherTool(tool.to_owned()));
        }
        let parts = |key: &str| annotation(key).unwrap_or_default().split(',').filter(|part| !part.is_empty());
        let group_kinds = parts(GROUP_KINDS).map(str::parse).collect::<Result<_, _>>()?;
        let namespaces = parts(NAMESPACES).chain([parent.namespace()]).map(str::to_owned).collect();
        Ok(Self { group_kinds, namespaces })
    }

    /// Writes label and annotations of the set into its parent. `version` is this tool's.
    pub fn write(&self, parent: &mut Value, version: &str) {
        let place = parent.namespace().to_owned();
        let id = id(&place, parent.name());
        set(parent, "labels", ID, id);
        set(parent, "annotations", TOOLING, format!("{TOOL}/{version}"));
        let mut kinds: Vec<String> = self.group_kinds.iter().map(GroupKind::to_string).collect();
        // The convention sorts the kinds as they are written.
        kinds.sort_unstable();
        let namespaces = self.namespaces.iter().filter(|namespace| **namespace != place);
        let namespaces: Vec<&str> = namespaces.map(String::as_str).collect();
        set(parent, "annotations", GROUP_KINDS, kinds.join(","));
        set(parent, "annotations", NAMESPACES, namespaces.join(","));
    }
}

/// Whether a parent has the label and the annotation by which tools recognise it.
#[must_use]
pub fn is_marked(parent: &Value) -> bool {
    let annotations = parent.pointer("/metadata/annotations");
    let has_tool = annotations.is_some_and(|annotations| annotations.get(TOOLING).is_some());
    has_tool && parent.label(ID) == Some(&id(parent.namespace(), parent.name()))
}

/// Adds to the merge patch of a parent what removes the marks of the set.
pub fn unmark(patch: &mut Value) {
    patch["metadata"]["labels"][ID] = Value::Null;
    for key in [TOOLING, GROUP_KINDS, NAMESPACES] {
        patch["metadata"]["annotations"][key] = Value::Null;
    }
}

/// Sets a label or annotation.
pub(super) fn set(object: &mut Value, part: &str, key: &str, value: String) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let part = metadata.entry(part).or_insert_with(|| Value::Object(Map::new()));
    if let Some(part) = part.as_object_mut() {
        part.insert(key.to_owned(), Value::String(value));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parent(annotations: Value) -> Value {
        json!({ "kind": "ConfigMap", "metadata": { "name": "p", "namespace": "team", "annotations": annotations } })
    }

    #[test]
    fn id_is_the_hash_of_the_parents_place() {
        // printf 'my-set.team.ConfigMap.' | openssl dgst -sha256 -binary | basenc --base64url, without its padding
        assert_eq!(id("team", "my-set"), "applyset-DWWtiVlQauqCkmCI-HCnn82N2hKFb4mpWMTBHNcFWe0-v1");
        assert_eq!(id("team", "my-set").len(), 55);
        assert_ne!(id("team", "a"), id("a", "team"));
    }

    #[test]
    fn annotations_list_kinds_and_the_other_namespaces_sorted() {
        let kinds = [("apps", "Deployment"), ("", "ConfigMap"), ("apiextensions.k8s.io", "CustomResourceDefinition")];
        let contents = Contents {
            group_kinds: kinds.map(|(group, kind)| GroupKind::new(group, kind)).into(),
            namespaces: ["team", "b", "a"].map(str::to_owned).into(),
        };
        let mut written = parent(json!({ "of": "somebody" }));
        contents.write(&mut written, "1.2.3");
        let annotations = json!({
            "of": "somebody",
            TOOLING: "hyperfleet-lifecycle/1.2.3",
            GROUP_KINDS: "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io,Deployment.apps",
            NAMESPACES: "a,b",
        });
        assert_eq!(written["metadata"]["annotations"], annotations);
        assert_eq!(written["metadata"]["labels"], json!({ ID: id("team", "p") }));
        assert_eq!(Contents::read(&written), Ok(contents));
    }

    #[test]
    fn parent_of_another_tool_is_refused() {
        for (name, annotations) in [
            ("kubectl", json!({ TOOLING: "kubectl/v1.33" })),
            ("a tool whose name begins with ours", json!({ TOOLING: "hyperfleet-lifecycle-2/1" })),
        ] {
            assert!(matches!(Contents::read(&parent(annotations)), Err(Unusable::OtherTool(_))), "{name}");
        }
    }

    #[test]
    fn kind_that_is_none_is_refused() {
        let parent = parent(json!({ TOOLING: "hyperfleet-lifecycle/1", GROUP_KINDS: "ConfigMap,a b" }));
        assert_eq!(Contents::read(&parent), Err(Unusable::GroupKinds(GroupKindError("a b".to_owned()))));
    }

    proptest! {
        #[test]
        fn written_contents_are_read_again(
            kinds in proptest::collection::btree_set("[A-Z][a-z]{1,8}", 0..5),
            namespaces in proptest::collection::btree_set("[a-z]{1,8}", 0..5),
        ) {
            let group_kinds = kinds.iter().map(|kind| GroupKind::new("example.io", kind)).collect();
            let namespaces = namespaces.into_iter().chain(["team".to_owned()]).collect();
            let contents = Contents { group_kinds, namespaces };
            let mut written = parent(json!({}));
            contents.write(&mut written, "1");
            prop_assert_eq!(Contents::read(&written), Ok(contents));
        }
    }
}
