//! What the tests of all places need: a task, a scope, and a run of one stage.

use jiff::Timestamp;
use lifecycle_core::stage::{Answer, Progress, Stage};
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::scope::Scope;
use serde_json::{Value, json};

/// An expression that fails: it reads a key that does not exist.
pub(crate) const FAILS: &str = "event.nope == 'x'";
pub(crate) const ABSENT: &str = "event.?nope";
pub(crate) const NULL: &str = "null";

pub(crate) fn task(spec: &Value) -> Task {
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &spec.to_string(), &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

pub(crate) fn scope() -> Scope {
    let mut scope = Scope::new("2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap());
    scope.set("event", json!({"id": "c-1"}));
    scope.set("resources", json!({}));
    scope
}

/// Runs a stage; every API call returns the same cluster.
pub(crate) fn drive<S: Stage>(mut stage: S, scope: &mut Scope) -> (S::Done, S) {
    let mut answer = None;
    loop {
        match stage.resume(scope, answer.take()) {
            Progress::Needs(_) => answer = Some(Answer::Called(Ok(r#"{"kind": "Cluster"}"#.to_owned()))),
            Progress::Done(done) => return (done, stage),
        }
    }
}
