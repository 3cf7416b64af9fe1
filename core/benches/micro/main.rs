//! Measures the CPU time of the parts of a pass, without any I/O.
//!
//! Run by `cargo bench -p lifecycle-core --bench micro [-- NAME]`. Prints the share of two targets: 0.6 ms of
//! CPU for an event in all, 5 ms for a dry run. Never fails for slowness.
#![expect(clippy::wildcard_enum_match_arm, reason = "a benchmark bails out at whatever it does not time")]

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;
use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_core::execution::Execution;
use lifecycle_core::manifest;
use lifecycle_core::manifest::reserved::Reserved;
use lifecycle_core::outcome::GateAnswer;
use lifecycle_core::params::Resolver;
use lifecycle_core::plan::decide::{Gate, Questions, Rendered, Seen, decide};
use lifecycle_core::plan::{Next, Planner, Write};
use lifecycle_core::post::Reporter;
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::process_variables::Host;
use lifecycle_core::report_overlay::Account;
use lifecycle_core::stage::{Answer, Need, Progress, Stage};
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::cel::Expression;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use lifecycle_objects::failure::Failure;
use lifecycle_objects::observation::{Observation, Version};
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::{Command, Executed};
use serde_json::{Value, json};

mod bundle;
mod timing;

use timing::{print_head, time};

const TASK: &str = include_str!("task.yaml");
/// The values of a deployment file, as the adapter passes them to core.
const CONFIG: &str = include_str!("config.json");
/// The target for the CPU time of an event.
const EVENT: Duration = Duration::from_micros(600);
/// The target for the CPU time of a dry run, which loads everything.
const DRY_RUN: Duration = Duration::from_millis(5);

fn main() -> anyhow::Result<()> {
    let fixture = Fixture::new()?;
    let (absent, live) = (fixture.absent(), fixture.live()?);
    ensure!(fixture.pass(&absent)? == 3, "a pass creates the three absent objects");
    ensure!(fixture.pass(&live)? == 0, "a pass writes nothing if the three objects are live");

    print_head();
    time("load: a task of three resources", DRY_RUN, || load().is_ok());
    time("load: one expression", DRY_RUN, || Expression::parse(GATE).is_ok());
    time("load: one template", DRY_RUN, || Template::parse("cluster-{{ .clusterId }}").is_ok());

    time("event: parse", EVENT, || LifecycleEvent::from_structured(EVENT_BODY.as_bytes(), MAX_EVENT_BYTES).is_ok());

    time("scope: before the first phase", EVENT, || fixture.initial_scope());
    let (scope, stamp) = fixture.scope(&live)?;
    let gate = Expression::parse(GATE)?;
    time("cel: a gate over a live object", EVENT, || gate.matches(&scope).is_ok());
    let constant = Expression::parse("true")?;
    time("cel: a constant", EVENT, || constant.matches(&scope).is_ok());

    let template = Template::parse("cluster-{{ .clusterId }}")?;
    time("render: a name", EVENT, || template.render(&scope).is_ok());
    let settings = fixture.task.resources.iter().find(|resource| resource.name == "settings").context("no settings")?;
    time("render: a manifest, stamped", EVENT, || {
        manifest::desired(settings, &scope, &stamp, Reserved::Refused).is_ok()
    });

    let Observation::Found(versions) = &live[1] else { bail!("nothing is live") };
    let seen = Seen::Versions(versions.iter().collect());
    time("decide: the table", EVENT, || decide(black_box(&seen), &mut ConstantAnswers));

    time("pass: create three objects", EVENT, || fixture.pass(&absent).is_ok());
    time("pass: steady state of three objects", EVENT, || fixture.pass(&live).is_ok());
    bundle::time_all()
}

const GATE: &str = r#"resources.?provisionJob.?status.?conditions.orValue([])
    .exists(c, c.type == "Complete" && c.status == "True")"#;

