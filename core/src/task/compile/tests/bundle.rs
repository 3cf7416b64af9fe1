//! Tests of the key `bundle`: what it compiles to, its defaults, and its mistakes.

use jiff::{SignedDuration, Timestamp};
use lifecycle_bundle::policy::{Adoption, Delete, Policies, Reconcile, Update};
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::GroupVersionKind;
use serde_json::json;

use super::{Surroundings, compile, compiled_task, rendered};
use crate::task::{Bundle, DiscoverBy, Manifest, Resource, Task, TransportKind};

/// A task whose entry `set` has these lines below it.
fn entry(lines: &str) -> String {
    format!("params: [{{name: id, source: event.id}}]\nresources:\n  - name: set\n{lines}")
}

/// A task whose bundle has one object, and these keys.
fn with(keys: &str) -> String {
    entry(&format!("    bundle:\n      manifests: [{{apiVersion: v1, kind: Secret, metadata: {{name: x}}}}]\n{keys}"))
}

/// A task whose bundle has this text as its only manifest.
fn of_manifest(manifest: &str) -> String {
    entry(&format!("    bundle:\n      manifests:\n        - {manifest}\n"))
}

/// A task with a bundle, and these keys beside `bundle`.
fn beside(lines: &str) -> String {
    with("") + lines
}

fn bundle(task: &Task) -> (&Resource, &Bundle) {
    let resource = &task.resources[0];
    (resource, resource.bundle.as_ref().unwrap())
}

