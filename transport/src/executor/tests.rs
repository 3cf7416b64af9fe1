#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Deletion, Disowning, UpdateMode};
use serde_json::json;

use super::*;
use crate::memory::MemoryTransport;

mod batch;
mod delete;
mod patch;

/// The in-memory store behind a script: calls can be refused, can hang, and are recorded.
struct Scripted {
    store: MemoryTransport,
    refuse: BTreeMap<&'static str, WriteErrorKind>,
    hang_on: Option<&'static str>,
    /// Answers every deletion with a terminating object, although the store deletes it at once.
    deletions_stay_pending: bool,
    calls: Mutex<Vec<String>>,
    running_calls: AtomicUsize,
    most_running_calls: AtomicUsize,
}

impl Scripted {
    fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        let store = MemoryTransport::new("2026-01-01T00:00:00Z".parse().unwrap()).with_objects(objects).unwrap();
        Self {
            store,
            refuse: BTreeMap::new(),
            hang_on: None,
            deletions_stay_pending: false,
            calls: Mutex::default(),
            running_calls: AtomicUsize::new(0),
            most_running_calls: AtomicUsize::new(0),
        }
    }

    fn refusing(mut self, call: &'static str, kind: WriteErrorKind) -> Self {
        self.refuse.insert(call, kind);
        self
    }

    async fn enter(&self, verb: &str, name: &str) -> Result<(), WriteError> {
        let call = format!("{verb} {name}");
        self.calls.lock().unwrap().push(call.clone());
        let now = self.running_calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running_calls.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.running_calls.fetch_sub(1, Ordering::SeqCst);
        if self.hang_on == Some(call.as_str()) {
            std::future::pending::<()>().await;
        }
        match self.refuse.get(call.as_str()) {
            Some(kind) => Err(WriteError { kind: *kind, call, status: None, message: "scripted".to_owned() }),
            None => Ok(()),
        }
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.enter("get", &ObjectRef::from(query).name).await?;
        self.store.find(query).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        let call = inspection.to_string();
        self.enter("inspect", call.trim_start_matches("inspect ")).await?;
        self.store.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.enter("create", &ObjectRef::of(desired).name).await?;
        self.store.create(desired, destination).await
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.enter("dry-run", &ObjectRef::of(desired).name).await?;
        self.store.dry_run_create(desired, destination).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.enter("update", &target.name).await?;
        self.store.update(desired, target, live, mode).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.enter("patch", &target.name).await?;
        self.store.patch(document, target).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.enter("delete", &target.name).await?;
        let deletion = self.store.delete(target, propagation).await?;
        Ok(match deletion {
            Deletion::Gone if self.deletions_stay_pending => {
                Deletion::Pending(json!({ "metadata": { "uid": target.uid } }))
            }
            Deletion::Gone | Deletion::Pending(_) => deletion,
        })
    }
}

fn job(name: &str, uid: &str) -> Value {
    json!({ "apiVersion": "batch/v1", "kind": "Job",
            "metadata": { "name": name, "namespace": "team-a", "uid": uid, "creationTimestamp": "2025-01-01T00:00:00Z" } })
}

fn job_with_finalizer(name: &str, uid: &str) -> Value {
    let mut job = job(name, uid);
    job["metadata"]["finalizers"] = json!(["example.com/hold"]);
    job
}

/// An object that another client deleted: terminating, in a newer resource version than the planner saw.
fn terminating_job(name: &str, uid: &str) -> Value {
    let mut job = job_with_finalizer(name, uid);
    job["metadata"]["deletionTimestamp"] = json!("2025-12-31T00:00:00Z");
    job
}

fn desired(name: &str) -> Value {
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "team-a" },
            "spec": { "parallelism": 1 } })
}

fn target(name: &str, uid: &str) -> Target {
    Target {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new("batch/v1", "Job"),
        namespace: Some("team-a".to_owned()),
        name: name.to_owned(),
        uid: uid.to_owned(),
        resource_version: String::new(),
    }
}

