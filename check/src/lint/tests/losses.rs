//! What goes although its author did not mean that: data, objects that take another name, and work of an API that is away.

use lifecycle_config::diagnostics::Severity;

use super::lints;

const BEFORE: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: isDeleting, source: {expression: cluster.?deleted_time.orValue(null) != null}}
"#;

fn entry(params: &str, manifest: &str, more: &str) -> String {
    format!(
        "{BEFORE}{params}resources:\n  - name: x\n    manifest: {{{manifest}}}\n    discovery: {{by_name: a, namespace: n}}\n{more}"
    )
}

fn bundle(params: &str, keys: &str, manifest: &str) -> String {
    format!("{BEFORE}{params}resources:\n  - name: x\n    bundle:\n{keys}      manifests:\n        - {{{manifest}}}\n")
}

/// The messages and cures of a task that contain a text.
fn about(text: &str, part: &str) -> String {
    let found = lints(text);
    let lines = found.all().iter().map(|it| format!("{} | {}\n", it.message, it.help.clone().unwrap_or_default()));
    lines.filter(|line| line.contains(part)).collect()
}

const CLAIM: &str = "apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: n}";
const MAP: &str = "apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}";
const NAMESPACE: &str = "apiVersion: v1, kind: Namespace, metadata: {name: a}";

