//! Passes over objects in memory: waves here, other situations and random lives in modules of their own.

mod deletion;
mod model;
mod other_marks;
mod passes;
mod prepared;
mod serving;
mod webhooks;

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::failure::FailReason;
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::keys;
use lifecycle_objects::observation::{Described as _, Observation, Query, QueryBy, Version};
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::store::Store;
use lifecycle_objects::write::{Command, Executed, NotCreated, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use super::*;
use crate::applyset;
use crate::marks::ownership_labels::OwnershipLabels;
use crate::need::NotKept;
use crate::parent;
use crate::policy::{Policies, Update};
use crate::prepare::prepare;
use crate::report::StoppedBy;
use crate::setting::Barrier;
use crate::siblings::Siblings;

const PARENT: (&str, &str) = ("team", "monitoring");

/// A bundle over a store, for one pass after another.
struct World {
    store: Store,
    manifests: Vec<Value>,
    generation: i64,
    /// A kind that cannot be listed.
    unlisted: Option<&'static str>,
    /// What was looked at.
    inspected: Vec<String>,
    /// What inspections find, by what they look at.
    found: BTreeMap<String, Identity>,
    /// The call after which the pass is broken off, counted over all passes.
    crash_after: Option<usize>,
    calls: usize,
}

/// A pass that has read everything.
struct Running {
    pass: Pass<'static>,
    /// What it needed first, if that was not to read.
    first: Option<Need>,
    generation: i64,
    parent: Option<Version>,
}

impl Running {
    fn next(&mut self) -> Option<Need> {
        self.first.take().or_else(|| self.pass.next_need())
    }

    /// Answers commands by a function, and has everything remembered, until the pass needs something else.
    fn drive(&mut self, mut execute: impl FnMut(Vec<Command>) -> Vec<Executed>) {
        loop {
            match self.next() {
                Some(Need::Request(Request::Write(commands))) => {
                    self.pass.answer(Answer::Response(Response::Written(execute(commands))));
                }
                Some(Need::Remember(_)) => self.pass.answer(Answer::Remembered(Ok(()))),
                Some(Need::Siblings | Need::Request(Request::Read(_) | Request::Inspect(..))) | None => break,
            }
        }
    }

    fn report(self) -> Report {
        self.pass.report().unwrap()
    }
}

/// What a bundle is to become, and what changes before.
type Chapter = (Intent, fn(&mut World));

/// The pass was broken off.
#[derive(Debug)]
struct Crashed;

impl World {
    fn new(manifests: Vec<Value>) -> Self {
        Self {
            store: Store::with([]),
            manifests,
            generation: 1,
            unlisted: None,
            inspected: Vec::new(),
            found: BTreeMap::new(),
            crash_after: None,
            calls: 0,
        }
    }

    fn stamp(&self, resource_id: &str) -> Stamp {
        Stamp {
            adapter: "tester".to_owned(),
            resource_id: resource_id.to_owned(),
            resource_id_fault: None,
            generation: Generation(self.generation),
            signer: None,
        }
    }

    fn setting(&self) -> Setting<'static> {
        Setting {
            marks: Box::new(OwnershipLabels::new("monitoring", self.stamp("c1"), PARENT.0, PARENT.1)),
            generation: Generation(self.generation),
            barrier: Barrier::Ready,
            destination: Destination::ThisCluster,
            namespace: PARENT.0.to_owned(),
            creates_namespaces: true,
            prefix: "hyperfleet.io",
            defaults: Policies::default(),
            managed_types: &[],
            ready: &(),
            now: self.store.now,
        }
    }

    /// The live parent, as the entry's own discovery finds it.
    fn parent(&self) -> Option<Version> {
        let by = QueryBy::Name(PARENT.1.to_owned());
        self.find(GroupVersionKind::new("v1", "ConfigMap"), Some(PARENT.0.to_owned()), by).pop()
    }

    fn find(&self, kind: GroupVersionKind, namespace: Option<String>, by: QueryBy) -> Vec<Version> {
        let query = Query { destination: Destination::ThisCluster, kind, namespace, by };
        match self.store.find(&query) {
            Observation::Found(found) => found,
            Observation::Unknown(cause) | Observation::Forbidden(cause) => panic!("{cause}"),
        }
    }

    /// Executes a command, unless the pass was broken off before.
    fn execute(&mut self, command: Command) -> Result<Executed, Crashed> {
        if self.crash_after == Some(self.calls) {
            return Err(Crashed);
        }
        self.calls += 1;
        Ok(self.store.execute(command))
    }

    /// Reads everything that a pass begins with, the parent included.
    fn read(&self, intent: Intent) -> Running {
        self.read_for(intent, false)
    }

    /// The same, for a pass after which the memory may go.
    fn read_for(&self, intent: Intent, is_last: bool) -> Running {
        let live = self.parent();
        let memory = live.as_ref().map(|live| parent::read(live).unwrap());
        let setting = self.setting();
        let is_rendered = intent == Intent::Apply || live.is_none();
        let rendered = if is_rendered { prepare(self.manifests.clone(), &setting).unwrap() } else { Vec::new() };
        self.begin(Beginning { setting, intent, rendered, memory, is_last }, live)
    }

    fn begin(&self, beginning: Beginning<'static>, parent: Option<Version>) -> Running {
        let mut pass = Pass::new(beginning);
        let first = match pass.next_need() {
            Some(Need::Request(Request::Read(queries))) => {
                pass.answer(Answer::Response(Response::Read(self.answers(&queries))));
                None
            }
            other => other,
        };
        Running { pass, first, generation: self.generation, parent }
    }

    fn answers(&self, queries: &[Query]) -> Vec<Observation> {
        let answer = |query: &Query| match self.unlisted {
            Some(kind) if query.kind.kind == kind => Observation::Unknown("it is not served".to_owned()),
            Some(_) | None => self.store.find(query),
        };
        queries.iter().map(answer).collect()
    }

    /// One pass.
    fn pass(&mut self, intent: Intent) -> Result<Report, Crashed> {
        let running = self.read(intent);
        self.finish(running)
    }

    /// The rest of a pass that has read everything.
    fn finish(&mut self, mut running: Running) -> Result<Report, Crashed> {
        while self.step(&mut running)? {}
        Ok(running.report())
    }

    /// Does what the pass needs next. Returns whether it needed something.
    fn step(&mut self, running: &mut Running) -> Result<bool, Crashed> {
        let answer = match running.next() {
            None => return Ok(false),
            Some(Need::Siblings) => Answer::Siblings(Siblings::default()),
            Some(Need::Request(Request::Read(queries))) => Answer::Response(Response::Read(self.answers(&queries))),
            Some(Need::Request(Request::Inspect(inspections, _))) => {
                let found = inspections.iter().map(|inspection| {
                    let what = match inspection {
                        Inspection::Instances(types) => types.to_string(),
                        Inspection::Namespace(name) => name.clone(),
                    };
                    self.inspected.push(what.clone());
                    Ok(self.found.get(&what).cloned())
                });
                Answer::Response(Response::Inspected(found.collect()))
            }
            Some(Need::Request(Request::Write(commands))) => {
                let answers: Result<Vec<Executed>, Crashed> =
                    commands.into_iter().map(|command| self.execute(command)).collect();
                Answer::Response(Response::Written(answers?))
            }
            Some(Need::Remember(memory)) => {
                let generation = running.generation.to_string();
                let mut object = json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {
                        "name": PARENT.1, "namespace": PARENT.0, "annotations": { keys::GENERATION: generation },
                    },
                });
                parent::write(&memory, &mut object, "1");
                let command = match running.parent.take() {
                    None => Command::Create { destination: Destination::ThisCluster, desired: object },
                    Some(live) => {
                        Command::Update { desired: object, mode: UpdateMode::Apply, target: target(&live), live }
                    }
                };
                let executed = self.execute(command)?;
                Answer::Remembered(if let Executed::Created(object) | Executed::Updated(object) = executed {
                    running.parent = Some(Version::new(object));
                    Ok(())
                } else {
                    Err(NotKept::Failed(Failure::new(FailReason::Conflict, "the parent changed")))
                })
            }
        };
        running.pass.answer(answer);
        Ok(true)
    }

    /// One pass that is not broken off.
    #[track_caller]
    fn apply(&mut self) -> Report {
        self.pass(Intent::Apply).unwrap()
    }

    /// The writes since the last call of this function.
    fn writes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.store.log)
    }

    /// The objects without what differs from run to run.
    fn state(&self) -> Vec<Value> {
        let mut objects = self.store.objects();
        for object in &mut objects {
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.retain(|key, _| !["uid", "resourceVersion", "creationTimestamp"].contains(&key.as_str()));
            if let Some(text) = object.pointer("/data/memory").and_then(Value::as_str) {
                let mut memory: Value = serde_json::from_str(text).unwrap();
                memory["claims"] = json!(0);
                object["data"]["memory"] = memory;
            }
        }
        objects
    }
}

