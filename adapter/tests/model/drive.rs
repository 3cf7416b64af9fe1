//! Runs one sequence, and reports its findings.
//!
//! In: a [`Sequence`] and two grounds. On the first ground, the model plays the past, then the event with all
//! its disturbances, and then the event without disturbances. On the second ground, it plays the same past
//! and the event without disturbances; invariant I5 compares the two final states. Out: the coverage of the
//! sequence. Fails: with a [`Finding`] that has everything needed to understand it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_core::row::Row;
use serde_json::Value;

use crate::generate::{is_confluent, takes_late_events};
use crate::ground::Ground;
use crate::oracle::{Invariant, View, Violation, has_reason_to_write, normal, order, written_for};
use crate::sequence::{Delivery, EventShape, Meanwhile, Sequence, Step};
use crate::shape::{NAMES, Naming, TaskShape};
use crate::tamper::Tampering;
use crate::world::{Ended, World};

/// How many undisturbed passes an event may need. An event that needs more never comes to rest.
const PATIENCE: usize = 8;

/// The invariants that a sequence broke, with an account of its run.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) violations: Vec<Violation>,
    account: String,
}

impl Finding {
    pub(crate) fn breaks(&self, invariant: Invariant) -> bool {
        self.violations.iter().any(|violation| violation.invariant == invariant)
    }
}

/// The behaviour that a sequence covered, counted to check that the generators reach all of it.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// The rows of the decision table that applied, with the results, and how often.
    pub(crate) rows: BTreeMap<(Row, &'static str), usize>,
    pub(crate) passes: usize,
    pub(crate) disturbed: usize,
    pub(crate) pruned: usize,
    /// The numbers of comparisons with an undisturbed run (I5), and of repeated events (I6).
    pub(crate) compared: usize,
    pub(crate) repeated: usize,
}

/// Why a sequence ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine broke an invariant.
    Finding(Box<Finding>),
    /// The model itself failed, so that nothing is known about the engine.
    Model(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Model(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finding(finding) => {
                for violation in &finding.violations {
                    writeln!(f, "{violation}")?;
                }
                f.write_str(&finding.account)
            }
            Self::Model(error) => write!(f, "the model failed: {error:#}"),
        }
    }
}

/// The settings of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings {
    /// The way in which the adapter is broken on purpose, if any.
    pub(crate) tampering: Option<Tampering>,
    /// Check I5 for all sequences, also for those that it excludes.
    pub(crate) without_exceptions: bool,
}

/// Runs a sequence on two separate grounds, each given with the id of its events.
pub(crate) async fn run<G: Ground>(
    sequence: &Sequence,
    disturbed: (G, &str),
    calm: (G, &str),
    start: Timestamp,
    settings: Settings,
) -> Result<Coverage, Failure> {
    let task = Arc::new(sequence.task.clone());
    let mut coverage = Coverage::default();
    let mut world = World::new(disturbed.0, disturbed.1, &task, start, settings)?;
    past(&mut world, sequence, &mut coverage).await?;
    let generation = world.generation(&sequence.event);

    let mut undisturbed = None;
    if settings.without_exceptions || compares(sequence) {
        let begun = world.normalized_state().await?;
        let mut world = World::new(calm.0, calm.1, &task, start, settings)?;
        past(&mut world, sequence, &mut Coverage::default()).await?;
        let generation = world.generation(&sequence.event);
        world.note("the same past, then the event without disturbances");
        // Times of a real server have a resolution of one second, so two runs of one past may create objects
        // in another order.
        if world.normalized_state().await? == begun {
            undisturbed = repeat_until_unchanged(&mut world, &sequence.event, generation, settings).await?;
        }
    }

    world.note("the event with disturbances");
    for delivery in &sequence.disturbances {
        let generation = (generation - delivery.late).max(1);
        let ended = world.deliver(&sequence.event, generation, delivery).await?;
        coverage.note(&ended);
    }
    check(&world, sequence)?;
    let Some((passes, expected)) = undisturbed else { return Ok(coverage) };
    world.note("the event without disturbances");
    // On a ground with controllers, their writes may cost a pass more than in the undisturbed run.
    let spare = if world.ground.is_busy(&task) { PATIENCE } else { 0 };
    let mut state = BTreeMap::new();
    for pass in 0..passes.max(1) + spare {
        let ended = world.deliver(&sequence.event, generation, &Delivery::default()).await?;
        coverage.note(&ended);
        world.settle().await?;
        state = normal(&world.objects().await?, &world.id);
        if pass + 1 >= passes.max(1) && state == expected {
            break;
        }
    }
    coverage.compared += 1;
    let (mut expected, mut state) = (expected, state);
    if !settings.without_exceptions {
        leave_out_waiting_replacements(&task, &mut expected, &mut state);
    }
    if state != expected {
        let what = format!(
            "{} passes without disturbances lead to another state than in the undisturbed run\n  undisturbed: {}\n  disturbed:   {}",
            passes.max(1),
            shown(&expected),
            shown(&state)
        );
        world.violations.push(Violation { invariant: Invariant::NotConverged, what });
    }
    check(&world, sequence)?;
    Ok(coverage)
}

