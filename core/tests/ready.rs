//! Evaluates the expressions of `docs/reporting.md` that say whether an object is ready: none is true in the pass that
//! writes the object.

#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_language::cel::Expression;
use lifecycle_language::scope::Scope;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../docs/reporting.md");

/// The condition in the row of the page that begins with `object`.
fn of_row(object: &str) -> Expression {
    let row = PAGE.lines().find(|line| line.starts_with(&format!("| {object}"))).unwrap();
    let cell = row.trim_matches('|').split(" | ").nth(1).unwrap();
    Expression::parse(cell.trim().trim_start_matches('`').split('`').next().unwrap()).unwrap()
}

/// The condition of the Deployment, which the page has in a whole task.
fn of_deployment() -> Expression {
    let expression = PAGE.split_once("resources.?app.?status.?observedGeneration").unwrap().1;
    let expression = expression.split_once("? 'True'").unwrap().0;
    Expression::parse(&format!("resources.?app.?status.?observedGeneration{expression}")).unwrap()
}

fn holds(expression: &Expression, name: &str, object: Option<Value>, decision: &str) -> bool {
    let mut scope = Scope::new("2026-01-01T00:00:00Z".parse().unwrap());
    let resources = object.map_or_else(|| json!({}), |object| json!({ name: object }));
    scope.set("resources", resources);
    scope.set("adapter", json!({ "outcomes": { name: { "decision": decision } } }));
    expression.matches(&scope).unwrap()
}

#[test]
fn ready_object_is_one_of_the_present_generation() {
    let deployment = |observed: i64, updated: i64, replicas: i64| {
        json!({
            "metadata": { "generation": 2 },
            "spec": { "replicas": 3 },
            "status": {
                "observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": 3,
                "readyReplicas": 3,
            },
        })
    };
    let set = |observed: i64, update: &str| {
        json!({
            "metadata": { "generation": 2 },
            "spec": { "replicas": 3 },
            "status": { "observedGeneration": observed, "currentRevision": "a", "updateRevision": update, "readyReplicas": 3 },
        })
    };
    let complete = json!([{ "type": "Complete", "status": "True" }]);
    let job = |metadata: Value| json!({ "metadata": metadata, "status": { "conditions": complete } });
    let mirror = |observed: i64| {
        let ready = json!([{ "type": "Ready", "status": "True", "observedGeneration": observed }]);
        json!({ "metadata": { "generation": 2 }, "status": { "conditions": ready } })
    };
    let (store, setup) = (of_row("StatefulSet"), of_row("Job"));
    let (observed, unobserved) =
        (of_row("custom resource `mirror` with `"), of_row("custom resource `mirror` without"));
    let app = of_deployment();
    let cases = [
        ("a Deployment that was just updated", &app, "app", Some(deployment(1, 3, 3)), "update", false),
        ("a Deployment whose old replicas still run", &app, "app", Some(deployment(2, 3, 4)), "skip", false),
        ("a Deployment with an old replica", &app, "app", Some(deployment(2, 2, 3)), "skip", false),
        ("a Deployment that is rolled out", &app, "app", Some(deployment(2, 3, 3)), "skip", true),
        ("a StatefulSet that was just updated", &store, "store", Some(set(1, "a")), "update", false),
        ("a StatefulSet that is rolled out in part", &store, "store", Some(set(2, "b")), "skip", false),
        ("a StatefulSet that is rolled out", &store, "store", Some(set(2, "a")), "skip", true),
        (
            "a Job that terminates",
            &setup,
            "setup",
            Some(job(json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }))),
            "recreate",
            false,
        ),
        ("a Job that was just created", &setup, "setup", Some(json!({ "metadata": {} })), "recreate", false),
        ("a Job that is complete", &setup, "setup", Some(job(json!({}))), "skip", true),
        ("a custom resource that was just updated", &observed, "mirror", Some(mirror(1)), "update", false),
        ("a custom resource that was observed", &observed, "mirror", Some(mirror(2)), "skip", true),
        (
            "one without `observedGeneration` that was just updated",
            &unobserved,
            "mirror",
            Some(mirror(1)),
            "update",
            false,
        ),
        ("one without `observedGeneration` in the next pass", &unobserved, "mirror", Some(mirror(1)), "skip", true),
    ];
    for (name, expression, resource, object, decision, expected) in cases {
        assert_eq!(holds(expression, resource, object, decision), expected, "{name}");
        assert!(!holds(expression, resource, None, "skip"), "{name}: without an object");
    }
}
