//! Faults of manifests, wherever they stand, and of what a task says about objects inside of a `ManifestWork` and of namespaces.

use super::lints;

const PARAMS: &str = "params: [{name: x, source: event.x}]\n";

/// The places and messages that a task gets and that hold one of these parts.
fn told(resources: &str, parts: &[&str]) -> String {
    let diagnostics = lints(&format!("{PARAMS}resources:\n{resources}"));
    let all = diagnostics.all().iter().map(|found| format!("{}: {}", found.path, found.message));
    all.filter(|found| parts.iter().any(|part| found.contains(part))).collect::<Vec<_>>().join("\n")
}

fn assert_told(name: &str, found: &str, expected: &str) {
    assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found:?}");
}

fn entry(manifest: &str) -> String {
    format!("  - name: a\n    manifest: {manifest}\n    discovery: {{by_name: a, namespace: n}}\n")
}

fn bundle(manifests: &str) -> String {
    format!("  - name: a\n    bundle:\n      manifests: [{manifests}]\n")
}

fn work(manifests: &str) -> String {
    entry(&format!(
        "{{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {{name: a, namespace: n}}, spec: {{workload: \
         {{manifests: [{manifests}]}}}}}}"
    ))
}

fn as_text(object: &str) -> String {
    format!("'{}'", object.replace('\'', "''"))
}

fn map(metadata: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: n{metadata}}}}}")
}

fn workload(version: &str, kind: &str, spec: &str) -> String {
    format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: a, namespace: n}}, spec: {spec}}}")
}

#[test]
fn check_warns_of_labels_that_kubernetes_refuses() {
    let label = |entry: &str| map(&format!(", labels: {{{entry}}}"));
    let long = format!("tier: {}", "x".repeat(64));
    let prefix = format!("{}/tier: x", vec!["x".repeat(62); 5].join("."));
    let pods = |labels: &str| {
        workload(
            "apps/v1",
            "Deployment",
            &format!("{{selector: {{matchLabels: {{app: a}}}}, template: {{metadata: {{{labels}}}}}}}"),
        )
    };
    let of_value = "Kubernetes refuses values like";
    let of_key = "Kubernetes refuses the key of the";
    let cases = [
        ("a blank in a value", entry(&label("tier: a b")), of_value),
        ("its place", entry(&label("tier: a b")), "resources[0].manifest.metadata.labels.tier: "),
        ("a long value", entry(&label(&long)), of_value),
        ("a value with a slash in its literal part", entry(&label("tier: 'team/{{ .x }}'")), "values like \"team/x1\""),
        ("a value that only an event knows", entry(&label("tier: '{{ .x }}'")), ""),
        ("a value with a branch", entry(&label("tier: '{{ if .x }}a b{{ end }}'")), ""),
        ("an empty value", entry(&label("tier: ''")), ""),
        ("a sound label", entry(&label("app.kubernetes.io/Name: A_b.c-1")), ""),
        ("a prefix in upper case", entry(&label("Example.io/tier: x")), "the key of the label `Example.io/tier`"),
        ("a long prefix", entry(&label(&prefix)), of_key),
        ("two slashes", entry(&label("a/b/c: x")), of_key),
        ("a key with a template", entry(&label("'example.io/{{ .x }}': x")), ""),
        ("the key of an annotation", entry(&map(", annotations: {a b: c}")), "the key of the annotation `a b`"),
        ("the value of an annotation", entry(&map(", annotations: {a: 'b c/d'}")), ""),
        ("an annotation's prefix in upper case", entry(&map(", annotations: {Example.io/a: b}")), ""),
        ("a member", bundle(&label("tier: a b")), "resources[0].bundle.manifests[0].metadata.labels.tier"),
        ("a member in a text", bundle(&as_text(&label("tier: a b"))), "manifests[0]: ConfigMap "),
        (
            "an item of a list",
            bundle(&format!(
                "{{apiVersion: v1, kind: List, items: [{}, {}]}}",
                map("").replace("name: a", "name: b"),
                label("tier: a b")
            )),
            "manifests[0].items[1].metadata.labels.tier",
        ),
        ("an object in a work", work(&label("tier: a b")), "spec.workload.manifests[0].metadata.labels.tier"),
        ("labels of Pods", entry(&pods("labels: {app: a b}")), "spec.template.metadata.labels.app"),
        ("annotations of Pods", entry(&pods("annotations: {a b: c}")), "spec.template.metadata.annotations"),
        ("sound labels of Pods", entry(&pods("labels: {app: a}, annotations: {a: b c}")), ""),
        (
            "a claim of a set",
            entry(&workload(
                "apps/v1",
                "StatefulSet",
                "{volumeClaimTemplates: [{metadata: {name: d, labels: {a: b c}}}]}",
            )),
            "spec.volumeClaimTemplates[0].metadata.labels.a",
        ),
        (
            "selected labels",
            entry(&workload("apps/v1", "Deployment", "{selector: {matchLabels: {app: a b}}}")),
            "of the selected label `app`",
        ),
        (
            "a selector of Pods deep inside",
            entry(&workload(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "{ingress: [{from: [{podSelector: {matchLabels: {a: b c}}}]}]}",
            )),
            "spec.ingress[0].from[0].podSelector.matchLabels.a",
        ),
        ("the selector of a Service", entry(&workload("v1", "Service", "{selector: {app: a b}}")), "spec.selector.app"),
        (
            "a node's labels",
            entry(&workload("v1", "Pod", "{nodeSelector: {a/b/c: x}}")),
            "the key of the selected label `a/b/c`",
        ),
        (
            "fields of another kind",
            entry(&workload(
                "example.io/v1",
                "Task",
                "{matchLabels: {a: b c}, template: {metadata: {labels: {a: b c}}}}",
            )),
            "",
        ),
        (
            "the data of a ConfigMap",
            entry(
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}, data: {metadata: 'labels: {a: b c}'}}",
            ),
            "",
        ),
    ];
    for (name, resources, expected) in cases {
        assert_told(name, &told(&resources, &["Kubernetes refuses"]), expected);
    }
}