impl<G: Ground> World<G> {
    async fn normalized_state(&self) -> anyhow::Result<(BTreeMap<String, Value>, Vec<String>)> {
        let objects = self.objects().await?;
        Ok((normal(&objects, &self.id), order(&objects, &self.id)))
    }
}

async fn past<G: Ground>(world: &mut World<G>, sequence: &Sequence, coverage: &mut Coverage) -> Result<(), Failure> {
    for step in &sequence.past {
        match step {
            Step::Act(act) => world.act(act).await?,
            Step::Event { event, delivery, again } => {
                let generation = world.generation(event);
                world.settle().await?;
                let ended = world.deliver(event, generation, delivery).await?;
                coverage.note(&ended);
                if *again && !ended.disturbed && delivery.pause.is_none() {
                    repeat(world, event, &ended, coverage).await?;
                }
            }
        }
        check(world, sequence)?;
    }
    world.settle().await?;
    Ok(())
}

/// Delivers the same event again (I6), and checks that no resource is written without a reason.
async fn repeat<G: Ground>(
    world: &mut World<G>,
    shape: &EventShape,
    first: &Ended,
    coverage: &mut Coverage,
) -> Result<(), Failure> {
    world.note("the same event once more");
    let before = world.objects().await?;
    if first.calls.iter().rev().find(|entry| entry.call.writes()).is_some_and(|entry| entry.after != before) {
        // Another writer has changed the objects since, so the second event does not see the same state.
        return Ok(());
    }
    let second = world.deliver(shape, first.event.generation, &Delivery::default()).await?;
    coverage.note(&second);
    let Some(report) = &first.report else { return Ok(()) };
    coverage.repeated += 1;
    let task = Arc::clone(&world.task);
    let views = [View::new(&task, &first.event, &first.calls), View::new(&task, &second.event, &second.calls)];
    for (place, outcome) in report.outcomes.iter().enumerate() {
        let failed = outcome.failure().is_some() || outcome.row == Row::EarlierFailure;
        let mut calls = second.calls.iter().enumerate();
        let write = calls
            .find(|(number, entry)| entry.is_sent() && written_for(&views[1], *number, &entry.call).contains(&place));
        let Some((_, write)) = write.filter(|_| !failed) else { continue };
        if !has_reason_to_write((&views[0], &first.calls), (&views[1], &second.calls), place) {
            let what = format!("a second identical event makes a {} for {}", write.call.verb(), outcome.resource);
            world.violations.push(Violation { invariant: Invariant::NotIdempotent, what });
        }
    }
    Ok(())
}

/// Delivers an event without disturbances until it changes nothing. Returns the number of passes and the
/// final state; `None` if the event never comes to rest, or its passes fail.
async fn repeat_until_unchanged<G: Ground>(
    world: &mut World<G>,
    event: &EventShape,
    generation: i64,
    settings: Settings,
) -> Result<Option<(usize, BTreeMap<String, Value>)>, Failure> {
    for passes in 0..PATIENCE {
        let ended = world.deliver(event, generation, &Delivery::default()).await?;
        world.settle().await?;
        let succeeds =
            ended.report.iter().flat_map(|report| &report.outcomes).all(|outcome| outcome.failure().is_none());
        if ended.is_at_rest() && (succeeds || settings.without_exceptions) {
            return Ok(Some((passes, normal(&world.objects().await?, &world.id))));
        }
    }
    Ok(None)
}

