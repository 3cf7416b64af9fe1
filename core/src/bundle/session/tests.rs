//! Passes over objects in memory: single situations here, random lives in [`model`].

mod model;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::*;
use crate::bundle::applyset;
use crate::bundle::policy::{Policies, Update};
use crate::bundle::prepare::prepare;
use crate::decision::FailReason;
use crate::destination::Destination;
use crate::id::{Generation, GroupVersionKind};
use crate::keys;
use crate::manifest::Stamp;
use crate::observation::{Described as _, Observation, Query, QueryBy};
use crate::plan::harness::store::Store;
use crate::write::{Command, Executed, NotCreated, Target, UpdateMode, WriteError};

const PARENT: (&str, &str) = ("team", "monitoring");

/// A bundle over a store, for one pass after another.
struct World {
    store: Store,
    manifests: Vec<Value>,
    generation: i64,
    /// What was looked at.
    inspected: Vec<String>,
    /// What inspections find, by what they look at.
    found: BTreeMap<String, &'static str>,
    /// The call after which the pass is broken off, counted over all passes.
    crash_after: Option<usize>,
    calls: usize,
}

/// A pass that has read everything.
struct Running {
    session: Session<'static>,
    generation: i64,
    parent: Option<Version>,
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
            inspected: Vec::new(),
            found: BTreeMap::new(),
            crash_after: None,
            calls: 0,
        }
    }

    fn setting(&self) -> Setting<'static> {
        Setting {
            entry: "monitoring",
            stamp: Stamp {
                adapter: "tester".to_owned(),
                resource_id: "c1".to_owned(),
                resource_id_fault: None,
                generation: Generation(self.generation),
                signer: None,
            },
            destination: Destination::ThisCluster,
            namespace: PARENT.0.to_owned(),
            name: PARENT.1.to_owned(),
            set: applyset::id(PARENT.0, PARENT.1),
            creates_namespaces: true,
            prefix: "hyperfleet.io",
            defaults: Policies::default(),
            managed_types: &[],
            ready: &[],
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
            Observation::Unknown(cause) => panic!("{cause}"),
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

    /// Reads everything that a pass begins with.
    fn begin(&self, intent: Intent) -> Session<'static> {
        self.read(intent).session
    }

    /// Reads everything that a pass begins with, the parent included.
    fn read(&self, intent: Intent) -> Running {
        let live = self.parent();
        let mut parent = Parent::read(live.as_ref(), PARENT.0, Generation(self.generation)).unwrap();
        let setting = self.setting();
        let rendered = prepare(self.manifests.clone(), &setting).unwrap();
        let rendered: Vec<Rendered> = if intent == Intent::Apply || live.is_none() { rendered } else { Vec::new() };
        for it in &rendered {
            parent.grow(&it.kind, it.identity.namespace.as_deref());
        }
        let rendered = if intent == Intent::Apply { rendered } else { Vec::new() };
        let labels = BTreeMap::from([(applyset::PART_OF.to_owned(), setting.set.clone())]);
        let places = parent.places().unwrap().into_iter();
        let found =
            places.flat_map(|(kind, namespace)| self.find(kind, namespace, QueryBy::Labels(labels.clone()))).collect();
        Running {
            session: Session::new(
                setting,
                intent,
                rendered,
                FoundMembers { versions: found, ..FoundMembers::default() },
                parent,
            ),
            generation: self.generation,
            parent: live,
        }
    }

    /// One pass.
    fn pass(&mut self, intent: Intent) -> Result<Report, Crashed> {
        let running = self.read(intent);
        self.finish(running)
    }

    /// The rest of a pass that has read everything.
    fn finish(&mut self, running: Running) -> Result<Report, Crashed> {
        let Running { mut session, generation, mut parent } = running;
        loop {
            match session.go_on() {
                Next::Done => return Ok(session.into_report()),
                Next::Inspect(inspections) => {
                    let found = inspections.iter().map(|inspection| {
                        let what = match inspection {
                            Inspection::Instances(types) => types.to_string(),
                            Inspection::Namespace(name) => name.clone(),
                        };
                        self.inspected.push(what.clone());
                        Ok(self.found.get(&what).map(|found| (*found).to_owned()))
                    });
                    let found = found.collect();
                    session.inspected(found);
                }
                Next::Send(commands) => {
                    let answers: Result<Vec<Executed>, Crashed> =
                        commands.into_iter().map(|command| self.execute(command)).collect();
                    session.record(answers?);
                }
                Next::WriteParent => {
                    let mut object = json!({
                        "apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {
                            "name": PARENT.1, "namespace": PARENT.0,
                            "annotations": { keys::GENERATION: generation.to_string() },
                        },
                    });
                    session.parent().write(&mut object, "1");
                    let command = match parent.take() {
                        None => Command::Create { destination: Destination::ThisCluster, desired: object },
                        Some(live) => {
                            Command::Update { desired: object, mode: UpdateMode::Apply, target: target(&live), live }
                        }
                    };
                    let executed = self.execute(command)?;
                    session.parent_written(if let Executed::Created(object) | Executed::Updated(object) = executed {
                        parent = Some(Version::new(object));
                        Ok(())
                    } else {
                        Err(Failure::new(FailReason::Conflict, "the parent changed"))
                    });
                }
            }
        }
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
    let stopped = report.stopped.unwrap();
    assert!(stopped.starts_with("wave 0: Foo.example.io team/slow: "), "{stopped}");
    assert_eq!(world.apply().stopped, Some(stopped));
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
    // Another pass may have begun before, and create the object once more.
    world.apply();
    assert_eq!(world.writes(), ["update monitoring"]);
    let annotations = &world.store.object("monitoring")["metadata"]["annotations"];
    assert_eq!(annotations[applyset::GROUP_KINDS], "Foo.example.io");
}

