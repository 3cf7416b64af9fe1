//! What the objects of a bundle can come to: the rows of the table of members, and the waves, for `check --explain`.
//!
//! In: a compiled entry with a bundle. Out: the reachable [`Row`]s, and the objects that no event decides by their orders.
//! Nothing fails.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_core::bundle::policy::Policies;
use lifecycle_core::bundle::table::{Found, Intent, Row, Situation, Wanted, decide};
use lifecycle_core::task::{Bundle, Resource};

/// What the objects of one bundle can come to.
#[derive(Debug)]
pub struct Members {
    /// The rows of the table of members that an event can reach.
    pub rows: BTreeSet<Row>,
    /// The objects by their apply order.
    pub waves: BTreeMap<i16, Vec<String>>,
    /// The objects that serve once, by the wave after which they are deleted.
    pub purges: BTreeMap<i16, Vec<String>>,
    /// The objects by their delete order.
    pub deletion: BTreeMap<i16, Vec<String>>,
    /// Whether an event decides about further objects.
    pub has_others: bool,
}

/// What the objects of a resource's bundle can come to; none for a resource without one.
#[must_use]
pub fn members(resource: &Resource) -> Option<Members> {
    let bundle = resource.bundle.as_ref()?;
    let by = |order: &dyn Fn(usize) -> Option<i16>| {
        let mut waves: BTreeMap<i16, Vec<String>> = BTreeMap::new();
        for (index, object) in bundle.known.iter().enumerate() {
            if let Some(order) = order(index) {
                waves.entry(order).or_default().push(object.identity.to_string());
            }
        }
        waves
    };
    Some(Members {
        rows: rows(resource, bundle),
        waves: by(&|index| Some(bundle.known[index].settings.apply_order)),
        purges: by(&|index| bundle.known[index].settings.purge_order),
        deletion: by(&|index| Some(bundle.known[index].settings.delete_order)),
        has_others: bundle.has_others,
    })
}

/// The rows that objects with these policies reach. Those of objects that only an event decides count with the bundle's
/// policies, and may serve once.
fn rows(resource: &Resource, bundle: &Bundle) -> BTreeSet<Row> {
    let known = bundle.known.iter().map(|object| (object.settings.policies, object.settings.purge_order.is_some()));
    let others = bundle.has_others.then_some((bundle.policies, true));
    let gates = &resource.gates;
    let intents = [
        Some(Intent::Apply),
        gates.delete.is_some().then_some(Intent::Delete),
        gates.orphan.is_some().then_some(Intent::Disown),
    ];
    let mut rows = BTreeSet::new();
    for (policies, serves_once) in known.chain(others) {
        for intent in intents.into_iter().flatten() {
            for situation in situations(intent, policies, serves_once) {
                rows.insert(decide(&situation).0);
            }
        }
    }
    rows
}

/// Every situation of an object with these policies that differs for the table.
fn situations(intent: Intent, policies: Policies, serves_once: bool) -> Vec<Situation<'static>> {
    let (digest, other) = ("a~a", "b~b");
    let member = |digest, is_terminating| Found::Member { digest, is_terminating, delete: policies.delete };
    let held = |owner, is_terminating| Found::Other { owner, is_terminating };
    let found = [
        Found::Nothing,
        member(Some(digest), false),
        member(Some(other), false),
        member(Some(lifecycle_core::bundle::digest::ONCE), false),
        member(None, false),
        member(Some(digest), true),
        held(None, false),
        held(Some("somebody"), false),
        held(None, true),
    ];
    let once = if serves_once { vec![(false, false), (true, false), (true, true)] } else { vec![(false, false)] };
    let wanted = once.into_iter().flat_map(|(is_completed, is_to_be_purged)| {
        let wanted = |is_due_again| Wanted { policies, digest, is_completed, is_to_be_purged, is_due_again };
        [Some(wanted(false)), Some(wanted(true))]
    });
    let wanted: Vec<_> = wanted.chain([None]).collect();
    let waits = [None, Some("others")];
    let mut all = Vec::new();
    for found in found {
        for wanted in wanted.iter().copied() {
            // What is not wanted is known only because it was found as a member, and nothing is wanted of a bundle that goes.
            let is_unknown = wanted.is_none() && matches!(found, Found::Other { .. } | Found::Nothing);
            if is_unknown || wanted.is_some() && intent != Intent::Apply {
                continue;
            }
            all.extend(waits.map(|waits_for| Situation { intent, wanted, found, waits_for }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use lifecycle_core::task::Task;
    use lifecycle_core::task::compile::{Surroundings, compile};

    use super::*;

    fn task(bundle: &str, lifecycle: &str) -> Task {
        let text = format!("resources:\n  - name: set\n    bundle:\n{bundle}    lifecycle: {{{lifecycle}}}\n");
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics))
    }

    fn numbers(task: &Task) -> String {
        let rows = task.resources.first().and_then(members).map(|members| members.rows).unwrap_or_default();
        rows.into_iter().map(Row::number).collect::<Vec<_>>().join(" ")
    }

    const MAP: &str = "      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n";

    #[test]
    fn rows_are_those_of_gates_and_policies() {
        let wanted = "A4 A5 A6 A7 A8 A11 A12 A13";
        assert_eq!(numbers(&task(MAP, "")), format!("R3 R4 R6 {wanted}"));
        let disowned = "orphan: {when: {expression: \"true\"}}";
        assert_eq!(numbers(&task(MAP, disowned)), format!("D1 D2 R3 R4 R6 {wanted}"));
        let kept = format!("      policies: {{delete: orphan, update: recreate}}\n{MAP}");
        assert_eq!(numbers(&task(&kept, "")), format!("R3 R4 R5 {}", wanted.replace("A11", "A10 A11")));
        let once = format!("      policies: {{reconcile: once, adoption: always}}\n{MAP}");
        assert_eq!(numbers(&task(&once, "")), "R3 R4 R6 A4 A5 A6 A8 A9 A11 A12 A13");
    }

    #[test]
    fn waves_are_those_of_known_objects() {
        let object = |name: &str, annotations: &str| {
            format!(
                "        - {{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, annotations: {{{annotations}}}}}}}\n"
            )
        };
        let job = object("first", "hyperfleet.io/apply-order: '-1', hyperfleet.io/purge-order: '0'");
        let bundle =
            format!("      manifests:\n{job}{}        - \"{{{{ if true }}}}{{{{ end }}}}\"\n", object("second", ""));
        let task = task(&bundle, "delete: {when: {expression: \"true\"}}");
        let Some(members) = task.resources.first().and_then(members) else { panic!("a bundle") };
        let names = |waves: &BTreeMap<i16, Vec<String>>| format!("{waves:?}");
        assert_eq!(names(&members.waves), r#"{-1: ["Job.batch default/first"], 0: ["Job.batch default/second"]}"#);
        assert_eq!(names(&members.purges), r#"{0: ["Job.batch default/first"]}"#);
        assert_eq!(names(&members.deletion), r#"{0: ["Job.batch default/first", "Job.batch default/second"]}"#);
        assert!(members.has_others && members.rows.contains(&Row::Purge) && !members.rows.contains(&Row::Disown));
    }
}
