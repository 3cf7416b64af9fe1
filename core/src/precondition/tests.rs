//! Tests of preconditions whose API call cannot be rendered.
#![expect(clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;
use crate::task::compile::{Surroundings, compile};

#[test]
fn call_whose_url_would_leave_its_path_is_never_made() {
    let text = json!({
        "params": [{ "name": "clusterId", "source": "event.id" }],
        "preconditions": [{ "name": "cluster", "api_call": { "method": "GET", "url": "/clusters/{{ .clusterId }}" } }],
    });
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text.to_string(), &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let verdict_of = |id: &str| {
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        scope.set("clusterId", id.into());
        Evaluator::new(&task).resume(&mut scope, None)
    };

    let Progress::Needs(Need::Call(request)) = verdict_of("c-1") else { panic!("a call is wanted") };
    assert_eq!(request.url, "/clusters/c-1");
    for id in ["../../x", "../nodepools/y", "..", "c-1?x"] {
        let progress = verdict_of(id);
        let Progress::Done(Verdict::Failed(error)) = progress else { panic!("{id}: {progress:?}") };
        assert!(error.message.contains(id), "{id}: {error}");
    }
}
