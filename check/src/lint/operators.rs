//! Notes a bundle whose workloads are all deleted in an earlier wave than an instance of a type that the bundle brings: nothing is
//! left that removes the finalizers of the instance.

use lifecycle_config::diagnostics::Severity;
use lifecycle_core::task::KnownObject;

use super::kept_objects::{is_workload, stays};
use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let Some(bundle) = resource.bundle.as_ref().filter(|_| resource.gates.delete.is_some()) else { continue };
        let going = || bundle.known.iter().filter(|object| !stays(object));
        // The operator is one of the workloads, and nobody knows which.
        let Some(last) = going().filter(is_workload).max_by_key(|object| order(object)) else { continue };
        if bundle.has_others {
            continue;
        }
        let is_instance = |object: &&KnownObject| bundle.types().any(|types| types.matches(&object.identity.kind));
        let Some(late) = going().filter(is_instance).find(|object| order(object) > order(last)) else { continue };
        let message = format!(
            "`{}` is deleted in wave {}, and `{}` only in wave {}: if that has a finalizer, nothing removes it, and the deletion never \
             ends",
            last.identity,
            order(last),
            late.identity,
            order(late)
        );
        let help = "remove `delete-order` from both: in one wave, instances go before the workload that works on them";
        linter.report_object(Severity::Note, &path, last, message, help.to_owned());
    }
}

fn order(object: &KnownObject) -> i16 {
    object.settings.delete_order
}