fn target(live: &Version) -> Target {
    Target::of(live, &GroupVersionKind::new("v1", "ConfigMap"), &Destination::ThisCluster)
}

fn object(api_version: &str, kind: &str, name: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| (format!("hyperfleet.io/{key}"), json!(value))).collect();
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": "team", "annotations": annotations }, "data": { "k": "v" },
    })
}

fn map(name: &str, annotations: &[(&str, &str)]) -> Value {
    object("v1", "ConfigMap", name, annotations)
}

/// An object that is ready once somebody says so.
fn foo(name: &str, annotations: &[(&str, &str)]) -> Value {
    let hint = [("status-hint", "has-ready-condition")];
    object("example.io/v1", "Foo", name, &[annotations, &hint].concat())
}

fn ready(world: &mut World, name: &str) {
    world.store.change(name, &json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } }));
}

fn effects(report: &Report) -> Vec<String> {
    report.objects.iter().map(|object| format!("{} {}", object.identity.name, object.effect.as_str())).collect()
}

fn type_of_bars() -> Value {
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "bars.example.io", &[]);
    definition["spec"] = json!({ "group": "example.io", "names": { "kind": "Bar" }, "scope": "Namespaced" });
    definition
}

fn establish(world: &mut World) {
    let established = [("Established", "True"), ("NamesAccepted", "True")];
    let conditions = established.map(|(kind, status)| json!({ "type": kind, "status": status }));
    world.store.change("bars.example.io", &json!({ "status": { "conditions": conditions } }));
}