#[test]
fn mistakes_in_bundles_are_reported() {
    let cases: Vec<(&str, String)> = vec![
        ("no value", entry("    bundle:\n")),
        ("no manifests", entry("    bundle: {}\n")),
        ("an empty list of manifests", entry("    bundle: {manifests: []}\n")),
        ("an unknown key", with("      prefix: x\n")),
        ("an empty manifest", of_manifest("\"\"")),
        ("a manifest that is null", of_manifest("~")),
        ("a manifest that is a number", of_manifest("7")),
        ("a file that does not exist", of_manifest("{ref: nowhere.yaml}")),
        ("a reference to no file", of_manifest("{ref: \"\"}")),
        ("a mapping without a kind", of_manifest("{metadata: {name: x}}")),
        ("a kind that is a template", of_manifest("{apiVersion: v1, kind: \"{{ .id }}\", metadata: {name: x}}")),
        (
            "every mistake of a mapping",
            of_manifest(
                "{apiVersion: v1, kind: Pod, metadata: {generateName: x, labels: {hyperfleet.io/disowned: a}}}",
            ),
        ),
        (
            "an item of a list",
            of_manifest(
                "{apiVersion: v1, kind: List, items: [~, {kind: Pod}, {apiVersion: v1, kind: List, items: 7}]}",
            ),
        ),
        (
            "mistakes in text",
            of_manifest(
                "|\n          kind: Pod\n          ---\n          - a\n          ---\n          {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {generateName: x}}]}",
            ),
        ),
        (
            "an object of a text that is there twice",
            of_manifest(
                "|\n          # first\n          {apiVersion: v1, kind: Pod, metadata: {name: a}}\n          ---\n          {apiVersion: v1, kind: Pod, metadata: {name: a}}",
            ),
        ),
        (
            "an annotation of a text with templates",
            of_manifest(
                "|\n          {apiVersion: v1, kind: Pod, metadata: {name: \"{{ .id }}\"}}\n          ---\n          apiVersion: v1\n          kind: Pod\n          metadata: {name: b, annotations: {hyperfleet.io/delete-policy: orphns}}",
            ),
        ),
        (
            "an annotation in the second manifest",
            of_manifest(
                "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n        - {apiVersion: v1, kind: Pod, metadata: {name: b, annotations: {hyperfleet.io/delete-polcy: orphan}}}",
            ),
        ),
        ("text that is no YAML", of_manifest("|\n          stringData: {password: hunter2: [}")),
        (
            "variables that nobody has",
            of_manifest(
                "|\n          name: {{ .idd }}\n        - {apiVersion: v1, kind: Pod, metadata: {name: \"{{ lower .ide }}\"}}",
            ),
        ),
        ("a template that does not parse", of_manifest("|\n          name: {{ if }}")),
        (
            "an action that spans strings",
            of_manifest("{apiVersion: v1, kind: Pod, a: \"{{ if .id }}x\", b: \"{{ end }}\"}"),
        ),
        (
            "policies that do not exist",
            with(
                "      policies: {adoption: sometimes, reconcile: \"\", update: patch, delete: recreate, reapply: -1m, missing_namespaces: delete}\n",
            ),
        ),
        ("a time without a unit", with("      policies: {reapply: 60}\n")),
        ("types that do not exist", with("      managed_types: [Prometheus, /Pod, a*/b, a.io/b*]\n")),
        ("a prefix with a slash", with("      annotation_prefix: hyperfleet.io/\n")),
        ("an empty prefix", with("      annotation_prefix: \"\"\n")),
        ("templates of the parent", with("      name: \"{{ .idd }}\"\n      namespace: \"{{ if }}\"\n")),
        (
            "keys of one object",
            beside(
                "    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    nested_discoveries: []\n    adopt: false\n    recreate_on_change: true\n    owner: {resource: set}\n    retention: {historyLimit: 1}\n",
            ),
        ),
        (
            "gates of one object",
            beside(
                "    lifecycle:\n      recreate: {when: {expression: \"true\"}}\n      patch: [{when: {expression: \"true\"}, document: {a: 1}}]\n      delete: {when: {expression: \"true\"}, propagationPolicy: Orphan}\n",
            ),
        ),
        ("maestro", beside("    transport: {client: maestro, maestro: {target_cluster: x}}\n")),
        ("neither a bundle nor a manifest", entry("    when: {expression: \"true\"}\n")),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(rendered(&cases));
}

#[test]
fn bundle_compiles_every_key() {
    let task = compiled_task(
        &(with(
            "      policies: {adoption: always, reconcile: once, update: ssa-override, delete: OrphanOnApply, reapply: 1h30m, missing_namespaces: ignore}\n      \
             managed_types: [\"*.monitoring.coreos.com/*\"]\n      annotation_prefix: example.io\n      namespace: \"ns-{{ .id }}\"\n      name: \"set-{{ .id }}\"\n",
        ) + "    transport: {client: kubernetes}\n    when: {expression: \"true\"}\n    \
             lifecycle:\n      create: {when: {expression: \"true\"}}\n      apply: {when: {expression: \"true\"}}\n      \
             orphan: {when: {expression: \"false\"}}\n      delete: {when: {expression: \"false\"}}\n"),
    );
    let (resource, bundle) = bundle(&task);
    assert_eq!(
        bundle.policies,
        Policies {
            adoption: Adoption::Always,
            reconcile: Reconcile::Once,
            update: Update::ApplyOverride,
            delete: Delete::OrphanOnApply,
            reapply: SignedDuration::from_mins(90),
        }
    );
    assert!(!bundle.creates_namespaces);
    let types: Vec<_> = bundle.managed_types.iter().map(ToString::to_string).collect();
    assert_eq!(types, ["*.monitoring.coreos.com/*"]);
    assert_eq!((bundle.prefix.as_str(), bundle.namespace.source()), ("example.io", "ns-{{ .id }}"));
    let gates = ["when", "create", "apply", "orphan", "delete"];
    assert!(gates.iter().all(|gate| resource.gates.expression(gate).is_some()));

    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("id", json!("c-1"));
    let Manifest::Inline(parent) = &resource.manifest else { panic!("inline") };
    let metadata = json!({ "name": "set-c-1", "namespace": "ns-c-1" });
    assert_eq!(
        parent.render(&scope).unwrap(),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
    );
    assert_eq!(resource.kind, GroupVersionKind::new("v1", "ConfigMap"));
    assert!(matches!(resource.transport, TransportKind::Kubernetes));
    let DiscoverBy::Name(name) = &resource.discovery.by else { panic!("by name") };
    let namespace = resource.discovery.namespace.as_ref().unwrap();
    assert_eq!((name.source(), namespace.source()), ("set-{{ .id }}", "ns-{{ .id }}"));
}

#[test]
fn bundle_has_defaults_for_every_key_but_manifests() {
    let task = compiled_task(&with("").replace("name: set", "name: mySet_of_2"));
    let (resource, bundle) = bundle(&task);
    assert_eq!(bundle.policies, Policies::default());
    assert!(bundle.creates_namespaces && bundle.managed_types.is_empty());
    assert_eq!((bundle.prefix.as_str(), bundle.namespace.as_literal()), ("hyperfleet.io", Some("default")));
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("adapter", json!({ "name": "installer" }));
    scope.set("event", json!({ "id": "c-1" }));
    let DiscoverBy::Name(name) = &resource.discovery.by else { panic!("by name") };
    assert_eq!(name.render(&scope).unwrap(), "installer-myset-of-2-c-1");

    let empty =
        compiled_task(&with("      policies: ~\n      namespace: \"\"\n      name: \"\"\n      managed_types: ~\n"));
    let (_, bundle) = self::bundle(&empty);
    assert_eq!((bundle.policies, bundle.namespace.as_literal()), (Policies::default(), Some("default")));
}

#[test]
fn manifest_of_a_bundle_takes_every_form() {
    let manifests = [
        "{apiVersion: v1, kind: Pod, metadata: {name: \"{{ index .resources \\\"set\\\" }}\"}}",
        "{apiVersion: v1, kind: List}",
        "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]}",
        "{apiVersion: todo.io/v1, kind: List, metadata: {name: l}, items: 7}",
        "{ref: job.yaml}",
        "\"# nothing but a comment\"",
        "|\n          kind: {{ .id }}\n          ---\n          {{ if .id }}\n          a: [\n          {{ end }}",
        "|\n          {apiVersion: v1, kind: Pod, metadata: {name: a}}\n          ---\n          ---\n          {apiVersion: v1, kind: Pod, metadata: {name: b}}",
    ];
    for manifest in manifests {
        let text = of_manifest(manifest);
        let surroundings = super::Surroundings { read: &|_| Ok("a: {{ .id }}".to_owned()), environment: &|_| None };
        let compiled = super::compile("task.yaml", &text, &surroundings);
        assert!(compiled.diagnostics.is_empty(), "{manifest}\n{}", compiled.diagnostics);
        assert_eq!(bundle(&compiled.task.unwrap()).1.manifests.len(), 1, "{manifest}");
    }
}

#[test]
fn environment_variables_of_a_bundle_are_recorded() {
    let task = compiled_task(&of_manifest("|\n          name: {{ .env.ZONE }}"));
    assert!(task.environment.contains("ZONE"));
}

/// What is certain before an event is refused when the file is loaded.
#[test]
fn objects_that_no_event_decides_are_checked_as_before_a_write() {
    let map =
        |name: &str, more: &str| format!("- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}{more}}}}}");
    let cases = [
        (vec![map("a", ""), map("a", "")], Some("ConfigMap team/a is rendered 2 times")),
        (vec![map("a", ", annotations: {hyperfleet.io/apply-order: first}")], Some("`hyperfleet.io/apply-order`")),
        (
            vec![
                "- {apiVersion: v1, kind: Namespace, metadata: {name: n, annotations: {hyperfleet.io/apply-order: '1'}}}".to_owned(),
                map("a", ", namespace: n"),
            ],
            Some("is applied in wave 0, before Namespace n in wave 1"),
        ),
        (
            vec![map("a", ""), map("\"{{ .event.id }}\"", ", annotations: {hyperfleet.io/apply-order: first}")],
            Some("`hyperfleet.io/apply-order`"),
        ),
        (vec![map("\"{{ .event.id }}\"", ""), map("\"{{ .event.id }}\"", "")], Some("is rendered 2 times")),
        // An event decides about the order.
        (
            vec![
                "- {apiVersion: v1, kind: Namespace, metadata: {name: n, annotations: {hyperfleet.io/apply-order: '1'}}}".to_owned(),
                map("a", ", namespace: n, annotations: {hyperfleet.io/apply-order: \"{{ .event.id }}\"}"),
            ],
            None,
        ),
    ];
    for (manifests, expected) in cases {
        let manifests = manifests.join("\n        ");
        let text = format!(
            "resources:\n  - name: set\n    bundle:\n      namespace: team\n      manifests:\n        {manifests}\n"
        );
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        let told = compiled.diagnostics.to_string();
        match expected {
            Some(expected) => assert!(told.contains(expected), "{told}"),
            None => assert!(compiled.task.is_some(), "{told}"),
        }
    }
}

#[test]
fn objects_of_a_manifest_without_templates_are_drafted_when_the_file_is_loaded() {
    let cases = [
        ("{apiVersion: v1, kind: Pod, metadata: {name: a}}", Some(1)),
        ("{apiVersion: v1, kind: Pod, metadata: {name: \"{{ .id }}\"}}", None),
        ("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}", Some(1)),
    ];
    for (manifest, expected) in cases {
        for form in ["", "|\n          "] {
            let task = compiled_task(&of_manifest(&format!("{form}{manifest}")));
            let bundle = bundle(&task).1;
            let drafts: Vec<_> = bundle.drafts.iter().map(|drafts| drafts.as_ref().map(Vec::len)).collect();
            assert_eq!(drafts, [expected], "{form}{manifest}");
            assert_eq!(bundle.known.len(), 1, "{form}{manifest}");
        }
    }
}

#[test]
fn rule_of_readiness_reads_the_object_alone() {
    for (rule, expected) in [
        ("{kind: Foo.example.io, expression: \"object.status.x == 1\"}", None),
        ("{kind: Foo.example.io, expression: \"resources.x == 1\"}", Some("resources")),
        ("{kind: \"Foo bar\", expression: \"true\"}", Some("is not `KIND` or `KIND.GROUP`")),
    ] {
        let text = format!(
            "resources:\n  - name: set\n    bundle:\n      ready: [{rule}]\n      manifests: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}]\n"
        );
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        let told = compiled.diagnostics.to_string();
        assert_eq!(compiled.task.is_none(), expected.is_some(), "{told}");
        assert!(expected.is_none_or(|expected| told.contains(expected)), "{told}");
    }
}