#[test]
fn check_reads_the_manifests_inside_of_a_work() {
    let job = |spec: &str| workload("batch/v1", "Job", spec);
    let role = |metadata: &str, more: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: a{metadata}}}, rules: []{more}}}"
        )
    };
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n}, stringData: {a: '{{ .p }}'}}";
    let shown = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}, data: {a: '{{ .s }}'}}";
    let named = |name: &str| map("").replace("name: a,", &format!("name: {name},"));
    let at = "resources[0].manifest.spec.workload.manifests[0]";
    let cases = [
        ("a name", named("A_b"), "gives names like \"A_b\""),
        ("a namespace", map("").replace("namespace: n", "namespace: a.b"), "gives names like \"a.b\""),
        ("a kind", workload("apps/v1", "Deploymnet", "{}"), "no agent can apply it"),
        ("a Job with a time to live", job("{ttlSecondsAfterFinished: 1}"), "the agent creates it again"),
        ("a Job", job("{}"), ""),
        ("rules of an aggregated role", role("", ", aggregationRule: {}"), "each write of the agent"),
        ("a namespace of a kind without", role(", namespace: n", ""), "a ClusterRole is in no namespace"),
        ("a role", role("", ""), ""),
        ("a constant credential", secret.to_owned(), "the data of a Secret takes `p`"),
        ("a secret in a ConfigMap", shown.to_owned(), "shows it in a ConfigMap: `data.a`"),
        ("a sound object", map(""), ""),
    ];
    for (name, object, expected) in cases {
        let params = "params: [{name: p, source: event.p, default: ''}, {name: s, source: env.API_TOKEN}]\n";
        let diagnostics = lints(&format!("{params}resources:\n{}", work(&object)));
        let inside = diagnostics.all().iter().filter(|found| found.path.starts_with(at));
        let found: Vec<_> = inside.map(|found| found.message.clone()).collect();
        assert_told(name, &found.join("\n"), expected);
        assert!(found.len() <= 1, "{name}: {found:?}");
    }
}

#[test]
fn check_warns_of_a_nested_discovery_that_finds_nothing() {
    let inner = |discovery: &str, more: &str| {
        let objects = [
            "{apiVersion: v1, kind: Namespace, metadata: {name: space}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: space, labels: {tier: web, own: '{{ .x }}'}}}",
        ];
        format!(
            "{}    nested_discoveries: [{{name: inner, discovery: {{{discovery}}}}}]\n{more}",
            work(&objects.join(", "))
        )
    };
    let templated = || inner("by_name: other", "").replace("name: settings", "name: '{{ .x }}'");
    let reads = "    lifecycle: {apply: {when: {expression: \"false\"}}}\n";
    let patches = "    lifecycle: {patch: [{when: {expression: event.x == 'a'}, document: {spec: {}}}]}\n";
    let labels = |labels: &str| inner(&format!("by_selectors: {{label_selector: {{{labels}}}}}"), "");
    let cases = [
        (
            "another name",
            inner("by_name: setting", ""),
            "nested_discoveries[0].discovery.by_name: finds nothing inside of `a`",
        ),
        ("the names that exist", inner("by_name: setting", ""), "are `Namespace space`, `ConfigMap space/settings`"),
        ("another namespace", inner("by_name: settings, namespace: other", ""), "discovery.namespace: finds nothing"),
        ("no namespace", inner("by_name: space, namespace: space", ""), "discovery.namespace: finds nothing"),
        ("another label", labels("tier: db"), "discovery.by_selectors: finds nothing"),
        ("a label that no object has", labels("app: web"), "finds nothing"),
        ("the name", inner("by_name: settings", ""), ""),
        ("name and namespace", inner("by_name: settings, namespace: space", ""), ""),
        ("any namespace", inner("by_name: settings, namespace: '*'", ""), ""),
        ("a label", labels("tier: web"), ""),
        ("a label that an event decides", labels("own: b"), ""),
        ("a name that an event decides", inner("by_name: '{{ .x }}'", ""), ""),
        ("an object whose name an event decides", templated(), ""),
        ("a work of others", inner("by_name: setting", reads), ""),
        ("a work with patches", inner("by_name: setting", patches), ""),
    ];
    for (name, resources, expected) in cases {
        assert_told(name, &told(&resources, &["finds nothing inside"]), expected);
    }
}

