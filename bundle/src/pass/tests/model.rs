//! Random lives of a bundle: sets, orders and policies, edits between events, and passes broken off after any call.
//!
//! Four invariants hold in every life:
//!
//! * no object that was not written by the bundle is deleted, and none is changed that the policy does not adopt;
//! * no object is written before every object of an earlier wave is ready, or has served;
//! * a second pass without a change writes nothing;
//! * once everything is at rest, each member on the cluster is wanted, and the deleted bundle leaves no member behind.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::policy::{Adoption, Delete, Update};

/// The policies that lives have.
const ADOPTIONS: [&str; 3] = ["never", "if-unowned", "always"];
const UPDATES: [&str; 2] = ["apply", "recreate"];
/// Most objects are deleted.
const DELETES: [&str; 5] = ["delete", "delete", "orphan", "orphan-on-apply", "orphan-on-delete"];

/// How many passes a bundle may need to come to rest. One that needs more never does.
const PATIENCE: usize = 12;

/// One object of the manifests.
#[derive(Debug, Clone)]
struct Shape {
    /// Whether the object is ready only once somebody says so.
    is_slow: bool,
    apply_order: i16,
    delete_order: i16,
    purge_order: Option<i16>,
    adoption: &'static str,
    update: &'static str,
    delete: &'static str,
}

/// What happens between two passes.
#[derive(Debug, Clone)]
enum Act {
    /// The manifest of an object changes.
    Change(usize),
    /// An object leaves the manifests, or comes back.
    Toggle(usize),
    /// An object becomes ready.
    Ready(usize),
    /// Somebody deletes an object.
    Remove(usize),
    /// Somebody edits an object.
    Edit(usize),
    /// Somebody removes the labels of the owner and of the set from an object.
    Strip(usize),
    /// Somebody else takes the name of an object that is not there.
    Squat(usize, bool),
    /// Time passes, so that objects are due again.
    Wait,
    /// The API resource gets a new generation.
    Generation,
    /// Somebody holds an object, so that it stays after its deletion, or lets it go.
    Hold(usize),
    /// Somebody removes what the parent remembers in its annotations.
    EditParent,
}

#[derive(Debug, Clone)]
struct Life {
    shapes: Vec<Shape>,
    /// Whether another pass, which read everything earlier, ends after each pass.
    is_interleaved: bool,
    /// Each pass with what happens before it, and the call after which it is broken off.
    passes: Vec<(Vec<Act>, Option<usize>)>,
}