#[test]
fn taken_name_is_adopted_if_nobody_owns_it() {
    let foreign = json!({ "labels": { "hyperfleet.io/adapter": "other" } });
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

#[test]
fn deletion_goes_by_delete_order_and_waits_for_what_is_held() {
    let mut world = World::new(vec![
        map("last", &[("delete-order", "1")]),
        map("first", &[]),
        map("kept", &[("delete-policy", "orphan")]),
    ]);
    world.apply();
    world.store.hold("first");
    world.writes();
    let report = world.pass(Intent::Delete).unwrap();
    assert_eq!(world.writes(), ["delete first", "disown kept"]);
    assert!(report.stopped.is_some());
    world.store.remove("first");
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete last"]);
    assert_eq!(world.store.names(), ["kept", "monitoring"]);
    assert_eq!(world.store.object("kept")["metadata"]["labels"], json!({}));
}

#[test]
fn disowned_bundle_keeps_its_objects_without_labels() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    let report = world.pass(Intent::Disown).unwrap();
    assert_eq!((effects(&report), report.stopped), (vec!["a disowned".to_owned(), "b disowned".to_owned()], None));
    assert_eq!(world.store.object("a")["metadata"]["labels"], json!({}));
}

#[test]
fn instances_come_after_their_type_and_go_before_it() {
    let mut world = World::new(vec![object("example.io/v1", "Bar", "b", &[]), type_of_bars()]);
    let report = world.apply();
    assert_eq!(effects(&report), ["b none", "bars.example.io created"]);
    let established = [("Established", "True"), ("NamesAccepted", "True")];
    let conditions = established.map(|(kind, status)| json!({ "type": kind, "status": status }));
    world.store.change("bars.example.io", &json!({ "status": { "conditions": conditions } }));
    assert_eq!(effects(&world.apply()), ["b created", "bars.example.io none"]);
    world.writes();
    world.store.hold("b");
    world.pass(Intent::Delete).unwrap();
    assert_eq!(world.writes(), ["delete b"]);
}

