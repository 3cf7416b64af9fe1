//! Regression tests: minimal sequences that once broke an invariant, and sequences that the invariants except.
//!
//! Each exception of I5 in the crate's documentation has a test here that fails without it, so that an
//! exception which is no longer needed is noticed.

use std::collections::BTreeMap;

use crate::drive::{Failure, Settings};
use crate::memory::check;
use crate::oracle::Invariant;
use crate::sequence::{Act, Age, Delivery, EventShape, Fault, Flags, Meanwhile, Sequence, Step};
use crate::shape::{Atom, Discovery, Flag, Gate, Naming, Patch, ResourceShape, TaskShape};

pub(crate) fn gate(atoms: &[Atom]) -> Option<Gate> {
    Some(Gate(atoms.to_vec()))
}

pub(crate) fn event(age: Age, flags: &[(Flag, bool)]) -> EventShape {
    EventShape { age, flags: flags.iter().copied().collect::<Flags>() }
}

pub(crate) fn delivered(event: EventShape, delivery: Delivery) -> Step {
    Step::Event { event, delivery, again: false }
}

pub(crate) fn next_event(flags: &[(Flag, bool)]) -> Step {
    delivered(event(Age::Next, flags), Delivery::default())
}

fn fault(call: usize, fault: Fault) -> Delivery {
    Delivery { faults: BTreeMap::from([(call, fault)]), ..Delivery::default() }
}

/// A patch whose gate compares the live value with the one that the patch sets.
fn comparing_patch(place: usize) -> Patch {
    Patch { when: Gate(vec![Atom::Differs(place, 0, "on")]), value: "on" }
}

/// A delivery during which, before the given call, the other replica handles the same event.
fn overlap(call: usize) -> Delivery {
    Delivery { pause: Some((call, vec![Meanwhile::Event(None, BTreeMap::new())])), ..Delivery::default() }
}

pub(crate) fn sequence(
    resources: Vec<ResourceShape>,
    past: Vec<Step>,
    event: EventShape,
    disturbances: Vec<Delivery>,
) -> Sequence {
    Sequence { task: TaskShape { resources }, past, event, disturbances }
}

fn assert_holds(sequence: &Sequence) {
    if let Err(failure) = check(sequence, Settings::default()) {
        panic!("{failure}");
    }
}

/// Asserts that all invariants hold, and that I5 would be broken without its exceptions.
fn assert_needs_exception(sequence: &Sequence) {
    assert_holds(sequence);
    match check(sequence, Settings { without_exceptions: true, ..Settings::default() }) {
        Err(Failure::Finding(finding)) if finding.breaks(Invariant::NotConverged) => {}
        Err(failure) => panic!("{failure}"),
        Ok(_) => panic!("the exception is not needed"),
    }
}

/// Once, a recreation that lost its name to the other replica decided again on the objects that it had
/// deleted, and deleted the object of the other replica.
#[test]
fn late_recreation_keeps_the_recreated_object() {
    let again = |value: bool| [(Flag::Again, value)];
    let fixed = ResourceShape { recreate: gate(&[Atom::Flag(Flag::Again, true)]), ..ResourceShape::default() };
    let varying = ResourceShape { naming: Naming::Generation, discovery: Discovery::OwnLabel, ..fixed.clone() };
    for resource in [fixed, varying] {
        let past = vec![next_event(&again(false)), delivered(event(Age::Next, &again(true)), overlap(4))];
        assert_holds(&sequence(vec![resource], past, event(Age::Same, &again(false)), vec![]));
    }
}

/// Once, an interrupted replacement of several versions was never finished: the gate held for the current
/// version only, which was deleted first. Now the current version is deleted last.
#[test]
fn interrupted_replacement_of_versions_is_finished() {
    let resource = ResourceShape {
        naming: Naming::Generation,
        discovery: Discovery::OwnLabel,
        recreate_on_change: true,
        ..ResourceShape::default()
    };
    let past = vec![next_event(&[]), Step::Act(Act::SetGeneration(0, None)), next_event(&[])];
    let faults = [Fault::LostRequest, Fault::LostAnswer, Fault::Crash { done: false }, Fault::Crash { done: true }];
    for (call, what) in (3..6).flat_map(|call| faults.map(|what| (call, what))) {
        let disturbance = fault(call, what);
        assert_holds(&sequence(vec![resource.clone()], past.clone(), event(Age::Next, &[]), vec![disturbance]));
    }
}

/// A replacement evaluates the gates `recreate` and `create`. After an interruption, the object is absent,
/// and the next event creates it, which also requires `apply`.
#[test]
fn interrupted_replacement_needs_the_apply_gate() {
    let resource = ResourceShape {
        recreate_on_change: true,
        apply: gate(&[Atom::Flag(Flag::Ready, true)]),
        ..ResourceShape::default()
    };
    let past = vec![next_event(&[(Flag::Ready, true)])];
    let crash = fault(3, Fault::Crash { done: true });
    assert_needs_exception(&sequence(vec![resource], past, event(Age::Next, &[(Flag::Ready, false)]), vec![crash]));
}

