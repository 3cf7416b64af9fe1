#![expect(clippy::unwrap_used, reason = "tests")]

mod fake;

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lifecycle_core::sweep::{Keep, Limits, Share};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys;
use lifecycle_objects::proof::Signer;
use lifecycle_objects::write::WriteErrorKind;
use serde_json::json;

use self::fake::{At, Fake};
use super::*;
use crate::audit::{Line, Sink, read};
use crate::leader::End;
use crate::world::World;

const TERM: u32 = 3;
const OWNER: &str = "b2f1c5a0-0000-4000-8000-000000000001";

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1" },
            "metadata": { "name": name, "namespace": "team", "uid": format!("uid-{name}"), "resourceVersion": "7",
                          "managedFields": [{}],
                          "labels": { "hyperfleet.io/adapter": "dns", "hyperfleet.io/resource-id": OWNER } } })
}

fn policy() -> Policy {
    Policy {
        adapters: ["dns".to_owned()].into(),
        resource_id: regex::Regex::new("[0-9a-f-]{36}").unwrap(),
        grace: Duration::from_secs(60),
        min_age: Duration::ZERO,
        cluster_scoped: Vec::new(),
        goes_along: Vec::new(),
        signers: Vec::new(),
        limits: Limits { objects: 100, share: Share::Percent(100) },
    }
}

fn plan(objects: &[Value]) -> SweepPlan {
    SweepPlan::new(objects.iter().map(|object| Candidate::of(object, Destination::ThisCluster)).collect(), Vec::new())
}

/// Runs a pass over these objects; returns the outcomes, and the lines of the audit file.
struct Pass<'a> {
    fake: &'a Fake,
    refused: Refused,
    audit: Audit,
    policy: Policy,
    concurrency: usize,
}

impl<'a> Pass<'a> {
    fn new(fake: &'a Fake, audit: &Path) -> Self {
        let audit = Audit::to_file(audit, false).unwrap();
        Self { fake, refused: Refused::default(), audit, policy: policy(), concurrency: 1 }
    }

    async fn run<P>(&self, judged: &[Value], permit: impl Fn() -> Result<P, TermOver>) -> Vec<Outcome> {
        let deleter = Deleter {
            objects: self.fake,
            evidence: &(),
            permit,
            term: TERM,
            call_limit: Duration::from_secs(5),
            refused: &self.refused,
            audit: &self.audit,
            policy: &self.policy,
            concurrency: NonZeroUsize::new(self.concurrency).unwrap(),
            clock: now,
        };
        let mut strikes = Strikes::default();
        for object in judged {
            let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
            strikes.restore(uid, OWNER.to_owned(), "2026-03-01T11:00:00Z".parse().unwrap());
        }
        let plan = plan(judged);
        let attempts: Vec<_> = deleter.delete_all(&plan, &strikes).collect().await;
        attempts.into_iter().map(|attempt| attempt.outcome).collect()
    }
}

fn leader() -> Result<(), TermOver> {
    Ok(())
}

fn over() -> TermOver {
    TermOver { term: TERM, end: End::Deadline }
}

/// Runs a pass over one ConfigMap `a`; returns the outcome and the audit records.
async fn sweep(fake: &Fake) -> (Outcome, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let outcomes = Pass::new(fake, &file).run(&[map("a")], leader).await;
    (outcomes.into_iter().next().unwrap(), records(&file))
}

fn records(file: &Path) -> Vec<Record> {
    read(io::BufReader::new(std::fs::File::open(file).unwrap()))
        .map(|line| match line.unwrap() {
            Line::Record(record) => *record,
            Line::Unreadable { number, why } => panic!("line {number}: {why}"),
        })
        .collect()
}

fn result(record: &Record) -> (&str, bool) {
    match &record.action {
        Action::Result { outcome, may_be_deleted, .. } => (outcome, *may_be_deleted),
        Action::Delete { .. } => panic!("{record:?}"),
    }
}

