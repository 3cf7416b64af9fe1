//! Preconditions and captures whose expression fails or has no value.

use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::stage::{Answer, Progress, Stage};
use serde_json::{Value, json};

use crate::world::{ABSENT, FAILS, NULL, drive, scope, task};

#[test]
fn precondition_that_fails_is_not_met() {
    let verdict = |expression: &str| {
        let task = task(&json!({"preconditions": [{"name": "ready", "expression": expression}]}));
        drive(Evaluator::new(&task), &mut scope()).0
    };
    let unmet = |details: &str| Verdict::NotMet(format!("precondition 'ready' not met: {details}"));
    let error = format!("CEL error: CEL evaluation error for expression \"{FAILS}\": no such key: event.nope");
    assert_eq!(verdict(FAILS), unmet(&error));
    assert_eq!(verdict(NULL), unmet("expression null is false"));
    assert_eq!(verdict("event.id == 'c-2'"), unmet("expression event.id == 'c-2' is false"));
    assert_eq!(verdict("event.id == 'c-1'"), Verdict::Met);
    // An absent optional counts as true in a precondition, as in the Go adapter.
    assert_eq!(verdict(ABSENT), Verdict::Met);
}

#[test]
fn capture_reads_only_the_response_and_is_null_if_it_fails() {
    let capture = |expression: &str| {
        let call = json!({"method": "GET", "url": "/clusters/c-1"});
        let capture = json!([{"name": "value", "expression": expression}]);
        let task = task(&json!({"preconditions": [{"name": "cluster", "api_call": call, "capture": capture}]}));
        let mut scope = scope();
        let (verdict, evaluator) = drive(Evaluator::new(&task), &mut scope);
        assert_eq!(verdict, Verdict::Met, "{expression}");
        (scope.get("value").cloned(), evaluator.into_results()[0].warnings.clone())
    };
    assert_eq!(capture("kind + cluster.kind"), (Some(json!("ClusterCluster")), vec![]));
    assert_eq!(capture("cluster.?nope"), (Some(json!(null)), vec![]));
    for (expression, cause) in
        [("cluster.nope", "no such key: cluster.nope"), ("event.id", "undeclared reference to 'event'")]
    {
        let (value, warnings) = capture(expression);
        assert_eq!(value, Some(json!(null)), "{expression}");
        assert!(warnings.len() == 1 && warnings[0].ends_with(cause), "{warnings:?}");
    }
}

#[test]
fn precondition_fails_on_a_response_that_is_no_object() {
    let verdict = |body: &str, more: Value| {
        let mut precondition = json!({"name": "cluster", "api_call": {"method": "GET", "url": "/clusters/c-1"}});
        precondition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = task(&json!({"preconditions": [precondition]}));
        let mut evaluator = Evaluator::new(&task);
        let mut scope = scope();
        assert!(matches!(evaluator.resume(&mut scope, None), Progress::Needs(_)));
        match evaluator.resume(&mut scope, Some(Answer::Called(Ok(body.to_owned())))) {
            Progress::Done(verdict) => verdict,
            Progress::Needs(need) => panic!("{need:?}"),
        }
    };
    for more in [json!({}), json!({"expression": "true"})] {
        for body in ["[]", "[{}]", r#""ready""#, "5", "true", "null", "", "{} {}"] {
            assert!(matches!(verdict(body, more.clone()), Verdict::Failed(_)), "{body:?}");
        }
        assert_eq!(verdict("{}", more), Verdict::Met);
    }
}
