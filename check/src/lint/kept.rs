//! Warns of objects of a bundle that are kept inside of a namespace that is not: the namespace would wait for them for ever.

use super::{Linter, resources};
use lifecycle_core::bundle::policy::Delete;
use lifecycle_core::task::KnownObject;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let Some(bundle) = resource.bundle.as_ref().filter(|_| resource.gates.delete.is_some()) else { continue };
        let is_namespace = |object: &&KnownObject| object.identity.kind.is_namespace() && !stays(object);
        for namespace in bundle.known.iter().filter(is_namespace) {
            let is_inside =
                |object: &&KnownObject| object.identity.namespace.as_ref() == Some(&namespace.identity.name);
            let Some(kept) = bundle.known.iter().filter(is_inside).find(|object| stays(object)) else { continue };
            let message = format!(
                "`{}` stays when the bundle is deleted, and is then nobody's, so that `{}` around it is not deleted either, and the \
                 bundle waits for ever",
                kept.identity, namespace.identity
            );
            let help = "give the object another namespace, or the namespace the policy `orphan`, too".to_owned();
            linter.warn(&path.key("bundle").key("manifests"), message, help);
        }
    }
}

/// Whether the object stays when the bundle is deleted.
fn stays(object: &KnownObject) -> bool {
    match object.settings.policies.delete {
        Delete::Orphan | Delete::OrphanOnDelete => true,
        Delete::Delete | Delete::OrphanOnApply => false,
    }
}
