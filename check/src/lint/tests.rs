#![expect(clippy::panic, reason = "tests")]

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::Document;

use super::lint;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::cel::VISITED;

mod cases;
mod deletions;
mod ends;
mod lifecycle;
mod losses;
mod manifests;
mod refused;
mod secrets;
mod silent;
mod stored;
mod waiting;

const STATUS_FILE: &str = "adapter: x\nconditions:\n  - {type: Applied, status: \"True\"}\n";

fn lints(text: &str) -> Diagnostics {
    let read = |file: &str| {
        if file == "status.yaml" { Ok(STATUS_FILE.to_owned()) } else { Err(format!("no file {file}")) }
    };
    let compiled = compile("task.yaml", text, &Surroundings { read: &read, environment: &|_| None });
    let task = compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics));
    let document = Document::parse("task.yaml", text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    lint(&task, &document)
}

/// The diagnostics of every case, as `check` prints them.
fn rendered(cases: &[(&str, String)]) -> String {
    let render = |(name, text): &(&str, String)| {
        let lints = lints(text);
        assert!(!lints.is_empty(), "{name}: there is no warning\n{text}");
        format!("##### {name}\n{lints}\n")
    };
    cases.iter().map(render).collect::<Vec<_>>().join("\n")
}

#[test]
fn check_warns_of_gates_that_cannot_hold() {
    insta::assert_snapshot!(rendered(&cases::gates()));
}

#[test]
fn check_warns_of_conditions_that_cannot_hold() {
    insta::assert_snapshot!(rendered(&cases::conditions()));
}

#[test]
fn check_warns_of_tasks_that_report_nothing() {
    insta::assert_snapshot!(rendered(&cases::unreported()));
}

#[test]
fn check_warns_of_incomplete_statuses() {
    insta::assert_snapshot!(rendered(&cases::statuses()));
}

#[test]
fn check_warns_of_gates_that_demand_or_exclude_their_object() {
    insta::assert_snapshot!(rendered(&lifecycle::gates()));
}

#[test]
fn check_warns_of_orphan_and_delete_gates_that_hold_together() {
    insta::assert_snapshot!(rendered(&lifecycle::disowning()));
}

#[test]
fn check_warns_of_patches_sent_on_every_event() {
    insta::assert_snapshot!(rendered(&lifecycle::patches()));
}

#[test]
fn check_warns_of_fixed_names_and_shared_selectors() {
    insta::assert_snapshot!(rendered(&lifecycle::versions()));
}

#[test]
fn check_warns_of_owners_that_can_be_deleted() {
    insta::assert_snapshot!(rendered(&lifecycle::owners()));
}

#[test]
fn check_warns_of_deletions_that_wait_for_a_nested_object() {
    insta::assert_snapshot!(rendered(&lifecycle::nested()));
}

#[test]
fn check_warns_of_objects_that_two_selectors_find() {
    insta::assert_snapshot!(rendered(&lifecycle::selectors()));
}

#[test]
fn check_warns_of_objects_that_discovery_does_not_find() {
    insta::assert_snapshot!(rendered(&lifecycle::discovery()));
}

#[test]
fn check_warns_of_kinds_that_kubernetes_does_not_have() {
    insta::assert_snapshot!(rendered(&silent::kinds()));
}

#[test]
fn check_warns_of_names_that_kubernetes_rejects() {
    insta::assert_snapshot!(rendered(&refused::names()));
}

#[test]
fn check_reports_conditions_that_the_api_rejects() {
    insta::assert_snapshot!(rendered(&refused::conditions()));
}

#[test]
fn check_warns_of_conditions_without_a_test() {
    insta::assert_snapshot!(rendered(&waiting::literals()));
}

#[test]
fn check_warns_of_deletions_that_wait_for_a_lasting_object() {
    insta::assert_snapshot!(rendered(&waiting::waiting_deletions()));
}

#[test]
fn check_warns_of_disownings_that_wait_for_an_owners_deletion() {
    insta::assert_snapshot!(rendered(&waiting::waiting_disownings()));
}

#[test]
fn check_warns_of_discoveries_that_read_an_absent_object() {
    insta::assert_snapshot!(rendered(&waiting::discoveries()));
}

#[test]
fn check_warns_of_reports_with_a_constant_identity() {
    insta::assert_snapshot!(rendered(&silent::constants()));
}

#[test]
fn check_warns_of_finalized_that_does_not_follow_the_objects() {
    insta::assert_snapshot!(rendered(&silent::finalization()));
}