#[tokio::test]
async fn orphan_is_read_recorded_deleted_and_announced() {
    let fake = Fake::of([map("a")]);
    let (outcome, records) = sweep(&fake).await;
    assert_eq!(outcome, Outcome::Deleted);
    assert!(!fake.has("a"));
    assert_eq!(*fake.calls.borrow(), ["get ConfigMap team/a", "delete ConfigMap team/a", "create Event in team"]);

    let event = fake.created.borrow()[0].clone();
    assert_eq!(event["involvedObject"]["uid"], "uid-a");
    assert_eq!(event["reason"], "OrphanDeleted");
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("the object was deleted: API resource"), "{message}");
    assert!(message.contains(OWNER) && message.contains("term 3"), "{message}");

    assert_eq!(records.len(), 2);
    let mut manifest = map("a");
    manifest["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(records[0].action, Action::Delete { manifest, omitted: vec!["metadata.managedFields".to_owned()] });
    assert_eq!(records[0].object.uid, "uid-a");
    assert_eq!(records[0].gone_since, Some("2026-03-01T11:00:00Z".parse().unwrap()));
    assert_eq!((records[0].term, records[0].plan.as_str()), (TERM, plan(&[map("a")]).hash()));
    assert_eq!(result(&records[1]), ("deleted", true));
}

#[tokio::test]
async fn object_that_changed_after_judgement_is_kept() {
    let edits: [(&str, At, Keep); 8] = [
        ("label removed", At::Edited(|live| drop_label(live, keys::RESOURCE_ID)), Keep::NoResourceId),
        ("adapter removed", At::Edited(|live| drop_label(live, keys::ADAPTER)), Keep::ForeignAdapter),
        (
            "another owner",
            At::Edited(|live| {
                set(live, "/metadata/labels", keys::RESOURCE_ID, json!("b2f1c5a0-0000-4000-8000-000000000002"))
            }),
            Keep::Changed,
        ),
        ("disowned", At::Edited(|live| set(live, "/metadata/labels", keys::DISOWNED, json!("x"))), Keep::Disowned),
        ("namesake", At::Edited(|live| set(live, "/metadata", "uid", json!("uid-b"))), Keep::Replaced),
        (
            "owner reference",
            At::Edited(|live| set(live, "/metadata", "ownerReferences", json!([{ "uid": "u" }]))),
            Keep::HasOwner,
        ),
        (
            "terminating",
            At::Edited(|live| set(live, "/metadata", "deletionTimestamp", json!("2026-03-01T12:00:00Z"))),
            Keep::Terminating,
        ),
        ("proof needed", At::Edited(|_| {}), Keep::Forged),
    ];
    for (name, edit, keep) in edits {
        let fake = Fake::of([map("a")]).at("get", edit);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit");
        let mut pass = Pass::new(&fake, &file);
        if keep == Keep::Forged {
            pass.policy.signers = vec![Signer::new(&[7; 32]).unwrap()];
        }
        let outcomes = pass.run(&[map("a")], leader).await;
        assert_eq!(outcomes, [Outcome::Kept(keep)], "{name}");
        assert_eq!(*fake.calls.borrow(), ["get ConfigMap team/a"], "{name}");
        assert_eq!(records(&file), [], "{name}");
    }
}

fn set(live: &mut Option<Value>, at: &str, key: &str, value: Value) {
    live.as_mut().unwrap().pointer_mut(at).unwrap()[key] = value;
}

fn drop_label(live: &mut Option<Value>, key: &str) {
    live.as_mut().unwrap()["metadata"]["labels"].as_object_mut().unwrap().remove(key);
}

#[tokio::test]
async fn each_answer_has_its_outcome_and_its_record() {
    let get = |kind| ("get", At::Fails(kind));
    let delete = |kind| ("delete", At::Fails(kind));
    let cases = [
        ("gone before the read", ("get", At::Edited(|live| *live = None)), "already_gone", None),
        ("read not answered", get(WriteErrorKind::Unreachable), "unread", None),
        ("read forbidden", get(WriteErrorKind::Forbidden), "unread", None),
        ("kind not served", get(WriteErrorKind::NotFound), "unread", None),
        (
            "changed before the deletion",
            ("delete", At::Edited(|live| set(live, "/metadata", "resourceVersion", json!("8")))),
            "changed",
            Some(false),
        ),
        (
            "replaced before the deletion",
            ("delete", At::Edited(|live| set(live, "/metadata", "uid", json!("uid-b")))),
            "changed",
            Some(false),
        ),
        ("deletion forbidden", delete(WriteErrorKind::Forbidden), "refused", Some(false)),
        ("too many requests", delete(WriteErrorKind::TooManyRequests), "refused", Some(false)),
        ("a failing server", delete(WriteErrorKind::Unavailable), "uncertain", Some(true)),
        ("the deletion's answer lost", ("delete", At::AnswerLost), "uncertain", Some(true)),
        (
            "a finalizer",
            ("get", At::Edited(|live| set(live, "/metadata", "finalizers", json!(["a/b"])))),
            "terminating",
            Some(true),
        ),
    ];
    for (name, (call, at), label, recorded) in cases {
        let fake = Fake::of([map("a")]).at(call, at);
        let (outcome, records) = sweep(&fake).await;
        assert_eq!(outcome.label(), label, "{name}");
        assert!(fake.calls.borrow().len() <= 3, "{name}: nothing is sent twice");
        assert_eq!(records.get(1).map(result), recorded.map(|may_be| (label, may_be)), "{name}");
        assert_eq!(records.len(), if recorded.is_some() { 2 } else { 0 }, "{name}");
    }
}