#[test]
fn deletion_waits_for_what_would_go_with_it() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let mut world = World::new(vec![namespace, type_of_bars(), map("a", &[])]);
    let established = [("Established", "True"), ("NamesAccepted", "True")];
    let conditions = established.map(|(kind, status)| json!({ "type": kind, "status": status }));
    world.apply();
    world.store.change("bars.example.io", &json!({ "status": { "conditions": conditions, "phase": "Active" } }));
    assert_eq!(world.apply().stopped, None);
    assert!(world.inspected.is_empty());
    world.writes();

    world.found.insert("example.io/Bar".to_owned(), "Bar somebody/x is not the bundle's");
    let stopped = world.pass(Intent::Delete).unwrap().stopped;
    assert_eq!(stopped.as_deref(), Some("deletion guard: Bar somebody/x is not the bundle's"));
    assert!(world.writes().is_empty());

    world.found = BTreeMap::from([("space".to_owned(), "ConfigMap space/y is not the bundle's")]);
    let stopped = world.pass(Intent::Delete).unwrap().stopped;
    assert_eq!(stopped.as_deref(), Some("deletion wave 0, namespaces: ConfigMap space/y is not the bundle's"));
    assert_eq!(world.writes(), ["delete bars.example.io", "delete a"]);

    world.found.clear();
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete space"]);
    // Types are looked at before anything is deleted, and once more before they go themselves.
    assert_eq!(world.inspected, ["example.io/Bar", "example.io/Bar", "example.io/Bar", "space", "space"]);
}

#[test]
fn types_that_stay_are_not_guarded() {
    let mut definition = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "bars.example.io",
        &[("delete-policy", "orphan-on-delete")],
    );
    definition["spec"] = json!({ "group": "example.io", "names": { "kind": "Bar" } });
    let mut world = World::new(vec![definition]);
    world.apply();
    world.writes();
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!((world.writes(), world.inspected.len()), (vec!["disown bars.example.io".to_owned()], 0));
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
fn name_that_somebody_elses_terminating_object_holds_keeps_the_next_wave_waiting() {
    let mut world = World::new(vec![map("a", &[]), map("later", &[("apply-order", "1")])]);
    let held = json!({
        "name": "a", "namespace": "team", "finalizers": ["example.io/hold"], "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    world.store.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": held }));
    let report = world.apply();
    assert_eq!(effects(&report), ["a none", "later none"]);
    let stopped = report.stopped.unwrap();
    assert_eq!(stopped, "wave 0: ConfigMap team/a: wait: it is on its way out");
}

#[test]
fn older_event_writes_nothing_once_a_newer_one_has_written() {
    let mut world = World::new(vec![map("a", &[])]);
    world.generation = 2;
    world.apply();
    world.writes();
    world.generation = 1;
    world.manifests[0]["data"]["k"] = json!("old");
    let stopped = world.apply().stopped.unwrap();
    assert_eq!(stopped, "ConfigMap team/a was written for a newer generation than the event's, 1");
    assert!(world.writes().is_empty());
}

#[test]
fn parent_is_written_first_for_a_new_generation() {
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    world.writes();
    world.generation = 2;
    world.manifests[0]["data"]["k"] = json!("w");
    world.apply();
    assert_eq!(world.writes(), ["update monitoring", "update a"]);
}

#[test]
fn type_or_namespace_does_not_leave_before_what_is_in_it() {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let mut inner = map("inner", &[]);
    inner["metadata"]["namespace"] = json!("space");
    let mut world = World::new(vec![space, type_of_bars(), inner.clone(), object("example.io/v1", "Bar", "b", &[])]);
    world.apply();
    world.store.change("space", &json!({ "status": { "phase": "Active" } }));
    establish(&mut world);
    assert_eq!(world.apply().stopped, None);
    world.writes();
    for (left, expected) in [
        (
            vec![inner.clone(), type_of_bars()],
            "Namespace space has left the manifests, and ConfigMap space/inner would go with it",
        ),
        (
            vec![object("example.io/v1", "Bar", "b", &[])],
            "CustomResourceDefinition.apiextensions.k8s.io bars.example.io has left the manifests, and Bar.example.io team/b would",
        ),
    ] {
        world.manifests = left;
        let stopped = world.apply().stopped.unwrap();
        assert!(stopped.starts_with(expected), "{stopped}");
        assert!(world.writes().is_empty());
    }
}

