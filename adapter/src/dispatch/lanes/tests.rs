#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn lanes<T>(parallelism: usize) -> Lanes<T> {
    Lanes::new(NonZeroUsize::new(parallelism).unwrap())
}

fn key(id: &str) -> LaneKey {
    LaneKey::Resource { kind: "Cluster".into(), id: id.into() }
}

fn offer(lanes: &mut Lanes<&'static str>, id: &str, generation: i64, event: &'static str) -> Offered<&'static str> {
    lanes.offer(key(id), Generation(generation), event)
}

fn waits(replaced: &[&'static str]) -> Offered<&'static str> {
    Offered::Waits { replaced: replaced.to_vec() }
}

#[test]
fn different_resources_run_side_by_side_up_to_the_limit() {
    let mut lanes = lanes(2);
    assert_eq!(offer(&mut lanes, "a", 1, "a1"), Offered::Start("a1"));
    assert_eq!(offer(&mut lanes, "b", 1, "b1"), Offered::Start("b1"));
    assert_eq!(offer(&mut lanes, "c", 1, "c1"), waits(&[]));
    assert_eq!((lanes.running(), lanes.waiting()), (2, 1));
    assert_eq!(lanes.finished(&key("a")), Some((key("c"), "c1")));
    assert_eq!(lanes.finished(&key("b")), None);
}

#[test]
fn one_resource_runs_one_event_at_a_time() {
    let mut lanes = lanes(2);
    assert_eq!(offer(&mut lanes, "a", 1, "a1"), Offered::Start("a1"));
    assert_eq!(offer(&mut lanes, "a", 2, "a2"), waits(&[]));
    assert_eq!(lanes.finished(&key("a")), Some((key("a"), "a2")));
    assert_eq!(lanes.finished(&key("a")), None);
    assert_eq!(lanes.finished(&key("a")), None, "nothing ran any more");
    assert_eq!(lanes.running(), 0);
}

#[test]
fn held_lanes_start_nothing_until_they_are_released() {
    let mut lanes = lanes(2);
    assert_eq!(offer(&mut lanes, "a", 1, "a1"), Offered::Start("a1"));
    lanes.hold(true);
    assert_eq!(offer(&mut lanes, "b", 1, "b1"), waits(&[]));
    assert_eq!(offer(&mut lanes, "c", 1, "c1"), waits(&[]));
    assert_eq!((lanes.finished(&key("a")), lanes.start_next()), (None, None));
    assert_eq!((lanes.running(), lanes.waiting()), (0, 2));
    lanes.hold(false);
    assert_eq!(lanes.start_next(), Some((key("b"), "b1")));
    assert_eq!(lanes.start_next(), Some((key("c"), "c1")));
    assert_eq!(lanes.start_next(), None);
}

#[test]
fn resources_of_one_id_and_different_kinds_are_different() {
    let mut lanes = lanes(2);
    assert_eq!(offer(&mut lanes, "a", 1, "cluster"), Offered::Start("cluster"));
    let pool = LaneKey::Resource { kind: "NodePool".into(), id: "a".into() };
    assert_eq!(lanes.offer(pool, Generation(1), "pool"), Offered::Start("pool"));
}

/// Name, generations that wait, generation that comes, those replaced, those run then.
type Replacement = (&'static str, &'static [i64], i64, &'static [i64], &'static [i64]);

#[test]
fn what_a_newer_event_replaces() {
    let cases: [Replacement; 6] = [
        ("nothing waits", &[], 2, &[], &[2]),
        ("a lower generation waits", &[1], 2, &[1], &[2]),
        ("the same generation waits", &[2], 2, &[2], &[2]),
        ("a higher generation waits", &[3], 2, &[], &[3, 2]),
        ("a higher and a lower one wait", &[5, 3], 4, &[3], &[5, 4]),
        ("all that wait are lower", &[5, 3], 6, &[5, 3], &[6]),
    ];
    for (name, waiting, newer, replaced, left) in cases {
        let mut lanes = lanes(1);
        lanes.offer(key("a"), Generation(0), 0);
        for generation in waiting {
            lanes.offer(key("a"), Generation(*generation), *generation);
        }
        let offered = lanes.offer(key("a"), Generation(newer), newer);
        assert_eq!(offered, Offered::Waits { replaced: replaced.to_vec() }, "{name}");
        let run: Vec<i64> = std::iter::from_fn(|| lanes.finished(&key("a"))).map(|(_, event)| event).collect();
        assert_eq!(run, left, "{name}");
    }
}

#[test]
fn a_busy_resource_lets_the_others_pass() {
    let mut lanes = lanes(1);
    offer(&mut lanes, "a", 1, "a1");
    offer(&mut lanes, "a", 2, "a2");
    offer(&mut lanes, "b", 1, "b1");
    assert_eq!(lanes.finished(&key("a")), Some((key("b"), "b1")));
    assert_eq!(lanes.finished(&key("b")), Some((key("a"), "a2")));
}

#[test]
fn a_replacement_keeps_its_place_in_the_queue() {
    let mut lanes = lanes(1);
    offer(&mut lanes, "x", 1, "x1");
    offer(&mut lanes, "a", 1, "a1");
    offer(&mut lanes, "b", 1, "b1");
    assert_eq!(offer(&mut lanes, "a", 2, "a2"), waits(&["a1"]));
    assert_eq!(lanes.finished(&key("x")), Some((key("a"), "a2")));
}

#[test]
fn draining_leaves_only_what_runs() {
    let mut lanes = lanes(1);
    offer(&mut lanes, "a", 1, "a1");
    offer(&mut lanes, "a", 2, "a2");
    offer(&mut lanes, "b", 1, "b1");
    let mut drained = lanes.drain();
    drained.sort_unstable();
    assert_eq!(drained, ["a2", "b1"]);
    assert_eq!((lanes.running(), lanes.waiting()), (1, 0));
    assert_eq!(lanes.finished(&key("a")), None);
    assert!(lanes.lanes.is_empty(), "an idle lane is forgotten");
}

#[derive(Debug, Clone)]
enum Step {
    Offer {
        resource: u8,
        generation: i64,
    },
    /// Ends the n-th of those that run.
    Finish(usize),
    Drain,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..5_u8, 0..6_i64).prop_map(|(resource, generation)| Step::Offer { resource, generation }),
        4 => any::<usize>().prop_map(Step::Finish),
        1 => Just(Step::Drain),
    ]
}

