//! Passes over objects in memory: single situations here, random lives in [`model`].

mod model;

use anyhow::{Result, ensure};
use serde_json::json;

use super::*;
use crate::bundle::member::Effect;
use crate::bundle::prepare::prepare;
use crate::id::{Generation, GroupVersionKind};
use crate::observation::{Observation, Query, QueryBy};
use crate::plan::harness::store::Store;
use crate::write::{Command, Executed, Target};

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
            set: applyset::id(PARENT.0, PARENT.1),
            prefix: "hyperfleet.io",
            defaults: Policies::default(),
            managed_types: &[],
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

    /// One pass.
    fn pass(&mut self, intent: Intent) -> Result<Report, Crashed> {
        let live = self.parent();
        let parent = Parent::read(live.as_ref(), PARENT.0).unwrap();
        let setting = self.setting();
        let rendered = self.manifests.iter().map(|manifest| prepare(manifest.clone(), "team", &setting).unwrap());
        let rendered: Vec<Rendered> = if intent == Intent::Apply { rendered.collect() } else { Vec::new() };
        let labels = BTreeMap::from([(applyset::PART_OF.to_owned(), setting.set.clone())]);
        let places = parent.places().unwrap().into_iter();
        let found =
            places.flat_map(|(kind, namespace)| self.find(kind, namespace, QueryBy::Labels(labels.clone()))).collect();
        let mut session = Session::new(setting, intent, rendered, found, parent);
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
                        "metadata": { "name": PARENT.1, "namespace": PARENT.0 },
                    });
                    session.parent().write(&mut object, "1");
                    let command = match self.parent() {
                        None => Command::Create { destination: Destination::ThisCluster, desired: object },
                        Some(live) => Command::Update { desired: object, target: target(&live), live },
                    };
                    let executed = self.execute(command)?;
                    assert!(matches!(executed, Executed::Created(_) | Executed::Updated(_)), "{executed:?}");
                    session.parent_written(Ok(()));
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
    let word = |effect: &Effect| match effect {
        Effect::None => "none",
        Effect::Created => "created",
        Effect::Updated { .. } => "updated",
        Effect::Recreated => "recreated",
        Effect::Deleted => "deleted",
        Effect::Deleting => "deleting",
        Effect::Disowned => "disowned",
        Effect::Failed(_) => "failed",
    };
    report.objects.iter().map(|object| format!("{} {}", object.identity.name, word(&object.effect))).collect()
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
    assert_eq!(world.writes(), ["create later"]);
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
    assert_eq!(world.writes(), ["delete old", "update monitoring"]);
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
    assert_eq!(world.writes(), ["create once", "update monitoring", "delete once"]);
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
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "bars.example.io", &[]);
    definition["spec"] = json!({ "group": "example.io", "names": { "kind": "Bar" } });
    let mut world = World::new(vec![object("example.io/v1", "Bar", "b", &[]), definition]);
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
    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "bars.example.io", &[]);
    definition["spec"] = json!({ "group": "example.io", "names": { "kind": "Bar" } });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let mut world = World::new(vec![namespace, definition, map("a", &[])]);
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
    assert_eq!(stopped.as_deref(), Some("deletion wave 0: ConfigMap space/y is not the bundle's"));
    assert_eq!(world.writes(), ["delete bars.example.io", "delete a"]);

    world.found.clear();
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete space"]);
    assert_eq!(world.inspected, ["example.io/Bar", "example.io/Bar", "space", "space"]);
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
