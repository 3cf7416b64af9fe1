//! Warns of a condition `Available` that can still be about the last generation: it reads a status that a controller
//! writes some time after the adapter has updated or replaced the object.

use lifecycle_config::document::Path;

use super::linter::Linter;
use crate::gate_values::Own;
use crate::gate_values::abstract_value;
use lifecycle_core::task::{Recreate, Resource, TransportKind};
use lifecycle_language::cel::{Expression, Key, Presence};

/// Checks the expression of the status of a condition `Available`.
pub(super) fn lint(linter: &mut Linter<'_>, place: &Path, expression: &Expression) {
    let task = linter.task;
    let value = abstract_value(task, expression, &|_| Presence::Unknown);
    for resource in &task.resources {
        let name = &resource.name;
        let reads_status = value.places_in(name).is_some_and(|places| places.iter().any(|place| is_status(place)));
        let Some((guard, term)) = guard(&Own::of(task, resource)).filter(|_| reads_status) else { continue };
        let source = expression.source();
        let is_guarded = [guard, "hyperfleet.io/generation"].iter().any(|text| source.contains(text))
            || expression.reads_below("adapter", "outcomes").has(name);
        if !is_guarded {
            let message = format!(
                "`Available` reads the `status` of `{name}`, which is still that of the last generation in the pass that writes `{name}`"
            );
            let decision = format!("`adapter.outcomes.?{name}.?decision.orValue('') == 'skip'`");
            linter.warn(
                place,
                message,
                format!("add `{}`; or, if that field is never written, {decision}", term.replace("NAME", name)),
            );
        }
    }
}

/// The field that tells whether the status is about the present object, and the term that compares it; none for a
/// resource whose status does not follow its specification, or whose object is never written again.
fn guard(own: &Own<'_>) -> Option<(&'static str, &'static str)> {
    let Resource { kind, gates, retention, transport, .. } = own.resource;
    // The adapter shows a status of a remote cluster only if it is about the present version of the work.
    if matches!(transport, TransportKind::Maestro { .. }) {
        return None;
    }
    let is_updated = gates.apply.as_ref().is_none_or(|apply| own.possible(apply, Presence::Present).can_hold());
    let is_replaced = retention.is_none() && matches!(gates.recreate, Some(Recreate::When(_) | Recreate::OnChange));
    let is_custom = kind.group.contains('.') && !kind.group.ends_with(".k8s.io");
    match kind.kind.as_str() {
        "Job" if kind.group == "batch" => {
            is_replaced.then_some(("deletionTimestamp", "!resources.?NAME.?metadata.?deletionTimestamp.hasValue()"))
        }
        // A work says in its conditions which generation they are about.
        "ManifestWork" if is_custom => (is_updated || is_replaced).then_some((
            "observedGeneration",
            "resources.?NAME.?status.?conditions.orValue([]).exists(c, c.type == 'Available' && c.status == 'True' && \
             c.?observedGeneration.orValue(0) >= resources.NAME.metadata.generation)",
        )),
        kind if is_custom || matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => (is_updated || is_replaced)
            .then_some((
                "observedGeneration",
                "resources.?NAME.?status.?observedGeneration.orValue(0) >= resources.?NAME.?metadata.?generation.orValue(1)",
            )),
        _ => None,
    }
}

fn is_status(place: &[Key]) -> bool {
    match place.first() {
        Some(Key::Exact(key)) => key == "status",
        Some(Key::Dotted(path)) => path.split('.').next() == Some("status"),
        None => false,
    }
}
