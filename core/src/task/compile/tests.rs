#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use jiff::{SignedDuration, Timestamp};
use lifecycle_config::diagnostics::Severity;
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::write::PropagationPolicy;
use proptest::prelude::*;
use serde_json::json;

use super::{Surroundings, compile};
use crate::condition::evaluate;
use crate::task::{CaptureSource, Check, DiscoverBy, Manifest, ParamSource, PayloadNode, Recreate, Retention, Task};

const FILES: [(&str, &str); 4] = [
    (
        "job.yaml",
        "apiVersion: batch/v1 # fixed\nkind: \"Job\"\nmetadata:\n  name: {{ .clusterId }}\n  namespace: {{ .nope }}\n",
    ),
    ("status.yaml", "adapter: x\nconditions:\n  - type: Available\n    status: {expression: \"'a' ==\"}\n"),
    ("list.yaml", "- a\n"),
    ("sound.yaml", "adapter: \"{{ .adapter.name }}\"\n"),
];

fn read(reference: &str) -> Result<String, String> {
    let file = FILES.iter().find(|(name, _)| *name == reference);
    file.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("failed to read \"{reference}\": it does not exist"))
}

fn environment(name: &str) -> Option<String> {
    (name == "REGION").then(|| "eu".to_owned())
}

fn surroundings() -> Surroundings<'static> {
    Surroundings { read: &read, environment: &environment }
}

fn compiled_task(text: &str) -> Task {
    let compiled = compile("task.yaml", text, &surroundings());
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

/// Compiles every case, and prints the texts with their diagnostics.
fn rendered(cases: &[(&str, &str)]) -> String {
    let render = |(name, text): &(&str, &str)| {
        format!("##### {name}\n{text}\n-----\n{}\n", compile("task.yaml", text, &surroundings()).diagnostics)
    };
    cases.iter().map(render).collect::<Vec<_>>().join("\n")
}

mod at_events;
mod booleans;
mod bundle;
mod cases;
mod lifecycle;

/// Compiles every case, and prints the texts with their diagnostics; `resources` makes a list of resources of
/// a case.
fn rendered_with<'c>(cases: &[(&'c str, &str)], resources: &dyn Fn(&str) -> String) -> String {
    let file = |(name, text): &(&'c str, &str)| {
        (*name, format!("params: [{{name: clusterId, source: event.id}}]\nresources:\n{}", resources(text)))
    };
    let files: Vec<(&str, String)> = cases.iter().map(file).collect();
    rendered(&files.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>())
}

fn found_by_name(more: &str) -> String {
    format!("  - name: job\n    manifest: {{apiVersion: batch/v1, kind: Job}}\n    discovery: {{by_name: x}}\n{more}")
}

fn found_by_labels(more: &str) -> String {
    found_by_name(more).replace("by_name: x", "by_selectors: {label_selector: {app: x}}")
}

fn second(more: &str) -> String {
    format!(
        "  - {{name: first, manifest: {{apiVersion: v1, kind: Namespace}}, discovery: {{by_name: x}}}}\n{}",
        found_by_name(more)
    )
}

#[test]
fn mistakes_in_structure_are_reported() {
    insta::assert_snapshot!(rendered(cases::STRUCTURE));
}

#[test]
fn mistakes_in_params_and_preconditions_are_reported() {
    insta::assert_snapshot!(rendered(cases::PARAMS));
}

#[test]
fn mistakes_in_resources_are_reported() {
    insta::assert_snapshot!(rendered(cases::RESOURCES));
}

#[test]
fn mistakes_in_gates_are_reported() {
    insta::assert_snapshot!(rendered_with(lifecycle::GATES, &found_by_name));
}

#[test]
fn mistakes_in_patches_are_reported() {
    insta::assert_snapshot!(rendered_with(lifecycle::PATCHES, &second));
}

#[test]
fn mistakes_in_retention_are_reported() {
    let by_name = [("retention of a resource that is found by name", "    retention: {historyLimit: 1}\n")];
    let rendered =
        rendered_with(&by_name, &found_by_name) + "\n" + &rendered_with(lifecycle::RETENTION, &found_by_labels);
    insta::assert_snapshot!(rendered);
}

#[test]
fn mistakes_in_owners_are_reported() {
    insta::assert_snapshot!(rendered_with(lifecycle::OWNERS, &str::to_owned));
}