#[test]
fn check_warns_of_reports_that_never_tell_of_a_failure() {
    insta::assert_snapshot!(rendered(&silent::senders()));
}

#[test]
fn check_warns_of_namespaces_that_wait_for_what_is_inside() {
    insta::assert_snapshot!(rendered(&silent::namespaces()));
}

#[test]
fn check_warns_of_reads_of_what_may_be_absent() {
    insta::assert_snapshot!(rendered(&silent::unguarded()));
}

#[test]
fn cost_of_lints_grows_linearly_with_the_task() {
    let cost = |entries: usize| {
        let text = lifecycle::many(entries);
        let before = VISITED.with(std::cell::Cell::get);
        let lints = lints(&text);
        assert!(lints.is_empty(), "{lints}");
        VISITED.with(std::cell::Cell::get) - before
    };
    let (few, many) = (cost(20), cost(80));
    assert!(many <= 5 * few, "four times the entries cost {many} nodes instead of {few}");
}

#[test]
fn sound_tasks_get_no_warning() {
    let sound = cases::in_order()
        .into_iter()
        .chain(lifecycle::in_order())
        .chain(refused::in_order())
        .chain(waiting::in_order())
        .chain(silent::in_order());
    let warned = sound.filter_map(|(name, text)| {
        let lints = lints(&text);
        // The cases are about single gates, and leave other objects without one.
        let is_sound = lints.all().iter().all(|lint| lint.message.starts_with("outlives the API resource"));
        (!is_sound).then(|| format!("##### {name}\n{text}\n{lints}"))
    });
    let warned: Vec<String> = warned.collect();
    assert!(warned.is_empty(), "{}", warned.join("\n"));
}

#[test]
fn check_warns_of_objects_that_outlive_the_api_resource() {
    let entry = |name: &str, more: &str| {
        format!(
            "  - name: {name}\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: place}}}}\n    \
             discovery: {{namespace: place, by_name: {name}}}\n{more}"
        )
    };
    let space = "  - name: space\n    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: place}}\n    discovery: {by_name: place}\n";
    let gate = "    lifecycle: {delete: {when: {expression: \"event.x\"}}}\n";
    let orphan = "    lifecycle: {orphan: {when: {expression: \"event.x\"}}}\n";
    let warns =
        |resources: &str| lints(&format!("resources:\n{resources}")).to_string().contains("outlives the API resource");
    let gone = entry("gone", gate);
    assert!(warns(&format!("{gone}{}", entry("kept", ""))));
    assert!(!warns(&format!("{}{}", entry("a", ""), entry("kept", ""))), "the task deletes nothing");
    assert!(!warns(&format!("{gone}{}", entry("kept", orphan))), "it is to stay");
    assert!(!warns(&format!("{gone}{}", entry("kept", "    owner: {resource: gone}\n"))), "it goes with its owner");
    assert!(!warns(&format!("{space}{gate}{}", entry("kept", ""))), "it goes with its namespace");
    let patched = "    lifecycle: {apply: {when: {expression: \"false\"}}, patch: [{when: {expression: event.x}, document: {a: 1}}]}\n";
    assert!(!warns(&format!("{gone}{}", entry("others", patched))), "the adapter does not create it");
}

#[test]
fn payload_that_reads_objects_beside_a_precondition_gets_a_note() {
    let with = |before: &str| lints(&cases::with_preconditions(before));
    let noted = with("preconditions:\n  - {name: ready, expression: \"event.ready\"}\n");
    assert_eq!((noted.count(Severity::Warning), noted.count(Severity::Note)), (0, 1), "{noted}");
    let text = noted.to_string();
    assert!(text.contains("preconditions[0]") && text.contains("add `discover: always`"), "{text}");
    for quiet in [
        "discover: always\npreconditions:\n  - {name: ready, expression: \"event.ready\"}\n",
        "preconditions:\n  - {name: cluster, api_call: {method: GET, url: /clusters/x}}\n",
        "",
    ] {
        assert_eq!(with(quiet).count(Severity::Note), 0, "{quiet}");
    }
}

#[test]
fn note_says_that_an_unmet_lifecycle_task_is_not_finalized() {
    let before = "preconditions:\n  - {name: ready, expression: \"event.ready\"}\n";
    let says_so = |text: &str| lints(text).to_string().contains("no `Finalized` is True then");
    assert!(!says_so(&cases::with_preconditions(before)));
    let gated = cases::with_gate("delete", "event.gone");
    assert!(says_so(&format!("{before}{gated}")));
}