/// A target whose resource version is older than the live object's.
fn outdated_target(name: &str, uid: &str) -> Target {
    Target { resource_version: "0".to_owned(), ..target(name, uid) }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn create(name: &str) -> Command {
    Command::Create { destination: Destination::ThisCluster, desired: desired(name) }
}

fn update() -> Command {
    let live = Version::new(job("a", "u1"));
    Command::Update { desired: desired("a"), mode: UpdateMode::Apply, target: target("a", "u1"), live }
}

fn recreate(targets: Vec<Target>) -> Command {
    Command::Recreate { destination: Destination::ThisCluster, desired: desired("a"), targets }
}

fn delete(targets: Vec<Target>) -> Command {
    Command::Delete { targets, propagation: PropagationPolicy::Background }
}

fn patch(target: Target, documents: &[Value]) -> Command {
    Command::Patch { target, documents: documents.to_vec() }
}

fn suspend_patch(suspend: bool) -> Value {
    json!({ "spec": { "suspend": suspend } })
}

fn disown_command(former: Vec<Target>, last: Target) -> Command {
    let disowned = |target| Disowning { target, patch: json!({ "metadata": { "labels": { "disowned": "yes" } } }) };
    Command::Disown { former: former.into_iter().map(disowned).collect(), last: disowned(last) }
}

/// Formats the result of a command as one line, without the objects.
fn summary(executed: &Executed) -> String {
    let names = |versions: &[Version]| versions.iter().map(Version::uid).collect::<Vec<_>>().join(" ");
    let describe = |error: &WriteError| format!("{:?} ({})", error.kind, error.call);
    let failed = |failures: &[(Target, WriteError)]| {
        let failures: Vec<String> = failures.iter().map(|(_, error)| describe(error)).collect();
        format!("failed {}", failures.join(", "))
    };
    match executed {
        Executed::Created(_) => "created".to_owned(),
        Executed::NameTaken(holder) => format!("name taken by {}", holder.as_ref().map_or("nobody", uid)),
        Executed::Updated(_) => "updated".to_owned(),
        Executed::Recreated(_) => "recreated".to_owned(),
        Executed::DeletedNotCreated(NotCreated::NameTaken(holder)) => {
            format!("deleted; name taken by {}", holder.as_ref().map_or("nobody", uid))
        }
        Executed::DeletedNotCreated(NotCreated::Failed(error)) => format!("deleted; failed {}", describe(error)),
        Executed::Deleting(remaining) => format!("deleting {}", names(remaining)),
        Executed::Deleted => "deleted".to_owned(),
        Executed::DeleteFailed { remaining, failures } => {
            format!("deleting {}; {}", names(remaining), failed(failures))
        }
        Executed::Patched(object) => format!("patched {}", object["metadata"]["resourceVersion"]),
        Executed::PatchFailed { object, error } => {
            let version = object.as_ref().map_or(&Value::Null, |object| &object["metadata"]["resourceVersion"]);
            format!("patched {version}; failed {}", describe(error))
        }
        Executed::Disowned(disowned) => format!("disowned {}", names(disowned)),
        Executed::DisownFailed { failures } => failed(failures),
        Executed::Failed(error) => format!("failed {}", describe(error)),
    }
}

/// Case name, store, command, expected result, and expected calls.
type Case<'a> = (&'a str, Scripted, Command, &'a str, &'a [&'a str]);

async fn check(cases: Vec<Case<'_>>) {
    for (name, transport, command, expected, calls) in cases {
        let executed = execute(&transport, command, deadline()).await;
        assert_eq!(summary(&executed), expected, "{name}");
        assert_eq!(transport.calls(), calls, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn executor_creates_updates_and_recreates_by_protocol() {
    use WriteErrorKind as Kind;
    check(vec![
        ("a free name is created with one call", Scripted::new([]), create("a"), "created", &["create a"]),
        (
            "a taken name is read once",
            Scripted::new([job("a", "u1")]),
            create("a"),
            "name taken by u1",
            &["create a", "get a"],
        ),
        (
            "a name that was taken and is free again when read",
            Scripted::new([]).refusing("create a", Kind::AlreadyExists),
            create("a"),
            "name taken by nobody",
            &["create a", "get a"],
        ),
        (
            "a taken name whose holder cannot be read",
            Scripted::new([job("a", "u1")]).refusing("get a", Kind::Unavailable),
            create("a"),
            "failed Unavailable (get a)",
            &["create a", "get a"],
        ),
        (
            "a refused creation is not tried again",
            Scripted::new([]).refusing("create a", Kind::TooManyRequests),
            create("a"),
            "failed TooManyRequests (create a)",
            &["create a"],
        ),
        ("an update of the very object", Scripted::new([job("a", "u1")]), update(), "updated", &["update a"]),
        (
            "an update of a namesake",
            Scripted::new([job("a", "u2")]),
            update(),
            "failed Conflict (apply Job team-a/a)",
            &["update a"],
        ),
        (
            "an update of a vanished object does not create it",
            Scripted::new([]),
            update(),
            "failed Conflict (apply Job team-a/a)",
            &["update a"],
        ),
        (
            "a recreation is dry-run, deletes, and creates",
            Scripted::new([job("a", "u1")]),
            recreate(vec![target("a", "u1")]),
            "recreated",
            &["dry-run a", "delete a", "create a"],
        ),
        (
            "a recreation whose old object does not exist any more",
            Scripted::new([]),
            recreate(vec![target("a", "u1")]),
            "recreated",
            &["dry-run a", "delete a", "create a"],
        ),
        (
            "a manifest that the server would refuse deletes nothing",
            Scripted::new([job("a", "u1")]).refusing("dry-run a", Kind::Invalid),
            recreate(vec![target("a", "u1")]),
            "failed Invalid (dry-run a)",
            &["dry-run a"],
        ),
        (
            "a dry run that is not answered deletes nothing",
            Scripted::new([job("a", "u1")]).refusing("dry-run a", Kind::Unreachable),
            recreate(vec![target("a", "u1")]),
            "failed Unreachable (dry-run a)",
            &["dry-run a"],
        ),
        (
            "a recreation whose name a stranger holds deletes nothing",
            Scripted::new([job("a", "stranger"), job("b", "u1")]),
            recreate(vec![target("b", "u1")]),
            "name taken by stranger",
            &["dry-run a", "get a"],
        ),
        (
            "a recreation deletes nothing if the holder of its name cannot be read",
            Scripted::new([job("a", "stranger"), job("b", "u1")]).refusing("get a", Kind::Unavailable),
            recreate(vec![target("b", "u1")]),
            "failed Unavailable (get a)",
            &["dry-run a", "get a"],
        ),
        (
            "a recreation whose creation is refused reports the deleted object",
            Scripted::new([job("a", "u1")]).refusing("create a", Kind::Unavailable),
            recreate(vec![target("a", "u1")]),
            "deleted; failed Unavailable (create a)",
            &["dry-run a", "delete a", "create a"],
        ),
        (
            "an object that finalizers hold is read once and waited for by later events",
            Scripted::new([job_with_finalizer("a", "u1")]),
            recreate(vec![target("a", "u1")]),
            "deleting u1",
            &["dry-run a", "delete a", "get a"],
        ),
        (
            "an object is in the response to its deletion, but gone when read",
            Scripted { deletions_stay_pending: true, ..Scripted::new([job("a", "u1")]) },
            recreate(vec![target("a", "u1")]),
            "recreated",
            &["dry-run a", "delete a", "get a", "create a"],
        ),
        (
            "an object whose end cannot be read counts as standing",
            Scripted { deletions_stay_pending: true, ..Scripted::new([job("a", "u1")]) }
                .refusing("get a", Kind::Unreachable),
            recreate(vec![target("a", "u1")]),
            "deleting u1",
            &["dry-run a", "delete a", "get a"],
        ),
        (
            "a recreation whose deletion is refused creates nothing",
            Scripted::new([job("a", "u1")]).refusing("delete a", Kind::Forbidden),
            recreate(vec![target("a", "u1")]),
            "deleting ; failed Forbidden (delete a)",
            &["dry-run a", "delete a"],
        ),
        (
            "a recreation deletes the last one when the others went",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]),
            recreate(vec![target("b", "u2"), target("c", "u3"), target("a", "u1")]),
            "recreated",
            &["dry-run a", "delete b", "delete c", "delete a", "create a"],
        ),
        (
            "and leaves it if one of the others was refused, so that the next event finds it",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]).refusing("delete b", Kind::Unavailable),
            recreate(vec![target("b", "u2"), target("c", "u3"), target("a", "u1")]),
            "deleting ; failed Unavailable (delete b)",
            &["dry-run a", "delete b", "delete c"],
        ),
        (
            "but not if one is only held",
            Scripted::new([job("a", "u1"), job_with_finalizer("b", "u2")]),
            recreate(vec![target("b", "u2"), target("a", "u1")]),
            "deleting u2",
            &["dry-run a", "delete b", "get b", "delete a"],
        ),
        (
            "a recreation does not touch a namesake",
            Scripted::new([job("a", "u2")]),
            recreate(vec![target("a", "u1")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["dry-run a", "delete a", "get a"],
        ),
        (
            "a recreation of what changed since deletes nothing",
            Scripted::new([job("a", "u1")]),
            recreate(vec![outdated_target("a", "u1")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["dry-run a", "delete a", "get a"],
        ),
        (
            "a recreation waits for an object that another client deleted meanwhile",
            Scripted::new([terminating_job("a", "u1")]),
            recreate(vec![outdated_target("a", "u1")]),
            "deleting u1",
            &["dry-run a", "delete a", "get a"],
        ),
        (
            "a name that another takes between deletion and creation",
            Scripted::new([job("a", "u1")]).refusing("create a", Kind::AlreadyExists),
            recreate(vec![target("a", "u1")]),
            "deleted; name taken by nobody",
            &["dry-run a", "delete a", "create a", "get a"],
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_a_hanging_call_with_an_error_that_names_it() {
    let recreate = recreate(vec![target("a", "u1")]);
    let cases = [
        ("create a", create("b"), "created"),
        ("create a", create("a"), "failed DeadlineExceeded (create Job team-a/a)"),
        ("update a", update(), "failed DeadlineExceeded (update Job team-a/a)"),
        ("dry-run a", recreate.clone(), "failed DeadlineExceeded (dry-run the creation of Job team-a/a)"),
        ("delete a", recreate.clone(), "deleting ; failed DeadlineExceeded (delete Job team-a/a)"),
        ("create a", recreate, "deleted; failed DeadlineExceeded (create Job team-a/a)"),
        (
            "delete a",
            delete(vec![target("a", "u1"), target("b", "u2")]),
            "deleting ; failed DeadlineExceeded (delete Job team-a/a)",
        ),
        (
            "patch a",
            patch(target("a", "u1"), &[suspend_patch(true), suspend_patch(false)]),
            "patched null; failed DeadlineExceeded (patch Job team-a/a)",
        ),
        (
            "patch a",
            disown_command(vec![target("a", "u1"), target("c", "u3")], target("b", "u2")),
            "failed DeadlineExceeded (patch Job team-a/a)",
        ),
    ];
    for (hang_on, command, expected) in cases {
        let transport = Scripted { hang_on: Some(hang_on), ..Scripted::new([job("a", "u1")]) };
        let deadline = deadline();
        let executed = execute(&transport, command, deadline).await;
        assert_eq!(summary(&executed), expected, "{hang_on}");
        assert!(Instant::now() <= deadline + Duration::from_millis(2), "{hang_on}");
    }
}

#[tokio::test(start_paused = true)]
async fn executor_starts_no_call_after_the_deadline() {
    let commands = [
        create("b"),
        delete(vec![target("a", "u1")]),
        patch(target("a", "u1"), &[suspend_patch(true)]),
        disown_command(vec![], target("a", "u1")),
    ];
    for command in commands {
        let transport = Scripted::new([job("a", "u1")]);
        let summary = summary(&execute(&transport, command, Instant::now()).await);
        assert!(summary.contains("DeadlineExceeded"), "{summary}");
        assert_eq!(transport.calls(), Vec::<String>::new(), "{summary}");
    }
}

#[tokio::test(start_paused = true)]
async fn executor_limits_concurrent_writes_of_one_command() {
    let names: Vec<String> = (0..40).map(|index| format!("job-{index}")).collect();
    let targets = || names.iter().map(|name| target(name, name)).collect::<Vec<_>>();
    let last = target("last", "last");

    let transport = Scripted::new(names.iter().map(|name| job(name, name)).chain([job("last", "last")]));
    let executed = execute(&transport, disown_command(targets(), last), deadline()).await;
    let Executed::Disowned(disowned) = executed else { panic!("{executed:?}") };
    assert_eq!(disowned.len(), 41);
    assert_eq!(transport.most_running_calls.load(Ordering::SeqCst), CONCURRENT_WRITES);

    let transport = Scripted { most_running_calls: AtomicUsize::new(0), ..transport };
    assert_eq!(execute(&transport, delete(targets()), deadline()).await, Executed::Deleted);
    assert_eq!(transport.most_running_calls.load(Ordering::SeqCst), CONCURRENT_WRITES);
    assert_eq!(transport.store.objects().len(), 1);
}