#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    insta::assert_snapshot!(rendered(&[("everything at once", lifecycle::EVERYTHING)]));
}

#[test]
fn mistakes_in_payloads_and_actions_are_reported() {
    insta::assert_snapshot!(rendered(cases::POST));
}

#[test]
fn complete_task_compiles_every_key() {
    let task = compiled_task(cases::COMPLETE);
    let sources = task.params.iter().map(|param| match &param.source {
        ParamSource::Environment(name) => format!("env {name}"),
        ParamSource::Event(path) => format!("event {path}"),
        ParamSource::Config(path) => format!("config {path}"),
        ParamSource::Path(path) => format!("path {path}"),
        ParamSource::ApiCall(call) => format!("{} {}", call.method.as_str(), call.url.source()),
        ParamSource::Expression(expression) => format!("= {}", expression.source()),
        ParamSource::File { path, trim } => format!("file {path} {trim}"),
    });
    assert_eq!(
        sources.collect::<Vec<_>>(),
        [
            "event id",
            "event generation",
            "env REGION",
            "config clients.broker.topic",
            "path cluster.spec.name",
            "GET /clusters/{{ .clusterId }}",
            "= cluster.?deleted_time.orValue(null) != null",
            "file /etc/pull-secret true",
        ]
    );
    let [precondition] = task.preconditions.as_slice() else { panic!("one precondition") };
    assert!(matches!(&precondition.check, Check::Conditions(conditions) if conditions.len() == 3));
    assert!(matches!(
        precondition.captures.as_slice(),
        [a, b] if matches!(a.source, CaptureSource::Field(_)) && matches!(b.source, CaptureSource::Expression(_))
    ));
    let [namespace, job, run] = task.resources.as_slice() else { panic!("three resources") };
    assert_eq!(namespace.kind, GroupVersionKind::new("v1", "Namespace"));
    assert!(matches!(namespace.manifest, Manifest::Inline(_)));
    assert!(matches!(namespace.discovery.by, DiscoverBy::Name(_)));
    assert_eq!(job.kind, GroupVersionKind::new("batch/v1", "Job"));
    assert!(matches!(job.manifest, Manifest::Text(_)));
    assert!(matches!(&job.discovery.by, DiscoverBy::Labels(labels) if labels.len() == 2));
    assert!(matches!(job.gates.recreate, Some(Recreate::When(_))));
    assert_eq!(job.gates.delete.as_ref().unwrap().propagation, PropagationPolicy::Foreground);
    assert_eq!(job.nested[0].name, "inner");
    assert_eq!(job.gates.when.as_ref().unwrap().source(), "clusterId != ''");
    assert_eq!(job.gates.apply.as_ref().unwrap().source(), "!isDeleting");
    assert_eq!(job.gates.orphan.as_ref().unwrap().source(), "isDeleting && phase == 'Handover'");
    assert_eq!(job.owner, Some(0));
    assert_eq!(run.gates.orphan.as_ref().unwrap().source(), "isDeleting");
    assert_eq!(
        run.retention,
        Some(Retention { history_limit: Some(0), ttl: Some(SignedDuration::from_secs(90 * 60)) })
    );
    let [tier, clear] = job.gates.patches.as_slice() else { panic!("two patches") };
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("phase", json!("Ready"));
    assert_eq!(tier.when.source(), "true");
    assert_eq!(
        tier.document.render(&scope).unwrap(),
        json!({"metadata": {"labels": {"example.io/phase": "Ready"}, "annotations": {"example.io/old": null}}})
    );
    assert_eq!(clear.document.render(&scope).unwrap(), json!({"spec": {"suspend": null, "parallelism": 2}}));
    assert!(matches!(task.payloads[0].build, PayloadNode::Map(_)));
    assert!(matches!(task.payloads[1].build, PayloadNode::Literal(_)));
    assert_eq!(task.actions[1].body_payloads, ["status"]);
    assert_eq!(task.environment.iter().collect::<Vec<_>>(), ["HOME", "POD_NAME", "REGION", "ZONE"]);
}

