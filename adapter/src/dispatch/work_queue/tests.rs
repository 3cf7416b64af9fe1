#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn queue<T>(parallelism: usize) -> WorkQueue<T> {
    WorkQueue::new(NonZeroUsize::new(parallelism).unwrap())
}

fn key(id: &str) -> Key {
    Key::Resource { kind: "Cluster".into(), id: id.into() }
}

fn offer(queue: &mut WorkQueue<&'static str>, id: &str, generation: i64, event: &'static str) -> Offered<&'static str> {
    queue.offer(key(id), Generation(generation), event)
}

fn waits(replaced: &[&'static str]) -> Offered<&'static str> {
    Offered::Waits { replaced: replaced.to_vec() }
}

#[test]
fn different_resources_run_in_parallel_up_to_the_limit() {
    let mut queue = queue(2);
    assert_eq!(offer(&mut queue, "a", 1, "a1"), Offered::Start("a1"));
    assert_eq!(offer(&mut queue, "b", 1, "b1"), Offered::Start("b1"));
    assert_eq!(offer(&mut queue, "c", 1, "c1"), waits(&[]));
    assert_eq!((queue.running(), queue.waiting()), (2, 1));
    assert_eq!(queue.finished(&key("a")), Some((key("c"), "c1")));
    assert_eq!(queue.finished(&key("b")), None);
}

#[test]
fn one_resource_runs_one_event_at_a_time() {
    let mut queue = queue(2);
    assert_eq!(offer(&mut queue, "a", 1, "a1"), Offered::Start("a1"));
    assert_eq!(offer(&mut queue, "a", 2, "a2"), waits(&[]));
    assert_eq!(queue.finished(&key("a")), Some((key("a"), "a2")));
    assert_eq!(queue.finished(&key("a")), None);
    assert_eq!(queue.finished(&key("a")), None, "nothing ran any more");
    assert_eq!(queue.running(), 0);
}

#[test]
fn held_queue_starts_no_event() {
    let mut queue = queue(2);
    assert_eq!(offer(&mut queue, "a", 1, "a1"), Offered::Start("a1"));
    queue.hold(true);
    assert_eq!(offer(&mut queue, "b", 1, "b1"), waits(&[]));
    assert_eq!(offer(&mut queue, "c", 1, "c1"), waits(&[]));
    assert_eq!((queue.finished(&key("a")), queue.start_next()), (None, None));
    assert_eq!((queue.running(), queue.waiting()), (0, 2));
    queue.hold(false);
    assert_eq!(queue.start_next(), Some((key("b"), "b1")));
    assert_eq!(queue.start_next(), Some((key("c"), "c1")));
    assert_eq!(queue.start_next(), None);
}

#[test]
fn same_id_with_different_kinds_has_different_keys() {
    let mut queue = queue(2);
    assert_eq!(offer(&mut queue, "a", 1, "cluster"), Offered::Start("cluster"));
    let pool = Key::Resource { kind: "NodePool".into(), id: "a".into() };
    assert_eq!(queue.offer(pool, Generation(1), "pool"), Offered::Start("pool"));
}

/// Case name, waiting generations, arriving generation, replaced generations, and the generations that run
/// then.
type Replacement = (&'static str, &'static [i64], i64, &'static [i64], &'static [i64]);

#[test]
fn event_replaces_waiting_ones_of_no_higher_generation() {
    let cases: [Replacement; 6] = [
        ("nothing waits", &[], 2, &[], &[2]),
        ("a lower generation waits", &[1], 2, &[1], &[2]),
        ("the same generation waits", &[2], 2, &[2], &[2]),
        ("a higher generation waits", &[3], 2, &[], &[3, 2]),
        ("a higher and a lower one wait", &[5, 3], 4, &[3], &[5, 4]),
        ("all that wait are lower", &[5, 3], 6, &[5, 3], &[6]),
    ];
    for (name, waiting, newer, replaced, left) in cases {
        let mut queue = queue(1);
        queue.offer(key("a"), Generation(0), 0);
        for generation in waiting {
            queue.offer(key("a"), Generation(*generation), *generation);
        }
        let offered = queue.offer(key("a"), Generation(newer), newer);
        assert_eq!(offered, Offered::Waits { replaced: replaced.to_vec() }, "{name}");
        let run: Vec<i64> = std::iter::from_fn(|| queue.finished(&key("a"))).map(|(_, event)| event).collect();
        assert_eq!(run, left, "{name}");
    }
}

#[test]
fn busy_resource_does_not_starve_others() {
    let mut queue = queue(1);
    offer(&mut queue, "a", 1, "a1");
    offer(&mut queue, "a", 2, "a2");
    offer(&mut queue, "b", 1, "b1");
    assert_eq!(queue.finished(&key("a")), Some((key("b"), "b1")));
    assert_eq!(queue.finished(&key("b")), Some((key("a"), "a2")));
}

#[test]
fn replacement_takes_the_queue_place_of_the_replaced_event() {
    let mut queue = queue(1);
    offer(&mut queue, "x", 1, "x1");
    offer(&mut queue, "a", 1, "a1");
    offer(&mut queue, "b", 1, "b1");
    assert_eq!(offer(&mut queue, "a", 2, "a2"), waits(&["a1"]));
    assert_eq!(queue.finished(&key("x")), Some((key("a"), "a2")));
}

#[test]
fn drain_returns_every_waiting_event() {
    let mut queue = queue(1);
    offer(&mut queue, "a", 1, "a1");
    offer(&mut queue, "a", 2, "a2");
    offer(&mut queue, "b", 1, "b1");
    let mut drained = queue.drain();
    drained.sort_unstable();
    assert_eq!(drained, ["a2", "b1"]);
    assert_eq!((queue.running(), queue.waiting()), (1, 0));
    assert_eq!(queue.finished(&key("a")), None);
    assert!(queue.keys.is_empty(), "an idle key is forgotten");
}

#[derive(Debug, Clone)]
enum Action {
    Offer {
        resource: u8,
        generation: i64,
    },
    /// Ends the n-th running event.
    Finish(usize),
    Drain,
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..5_u8, 0..6_i64).prop_map(|(resource, generation)| Action::Offer { resource, generation }),
        4 => any::<usize>().prop_map(Action::Finish),
        1 => Just(Action::Drain),
    ]
}

