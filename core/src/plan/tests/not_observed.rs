//! Tests of works that no agent of the remote cluster observes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use lifecycle_language::template::Template;
use lifecycle_objects::keys;
use lifecycle_objects::observation::{Observation, Version};
use lifecycle_objects::write::{Command, Executed, UpdateMode};
use serde_json::{Value, json};

use super::passes::{config_map, gated, live, scope, stamp, task, with};
use super::store::Store;
use crate::outcome::Outcome;
use crate::plan::{Next, Planner};
use crate::task::{Task, TransportKind};

const LIMIT: Duration = Duration::from_secs(120);

/// A task whose one entry lives at a Maestro consumer, and that sends again after two minutes.
fn remote(entry: Value) -> Task {
    let mut task = task(&[entry]);
    task.resources[0].transport = TransportKind::Maestro { target_cluster: Template::parse("team").unwrap() };
    task.resend_after = Some(LIMIT);
    task
}

/// The object of generation 3, last sent some seconds before the event, and unobserved since `since` seconds before it.
fn unobserved(since: i64, sent: i64) -> Value {
    let labels = json!({keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "a"});
    let mut object = live("ConfigMap", "a", labels, Some(3));
    object["metadata"]["uid"] = json!("u");
    object["metadata"]["resourceVersion"] = json!("7");
    let before = |seconds: i64| Store::new().now - jiff::SignedDuration::from_secs(seconds);
    object["unobserved"] = json!({"since": before(since).to_string(), "sent": before(sent).to_string()});
    object
}

/// Runs a pass over this object. Every write is accepted.
fn pass(task: &Task, object: Value) -> (Outcome, Option<Command>) {
    let mut scope = scope(&Store::new(), 3, &[]);
    let mut planner = Planner::new(task, stamp(3));
    let (version, mut sent) = (Version::new(object), None);
    loop {
        match planner.next(&mut scope) {
            Next::Read(reads) => {
                for read in reads {
                    planner.observe(&mut scope, read.resource, Observation::Found(vec![version.clone()]));
                }
            }
            Next::Write(step) => {
                let executed = match &step.command {
                    Command::Update { desired, .. } => Executed::Updated(desired.clone()),
                    Command::Delete { .. } => Executed::Deleting(vec![version.clone()]),
                    other @ (Command::Create { .. }
                    | Command::Recreate { .. }
                    | Command::Patch { .. }
                    | Command::Disown { .. }) => {
                        panic!("{other:?}")
                    }
                };
                sent = Some(step.command);
                planner.record(&mut scope, executed);
            }
            Next::Bundle(step) => panic!("{step:?}"),
            Next::Done => return (planner.into_outcomes().remove(0), sent),
        }
    }
}

/// Decision, reason, and whether the report says that something is unobserved.
fn told((outcome, _): &(Outcome, Option<Command>)) -> (&'static str, &'static str, bool) {
    (outcome.decision.kind().as_str(), outcome.decision.reason(), outcome.unobserved.is_some())
}

#[test]
fn content_is_sent_again_once_a_limit_and_reported_all_the_while() {
    let task = remote(config_map("a"));
    for (since, sent, expected) in [
        (119, 119, ("skip", "SameGeneration", false)),
        (120, 120, ("update", "NotObserved", true)),
        (130, 10, ("skip", "SameGeneration", true)),
        (240, 120, ("update", "NotObserved", true)),
    ] {
        let pass = pass(&task, unobserved(since, sent));
        assert_eq!(told(&pass), expected, "unobserved for {since} s, sent {sent} s ago");
    }
}

#[test]
fn stored_content_is_sent_whatever_the_manifest_and_the_gates_say_now() {
    let kept = remote(gated(with(config_map("a"), json!({"manifest": {"data": {"now": "other"}}})), "apply", "false"));
    let mut stored = unobserved(500, 500);
    stored["data"] = json!({"stored": "then"});
    let (outcome, command) = pass(&kept, stored.clone());
    assert_eq!((outcome.row.number(), outcome.result.as_str()), ("20", "updated"));
    let Some(Command::Update { desired, mode: UpdateMode::Resend, target, .. }) = command else {
        panic!("{command:?}")
    };
    assert_eq!((desired, target.resource_version.as_str()), (stored, "7"));
    let message = outcome.unobserved.unwrap();
    assert!(message.contains("no agent has observed version 7 of ConfigMap team/a"), "{message}");
}

#[test]
fn content_is_sent_with_the_executor_of_the_manifest_or_not_at_all() {
    let executor = json!({"subject": {"type": "ServiceAccount"}});
    // Maestro stores the executor, and does not show it.
    let named = with(config_map("a"), json!({"manifest": {"spec": {"executor": executor}}}));
    let (_, command) = pass(&remote(named.clone()), unobserved(500, 500));
    let Some(Command::Update { desired, mode: UpdateMode::Resend, .. }) = command else { panic!("{command:?}") };
    assert_eq!(desired["spec"]["executor"], executor);

    let closed = with(named, json!({"when": {"expression": "false"}}));
    assert!(pass(&remote(closed.clone()), unobserved(500, 500)).1.is_some(), "no gate holds back what was stored");
    let broken = with(closed, json!({"manifest": {"metadata": {"labels": {"l": "{{ .event.nope }}"}}}}));
    let (outcome, command) = pass(&remote(broken), unobserved(500, 500));
    assert!(command.is_none(), "{command:?}");
    assert!(outcome.unobserved.is_some(), "the report says so: {outcome:?}");
}

#[test]
fn deletion_is_sent_again_and_is_not_finalized() {
    let task = remote(gated(config_map("a"), "delete", "true"));
    let mut terminating = unobserved(119, 119);
    terminating["metadata"]["deletionTimestamp"] = json!("2025-12-31T23:58:00Z");
    assert_eq!(told(&pass(&task, terminating.clone())), ("wait", "Deleting", false));
    terminating["unobserved"] = unobserved(120, 120)["unobserved"].clone();
    let again = pass(&task, terminating.clone());
    assert_eq!(told(&again), ("delete", "NotObserved", true));
    let (outcome, Some(Command::Delete { targets, .. })) = again else { panic!("nothing is deleted") };
    assert_eq!((targets.len(), outcome.finalized), (1, false));
    // A recreation waits for the same deletion.
    assert_eq!(told(&pass(&remote(config_map("a")), terminating)), ("delete", "NotObserved", true));
}

#[test]
fn nothing_is_sent_again_without_a_limit_or_on_this_cluster() {
    let old = unobserved(9_000, 9_000);
    let off = Task { resend_after: None, ..remote(config_map("a")) };
    let here = Task { resend_after: Some(LIMIT), ..task(&[config_map("a")]) };
    for task in [off, here] {
        assert_eq!(told(&pass(&task, old.clone())), ("skip", "SameGeneration", false));
    }
}
