//! A server, two replicas of an adapter, and users.
//!
//! In: a task, and a [`Ground`], which is the server. Out: passes, with the faults and pauses of a
//! [`Delivery`]; the oracle judges each when it has ended, and `log` describes it. Time is simulated: each
//! pass begins one second after the one before.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyperfleet_adapter::api::{Answer, Api, ApiFailure, CallContext};
use hyperfleet_adapter::pass::PassReport;
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::trace::TraceContext;
use jiff::{SignedDuration, Timestamp};
use lifecycle_core::api_call::ApiRequest;
use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_core::process_variables::Host;
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::account;
use crate::control::{Control, Signal};
use crate::drive::Settings;
use crate::ground::Ground;
use crate::journal::{Entry, Journal};
use crate::oracle::{Event, View, Violation, judge};
use crate::sequence::{Age, Delivery, EventShape, Meanwhile};
use crate::shape::{ADAPTER, Kind, TaskShape};
use crate::tamper::Tampered;
use crate::watch::Watched;

/// The deadline of a pass.
const DEADLINE: Duration = Duration::from_secs(60);

/// An API that is never called: the model's tasks call none.
#[derive(Debug)]
pub(crate) struct NoApi;

impl Api for NoApi {
    async fn call(&self, _: &ApiRequest, _: &CallContext) -> Result<Answer, ApiFailure> {
        Err(ApiFailure { attempts: 0, message: "there is no API".to_owned() })
    }

    fn resolve_url(&self, url: &str) -> String {
        url.to_owned()
    }
}

struct Replica<T> {
    pipeline: Arc<Pipeline<Tampered<T>, NoApi>>,
    control: Arc<Control>,
    signals: Option<mpsc::UnboundedReceiver<Signal>>,
}

/// A pass that has ended.
pub(crate) struct Ended {
    pub(crate) event: Event,
    /// The report; none if the pass crashed.
    pub(crate) report: Option<PassReport>,
    pub(crate) calls: Vec<Entry>,
    /// Whether a fault was hit.
    pub(crate) disturbed: bool,
}

impl Ended {
    /// Whether the pass changed nothing.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.report.is_some() && self.calls.iter().all(|entry| entry.before == entry.after)
    }
}

/// A server, two replicas of an adapter, and users; see the module's documentation.
pub(crate) struct World<G: Ground> {
    pub(crate) ground: G,
    pub(crate) id: String,
    pub(crate) task: Arc<TaskShape>,
    pub(crate) journal: Arc<Journal<G::Transport>>,
    pub(crate) now: Timestamp,
    /// The latest generation of an event so far.
    pub(crate) latest: i64,
    pub(crate) log: String,
    pub(crate) violations: Vec<Violation>,
    replicas: Vec<Replica<G::Transport>>,
    passes: usize,
}

impl<G: Ground> World<G> {
    /// # Errors
    /// The task is refused.
    pub(crate) fn new(
        ground: G,
        id: &str,
        task: &Arc<TaskShape>,
        start: Timestamp,
        settings: Settings,
    ) -> anyhow::Result<Self> {
        let compiled = compiled(task, ground.group())?;
        let kinds = Kind::ALL.into_iter().filter(|kind| task.resources.iter().any(|resource| resource.kind == *kind));
        let kinds = kinds.map(|kind| (kind.destination(ground.namespace()), kind.gvk(ground.group()))).collect();
        let journal = Arc::new(Journal::new(ground.store(), id, ground.namespace(), kinds));
        let replica = |number: usize| {
            let (control, signals) = Control::new();
            let watched = Watched::new(ground.wire(number), Arc::clone(&journal), Arc::clone(&control));
            let pipeline = Pipeline {
                task: Arc::clone(&compiled),
                host: Host { name: ADAPTER.to_owned(), ..Host::default() },
                resource_id: None,
                signer: None,
                transport: Tampered::new(watched, settings.tampering),
                api: NoApi,
                keep_account: false,
                keep_readings: false,
            };
            Replica { pipeline: Arc::new(pipeline), control, signals: Some(signals) }
        };
        Ok(Self {
            replicas: vec![replica(0), replica(1)],
            journal,
            id: id.to_owned(),
            task: Arc::clone(task),
            now: start,
            latest: 0,
            log: String::new(),
            violations: Vec::new(),
            passes: 0,
            ground,
        })
    }

    /// Returns all objects of the sequence that the server has now.
    pub(crate) async fn objects(&self) -> anyhow::Result<Vec<Value>> {
        Ok(self.journal.objects().await?)
    }

    pub(crate) fn advance(&mut self, by: SignedDuration) {
        self.now += by;
        self.ground.set_now(self.now);
    }

    /// Adds a line to the log.
    pub(crate) fn note(&mut self, line: impl Into<String>) {
        self.log += &line.into();
        self.log.push('\n');
    }

    /// The generation of an event of this shape; a new generation becomes the latest.
    pub(crate) fn generation(&mut self, shape: &EventShape) -> i64 {
        match shape.age {
            Age::Next => self.latest += 1,
            Age::Same => self.latest = self.latest.max(1),
            Age::Late(by) => return (self.latest - by).max(1),
        }
        self.latest
    }

