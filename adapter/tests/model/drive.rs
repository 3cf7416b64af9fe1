//! Runs one sequence, and says what it found.
//!
//! In: a [`Sequence`] and two grounds. On the first, the past happens, then the event with all its disturbances, then the
//! event in peace. On the second, the same past happens, and the event in peace only, which shows where it leads (I5). Out:
//! what was covered, or a [`Finding`] with all that is needed to understand it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_core::plan::row::Row;
use serde_json::Value;

use crate::generate::{is_confluent, takes_late_events};
use crate::ground::Ground;
use crate::oracle::{Invariant, View, Violation, normal, order, told_anew, written_for};
use crate::sequence::{Delivery, EventShape, Meanwhile, Sequence, Step};
use crate::shape::Naming;
use crate::tamper::Tampering;
use crate::world::{Ended, World};

/// How many passes an event may need in peace. One that needs more does not come to rest by itself.
const PATIENCE: usize = 8;

/// A sequence that broke an invariant.
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

/// What a sequence came by.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// Rows of the decision table, with what came of them.
    pub(crate) rows: BTreeMap<(Row, &'static str), usize>,
    pub(crate) passes: usize,
    pub(crate) disturbed: usize,
    pub(crate) pruned: usize,
    /// Comparisons with an undisturbed run (I5), and repeated events (I6).
    pub(crate) compared: usize,
    pub(crate) repeated: usize,
}

/// Why a sequence could not be run to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine broke an invariant.
    Finding(Box<Finding>),
    /// The model itself failed.
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

/// How a sequence is run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings {
    /// How the adapter is broken, if it is.
    pub(crate) tampering: Option<Tampering>,
    /// Whether I5 is asked of sequences of which it says nothing, too.
    pub(crate) without_exceptions: bool,
}

/// Runs a sequence. `disturbed` and `calm` are grounds of their own with the ids of their events.
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
        let begun = world.past_as_it_is().await?;
        let mut world = World::new(calm.0, calm.1, &task, start, settings)?;
        past(&mut world, sequence, &mut Coverage::default()).await?;
        let generation = world.generation(&sequence.event);
        world.tell("the same past, and then only peace");
        // A server tells times in seconds: what was created at the same time in one past may not be in the other.
        if world.past_as_it_is().await? == begun {
            undisturbed = come_to_rest(&mut world, &sequence.event, generation, settings).await?;
        }
    }

    world.tell("the event is disturbed");
    for delivery in &sequence.disturbances {
        let generation = (generation - delivery.late).max(1);
        let ended = world.deliver(&sequence.event, generation, delivery).await?;
        coverage.note(&ended);
    }
    check(&world, sequence)?;
    let Some((passes, expected)) = undisturbed else { return Ok(coverage) };
    world.tell("and is left in peace");
    // What controllers do in between may cost a pass more than it did in the undisturbed run.
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
    if state != expected {
        let what = format!(
            "{} passes in peace lead to another state than without the disturbances\n  undisturbed: {}\n  disturbed:   {}",
            passes.max(1),
            shown(&expected),
            shown(&state)
        );
        world.violations.push(Violation { invariant: Invariant::NotHealed, what });
    }
    check(&world, sequence)?;
    Ok(coverage)
}

impl<G: Ground> World<G> {
    async fn past_as_it_is(&self) -> anyhow::Result<(BTreeMap<String, Value>, Vec<String>)> {
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

/// I6: the same event once more.
async fn repeat<G: Ground>(
    world: &mut World<G>,
    shape: &EventShape,
    first: &Ended,
    coverage: &mut Coverage,
) -> Result<(), Failure> {
    world.tell("the same event once more");
    let before = world.objects().await?;
    if first.calls.iter().rev().find(|entry| entry.call.writes()).is_some_and(|entry| entry.after != before) {
        // Somebody else wrote since: that is another state.
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
        let write = calls.find(|(number, entry)| written_for(&views[1], *number, &entry.call).contains(&place));
        let Some((_, write)) = write.filter(|_| !failed) else { continue };
        if !told_anew((&views[0], &first.calls), (&views[1], &second.calls), place) {
            let what = format!("a second identical event makes a {} for {}", write.call.verb(), outcome.resource);
            world.violations.push(Violation { invariant: Invariant::NotAtRest, what });
        }
    }
    Ok(())
}

/// Repeats an event in peace until it changes nothing: how many passes that takes, and the state that it leads to. Nothing if
/// it never ends, or ends with a failure.
async fn come_to_rest<G: Ground>(
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

/// Whether I5 says something about the sequence: see the crate's documentation.
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