#[test]
fn odd_conditions_that_go_accepts_give_the_same_result() {
    let task = compiled_task(
        "preconditions:\n  - {name: a, conditions: []}\n  - {name: b, conditions: [{operator: exists}]}\n  \
         - {name: c, conditions: [{field: $.a, operator: notEquals, value: 1}]}\n",
    );
    assert!(matches!(task.preconditions[0].check, Check::CallSucceeds));
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("a", json!(1));
    let met = task.preconditions[1..].iter().map(|precondition| match &precondition.check {
        Check::Conditions(conditions) => evaluate(&conditions[0], &scope).unwrap().matched,
        Check::CallSucceeds | Check::Expression(_) => panic!("a condition"),
    });
    assert_eq!(met.collect::<Vec<_>>(), [false, true], "null does not exist, and does not equal 1");
}

#[test]
fn unquoted_date_in_an_inline_manifest_renders_as_in_go() {
    let task = compiled_task(
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {since: 2026-01-02, on: yes, 007: x}}\n    \
         discovery: {by_name: x}\n",
    );
    let Manifest::Inline(tree) = &task.resources[0].manifest else { panic!("an inline manifest") };
    let object = tree.render(&Scope::new(Timestamp::UNIX_EPOCH)).unwrap();
    assert_eq!(object["data"], json!({"since": "2026-01-02T00:00:00Z", "on": "yes", "7": "x"}));
}

#[test]
fn payload_distinguishes_value_definitions_from_mappings() {
    let task = compiled_task(
        "post: {payloads: [{name: p, build: {field: top, a: {expression: '1', default: 0}, b: {field: {x: y}}, \
         c: {value: 1}, d: {field: ' ', default: 7}}}]}",
    );
    let PayloadNode::Map(entries) = &task.payloads[0].build else { panic!("the top is a mapping") };
    let kinds: Vec<_> = entries
        .iter()
        .map(|(key, node)| {
            let kind = match node {
                PayloadNode::Literal(value) => value.to_string(),
                PayloadNode::Text(text) => text.source().to_owned(),
                PayloadNode::List(_) => "list".to_owned(),
                PayloadNode::Map(_) => "map".to_owned(),
                PayloadNode::Lookup { .. } => "lookup".to_owned(),
            };
            format!("{}: {kind}", key.source())
        })
        .collect();
    assert_eq!(kinds, ["a: lookup", "b: map", "c: map", "d: 7", "field: top"]);
}

#[test]
fn empty_file_compiles_to_an_empty_task() {
    for text in ["{}", "params:\nresources: []\npost: {}\n", "~"] {
        let task = compiled_task(text);
        assert!(task.params.is_empty() && task.resources.is_empty() && task.actions.is_empty(), "{text}");
    }
}

#[test]
fn task_with_warnings_compiles() {
    let compiled = compile("task.yaml", "params: [{name: a, source: event.id, type: strnig}]", &surroundings());
    assert_eq!(compiled.diagnostics.count(Severity::Warning), 1);
    assert!(compiled.task.is_some());
}

#[test]
fn invalid_regular_expression_is_reported_at_load() {
    let params =
        |pattern: &str| format!("params: [{{name: a, source: {{expression: \"event.id.matches('{pattern}')\"}}}}]\n");
    let messages = |text: &str| {
        let diagnostics = compile("task.yaml", text, &surroundings()).diagnostics;
        diagnostics.all().iter().map(|mistake| (mistake.severity, mistake.message.clone())).collect::<Vec<_>>()
    };
    let cases = [
        ("(?=a)", "matches() always fails: `(?=` in the pattern: look-around"),
        ("a{2,1}", "matches() always fails: `{2,1}` in the pattern: invalid repetition count range"),
        (
            ".{1000}.{1000}.{1000}.{1000}.{1000}.{1000}.{1000}",
            "matches() always fails: the pattern is too large once its counted",
        ),
    ];
    for (pattern, expected) in cases {
        let found = messages(&params(pattern));
        assert!(
            matches!(found.as_slice(), [(Severity::Warning, message)] if message.starts_with(expected)),
            "{pattern}: {found:?}"
        );
        let gate = format!("    when: {{expression: \"event.id.matches('{pattern}')\"}}\n");
        let found = messages(&format!("resources:\n{}", found_by_name(&gate)));
        assert!(found.iter().any(|(severity, message)| *severity == Severity::Error && message.starts_with(expected)));
    }
    assert_eq!(messages(&params("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")), []);
}

