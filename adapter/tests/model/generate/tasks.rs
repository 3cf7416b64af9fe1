//! Strategies for random tasks.
//!
//! Four of five tasks are *tame*: they have gates that an author would write, so that I5 applies to most of
//! them. The others have gates that read any resource in any combination.

use lifecycle_objects::write::PropagationPolicy;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use crate::shape::{Atom, Discovery, Flag, Gate, Kind, Naming, Patch, ResourceShape, Retention, TaskShape};

// The target of a gate's atom before the resource has its place in the list.
const OWN: usize = 0;
const NEXT: usize = 1;
const PREVIOUS: usize = 2;
/// The first of the values that select any resource of the task, by its place.
const ANY: usize = 3;

/// Generates tasks that compile.
pub(crate) fn tasks() -> impl Strategy<Value = TaskShape> {
    let tame = vec(resource(false), 1..=3);
    let wild = vec(resource(true), 1..=3);
    prop_oneof![4 => tame.prop_map(without_pitfalls).boxed(), 1 => wild.boxed()].prop_map(|mut resources| {
        for place in 0..resources.len() {
            let owner = resources[place].owner.filter(|owner| *owner < place && resources[*owner].retention.is_none());
            resources[place].owner = owner;
        }
        let count = resources.len();
        for (place, resource) in resources.iter_mut().enumerate() {
            resource.resolve_targets(place, count);
        }
        TaskShape { resources }
    })
}

/// Removes combinations that an author would not write.
fn without_pitfalls(mut resources: Vec<ResourceShape>) -> Vec<ResourceShape> {
    for place in 0..resources.len() {
        let resource = &mut resources[place];
        if !resource.discovery.is_exclusive() {
            resource.patches.clear();
            resource.recreate = None;
        }
        if resource.replaces() {
            resource.apply = None;
        }
        let waits = resource.delete.as_ref().is_some_and(|gate| gate.0.contains(&Atom::Missing(NEXT)));
        if let Some(next) = resources.get_mut(place + 1).filter(|_| waits) {
            next.delete.get_or_insert_with(|| Gate(vec![Atom::Flag(Flag::Going, true)]));
        }
    }
    resources
}

/// Whether the final state is independent of when each gate is evaluated; see I5 in the crate's documentation.
pub(crate) fn is_confluent(task: &TaskShape) -> bool {
    task.resources.iter().enumerate().all(|(place, resource)| {
        // A shared label also matches objects of other resources, which appear and disappear with those resources.
        let sees_its_own = |atom: Atom| atom.reads().is_none_or(|place| task.resources[place].discovery.is_exclusive());
        let allows = |gate: &Option<Gate>, allowed: &dyn Fn(Atom) -> bool| {
            let atoms = gate.iter().flat_map(|gate| &gate.0).copied();
            atoms.into_iter().all(|atom| matches!(atom, Atom::Flag(..)) || allowed(atom) && sees_its_own(atom))
        };
        let holds_once = |gate: &Gate, atom: Atom| gate.0.contains(&atom);
        let patches = resource.patches.iter().enumerate().all(|(number, patch)| {
            let compares = Atom::Differs(place, number, patch.value);
            holds_once(&patch.when, compares) && allows(&Some(patch.when.clone()), &|atom| atom == compares)
        });
        let words = |place: usize| -> Vec<&Atom> {
            let gate = task.resources[place].delete.iter().flat_map(|gate| &gate.0);
            gate.filter(|atom| matches!(atom, Atom::Flag(..))).collect()
        };
        // Under a name with the clock, the resource is created again whenever its owner is replaced.
        let keeps_its_owner = resource.naming != Naming::Clock
            || resource.owner.is_none_or(|owner| {
                let owner = &task.resources[owner];
                owner.naming == Naming::Fixed && !owner.replaces()
            });
        let owns = |place: usize| task.resources.iter().any(|other| other.owner == Some(place));
        patches
            && keeps_its_owner
            && allows(&resource.when, &|_| false)
            && allows(&resource.create, &|atom| {
                // A creation after another resource's: the other one must stay.
                let stays = |other: usize| task.resources[other].delete.is_none() && task.resources[other].orphan.is_none();
                matches!(atom, Atom::There(other) if other < place && stays(other))
            })
            && allows(&resource.apply, &|atom| atom == Atom::Missing(place))
            // A replacement does not evaluate `apply`. After an interruption a creation is left to do, which does.
            && !(resource.replaces() && resource.apply.is_some())
            && resource.recreate.as_ref().is_none_or(|gate| holds_once(gate, Atom::Behind(place)))
            && allows(&resource.recreate, &|atom| atom == Atom::Behind(place))
            // An absent object is created before it is disowned, and its dependents must be created in between.
            && allows(&resource.orphan, &|atom| atom == Atom::There(place) && !owns(place))
            // A deletion that waits for another resource: both must be deleted for the same flags.
            && allows(&resource.delete, &|atom| {
                matches!(atom, Atom::Missing(other) if other != place && words(other) == words(place))
            })
    })
}