/// Whether I5 applies to the sequence; the crate's documentation lists the exceptions.
fn compares(sequence: &Sequence) -> bool {
    let overlaps = sequence.disturbances.iter().any(|delivery| delivery.pause.is_some());
    let others = sequence.disturbances.iter().filter_map(|delivery| delivery.pause.as_ref());
    let only_itself = others.flat_map(|(_, steps)| steps).all(|step| matches!(step, Meanwhile::Event(None, _)));
    let late = sequence.disturbances.iter().any(|delivery| delivery.late > 0);
    let names_by_clock = sequence.task.resources.iter().any(|resource| resource.naming == Naming::Clock);
    is_confluent(&sequence.task)
        && only_itself
        && !(overlaps && names_by_clock)
        && (!late || takes_late_events(&sequence.task))
}

/// Leaves out the objects of resources whose replacement waits in both states, and their dependents.
///
/// A replacement deletes all versions at once, but none while one of them terminates. If a finalizer holds one
/// version, the interruption decides which others exist until that one is gone.
fn leave_out_waiting_replacements(
    task: &TaskShape,
    expected: &mut BTreeMap<String, Value>,
    state: &mut BTreeMap<String, Value>,
) {
    let waits = |place: usize, state: &BTreeMap<String, Value>| {
        state.iter().any(|(object, seen)| is_of(object, place) && *seen == "terminating")
    };
    let mut left_out = Vec::new();
    for (place, resource) in task.resources.iter().enumerate() {
        let is_replaced = resource.retention.is_none() && (resource.recreate.is_some() || resource.recreate_on_change);
        let is_waiting = is_replaced && waits(place, expected) && waits(place, state);
        if is_waiting || resource.owner.is_some_and(|owner| left_out.contains(&owner)) {
            left_out.push(place);
        }
    }
    for state in [expected, state] {
        state.retain(|object, _| !left_out.iter().any(|place| is_of(object, *place)));
    }
}

/// Whether an object, given as its kind and normalised name, has a name of the resource at `place`.
fn is_of(object: &str, place: usize) -> bool {
    let name = object.split_once(' ').map_or(object, |(_, name)| name);
    name.strip_prefix("ID-").is_some_and(|name| name.split('-').next() == Some(NAMES[place]))
}

fn check<G: Ground>(world: &World<G>, sequence: &Sequence) -> Result<(), Failure> {
    if world.violations.is_empty() {
        return Ok(());
    }
    let account = format!("\n{}\n{sequence}\n{}", sequence.task.yaml(world.ground.group()), world.log);
    Err(Failure::Finding(Box::new(Finding { violations: world.violations.clone(), account })))
}

fn shown(state: &BTreeMap<String, Value>) -> String {
    state.iter().map(|(name, object)| format!("\n      {name}: {object}")).collect()
}

impl Coverage {
    fn note(&mut self, ended: &Ended) {
        self.passes += 1;
        self.disturbed += usize::from(ended.disturbed);
        for outcome in ended.report.iter().flat_map(|report| &report.outcomes) {
            *self.rows.entry((outcome.row, outcome.result.as_str())).or_default() += 1;
            self.pruned += outcome.pruned.len();
        }
    }

    pub(crate) fn has(&self, row: Row) -> bool {
        self.rows.keys().any(|(covered, _)| *covered == row)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (row, count) in &other.rows {
            *self.rows.entry(*row).or_default() += count;
        }
        self.passes += other.passes;
        self.disturbed += other.disturbed;
        self.pruned += other.pruned;
        self.compared += other.compared;
        self.repeated += other.repeated;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passes, disturbed, pruned, compared, repeated, rows } = self;
        writeln!(
            f,
            "{passes} passes, {disturbed} disturbed, {pruned} pruned, {compared} compared, {repeated} repeated"
        )?;
        for ((row, result), count) in rows {
            writeln!(f, "{count:>7} {result} ({row})")?;
        }
        Ok(())
    }
}
