//! Warns of fields in a manifest that only an API server sets, as `kubectl get -o yaml` prints them: no write has them.
//!
//! Generators write `creationTimestamp: null`, an empty `status`, and the `status` of a definition: of these nothing is said.

use lifecycle_config::document::Path;
use lifecycle_language::template::{Part, Tree};
use lifecycle_objects::server_set::{METADATA, ignores_status};
use serde_json::Value;

use super::linter::{Linter, resources};
use crate::manifests::kind;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let manifests = match &resource.bundle {
            Some(bundle) => {
                let place = path.key("bundle").key("manifests");
                bundle.manifests.iter().enumerate().map(|(index, it)| (place.index(index), it)).collect()
            }
            None => vec![(path.key("manifest"), &resource.manifest)],
        };
        for (place, manifest) in manifests {
            manifest.structures().iter().for_each(|tree| judge(linter, &place, tree));
        }
    }
}

fn judge(linter: &mut Linter<'_>, place: &Path, object: &Tree) {
    let kind = kind(object);
    if let (None, Part::Literal(Value::Array(items))) = (&kind, object.part(&["items"])) {
        items.iter().map(Tree::parse_lenient).for_each(|item| judge(linter, place, &item));
        return;
    }
    let is_written = |path: &[&str]| match object.part(path) {
        Part::Literal(Value::Null) | Part::Absent | Part::Uncertain => false,
        Part::Literal(Value::Object(members)) => !members.is_empty(),
        Part::Literal(_) | Part::Template(_) => true,
    };
    let metadata = METADATA.iter().filter(|key| is_written(&["metadata", key])).map(|key| format!("metadata.{key}"));
    let is_idle = kind.is_some_and(|kind| ignores_status(&kind) && kind.kind != "CustomResourceDefinition");
    let status = (is_idle && is_written(&["status"])).then(|| "status".to_owned());
    let found: Vec<String> = metadata.chain(status).collect();
    let Some(first) = found.first() else { return };
    let at = first.split('.').fold(place.clone(), |path, key| path.key(key));
    let names = found.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("has what only the API server sets, and no write of the adapter has: {names}");
    let at = linter.place_or(at, place);
    linter.warn(&at, message, "remove it from the manifest; `kubectl get -o yaml` prints it".to_owned());
}
