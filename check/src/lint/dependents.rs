//! Warns of deletions that leave behind what the deleted object made, while `Finalized` says that nothing is left: the Pods of a
//! workload, by the propagation policy `Orphan`, and what a `ManifestWork` brought to its cluster, by its `deleteOption`.

use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document::Path;
use lifecycle_core::task::{Resource, Task, TransportKind};
use lifecycle_language::cel::{Expression, Possible};
use lifecycle_language::template::Part;
use lifecycle_objects::write::PropagationPolicy;

use super::deletions::in_state;
use super::linter::{Linter, resources};
use crate::api_resource::State;
use crate::gate_values::Own;
use crate::manifests::{Role, WrittenObject, is_work};

/// The kinds whose dependents are Pods, which then run without anybody who counts or stops them.
const WORKLOADS: [(&str, &str); 6] = [
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("batch", "Job"),
];

/// The values of `deleteOption.propagationPolicy`.
const OPTIONS: [&str; 3] = ["Foreground", "Orphan", "SelectivelyOrphan"];

/// The value that leaves everything on the cluster.
const ORPHAN: &str = "Orphan";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let reports = linter.task.payloads.iter().any(|payload| super::reports::writes(&payload.build, "Finalized"));
    for (path, resource) in resources(linter.task) {
        let Some(delete) = resource.gates.delete.as_ref().filter(|_| reports && resource.bundle.is_none()) else {
            continue;
        };
        let kind = (resource.kind.group.as_str(), resource.kind.kind.as_str());
        let here = matches!(resource.transport, TransportKind::Kubernetes);
        if delete.propagation == PropagationPolicy::Orphan && here && WORKLOADS.contains(&kind) {
            let message = format!(
                "the policy `Orphan` keeps the Pods of `{}` running when it is deleted, and `Finalized` says that nothing is left",
                resource.name
            );
            let help = "remove it: with `Background` or `Foreground`, the Pods are deleted, too";
            let at = path.key("lifecycle").key("delete").key("propagationPolicy");
            linter.report(severity(linter.task, resource, &delete.when), &at, message, help.to_owned());
        }
    }
    for object in linter.manifests().iter().filter(|object| object.role != Role::Nested) {
        if object.kind.as_ref().is_some_and(is_work) {
            work(linter, object, reports);
        }
    }
}

fn work(linter: &mut Linter<'_>, object: &WrittenObject<'_>, reports: bool) {
    let keys = ["spec", "deleteOption", "propagationPolicy"];
    let Part::Literal(written) = object.tree.part(&keys) else { return };
    let at = object.at(linter.document, &Path::of_keys(&keys.join(".")));
    let subject = object.subject();
    if !written.as_str().is_some_and(|policy| OPTIONS.contains(&policy)) {
        let message = format!("{subject}{written} is no propagation policy of a ManifestWork");
        linter.warn(&at, message, format!("write one of {}", OPTIONS.map(|option| format!("`{option}`")).join(", ")));
    } else if written == ORPHAN
        && reports
        && let Some(delete) = &object.resource.gates.delete
    {
        let message = format!(
            "{subject}the policy `Orphan` leaves all objects of the work on their cluster when it is deleted, and `Finalized` says that \
             nothing is left"
        );
        let help = "remove it; for objects that are to stay, name them in `selectivelyOrphans` of `SelectivelyOrphan`";
        linter.report(severity(linter.task, object.resource, &delete.when), &at, message, help.to_owned());
    }
}

/// A warning about a gate that holds in the deletion of the API resource alone. Another gate may be about something else, such as
/// a handover.
fn severity(task: &Task, resource: &Resource, gate: &Expression) -> Severity {
    let own = Own::of(task, resource);
    let can_hold = |state| in_state(&own, gate, state).is_none_or(Possible::can_hold);
    if can_hold(State::Living) || can_hold(State::LivingWithoutField) || !can_hold(State::Deleting) {
        Severity::Note
    } else {
        Severity::Warning
    }
}