const EVENT_BODY: &str = r#"{"specversion":"1.0","id":"0198c0de-0000-7000-8000-000000000000",
    "source":"hyperfleet-sentinel","type":"com.redhat.hyperfleet.cluster.reconcile",
    "datacontenttype":"application/json","data":{"generation":1,"kind":"Cluster",
    "href":"/api/hyperfleet/v1/clusters/2opdkciuv7itslp5guihmgoue0glo4bn","id":"2opdkciuv7itslp5guihmgoue0glo4bn"}}"#;

fn load() -> anyhow::Result<Task> {
    let surroundings = Surroundings { read: &|_| Err("there are no files".to_owned()), environment: &|_| None };
    let compiled = compile("task.yaml", TASK, &surroundings);
    compiled.task.with_context(|| format!("{:?}", compiled.diagnostics))
}

/// Gates and a manifest whose answers cost nothing, so that only the decision table is timed.
struct ConstantAnswers;

impl Questions for ConstantAnswers {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        match gate {
            Gate::Create | Gate::When | Gate::Apply => GateAnswer::Holds,
            Gate::Recreate | Gate::Delete | Gate::Orphan => GateAnswer::DoesNotHold,
        }
    }

    fn patches(&mut self) -> Result<Vec<usize>, Failure> {
        Ok(Vec::new())
    }

    fn rendered(&mut self) -> Result<Rendered, Failure> {
        Ok(Rendered {
            generation: lifecycle_objects::id::Generation(1),
            namespace: String::new(),
            name: "cluster-settings".to_owned(),
        })
    }

    fn has_its_owner(&mut self, _: &Version) -> Result<bool, Failure> {
        Ok(true)
    }

    fn not_yet(&mut self) -> Option<lifecycle_core::decision::NotYet> {
        None
    }

    fn resends(&mut self, _: &[&Version]) -> Option<lifecycle_core::decision::Resent> {
        None
    }

    fn adopts(&self) -> bool {
        false
    }

    fn pending_disowning(&mut self) -> Option<String> {
        None
    }

    fn keeps_a_set(&self) -> bool {
        false
    }

    fn retains_versions(&self) -> bool {
        false
    }

    fn failed_earlier(&mut self) -> bool {
        false
    }

    fn note_conflict(&mut self, _: GateAnswer) {}
}

/// The compiled task, event and live objects that one benchmarked reconcile pass takes as input.
struct Fixture {
    task: Task,
    host: Host,
    event: LifecycleEvent,
    cluster: String,
}

impl Fixture {
    fn new() -> anyhow::Result<Self> {
        let cluster = json!({
            "id": "2opdkciuv7itslp5guihmgoue0glo4bn", "kind": "Cluster", "name": "prod-1", "generation": 1,
            "spec": {"release": "4.20.1", "region": "eu-west-1", "nodes": 6},
            "labels": {"team": "storage", "stage": "production"},
            "status": {"conditions": [{"type": "Reconciled", "status": "False", "observed_generation": 1}]},
        });
        Ok(Self {
            task: load()?,
            host: Host {
                name: "provisioner".to_owned(),
                version: "1.0.0".to_owned(),
                config: serde_json::from_str::<Value>(CONFIG)?.into(),
                environment: json!({"REGION": "eu-west-1", "STAGE": "production"}).into(),
                ..Host::default()
            },
            event: LifecycleEvent::from_structured(EVENT_BODY.as_bytes(), MAX_EVENT_BYTES)?,
            cluster: cluster.to_string(),
        })
    }

    fn absent(&self) -> Vec<Observation> {
        self.task.resources.iter().map(|_| Observation::Found(Vec::new())).collect()
    }

    /// Returns the objects that a first pass creates, as an API server returns them.
    fn live(&self) -> anyhow::Result<Vec<Observation>> {
        let (scope, stamp) = self.scope(&self.absent())?;
        let live = self.task.resources.iter().map(|resource| {
            let desired = manifest::desired(resource, &scope, &stamp, Reserved::Refused);
            let desired = desired.map_err(|failure| anyhow!("{failure}"))?;
            Ok(Observation::Found(vec![Version::new(as_served(desired.object))]))
        });
        live.collect()
    }

