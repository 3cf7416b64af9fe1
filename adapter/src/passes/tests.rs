#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_core::precondition::Verdict;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::Generation;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn task() -> Task {
    let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| None };
    let compiled = compile("task.yaml", "resources: []\n", &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

fn event(resource_id: &str, number: i64) -> LifecycleEvent {
    LifecycleEvent {
        event_id: format!("e-{number}"),
        source: "tests".to_owned(),
        event_type: "reconcile".to_owned(),
        time: None,
        traceparent: None,
        tracestate: None,
        resource_id: resource_id.to_owned(),
        kind: "Cluster".to_owned(),
        href: String::new(),
        generation: Generation(number),
        owner: None,
        data: Value::Null,
    }
}

fn report(verdict: Verdict) -> PassReport {
    PassReport {
        scope: Scope::new(Timestamp::UNIX_EPOCH),
        params_error: None,
        replaced: Vec::new(),
        defaulted: Vec::new(),
        is_malformed: false,
        verdict: Some(verdict),
        preconditions: Vec::new(),
        outcomes: Vec::new(),
        post: None,
        calls: Vec::new(),
        logs: Vec::new(),
    }
}

fn keep(passes: &Passes, task: &Task, resource_id: &str, number: i64, verdict: Verdict) {
    let (event, report) = (event(resource_id, number), report(verdict));
    let now = Timestamp::from_second(number).unwrap();
    let took = Duration::from_millis(12);
    passes.keep(&Ended { event: &event, now, took, trace_id: None, task, report: &report });
}

fn generations(found: &Found) -> Vec<i64> {
    let generation = |text: &Bytes| {
        serde_json::from_slice::<Value>(text).unwrap().pointer("/event/generation").and_then(Value::as_i64).unwrap()
    };
    found.texts.iter().map(generation).collect()
}

#[test]
fn newest_passes_are_found_first() {
    let (passes, task) = (Passes::new(4, 1 << 20), task());
    for (number, id) in [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "b")] {
        let verdict = if number == 5 { Verdict::NotMet("`ready` is false".to_owned()) } else { Verdict::Met };
        keep(&passes, &task, id, number, verdict);
    }
    let cases = [
        ("all", None, 500, vec![5, 4, 3, 2]),
        ("the newest", None, 2, vec![5, 4]),
        ("of one resource, the first being gone", Some("a"), 500, vec![4, 3]),
        ("the newest of one resource", Some("b"), 1, vec![5]),
        ("of another resource", Some("c"), 500, vec![]),
    ];
    for (name, id, limit, expected) in cases {
        let found = passes.find(id, limit);
        assert_eq!(generations(&found), expected, "{name}");
        let Totals { success, failed, skipped, failures } = found.totals;
        assert_eq!((success, failed, skipped, failures.len()), (4, 0, 1, 0), "{name}: counts have no limit");
        assert_eq!(found.extent.oldest, Some(Timestamp::from_second(2).unwrap()), "{name}");
    }
    let newest: Value = serde_json::from_slice(&passes.find(None, 1).texts[0]).unwrap();
    let expected = serde_json::json!({
        "time": "1970-01-01T00:00:05Z", "duration_seconds": 0.012, "status": "skipped", "notMet": "`ready` is false",
        "event": {"id": "e-5", "kind": "Cluster", "resourceId": "b", "generation": 5},
    });
    assert_eq!(newest, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn kept_passes_never_exceed_count_and_bytes(
        most in 1_usize..20,
        most_bytes in 65_536_usize..80_000,
        ids in prop::collection::vec(("[a-z\u{1}]{0,9}", 1_usize..1000), 1..40),
    ) {
        let (passes, task) = (Passes::new(most, most_bytes), task());
        for (number, (part, times)) in (1..).zip(&ids) {
            keep(&passes, &task, &part.repeat(*times), number, Verdict::Met);
            let found = passes.find(None, 1);
            let kept = passes.lock();
            prop_assert_eq!(kept.bytes, kept.entries.iter().map(Entry::size).sum::<usize>());
            prop_assert!(kept.bytes <= most_bytes && kept.entries.len() <= most);
            prop_assert!(kept.entries.iter().all(|entry| entry.size() <= most_bytes / SHARE));
            prop_assert_eq!(generations(&found), [number], "the last one is kept, however long it is");
        }
    }
}
