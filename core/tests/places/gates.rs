//! Gates of a resource whose expression fails or has no value.

use lifecycle_core::plan::{Next, Planner, Purpose};
use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::{Observation, Version};
use lifecycle_objects::stamp::Stamp;
use serde_json::{Value, json};

use crate::world::{ABSENT, FAILS, scope, task};

/// Returns the planner's decision for a ConfigMap with the keys `entry`, while the object `live` exists, if
/// given.
fn decision(entry: &Value, live: Option<Value>) -> String {
    let mut resource = json!({
        "name": "map",
        "transport": {"client": "kubernetes"},
        "discovery": {"by_name": "map", "namespace": "team"},
        "manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map", "namespace": "team"}},
    });
    resource.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let task = task(&json!({"resources": [resource]}));
    let generation = Generation(2);
    let stamp = Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c-1".to_owned(),
        resource_id_fault: None,
        generation,
        signer: None,
    };
    let mut scope = scope();
    let mut planner = Planner::new(&task, stamp);
    let step = loop {
        match planner.next(&mut scope) {
            Next::Read(wanted) => {
                for wanted in wanted {
                    let versions = live.clone().map(Version::new).into_iter().collect();
                    planner.observe(&mut scope, wanted.resource, Observation::Found(versions));
                }
            }
            Next::Write(step) => break Some(step),
            Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
            Next::Done => break None,
        }
    };
    match step.map(|step| step.purpose) {
        Some(Purpose::Decided(decision)) => decision.kind().as_str().to_owned(),
        Some(Purpose::Prune) => "prune".to_owned(),
        None => match planner.outcomes()[0].failure() {
            Some(failure) => format!("{}: {}", failure.reason.as_str(), failure.message),
            None => format!("skip {}", planner.outcomes()[0].decision.reason()),
        },
    }
}

/// A live ConfigMap of an earlier generation.
fn live() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "map", "namespace": "team", "uid": "u-1", "creationTimestamp": "2026-03-01T11:00:00Z",
            "annotations": {"hyperfleet.io/generation": "1"},
        },
    })
}

fn gated(gate: &str, expression: &str) -> Value {
    let when = json!({"expression": expression});
    match gate {
        "when" => json!({"when": when}),
        "patch" => json!({"lifecycle": {"patch": [{"when": when, "document": {"data": {"a": "b"}}}]}}),
        gate => json!({"lifecycle": {gate: {"when": when}}}),
    }
}

/// Each gate, and whether the planner asks it while the object is live.
const GATES: [(&str, bool); 7] = [
    ("orphan", true),
    ("delete", true),
    ("when", true),
    ("create", false),
    ("apply", true),
    ("recreate", true),
    ("patch", true),
];

#[test]
fn gate_that_fails_or_has_no_value_fails_its_resource() {
    let mistakes = [
        (FAILS, "no such key: event.nope"),
        ("nope", "undeclared reference to 'nope'"),
        ("1 < 'a'", "found no matching overload for '_<_' applied to '(int, string)'"),
        ("dig(event, 'nope') < now()", "found no matching overload for '_<_' applied to '(null_type, string)'"),
        (ABSENT, "`event.?nope` gave no value"),
    ];
    for (gate, is_live) in GATES {
        for (expression, cause) in mistakes {
            // `create` and `delete` exist in the Go adapter too; in other keys, an undeclared name does not
            // load.
            if expression == "nope" && !["create", "delete"].contains(&gate) {
                continue;
            }
            let found = decision(&gated(gate, expression), is_live.then(live));
            assert!(found.starts_with("GateFailed: ") && found.ends_with(cause), "{gate} {expression}: {found}");
        }
    }
}

/// The gates that take away an object or its ownership.
const STRICT: [&str; 3] = ["orphan", "delete", "recreate"];

#[test]
fn gate_that_takes_an_object_away_takes_a_boolean_alone() {
    // Only an event knows the types of these values.
    let values = [
        ("[null][0]", "null", false),
        ("['True'][0]", "a text", true),
        ("['false'][0]", "a text", true),
        ("[''][0]", "a text", false),
        ("[1][0]", "a number", true),
        ("[0u][0]", "a number", true),
        ("[1.5][0]", "a number", true),
        ("[['a']][0]", "a list", true),
        ("[[]][0]", "a list", false),
        ("[{'a': true}][0]", "a mapping", true),
        ("[timestamp(now())][0]", "a timestamp", true),
        ("[duration('1s')][0]", "a duration", true),
        ("[b''][0]", "bytes", true),
        ("optional.of(['True'][0])", "a text", true),
    ];
    for (gate, is_live) in GATES {
        let decide = |expression: &str| decision(&gated(gate, expression), is_live.then(live));
        for (expression, kind, is_truthy) in values {
            let found = decide(expression);
            if STRICT.contains(&gate) {
                let cause = format!(
                    "GateFailed: failed to evaluate the {gate} gate: `{expression}` gave {kind}, and this gate takes `true` or \
                     `false` alone: write a test, such as `"
                );
                assert!(found.starts_with(&cause), "{gate} {expression}: {found}");
                // The value may be secret: the message has nothing that is not in the expression.
                assert!(!found.contains("True\"`") || kind == "a text", "{gate} {expression}: {found}");
            } else {
                assert_eq!(
                    found,
                    decide(if is_truthy { "true" } else { "false" }).replace("true", expression),
                    "{gate} {expression}"
                );
            }
        }
        for (expression, same) in [("[true][0]", "true"), ("[false][0]", "false"), ("optional.of([true][0])", "true")] {
            assert_eq!(decide(expression), decide(same), "{gate} {expression}");
        }
    }
}

#[test]
fn recreate_and_patch_gates_tolerate_a_missing_own_status() {
    for (gate, is_live) in GATES.into_iter().filter(|(_, is_live)| *is_live) {
        let is_lenient = ["recreate", "patch"].contains(&gate);
        for (expression, may_be_missing) in [
            ("resources.map.status.phase == 'Done'", true),
            ("resources.map.status.conditions.exists(c, c.status == 'True')", true),
            ("resources.map.spec.phase == 'Done'", false),
            ("resources.map.metadata.labels.app == 'a'", false),
            ("dig(resources.map, 'status.phase') < 'a'", false),
            ("has(resources.map.status) && resources.map.status.phase == 'Done'", true),
        ] {
            let found = decision(&gated(gate, expression), is_live.then(live));
            let does_not_fail = may_be_missing && is_lenient || expression.starts_with("has(");
            assert_eq!(!found.starts_with("GateFailed"), does_not_fail, "{gate} {expression}: {found}");
        }
    }
    // The recreate gate does not hold while the status is missing, so the object is updated.
    assert_eq!(decision(&gated("recreate", "resources.map.status.phase == 'Done'"), Some(live())), "update");
}