fn shape() -> impl Strategy<Value = Shape> {
    let orders = (0..3_i16, 0..3_i16, proptest::option::weighted(0.25, 0..3_i16));
    let policies = (select(ADOPTIONS.to_vec()), select(UPDATES.to_vec()), select(DELETES.to_vec()));
    (proptest::bool::weighted(0.3), orders, policies).prop_map(
        |(is_slow, (apply_order, delete_order, purge_order), (adoption, update, delete))| Shape {
            is_slow,
            apply_order,
            delete_order,
            purge_order,
            adoption,
            update,
            delete,
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let place = || 0..5_usize;
    prop_oneof![
        2 => place().prop_map(Act::Change),
        2 => place().prop_map(Act::Toggle),
        4 => place().prop_map(Act::Ready),
        1 => place().prop_map(Act::Remove),
        1 => place().prop_map(Act::Edit),
        1 => place().prop_map(Act::Strip),
        1 => (place(), any::<bool>()).prop_map(|(place, is_owned)| Act::Squat(place, is_owned)),
        1 => Just(Act::Wait),
        1 => Just(Act::Generation),
        1 => place().prop_map(Act::Hold),
        1 => Just(Act::EditParent),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    let pass = (vec(act(), 0..4), proptest::option::weighted(0.3, 0..8_usize));
    (vec(shape(), 1..5), proptest::bool::weighted(0.3), vec(pass, 1..6))
        .prop_map(|(shapes, is_interleaved, passes)| Life { shapes, is_interleaved, passes })
}

fn name(place: usize) -> String {
    format!("o{place}")
}

/// A world that knows which of its objects are whose.
struct Model {
    world: World,
    shapes: Vec<Shape>,
    is_wanted: Vec<bool>,
    contents: Vec<u32>,
}

impl Model {
    fn new(life: &Life) -> Self {
        let count = life.shapes.len();
        let mut model = Self {
            world: World::new(Vec::new()),
            shapes: life.shapes.clone(),
            is_wanted: vec![true; count],
            contents: vec![0; count],
        };
        model.render();
        model
    }

    fn manifest(&self, place: usize) -> Value {
        let shape = &self.shapes[place];
        let (apply, delete) = (shape.apply_order.to_string(), shape.delete_order.to_string());
        let mut annotations = vec![
            ("apply-order", apply.as_str()),
            ("delete-order", delete.as_str()),
            ("adoption-policy", shape.adoption),
            ("update-policy", shape.update),
            ("delete-policy", shape.delete),
        ];
        let purge = shape.purge_order.map(|order| order.to_string());
        annotations.extend(purge.as_deref().map(|order| ("purge-order", order)));
        let make = if shape.is_slow { foo } else { map };
        let mut manifest = make(&name(place), &annotations);
        manifest["data"]["k"] = json!(self.contents[place].to_string());
        manifest
    }

    fn render(&mut self) {
        let wanted = (0..self.shapes.len()).filter(|place| self.is_wanted[*place]);
        self.world.manifests = wanted.map(|place| self.manifest(place)).collect();
    }

    fn act(&mut self, act: &Act) {
        let count = self.shapes.len();
        let there = |world: &World, place: usize| world.store.names().contains(&name(place).as_str());
        match *act {
            Act::Change(place) => self.contents[place % count] += 1,
            Act::Toggle(place) => self.is_wanted[place % count] ^= true,
            Act::Ready(place) if there(&self.world, place) => ready(&mut self.world, &name(place)),
            Act::Remove(place) if there(&self.world, place) => self.world.store.remove(&name(place)),
            Act::Edit(place) if there(&self.world, place) => {
                self.world.store.change(&name(place), &json!({ "data": { "k": "edited" } }));
            }
            Act::Strip(place) if there(&self.world, place) => {
                let labels = json!({
                    keys::ADAPTER: null, keys::RESOURCE_ID: null, keys::RESOURCE: null, applyset::PART_OF: null,
                });
                self.world.store.change(&name(place), &json!({ "metadata": { "labels": labels } }));
            }
            Act::Squat(place, is_owned) if place < count && !there(&self.world, place) => {
                let mut object = self.manifest(place);
                object["metadata"]["annotations"] = json!({ "of": "somebody" });
                if is_owned {
                    object["metadata"]["labels"] = json!({ keys::ADAPTER: "other" });
                }
                self.world.store.put(object);
            }
            Act::Wait => self.world.store.now += SignedDuration::from_mins(61),
            Act::Generation => self.world.generation += 1,
            Act::Hold(place) if there(&self.world, place) => self.toggle_hold(&name(place)),
            Act::EditParent if self.world.parent().is_some() => {
                let annotations =
                    json!({ applyset::GROUP_KINDS: null, applyset::NAMESPACES: null, applyset::TOOLING: null });
                self.world.store.change(PARENT.1, &json!({ "metadata": { "annotations": annotations } }));
            }
            Act::Hold(_)
            | Act::EditParent
            | Act::Ready(_)
            | Act::Remove(_)
            | Act::Edit(_)
            | Act::Strip(_)
            | Act::Squat(..) => {}
        }
        self.render();
    }

    /// Holds an object by a finalizer, or lets it go.
    fn toggle_hold(&mut self, name: &str) {
        let is_held = self.world.store.object(name)["metadata"].get("finalizers").is_some_and(|it| it.is_array());
        let is_terminating = self.world.store.object(name)["metadata"].get("deletionTimestamp").is_some();
        match (is_held, is_terminating) {
            (true, true) => self.world.store.remove(name),
            (true, false) => self.world.store.change(name, &json!({ "metadata": { "finalizers": null } })),
            (false, _) => self.world.store.hold(name),
        }
    }

    /// One pass, whose writes are judged.
    fn pass(&mut self, intent: Intent, crash_after: Option<usize>) -> Result<Option<Report>> {
        let before = self.world.store.objects();
        let mut now = self.ready_before(&before)?;
        self.world.writes();
        self.world.crash_after = crash_after.map(|calls| self.world.calls + calls);
        let report = self.world.pass(intent).ok();
        self.world.crash_after = None;
        let (mut adopted, mut deleted) = (BTreeSet::new(), BTreeSet::new());
        for write in self.world.writes() {
            let Some((verb, name)) = write.split_once(' ').filter(|(_, name)| *name != PARENT.1) else { continue };
            let place: usize = name[1..].parse()?;
            let held = before.iter().find(|object| object["metadata"]["name"] == name);
            // An object that was adopted in this pass is the bundle's from then on.
            let is_foreign = !adopted.contains(name) && held.is_some_and(|object| !self.is_member(object));
            if is_foreign {
                let is_owned = held.is_some_and(|object| object.label(keys::ADAPTER).is_some());
                let may_adopt = match self.shapes[place].adoption {
                    "always" => true,
                    "if-unowned" => !is_owned,
                    _ => false,
                };
                ensure!(matches!(verb, "create" | "update"), "{verb} of {name}, which is somebody else's");
                ensure!(verb == "create" || may_adopt, "update of {name}, which its policy does not adopt");
                if verb == "update" {
                    adopted.insert(name.to_owned());
                }
            }
            if verb == "delete" {
                deleted.insert(name.to_owned());
                let served =
                    now.iter_mut().filter(|(other, ..)| *other == place && self.shapes[place].purge_order.is_some());
                served.for_each(|(.., is_ready)| *is_ready = true);
            }
            if matches!(verb, "create" | "update") {
                let order = self.shapes[place].apply_order;
                let unready = now.iter().find(|(_, earlier, is_ready)| *earlier < order && !is_ready);
                ensure!(unready.is_none(), "{verb} of {name} in wave {order} before {unready:?}");
                let written = match (verb, held) {
                    // Where the name is taken, nothing is created.
                    ("create", Some(_)) if !deleted.contains(name) => None,
                    ("create", _) => Some(!self.shapes[place].is_slow),
                    // An adopted object keeps its status.
                    (_, Some(held)) if is_foreign => Some(self.says_ready(place, held)),
                    (_, _) => None,
                };
                if let Some(is_ready) = written {
                    now.retain(|(other, ..)| *other != place);
                    now.push((place, order, is_ready));
                }
            }
        }
        Ok(report)
    }

    /// The wanted objects with their waves, and whether they were ready before a pass: as members, or because they have served.
    fn ready_before(&self, before: &[Value]) -> Result<Vec<(usize, i16, bool)>> {
        let stored = self.world.parent().as_ref().map(parent::read).transpose();
        let stored = stored.map_err(|failure| anyhow::anyhow!("{failure}"))?;
        let memory = Remembering::new(stored, PARENT.0, Generation(self.world.generation));
        let wanted = (0..self.shapes.len()).filter(|place| self.is_wanted[*place]);
        let state = |place: usize| {
            let rendered = prepare(vec![self.manifest(place)], &self.world.setting());
            let rendered = rendered.map_err(|faults| anyhow::anyhow!("{faults:?}"))?.remove(0);
            let has_served = memory.is_completed(&rendered.identity, &rendered.digest);
            let live = before.iter().find(|object| object["metadata"]["name"] == name(place));
            let is_ready = live.is_some_and(|object| self.is_member(object) && self.says_ready(place, object));
            Ok((place, self.shapes[place].apply_order, is_ready || has_served))
        };
        wanted.map(state).collect()
    }

    /// Whether the status of a live object says that it is ready.
    fn says_ready(&self, place: usize, object: &Value) -> bool {
        !self.shapes[place].is_slow || object.pointer("/status/conditions/0/status") == Some(&json!("True"))
    }

    fn is_member(&self, object: &Value) -> bool {
        let stamped = [keys::ADAPTER, keys::RESOURCE_ID, keys::RESOURCE, applyset::PART_OF];
        stamped.iter().all(|key| object.label(key).is_some()) && object.label(keys::ADAPTER) == Some("tester")
    }

    /// Passes until nothing changes any more. Returns whether the bundle came to its end.
    fn rest(&mut self, intent: Intent) -> Result<bool> {
        for _ in 0..PATIENCE {
            let before = self.settled();
            let report = self.pass(intent, None)?;
            if self.settled() == before {
                let writes = self.pass(intent, None)?;
                ensure!(self.settled() == before, "a second pass changes something");
                return Ok(writes.or(report).is_some_and(|report| report.stopped.is_none()));
            }
        }
        anyhow::bail!("the bundle does not come to rest in {PATIENCE} passes")
    }

    /// The objects, without how often the set was claimed: each try to create an object that serves once is a claim.
    fn settled(&self) -> Vec<Value> {
        let mut objects = self.world.store.objects();
        for object in objects.iter_mut().filter(|object| object["metadata"]["name"] == PARENT.1) {
            object["metadata"]["resourceVersion"] = Value::Null;
            let memory = object.pointer("/data/memory").and_then(Value::as_str);
            let memory: Option<Value> = memory.and_then(|text| serde_json::from_str(text).ok());
            object["data"]["memory"] =
                memory.map_or(Value::Null, |memory| json!([memory["completed"], memory["leaving"]]));
        }
        objects
    }

    /// The objects that belong to somebody else, and may not be adopted.
    fn foreign(&self) -> Vec<Value> {
        let mut objects = self.world.store.objects();
        objects.retain(|object| {
            let is_taken = object.label(keys::ADAPTER).is_some() || self.shapes_adopt(object, "never");
            object["metadata"]["name"] != PARENT.1
                && !self.is_member(object)
                && is_taken
                && !self.shapes_adopt(object, "always")
        });
        objects
    }

    fn shapes_adopt(&self, object: &Value, policy: &str) -> bool {
        let place = object["metadata"]["name"].as_str().and_then(|name| name[1..].parse::<usize>().ok());
        place.is_some_and(|place| self.shapes[place].adoption == policy)
    }

    /// Lets go what is held, and has everything become ready that can.
    fn let_go(&mut self) {
        for place in 0..self.shapes.len() {
            let name = name(place);
            let there = |world: &World| world.store.names().contains(&name.as_str());
            if there(&self.world) && self.world.store.object(&name)["metadata"].get("finalizers").is_some() {
                self.toggle_hold(&name);
            }
        }
    }

    /// Whether something that only a person can end keeps the bundle from its end.
    fn has_obstacle(&self) -> bool {
        let objects = self.world.store.objects();
        (0..self.shapes.len()).any(|place| {
            let live = objects.iter().find(|object| object["metadata"]["name"] == name(place));
            let is_unready = self.shapes[place].is_slow && !live.is_some_and(|object| self.says_ready(place, object));
            let is_taken = live.is_some_and(|object| !self.is_member(object));
            self.is_wanted[place] && (is_unready || is_taken)
        })
    }

    fn members(&self) -> Vec<String> {
        let objects = self.world.store.objects();
        let members = objects.iter().filter(|object| self.is_member(object) && object["metadata"]["name"] != PARENT.1);
        members.filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned)).collect()
    }
}

fn run(life: &Life) -> Result<()> {
    let mut model = Model::new(life);
    for (acts, crash_after) in &life.passes {
        // A pass that read everything before the acts and before the next pass, and writes after both.
        let late = life.is_interleaved.then(|| model.world.read(Intent::Apply));
        acts.iter().for_each(|act| model.act(act));
        model.pass(Intent::Apply, *crash_after)?;
        if let Some(late) = late {
            let foreign = model.foreign();
            // What a late pass does is repaired; what it may never do is to harm what is not the bundle's.
            drop(model.world.finish(late));
            let after = model.world.store.objects();
            ensure!(foreign.iter().all(|it| after.contains(it)), "a late pass changes what is not the bundle's");
        }
    }
    model.let_go();
    let is_complete = model.rest(Intent::Apply)?;
    for member in model.members() {
        let place: usize = member[1..].parse()?;
        ensure!(model.is_wanted[place] || !is_complete, "{member} is not wanted, and still a member");
    }
    ensure!(is_complete || model.has_obstacle(), "the bundle does not come to its end");
    let is_gone = model.rest(Intent::Delete)?;
    ensure!(is_gone, "the bundle is not deleted");
    ensure!(model.members().is_empty(), "the deleted bundle leaves {:?}", model.members());
    Ok(())
}

proptest! {
    #[test]
    fn random_lives_keep_all_invariants(life in life()) {
        if let Err(error) = run(&life) {
            prop_assert!(false, "{error:#}");
        }
    }
}

/// A word that no policy has would leave every life with the default.
#[test]
fn words_of_the_model_are_policies() {
    use crate::policy::Policy as _;
    assert_eq!(Adoption::parse("if-unowned"), Ok(Some(Adoption::IfUnowned)));
    assert_eq!(Update::parse("recreate"), Ok(Some(Update::Recreate)));
    assert_eq!(Delete::parse("orphan-on-apply"), Ok(Some(Delete::OrphanOnApply)));
    for word in ADOPTIONS {
        assert!(matches!(Adoption::parse(word), Ok(Some(_))), "{word}");
    }
    for word in UPDATES {
        assert!(matches!(Update::parse(word), Ok(Some(_))), "{word}");
    }
    for word in DELETES {
        assert!(matches!(Delete::parse(word), Ok(Some(_))), "{word}");
    }
}