/// A test's event: resource number, generation, and arrival number.
type Ticket = (u8, i64, usize);

/// Records the queue's outputs, to check order and completeness at the end.
#[derive(Default)]
struct Recorder {
    offered: BTreeSet<Ticket>,
    started: BTreeSet<Ticket>,
    dropped: BTreeSet<Ticket>,
    running: Vec<Ticket>,
    last_started: BTreeMap<u8, usize>,
}

impl Recorder {
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
    fn queue_keeps_order_and_loses_no_event(parallelism in 1..4_usize, actions in prop::collection::vec(any_action(), 0..120)) {
        let mut queue: WorkQueue<Ticket> = queue(parallelism);
        let mut recorder = Recorder::default();
        for (number, action) in actions.into_iter().enumerate() {
            match action {
                Action::Offer { resource, generation } => {
                    let ticket = (resource, generation, number);
                    recorder.offered.insert(ticket);
                    match queue.offer(key(&resource.to_string()), Generation(generation), ticket) {
                        Offered::Start(started) => {
                            prop_assert_eq!(started, ticket);
                            recorder.start(ticket, parallelism)?;
                        }
                        Offered::Waits { replaced } => for old in replaced {
                            prop_assert!(old.0 == resource && old.1 <= generation, "wrongly replaced");
                            prop_assert!(!recorder.started.contains(&old) && recorder.dropped.insert(old));
                        },
                    }
                }
                Action::Finish(_) if recorder.running.is_empty() => {}
                Action::Finish(nth) => {
                    let ended = recorder.running.remove(nth % recorder.running.len());
                    if let Some((started, next)) = queue.finished(&key(&ended.0.to_string())) {
                        prop_assert_eq!(started, key(&next.0.to_string()));
                        recorder.start(next, parallelism)?;
                    }
                }
                Action::Drain => {
                    let drained: BTreeSet<Ticket> = queue.drain().into_iter().collect();
                    prop_assert_eq!(&drained, &recorder.waiting().into_iter().collect::<BTreeSet<_>>());
                    recorder.dropped.extend(drained);
                }
            }
            prop_assert_eq!(queue.running(), recorder.running.len());
            prop_assert_eq!(queue.waiting(), recorder.waiting().len());
            let busy: BTreeSet<u8> = recorder.running.iter().map(|ticket| ticket.0).collect();
            let idle_key_waits = recorder.waiting().iter().any(|ticket| !busy.contains(&ticket.0));
            prop_assert!(!idle_key_waits || recorder.running.len() == parallelism, "a free slot stays empty");
        }
        while let Some(ended) = recorder.running.pop() {
            if let Some((_, next)) = queue.finished(&key(&ended.0.to_string())) {
                recorder.start(next, parallelism)?;
            }
        }
        prop_assert!(recorder.waiting().is_empty(), "lost: {:?}", recorder.waiting());
        prop_assert!(queue.keys.is_empty() && queue.ready.is_empty(), "leftovers");
    }
}