#[test]
fn check_warns_of_deletions_that_a_missing_object_breaks() {
    insta::assert_snapshot!(rendered(&waiting::deletion_orders()));
    for sound in waiting::sound_deletion_orders() {
        assert!(lints(&sound).is_empty(), "{sound}\n{}", lints(&sound));
    }
}

#[test]
fn check_warns_of_an_available_condition_of_the_last_generation() {
    insta::assert_snapshot!(rendered(&cases::last_generations()));
    for sound in cases::present_generations() {
        assert!(lints(&sound).is_empty(), "{sound}\n{}", lints(&sound));
    }
}

#[test]
fn check_says_which_entries_may_adopt() {
    let adopts = |more: &str| ("an entry that adopts", cases::with_resources(cases::resource("job", more)));
    let never = "    adopt: true\n    lifecycle:\n      apply: {when: {expression: \"false\"}}\n      patch: [{when: {expression: resources.job.spec.suspend}, document: {spec: {suspend: false}}}]\n";
    insta::assert_snapshot!(rendered(&[adopts("    adopt: true\n"), ("an entry that cannot adopt", adopts(never).1)]));
}

#[test]
fn object_that_stays_in_a_namespace_that_goes_is_named() {
    let bundle = |namespaces: &str, lifecycle: &str| {
        format!(
            "resources:\n  - name: set\n    bundle:\n      manifests:\n        \
             - {{apiVersion: v1, kind: Namespace, metadata: {{name: n, annotations: {{{namespaces}}}}}}}\n        \
             - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: n, annotations: {{hyperfleet.io/delete-policy: orphan}}}}}}\n    \
             lifecycle: {{{lifecycle}}}\n"
        )
    };
    let told = |text: &str| lints(text).to_string().contains("`ConfigMap n/a` stays when the bundle is deleted");
    let gate = "delete: {when: {expression: \"true\"}}";
    assert!(told(&bundle("", gate)));
    assert!(!told(&bundle("", "")), "nothing is deleted");
    assert!(!told(&bundle("hyperfleet.io/delete-policy: orphan-on-delete", gate)), "both stay");
}

