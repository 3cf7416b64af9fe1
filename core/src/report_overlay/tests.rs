//! Tests of the adapter's corrections to a status, for payloads that a task's author may write.
#![expect(clippy::unwrap_used, reason = "tests")]

mod decoding;

use lifecycle_objects::id::{Generation, GroupVersionKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::decision::UpdateReason;
use crate::outcome::OutcomeResult;
use crate::stage::Phase;
use crate::warning::Warning;

/// Corrects a payload in place.
fn apply(payload: &mut Value, outcomes: &[Outcome]) {
    *payload = serde_json::from_str(&sent(&payload.to_string(), outcomes)).unwrap();
}

/// The corrected text.
fn sent(text: &str, outcomes: &[Outcome]) -> String {
    super::apply(text.to_owned(), Account { outcomes, unread: None, is_deleting: Some(true) }).text
}

/// Builds the outcome of a resource that evaluated no gate.
fn outcome(resource: &str, decision: Decision, result: OutcomeResult) -> Outcome {
    let needs_nothing = matches!(
        decision,
        Decision::Skip(SkipReason::Disowned | SkipReason::NothingToDisown | SkipReason::AlreadyAbsent)
    );
    let finalized = needs_nothing || result == OutcomeResult::Disowned;
    Outcome {
        resource: resource.to_owned(),
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: String::new(),
        name: String::new(),
        row: Row::Update,
        failed_earlier: None,
        detail: None,
        unobserved: None,
        decision,
        result,
        can_be_disowned: false,
        can_be_deleted: false,
        finalized,
        gates: Vec::new(),
        pruned: Vec::new(),
        bundle: None,
        versions: 1,
        is_foreign: false,
        warnings: Vec::new(),
    }
}

fn disowned(resource: &str) -> Outcome {
    let decision = Decision::Disown(DisownReason::GateHolds);
    Outcome { can_be_disowned: true, ..outcome(resource, decision, OutcomeResult::Disowned) }
}

fn skipped(resource: &str, reason: SkipReason) -> Outcome {
    outcome(resource, Decision::Skip(reason), OutcomeResult::Skipped)
}

fn failed(resource: &str, reason: FailReason, message: &str) -> Outcome {
    let failure = Failure::new(reason, message);
    let row = if reason == FailReason::DiscoveryFailed { Row::Unknown } else { Row::Update };
    Outcome { row, ..outcome(resource, Decision::Fail(failure.clone()), OutcomeResult::Failed(failure)) }
}

fn status(conditions: &[Value]) -> Value {
    json!({ "adapter": "a", "conditions": conditions })
}

fn condition(kind: &str, status: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": "Mine", "message": "mine", "more": 1 })
}

/// Returns the status and reason of every condition of type `kind` in a payload.
fn mentions(payload: &Value, kind: &str) -> Vec<(String, String)> {
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let conditions = payload["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|condition| condition["type"] == json!(kind))
        .map(|condition| (text(condition, "status"), text(condition, "reason")))
        .collect()
}

#[track_caller]
fn check(outcomes: &[Outcome], kind: &str, expected: &[(&str, &str)]) {
    let mut payload = status(&[condition("Applied", "True"), condition(kind, "Unknown")]);
    apply(&mut payload, outcomes);
    let expected: Vec<_> =
        expected.iter().map(|(status, reason)| ((*status).to_owned(), (*reason).to_owned())).collect();
    assert_eq!(mentions(&payload, kind), expected);
    assert_eq!(payload["conditions"][0], condition("Applied", "True"), "others stay as they are");
}

const UNTOUCHED: [(&str, &str); 1] = [("Unknown", "Mine")];

#[test]
fn failure_makes_available_false() {
    check(&[failed("a", FailReason::Conflict, "m")], "Available", &[("False", "Conflict")]);
    let decision = Decision::Update { from: None, because: UpdateReason::GenerationChanged };
    let refused = OutcomeResult::Failed(Failure::new(FailReason::Forbidden, "m"));
    check(&[outcome("a", decision, refused)], "Available", &[("False", "Forbidden")]);
    check(&[skipped("a", SkipReason::WhenFalse)], "Available", &[("False", "Mine")]);
}

#[test]
fn unobserved_write_makes_available_false() {
    let unobserved = |outcome: Outcome| Outcome { unobserved: Some("nobody saw it".to_owned()), ..outcome };
    let stays = unobserved(skipped("a", SkipReason::SameGeneration(Generation(1))));
    check(std::slice::from_ref(&stays), "Available", &[("False", "NotObserved")]);
    check(&[stays.clone(), failed("b", FailReason::Conflict, "m")], "Available", &[("False", "Conflict")]);
    check(&[stays], "Finalized", &UNTOUCHED);
}

#[test]
fn failed_deletion_or_disowning_keeps_finalized_from_being_true() {
    let deletable = |outcome: Outcome| Outcome { can_be_deleted: true, ..outcome };
    let refused = || OutcomeResult::Failed(Failure::new(FailReason::Forbidden, "m"));
    let told = |outcomes: &[Outcome], status: &str| {
        let mut payload = self::status(&[condition("Finalized", status)]);
        apply(&mut payload, outcomes);
        mentions(&payload, "Finalized").remove(0)
    };
    let mine = |status: &str| (status.to_owned(), "Mine".to_owned());
    let withdrawn = |reason: &str| ("False".to_owned(), reason.to_owned());

    let unread = || failed("a", FailReason::DiscoveryFailed, "m");
    assert_eq!(told(&[deletable(unread())], "True"), withdrawn("DiscoveryFailed"), "unread is not absent");
    assert_eq!(told(&[deletable(outcome("a", Decision::Delete, refused()))], "True"), withdrawn("Forbidden"));
    let orphan = outcome("a", Decision::Disown(DisownReason::GateHolds), refused());
    assert_eq!(told(&[Outcome { can_be_disowned: true, ..orphan }], "True"), withdrawn("Forbidden"));
    assert_eq!(told(&[unread()], "True"), withdrawn("DiscoveryFailed"), "nor is it without a gate");
    let unwritten = failed("a", FailReason::Conflict, "m");
    assert_eq!(told(&[unwritten], "True"), mine("True"), "what is never let go of is not waited for");
    assert_eq!(told(&[deletable(unread())], "False"), mine("False"), "what says less has its reason");
    assert_eq!(told(&[deletable(skipped("a", SkipReason::AlreadyAbsent))], "True"), mine("True"));

    let mut silent = self::status(&[]);
    apply(&mut silent, &[deletable(unread())]);
    assert_eq!(mentions(&silent, "Finalized"), [], "nothing is said that was not said");
}

#[test]
fn correction_has_the_first_reason_and_all_messages() {
    let mut payload = status(&[]);
    apply(
        &mut payload,
        &[
            skipped("a", SkipReason::WhenFalse),
            failed("b", FailReason::NameTaken, "one"),
            failed("c", FailReason::Invalid, "two"),
        ],
    );
    let message = "resource b: one; resource c: two";
    let expected = json!([{ "type": "Available", "status": "False", "reason": "NameTaken", "message": message }]);
    assert_eq!(payload["conditions"], expected);
}

#[test]
fn repeated_condition_is_corrected_twice_and_keeps_other_members() {
    let mut payload = status(&[condition("Available", "True"), json!("odd"), condition("Available", "True")]);
    apply(&mut payload, &[failed("a", FailReason::Invalid, "m")]);
    let expected =
        json!({ "type": "Available", "status": "False", "reason": "Invalid", "message": "resource a: m", "more": 1 });
    assert_eq!(payload["conditions"], json!([expected, "odd", expected]));
}

#[test]
fn body_that_is_no_status_is_unchanged() {
    for payload in [
        json!({ "conditions": [condition("Available", "True")] }),
        json!({ "adapter": "a" }),
        json!({ "adapter": "a", "conditions": {} }),
        json!([status(&[])]),
        json!("text"),
        Value::Null,
    ] {
        let mut corrected = payload.clone();
        apply(&mut corrected, &[failed("a", FailReason::Invalid, "m"), disowned("b")]);
        assert_eq!(corrected, payload);
    }
}

#[test]
fn object_of_a_newer_generation_is_not_available_to_an_older_event() {
    let stale = SkipReason::StaleEvent { live: Generation(9), desired: Generation(2) };
    let mut payload = json!({ "adapter": "a", "conditions": [{ "type": "Available", "status": "True" }] });
    apply(&mut payload, &[skipped("job", stale)]);
    let available = &payload["conditions"][0];
    assert_eq!((&available["status"], &available["reason"]), (&json!("False"), &json!("StaleEvent")));
    assert_eq!(available["message"], "an object was made for a newer generation than this event's: job");
}

#[test]
fn finalized_is_true_once_all_is_disowned_or_deleted() {
    let deletable = |outcome: Outcome| Outcome { can_be_deleted: true, ..outcome };
    let releasable = |outcome: Outcome| Outcome { can_be_disowned: true, ..outcome };
    let done = [("True", "Disowned")];
    let absent = || deletable(skipped("b", SkipReason::AlreadyAbsent));
    let settled = || skipped("c", SkipReason::WhenFalse);
    check(&[disowned("a")], "Finalized", &done);
    check(&[disowned("a"), absent(), settled()], "Finalized", &done);
    check(&[releasable(skipped("a", SkipReason::Disowned)), absent()], "Finalized", &done);

    check(&[absent()], "Finalized", &UNTOUCHED);
    check(&[settled()], "Finalized", &UNTOUCHED);
    let deleting = deletable(outcome("b", Decision::Delete, OutcomeResult::Deleting));
    check(&[disowned("a"), deleting], "Finalized", &UNTOUCHED);
    let deleted = deletable(outcome("b", Decision::Delete, OutcomeResult::Deleted));
    check(&[disowned("a"), deleted], "Finalized", &UNTOUCHED);
    check(&[disowned("a"), deletable(settled())], "Finalized", &UNTOUCHED);
    check(&[disowned("a"), releasable(settled())], "Finalized", &UNTOUCHED);
    let refused = OutcomeResult::Failed(Failure::new(FailReason::Conflict, "m"));
    let half = releasable(outcome("a", Decision::Disown(DisownReason::GateHolds), refused));
    check(&[half], "Finalized", &UNTOUCHED);
}

#[test]
fn persons_disowned_label_does_not_finalize_other_resources() {
    check(&[skipped("a", SkipReason::Disowned)], "Finalized", &UNTOUCHED);
    let rest = outcome("a", Decision::Disown(DisownReason::Disowned), OutcomeResult::Disowned);
    check(&[rest], "Finalized", &UNTOUCHED);
}

#[test]
fn unread_resource_without_gate_keeps_finalized_from_being_true() {
    let unread = || failed("b", FailReason::DiscoveryFailed, "m");
    check(&[disowned("a"), unread()], "Finalized", &UNTOUCHED);
    let mut payload = status(&[condition("Finalized", "True")]);
    apply(&mut payload, &[disowned("a"), unread()]);
    assert_eq!(mentions(&payload, "Finalized"), [("False".to_owned(), "DiscoveryFailed".to_owned())]);
}

#[test]
fn unread_nested_object_keeps_finalized_from_being_true() {
    let warnings = vec![Warning::new(WarningReason::NestedUnread, "nested discovery x could not be rendered")];
    let held = Outcome { warnings, ..skipped("a", SkipReason::WhenFalse) };
    let mut payload = status(&[condition("Finalized", "True")]);
    apply(&mut payload, std::slice::from_ref(&held));
    assert_eq!(mentions(&payload, "Finalized"), [("False".to_owned(), "DiscoveryFailed".to_owned())]);
    check(&[held, disowned("b")], "Finalized", &UNTOUCHED);
}

#[test]
fn precondition_that_leaves_objects_unread_keeps_finalized_from_being_true() {
    let error = PhaseError { phase: Phase::Preconditions, step: "ready".to_owned(), message: "m".to_owned() };
    for (unread, reason, message) in [
        (Unread::Failed(&error), "PreconditionFailed", "[preconditions] ready: m"),
        (Unread::NotMet("it is not met"), "PreconditionNotMet", "it is not met; so no object was read"),
    ] {
        let account = Account { outcomes: &[], unread: Some(unread), is_deleting: Some(true) };
        let text = super::apply(status(&[condition("Finalized", "True")]).to_string(), account).text;
        let payload: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(mentions(&payload, "Finalized"), [("False".to_owned(), reason.to_owned())]);
        assert_eq!(payload["conditions"][0]["message"], json!(message));
    }
}

#[test]
fn authors_reason_stays_if_no_object_was_disowned() {
    let absent = || Outcome { can_be_disowned: true, ..skipped("a", SkipReason::NothingToDisown) };
    for said in ["True", "False"] {
        let mut payload = status(&[condition("Finalized", said)]);
        apply(&mut payload, &[absent()]);
        assert_eq!(mentions(&payload, "Finalized"), [(said.to_owned(), "Mine".to_owned())]);
    }
    let mut silent = status(&[]);
    apply(&mut silent, &[absent()]);
    assert_eq!(mentions(&silent, "Finalized"), [("True".to_owned(), "Disowned".to_owned())], "nobody else says so");
    let mut beside = status(&[condition("Finalized", "False")]);
    apply(&mut beside, &[absent(), disowned("b")]);
    assert_eq!(beside["conditions"][0]["message"], json!("disowned, not deleted: b"));
}

#[test]
fn finalized_names_objects_that_no_gate_deletes_and_a_search_that_is_forbidden() {
    let gone = || Outcome { can_be_deleted: true, ..skipped("gone", SkipReason::AlreadyAbsent) };
    let kept =
        || Outcome { namespace: "team".to_owned(), name: "x".to_owned(), ..skipped("kept", SkipReason::WhenFalse) };
    let unread = Warning::new(WarningReason::FormerUnread, "unknown".to_owned());
    let finalized = |status: &str| status_of(&[condition("Finalized", status)]);
    let told = |outcomes: &[Outcome], status: &str, is_deleting: bool| {
        let account = Account { outcomes, unread: None, is_deleting: Some(is_deleting) };
        let text = super::apply(finalized(status), account).text;
        let sent: Value = serde_json::from_str(&text).unwrap();
        sent["conditions"][0]["message"].as_str().unwrap().to_owned()
    };
    let note = "mine; ConfigMap team/x stays: resource kept has no delete gate";
    assert_eq!(told(&[gone(), kept()], "True", true), note);
    assert_eq!(told(&[gone(), kept()], "False", true), "mine");
    assert_eq!(told(&[gone(), kept()], "True", false), "mine", "the API resource lives");
    assert_eq!(told(&[kept()], "True", true), "mine", "the task deletes nothing");
    assert_eq!(told(&[gone(), Outcome { versions: 0, ..kept() }], "True", true), "mine");
    assert_eq!(told(&[Outcome { warnings: vec![unread], ..gone() }], "True", true), "mine; unknown");
    assert_eq!(
        told(&[Outcome { finalized: false, ..gone() }, kept()], "True", true),
        "resource gone: ConfigMap  still exists"
    );
}

fn status_of(conditions: &[Value]) -> String {
    status(conditions).to_string()
}

#[test]
fn terminating_version_beside_a_disowned_one_is_not_finalized() {
    for (decision, result) in [
        (Decision::Skip(SkipReason::Disowned), OutcomeResult::Skipped),
        (Decision::Disown(DisownReason::GateHolds), OutcomeResult::Disowned),
    ] {
        let left = Outcome { can_be_disowned: true, finalized: false, ..outcome("a", decision, result) };
        let mut payload = status(&[condition("Finalized", "True")]);
        apply(&mut payload, std::slice::from_ref(&left));
        assert_eq!(mentions(&payload, "Finalized"), [("False".to_owned(), "Terminating".to_owned())]);
        check(&[left, disowned("b")], "Finalized", &UNTOUCHED);
    }
}

#[test]
fn body_without_a_correction_is_sent_byte_for_byte() {
    let failed = [failed("a", FailReason::Invalid, "m")];
    let text = "{\"adapter\": \"a\", \"conditions\": [ ]}";
    let corrected = sent(text, &failed);
    assert_eq!(
        corrected,
        r#"{"adapter":"a","conditions":[{"message":"resource a: m","reason":"Invalid","status":"False","type":"Available"}]}"#
    );
    assert_eq!(sent(&corrected, &failed), corrected);
    for (text, outcomes) in [(text, &[][..]), ("{ \"a\" : 1.0 }", &failed), ("adapter: a", &failed), ("", &failed)] {
        assert_eq!(sent(text, outcomes), text);
    }
}

fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
    let result = prop_oneof![
        3 => Just(OutcomeResult::Updated),
        2 => prop::sample::select(&FailReason::ALL[..]).prop_map(|reason| OutcomeResult::Failed(Failure::new(reason, "m"))),
    ];
    let decision = prop_oneof![
        Just(Decision::Update { from: None, because: UpdateReason::GenerationChanged }),
        Just(Decision::Delete),
        Just(Decision::Disown(DisownReason::GateHolds)),
    ];
    prop::collection::vec((decision, result).prop_map(|(decision, result)| outcome("a", decision, result)), 0..4)
}

fn conditions() -> impl Strategy<Value = Vec<Value>> {
    let kind = prop_oneof![Just("Available"), Just("Applied"), Just("Finalized")];
    let status = prop_oneof![Just(json!("True")), Just(json!("False")), Just(json!(true))];
    let one = (kind, status).prop_map(|(kind, status)| json!({ "type": kind, "status": status }));
    prop::collection::vec(prop_oneof![9 => one, 1 => Just(json!("odd"))], 0..5)
}

proptest! {
    #[test]
    fn available_is_never_true_after_a_failure(outcomes in outcomes(), conditions in conditions()) {
        let mut payload = status(&conditions);
        apply(&mut payload, &outcomes);
        let available = mentions(&payload, "Available");
        match outcomes.iter().find_map(Outcome::failure) {
            Some(first) => {
                let expected = ("False".to_owned(), first.reason.as_str().to_owned());
                prop_assert!(!available.is_empty() && available.iter().all(|told| *told == expected), "{:?}", available);
            }
            None => {
                let is_sound = |condition: &Value| condition["status"].is_string() || !condition.is_object();
                let expected: Vec<_> = conditions
                    .iter()
                    .map(|it| {
                        let unknown = if it["type"] == "Available" { "False" } else { "Unknown" };
                        if is_sound(it) { it.clone() } else { json!({"type": it["type"], "status": unknown, "reason": NOT_EVALUATED}) }
                    })
                    .collect();
                prop_assert_eq!(available, mentions(&status(&expected), "Available"));
            }
        }
        let before = payload.clone();
        apply(&mut payload, &outcomes);
        prop_assert_eq!(payload, before, "a correction corrects once");
    }
}
