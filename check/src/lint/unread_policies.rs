//! Warns of annotations that are to set the policies of an object, and that nobody reads: on an entry that is no bundle, as
//! labels, or with the prefix of another tool.

use lifecycle_bundle::policy::Settings;
use lifecycle_config::document::Path;
use lifecycle_core::task::Resource;
use lifecycle_language::template::Tree;
use serde_json::Value;

use super::linter::Linter;
use crate::manifests::{Role, WrittenObject};

/// The annotation by which Helm leaves an object alone.
const OF_HELM: &str = "helm.sh/resource-policy";

pub(super) fn lint(linter: &mut Linter<'_>) {
    for object in linter.manifests().iter().filter(|object| object.role != Role::Nested) {
        for (key, value) in entries(&object.tree, "annotations") {
            annotation(linter, object, &key, &value);
        }
        for (key, _) in entries(&object.tree, "labels").into_iter().filter(|(key, _)| policy(key).is_some()) {
            let message = format!(
                "{}nobody reads the label `{key}`: the policies of an object are annotations",
                object.subject()
            );
            let at = object.at(linter.document, &Path::root().key("metadata").key("labels").key(&key));
            linter.warn(&at, message, cure(object.resource, policy(&key).unwrap_or_default()));
        }
    }
}

fn annotation(linter: &mut Linter<'_>, object: &WrittenObject<'_>, key: &str, value: &Value) {
    let is_helms = key == OF_HELM && value == "keep";
    let Some(name) = policy(key).or_else(|| is_helms.then_some("delete-policy")) else { return };
    let prefix = object.resource.bundle.as_ref().map(|bundle| bundle.prefix.as_str());
    if prefix.is_some_and(|prefix| key == format!("{prefix}/{name}")) {
        return;
    }
    let subject = object.subject();
    let message = match prefix {
        Some(prefix) => {
            format!("{subject}nobody reads the annotation `{key}`: those of this bundle begin with `{prefix}/`")
        }
        None => format!("{subject}nobody reads the annotation `{key}`: only the objects of a bundle have policies"),
    };
    let at = object.at(linter.document, &Path::root().key("metadata").key("annotations").key(key));
    linter.warn(&at, message, cure(object.resource, name));
}

fn cure(resource: &Resource, name: &str) -> String {
    match &resource.bundle {
        Some(bundle) if name == "delete-policy" => {
            format!("write the annotation `{}/{name}: orphan` for an object that is to stay", bundle.prefix)
        }
        Some(bundle) => format!("write the annotation `{}/{name}`", bundle.prefix),
        None if name == "delete-policy" => {
            "for an object that is to stay, write `lifecycle: {orphan: {when: …}}` instead of `delete`".to_owned()
        }
        None => "remove it, or put the object into a bundle".to_owned(),
    }
}

/// The name of the policy that a key with any prefix sets.
fn policy(key: &str) -> Option<&'static str> {
    let (_, written) = key.rsplit_once('/')?;
    Settings::NAMES.into_iter().find(|name| *name == written)
}

/// The entries of a mapping of the metadata whose keys are no templates. A value may be one.
fn entries(tree: &Tree, of: &str) -> Vec<(String, Value)> {
    let written = tree.keep(&[&["metadata", of]]).specimen();
    let entries = written.pointer(&format!("/metadata/{of}")).and_then(Value::as_object).cloned();
    entries.into_iter().flatten().filter(|(key, _)| !key.contains("{{")).collect()
}
