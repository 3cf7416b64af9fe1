#![expect(clippy::panic, reason = "tests")]

use super::*;
use lifecycle_core::task::compile::{Surroundings, compile};

const TASK: &str = r#"
params:
  - {name: id, source: event.id}
  - {name: going, source: {expression: "event.kind == 'x'"}}
resources:
  - name: space
    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .id }}"}}
    discovery: {by_name: "{{ .id }}"}
    lifecycle: {delete: {when: {expression: "going && !resources.?app.hasValue() && !resources.?db.hasValue()"}}}
  - name: db
    owner: {resource: space}
    manifest: {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: "{{ .id }}"}}
    discovery: {by_name: db, namespace: "{{ .id }}"}
    lifecycle: {delete: {when: {expression: "going && !resources.?app.hasValue()"}}}
  - name: app
    manifest: {apiVersion: apps/v1, kind: Deployment, metadata: {name: app, namespace: "{{ .id }}"}}
    discovery: {by_name: app, namespace: "{{ .id }}"}
    when: {expression: "resources.?db.?status.?readyReplicas.orValue(0) > 0"}
    lifecycle:
      apply: {when: {expression: "resources.?record.hasValue() || !going"}}
      delete: {when: {expression: going}}
  - name: record
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .id }}", namespace: records}}
    discovery: {by_name: "{{ .id }}", namespace: records}
    lifecycle: {orphan: {when: {expression: going}}}
  - name: extra
    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: extra, namespace: "{{ .id }}"}}
    discovery: {by_name: extra, namespace: "{{ .id }}"}
    lifecycle: {create: {when: {expression: "!resources.?app.hasValue()"}}}
"#;

/// One line for each wait.
fn shown(waits: &[Wait<'_>]) -> Vec<String> {
    waits.iter().map(|wait| format!("{} {:?}", wait.name, wait.because)).collect()
}

#[test]
fn order_lists_what_each_resource_waits_for() {
    let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
    let compiled = compile("task.yaml", TASK, &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let orders = order(&task);
    let expected: [(&str, &[&str], &[&str], End<'_>); 5] = [
        ("space", &[], &["db Gone(\"delete\")", "app Gone(\"delete\")", "record Disowned"], End::Deleted),
        ("db", &["space Owner"], &["app Gone(\"delete\")", "record Disowned"], End::Deleted),
        (
            "app",
            &["space Namespace", "db Present(\"when\")", "record Read(\"apply\")"],
            &["record Disowned"],
            End::Deleted,
        ),
        ("record", &[], &[], End::Disowned),
        ("extra", &["space Namespace", "app Gone(\"create\")"], &[], End::With("space")),
    ];
    assert_eq!(orders.len(), expected.len());
    for (order, (name, creation, deletion, end)) in orders.iter().zip(expected) {
        assert_eq!(order.resource.name, name);
        assert_eq!(shown(&order.creation), creation, "{name}");
        assert_eq!(shown(&order.deletion), deletion, "{name}");
        assert_eq!(order.end, end, "{name}");
    }
}
