//! The pages of the adapters: whether each replica answers and takes events, what failed, the task as a picture, and the last passes.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts::{adapter_link, ago, all_away, away, cut, fitting, link, mark, prose, rest, table, tone_of};
use super::{Moment, Page, Part, graph};
use crate::model::{Intake, Pass, Passes, Task, TaskResource};
use crate::source::{Away, Replica};
use crate::why::Tone;

/// What the page of one adapter shows.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// The adapter's name.
    pub name: String,
    /// What each replica keeps of its passes.
    pub replicas: Vec<Replica<Passes>>,
    /// The picture of its task.
    pub task: Result<Task, Away>,
}

/// Renders the page of all adapters.
#[must_use]
pub fn overview(adapters: &[(String, Vec<Replica<Passes>>)], moment: Moment) -> Page {
    let replicas = || adapters.iter().flat_map(|(name, replicas)| replicas.iter().map(move |replica| (name, replica)));
    let row = |(name, replica): (&String, _)| html! { tr { th scope="row" { (adapter_link(name)) } (cells(replica, moment)) } };
    let (rows, hidden) = fitting(replicas().map(row), OF_ALL_REPLICAS);
    let content = html! {
        h1 { "Adapters" }
        (all_away(replicas().filter_map(|(_, replica)| replica.answer.as_ref().err())))
        @if adapters.is_empty() {
            p { "No adapter is configured: name them under " code { "adapters" } " in this console's configuration, and set " code { "passes.token_file" } " in theirs." }
        } @else {
            (table("Replicas of the adapters", &HEADINGS, rows))
            (rest(hidden, "replicas are not shown here"))
        }
    };
    Page { title: "Adapters".to_owned(), part: Part::Adapters, content, exists: true }
}

const HEADINGS: [&str; 8] =
    ["Adapter", "Replica", "State", "Takes events", "Last pass", "Succeeded", "Skipped", "Failed"];

fn cells(replica: &Replica<Passes>, moment: Moment) -> Markup {
    match &replica.answer {
        Err(_) => {
            let address = replica.address.map(|address| address.to_string()).unwrap_or_default();
            html! { td { (address) } td { (mark(Tone::Bad, "away")) } td colspan="5" { span.faint { "not known" } } }
        }
        Ok(passes) => html! {
            td { (cut(&passes.replica)) br; small { (cut(&passes.version)) ", started " (ago(passes.started, moment.now)) } }
            td { @if passes.intake.takes_events == Some(false) { (mark(Tone::Bad, "takes no events")) } @else { (mark(Tone::Good, "answers")) } }
            td { (intake(&passes.intake)) }
            td {
                (ago(passes.passes.first().and_then(|pass| pass.time), moment.now))
                @if passes.kept.oldest.is_some() { br; small { "its passes go back to " (ago(passes.kept.oldest, moment.now)) } }
            }
            td.number { (passes.totals.success) }
            td.number { (passes.totals.skipped) }
            td.number { (passes.totals.failed) }
        },
    }
}

/// Whether a replica takes events, why not, and how many it has.
fn intake(intake: &Intake) -> Markup {
    html! {
        @match intake.takes_events { Some(true) => "yes", Some(false) => "no", None => span.faint { "not known" } }
        @if let Some(what) = &intake.waits_for { br; "waits for " (cut(what)) }
        @if let Some(problem) = &intake.problem { br; small.error { (cut(problem)) } }
        @if let Some(count) = intake.in_flight { br; small { (count) " in flight" @if let Some(count) = intake.waiting { ", " (count) " waiting" } } }
    }
}

impl Adapter {
    /// Renders the page.
    #[must_use]
    pub fn page(&self, moment: Moment) -> Page {
        let row = |replica| html! { tr { th scope="row" { (cut(&self.name)) } (cells(replica, moment)) } };
        let (rows, hidden) = fitting(self.replicas.iter().map(row), OF_REPLICAS);
        let content = html! {
            h1 { (self.name) " " small { "adapter" } }
            (all_away(self.replicas.iter().filter_map(|replica| replica.answer.as_ref().err())))
            (table("Replicas", &HEADINGS, rows))
            (rest(hidden, "replicas are not shown here"))
            (self.failures())
            (self.picture())
            (self.passes(moment))
        };
        Page { title: self.name.clone(), part: Part::Adapters, content, exists: true }
    }

    fn answers(&self) -> impl Iterator<Item = &Passes> {
        self.replicas.iter().filter_map(|replica| replica.answer.as_ref().ok())
    }