#[test]
fn copy_of_a_member_that_a_controller_made_is_no_member() {
    let copies: [fn(&mut Value); 3] = [
        // Labels alone.
        |copy| copy["metadata"]["annotations"] = json!({}),
        // Labels and annotations under another name.
        |_| (),
        // An object that a controller has.
        |copy| {
            let reference = json!([{ "apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": true }]);
            copy["metadata"]["ownerReferences"] = reference;
            copy["metadata"]["annotations"][keys::DELETION] = Value::Null;
        },
    ];
    for (number, make) in copies.into_iter().enumerate() {
        let mut world = World::new(vec![map("a", &[])]);
        world.apply();
        let mut copy = world.store.object("a").clone();
        copy["metadata"]["name"] = json!("copy");
        make(&mut copy);
        world.store.put(copy);
        world.apply();
        world.pass(Intent::Delete).unwrap();
        assert_eq!(world.store.names(), ["copy", "monitoring"], "copy {number}");
    }
}

#[test]
fn member_that_lost_a_mark_stops_the_pass_and_is_named() {
    for (part, key) in [("labels", keys::ADAPTER), ("annotations", keys::DIGEST)] {
        let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
        world.apply();
        world.store.change("a", &json!({ "metadata": { part: { key: null } } }));
        world.manifests.remove(0);
        world.writes();
        for intent in [Intent::Apply, Intent::Delete] {
            let stopped = world.pass(intent).unwrap().stopped.unwrap();
            assert!(stopped.starts_with(&format!("ConfigMap team/a has lost `{key}`")), "{stopped}");
            assert!(world.writes().is_empty());
        }
    }
}

#[test]
fn copy_that_somebody_made_keeps_the_type_that_it_would_go_with() {
    let mut world = World::new(vec![type_of_bars(), object("example.io/v1", "Bar", "b", &[])]);
    world.apply();
    establish(&mut world);
    world.apply();
    let mut copy = world.store.object("b").clone();
    copy["metadata"]["name"] = json!("copy");
    world.store.put(copy);
    world.writes();
    let stopped = world.pass(Intent::Delete).unwrap().stopped.unwrap();
    let expected = "deletion guard: Bar.example.io team/copy is not of this bundle, and would go with \
                    CustomResourceDefinition.apiextensions.k8s.io bars.example.io";
    assert_eq!(stopped, expected);
    assert!(world.writes().is_empty());
}

#[test]
fn cluster_scoped_object_is_found_although_its_manifest_has_a_namespace() {
    let mut world = World::new(vec![object("example.io/v1", "Foo", "wide", &[])]);
    world.apply();
    // The server drops the namespace.
    let mut live = world.store.object("wide").clone();
    world.store.remove("wide");
    live["metadata"].as_object_mut().unwrap().remove("namespace");
    world.store.put(live);
    world.writes();
    assert_eq!((world.apply().stopped, world.writes()), (None, vec![]));
    world.manifests.clear();
    world.apply();
    assert_eq!(world.store.names(), ["monitoring"]);
}

#[test]
fn member_that_a_person_disowned_is_left_alone() {
    let mut world = World::new(vec![map("a", &[("adoption-policy", "always")])]);
    world.apply();
    world.store.change("a", &json!({ "metadata": { "labels": { keys::DISOWNED: "c1" } } }));
    world.manifests[0]["data"]["k"] = json!("w");
    let report = world.apply();
    assert_eq!(effects(&report), ["a failed"]);
    assert!(report.stopped.unwrap().contains("nobody: it was disowned"));
    world.pass(Intent::Delete).unwrap();
    assert!(world.store.names().contains(&"a"));
}

#[test]
fn misspelt_annotation_is_refused_with_the_right_one() {
    let world = World::new(Vec::new());
    let faults = prepare(vec![map("a", &[("delete-polcy", "orphan"), ("note", "x")])], &world.setting()).unwrap_err();
    let expected = "ConfigMap team/a: there is no annotation `hyperfleet.io/delete-polcy`; did you mean `hyperfleet.io/delete-policy`?";
    assert_eq!(faults, [expected]);
}