#[test]
fn bundle_of_config_maps_is_complete_in_one_pass() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[("apply-order", "1")])]);
    let report = world.apply();
    assert_eq!(
        (report.stopped, world.writes()),
        (None, vec!["create monitoring".to_owned(), "create a".to_owned(), "create b".to_owned()])
    );
    world.apply();
    assert!(world.writes().is_empty());
}

#[test]
fn later_wave_waits_until_the_earlier_one_is_ready() {
    let mut world = World::new(vec![foo("slow", &[]), map("later", &[("apply-order", "1")])]);
    let report = world.apply();
    assert_eq!(effects(&report), ["slow created", "later none"]);
    let stopped = report.why_stopped().unwrap();
    assert!(stopped.starts_with("wave 0: Foo.example.io team/slow: "), "{stopped}");
    assert_eq!(world.apply().why_stopped(), Some(stopped));
    world.writes();
    ready(&mut world, "slow");
    assert_eq!(world.apply().stopped, None);
    assert_eq!(world.writes(), ["update monitoring", "create later"]);
}

#[test]
fn changed_object_is_written_without_a_new_generation() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    world.writes();
    world.manifests[0]["data"]["k"] = json!("w");
    world.apply();
    assert_eq!(world.writes(), ["update a"]);
    assert_eq!(world.store.object("a")["data"]["k"], "w");
}

#[test]
fn object_that_left_the_manifests_goes_only_after_all_waves_are_ready() {
    let mut world = World::new(vec![map("old", &[])]);
    world.apply();
    world.manifests = vec![foo("new", &[])];
    let report = world.apply();
    assert_eq!(effects(&report), ["new created", "old none"]);
    ready(&mut world, "new");
    world.writes();
    world.apply();
    assert_eq!(world.writes(), ["delete old"]);
    // Another pass may have begun before, and create the object once more: the place is noted, and goes one event later.
    for _ in 0..2 {
        world.apply();
        assert_eq!(world.writes(), ["update monitoring"]);
    }
    let annotations = &world.store.object("monitoring")["metadata"]["annotations"];
    assert_eq!(annotations[applyset::GROUP_KINDS], "Foo.example.io");
}

#[test]
fn taken_name_is_adopted_if_nobody_owns_it() {
    let foreign = json!({ "labels": { "hyperfleet.io/adapter": "other" } });
    let controlled = || json!({ "ownerReferences": [{ "kind": "Certificate", "name": "web", "controller": true }] });
    for (name, metadata, policy, expected) in [
        ("nobody's", json!({}), "if-unowned", "a updated"),
        ("nobody's, never adopted", json!({}), "never", "a failed"),
        ("another adapter's", foreign.clone(), "if-unowned", "a failed"),
        (
            "one that lost a label of its owner",
            json!({ "labels": { "hyperfleet.io/adapter": "tester" } }),
            "if-unowned",
            "a updated",
        ),
        ("another set's", json!({ "labels": { applyset::PART_OF: "other" } }), "if-unowned", "a failed"),
        (
            "that of an adapter without labels",
            json!({ "annotations": { keys::GENERATION: "3" } }),
            "if-unowned",
            "a failed",
        ),
        (
            "one that lost all labels",
            json!({ "annotations": { keys::GENERATION: "3", keys::DIGEST: "x" } }),
            "if-unowned",
            "a updated",
        ),
        (
            "that of the entry before it was a bundle",
            json!({
                "annotations": { keys::GENERATION: "3" },
                "labels": { keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "monitoring" },
            }),
            "if-unowned",
            "a updated",
        ),
        (
            "one that was disowned, and whose label a person removed",
            json!({ "annotations": { keys::GENERATION: "3", keys::DISOWNED_BY: "x" } }),
            "if-unowned",
            "a updated",
        ),
        ("a controller's", controlled(), "if-unowned", "a failed"),
        ("a controller's, always adopted", controlled(), "always", "a updated"),
        ("another adapter's, always adopted", foreign, "always", "a updated"),
    ] {
        let mut world = World::new(vec![map("a", &[("adoption-policy", policy)])]);
        let mut holder =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "of": "somebody" } });
        holder["metadata"]["name"] = json!("a");
        holder["metadata"]["namespace"] = json!("team");
        world.store.put(holder);
        let report = world.apply();
        assert_eq!(effects(&report), [expected], "{name}");
        assert_eq!(report.stopped.is_some(), expected == "a failed", "{name}");
    }
}