/// Whether a late event leaves no trace after the latest event was handled.
pub(crate) fn takes_late_events(task: &TaskShape) -> bool {
    task.resources.iter().enumerate().all(|(place, resource)| {
        let creates_only = resource.apply.as_ref().is_some_and(|gate| gate.0.contains(&Atom::Missing(place)));
        let patches_or_replaces = resource.patches.is_empty() || !resource.replaces();
        resource.naming == Naming::Fixed && resource.retention.is_none() && !creates_only && patches_or_replaces
    })
}

impl ResourceShape {
    /// Whether the resource's objects are deleted to be replaced.
    fn replaces(&self) -> bool {
        self.retention.is_none() && (self.recreate_on_change || self.recreate.is_some())
    }

    /// Resolves the targets of atoms to places in the list. Removes atoms whose target does not exist.
    fn resolve_targets(&mut self, place: usize, count: usize) {
        let gates =
            [&mut self.when, &mut self.create, &mut self.apply, &mut self.recreate, &mut self.orphan, &mut self.delete];
        for gate in gates {
            if let Some(atoms) = gate {
                atoms.0.retain_mut(|atom| resolve_targets(atom, place, count));
                if atoms.0.is_empty() {
                    *gate = None;
                }
            }
        }
        for (number, patch) in self.patches.iter_mut().enumerate() {
            patch.when.0.retain_mut(|atom| resolve_targets(atom, place, count));
            for atom in &mut patch.when.0 {
                if let Atom::Differs(of, field, _) = atom
                    && *of == place
                {
                    *field = number;
                }
            }
        }
        self.patches.retain(|patch| !patch.when.0.is_empty());
    }
}

fn resolve_targets(atom: &mut Atom, place: usize, count: usize) -> bool {
    let target = match atom {
        Atom::Flag(..) => return true,
        Atom::There(of) | Atom::Missing(of) | Atom::Differs(of, ..) | Atom::Behind(of) | Atom::Done(of) => of,
    };
    let settled = match *target {
        OWN => Some(place),
        NEXT => Some(place + 1).filter(|next| *next < count),
        PREVIOUS => place.checked_sub(1),
        any => Some((any - ANY) % count),
    };
    *target = settled.unwrap_or_default();
    settled.is_some()
}

