//! Warns of recreations of objects with which more goes than the object: a claim with its data, or a namespace with all that is
//! in it. A recreation deletes first, and an orphan gate or a delete policy does not keep it from that. Warns of a definition, too,
//! that an entry deletes: only a bundle looks whether others still use its type.

use lifecycle_bundle::policy::Update;
use lifecycle_config::diagnostics::Severity;
use lifecycle_core::task::{KnownObject, Recreate};

use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        if let Some(bundle) = &resource.bundle {
            let is_recreated = |object: &&KnownObject| object.settings.policies.update == Update::Recreate;
            for object in bundle.known.iter().filter(is_recreated) {
                // A bundle never recreates the other kinds.
                let Some(loss) = loss(&object.identity.kind.group, &object.identity.kind.kind, false) else { continue };
                let message = format!("the update policy `recreate` deletes `{}`, and {loss} with it", object.identity);
                let help =
                    "give this object the annotation of the update policy with `apply`, and a new object another name";
                linter.report_object(Severity::Warning, &path, object, message, help.to_owned());
            }
            continue;
        }
        if resource.gates.delete.is_some() && is_definition(&resource.kind.group, &resource.kind.kind) {
            let message = format!(
                "the deletion of `{}` takes every object of its type along, also those of others",
                resource.name
            );
            let help = "put the definition into a `bundle`, which keeps it while others use its type";
            linter.warn(&path.key("lifecycle").key("delete"), message, help.to_owned());
        }
        let place = match (&resource.gates.recreate, &resource.retention) {
            (Some(Recreate::OnChange), None) => path.key("recreate_on_change"),
            (Some(Recreate::When(_)), None) => path.key("lifecycle").key("recreate"),
            (Some(_), Some(_)) | (None, _) => continue,
        };
        let Some(loss) = loss(&resource.kind.group, &resource.kind.kind, true) else { continue };
        let message = format!("a recreation deletes `{}`, and {loss} with it", resource.name);
        let help =
            "remove it: an update changes the object in place, and for a new one the manifest writes another name";
        linter.warn(&place, message, help.to_owned());
    }
}

/// What goes with an object of a kind, in words; `with_others` tells whether kinds count that take other objects along.
pub(super) fn loss(group: &str, kind: &str, with_others: bool) -> Option<&'static str> {
    match (group, kind) {
        ("", "PersistentVolumeClaim") => Some("its data"),
        ("", "PersistentVolume") => Some("the only reference to its data"),
        ("", "Namespace") if with_others => Some("every object in it"),
        _ if with_others && is_definition(group, kind) => Some("every object of its type"),
        _ => None,
    }
}

fn is_definition(group: &str, kind: &str) -> bool {
    (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}
