//! What the objects of a bundle can come to: the rows of the table of members, and the waves, for `check --explain`.
//!
//! In: a compiled entry with a bundle. Out: the reachable [`Row`]s, and the steps of the objects that no event decides.
//! Nothing fails.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::order::managed::ManagedTypes;
use lifecycle_bundle::order::webhooks::Services;
use lifecycle_bundle::order::{Place, Wave, waves};
use lifecycle_bundle::policy::Policies;
use lifecycle_bundle::siblings::Claim;
use lifecycle_bundle::table::{Found, Intent, Row, Situation, Wanted, decide};
use lifecycle_core::task::{Bundle, KnownObject, Resource, Task, TransportKind};

/// What the objects of one bundle can come to.
#[derive(Debug)]
pub struct Members {
    /// The rows of the table of members that an event can reach.
    pub rows: BTreeSet<Row>,
    /// The steps in which the objects are applied, and those that serve once are purged.
    pub application: Vec<Step>,
    /// The steps in which the objects are deleted with the bundle.
    pub deletion: Vec<Step>,
    /// The objects that stay when the bundle is deleted.
    pub kept: Vec<String>,
    /// Whether an event decides about further objects.
    pub has_others: bool,
}

/// Objects that come before those of the next step.
#[derive(Debug)]
pub struct Step {
    /// The name of the step, as reports write it, such as `wave 0`.
    pub name: String,
    /// The objects, in the order in which their requests are sent.
    pub objects: Vec<String>,
}

/// What the objects of the bundle of the resource at `index` can come to; none for a resource without one.
#[must_use]
pub fn members(task: &Task, index: usize) -> Option<Members> {
    let bundle = task.resources[index].bundle.as_ref()?;
    let managed: ManagedTypes = bundle.types().cloned().collect();
    let (kept, going): (Vec<&KnownObject>, Vec<_>) =
        bundle.known.iter().partition(|object| object.settings.policies.delete.keeps(Intent::Delete));
    Some(Members {
        rows: rows(task, index, bundle),
        application: application(&bundle.known, &managed),
        deletion: deletion(going, &managed),
        kept: names(kept),
        has_others: bundle.has_others,
    })
}

/// The steps of an application, as a pass takes them.
fn application(objects: &[KnownObject], managed: &ManagedTypes) -> Vec<Step> {
    let services: Services = objects.iter().map(|object| (&object.identity, object.settings.apply_order)).collect();
    let waves = waves(objects, |object| {
        let order = object.settings.apply_order;
        let is_served = services.serve(order, &object.calls);
        Place::to_apply(&object.identity.kind, order, managed).after_its_server(is_served)
    });
    let last = waves.last().map(|wave| wave.order);
    let mut unpurged: Vec<_> = objects.iter().filter(|object| object.settings.purge_order.is_some()).collect();
    let mut steps = Vec::new();
    for Wave { order, objects } in waves {
        steps.extend(
            by_stage(objects).map(|(stage, objects)| Step { name: stage.of_wave(order), objects: names(objects) }),
        );
        let is_over = |object: &&KnownObject| {
            let settings = &object.settings;
            settings.apply_order <= order && settings.purge_order.is_some_and(|purge| purge <= order)
        };
        let (served, others) = unpurged.into_iter().partition(|object| last == Some(order) || is_over(object));
        unpurged = others;
        steps.push(Step { name: format!("purge after wave {order}"), objects: names(served) });
    }
    steps.retain(|step| !step.objects.is_empty());
    steps
}

/// The steps of the deletion of these objects, as a pass takes them.
fn deletion(objects: Vec<&KnownObject>, managed: &ManagedTypes) -> Vec<Step> {
    let services: Services = objects.iter().map(|object| (&object.identity, object.settings.delete_order)).collect();
    let (namespaces, others): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| object.identity.kind.is_namespace());
    let steps = [(others, false), (namespaces, true)].into_iter().flat_map(|(objects, are_namespaces)| {
        let waves = waves(objects, |object| {
            let order = object.settings.delete_order;
            let is_served = services.serve(order, &object.calls);
            Place::to_delete(&object.identity.kind, order, managed).before_its_server(is_served)
        });
        waves.into_iter().flat_map(move |Wave { order, objects }| {
            by_stage(objects).map(move |(stage, objects)| Step {
                name: stage.of_wave(order, are_namespaces),
                objects: names(objects),
            })
        })
    });
    steps.collect()
}

