//! Sequences that the model has found, made small: what was wrong once, and what the invariants do not promise.
//!
//! An exception of the crate's documentation has a sequence here that needs it, so that it goes when nothing needs it any more.

use std::collections::BTreeMap;

use crate::drive::{Failure, Settings};
use crate::memory::check;
use crate::oracle::Invariant;
use crate::sequence::{Act, Age, Delivery, EventShape, Fault, Flags, Meanwhile, Sequence, Step};
use crate::shape::{Atom, Discovery, Flag, Gate, Naming, Patch, ResourceShape, TaskShape};

fn gate(atoms: &[Atom]) -> Option<Gate> {
    Some(Gate(atoms.to_vec()))
}

fn event(age: Age, flags: &[(Flag, bool)]) -> EventShape {
    EventShape { age, flags: flags.iter().copied().collect::<Flags>() }
}

fn comes(event: EventShape, delivery: Delivery) -> Step {
    Step::Event { event, delivery, again: false }
}

fn next(flags: &[(Flag, bool)]) -> Step {
    comes(event(Age::Next, flags), Delivery::default())
}

fn fault(call: usize, fault: Fault) -> Delivery {
    Delivery { faults: BTreeMap::from([(call, fault)]), ..Delivery::default() }
}

/// A patch that compares what it sets.
fn compares(place: usize) -> Patch {
    Patch { when: Gate(vec![Atom::Differs(place, 0, "on")]), value: "on" }
}

/// Before the call, the other replica handles the same event.
fn overlap(call: usize) -> Delivery {
    Delivery { pause: Some((call, vec![Meanwhile::Event(None, BTreeMap::new())])), ..Delivery::default() }
}

fn sequence(
    resources: Vec<ResourceShape>,
    past: Vec<Step>,
    event: EventShape,
    disturbances: Vec<Delivery>,
) -> Sequence {
    Sequence { task: TaskShape { resources }, past, event, disturbances }
}

fn holds(sequence: &Sequence) {
    if let Err(failure) = check(sequence, Settings::default()) {
        panic!("{failure}");
    }
}

/// The invariants hold, but I5 only because it makes an exception.
fn is_an_exception(sequence: &Sequence) {
    holds(sequence);
    match check(sequence, Settings { without_exceptions: true, ..Settings::default() }) {
        Err(Failure::Finding(finding)) if finding.breaks(Invariant::NotHealed) => {}
        Err(failure) => panic!("{failure}"),
        Ok(_) => panic!("the exception is not needed"),
    }
}

/// A recreation that lost its name to the other replica judged once more what it had deleted, and deleted what the other
/// replica had made.
#[test]
fn a_recreation_that_comes_second_leaves_what_the_first_one_made() {
    let again = |value: bool| [(Flag::Again, value)];
    let fixed = ResourceShape { recreate: gate(&[Atom::Flag(Flag::Again, true)]), ..ResourceShape::default() };
    let varying = ResourceShape { naming: Naming::Generation, discovery: Discovery::OwnLabel, ..fixed.clone() };
    for resource in [fixed, varying] {
        let past = vec![next(&again(false)), comes(event(Age::Next, &again(true)), overlap(4))];
        holds(&sequence(vec![resource], past, event(Age::Same, &again(false)), vec![]));
    }
}

/// A replacement of several versions that was interrupted when the current one was gone left the others for good: the gate had
/// held for the current one. That goes last now.
#[test]
fn a_replacement_of_several_versions_is_finished() {
    let resource = ResourceShape {
        naming: Naming::Generation,
        discovery: Discovery::OwnLabel,
        recreate_on_change: true,
        ..ResourceShape::default()
    };
    let past = vec![next(&[]), Step::Act(Act::SetGeneration(0, None)), next(&[])];
    let faults = [Fault::LostRequest, Fault::LostAnswer, Fault::Crash { done: false }, Fault::Crash { done: true }];
    for (call, what) in (3..6).flat_map(|call| faults.map(|what| (call, what))) {
        let disturbance = fault(call, what);
        holds(&sequence(vec![resource.clone()], past.clone(), event(Age::Next, &[]), vec![disturbance]));
    }
}

/// A replacement asks `recreate` and `create`. If it is interrupted when the former object is gone, the next event finds
/// nothing there, and a creation asks `apply`, too.
#[test]
fn an_interrupted_replacement_is_finished_as_a_creation() {
    let resource = ResourceShape {
        recreate_on_change: true,
        apply: gate(&[Atom::Flag(Flag::Ready, true)]),
        ..ResourceShape::default()
    };
    let past = vec![next(&[(Flag::Ready, true)])];
    let crash = fault(3, Fault::Crash { done: true });
    is_an_exception(&sequence(vec![resource], past, event(Age::Next, &[(Flag::Ready, false)]), vec![crash]));
}

