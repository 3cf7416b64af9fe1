//! Tests of gates that take away an object and whose value is no boolean.

use lifecycle_config::diagnostics::Severity;

use super::{compile, surroundings};

const PARAMS: &str = "params:
  - {name: cluster, source: {api_call: {method: GET, url: /clusters/x}}}
  - {name: isDeleting, source: {expression: \"cluster.?deleted_time.orValue(null) != null\"}}
  - {name: word, source: {expression: \"isDeleting ? 'True' : 'False'\"}}
  - {name: region, source: env.REGION}
  - {name: flag, source: env.REGION, type: bool}
  - {name: count, source: event.count, type: int}
  - {name: generation, source: event.generation}
  - {name: twice, source: event.id}
  - {name: twice, source: event.flag}
  - {name: defaulted, source: event.flag, default: none}
preconditions:
  - {name: p, expression: \"true\", api_call: {method: GET, url: /clusters/x}, capture: [{name: phase, expression: \"string(status)\"}, {name: ready, field: status.ready}]}
";

fn with(key: &str, expression: &str) -> String {
    let quoted = serde_json::json!(expression);
    format!(
        "{PARAMS}resources:\n  - name: job\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: n}}}}\n    \
         discovery: {{by_name: a, namespace: n}}\n    lifecycle: {{{key}: {{when: {{expression: {quoted}}}}}}}\n"
    )
}

/// The mistakes at the gate, with the severity, the message and the cure.
fn found(key: &str, expression: &str) -> Vec<(Severity, String)> {
    let compiled = compile("task.yaml", &with(key, expression), &surroundings());
    let path = format!("resources[0].lifecycle.{key}.when.expression");
    let at_gate = compiled.diagnostics.all().iter().filter(|found| found.path == path);
    at_gate
        .map(|found| (found.severity, format!("{} | {}", found.message, found.help.clone().unwrap_or_default())))
        .collect()
}

#[test]
fn gate_that_takes_an_object_away_and_is_never_a_boolean_is_refused() {
    let cases = [
        ("'isDeleting'", "gives a text", "remove these quotes, if the text is meant as an expression: `isDeleting`"),
        ("isDeleting ? 'True' : 'False'", "gives a text", "`(isDeleting ? 'True' : 'False') == \"True\"`"),
        ("isDeleting ? 1 : 0", "gives a number", "`(isDeleting ? 1 : 0) > 0`"),
        ("string(isDeleting)", "gives a text", "`string(isDeleting) == \"True\"`"),
        ("word", "gives a text", "`word == \"True\"`"),
        ("region", "gives a text", "`region == \"True\"`"),
        ("env.REGION", "gives a text", "`env.REGION == \"True\"`"),
        ("count", "gives a number", "`count > 0`"),
        ("generation", "gives a number", "`generation > 0`"),
        ("cluster", "gives a mapping", "`cluster.size() > 0`"),
        ("event.id", "gives a text", "`event.id == \"True\"`"),
        ("phase", "gives a text", "`phase == \"True\"`"),
        ("null", "gives null", "`null == true`"),
        ("optional.none()", "gives an optional without a value", "write a test"),
        ("isDeleting ? 'True' : 0", "gives a number or a text", "write a test"),
    ];
    for key in ["delete", "orphan", "detach", "recreate"] {
        for (expression, gives, cure) in cases {
            let found = found(key, expression);
            let [(Severity::Error, message)] = found.as_slice() else { panic!("{key} {expression}: {found:?}") };
            assert!(message.starts_with(gives) && message.contains(cure), "{key} {expression}: {message}");
        }
    }
}

#[test]
fn gate_that_is_a_boolean_in_some_events_alone_gets_a_warning() {
    for (expression, can) in [
        ("cluster.?deleted_at.orValue('none')", "can give a text, "),
        ("isDeleting ? true : 'no'", "can give a text, "),
        ("defaulted", "can give a text, "),
    ] {
        let found = found("delete", expression);
        let [(Severity::Warning, message)] = found.as_slice() else { panic!("{expression}: {found:?}") };
        assert!(message.starts_with(can), "{expression}: {message}");
    }
}

#[test]
fn gate_whose_value_an_event_brings_loads() {
    for expression in [
        "isDeleting",
        "isDeleting && word == 'True'",
        "flag",
        "ready",
        "twice",
        "cluster.spec.gone",
        "cluster.?spec.?gone.orValue(false)",
        "dig(cluster, 'spec.gone')",
        "resources.?job.hasValue()",
        "true",
    ] {
        for key in ["delete", "orphan", "recreate"] {
            assert_eq!(found(key, expression), [], "{key} {expression}");
        }
    }
}

#[test]
fn gates_of_writes_take_any_value_as_the_go_adapter_does() {
    for key in ["create", "apply"] {
        assert_eq!(found(key, "isDeleting ? 'True' : 'False'"), [], "{key}");
    }
}