    /// Handles an event in one pass, with its faults and its pause.
    pub(crate) async fn deliver(
        &mut self,
        shape: &EventShape,
        generation: i64,
        delivery: &Delivery,
    ) -> anyhow::Result<Ended> {
        let mut signals =
            self.replicas[delivery.replica].signals.take().unwrap_or_else(|| unreachable!("one pass at a time"));
        let ended = self.drive(shape, generation, delivery, &mut signals).await;
        self.replicas[delivery.replica].signals = Some(signals);
        ended
    }

    async fn drive(
        &mut self,
        shape: &EventShape,
        generation: i64,
        delivery: &Delivery,
        signals: &mut mpsc::UnboundedReceiver<Signal>,
    ) -> anyhow::Result<Ended> {
        self.advance(SignedDuration::from_secs(1));
        self.passes += 1;
        let (pass, replica) = (self.passes, delivery.replica);
        let event = Event {
            id: self.id.clone(),
            namespace: self.ground.namespace().to_owned(),
            group: self.ground.group().to_owned(),
            generation,
            flags: shape.flags.clone(),
            now: self.now,
        };
        let at_beginning = self.objects().await?;
        let faults = self.ground.inject(replica, delivery.faults.clone());
        let control = Arc::clone(&self.replicas[replica].control);
        control.begin(pass, faults, delivery.pause.as_ref().map(|(number, _)| *number));
        self.note(format!("pass {pass}: generation {generation} at replica {replica}, now {}", self.now));

        let pipeline = Arc::clone(&self.replicas[replica].pipeline);
        let lifecycle_event = cloud_event(&event)?;
        let trace = TraceContext::default();
        let run = pipeline.run(&lifecycle_event, self.now, Instant::now() + DEADLINE, &trace);
        let mut run = Box::pin(run);
        let report = loop {
            let signal = tokio::select! {
                biased;
                report = &mut run => break Some(report),
                signal = signals.recv() => signal,
            };
            match signal {
                Some(Signal::Paused) => {
                    let early = self.run_pause(run.as_mut(), shape, generation, delivery).await?;
                    if early.is_some() {
                        break early;
                    }
                    control.go_on();
                }
                Some(Signal::Crashed) | None => break None,
            }
        };
        drop(run);
        let disturbed = self.ground.heal(replica) + control.hits() > 0;
        let calls = self.journal.of(pass);
        self.log += &account::pass(pass, &calls, report.as_ref());
        let view = View::new(&self.task, &event, &calls);
        self.violations.extend(judge(&view, &calls, &at_beginning));
        Ok(Ended { event, report, calls, disturbed })
    }

    /// Performs what happens during a pause. Returns the report of the paused pass if it ended meanwhile,
    /// because of its deadline.
    async fn run_pause(
        &mut self,
        mut run: Pin<&mut impl Future<Output = PassReport>>,
        shape: &EventShape,
        generation: i64,
        delivery: &Delivery,
    ) -> anyhow::Result<Option<PassReport>> {
        self.note(format!("pass {} pauses", self.passes));
        let mut early = None;
        let mut meanwhile = self.meanwhile(shape, generation, delivery);
        loop {
            // Poll the paused pass as well: its calls under way must end, because only one call is made at a time.
            tokio::select! {
                biased;
                done = &mut meanwhile => break done?,
                report = &mut run, if early.is_none() => early = Some(report),
            }
        }
        drop(meanwhile);
        self.note("the pass goes on");
        Ok(early)
    }

    /// Performs the steps of a pause. Boxed, because a step may be a pass, which may call this function again.
    fn meanwhile<'a>(
        &'a mut self,
        same: &'a EventShape,
        generation: i64,
        paused: &'a Delivery,
    ) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>> {
        Box::pin(async move {
            for step in paused.pause.iter().flat_map(|(_, steps)| steps) {
                match step {
                    Meanwhile::Act(act) => self.act(act).await?,
                    Meanwhile::Event(event, faults) => {
                        let replica = 1 - paused.replica;
                        let delivery = Delivery { replica, faults: faults.clone(), ..Delivery::default() };
                        let shape = event.as_ref().unwrap_or(same);
                        let generation = if event.is_some() { self.generation(shape) } else { generation };
                        self.deliver(shape, generation, &delivery).await?;
                    }
                }
            }
            Ok(())
        })
    }
}

fn compiled(task: &TaskShape, group: &str) -> anyhow::Result<Arc<Task>> {
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &task.yaml(group), &surroundings);
    compiled.task.map(Arc::new).ok_or_else(|| anyhow::anyhow!("the task is refused: {}", compiled.diagnostics))
}

/// The event as a CloudEvent.
fn cloud_event(event: &Event) -> anyhow::Result<LifecycleEvent> {
    let flags: BTreeMap<&str, bool> = event.flags.iter().map(|(flag, value)| (flag.name(), *value)).collect();
    let data = json!({
        "id": event.id, "kind": "Cluster", "href": "", "generation": event.generation,
        "namespace": event.namespace, "flags": flags,
    });
    let envelope = json!({ "specversion": "1.0", "id": "1", "source": "model", "type": "model", "data": data });
    Ok(LifecycleEvent::from_structured(envelope.to_string().as_bytes(), MAX_EVENT_BYTES)?)
}