#[test]
fn refused_write_is_named_before_an_object_that_is_not_ready() {
    let mut world = World::new(vec![foo("slow", &[]), map("refused", &[]), foo("also", &[])]);
    world.apply();
    world.manifests[1]["data"]["k"] = json!("w");
    world.store.refuse.push("update refused".to_owned());
    let report = world.apply();
    let stopped = report.stopped.clone().unwrap();
    assert!(stopped.starts_with("wave 0: ConfigMap team/refused: "), "{stopped}");
    assert!(report.failure().unwrap().message.starts_with("wave 0: ConfigMap team/refused: "));
}

#[test]
fn annotations_of_the_adapter_in_a_manifest_do_not_count() {
    let mut taken = map("a", &[("apply-order", "0")]);
    taken["metadata"]["annotations"][keys::GENERATION] = json!("7");
    taken["metadata"]["annotations"][keys::OWNERSHIP_PROOF] = json!("x");
    let mut world = World::new(vec![taken]);
    world.apply();
    assert_eq!(world.apply().stopped, None);
    let annotations = &world.store.object("a")["metadata"]["annotations"];
    assert_eq!((&annotations[keys::GENERATION], annotations.get(keys::OWNERSHIP_PROOF)), (&json!("1"), None));
}

#[test]
fn new_policy_does_not_recreate() {
    let mut world = World::new(vec![map("a", &[("update-policy", "recreate")])]);
    world.apply();
    let uid = world.store.object("a")["metadata"]["uid"].clone();
    world.manifests = vec![map("a", &[("update-policy", "recreate"), ("delete-policy", "orphan")])];
    assert_eq!(effects(&world.apply()), ["a updated"]);
    assert_eq!(world.store.object("a")["metadata"]["uid"], uid);
    world.manifests[0]["data"]["k"] = json!("w");
    assert_eq!(effects(&world.apply()), ["a recreated"]);
}

#[test]
fn object_leaves_by_the_policy_with_which_it_was_last_written() {
    let mut world = World::new(vec![map("a", &[("delete-policy", "orphan")]), map("b", &[])]);
    world.apply();
    world.manifests.clear();
    world.store.change("b", &json!({ "metadata": { "annotations": { "hyperfleet.io/delete-policy": "orphan" } } }));
    world.apply();
    assert_eq!(world.store.names(), ["a", "monitoring"]);
}

#[test]
fn object_whose_policy_of_deletion_somebody_removed_is_kept_and_named() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    world.store.change("a", &json!({ "metadata": { "annotations": { keys::DELETION: null } } }));
    let report = world.pass(Intent::Delete).unwrap();
    assert_eq!(effects(&report), ["a failed", "b deleted"]);
    let stopped = report.stopped.unwrap();
    assert!(stopped.contains("write `delete,0,ConfigMap team/a` there to have it deleted"), "{stopped}");
    // Disowning deletes nothing, and needs no policy.
    assert_eq!(world.pass(Intent::Disown).unwrap().stopped, None);
}

#[test]
fn object_that_has_served_does_not_run_again_if_somebody_deletes_it_early() {
    let mut world = World::new(vec![map("once", &[("purge-order", "1")]), foo("slow", &[("apply-order", "1")])]);
    world.apply();
    world.store.remove("once");
    world.writes();
    world.apply();
    ready(&mut world, "slow");
    assert_eq!(world.apply().stopped, None);
    assert!(world.writes().is_empty());
}

#[test]
fn two_passes_at_the_same_time_run_an_object_that_serves_once_only_once() {
    let manifests = || vec![map("once", &[("purge-order", "0")]), map("a", &[])];
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    world.manifests = manifests();
    // The second pass has read everything before the first one begins.
    let late = world.read(Intent::Apply);
    world.apply();
    world.writes();
    let report = world.finish(late).unwrap();
    assert_eq!(world.writes(), ["update monitoring"]);
    assert_eq!(report.stopped.as_deref(), Some("the parent: the parent changed"));
    assert_eq!(effects(&report), ["once none", "a none"]);
}