/// An event, numbered in order of arrival.
type Ticket = (u8, i64, usize);

/// What an observer of the lanes saw.
#[derive(Default)]
struct Witness {
    offered: BTreeSet<Ticket>,
    started: BTreeSet<Ticket>,
    dropped: BTreeSet<Ticket>,
    running: Vec<Ticket>,
    last_started: BTreeMap<u8, usize>,
}

impl Witness {
    fn start(&mut self, ticket: Ticket, parallelism: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.running.iter().all(|running| running.0 != ticket.0), "two of one resource at once");
        prop_assert!(self.last_started.insert(ticket.0, ticket.2).is_none_or(|last| last < ticket.2), "out of order");
        prop_assert!(self.started.insert(ticket), "started twice");
        self.running.push(ticket);
        prop_assert!(self.running.len() <= parallelism, "too many at once");
        Ok(())
    }

    fn waiting(&self) -> Vec<Ticket> {
        self.offered.iter().filter(|t| !self.started.contains(t) && !self.dropped.contains(t)).copied().collect()
    }
}

proptest! {
    #[test]
    fn order_is_kept_and_nothing_is_lost(parallelism in 1..4_usize, steps in prop::collection::vec(any_step(), 0..120)) {
        let mut lanes: Lanes<Ticket> = lanes(parallelism);
        let mut witness = Witness::default();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Offer { resource, generation } => {
                    let ticket = (resource, generation, number);
                    witness.offered.insert(ticket);
                    match lanes.offer(key(&resource.to_string()), Generation(generation), ticket) {
                        Offered::Start(started) => {
                            prop_assert_eq!(started, ticket);
                            witness.start(ticket, parallelism)?;
                        }
                        Offered::Waits { replaced } => for old in replaced {
                            prop_assert!(old.0 == resource && old.1 <= generation, "wrongly replaced");
                            prop_assert!(!witness.started.contains(&old) && witness.dropped.insert(old));
                        },
                    }
                }
                Step::Finish(_) if witness.running.is_empty() => {}
                Step::Finish(nth) => {
                    let ended = witness.running.remove(nth % witness.running.len());
                    if let Some((lane, next)) = lanes.finished(&key(&ended.0.to_string())) {
                        prop_assert_eq!(lane, key(&next.0.to_string()));
                        witness.start(next, parallelism)?;
                    }
                }
                Step::Drain => {
                    let drained: BTreeSet<Ticket> = lanes.drain().into_iter().collect();
                    prop_assert_eq!(&drained, &witness.waiting().into_iter().collect::<BTreeSet<_>>());
                    witness.dropped.extend(drained);
                }
            }
            prop_assert_eq!(lanes.running(), witness.running.len());
            prop_assert_eq!(lanes.waiting(), witness.waiting().len());
            let busy: BTreeSet<u8> = witness.running.iter().map(|ticket| ticket.0).collect();
            let idle_lane_waits = witness.waiting().iter().any(|ticket| !busy.contains(&ticket.0));
            prop_assert!(!idle_lane_waits || witness.running.len() == parallelism, "a free slot stays empty");
        }
        while let Some(ended) = witness.running.pop() {
            if let Some((_, next)) = lanes.finished(&key(&ended.0.to_string())) {
                witness.start(next, parallelism)?;
            }
        }
        prop_assert!(witness.waiting().is_empty(), "lost: {:?}", witness.waiting());
        prop_assert!(lanes.lanes.is_empty() && lanes.ready.is_empty(), "leftovers");
    }
}
