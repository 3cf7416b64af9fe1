//! Compiles gates: the expressions that decide whether a resource is created, updated, patched, replaced,
//! disowned or deleted.

use lifecycle_language::cel::Expression;
use lifecycle_objects::write::PropagationPolicy;

use super::check::{Checker, Key, Place};
use super::patch;
use super::when::{expression, when};
use crate::task::spec::{GateSpec, LifecycleSpec, PropagationSpec, ResourceSpec};
use crate::task::{DeleteGate, Gates, Recreate};

/// Compiles the gates of the resource at `place`.
pub(super) fn compile(checker: &mut Checker<'_>, spec: &ResourceSpec, place: &Place<'_>) -> Gates {
    if spec.bundle.is_none() {
        require_discovery(checker, place);
    }
    let none = LifecycleSpec::default();
    let lifecycle = spec.lifecycle.as_ref().unwrap_or(&none);
    let at = place.key("lifecycle");
    let gate = |checker: &mut Checker<'_>, gate: &Option<GateSpec>, name: &str, key: Key| {
        when(checker, &gate.as_ref()?.when, &at.key(name), key)
    };
    let recreate_when = gate(checker, &lifecycle.recreate, "recreate", Key::New);
    Gates {
        when: spec.when.as_ref().and_then(|gate| expression(checker, gate, &place.key("when"), Key::New)),
        // `Task::find_clocks` sets it once the params are known, through which `when` may read the clock.
        reads_clock: false,
        create: gate(checker, &lifecycle.create, "create", Key::Inherited),
        apply: gate(checker, &lifecycle.apply, "apply", Key::New),
        patches: patch::compile(checker, &lifecycle.patch, &at.key("patch"), spec.owner.is_some()),
        recreate: recreate(checker, spec, recreate_when, &at),
        orphan: orphan(checker, lifecycle, &at),
        delete: lifecycle.delete.as_ref().and_then(|gate| {
            let when = when(checker, &gate.when, &at.key("delete"), Key::Inherited)?;
            Some(DeleteGate { when, propagation: propagation(gate.propagation_policy) })
        }),
    }
}

/// Requires `discovery` of a resource with a gate or a retention: both depend on the live object.
fn require_discovery(checker: &mut Checker<'_>, place: &Place<'_>) {
    let is_set = |key: &&str| {
        let node = place.document.node(&place.key(key).path);
        node.is_some_and(|node| !node.is_null())
    };
    if is_set(&"discovery") {
        return;
    }
    if let Some(key) = ["when", "retention", "lifecycle"].iter().find(|key| is_set(key)) {
        checker.error_with_help(
            &place.key(key),
            "depends on the live object, but the resource has no `discovery`",
            "add `discovery: {by_name: …}`, or `discovery: {by_selectors: {label_selector: {…}}}`",
        );
    }
}

fn recreate(
    checker: &mut Checker<'_>,
    spec: &ResourceSpec,
    when: Option<Expression>,
    place: &Place<'_>,
) -> Option<Recreate> {
    let is_gated = spec.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.recreate.is_some());
    if is_gated && spec.recreate_on_change {
        checker.error_with_help(
            &place.key("recreate"),
            "`lifecycle.recreate` and `recreate_on_change` are mutually exclusive",
            "remove `recreate_on_change`: the expression is more precise",
        );
    }
    when.map(Recreate::When).or(spec.recreate_on_change.then_some(Recreate::OnChange))
}

/// Compiles the gate that disowns, under either of its names.
fn orphan(checker: &mut Checker<'_>, lifecycle: &LifecycleSpec, place: &Place<'_>) -> Option<Expression> {
    if lifecycle.orphan.is_some() && lifecycle.detach.is_some() {
        checker.error_with_help(
            &place.key("detach"),
            "is a synonym of `orphan`, which is set, too",
            "remove one of the two",
        );
    }
    let named = [("orphan", &lifecycle.orphan), ("detach", &lifecycle.detach)];
    let gates = named.map(|(name, gate)| when(checker, &gate.as_ref()?.when, &place.key(name), Key::New));
    gates.into_iter().flatten().next()
}

fn propagation(spec: Option<PropagationSpec>) -> PropagationPolicy {
    match spec {
        None | Some(PropagationSpec::Background) => PropagationPolicy::Background,
        Some(PropagationSpec::Foreground) => PropagationPolicy::Foreground,
        Some(PropagationSpec::Orphan) => PropagationPolicy::Orphan,
    }
}
