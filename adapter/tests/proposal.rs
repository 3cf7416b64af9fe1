//! Tests of statements in the READMEs of `examples/`: expressions and names of the design proposal fail in
//! the described way.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use jiff::Timestamp;
use lifecycle_language::cel::{Answer, Expression};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use serde_json::{Value, json};

const NOW: &str = "2026-09-14T08:00:00Z";

fn scope(variables: &[(&str, Value)]) -> Scope {
    let mut scope = Scope::new(NOW.parse::<Timestamp>().unwrap());
    for (name, value) in variables {
        scope.set(name, value.clone());
    }
    scope
}

/// Returns `holds`, `does not hold`, `no value`, or the error's message.
fn answer(expression: &str, scope: &Scope) -> String {
    let expression = Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    match expression.evaluate(scope) {
        Ok(Answer::Absent) => "no value".to_owned(),
        Ok(answer) if answer.is_truthy() => "holds".to_owned(),
        Ok(_) => "does not hold".to_owned(),
        Err(error) => error.message,
    }
}

#[test]
fn expressions_of_the_proposal_fail_as_the_readmes_state() {
    let annotated =
        |annotations: Value| scope(&[("resources", json!({"x": {"metadata": {"annotations": annotations}}}))]);
    let bare = || scope(&[("resources", json!({"x": {"metadata": {"name": "x"}}})), ("wanted", json!("ready"))]);
    let conditions = |conditions: Value| scope(&[("clusterResource", json!({"status": {"conditions": conditions}}))]);

    let rotated = r#"dig(resources.x.metadata.annotations, "example.io/rotated-at") < now()"#;
    let certificate = r#"dig(clusterResource, "status.conditions").filter(c, c.type == "CertRotated")
        .all(c, c.lastTransitionTime < timestamp(now()).toUnixTime() - 86400)"#;
    let status = r#"dig(resources.x.metadata.annotations, "example.io/status") != wanted"#;
    let complete = r#"resources.x.status.conditions.exists(c, c.type == "Complete" && c.status == "True")"#;
    let managed = r#""hyperfleet.io/adapter" in resources.x.metadata.labels"#;

    let cases = [
        ("21: no annotations at all", status, bare(), "no such key: resources.x.metadata.annotations"),
        ("22: no labels at all", managed, bare(), "no such key: resources.x.metadata.labels"),
        (
            "24: rotated ten seconds ago",
            rotated,
            annotated(json!({"example.io/rotated-at": "2026-09-14T07:59:50Z"})),
            "holds",
        ),
        (
            "24: never rotated",
            rotated,
            annotated(json!({"other": "1"})),
            "found no matching overload for '_<_' applied to '(null_type, string)'",
        ),
        (
            "24: rotated an hour ago, in another notation",
            rotated,
            annotated(json!({"example.io/rotated-at": "2026-09-14T09:00:00+02:00"})),
            "does not hold",
        ),
        (
            "25: text and number",
            certificate,
            conditions(json!([{"type": "CertRotated", "lastTransitionTime": "2026-09-01T00:00:00Z"}])),
            "found no matching overload for '_<_' applied to '(string, int)'",
        ),
        ("25: nobody has reported it", certificate, conditions(json!([])), "holds"),
        ("26: a fresh job", complete, bare(), "no such key: resources.x.status"),
    ];
    for (name, expression, scope, expected) in cases {
        assert_eq!(answer(expression, &scope), expected, "{name}");
    }
}

#[test]
fn job_name_of_the_proposal_is_invalid() {
    let scope = scope(&[("clusterId", json!("c-7f3a"))]);
    let render = |template: &str| Template::parse(template).unwrap().render(&scope).unwrap().into_owned();
    let proposed = render(r#"{{ .clusterId }}-job-{{ .now | replace ":" "-" }}"#);
    assert_eq!(proposed, "c-7f3a-job-:", "a pipe passes its value as the last argument, which is the replacement");
    let as_meant = render(r#"{{ .clusterId }}-job-{{ replace .now ":" "-" }}"#);
    assert_eq!(as_meant, "c-7f3a-job-2026-09-14T08-00-00Z", "upper-case letters are not allowed in names");
    let corrected = render(r#"{{ .clusterId }}-job-{{ .now | date "20060102-150405" }}"#);
    assert_eq!(corrected, "c-7f3a-job-20260914-080000");
}
