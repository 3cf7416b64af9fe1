//! Strategies for random sequences.
//!
//! In: the ground's [`Profile`]. Out: strategies that shrink towards few resources, few steps and no faults.

mod tasks;

use std::collections::BTreeMap;
use std::ops::Range;

use lifecycle_objects::write::PropagationPolicy;
use proptest::collection::{btree_map, vec};
use proptest::option::{self, weighted};
use proptest::prelude::*;
use proptest::sample::select;

use crate::sequence::{Act, Age, Delivery, EventShape, Fault, Flags, Meanwhile, Refusal, Sequence, Step};
use crate::shape::{Flag, Kind, Naming, TaskShape};

pub(crate) use tasks::{is_confluent, takes_late_events, tasks};

/// The ground for which sequences are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Memory,
    /// A real server: its clock cannot be set, its calls take real time, and its garbage collector reacts
    /// with a delay.
    Server,
    /// Maestro: all objects are works. Its clock cannot be set, and its calls take real time.
    Maestro,
}

pub(crate) fn sequences(profile: Profile) -> impl Strategy<Value = Sequence> {
    let length = if profile == Profile::Memory { 0..12 } else { 0..9 };
    (tasks(), vec(step(profile), length), event(), vec(disturbance(profile), 1..4)).prop_map(
        move |(mut task, past, event, mut disturbances)| {
            match profile {
                Profile::Memory => {}
                Profile::Server => without_collected_widgets(&mut task),
                Profile::Maestro => task = task.of_works(),
            }
            let names_by_clock = task.resources.iter().any(|resource| resource.naming == Naming::Clock);
            for delivery in &mut disturbances {
                // I5 does not apply to some combinations, so they are generated in the past only.
                if !takes_late_events(&task) {
                    delivery.late = 0;
                }
                if names_by_clock {
                    delivery.pause = None;
                }
            }
            Sequence { task, past, event, disturbances }
        },
    )
}

/// Replaces widgets with owners or dependents, because the garbage collector discovers a new kind only after
/// a while.
fn without_collected_widgets(task: &mut TaskShape) {
    let owners: Vec<usize> = task.resources.iter().filter_map(|resource| resource.owner).collect();
    for (place, resource) in task.resources.iter_mut().enumerate() {
        if resource.owner.is_some() || owners.contains(&place) {
            if resource.kind == Kind::Widget {
                resource.kind = Kind::ConfigMap;
            }
        } else if resource.kind == Kind::Widget {
            resource.propagation = PropagationPolicy::Background;
        }
    }
}

fn flags() -> impl Strategy<Value = Flags> {
    let flag = |flag: Flag, likely: f64| {
        let value = proptest::bool::weighted(likely);
        weighted(0.985, value).prop_map(move |value| value.map(|value| (flag, value)))
    };
    let all = (
        flag(Flag::Ready, 0.85),
        flag(Flag::May, 0.85),
        flag(Flag::Tweak, 0.5),
        flag(Flag::Again, 0.3),
        flag(Flag::Leaving, 0.15),
        flag(Flag::Going, 0.2),
    );
    all.prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f].into_iter().flatten().collect())
}

fn event() -> impl Strategy<Value = EventShape> {
    let age = prop_oneof![4 => Just(Age::Next), 2 => Just(Age::Same), 1 => (1..3_i64).prop_map(Age::Late)];
    (age, flags()).prop_map(|(age, flags)| EventShape { age, flags })
}

fn step(profile: Profile) -> impl Strategy<Value = Step> {
    let event = (event(), delivery(profile), any::<bool>()).prop_map(|(event, delivery, again)| Step::Event {
        event,
        delivery,
        again,
    });
    prop_oneof![3 => event.boxed(), 2 => act(profile).prop_map(Step::Act).boxed()]
}

/// The delivery of an event in the past; anything may happen during it.
fn delivery(profile: Profile) -> impl Strategy<Value = Delivery> {
    let meanwhile = prop_oneof![
        2 => (option::of(event()), faults(profile, 0..2)).prop_map(|(event, faults)| Meanwhile::Event(event, faults)).boxed(),
        1 => act(profile).prop_map(Meanwhile::Act).boxed(),
    ];
    let pause = weighted(0.3, (1..8_usize, vec(meanwhile, 1..3)));
    let faults = prop_oneof![1 => Just(BTreeMap::new()).boxed(), 1 => faults(profile, 1..3).boxed()];
    (0..2_usize, faults, pause).prop_map(|(replica, faults, pause)| Delivery { replica, faults, pause, late: 0 })
}

/// A delivery of the last event with disturbances; during it, only the same event may be handled by the other
/// replica.
fn disturbance(profile: Profile) -> impl Strategy<Value = Delivery> {
    let itself = faults(profile, 0..2).prop_map(|faults| vec![Meanwhile::Event(None, faults)]);
    let pause = weighted(0.3, (1..8_usize, itself));
    let late = prop_oneof![4 => Just(0), 1 => 1..3_i64];
    (0..2_usize, faults(profile, 0..3), pause, late).prop_map(|(replica, faults, pause, late)| Delivery {
        replica,
        faults,
        pause,
        late,
    })
}

fn faults(profile: Profile, count: Range<usize>) -> impl Strategy<Value = BTreeMap<usize, Fault>> {
    btree_map(1..9_usize, fault(profile), count)
}

fn fault(profile: Profile) -> impl Strategy<Value = Fault> {
    let refusals =
        [Refusal::Conflict, Refusal::Invalid, Refusal::Forbidden, Refusal::TooManyRequests, Refusal::Unavailable];
    let refused = select(refusals.to_vec()).prop_map(Fault::Refused);
    let silence = if profile == Profile::Memory { 2 } else { 0 };
    prop_oneof![
        3 => refused.boxed(),
        2 => Just(Fault::LostRequest).boxed(),
        4 => Just(Fault::LostAnswer).boxed(),
        4 => any::<bool>().prop_map(|done| Fault::Crash { done }).boxed(),
        silence => any::<bool>().prop_map(|done| Fault::Silence { done }).boxed(),
    ]
}

fn act(profile: Profile) -> impl Strategy<Value = Act> {
    let pick = || 0..6_usize;
    let place = || 0..3_usize;
    let generation = option::of(0..9_i64);
    let waits = if profile == Profile::Memory { 2 } else { 1 };
    prop_oneof![
        3 => pick().prop_map(Act::Delete).boxed(),
        3 => pick().prop_map(Act::AddFinalizer).boxed(),
        2 => pick().prop_map(Act::RemoveFinalizer).boxed(),
        2 => pick().prop_map(Act::Edit).boxed(),
        1 => (pick(), generation).prop_map(|(pick, generation)| Act::SetGeneration(pick, generation)).boxed(),
        1 => pick().prop_map(Act::StripLabels).boxed(),
        1 => pick().prop_map(Act::DropOwners).boxed(),
        2 => (pick(), any::<bool>()).prop_map(|(pick, done)| Act::SetPhase(pick, done)).boxed(),
        2 => pick().prop_map(Act::Reclaim).boxed(),
        2 => (place(), 0..2_i64).prop_map(|(place, ahead)| Act::Squat(place, ahead)).boxed(),
        1 => place().prop_map(Act::Inherit).boxed(),
        2 => Just(Act::CollectGarbage).boxed(),
        waits => (1..3_i64).prop_map(Act::Wait).boxed(),
    ]
}
