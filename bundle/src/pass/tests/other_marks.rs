//! A set of another family: labels of its own, digests in a list, objects made by code, a plan, and failures that are collected.

use std::collections::BTreeMap;

use lifecycle_objects::readiness::Hints;

use super::*;
use crate::departure::Departure;
use crate::draft::Draft;
use crate::marks::{Kinship, Marks, Owner, Written};
use crate::member::Rendered;
use crate::memory::{Memory, Stored};
use crate::policy::{Delete, Settings};
use crate::prepare::Source;
use crate::report::ObjectReport;

const PACK: &str = "example.org/pack";

/// Members have one label; their digests stand in a list, by their names.
#[derive(Debug)]
struct PackLabel {
    labels: BTreeMap<String, String>,
    digests: BTreeMap<String, String>,
}

impl PackLabel {
    fn is_ours(&self, version: &Version) -> bool {
        self.labels.iter().all(|(key, value)| version.label(key) == Some(value))
    }
}

impl Marks for PackLabel {
    fn selector(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn owner_of(&self, version: &Version, _: Option<&Siblings>) -> Owner {
        match version.label(PACK) {
            _ if self.is_ours(version) => Owner::Set,
            Some(other) => Owner::Others(format!("the pack {other}")),
            None => Owner::Others("somebody without a pack".to_owned()),
        }
    }

    fn kinship(&self, version: &Version, _: &Identity) -> Kinship {
        if self.is_ours(version) { Kinship::Member } else { Kinship::Copy }
    }

    fn digest<'v>(&'v self, version: &'v Version) -> Option<&'v str> {
        self.digests.get(version.name()).map(String::as_str)
    }

    fn departure(&self, _: &Version, _: &Identity) -> Option<Departure> {
        Some(Departure { policy: Delete::Delete, order: 0 })
    }

    fn generation(&self, _: &Version) -> Option<Generation> {
        None
    }

    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn faults(&self, _: &Value, _: &Identity) -> Vec<String> {
        Vec::new()
    }

    fn mark(&self, object: &mut Value, _: &Written<'_>) -> Result<(), Failure> {
        for (key, value) in &self.labels {
            object["metadata"]["labels"][key] = Value::from(value.as_str());
        }
        Ok(())
    }

    fn departing(&self, _: Departure, _: &Identity) -> Option<Value> {
        None
    }

    fn strip(&self, _: &Version) -> Value {
        json!({ "metadata": { "labels": { PACK: null } } })
    }

    fn departure_key(&self) -> &'static str {
        PACK
    }
}

/// A pack of the maps of these names, one wave each, in a store.
struct Packs {
    world: World,
    digests: BTreeMap<String, String>,
}

impl Packs {
    fn new() -> Self {
        Self { world: World::new(Vec::new()), digests: BTreeMap::new() }
    }

    fn setting(&self) -> Setting<'static> {
        let labels = BTreeMap::from([(PACK.to_owned(), "mine".to_owned())]);
        let marks = PackLabel { labels, digests: self.digests.clone() };
        Setting { marks: Box::new(marks), barrier: Barrier::Attempted, ..self.world.setting() }
    }

    /// The objects of these names and contents, one wave after the other.
    fn rendered(&self, objects: &[(&str, &str)]) -> Vec<Rendered> {
        let drafts = objects.iter().zip(0..).map(|((name, content), order)| {
            let settings = Settings {
                policies: Policies::default(),
                apply_order: order,
                delete_order: -order,
                purge_order: None,
                status_hint: None,
            };
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "team" },
                "data": { "k": content },
            });
            Source::Drafted(Arc::new(Draft::with(object, settings, Hints::default()).unwrap()))
        });
        prepare(drafts, &self.setting()).unwrap()
    }

    fn begin(&self, objects: &[(&str, &str)], intent: Intent) -> Running {
        let memory = Memory::of_places([(GroupVersionKind::new("v1", "ConfigMap"), true)], []);
        let memory = Some(Stored { memory, generation: Some(Generation(1)), is_exact: true });
        let (setting, rendered) = (self.setting(), self.rendered(objects));
        self.world.begin(Beginning { setting, intent, rendered, memory, is_last: false }, None)
    }

    /// What a pass would do, as `name row`.
    fn plan(&mut self, objects: &[(&str, &str)], intent: Intent) -> Vec<String> {
        self.world.writes();
        let report = self.begin(objects, intent).pass.plan().unwrap();
        assert!(self.world.writes().is_empty(), "a plan writes nothing");
        rows(&report)
    }

    /// One pass, in which the object of the name `refused` cannot be written.
    fn pass(&mut self, objects: &[(&str, &str)], intent: Intent, refused: &str) -> Report {
        let mut running = self.begin(objects, intent);
        while let Some(need) = running.next() {
            running.pass.answer(match need {
                Need::Siblings => Answer::Siblings(Siblings::default()),
                Need::Remember(_) => Answer::Remembered(Ok(())),
                Need::Request(Request::Write(commands)) => {
                    let execute = |command| match name_of(&command) {
                        name if name == refused => denied(),
                        _ => self.world.store.execute(command),
                    };
                    Answer::Response(Response::Written(commands.into_iter().map(execute).collect()))
                }
                Need::Request(Request::Read(_) | Request::Inspect(..)) => panic!("{need:?}"),
            });
        }
        let report = running.report();
        let digests = self.rendered(objects).into_iter().map(|it| (it.identity.name, it.digest));
        let is_written =
            |name: &str| report.objects.iter().any(|it| it.identity.name == name && it.effect.failure().is_none());
        self.digests.extend(digests.filter(|(name, _)| is_written(name)));
        report
    }

    fn names(&self) -> Vec<String> {
        let objects = self.world.store.objects();
        objects.iter().map(|object| object.name().to_owned()).collect()
    }
}