    fn failures(&self) -> Markup {
        let mut failures: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, count) in
            self.answers().flat_map(|passes| &passes.totals.failures).filter(|(_, count)| **count > 0)
        {
            *failures.entry(reason).or_default() += count;
        }
        let row =
            |(reason, count): (&&str, &u64)| html! { tr { th scope="row" { (cut(reason)) } td.number { (count) } } };
        let (rows, hidden) = fitting(failures.iter().map(row), OF_FAILURES);
        html! { @if !failures.is_empty() {
            (table("Entries that failed since the replicas started", &["Reason", "Times"], rows))
            (rest(hidden, "reasons are not shown here"))
        } }
    }

    fn picture(&self) -> Markup {
        let task = match &self.task {
            Ok(task) => task,
            Err(problem) => return away(problem),
        };
        let row = |resource: &TaskResource| {
            html! { tr {
                th scope="row" { (cut(&resource.name)) }
                td { (cut(&resource.kind)) }
                td { (prose(&cut(&resource.is_created))) }
                td { (prose(&cut(&resource.is_deleted))) }
            } }
        };
        let (rows, hidden) = fitting(task.resources.iter().map(row), OF_RESOURCES);
        html! {
            h2 { "The task" }
            @if task.resources.is_empty() { p { "The task has no resources." } }
            @else {
                @if task.resources.len() > MOST_DRAWN { p.faint { "The task has more than " (MOST_DRAWN) " resources, too many for a picture." } }
                @else {
                    @let (picture, hidden) = graph::draw(task);
                    div.picture tabindex="0" role="region" aria-label="Picture of the task" { (picture) }
                    @if !task.arrows.is_empty() { p.faint { "An arrow leads from what comes first to what waits for it; a dashed one is about deletion." } }
                    (rest(hidden, "arrows are not drawn"))
                }
                (table("Its resources, in the order in which the adapter takes them", &["Resource", "Kind", "Is created", "Is deleted"], rows))
                (rest(hidden, "resources are not shown here; `/task` has them"))
            }
        }
    }

    fn passes(&self, moment: Moment) -> Markup {
        let mut passes: Vec<&Pass> = self.answers().flat_map(|passes| &passes.passes).collect();
        passes.sort_by_key(|pass| std::cmp::Reverse(pass.time));
        let (rows, hidden) = fitting(passes.into_iter().map(|pass| row(pass, moment)), OF_PASSES);
        html! {
            h2 { "The last passes" }
            (table("Passes, the newest first", &["When", "Resource", "Result", "Decisions", "Took"], rows))
            (rest(hidden, "passes are not shown here; `/passes` has them"))
        }
    }
}

/// The bytes of the replicas of all adapters, and of those of one; of the failures, of the task's resources, and of the passes. A page has
/// less than 100 kB.
const OF_ALL_REPLICAS: usize = 60_000;
const OF_REPLICAS: usize = 10_000;
const OF_FAILURES: usize = 4_000;
const OF_RESOURCES: usize = 12_000;
const OF_PASSES: usize = 30_000;
/// The most resources in the picture of a task.
const MOST_DRAWN: usize = 40;
/// The most decisions of a pass in the list, and the most errors.
const MOST_DECISIONS: usize = 8;
const MOST_ERRORS: usize = 3;

fn row(pass: &Pass, moment: Moment) -> Markup {
    let decisions = pass.decisions.iter().take(MOST_DECISIONS);
    let decisions =
        decisions.map(|decision| format!("{}: {} {}", decision.resource, decision.decision, decision.reason));
    let more = |all: usize, shown: usize| html! { @if all > shown { br; small { (all - shown) " more" } } };
    html! {
        tr {
            td { (ago(pass.time, moment.now)) @if let Some(replica) = &pass.replica { br; small { (cut(replica)) } } }
            td { (cut(&pass.event.kind)) " " (link(&pass.event.resource_id, "")) br; small { "generation " (pass.event.generation) } }
            td {
                (mark(tone_of(pass), &cut(&pass.status)))
                @for error in pass.errors.values().take(MOST_ERRORS) { br; small.error { (cut(error)) } }
                (more(pass.errors.len(), MOST_ERRORS))
            }
            td {
                @for (index, decision) in decisions.enumerate() { @if index > 0 { br; } (cut(&decision)) }
                (more(pass.decisions.len(), MOST_DECISIONS))
            }
            td.number { (format!("{:.0} ms", pass.duration_seconds * 1000.0)) }
        }
    }
}