fn resource(wild: bool) -> impl Strategy<Value = ResourceShape> {
    let kind = prop_oneof![6 => Just(Kind::ConfigMap), 3 => Just(Kind::Widget), 1 => Just(Kind::Job)];
    let naming = prop_oneof![3 => Just(Naming::Fixed), 2 => Just(Naming::Generation), 2 => Just(Naming::Clock)];
    let discovery = prop_oneof![
        3 => Just(Discovery::Name),
        2 => Just(Discovery::OwnLabel),
        1 => Just(Discovery::SharedLabel),
        2 => Just(Discovery::Managed),
        1 => Just(Discovery::ManagedShared),
    ];
    let limit = || 0..3_usize;
    let retention = prop_oneof![
        limit().prop_map(|limit| Retention { history_limit: Some(limit), ttl_hours: None }),
        Just(Retention { history_limit: None, ttl_hours: Some(1) }),
        limit().prop_map(|limit| Retention { history_limit: Some(limit), ttl_hours: Some(1) }),
    ];
    let propagation =
        select(vec![PropagationPolicy::Background, PropagationPolicy::Foreground, PropagationPolicy::Orphan]);
    let owner = weighted(0.4, 0..2_usize);
    let shape = (kind, naming, discovery, owner, weighted(0.45, retention), proptest::bool::weighted(0.2), propagation);
    let gates = (
        weighted(0.2, gate(wild, &[Flag::Ready, Flag::May], vec![])),
        weighted(0.25, gate(wild, &[Flag::Ready, Flag::May], vec![Atom::There(PREVIOUS)])),
        weighted(0.25, gate(wild, &[Flag::Ready, Flag::May], vec![Atom::Missing(OWN)])),
        vec(patch(wild), 0..3),
        weighted(0.35, recreate(wild)),
        weighted(0.35, gate(wild, &[Flag::Leaving], vec![Atom::There(OWN)])),
        weighted(0.45, gate(wild, &[Flag::Going], vec![Atom::Missing(NEXT)])),
    );
    (shape, gates, proptest::bool::weighted(0.8), proptest::bool::weighted(0.25)).prop_map(
        |(shape, gates, often, adopt)| {
            let (kind, mut naming, discovery, owner, mut retention, recreate_on_change, propagation) = shape;
            let (when, create, apply, patches, recreate, orphan, delete) = gates;
            if discovery == Discovery::Name {
                // Versions need several names, and discovery by name never finds a name that contains the clock.
                retention = None;
                if naming == Naming::Clock {
                    naming = Naming::Generation;
                }
            }
            if retention.is_some() && naming == Naming::Fixed && often {
                naming = Naming::Clock;
            }
            let recreate = recreate.filter(|_| !recreate_on_change);
            ResourceShape {
                kind,
                naming,
                discovery,
                owner,
                retention,
                adopt,
                recreate_on_change,
                when,
                create,
                apply,
                patches,
                recreate,
                orphan,
                delete,
                propagation,
            }
        },
    )
}

/// A patch whose gate compares the live value with the patch's; in a wild task the gate is arbitrary.
fn patch(wild: bool) -> impl Strategy<Value = Patch> {
    let compares = Atom::Differs(OWN, 0, "on");
    let tame = weighted(0.5, flag(&[Flag::Tweak, Flag::Ready]))
        .prop_map(move |flag| Gate(flag.into_iter().chain([compares]).collect()));
    let when = if wild { gate(wild, &[Flag::Tweak], vec![compares]).boxed() } else { tame.boxed() };
    when.prop_map(|when| Patch { when, value: "on" })
}

fn recreate(wild: bool) -> impl Strategy<Value = Gate> {
    let behind = weighted(0.3, flag(&[Flag::Ready]))
        .prop_map(|flag| Gate(flag.into_iter().chain([Atom::Behind(OWN)]).collect()));
    let others = gate(wild, &[Flag::Again], vec![Atom::Done(OWN), Atom::Behind(OWN)]);
    let share = if wild { 1 } else { 6 };
    prop_oneof![share => behind.boxed(), 1 => others.boxed()]
}

fn flag(flags: &[Flag]) -> BoxedStrategy<Atom> {
    select(flags.to_vec()).prop_map(|flag| Atom::Flag(flag, true)).boxed()
}

/// A gate with a flag of the event, and perhaps an atom about live objects.
fn gate(wild: bool, flags: &[Flag], live: Vec<Atom>) -> BoxedStrategy<Gate> {
    let first = flag(flags);
    if wild {
        return (weighted(0.8, first), any_atom())
            .prop_map(|(flag, atom)| Gate(flag.into_iter().chain([atom]).collect()))
            .boxed();
    }
    if live.is_empty() {
        return first.prop_map(|flag| Gate(vec![flag])).boxed();
    }
    (first, weighted(0.35, select(live)))
        .prop_map(|(flag, atom)| Gate([flag].into_iter().chain(atom).collect()))
        .boxed()
}

fn any_atom() -> impl Strategy<Value = Atom> {
    let place = || ANY..ANY + 3;
    prop_oneof![
        (select(Flag::ALL.to_vec()), any::<bool>()).prop_map(|(flag, value)| Atom::Flag(flag, value)),
        place().prop_map(Atom::There),
        place().prop_map(Atom::Missing),
        (place(), 0..2_usize, select(vec!["on", "off"]))
            .prop_map(|(place, field, value)| Atom::Differs(place, field, value)),
        place().prop_map(Atom::Behind),
        place().prop_map(Atom::Done),
    ]
}