/// The complete task with one of its lines damaged.
fn damaged() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = cases::COMPLETE.lines().collect();
    let count = lines.len();
    (0..count, 0..6_usize, any::<String>()).prop_map(move |(at, how, noise)| {
        let damaged = lines.iter().enumerate().map(|(index, line)| match how {
            _ if index != at => (*line).to_owned(),
            0 => String::new(),
            1 => format!("{line}{noise}"),
            2 => format!("  {line}"),
            3 => line.replace(':', ""),
            4 => line.replace(['{', '}'], ""),
            _ => line.replace(|c: char| c.is_alphabetic(), "x"),
        });
        damaged.collect::<Vec<_>>().join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_task_file_compiles_or_has_errors(text in damaged()) {
        let compiled = compile("task.yaml", &text, &surroundings());
        prop_assert_eq!(compiled.task.is_none(), compiled.diagnostics.has_errors());
    }
}

#[test]
fn manifest_with_labels_and_annotations_of_the_adapter_is_refused_where_gates_rely_on_them() {
    let with = |metadata: &str, lifecycle: &str| {
        let manifest = format!("apiVersion: v1, kind: Pod, metadata: {{name: x, {metadata}}}");
        let text = format!("apiVersion: v1\n      kind: Pod\n      metadata: {{name: x, {metadata}}}");
        [format!("{{{manifest}}}"), format!("|\n      {text}")].map(|manifest| {
            let text = format!(
                "params: [{{name: id, source: event.id}}]\nresources:\n  - name: a\n    discovery: {{namespace: y, by_name: x}}\n    \
                 manifest: {manifest}\n{lifecycle}"
            );
            compile("task.yaml", &text, &surroundings()).diagnostics.to_string()
        })
    };
    let gate = "    lifecycle: {delete: {when: {expression: \"true\"}}}\n";
    let refused = [
        ("labels: {hyperfleet.io/resource-id: shared}", "writes \"shared\" as the label `hyperfleet.io/resource-id`"),
        ("labels: {hyperfleet.io/resource: b}", "the adapter stamps \"a\", the name of the entry"),
        ("annotations: {hyperfleet.io/ownership-proof: '{{ .id }}'}", "the annotation `hyperfleet.io/ownership-proof`"),
        ("annotations: {hyperfleet.io/deletion: x}", "the annotation `hyperfleet.io/deletion`"),
    ];
    for (metadata, message) in refused {
        for (lifecycle, count) in [(gate, "1 error, 0 warnings"), ("", "0 errors, 1 warning")] {
            for told in with(metadata, lifecycle) {
                assert!(told.contains(message) && told.contains("remove it from the manifest"), "{metadata}: {told}");
                assert!(told.ends_with(count), "{metadata}: {told}");
            }
        }
    }
    let accepted = [
        "labels: {hyperfleet.io/resource-id: '{{ .id }}', hyperfleet.io/resource: a}",
        "annotations: {hyperfleet.io/generation: '7'}",
    ];
    for told in accepted.into_iter().flat_map(|metadata| with(metadata, gate)) {
        assert!(told.contains("0 errors"), "{told}");
    }
}

#[test]
fn manifest_with_the_label_disowned_is_refused() {
    let with = |manifest: &str| {
        let text = format!("resources:\n  - name: a\n    discovery: {{by_name: x}}\n    manifest: {manifest}\n");
        compile("task.yaml", &text, &surroundings()).diagnostics.to_string()
    };
    let inline = with("{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {hyperfleet.io/disowned: c1}}}");
    let text = with(
        "|\n      apiVersion: v1\n      kind: Pod\n      metadata: {name: x, labels: {hyperfleet.io/disowned: c1}}",
    );
    for refused in [&inline, &text] {
        assert!(refused.contains("remove the label, and use `lifecycle.orphan`"), "{refused}");
        assert!(refused.contains("1 error"), "{refused}");
    }
    assert!(inline.contains(r#"resources[0].manifest.metadata.labels["hyperfleet.io/disowned"]"#), "{inline}");
    let annotation =
        with("{apiVersion: v1, kind: Pod, metadata: {name: x, annotations: {hyperfleet.io/disowned: c1}}}");
    assert!(annotation.contains("0 errors"), "{annotation}");
}
