//! Tests that an outcome tells nothing of a secret that a server or a manifest quoted.

use std::sync::Arc;

use lifecycle_bundle::report::{ObjectReport, Stop, StoppedBy};
use lifecycle_bundle::table::Intent;
use lifecycle_objects::identity::{GroupKind, Identity};
use serde_json::json;

use super::*;

/// An outcome without any text of others.
fn outcome() -> Outcome {
    Outcome {
        resource: "a".to_owned(),
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: String::new(),
        name: String::new(),
        versions: 1,
        is_foreign: false,
        row: Row::Update,
        decision: Decision::Delete,
        failed_earlier: None,
        result: OutcomeResult::Deleting,
        can_be_disowned: false,
        can_be_deleted: true,
        finalized: false,
        gates: Vec::new(),
        detail: None,
        unobserved: None,
        pruned: Vec::new(),
        bundle: None,
        warnings: Vec::new(),
    }
}

/// A bundle whose one object came to this.
fn bundle(effect: Effect) -> Report {
    let object = ObjectReport {
        identity: Identity {
            kind: GroupKind::new("", "ConfigMap"),
            namespace: Some("n".to_owned()),
            name: "m".to_owned(),
        },
        step: Arc::from("wave 0"),
        verdict: None,
        effect,
        judgement: None,
    };
    Report { intent: Intent::Apply, objects: vec![object], steps: Vec::new(), stopped: None }
}

#[test]
fn outcome_without_secrets_keeps_every_other_word() {
    let mut secrets = Secrets::default();
    secrets.add(&json!({ "token": "hunter2-a" }));
    let quoting = || "Invalid value: \"hunter2-a\" in spec".to_owned();
    let failure = || Failure::new(FailReason::Invalid, quoting());
    let stop = |by| Stop { step: None, by, why: quoting() };
    let of_bundle = |report: Report| Outcome { bundle: Some(Box::new(report)), ..outcome() };
    let warning = Warning::new(WarningReason::NestedUnread, quoting());
    for (name, mut outcome) in [
        ("a failed write", Outcome { result: OutcomeResult::Failed(failure()), ..outcome() }),
        ("a failed decision", Outcome { decision: Decision::Fail(failure()), ..outcome() }),
        ("a stopped bundle", of_bundle(Report { stopped: Some(stop(StoppedBy::Obstacle)), ..bundle(Effect::None) })),
        (
            "a failed bundle",
            of_bundle(Report { stopped: Some(stop(StoppedBy::Question(failure()))), ..bundle(Effect::None) }),
        ),
        ("an object of a bundle", of_bundle(bundle(Effect::Failed(failure())))),
        ("a warning", Outcome { warnings: vec![warning.clone()], ..outcome() }),
    ] {
        outcome.redact(&secrets);
        let told = format!("{outcome:?}");
        assert!(!told.contains("hunter2") && told.contains("[redacted]"), "{name}: {told}");
        assert!(told.contains("Invalid value: ") && told.contains(" in spec"), "{name}: {told}");
    }
}