fn name_of(command: &Command) -> String {
    match command {
        Command::Create { desired, .. } | Command::Update { desired, .. } | Command::Recreate { desired, .. } => {
            desired.name().to_owned()
        }
        Command::Delete { targets, .. } => targets[0].name.clone(),
        Command::Patch { .. } | Command::Disown { .. } => panic!("{command:?}"),
    }
}

fn denied() -> Executed {
    let message = "it is forbidden".to_owned();
    Executed::Failed(WriteError {
        kind: WriteErrorKind::Forbidden,
        call: "write".to_owned(),
        status: Some(403),
        message,
    })
}

/// Each object with its row, as `name row`.
fn rows(report: &Report) -> Vec<String> {
    let row = |object: &ObjectReport| {
        let row = object.verdict.as_ref().map_or("-", |(row, _)| row.number());
        format!("{} {row}", object.identity.name)
    };
    report.objects.iter().map(row).collect()
}

#[test]
fn set_with_other_marks_is_created_changed_and_deleted_as_planned() {
    let mut packs = Packs::new();
    let first = [("a", "1"), ("b", "1")];
    for (step, objects, intent, expected, left) in [
        ("nothing is there", &first[..], Intent::Apply, &["a A6", "b A6"][..], &["a", "b"][..]),
        ("nothing changed", &first, Intent::Apply, &["a A13", "b A13"], &["a", "b"]),
        ("one changed, one left", &[("b", "2"), ("c", "1")], Intent::Apply, &["b A11", "c A6", "a R6"], &["b", "c"]),
        ("all goes", &[], Intent::Delete, &["b R6", "c R6"], &[]),
    ] {
        assert_eq!(packs.plan(objects, intent), expected, "{step}: the plan");
        let report = packs.pass(objects, intent, "");
        assert_eq!(
            (rows(&report), report.stopped),
            (expected.iter().map(|it| (*it).to_owned()).collect(), None),
            "{step}"
        );
        assert_eq!(packs.names(), left, "{step}");
    }
}

#[test]
fn object_of_another_family_is_left_alone() {
    let mut packs = Packs::new();
    packs.world.store.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "a", "namespace": "team", "labels": { PACK: "yours" },
    } }));
    let report = packs.pass(&[("a", "1"), ("b", "1")], Intent::Apply, "");
    assert_eq!(effects(&report), ["a failed", "b created"], "what failed is collected");
    let failure = report.failure().unwrap();
    assert!(failure.message.contains("belongs to the pack yours"), "{failure:?}");
    packs.pass(&[], Intent::Delete, "");
    assert_eq!(packs.names(), ["a"]);
}

#[test]
fn failures_are_collected_and_nothing_is_removed_after_one() {
    let mut packs = Packs::new();
    packs.pass(&[("old", "1")], Intent::Apply, "");
    let wanted = [("a", "1"), ("b", "1"), ("c", "1")];
    for refused in ["a", "b", "c"] {
        let mut packs = Packs::new();
        packs.pass(&[("old", "1")], Intent::Apply, "");
        let report = packs.pass(&wanted, Intent::Apply, refused);
        let created = wanted.map(|(name, _)| format!("{name} {}", if name == refused { "failed" } else { "created" }));
        assert_eq!(effects(&report), [&created[..], &["old none".to_owned()]].concat(), "{refused}");
        assert!(!report.is_complete() && packs.names().contains(&"old".to_owned()), "{refused}");
        assert_eq!(packs.pass(&wanted, Intent::Apply, "").stopped, None);
        assert_eq!(packs.names(), ["a", "b", "c"], "the next pass ends it");
        let report = packs.pass(&[], Intent::Delete, refused);
        assert_eq!((report.is_complete(), packs.names()), (false, vec![refused.to_owned()]), "the others go");
    }
}

#[test]
fn barrier_of_attempts_waits_for_no_readiness() {
    let mut world = World::new(vec![map("old", &[])]);
    world.apply();
    world.manifests = vec![foo("slow", &[]), map("later", &[("apply-order", "1")])];
    let setting = Setting { barrier: Barrier::Attempted, ..world.setting() };
    let rendered = prepare(world.manifests.clone(), &setting).unwrap();
    let live = world.parent();
    let memory = live.as_ref().map(|live| parent::read(live).unwrap());
    let beginning = Beginning { setting, intent: Intent::Apply, rendered, memory, is_last: false };
    let running = world.begin(beginning, live);
    let report = world.finish(running).unwrap();
    assert_eq!(effects(&report), ["slow created", "later created", "old deleted"]);
    assert_eq!(report.stopped, None);
}