#[test]
fn objects_of_one_priority_are_written_before_those_of_the_next() {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "role" } });
    let mut world = World::new(vec![object("apps/v1", "Deployment", "d", &[]), map("a", &[]), role, space]);
    let mut session = world.begin(Intent::Apply);
    let mut batches = Vec::new();
    loop {
        match session.go_on() {
            Next::Send(commands) => {
                batches.push(commands.len());
                let answers = commands.into_iter().map(|command| world.execute(command).unwrap()).collect();
                session.record(answers);
            }
            Next::WriteParent => session.parent_written(Ok(())),
            Next::Inspect(_) | Next::Done => break,
        }
    }
    assert_eq!(batches, [1, 1, 1, 1]);
    assert_eq!(world.writes(), ["create space", "create role", "create a", "create d"]);
}

#[test]
fn failure_keeps_what_may_need_it_from_being_written() {
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "role" } });
    let mut world = World::new(vec![object("apps/v1", "Deployment", "d", &[]), role]);
    world.store.refuse.push("create role".to_owned());
    let report = world.apply();
    assert_eq!(effects(&report), ["d none", "role failed"]);
    assert!(report.stopped.unwrap().starts_with("wave 0: ClusterRole.rbac.authorization.k8s.io role: "));
}

#[test]
fn inspection_that_fails_or_is_not_answered_keeps_everything() {
    let mut world = World::new(vec![type_of_bars(), map("a", &[])]);
    world.apply();
    establish(&mut world);
    world.apply();
    let failure = Failure::new(FailReason::Forbidden, "no");
    for (found, expected) in
        [(vec![Err(failure)], "deletion guard: no"), (vec![], "deletion guard: it is not known what would go")]
    {
        let mut session = world.begin(Intent::Delete);
        assert!(matches!(session.go_on(), Next::Inspect(_)));
        session.inspected(found);
        assert_eq!(session.go_on(), Next::Done);
        assert_eq!(session.into_report().stopped.as_deref(), Some(expected));
    }
}

#[test]
fn set_cannot_hold_its_own_parent_or_what_would_take_it_along() {
    let world = World::new(Vec::new());
    let parents_namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } });
    let faults = prepare(vec![map(PARENT.1, &[]), parents_namespace], &world.setting()).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("ConfigMap team/monitoring: it is the bundle's own ConfigMap"), "{faults:?}");
    assert!(faults[1].starts_with("Namespace team: it would take the bundle's own ConfigMap along"), "{faults:?}");
}

#[test]
fn what_takes_others_along_is_not_recreated() {
    let mut world = World::new(Vec::new());
    let explicit = prepare(
        vec![{
            let mut definition = type_of_bars();
            definition["metadata"]["annotations"] = json!({ "hyperfleet.io/update-policy": "recreate" });
            definition
        }],
        &world.setting(),
    );
    assert!(explicit.unwrap_err()[0].contains("remove the annotation `hyperfleet.io/update-policy`"));
    // The policy of the bundle is meant for the others.
    let setting = Setting { defaults: Policies { update: Update::Recreate, ..Policies::default() }, ..world.setting() };
    let rendered = prepare(vec![type_of_bars(), map("a", &[])], &setting).unwrap();
    let updates: Vec<Update> = rendered.iter().map(|it| it.settings.policies.update).collect();
    assert_eq!(updates, [Update::Apply, Update::Recreate]);
    world.writes();
}

#[test]
fn kind_that_the_set_defines_is_placed_as_it_says() {
    let world = World::new(Vec::new());
    let mut bar = object("example.io/v1", "Bar", "b", &[]);
    bar["metadata"].as_object_mut().unwrap().remove("namespace");
    let rendered = prepare(vec![bar, type_of_bars()], &world.setting()).unwrap();
    assert_eq!(rendered[0].identity.namespace.as_deref(), Some("team"));
}