#[test]
fn instance_that_stays_although_its_type_goes_is_named() {
    let bundle = |of_type: &str, of_instance: &str| {
        format!(
            "resources:\n  - name: set\n    bundle:\n      manifests:\n        \
             - {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
                metadata: {{name: foos.example.io, annotations: {{hyperfleet.io/delete-policy: {of_type}}}}}, \
                spec: {{group: example.io, names: {{kind: Foo, plural: foos}}}}}}\n        \
             - {{apiVersion: example.io/v1, kind: Foo, metadata: {{name: a, namespace: n, annotations: {{hyperfleet.io/delete-policy: {of_instance}}}}}}}\n    \
             lifecycle: {{delete: {{when: {{expression: \"true\"}}}}}}\n"
        )
    };
    let told = |text: &str| {
        lints(text).to_string().contains("`Foo.example.io n/a` is to stay when the bundle is deleted, but would")
    };
    assert!(told(&bundle("delete", "orphan")));
    assert!(told(&bundle("orphan-on-apply", "orphan-on-delete")));
    assert!(!told(&bundle("orphan", "orphan")) && !told(&bundle("delete", "delete")));
}

#[test]
fn namespace_of_a_kind_without_namespaces_is_named() {
    let told = |kind: &str, group: &str, metadata: &str| {
        let object = format!("{{apiVersion: {group}, kind: {kind}, metadata: {{name: a{metadata}}}}}");
        let task = format!("resources:\n  - name: set\n    bundle: {{manifests: [{object}]}}\n");
        lints(&task)
            .to_string()
            .contains("is in no namespace, and its manifest writes `team`, which the API server drops")
    };
    assert!(told("ClusterRole", "rbac.authorization.k8s.io/v1", ", namespace: team"));
    assert!(!told("ClusterRole", "rbac.authorization.k8s.io/v1", ""));
    assert!(!told("Role", "rbac.authorization.k8s.io/v1", ", namespace: team"));
    assert!(!told("Widget", "example.io/v1", ", namespace: team"), "nobody knows that kind");
}

#[test]
fn type_that_stays_without_its_operator_is_named() {
    let bundle = |policy: &str, keys: &str| {
        format!(
            "resources:\n  - name: set\n    bundle:\n{keys}      manifests:\n        \
             - {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: operator}}}}\n        \
             - {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
                metadata: {{name: foos.example.io, annotations: {{hyperfleet.io/delete-policy: {policy}}}}}, \
                spec: {{group: example.io, names: {{kind: Foo, plural: foos}}}}}}\n    \
             lifecycle: {{delete: {{when: {{expression: \"true\"}}}}}}\n"
        )
    };
    let told = |text: &str| lints(text).to_string().contains("write `example.io/Foo` into `managed_types`");
    assert!(told(&bundle("orphan", "")));
    assert!(!told(&bundle("delete", "")), "the guard looks at it");
    assert!(!told(&bundle("orphan", "      managed_types: [\"*.io/*\"]\n")), "the guard looks at it by its pattern");
}

#[test]
fn ready_rule_that_is_about_no_object_is_named() {
    let bundle = |rule: &str, more: &str| {
        format!(
            "params: [{{name: x, source: event.x}}]\nresources:\n  - name: set\n    bundle:\n      ready: [{{{rule}, expression: object.spec.a}}]\n      \
             manifests:\n        - {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}}}\n{more}"
        )
    };
    let cases = [
        ("kind: Deployment.apps", "", None),
        ("kind: Deployment.apps, name: web", "", None),
        ("kind: Deployment.apps, name: wbe", "", Some("no Deployment.apps of the bundle has the name `wbe`")),
        ("kind: Deployment", "", Some("the bundle has no Deployment")),
        ("kind: Deployment", "        - \"{{ if .x }}kind: A{{ end }}\"\n", None),
        (
            "kind: Deployment.apps, name: other",
            "        - {apiVersion: apps/v1, kind: Deployment, metadata: {name: \"{{ .x }}\"}}\n",
            None,
        ),
    ];
    for (rule, more, expected) in cases {
        let found = lints(&bundle(rule, more)).to_string();
        let is_told = found.contains("or remove the rule");
        assert_eq!(is_told, expected.is_some(), "{rule} {more}: {found}");
        assert!(found.contains(expected.unwrap_or_default()), "{rule} {more}: {found}");
    }
}

#[test]
fn kinds_of_members_are_those_of_kubernetes_or_known_with_an_event() {
    let bundle = |manifests: &str| {
        format!(
            "params: [{{name: x, source: event.x}}]\nresources:\n  - name: set\n    bundle:\n      manifests:\n{manifests}"
        )
    };
    let cases = [
        ("        - {apiVersion: apps/v1, kind: Deploymnet, metadata: {name: a}}\n", Some("write `kind: Deployment`")),
        (
            "        - \"{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: a}}\"\n",
            Some("write `kind: Deployment`"),
        ),
        (
            "        - |\n          apiVersion: v1\n          kind: Pod\n          metadata: {name: '{{ .x }}'}\n          apiVersion: v1\n          kind: Pod\n          metadata: {name: b}\n",
            Some("has two objects in one document"),
        ),
        (
            "        - |\n          apiVersion: v1\n          kind: Pod\n          metadata: {name: a}\n          spec: {priority: {{ .x }}}\n",
            Some("is no YAML before its templates are rendered"),
        ),
        ("        - \"{apiVersion: v1, kind: Pod, metadata: {name: '{{ .x }}'}}\"\n", None),
    ];
    for (manifests, expected) in cases {
        let found = lints(&bundle(manifests)).to_string();
        let is_told =
            found.contains("Kubernetes has no kind") || found.contains("is no YAML") || found.contains("two objects");
        assert_eq!(is_told, expected.is_some(), "{manifests}: {found}");
        assert!(found.contains(expected.unwrap_or_default()), "{manifests}: {found}");
    }
}

#[test]
fn what_controllers_remove_or_fill_in_is_named() {
    let entry = |manifest: &str, more: &str| {
        let lints =
            lints(&format!("resources:\n  - name: a\n    manifest: {manifest}\n    discovery: {{by_name: a}}\n{more}"));
        lints.to_string()
    };
    let job =
        |spec: &str| format!("{{apiVersion: batch/v1, kind: Job, metadata: {{name: a, namespace: b}}, spec: {spec}}}");
    let again = "the next event creates it again: the entry has no memory";
    let timed = job("{ttlSecondsAfterFinished: 300}");
    assert!(entry(&timed, "").contains(again), "{}", entry(&timed, ""));
    assert!(!entry(&job("{}"), "").contains(again));
    let gated = "    lifecycle: {create: {when: {expression: \"false\"}}}\n";
    assert!(!entry(&timed, gated).contains(again));
    let role = |more: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: a}}, rules: []{more}}}"
        )
    };
    let filled = "belong to the controller that aggregates them";
    assert!(entry(&role(", aggregationRule: {}"), "").contains(filled));
    assert!(!entry(&role(""), "").contains(filled));
}