    /// Returns the scope before the first phase.
    fn initial_scope(&self) -> Scope {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        self.host.introduce(&self.event, &mut scope);
        Execution::default().publish(&self.host, &mut scope);
        scope
    }

    /// Returns the scope before the first write.
    fn scope(&self, observations: &[Observation]) -> anyhow::Result<(Scope, Stamp)> {
        let mut scope = self.initial_scope();
        self.drive(Resolver::new(&self.task, &self.host), &mut scope)??;
        match self.drive(Evaluator::new(&self.task), &mut scope)? {
            Verdict::Met => {}
            verdict => bail!("preconditions: {verdict:?}"),
        }
        let stamp = self.stamp();
        let mut planner = Planner::new(&self.task, stamp.clone());
        next_step(&mut planner, &mut scope, observations);
        Ok((scope, stamp))
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            adapter: self.host.name.clone(),
            resource_id: self.event.resource_id.clone(),
            resource_id_fault: None,
            generation: self.event.generation,
            signer: None,
        }
    }

    /// Runs a pass, and returns the number of its writes.
    fn pass(&self, observations: &[Observation]) -> anyhow::Result<usize> {
        let mut scope = self.initial_scope();
        self.drive(Resolver::new(&self.task, &self.host), &mut scope)??;
        let verdict = self.drive(Evaluator::new(&self.task), &mut scope)?;
        let mut execution = Execution::default();
        execution.note_verdict(&verdict);
        execution.publish(&self.host, &mut scope);

        let mut planner = Planner::new(&self.task, self.stamp());
        let mut writes = 0;
        while let Some(step) = next_step(&mut planner, &mut scope, observations) {
            let Command::Create { desired, .. } = step.command else { bail!("unexpected {:?}", step.command) };
            writes += 1;
            planner.record(&mut scope, Executed::Created(as_served(desired)));
        }
        let outcomes = planner.into_outcomes();
        execution.note_outcomes(&outcomes);
        execution.publish(&self.host, &mut scope);
        let report = self.drive(
            Reporter::new(&self.task, Account { outcomes: &outcomes, unread: None, is_deleting: Some(true) }),
            &mut scope,
        )?;
        ensure!(report.error.is_none(), "{:?}", report.error);
        Ok(writes)
    }

    fn drive<S: Stage>(&self, mut stage: S, scope: &mut Scope) -> anyhow::Result<S::Done> {
        let mut answer = None;
        loop {
            match stage.resume(scope, answer.take()) {
                Progress::Done(done) => return Ok(done),
                Progress::Needs(Need::Call(_)) => answer = Some(Answer::Called(Ok(self.cluster.clone()))),
                Progress::Needs(need) => bail!("unexpected {need:?}"),
            }
        }
    }
}

/// Returns the planner's next write, after giving it the observations that it asks for.
fn next_step(planner: &mut Planner<'_>, scope: &mut Scope, observations: &[Observation]) -> Option<Write> {
    loop {
        match planner.next(scope) {
            Next::Read(wanted) => {
                for wanted in wanted {
                    planner.observe(scope, wanted.resource, observations[wanted.resource].clone());
                }
            }
            Next::Write(step) => return Some(*step),
            Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
            Next::Done => return None,
        }
    }
}

fn load_error(diagnostics: &impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the task does not load: {diagnostics}")
}

/// Adds the metadata that an API server adds to an object.
fn as_served(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), json!("5f9c3c1e-7a43-4b57-a7d1-9b0b8c6f7b11"));
        metadata.insert("resourceVersion".to_owned(), json!("4711"));
        metadata.insert("creationTimestamp".to_owned(), json!("2026-01-01T12:00:00Z"));
    }
    object
}