#[test]
fn object_that_somebody_creates_again_and_again_is_left_after_one_try() {
    let mut world = World::new(vec![map("a", &[("update-policy", "recreate")])]);
    world.apply();
    world.manifests[0]["data"]["k"] = json!("w");
    let mut session = world.begin(Intent::Apply);
    let holder = || world.store.object("a").clone();
    let taken = |object: Value| Executed::DeletedNotCreated(NotCreated::NameTaken(Some(object)));
    let mut tries = 0;
    loop {
        match session.go_on() {
            Next::Send(_) => {
                tries += 1;
                session.record(vec![taken(holder())]);
            }
            Next::WriteParent => session.parent_written(Ok(())),
            Next::Inspect(_) | Next::Done => break,
        }
    }
    assert_eq!(tries, 2);
    assert!(session.into_report().stopped.unwrap().contains("is created by somebody else as soon as it is gone"));
}

#[test]
fn namespace_that_members_lack_is_created_once_and_stays() {
    let mut inner = map("inner", &[]);
    inner["metadata"]["namespace"] = json!("space");
    let other = {
        let mut other = inner.clone();
        other["metadata"]["name"] = json!("other");
        other
    };
    let world = World::new(vec![inner, other]);
    let not_found = || {
        Executed::Failed(WriteError {
            kind: WriteErrorKind::NotFound,
            call: "create ConfigMap space/inner".to_owned(),
            status: Some(404),
            message: "namespaces \"space\" not found".to_owned(),
        })
    };
    let denied = Executed::Failed(WriteError {
        kind: WriteErrorKind::Forbidden,
        call: "create Namespace space".to_owned(),
        status: Some(403),
        message: "no".to_owned(),
    });
    for (creates, answer, expected) in [
        (true, Executed::Created(json!({})), vec![2, 1, 2]),
        (true, denied, vec![2, 1, 2]),
        (false, Executed::Deleted, vec![2]),
    ] {
        let setting = Setting { creates_namespaces: creates, ..world.setting() };
        let rendered = prepare(world.manifests.clone(), &setting).unwrap();
        let parent = Parent::read(None, PARENT.0, Generation(1)).unwrap();
        let mut session = Session::new(setting, Intent::Apply, rendered, FoundMembers::default(), parent);
        let mut batches = Vec::new();
        loop {
            match session.go_on() {
                Next::Send(commands) => {
                    let is_namespace =
                        matches!(&commands[0], Command::Create { desired, .. } if desired["kind"] == "Namespace");
                    batches.push(commands.len());
                    let answers = commands.iter().map(|_| if is_namespace { answer.clone() } else { not_found() });
                    session.record(answers.collect());
                }
                Next::WriteParent => session.parent_written(Ok(())),
                Next::Inspect(_) | Next::Done => break,
            }
        }
        assert_eq!(batches, expected);
        assert!(session.into_report().failure().is_some());
    }
}

#[test]
fn pass_broken_off_after_any_call_leads_to_the_same_state() -> Result<()> {
    let manifests = || {
        vec![
            map("a", &[("purge-order", "1")]),
            map("b", &[("delete-policy", "orphan")]),
            map("c", &[("apply-order", "1"), ("update-policy", "recreate")]),
            map("d", &[("apply-order", "2")]),
        ]
    };
    // A life: everything is created, two objects change, one leaves, and everything goes.
    let life = |world: &mut World| {
        let steps: [Chapter; 4] = [
            (Intent::Apply, |_| ()),
            (Intent::Apply, |world| {
                world.manifests[0]["data"]["k"] = json!("w");
                world.manifests[2]["data"]["k"] = json!("w");
            }),
            (Intent::Apply, |world| drop(world.manifests.remove(1))),
            (Intent::Delete, |_| ()),
        ];
        let mut states = Vec::new();
        for (intent, change) in steps {
            change(world);
            while let Err(Crashed) = world.pass(intent) {
                world.crash_after = None;
            }
            states.push(world.state());
        }
        states
    };
    let mut calm = World::new(manifests());
    let expected = life(&mut calm);
    let calls = calm.calls;
    ensure!(calls > 12, "the life has {calls} calls");
    for call in 0..calls {
        let mut world = World::new(manifests());
        world.crash_after = Some(call);
        ensure!(life(&mut world) == expected, "broken off after call {call}");
    }
    Ok(())
}
