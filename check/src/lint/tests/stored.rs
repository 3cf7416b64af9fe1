//! What an API server stores otherwise than a task writes or expects it: quantities, and fields that it sets itself.

use super::lints;

/// What `check` says of a task about a word; empty if nothing.
fn said(text: &str, word: &str) -> String {
    let diagnostics = lints(text);
    let messages = diagnostics.all().iter().map(ToString::to_string).filter(|text| text.contains(word));
    messages.collect::<Vec<_>>().join("\n")
}

#[test]
fn check_warns_of_comparisons_with_quantities_that_no_server_stores() {
    const LIMIT: &str = "resources.web.spec.template.spec.containers[0].resources.limits.memory";
    let task = |api_version: &str, gate: &str| {
        format!(
            "resources:\n  - name: web\n    discovery: {{by_name: web, namespace: n}}\n    manifest: {{apiVersion: {api_version}, kind: \
             Deployment, metadata: {{name: web, namespace: n}}}}\n    lifecycle:\n      patch:\n        - when: {{expression: \
             \"{gate}\"}}\n          document: {{spec: {{paused: true}}}}\n"
        )
    };
    let cases = [
        ("another spelling", "apps/v1", format!("{LIMIT} != '2048Mi'"), "write \"2Gi\""),
        ("a number of thousandths", "apps/v1", format!("'1000m' != {LIMIT}"), "write \"1\""),
        (
            "a default",
            "apps/v1",
            format!("{}.orValue('') == '2048Mi'", LIMIT.replace("web.", "web.?")),
            "write \"2Gi\"",
        ),
        (
            "a dotted path",
            "apps/v1",
            "dig(resources.web, 'spec.template.spec.containers.0.resources.limits.memory') != '2048Mi'".to_owned(),
            "write \"2Gi\"",
        ),
        ("the stored spelling", "apps/v1", format!("{LIMIT} != '2Gi'"), ""),
        ("a text that is no quantity", "apps/v1", format!("{LIMIT} != 'large'"), ""),
        ("another field", "apps/v1", "resources.web.metadata.labels.size != '2048Mi'".to_owned(), ""),
        ("a custom resource", "example.com/v1", format!("{LIMIT} != '2048Mi'"), ""),
        ("a document of the API", "apps/v1", format!("{} != '2048Mi'", LIMIT.replace("resources.web", "event")), ""),
        ("a loop", "apps/v1", format!("[{{'web': 1}}].exists(resources, {LIMIT} != '2048Mi')"), ""),
    ];
    for (name, api_version, gate, expected) in cases {
        let text = task(api_version, &gate);
        let said = said(&text, "quantity");
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{name}: {said:?}\n{text}");
    }
}

#[test]
fn check_warns_of_fields_that_only_a_server_sets() {
    let entry = |manifest: &str| {
        format!("resources:\n  - name: web\n    discovery: {{by_name: web, namespace: n}}\n    manifest: {manifest}\n")
    };
    let bundle = |manifest: &str| {
        format!("resources:\n  - name: set\n    bundle: {{name: set, namespace: n, manifests: [{manifest}]}}\n")
    };
    let object = |api_version: &str, kind: &str, metadata: &str, rest: &str| {
        format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: web, namespace: n{metadata}}}{rest}}}")
    };
    let map = |metadata: &str, rest: &str| object("v1", "ConfigMap", metadata, rest);
    let deployment = |rest: &str| object("apps/v1", "Deployment", "", rest);
    let text = "|\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: web, namespace: n, uid: \"{{ .event.id }}\"}";
    let cases = [
        ("a UID", entry(&map(", uid: u", "")), "`metadata.uid`"),
        ("a template", entry(&map(", resourceVersion: '{{ .event.id }}'", "")), "`metadata.resourceVersion`"),
        ("managed fields", entry(&map(", managedFields: [{manager: x}]", "")), "`metadata.managedFields`"),
        ("several", entry(&map(", selfLink: /x, generation: 1", "")), "`metadata.generation`, `metadata.selfLink`"),
        ("a text", entry(text), "`metadata.uid`"),
        ("a member", bundle(&map(", uid: u", "")), "`metadata.uid`"),
        (
            "an item",
            bundle(&format!("{{apiVersion: v1, kind: List, items: [{}]}}", map(", uid: u", ""))),
            "`metadata.uid`",
        ),
        ("a status", entry(&deployment(", status: {replicas: 1}")), "`status`"),
        (
            "what generators write",
            entry(&object("apps/v1", "Deployment", ", creationTimestamp: null", ", status: {}")),
            "",
        ),
        (
            "the status of a definition",
            bundle(
                "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b}, status: {a: b}}",
            ),
            "",
        ),
        ("the status of a custom resource", entry(&object("example.com/v1", "Thing", "", ", status: {a: b}")), ""),
        ("labels of such names", entry(&map(", labels: {uid: u}", "")), ""),
        ("a field of the data", entry(&map("", ", data: {uid: u}")), ""),
    ];
    for (name, text, expected) in cases {
        let said = said(&text, "only the API server sets");
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{name}: {said:?}\n{text}");
    }
}