/// What a late event creates stays as it is, if it is not to be updated.
#[test]
fn what_is_only_created_keeps_the_generation_that_came_first() {
    let resource = ResourceShape { apply: gate(&[Atom::Missing(0)]), ..ResourceShape::default() };
    let late = Delivery { late: 1, ..Delivery::default() };
    let past = vec![next(&[]), Step::Act(Act::Delete(0))];
    is_an_exception(&sequence(vec![resource], past, event(Age::Next, &[]), vec![late]));
}

/// Names of their own, and no generation to replace: what a late event creates is a version like any other.
#[test]
fn what_a_late_event_creates_under_a_name_of_its_own_stays() {
    let resource = ResourceShape { naming: Naming::Generation, ..ResourceShape::default() };
    let late = Delivery { late: 1, ..Delivery::default() };
    let past = vec![next(&[]), Step::Act(Act::Delete(0))];
    is_an_exception(&sequence(vec![resource], past, event(Age::Next, &[]), vec![late]));
}

/// What is to be released while it is there is created first, so that what it owns depends on how far the pass came.
#[test]
fn an_owner_that_is_released_once_it_is_there() {
    let owner =
        ResourceShape { orphan: gate(&[Atom::Flag(Flag::Leaving, true), Atom::There(0)]), ..ResourceShape::default() };
    let owned = ResourceShape { owner: Some(0), ..ResourceShape::default() };
    let crash = fault(4, Fault::Crash { done: true });
    let leaving = event(Age::Next, &[(Flag::Leaving, true)]);
    is_an_exception(&sequence(vec![owner, owned], vec![], leaving, vec![crash]));
}

/// A gate reads what a shared label finds of another entry while its own has nothing.
#[test]
fn a_gate_that_sees_another_entrys_object() {
    let first = ResourceShape { recreate_on_change: true, ..ResourceShape::default() };
    let second = ResourceShape {
        discovery: Discovery::ManagedShared,
        apply: gate(&[Atom::Missing(1)]),
        ..ResourceShape::default()
    };
    let past = vec![comes(event(Age::Next, &[]), fault(4, Fault::LostRequest))];
    let lost = fault(4, Fault::LostAnswer);
    is_an_exception(&sequence(vec![first, second], past, event(Age::Next, &[]), vec![lost]));
}

/// Two replicas that create at the same time, under names that the clock makes different, create twice.
#[test]
fn names_of_the_clock_are_no_fence() {
    let resource = ResourceShape { naming: Naming::Clock, discovery: Discovery::OwnLabel, ..ResourceShape::default() };
    is_an_exception(&sequence(vec![resource], vec![], event(Age::Next, &[]), vec![overlap(2)]));
}

/// What is current has to have its owner; under a name of the clock it is created anew for that.
#[test]
fn what_has_lost_its_owner_is_created_for_the_same_generation() {
    let owner = ResourceShape::default();
    let owned = ResourceShape {
        naming: Naming::Clock,
        discovery: Discovery::OwnLabel,
        owner: Some(0),
        ..ResourceShape::default()
    };
    let past = vec![next(&[]), Step::Act(Act::DropOwners(1)), comes(event(Age::Same, &[]), Delivery::default())];
    holds(&sequence(vec![owner, owned], past, event(Age::Same, &[]), vec![]));
}

/// Under a name of the clock an object is created once more whenever its owner is another one: how often that is depends on
/// how often a pass came that far.
#[test]
fn what_follows_an_owner_under_names_of_the_clock() {
    let owner = ResourceShape {
        naming: Naming::Generation,
        discovery: Discovery::OwnLabel,
        patches: vec![compares(0)],
        ..ResourceShape::default()
    };
    let owned = ResourceShape {
        naming: Naming::Clock,
        discovery: Discovery::OwnLabel,
        owner: Some(0),
        ..ResourceShape::default()
    };
    let lost = fault(3, Fault::LostAnswer);
    is_an_exception(&sequence(vec![owner, owned], vec![next(&[])], event(Age::Next, &[]), vec![lost]));
}

/// A flag that an event lacks is no answer, on every event, and what comes later in the list waits for it.
#[test]
fn an_event_that_fails_for_ever_promises_nothing() {
    let first = ResourceShape {
        patches: vec![Patch {
            when: Gate(vec![Atom::Flag(Flag::Ready, true), Atom::Differs(0, 0, "on")]),
            value: "on",
        }],
        ..ResourceShape::default()
    };
    let second = ResourceShape::default();
    let unread = fault(2, Fault::LostRequest);
    is_an_exception(&sequence(vec![first, second], vec![], event(Age::Next, &[]), vec![unread]));
}
