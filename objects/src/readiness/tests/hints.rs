//! Tests of what hints change.

use super::*;

/// The table of all combinations of generation, condition and hints.
#[test]
fn hints_decide_what_a_missing_field_means() {
    const NEVER_SEEN: &str = "its controller has not observed generation 3 yet";
    const OUTDATED: &str = "its controller has observed generation 1, not yet 3";
    const NO_READY: &str = "it has no condition Ready yet";
    const SILENT: &str = "it exists, and no condition Ready says otherwise";
    let hint_sets = [
        ("", false, false),
        ("has-observed-generation", true, false),
        ("has-ready-condition", false, true),
        ("has-observed-generation,has-ready-condition", true, true),
    ];
    for (hints, has_generation, has_ready) in hint_sets {
        for observed in [None, Some(1), Some(3)] {
            for status in [None, Some("Unknown"), Some("False"), Some("True")] {
                let conditions: Vec<Value> = status.iter().map(|status| condition("Ready", status)).collect();
                let object = changed(&widget(&conditions), &[("status.observedGeneration", json!(observed))]);
                let (readiness, why) = match (observed, status) {
                    (Some(1), _) => (InProgress, OUTDATED.to_owned()),
                    (None, _) if has_generation => (InProgress, NEVER_SEEN.to_owned()),
                    (_, None) if has_ready => (InProgress, NO_READY.to_owned()),
                    (_, None) => (Ready, SILENT.to_owned()),
                    (_, Some("True")) => (Ready, "its condition Ready is True".to_owned()),
                    (_, Some(status)) => (InProgress, format!("its condition Ready is {status}")),
                };
                assert_eq!(hinted(&object, hints), (readiness, why), "{hints:?}, {observed:?}, {status:?}");
            }
        }
    }
}

#[test]
fn hint_has_observed_generation_reads_the_condition_ready() {
    const HINT: &str = "has-observed-generation";
    let of = |observed: Value, status: &str| {
        let ready = json!({"type": "Ready", "status": status, "observedGeneration": observed});
        changed(&widget(&[ready]), &[("status.observedGeneration", json!(null))])
    };
    let outdated = "its controller has observed generation 2, not yet 3";
    let odd = "its `status.conditions[0].observedGeneration` is not a whole number";
    let cases = [
        ("a condition of this generation counts", of(json!(3), "True"), HINT, Ready, "its condition Ready is True"),
        ("its status counts, too", of(json!(3), "False"), HINT, InProgress, "its condition Ready is False"),
        ("a condition of another generation is outdated", of(json!(2), "True"), HINT, InProgress, outdated),
        (
            "a controller that has observed none yet",
            of(json!(-1), "True"),
            HINT,
            InProgress,
            "its controller has observed generation -1, not yet 3",
        ),
        ("text is no generation", of(json!("3"), "True"), HINT, InProgress, odd),
        ("without the hint it is not read", of(json!(2), "True"), "", Ready, "its condition Ready is True"),
        (
            "the status itself precedes the condition",
            changed(&of(json!(2), "True"), &[("status.observedGeneration", json!(3))]),
            HINT,
            Ready,
            "its condition Ready is True",
        ),
        (
            "an object without generation is not compared",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
            HINT,
            Ready,
            "it exists",
        ),
    ];
    for (name, object, hints, readiness, why) in cases {
        assert_eq!(hinted(&object, hints), (readiness, why.to_owned()), "{name}");
    }
}

#[test]
fn hinted_conditions_must_be_true_too() {
    const HINT: &str = "conditions=Issued;Published";
    let (issued, published) = (condition("Issued", "True"), condition("Published", "True"));
    let stalled = condition("Stalled", "True");
    let no_quota = because("Published", "False", "NoQuota");
    let issued_too = || issued.clone();
    let silent = "it exists, and no condition Ready says otherwise";
    let cases = [
        ("all are True", widget(&[issued_too(), published]), Ready, silent),
        ("one is missing", widget(&[issued_too()]), InProgress, "it has no condition Published yet"),
        (
            "one is False",
            widget(&[issued_too(), no_quota]),
            InProgress,
            "its condition Published is False because of NoQuota",
        ),
        ("one is Unknown", widget(&[condition("Issued", "Unknown")]), InProgress, "its condition Issued is Unknown"),
        ("a failed object stays failed", widget(&[stalled]), Failed, "its condition Stalled is True"),
        (
            "a kind with a rule needs them, too",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}}),
            InProgress,
            "it has no condition Issued yet",
        ),
    ];
    for (name, object, readiness, why) in cases {
        assert_eq!(hinted(&object, HINT), (readiness, why.to_owned()), "{name}");
    }
}