#[tokio::test]
async fn missing_event_does_not_stop_the_deletion() {
    let fake = Fake::of([map("a")]).at("create", At::Fails(WriteErrorKind::Forbidden));
    let folder = tempfile::tempdir().unwrap();
    let outcomes = Pass::new(&fake, &folder.path().join("audit")).run(&[map("a")], leader).await;
    assert_eq!(outcomes, [Outcome::Deleted]);
}

#[tokio::test]
async fn lost_leadership_stops_before_the_next_call() {
    // How many permits are given, and how much was sent and recorded by then.
    for (given, calls, recorded) in [(0, 0, 0), (1, 1, 0), (2, 1, 2), (3, 2, 2), (4, 3, 2)] {
        let fake = Fake::of([map("a")]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit");
        let asked = Cell::new(0);
        let permit = || {
            asked.set(asked.get() + 1);
            if asked.get() <= given { Ok(()) } else { Err(over()) }
        };
        let outcomes = Pass::new(&fake, &file).run(&[map("a")], permit).await;
        let expected = if given >= 3 { Outcome::Deleted } else { Outcome::NotLeader(over()) };
        assert_eq!(outcomes, [expected], "{given}");
        assert_eq!(fake.has("a"), given < 3, "{given}");
        assert_eq!(fake.calls.borrow().len(), calls, "{given}");
        let records = records(&file);
        assert_eq!(records.len(), recorded, "{given}");
        if given == 2 {
            assert_eq!(result(&records[1]), ("not_leader", false));
        }
    }
}

/// Counts its holders.
struct Held<'a>(&'a Cell<usize>);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn permit_is_kept_until_a_silent_call_is_given_up() {
    for (silent, label) in [("get", "unread"), ("delete", "uncertain")] {
        let fake = Fake::of([map("a")]).at(silent, At::Silent);
        let folder = tempfile::tempdir().unwrap();
        let pass = Pass::new(&fake, &folder.path().join("audit"));
        let held = Cell::new(0);
        let permit = || {
            held.set(held.get() + 1);
            Ok(Held(&held))
        };
        let judged = [map("a")];
        let began = tokio::time::Instant::now();
        let mut run = std::pin::pin!(pass.run(&judged, permit));
        let outcomes = loop {
            tokio::select! {
                outcomes = &mut run => break outcomes,
                () = fake.silence.notified() => assert_eq!(held.get(), 1, "{silent}"),
            }
        };
        assert_eq!(outcomes[0].label(), label);
        assert_eq!(began.elapsed().as_secs(), 5, "{silent}");
        assert_eq!(held.get(), 0, "{silent}");
    }
}

#[tokio::test]
async fn full_disk_keeps_every_object() {
    let judged = [map("a"), map("b")];
    let fake = Fake::of(judged.clone());
    let outcomes = Pass::new(&fake, Path::new("/dev/full")).run(&judged, leader).await;
    assert_eq!(outcomes, [Outcome::AuditFailed, Outcome::AuditFailed]);
    assert!(fake.has("a") && fake.has("b"));
    assert_eq!(fake.calls.borrow().len(), 1, "nothing is asked about the second object");
}

/// Takes some lines, then none.
struct FullAfter(usize);

impl Sink for FullAfter {
    fn append(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(())
    }
}