#[test]
fn check_warns_of_recreations_that_lose_more_than_the_object() {
    let changed = "    recreate_on_change: true\n";
    let gated = "    lifecycle: {recreate: {when: {expression: event.x}}}\n";
    let update = "      policies: {update: recreate}\n";
    let cases = [
        ("a claim", entry("", CLAIM, changed), "deletes `x`, and its data with it"),
        ("a claim by a gate", entry("", CLAIM, gated), "deletes `x`, and its data with it"),
        ("a namespace", entry("", NAMESPACE, changed), "and every object in it with it"),
        ("an update", entry("", CLAIM, ""), ""),
        ("a map", entry("", MAP, changed), ""),
        ("a claim of a bundle", bundle("", update, CLAIM), "deletes `PersistentVolumeClaim n/a`, and its data"),
        ("an update of a bundle", bundle("", "", CLAIM), ""),
        ("a map of a bundle", bundle("", update, MAP), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, " with it");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_a_definition_that_an_entry_deletes() {
    let definition =
        "apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.io}";
    let gate = "    lifecycle: {delete: {when: {expression: isDeleting}}}\n";
    let cases = [
        ("a definition", entry("", definition, gate), "the deletion of `x` takes every object of its type along"),
        ("one that stays", entry("", definition, ""), ""),
        ("a map", entry("", MAP, gate), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "of its type along");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_owner_references_that_the_author_wrote() {
    let reference = "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: '{{ .clusterId }}'}]";
    let with = |references: &str| MAP.replace("namespace: n", &format!("namespace: n, {references}"));
    let cases = [
        ("one", entry("", &with(reference), ""), "has owner references of its own"),
        ("an empty list", entry("", &with("ownerReferences: []"), ""), ""),
        ("none", entry("", MAP, ""), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "owner references");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_policies_that_nobody_reads() {
    let with = |of: &str, key: &str| CLAIM.replace("namespace: n", &format!("namespace: n, {of}: {{{key}}}"));
    let prefix = "      annotation_prefix: example.com\n";
    let gate = "write `lifecycle: {orphan: {when: …}}` instead of `delete`";
    let ours = "write the annotation `hyperfleet.io/delete-policy: orphan`";
    let cases = [
        ("an entry", entry("", &with("annotations", "hyperfleet.io/delete-policy: orphan"), ""), gate),
        ("Helm's of an entry", entry("", &with("annotations", "helm.sh/resource-policy: keep"), ""), gate),
        ("ours", bundle("", "", &with("annotations", "hyperfleet.io/delete-policy: orphan")), ""),
        ("Helm's", bundle("", "", &with("annotations", "helm.sh/resource-policy: keep")), ours),
        ("another prefix", bundle("", "", &with("annotations", "example.com/delete-policy: orphan")), ours),
        ("that prefix", bundle("", prefix, &with("annotations", "example.com/delete-policy: orphan")), ""),
        (
            "the default beside a prefix",
            bundle("", prefix, &with("annotations", "hyperfleet.io/delete-policy: orphan")),
            "write the annotation `example.com/delete-policy: orphan`",
        ),
        ("a label", bundle("", "", &with("labels", "hyperfleet.io/delete-policy: orphan")), ours),
        ("another annotation", bundle("", "", &with("annotations", "example.com/owner: me")), ""),
        (
            "one beside a template",
            entry("", &with("annotations", "hyperfleet.io/delete-policy: orphan, a: '{{ .clusterId }}'"), ""),
            gate,
        ),
        ("a template", entry("", &with("annotations", "hyperfleet.io/delete-policy: '{{ .clusterId }}'"), ""), gate),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "nobody reads");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_names_behind_a_constant() {
    let named = |name: &str| CLAIM.replace("name: a", &format!("name: '{name}'"));
    let param = |source: &str| format!("  - {{name: tier, source: {source}}}\n");
    let defaulted = param("cluster.spec.tier, default: a");
    let cases = [
        ("a member", bundle(&defaulted, "", &named("{{ .tier }}")), "the bundle deletes the object"),
        ("an entry", entry(&defaulted, &named("{{ .tier }}"), ""), "another object is created"),
        (
            "an expression",
            bundle(&param("{expression: \"cluster.?spec.?tier.orValue('a')\"}"), "", &named("{{ .tier }}")),
            "the bundle deletes the object",
        ),
        ("another field", bundle(&defaulted, "", CLAIM), ""),
        ("no constant", bundle(&param("cluster.spec.tier"), "", &named("{{ .tier }}")), ""),
        ("a constant of the event", bundle(&param("event.tier, default: a"), "", &named("{{ .tier }}")), ""),
        ("the event's id", bundle("", "", &named("{{ .clusterId }}")), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "the name or namespace of an object");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_members_with_data_behind_a_constant() {
    let object = |kind: &str, metadata: &str| {
        format!("apiVersion: v1\n          kind: {kind}\n          metadata: {{name: a{metadata}, namespace: n}}")
    };
    let text = |condition: &str, object: &str, otherwise: &str| {
        format!(
            "    bundle:\n      manifests:\n        - |\n          {{{{ {condition} }}}}\n          {object}\n          \
             {{{{ else }}}}\n          {otherwise}\n          {{{{ end }}}}\n"
        )
    };
    let of_text = |source: &str, text: &str| {
        format!("{BEFORE}  - {{name: tier, source: {source}}}\nresources:\n  - name: x\n{text}")
    };
    let task = |source: &str, condition: &str, kind: &str| of_text(source, &text(condition, &object(kind, ""), "---"));
    let (gold, claim) = ("if eq .tier \"gold\"", "PersistentVolumeClaim");
    let (bronze, mine) = ("cluster.spec.tier, default: bronze", object(claim, ""));
    let policy = |word: &str| {
        let annotated = object(claim, &format!(", annotations: {{hyperfleet.io/delete-policy: {word}}}"));
        of_text(bronze, &text(gold, &annotated, "---"))
    };
    let of_bundle = of_text(bronze, &text(gold, &mine, "---"))
        .replace("    bundle:\n", "    bundle:\n      policies: {delete: orphan-on-apply}\n");
    let both = |otherwise: &str| of_text(bronze, &text(gold, &format!("{mine}\n          spec: {{a: b}}"), otherwise));
    let named = object(claim, "-{{ .clusterId }}");
    let cases = [
        ("a claim", task("cluster.spec.tier, default: a", gold, claim), "write `required: true` at `tier`"),
        ("a namespace", task("cluster.spec.tier, default: a", gold, "Namespace"), "every object in it with it"),
        (
            "a constant of an expression",
            task("{expression: \"cluster.?spec.?tier.orValue('')\"}", "with .tier", claim),
            "can delete the object, and its data with it",
        ),
        (
            "a constant of an expression that keeps it",
            task("{expression: \"cluster.?spec.?tier.orValue('a')\"}", "with .tier", claim),
            "",
        ),
        ("a constant that keeps it", task("cluster.spec.tier, default: gold", gold, claim), ""),
        ("either way", both(&mine), ""),
        ("either way, with a name of the event", of_text(bronze, &text(gold, &named, &named)), ""),
        ("another one otherwise", both(&mine.replace("name: a", "name: b")), "the PersistentVolumeClaim"),
        ("an object that stays", policy("orphan"), ""),
        ("one that stays when it leaves", policy("orphan-on-apply"), ""),
        (
            "one that stays with the bundle",
            policy("orphan-on-delete"),
            "a deletion whose answer lacks the value fails, too",
        ),
        ("a bundle whose objects stay", of_bundle, ""),
        ("a policy of another tool", policy("orphan").replace("hyperfleet.io/", "example.com/"), "the Pers"),
        ("a map", task("cluster.spec.tier, default: a", gold, "ConfigMap"), ""),
        ("no constant", task("cluster.spec.tier, required: true", gold, claim), ""),
        ("a constant of the event", task("event.tier, default: a", gold, claim), ""),
        ("another condition", task("cluster.spec.tier, default: a", "if .clusterId", claim), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "decides whether the bundle has");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
    for (condition, severity) in [
        (gold, Severity::Warning),
        ("if or (eq .tier \"gold\") .cluster.spec.kept", Severity::Note),
        ("$kept := .clusterId }}{{ if or (eq .tier \"gold\") $kept", Severity::Note),
    ] {
        let found = lints(&of_text(bronze, &text(condition, &mine, "---")));
        let found = found.all().iter().find(|it| it.message.contains("decides whether")).map(|it| it.severity);
        assert_eq!(found, Some(severity), "{condition}");
    }
}

#[test]
fn check_warns_of_a_default_while_the_api_is_away() {
    let fleet = |rest: &str| {
        format!(
            "  - {{name: fleet, source: {{api_call: {{method: GET, url: /f}}}}, default: {{}}{rest}}}\n  - {{name: tier, source: fleet.tier, default: a}}\n"
        )
    };
    let manifest = format!("{MAP}, data: {{a: '{{{{ .tier }}}}'}}");
    let delete = "    lifecycle: {delete: {when: {expression: \"isDeleting && tier == 'a'\"}}}\n";
    let cases = [
        ("a manifest", entry(&fleet(", on_error: default"), &manifest, ""), true),
        ("a delete gate", entry(&fleet(", on_error: default"), MAP, delete), true),
        ("a call that fails the event", entry(&fleet(""), &manifest, delete), false),
        ("nothing that reads it", entry(&fleet(", on_error: default"), MAP, ""), false),
    ];
    for (name, text, is_warned) in cases {
        let found = about(&text, "while the API is away");
        assert_eq!(
            found.contains("`x` is written, or deleted, by the default of `fleet`"),
            is_warned,
            "{name}: {found}"
        );
    }
}

#[test]
fn check_tells_of_a_param_that_is_set_twice_and_of_a_fixed_generation() {
    let twice = "  - {name: tier, source: event.a}\n  - {name: tier, source: event.b}\n";
    let found = about(&entry(twice, MAP, ""), "sets `tier` again");
    assert!(found.contains("the value of params[3] counts only where this one has none"), "{found}");
    assert_eq!(about(&entry("  - {name: tier, source: event.a}\n", MAP, ""), "again"), "");
    let fixed = |value: &str| {
        let annotated = format!("namespace: n, annotations: {{hyperfleet.io/generation: '{value}'}}");
        about(
            &entry("  - {name: g, source: event.generation}\n", &MAP.replace("namespace: n", &annotated), ""),
            "is never updated",
        )
    };
    assert!(fixed("1").contains("remove it"), "{}", fixed("1"));
    assert_eq!(fixed("{{ .g }}"), "");
}

#[test]
fn bundle_that_nothing_deletes_keeps_finalized_false() {
    let said = |more: &str| {
        let post = "post:\n  payloads:\n    - name: status\n      build:\n        adapter: a\n        observed_generation: {expression: event.generation}\n        observed_time: \"{{ .now }}\"\n        conditions:\n          expression: >-\n            adapter.conditions.x + [{\"type\": \"Finalized\", \"status\": isDeleting && adapter.outcomes.?x.?finalized.orValue(false) ? \"True\" : \"False\"}]\n  post_actions:\n    - {name: report, api_call: {method: PUT, url: \"/clusters/{{ .clusterId }}/statuses\", body: \"{{ .status }}\"}}\n";
        about(&format!("{}{more}{post}", bundle("", "", MAP)), "`Finalized` waits for `x`")
    };
    assert!(said("").contains("which no gate deletes"), "{}", said(""));
    assert_eq!(said("    lifecycle: {delete: {when: {expression: isDeleting}}}\n"), "");
}

#[test]
fn finished_job_with_a_time_to_live_is_created_again_beside_a_gate_of_the_living() {
    let job = "apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: n}, spec: {ttlSecondsAfterFinished: 9}";
    for (gates, is_warned) in [
        ("    when: {expression: \"!isDeleting\"}\n", true),
        ("    when: {expression: \"!isDeleting\"}\n    recreate_on_change: true\n", true),
        ("    lifecycle: {create: {when: {expression: \"!isDeleting && !has(cluster.spec.done)\"}}}\n", false),
    ] {
        let found = about(&entry("", job, gates), "the entry has no memory");
        assert_eq!(!found.is_empty(), is_warned, "{gates}: {found}");
    }
}

#[test]
fn check_warns_of_members_that_show_the_time() {
    let with = |value: &str| MAP.replace("namespace: n", &format!("namespace: n, annotations: {{a: '{value}'}}"));
    let param = |source: &str| format!("  - {{name: at, source: {source}}}\n");
    let text = |at: &str| {
        format!(
            "{BEFORE}resources:\n  - name: x\n    bundle:\n      manifests:\n        - |\n          apiVersion: v1\n          kind: ConfigMap\n          \
             metadata: {{name: a, namespace: n}}\n          data:\n            {at}\n"
        )
    };
    let once = "      policies: {reconcile: once}\n";
    let of_once = with("{{ .now }}").replace("annotations: {", "annotations: {hyperfleet.io/reconcile-policy: once, ");
    let cases = [
        ("the variable", bundle("", "", &with("{{ .now }}")), "shows the time in `{{ .now }}`"),
        ("the function", bundle("", "", &with("{{ now }}")), "shows the time"),
        ("to the second", bundle("", "", &with("{{ now | date \"20060102-150405\" }}")), "shows the time"),
        ("a day", bundle("", "", &with("{{ now | date \"2006-01-02\" }}")), ""),
        ("a day between other quotes", bundle("", "", &with("{{ now | date `2006-01-02` }}")), ""),
        ("a condition of a field", bundle("", "", &with("{{ if gt .now .clusterId }}b{{ end }}")), ""),
        ("a param", bundle(&param("{expression: now()}"), "", &with("{{ .at }}")), "in `{{ .at }}`"),
        ("a test of it", bundle(&param("{expression: \"now() > 'a'\"}"), "", &with("{{ .at }}")), ""),
        ("a time of the API", bundle(&param("cluster.updated_time"), "", &with("{{ .at }}")), ""),
        ("a text", text("a: {{ .now }}"), "shows the time"),
        (
            "a text beside a branch",
            text("{{ if .clusterId }}a: b{{ end }}\n            c: {{ .now }}"),
            "shows the time",
        ),
        ("a condition", text("{{ if gt .now .clusterId }}a: b{{ end }}"), ""),
        ("a set that is written once", bundle("", once, &with("{{ .now }}")), ""),
        ("an object that is written once", bundle("", "", &of_once), ""),
        ("an entry", entry("", &with("{{ .now }}"), ""), ""),
    ];
    for (name, text, expected) in cases {
        let found = about(&text, "shows the time");
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
    }
}

#[test]
fn check_warns_of_a_discovery_by_the_time_of_a_param() {
    let params = "  - {name: at, source: {expression: \"'a-' + now()\"}}\n";
    let task = entry(params, MAP, "").replace("by_name: a", "by_name: '{{ .at }}'");
    assert!(about(&task, "reads the clock").contains("`x` is created each time"), "{task}");
    assert_eq!(about(&entry(params, MAP, ""), "reads the clock"), "");
}