fn by_stage<S: Ord>(objects: Vec<(S, i8, &KnownObject)>) -> impl Iterator<Item = (S, Vec<&KnownObject>)> {
    let mut stages: BTreeMap<S, Vec<&KnownObject>> = BTreeMap::new();
    for (stage, _, object) in objects {
        stages.entry(stage).or_default().push(object);
    }
    stages.into_iter()
}

fn names(objects: Vec<&KnownObject>) -> Vec<String> {
    objects.into_iter().map(|object| object.identity.to_string()).collect()
}

/// The rows that objects with these policies reach. Those of objects that only an event decides count with the bundle's
/// policies, and may serve once.
fn rows(task: &Task, index: usize, bundle: &Bundle) -> BTreeSet<Row> {
    let known = bundle.known.iter().map(|object| (object.settings.policies, object.settings.purge_order.is_some()));
    let others = bundle.has_others.then_some((bundle.policies, true));
    let intents = [
        Some(Intent::Apply),
        task.resources[index].gates.delete.is_some().then_some(Intent::Delete),
        // A person may disown the parent, whatever the gates are.
        Some(Intent::Disown),
    ];
    let intents: Vec<_> = intents.into_iter().flatten().map(|intent| (intent, claims(task, index, intent))).collect();
    let mut rows = BTreeSet::new();
    for (policies, serves_once) in known.chain(others) {
        for (intent, claims) in &intents {
            for situation in situations(*intent, policies, serves_once, claims) {
                rows.insert(decide(&situation).0);
            }
        }
    }
    rows
}

/// What the planner can hear of the other entries about an object that the bundle has no use for. A bundle that is deleted asks only
/// other bundles, and does not wait for one of which nothing is known.
fn claims(task: &Task, index: usize, intent: Intent) -> Vec<Claim> {
    let (by, unknown) = (Claim::By(String::new()), Claim::Unknown(String::new()));
    let mut others = task.resources.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
    let is_here = |other: &Resource| matches!(other.transport, TransportKind::Kubernetes);
    match intent {
        Intent::Apply if others.any(|other| other.bundle.is_some() || is_here(other) && !other.only_reads()) => {
            vec![by, unknown]
        }
        Intent::Delete if others.any(|other| other.bundle.is_some()) => vec![by],
        Intent::Apply | Intent::Delete | Intent::Disown => Vec::new(),
    }
}