#[test]
fn object_that_has_served_is_purged_and_runs_again_when_it_changes() {
    let mut world = World::new(vec![map("once", &[("purge-order", "0")]), map("later", &[("apply-order", "1")])]);
    world.apply();
    assert_eq!(
        world.writes(),
        ["create monitoring", "create once", "update monitoring", "delete once", "create later"]
    );
    world.apply();
    assert!(world.writes().is_empty());
    world.manifests[0]["data"]["k"] = json!("w");
    world.apply();
    assert_eq!(world.writes(), ["update monitoring", "create once", "update monitoring", "delete once"]);
}

#[test]
fn thousand_objects_of_twenty_kinds_cost_a_write_each_and_then_none() {
    let kinds: Vec<String> = (0..20).map(|number| format!("Kind{number}")).collect();
    let objects = (0..1000).map(|number| object("example.io/v1", &kinds[number % 20], &format!("o{number}"), &[]));
    let mut world = World::new(objects.collect());
    assert_eq!(world.apply().stopped, None);
    assert_eq!(world.writes().len(), 1 + 1000, "the parent and each object");
    world.apply();
    assert!(world.writes().is_empty());
}

#[test]
fn bundle_is_applied_once_all_wanted_objects_are_there_or_have_served() {
    let shown = |report: Report| (report.shown()["applied"] == true, report.shown()["ready"] == true);
    let once = map("once", &[("apply-order", "-1"), ("purge-order", "-1")]);
    let mut world = World::new(vec![once, foo("slow", &[]), map("later", &[("apply-order", "1")])]);
    assert_eq!(shown(world.apply()), (false, false), "the last wave waits");
    ready(&mut world, "slow");
    assert_eq!(shown(world.apply()), (true, true), "one has served, and the others are there");
    world.store.change("slow", &json!({ "status": { "conditions": [] } }));
    assert_eq!(shown(world.apply()), (true, false), "a wave that waits takes nothing away");
    ready(&mut world, "slow");
    world.store.remove("later");
    world
        .store
        .put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "later", "namespace": "team" } }));
    world.manifests[2] = map("later", &[("apply-order", "1"), ("adoption-policy", "never")]);
    assert_eq!(shown(world.apply()), (false, false), "another's object is in the place of one");
    world.manifests.pop();
    assert_eq!(shown(world.apply()), (true, true), "the manifests render it no longer");
    assert_eq!(shown(world.pass(Intent::Delete).unwrap()), (false, true), "the bundle goes");
}

#[test]
fn drift_is_repaired_when_the_object_is_due_again_and_named() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    world.store.change("a", &json!({ "data": { "k": "edited" } }));
    world.apply();
    assert_eq!(world.store.object("a")["data"]["k"], "edited");
    world.store.now += jiff::SignedDuration::from_mins(61);
    world.writes();
    let report = world.apply();
    assert_eq!(world.writes(), ["update a", "update b", "update monitoring"]);
    let drift = report.shown()["drift"].clone();
    assert_eq!(drift, json!([{ "object": "ConfigMap team/a", "fields": ["data.k"] }]));
    world.apply();
    assert!(world.writes().is_empty());
}

#[test]
fn objects_beside_one_that_fails_for_ever_are_applied_again_once() {
    let mut world = World::new(vec![map("a", &[]), map("taken", &[("adoption-policy", "never")])]);
    world
        .store
        .put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "taken", "namespace": "team" } }));
    world.apply();
    world.store.now += jiff::SignedDuration::from_mins(61);
    world.writes();
    world.apply();
    assert_eq!(world.writes(), ["update a", "create taken", "update monitoring"]);
    world.apply();
    assert_eq!(world.writes(), ["create taken"]);
}

#[test]
fn object_that_could_not_be_applied_again_is_due_with_the_next_event() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    world.store.now += jiff::SignedDuration::from_mins(61);
    world.store.refuse.push("update b".to_owned());
    world.apply();
    world.store.refuse.clear();
    world.writes();
    world.apply();
    assert_eq!(world.writes(), ["update a", "update b", "update monitoring"]);
}