/// A namespace and an object in it, in this order, with these keys.
fn in_namespace(namespace: (&str, &str), content: (&str, &str), is_first: bool) -> String {
    let namespace = format!(
        "  - name: space\n    manifest: {{apiVersion: v1, kind: Namespace, metadata: {{name: {0}}}}}\n    discovery: {{by_name: {0}}}\n{1}",
        namespace.0, namespace.1
    );
    let content = format!(
        "  - name: inner\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {0}}}}}\n    discovery: {{by_name: a, \
         namespace: {0}}}\n{1}",
        content.0, content.1
    );
    if is_first { namespace + &content } else { content + &namespace }
}

#[test]
fn check_warns_of_a_namespace_that_is_created_after_its_content() {
    let late = |namespace, content| in_namespace(namespace, content, false);
    let when = |expression: &str| format!("    when: {{expression: \"{expression}\"}}\n");
    let (gone, waits) = (when("event.x == 'a'"), when("resources.?space.hasValue()"));
    let never = "    lifecycle: {apply: {when: {expression: \"false\"}}}\n";
    let template = "'{{ .x }}'";
    let set = |keys: &str, before: bool| {
        let space = "  - name: space\n    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: n}}\n    discovery: {by_name: n}\n";
        let set = format!("  - name: inner\n    bundle:\n{keys}      manifests: [{}]\n", map(""));
        if before { set + space } else { space.to_owned() + &set }
    };
    let ignores = "      policies: {missing_namespaces: ignore}\n";
    let cases = [
        ("a namespace after its content", late(("n", ""), ("n", "")), "creates the namespace `n` after `inner`"),
        ("its place", late(("n", ""), ("n", "")), "resources[1].name: "),
        ("both by one template", late((template, ""), (template, "")), "after `inner`"),
        ("both with one gate", late(("n", &gone), ("n", &gone)), "after `inner`"),
        ("the namespace with a gate", late(("n", &gone), ("n", "")), "after `inner`"),
        ("the content with a gate", late(("n", ""), ("n", &gone)), ""),
        ("content that waits", late(("n", ""), ("n", &waits)), ""),
        ("another namespace", late(("n", ""), ("m", "")), ""),
        ("a namespace that the task only reads", late(("n", never), ("n", "")), ""),
        ("content that the task only reads", late(("n", ""), ("n", never)), ""),
        ("a namespace that may exist", late(("n", "    adopt: true\n"), ("n", "")), ""),
        ("a namespace before its content", in_namespace(("n", ""), ("n", ""), true), ""),
        ("a bundle that creates no namespaces", set(ignores, true), "after `inner`"),
        ("a bundle in the namespace", set("      namespace: n\n", true), "after `inner`"),
        ("a bundle that creates namespaces", set("", true), ""),
        ("a bundle after its namespace", set(ignores, false), ""),
    ];
    for (name, resources, expected) in cases {
        assert_told(name, &told(&resources, &["creates the namespace"]), expected);
    }
}

#[test]
fn check_warns_of_a_namespace_that_takes_along_what_was_to_go_later() {
    let delete = |expression: &str| format!("    lifecycle: {{delete: {{when: {{expression: \"{expression}\"}}}}}}\n");
    let other = format!(
        "  - name: other\n    manifest: {}\n    discovery: {{by_name: a, namespace: m}}\n{}",
        map("").replace("namespace: n", "namespace: m"),
        delete("event.x == 'a'")
    );
    let ordered = "event.x == 'a' && !resources.?other.hasValue()";
    let case = |namespace: &str, content: &str| {
        in_namespace(("n", &delete(namespace)), ("n", &delete(content)), true) + &other
    };
    let cases = [
        (
            "a namespace that does not wait",
            case("event.x == 'a'", ordered),
            "waits for `other`, and `space`, its namespace, does not",
        ),
        ("a namespace that waits for its content", case("event.x == 'a' && !resources.?inner.hasValue()", ordered), ""),
        ("a namespace that waits for the same", case(ordered, ordered), ""),
        ("content that waits for nothing", case("event.x == 'a'", "event.x == 'a'"), ""),
        ("a namespace that goes on fewer events", case("event.x == 'a' && event.y == 'b'", ordered), ""),
        ("a namespace that goes on other events", case("event.x == 'b'", ordered), ""),
    ];
    for (name, resources, expected) in cases {
        assert_told(name, &told(&resources, &["its namespace, does not wait"]), expected);
    }
}