#[tokio::test]
async fn result_that_cannot_be_recorded_stops_the_pass() {
    let judged = [map("a"), map("b")];
    let fake = Fake::of(judged.clone());
    let audit = Audit::new("test".to_owned(), FullAfter(1), false);
    let pass = Pass { fake: &fake, refused: Refused::default(), audit, policy: policy(), concurrency: 1 };
    let outcomes = pass.run(&judged, leader).await;
    assert_eq!(outcomes, [Outcome::Deleted, Outcome::AuditFailed]);
    assert!(!fake.has("a") && fake.has("b"));
}

/// Fails at one line, and keeps the others with the number of lines before them.
struct FailsAt {
    line: usize,
    lines: usize,
    kept: Arc<Mutex<Vec<(usize, Record)>>>,
}

impl Sink for FailsAt {
    fn append(&mut self, line: &[u8], _: bool) -> io::Result<()> {
        self.lines += 1;
        if self.lines == self.line {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.kept.lock().unwrap().push((self.lines, serde_json::from_slice(line)?));
        Ok(())
    }
}

#[tokio::test]
async fn failed_record_stops_the_deletions_that_run_beside_it() {
    let judged: Vec<_> = (0..8).map(|index| map(&format!("map-{index}"))).collect();
    // With every line the disk is full for a moment: the records after it can be written.
    for line in 1..=2 * judged.len() {
        let fake = Fake::of(judged.clone());
        let kept = Arc::default();
        let audit = Audit::new("test".to_owned(), FailsAt { line, lines: 0, kept: Arc::clone(&kept) }, false);
        let refused = Refused::default();
        let pass = Pass { fake: &fake, refused, audit, policy: policy(), concurrency: 4 };
        let outcomes = pass.run(&judged, leader).await;
        assert!(fake.most_in_flight.get() == 4, "several deletions run at once");
        let kept = kept.lock().unwrap();
        let recorded_before = |name: &str| {
            let is_it = |(at, record): &(usize, Record)| {
                *at < line && record.object.name == name && matches!(record.action, Action::Delete { .. })
            };
            kept.iter().any(is_it)
        };
        let gone: Vec<_> = judged.iter().map(|it| it["metadata"]["name"].as_str().unwrap()).collect();
        let gone: Vec<_> = gone.into_iter().filter(|name| !fake.has(name)).collect();
        assert!(gone.iter().all(|name| recorded_before(name)), "line {line}: {gone:?} {kept:?}");
        let count = |expected: &Outcome| outcomes.iter().filter(|outcome| *outcome == expected).count();
        assert_eq!((count(&Outcome::Deleted), count(&Outcome::AuditFailed)), (gone.len(), judged.len() - gone.len()));
    }
}

#[tokio::test]
async fn at_most_the_configured_number_runs_at_once() {
    let judged: Vec<_> = (0..9).map(|index| map(&format!("map-{index}"))).collect();
    let fake = Fake::of(judged.clone());
    let folder = tempfile::tempdir().unwrap();
    let pass = Pass { concurrency: 3, ..Pass::new(&fake, &folder.path().join("audit")) };
    let outcomes = pass.run(&judged, leader).await;
    assert!(outcomes.len() == 9 && outcomes.iter().all(|outcome| *outcome == Outcome::Deleted), "{outcomes:?}");
    assert_eq!(fake.most_in_flight.get(), 3);
}

#[tokio::test]
async fn parent_of_a_bundle_goes_after_its_members() {
    let mut parent = map("a-parent");
    parent["metadata"]["labels"]["applyset.kubernetes.io/id"] = json!("applyset-x-v1");
    let objects = [parent, map("member"), map("other")];
    let (fake, dir) = (Fake::of(objects.clone()), tempfile::tempdir().unwrap());
    let mut pass = Pass::new(&fake, &dir.path().join("audit"));
    pass.concurrency = 3;
    pass.run(&objects, leader).await;
    let calls = fake.calls.borrow();
    let at = |name: &str| calls.iter().position(|call| *call == format!("delete ConfigMap team/{name}")).unwrap();
    assert!(at("a-parent") > at("member") && at("a-parent") > at("other"), "{calls:?}");
}

#[tokio::test]
async fn terminating_object_is_not_deleted_again() {
    let mut judged = map("a");
    judged["metadata"]["finalizers"] = json!(["a/b"]);
    let fake = Fake::of([judged.clone()]);
    let folder = tempfile::tempdir().unwrap();
    let pass = Pass::new(&fake, &folder.path().join("audit"));
    let first = pass.run(&[judged.clone()], leader).await;
    assert_eq!(first[0], Outcome::Terminating { finalizers: vec!["a/b".to_owned()] });
    let second = pass.run(&[judged], leader).await;
    assert_eq!(second[0], Outcome::Kept(Keep::Terminating));
    assert_eq!(fake.calls.borrow().iter().filter(|call| call.starts_with("delete")).count(), 1);
}

#[test]
fn event_about_a_cluster_scoped_object_lives_in_default() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team", "uid": "u" } });
    let judged = Candidate::of(&namespace, Destination::ThisCluster);
    let event = event::announcement(&judged, &namespace, &Outcome::Deleted, TERM, now());
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["involvedObject"]["namespace"], Value::Null);
}