/// Every situation of an object with these policies that differs for the table.
fn situations(intent: Intent, policies: Policies, serves_once: bool, claims: &[Claim]) -> Vec<Situation<'_>> {
    let (digest, other) = ("a~a", "b~b");
    let member = |digest, is_terminating| Found::Member { digest, is_terminating, delete: policies.delete };
    let held = |owner, is_terminating| Found::Other { owner, is_terminating };
    let found = [
        Found::Nothing,
        member(Some(digest), false),
        member(Some(other), false),
        member(Some(lifecycle_bundle::digest::ONCE), false),
        member(None, false),
        member(Some(digest), true),
        held(None, false),
        held(Some("somebody"), false),
        held(None, true),
    ];
    let once = if serves_once { vec![(false, false), (true, false), (true, true)] } else { vec![(false, false)] };
    let wanted = once.into_iter().flat_map(|(is_completed, is_to_be_purged)| {
        let wanted = |is_due_again, goes_otherwise| Wanted {
            policies,
            digest,
            is_completed,
            is_to_be_purged,
            is_due_again,
            goes_otherwise,
        };
        [(false, false), (true, false), (false, true)].map(|(due, otherwise)| Some(wanted(due, otherwise)))
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
            // The other entries are asked only about what is not wanted.
            let claims = claims.iter().map(Some).filter(|_| wanted.is_none()).chain([None]);
            all.extend(
                claims.flat_map(|claim| waits.map(|waits_for| Situation { intent, wanted, found, waits_for, claim })),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use lifecycle_core::task::compile::{Surroundings, compile};

    use super::*;

    fn task(bundle: &str, lifecycle: &str) -> Task {
        beside("", bundle, lifecycle)
    }

    /// A task with a bundle behind other entries.
    fn beside(others: &str, bundle: &str, lifecycle: &str) -> Task {
        let text = format!("resources:\n{others}  - name: set\n    bundle:\n{bundle}    lifecycle: {{{lifecycle}}}\n");
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics))
    }

    fn last(task: &Task) -> Option<Members> {
        members(task, task.resources.len() - 1)
    }

    fn numbers(task: &Task) -> String {
        let rows = last(task).map(|members| members.rows).unwrap_or_default();
        rows.into_iter().map(Row::number).collect::<Vec<_>>().join(" ")
    }

    const MAP: &str = "      manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n";

    #[test]
    fn rows_are_those_of_gates_and_policies() {
        let wanted = "A4 A5 A6 A7 A8 A11 A12 A13";
        assert_eq!(numbers(&task(MAP, "")), format!("D1 D2 R3 R4 R6 {wanted}"));
        let kept = format!("      policies: {{delete: orphan, update: recreate}}\n{MAP}");
        assert_eq!(numbers(&task(&kept, "")), format!("D1 D2 R3 R4 R5 {}", wanted.replace("A11", "A10 A11")));
        let once = format!("      policies: {{reconcile: once, adoption: always}}\n{MAP}");
        assert_eq!(numbers(&task(&once, "")), "D1 D2 R3 R4 R6 A4 A5 A6 A8 A9 A11 A12 A13");
    }

    const DELETE: &str = "delete: {when: {expression: \"true\"}}";

    #[test]
    fn object_is_handed_over_where_another_entry_may_want_it() {
        let entry = |more: &str| {
            format!(
                "  - name: other\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: b, namespace: m}}}}\n    discovery: {{by_name: b, namespace: m}}\n{more}"
            )
        };
        let bundle = format!("  - name: other\n    bundle:\n{}", MAP.replace("name: a", "name: b"));
        let reads = entry("    lifecycle: {apply: {when: {expression: \"false\"}}}\n");
        let remote = "  - name: other\n    transport: {client: maestro, maestro: {target_cluster: c}}\n    manifest: {apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: w}, spec: {}}\n    discovery: {by_name: w}\n";
        let cases = [
            ("no other entry", String::new(), ""),
            ("an entry", entry(""), "R3a R3b"),
            ("a bundle", bundle, "R3a R3b"),
            ("an entry that only reads", reads, ""),
            ("an entry for another cluster", remote.to_owned(), ""),
        ];
        for (name, others, expected) in cases {
            let rows = numbers(&beside(&others, MAP, ""));
            let handed: Vec<_> = rows.split(' ').filter(|row| row.starts_with("R3") && row.len() == 3).collect();
            assert_eq!(handed.join(" "), expected, "{name}: {rows}");
        }
        let claims_of = |others: &str, intent| claims(&beside(others, MAP, DELETE), 1, intent).len();
        assert_eq!(claims_of(&entry(""), Intent::Delete), 0, "a bundle that goes waits for bundles alone");
    }

    #[test]
    fn documented_rows_are_those_that_some_bundle_reaches() {
        let page =
            include_str!("../../docs/bundles.md").lines().skip_while(|line| !line.starts_with("| row |")).skip(2);
        let table =
            page.take_while(|line| line.starts_with('|')).filter_map(|line| line.trim_matches('|').split('|').next());
        // What is neither wanted nor a member is not looked for.
        let documented: BTreeSet<&str> = table.map(str::trim).filter(|row| !["R1", "R2"].contains(row)).collect();
        let other = format!("  - name: other\n    bundle:\n{}", MAP.replace("name: a", "name: b"));
        let text = "      manifests: [\"{{ if true }}{{ end }}\"]\n";
        let policies = ["delete: orphan", "update: recreate", "reconcile: once, adoption: always"];
        let bundles = policies.map(|policies| format!("      policies: {{{policies}}}\n{text}"));
        let reached = bundles.iter().filter_map(|bundle| last(&beside(&other, bundle, DELETE)));
        let reached: BTreeSet<&str> = reached.flat_map(|members| members.rows).map(Row::number).collect();
        assert_eq!(reached, documented);
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
        let Some(members) = last(&task) else { panic!("a bundle") };
        let told = |steps: &[Step]| {
            let told = steps.iter().map(|step| format!("{}: {}", step.name, step.objects.join(", ")));
            told.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            told(&members.application),
            "wave -1: Job.batch default/first; wave 0: Job.batch default/second; purge after wave 0: Job.batch default/first"
        );
        assert_eq!(told(&members.deletion), "deletion wave 0: Job.batch default/first, Job.batch default/second");
        assert!(members.has_others && members.rows.contains(&Row::Purge) && !members.rows.contains(&Row::Kept));
    }
}
