//! Tests of expressions through the public functions of `cel`: for each source text, the expected result.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod dialect;
mod functions;
mod golden;
mod hostile;
mod names;
mod page;
mod properties;
mod readings;
mod time;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-03-01T12:00:00Z";

/// An event of a cluster whose job has completed and whose namespace exists.
fn scope() -> Scope {
    let mut scope = Scope::new(NOW.parse::<Timestamp>().unwrap());
    let conditions = json!([
        {"type": "Ready", "status": "True", "last_transition_time": "2026-03-01T11:50:00Z"},
        {"type": "Old", "status": "False", "lastTransitionTime": "2026-02-28T12:00:00Z"},
        {"type": "Odd", "status": 1, "last_transition_time": "yesterday"},
        {"type": "Ahead", "status": "True", "last_transition_time": "2026-03-01T12:00:05.5Z"},
    ]);
    for (name, value) in [
        ("generation", json!(7)),
        ("ratio", json!(0.5)),
        ("whole", json!(3.0)),
        ("million", json!(1e6)),
        ("huge", json!(u64::MAX)),
        ("name", json!("héé")),
        ("empty", json!("")),
        ("nothing", json!(null)),
        ("is_deleting", json!(true)),
        ("clusterStatus", json!("installed")),
        ("tags", json!(["b", "a", "b"])),
        ("nested", json!([[1, 2], [3, [4]], []])),
        ("labels", json!({"app": "x", "example.io/tier": "gold"})),
        ("namespace", json!("reserved")),
        ("size", json!("a function's name")),
        ("conditions", conditions),
        ("event", json!({"id": "c-1", "deleted_time": null, "numbers": {"1": "one"}, "html": "<a&b>"})),
        (
            "feedback",
            json!({"values": [
                {"name": "phase", "fieldValue": {"type": "Integer", "integer": 3}},
                {"name": "phase", "fieldValue": {"type": "String", "string": "Active"}},
            ]}),
        ),
        ("adapter", json!({"executionStatus": "success", "executionError": null, "resourcesSkipped": false})),
    ] {
        scope.set(name, value);
    }
    scope.set_member(
        "resources",
        "job",
        Some(json!({
            "metadata": {
                "creationTimestamp": "2026-03-01T11:49:59Z",
                "generation": 3,
                "labels": {"hyperfleet.io/adapter": "x"},
                "annotations": {"example.io/status": "installing", "plain": "p"},
            },
            "status": {"conditions": [
                {"type": "Suspended", "status": "False"},
                {"type": "Complete", "status": "True"},
            ]},
            "spec": {"data": {"a.b": {"c": 1}}},
        })),
    );
    scope.set_member(
        "resources",
        "ns",
        Some(json!({"metadata": {"annotations": {"example.io/status": "installing"}}})),
    );
    scope
}

/// The same event before anything was created.
fn scope_without_resources() -> Scope {
    let mut scope = scope();
    scope.set("resources", json!({}));
    scope
}

fn evaluate(scope: &Scope, source: &str) -> Result<Answer, EvaluationError> {
    Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}")).evaluate(scope)
}

fn check(scope: &Scope, cases: Vec<(&str, Expected)>) {
    for (source, expected) in cases {
        expected.check(source, evaluate(scope, source));
    }
}

/// The result that a test case expects of its expression.
#[derive(Debug)]
enum Expected {
    Is(Value),
    Absent,
    Missing(&'static [&'static str]),
    Undeclared(&'static str),
    Fails(&'static str),
}

impl Expected {
    fn check(&self, source: &str, result: Result<Answer, EvaluationError>) {
        let kind = |kind: EvaluationErrorKind| {
            let error = result.as_ref().expect_err(source);
            assert_eq!(error.kind, kind, "{source}");
        };
        match self {
            Self::Is(value) => {
                assert_eq!(result.unwrap_or_else(|error| panic!("{error}")), Answer::Value(value.clone()), "{source}")
            }
            Self::Absent => assert_eq!(result.unwrap(), Answer::Absent, "{source}"),
            Self::Missing(path) => {
                kind(EvaluationErrorKind::MissingKey { path: path.iter().map(ToString::to_string).collect() });
            }
            Self::Undeclared(name) => kind(EvaluationErrorKind::Undeclared((*name).to_owned())),
            Self::Fails(part) => {
                let error = result.expect_err(source);
                assert_eq!(error.kind, EvaluationErrorKind::Other, "{source}");
                assert!(error.message.contains(part), "{source}: {}", error.message);
            }
        }
    }
}
