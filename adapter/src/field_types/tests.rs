use super::*;
use lifecycle_core::task::compile::{Surroundings, compile};

/// What the lint tells of a task.
fn linted(resource: &str) -> Diagnostics {
    let text = format!(
        "params: [{{name: image, source: event.image}}]\nresources:\n  - name: app\n    discovery: {{by_name: app, namespace: n}}\n{resource}"
    );
    let compiled =
        compile("task.yaml", &text, &Surroundings { read: &|file| Err(file.to_owned()), environment: &|_| None });
    let task = compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics));
    let document = Document::parse("task.yaml", &text).unwrap_or_else(|error| panic!("{error:?}"));
    lint(&task, &document)
}

/// A Pod whose container has this environment.
fn pod(environment: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: app, namespace: n}}, spec: {{containers: [{{name: main, env: [{environment}]}}]}}}}"
    )
}

/// The entry's manifest is a work with this one inside.
fn in_work(manifest: &str) -> String {
    format!(
        "    manifest:\n      apiVersion: work.open-cluster-management.io/v1\n      kind: ManifestWork\n      metadata: {{name: app, \
         namespace: n}}\n      spec: {{workload: {{manifests: [{manifest}]}}}}\n"
    )
}

#[test]
fn equal_keys_and_other_types_are_named_at_the_object() {
    let equal = pod("{name: A, value: \"1\"}, {name: \"A\", value: \"{{ .image }}\"}");
    let (number, sound) = (pod("{name: A, value: 1}"), pod("{name: A, value: \"1\"}"));
    let tagged = pod("{name: A, value: !!int \"{{ .image }}\"}");
    let as_text = |manifest: &str| {
        let fields = manifest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        let lines = [", kind", ", metadata", ", spec"];
        let fields =
            lines.iter().fold(fields.to_owned(), |text, key| text.replace(key, &key.replace(", ", "\n      ")));
        format!("    manifest: |\n      {fields}\n")
    };
    let entry = |manifest: &str| format!("    manifest: {manifest}\n");
    let twice = "`spec.containers[0].env` has two elements with the name \"A\"";
    let wanted = "env[0].value: is a number, and Kubernetes wants text";
    let inside = "resources[0].manifest.spec.workload.manifests[0]";
    let cases = [
        ("equal keys", entry(&equal), twice, false),
        ("equal keys inside of a work", in_work(&equal), twice, false),
        ("their place", in_work(&equal), inside, false),
        ("a number", entry(&number), wanted, true),
        ("a number inside of a work", in_work(&number), wanted, true),
        ("its place", in_work(&number), inside, true),
        ("a number in a text", as_text(&number), "manifest: spec.containers[0].env[0].value is a number, and", true),
        ("a template behind a tag", entry(&tagged), wanted, true),
        ("a sound object", entry(&sound), "", false),
        ("a sound object inside of a work", in_work(&sound), "", false),
    ];
    for (name, resource, expected, is_error) in cases {
        let found = linted(&resource);
        assert!(found.to_string().contains(expected) && found.has_errors() == is_error, "{name}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{name}: {found}");
    }
}

/// What the lint says of a task with this entry.
fn said_of(entry: &str) -> String {
    let text = format!("resources:\n  - name: web\n{entry}");
    let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics));
    let document = Document::parse("task.yaml", &text).unwrap_or_else(|error| panic!("{error:?}"));
    lint(&task, &document).all().iter().map(ToString::to_string).collect()
}

#[test]
fn comparison_with_a_field_of_another_type_is_a_warning() {
    let gated = |gate: &str| {
        said_of(&format!(
            "    discovery: {{by_name: web, namespace: n}}\n    manifest: {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, \
             namespace: n}}}}\n    lifecycle: {{patch: [{{when: {{expression: \"{gate}\"}}, document: {{spec: {{replicas: 3}}}}}}]}}\n"
        ))
    };
    let cases = [
        ("resources.web.spec.replicas != '3'", "compares a number with a text by `!=`, which is always true"),
        ("resources.?web.?spec.?replicas.orValue(0) != '3'", "compares a number with a text"),
        ("dig(resources.web, 'spec.replicas') != '3'", "compares a number with a text"),
        ("resources.web.metadata.annotations['example.io/size'] != 3", "compares a text with a number"),
        ("resources.web.spec.paused == 'true'", "compares a boolean with a text"),
        ("resources.web.spec.replicas != 3", ""),
        ("resources.?web.?spec.?replicas.orValue('') != '3'", ""),
        ("resources.web.metadata.annotations['example.io/size'] != '3'", ""),
        ("resources.web.spec.template.spec.containers[0].ports[0].name != 'http'", ""),
        ("event.spec.replicas != '3'", ""),
    ];
    for (gate, expected) in cases {
        let told = gated(gate);
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{gate}: {told}");
    }
}

#[test]
fn equal_keys_are_told_of_manifests_in_every_form() {
    let env = "spec: {containers: [{name: c, image: a, env: [{name: A}, {name: A}]}]}";
    let pod = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: web, namespace: n}}, {env}}}");
    let discovery = "    discovery: {by_name: web, namespace: n}\n";
    let lines = format!("apiVersion: v1\n      kind: Pod\n      metadata: {{name: web, namespace: n}}\n      {env}");
    let cases = [
        ("a mapping", format!("{discovery}    manifest: {pod}\n")),
        ("a text", format!("{discovery}    manifest: |\n      {lines}\n")),
        ("a member", format!("    bundle: {{name: web, namespace: n, manifests: [{pod}]}}\n")),
        (
            "a member in a text",
            format!(
                "    bundle:\n      name: web\n      namespace: n\n      manifests:\n        - |\n          {pod}\n"
            ),
        ),
    ];
    for (name, entry) in cases {
        let told = said_of(&entry);
        assert!(told.contains("has two elements with the name \"A\""), "{name}: {told}");
    }
}
