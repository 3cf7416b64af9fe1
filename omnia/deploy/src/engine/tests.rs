//! How an agent is waited for.

use std::collections::VecDeque;
use std::sync::Mutex;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteErrorKind};

use super::*;

/// What a look finds: an agent, nothing, or why the look failed.
type Look = Result<Option<Value>, WriteError>;

/// A server that answers one look after the other.
struct Looks(Mutex<VecDeque<Look>>);

impl Looks {
    fn next(&self) -> Look {
        self.0.lock().unwrap().pop_front().unwrap()
    }
}

fn refused<R>() -> Result<R, WriteError> {
    Err(failed(WriteErrorKind::Denied, None))
}

fn failed(kind: WriteErrorKind, status: Option<u16>) -> WriteError {
    WriteError { kind, call: "find".to_owned(), status, message: "it did not work".to_owned() }
}

impl Transport for Looks {
    async fn find(&self, _: &Query) -> Result<Vec<Value>, WriteError> {
        self.next().map(|found| found.into_iter().collect())
    }

    async fn inspect(&self, _: &Inspection, _: &Members) -> Result<Option<Identity>, WriteError> {
        refused()
    }

    async fn create(&self, _: &Value, _: &Destination) -> Result<Value, WriteError> {
        refused()
    }

    async fn dry_run_create(&self, _: &Value, _: &Destination) -> Result<(), WriteError> {
        refused()
    }

    async fn update(&self, _: &Value, _: &Target, _: &Version, _: UpdateMode) -> Result<Value, WriteError> {
        refused()
    }

    async fn patch(&self, _: &Value, _: &Target) -> Result<Option<Value>, WriteError> {
        refused()
    }

    async fn delete(&self, _: &Target, _: PropagationPolicy) -> Result<Deletion, WriteError> {
        refused()
    }
}

fn agent(phase: &str, observed: i64) -> Value {
    json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "AgentRuntime",
        "metadata": { "name": "a", "namespace": "team", "generation": 2 },
        "status": { "phase": phase, "observedGeneration": observed },
    })
}

#[tokio::test(start_paused = true)]
async fn agent_is_waited_for_in_the_written_generation() {
    let found = |phase: &str, observed| Ok(Some(agent(phase, observed)));
    let pending = |count: usize, last: Look| {
        let looks = (0..count).map(|_| found("Pending", 2));
        looks.chain([last]).collect::<Vec<_>>()
    };
    let ready = || found("Running", 2);
    let late = (Category::Timeout, "created but did not reach Ready within 30 polls");
    let broken = |status| Err(failed(WriteErrorKind::Unavailable, Some(status)));
    for (name, looks, expected, asked) in [
        ("ready for the older generation, then the written one", vec![found("Running", 1), ready()], None, 2),
        (
            "failed",
            vec![found("Failed", 2)],
            Some((Category::Resource, "resource reconciled into a failed state: phase Failed")),
            1,
        ),
        ("ready at the last look", pending(29, ready()), None, 30),
        ("never ready", pending(30, ready()), Some(late), 30),
        ("a broken server, once", vec![broken(500), ready()], None, 2),
        ("gone", vec![Ok(None)], Some((Category::NotFound, "it is gone")), 1),
        (
            "forbidden",
            vec![Err(failed(WriteErrorKind::Forbidden, Some(403)))],
            Some((Category::Permission, "it did not work")),
            1,
        ),
        ("no status", vec![Ok(Some(json!({ "metadata": { "name": "a" } }))), ready()], None, 2),
    ] {
        let count = looks.len();
        let transport = Looks(Mutex::new(looks.into()));
        let (prior, began) = (State::default(), tokio::time::Instant::now());
        let set = Set {
            pack_id: "p",
            workspace: "team",
            surface: Surface::Cluster,
            console: None,
            prior: &prior,
            objects: &[],
            bound: None,
        };
        let (_, names) = set.begin(Intent::Apply).unwrap();
        let deployment = Deployment { names, transport: &transport };
        let end = deployment.settle(agent("", 1), &CancellationToken::new()).await;
        let end = end.err().map(|error| (error.category, error.message));
        assert_eq!(end, expected.map(|(category, message)| (category, message.to_owned())), "{name}");
        assert_eq!(count - transport.0.lock().unwrap().len(), asked, "{name}");
        assert_eq!(began.elapsed(), EVERY * (asked as u32 - 1), "{name}: nothing waits after the last look");
    }
}
