//! Warns of objects of a bundle that are kept, although something that they need goes: inside of a namespace, which would wait for
//! them for ever; an instance of a type, with which it would go; or a definition, whose instances lose the operator that works on
//! them.

use lifecycle_bundle::table::Intent;
use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document::Path;
use lifecycle_core::task::{Bundle, KnownObject};

use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let Some(bundle) = resource.bundle.as_ref().filter(|_| resource.gates.delete.is_some()) else { continue };
        lint_types(linter, &path, bundle);
        lint_instances(linter, &path, bundle);
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
            linter.report_object(Severity::Warning, &path, kept, message, help);
        }
    }
}

/// Warns of instances that stay although their type goes: the guard keeps the whole bundle then.
fn lint_instances(linter: &mut Linter<'_>, path: &Path, bundle: &Bundle) {
    for outer in bundle.known.iter().filter(|object| !stays(object)) {
        let Some(types) = outer.introduces.as_ref() else { continue };
        let mut instances = bundle.known.iter().filter(|object| types.matches(&object.identity.kind));
        let Some(kept) = instances.find(|object| stays(object)) else { continue };
        let message = format!(
            "`{}` is to stay when the bundle is deleted, but would go with `{}`, so that nothing is deleted, and the bundle waits \
             for ever",
            kept.identity, outer.identity
        );
        let help = "give the type the policy `orphan`, too, or the instance none".to_owned();
        linter.report_object(Severity::Warning, path, kept, message, help);
    }
}

/// Notes types that stay without their operator, and that the guard does not look at.
fn lint_types(linter: &mut Linter<'_>, path: &Path, bundle: &Bundle) {
    let Some(operator) = bundle.known.iter().filter(is_workload).find(|object| !stays(object)) else { return };
    for object in bundle.known.iter().filter(|object| stays(object)) {
        let Some(types) = object.introduces.as_ref() else { continue };
        if bundle.managed_types.iter().any(|pattern| pattern.covers(types)) {
            continue;
        }
        let message = format!(
            "`{}` stays when the bundle is deleted, and `{}` goes: instances of others, which do not hold up the deletion, lose \
             what works on them",
            object.identity, operator.identity
        );
        let help = format!("write `{types}` into `managed_types` if the bundle is to stay while others have instances");
        linter.report_object(Severity::Note, path, object, message, help);
    }
}

/// Whether the object runs Pods for as long as it is there, as an operator does.
pub(super) fn is_workload(object: &&KnownObject) -> bool {
    ["Deployment", "StatefulSet", "DaemonSet"].contains(&object.identity.kind.kind.as_str())
}

/// Whether the object stays when the bundle is deleted.
pub(super) fn stays(object: &KnownObject) -> bool {
    object.settings.policies.delete.keeps(Intent::Delete)
}