#[tokio::test]
async fn deletion_that_is_refused_in_each_pass_is_recorded_once() {
    for kind in [WriteErrorKind::Forbidden, WriteErrorKind::Unavailable] {
        let fake = Fake::of([map("a")]).at("delete", At::Fails(kind)).at("dry-run", At::Fails(kind));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit");
        let pass = Pass::new(&fake, &file);
        for _ in 0..3 {
            let outcomes = pass.run(&[map("a")], leader).await;
            assert!(matches!(&outcomes[..], [Outcome::Refused(_) | Outcome::Uncertain(_)]), "{outcomes:?}");
        }
        let calls = |verb: &str| fake.calls.borrow().iter().filter(|call| call.starts_with(verb)).count();
        assert_eq!(
            (records(&file).len(), fake.created.borrow().len()),
            (2, 0),
            "one attempt, and no Event, as nothing was deleted"
        );
        assert_eq!((calls("delete"), calls("dry-run")), (1, 2));

        // The refusal ends.
        fake.at.borrow_mut().clear();
        assert_eq!(pass.run(&[map("a")], leader).await, [Outcome::Deleted]);
        let records = records(&file);
        assert!(matches!(records[2].action, Action::Delete { .. }), "the manifest is written before the deletion");
        assert_eq!(result(&records[3]), ("deleted", true));
    }
}

#[tokio::test]
async fn namespace_that_was_filled_since_it_was_judged_is_kept() {
    let signer = Signer::new(&[7; 32]).unwrap();
    let world = World::default();
    let mut namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "team-b", "uid": "uid-team-b",
                      "labels": { "hyperfleet.io/adapter": "dns", "hyperfleet.io/resource-id": OWNER } } });
    let proof = signer.sign(&Candidate::of(&namespace, Destination::ThisCluster).claim());
    namespace["metadata"]["annotations"] = json!({ "hyperfleet.io/ownership-proof": proof });
    let namespace = world.add(namespace);
    let policy = Policy { cluster_scoped: vec!["core/Namespace".parse().unwrap()], signers: vec![signer], ..policy() };
    let audit = Audit::to_nowhere();
    let refused = Refused::default();
    let deleter = Deleter {
        objects: &world,
        evidence: &(),
        permit: leader,
        term: TERM,
        call_limit: Duration::from_secs(5),
        refused: &refused,
        audit: &audit,
        policy: &policy,
        concurrency: NonZeroUsize::MIN,
        clock: now,
    };
    let (plan, strikes) = (plan(&[namespace]), Strikes::default());
    let of = |attempts: Vec<Attempt<'_>>| attempts.into_iter().map(|attempt| attempt.outcome).collect::<Vec<_>>();
    let content = |api_version: &str, kind: &str, name: &str| json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "team-b" } });
    world.add(content("v1", "ConfigMap", "kube-root-ca.crt"));
    // The second kind is not served before its first object is there, as after the creation of a CRD.
    for (api_version, kind) in [("v1", "ConfigMap"), ("shop.example.com/v1", "Widget")] {
        world.add(content(api_version, kind, "shop"));
        assert_eq!(of(deleter.delete_all(&plan, &strikes).collect().await), [Outcome::Kept(Keep::NotEmpty)], "{kind}");
        world.remove("shop");
    }
    world.hide_group("shop.example.com");
    let hidden = of(deleter.delete_all(&plan, &strikes).collect().await);
    assert!(matches!(&hidden[..], [Outcome::Unread(_)]), "{hidden:?}");
    // Measurements are no objects that live in a namespace.
    world.hide_group("metrics.k8s.io");
    assert_eq!(of(deleter.delete_all(&plan, &strikes).collect().await), [Outcome::Deleted]);
}