/// An object that a late event created is not updated if its gate forbids updates.
#[test]
fn create_only_object_keeps_the_first_generation() {
    let resource = ResourceShape { apply: gate(&[Atom::Missing(0)]), ..ResourceShape::default() };
    let late = Delivery { late: 1, ..Delivery::default() };
    let past = vec![next_event(&[]), Step::Act(Act::Delete(0))];
    assert_needs_exception(&sequence(vec![resource], past, event(Age::Next, &[]), vec![late]));
}

/// With the generation in its name, the object that a late event creates is a version of its own, which no
/// later event removes.
#[test]
fn version_created_by_a_late_event_stays() {
    let resource = ResourceShape { naming: Naming::Generation, ..ResourceShape::default() };
    let late = Delivery { late: 1, ..Delivery::default() };
    let past = vec![next_event(&[]), Step::Act(Act::Delete(0))];
    assert_needs_exception(&sequence(vec![resource], past, event(Age::Next, &[]), vec![late]));
}

/// The owner must exist before it is disowned, so it depends on the progress of the pass whether its
/// dependent is created.
#[test]
fn owner_disowned_after_its_creation_depends_on_progress() {
    let owner =
        ResourceShape { orphan: gate(&[Atom::Flag(Flag::Leaving, true), Atom::There(0)]), ..ResourceShape::default() };
    let owned = ResourceShape { owner: Some(0), ..ResourceShape::default() };
    let crash = fault(4, Fault::Crash { done: true });
    let leaving = event(Age::Next, &[(Flag::Leaving, true)]);
    assert_needs_exception(&sequence(vec![owner, owned], vec![], leaving, vec![crash]));
}

/// A shared label also matches another resource's object, which a gate then sees while its own resource has
/// no object.
#[test]
fn gate_that_sees_another_resources_object_depends_on_progress() {
    let first = ResourceShape { recreate_on_change: true, ..ResourceShape::default() };
    let second = ResourceShape {
        discovery: Discovery::ManagedShared,
        apply: gate(&[Atom::Missing(1)]),
        ..ResourceShape::default()
    };
    let past = vec![delivered(event(Age::Next, &[]), fault(4, Fault::LostRequest))];
    let lost = fault(4, Fault::LostAnswer);
    assert_needs_exception(&sequence(vec![first, second], past, event(Age::Next, &[]), vec![lost]));
}

/// Two replicas that create at the same time, under names that contain the clock, create two objects.
#[test]
fn names_with_the_clock_do_not_fence_creations() {
    let resource = ResourceShape { naming: Naming::Clock, discovery: Discovery::OwnLabel, ..ResourceShape::default() };
    assert_needs_exception(&sequence(vec![resource], vec![], event(Age::Next, &[]), vec![overlap(2)]));
}

/// A current version that lost its owner reference cannot be updated under a new name, so another one is created.
#[test]
fn version_without_its_owner_is_created_again() {
    let owner = ResourceShape::default();
    let owned = ResourceShape {
        naming: Naming::Clock,
        discovery: Discovery::OwnLabel,
        owner: Some(0),
        ..ResourceShape::default()
    };
    let past =
        vec![next_event(&[]), Step::Act(Act::DropOwners(1)), delivered(event(Age::Same, &[]), Delivery::default())];
    assert_holds(&sequence(vec![owner, owned], past, event(Age::Same, &[]), vec![]));
}

/// Under a name with the clock, a new owner leads to a new version; the number of versions depends on the
/// progress of the passes.
#[test]
fn versions_named_by_the_clock_follow_each_new_owner() {
    let owner = ResourceShape {
        naming: Naming::Generation,
        discovery: Discovery::OwnLabel,
        patches: vec![comparing_patch(0)],
        ..ResourceShape::default()
    };
    let owned = ResourceShape {
        naming: Naming::Clock,
        discovery: Discovery::OwnLabel,
        owner: Some(0),
        ..ResourceShape::default()
    };
    let lost = fault(3, Fault::LostAnswer);
    assert_needs_exception(&sequence(vec![owner, owned], vec![next_event(&[])], event(Age::Next, &[]), vec![lost]));
}

/// A gate about a flag that the event lacks is undecided in every pass, and later resources wait for it.
#[test]
fn event_that_always_fails_need_not_converge() {
    let first = ResourceShape {
        patches: vec![Patch {
            when: Gate(vec![Atom::Flag(Flag::Ready, true), Atom::Differs(0, 0, "on")]),
            value: "on",
        }],
        ..ResourceShape::default()
    };
    let second = ResourceShape::default();
    let unread = fault(2, Fault::LostRequest);
    assert_needs_exception(&sequence(vec![first, second], vec![], event(Age::Next, &[]), vec![unread]));
}

/// A finalizer holds one of two versions, and the answer to its deletion is lost. Once, the next event deleted the
/// other version and created a third one beside the terminating one; row 14 waits now.
#[test]
fn recreation_beside_a_terminating_version_waits() {
    let resource = ResourceShape {
        naming: Naming::Clock,
        discovery: Discovery::OwnLabel,
        recreate: gate(&[Atom::Behind(0)]),
        ..ResourceShape::default()
    };
    let past = vec![delivered(event(Age::Next, &[]), overlap(2)), Step::Act(Act::AddFinalizer(0))];
    let lost = fault(3, Fault::LostAnswer);
    assert_needs_exception(&sequence(vec![resource], past, event(Age::Next, &[]), vec![lost]));
}
