//! The pages of the adapters: whether each replica answers and takes events, what failed, the task as a picture, and the last passes.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts::{ago, away, cut, escaped, fitting, link, mark, table};
use super::{Moment, Page, Part, graph};
use crate::model::{Pass, Passes, Task};
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
    let rows = html! {
        @for (name, replicas) in adapters {
            @for (index, replica) in replicas.iter().enumerate() {
                tr class=[(index == 0).then_some("first")] {
                    @if index == 0 { th scope="rowgroup" rowspan=(replicas.len()) { a href={ "/adapters/" (escaped(name)) } { (name) } } }
                    (cells(replica, moment))
                }
            }
        }
    };
    let content = html! {
        h1 { "Adapters" }
        @for replica in adapters.iter().flat_map(|(_, replicas)| replicas) { @if let Err(problem) = &replica.answer { (away(problem)) } }
        @if adapters.is_empty() {
            p { "No adapter is configured: name them under " code { "adapters" } " in this console's configuration, and set " code { "passes.token_file" } " in theirs." }
        } @else {
            (table("Replicas of the adapters", &HEADINGS, rows))
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
            td { (passes.replica) br; small { (passes.version) ", started " (ago(passes.started, moment.now)) } }
            td { (mark(Tone::Good, "answers")) }
            td { (intake(&passes.intake)) }
            td { (ago(passes.passes.first().and_then(|pass| pass.time), moment.now)) }
            td.number { (passes.totals.success) }
            td.number { (passes.totals.skipped) }
            td.number { (passes.totals.failed) }
        },
    }
}

/// How a replica takes events, in its own words: one line for each member that is text, a number or a truth value.
fn intake(intake: &serde_json::Value) -> Markup {
    use serde_json::Value;
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let members = intake.as_object().into_iter().flatten();
    let lines: Vec<(String, String)> =
        members.filter_map(|(key, value)| Some((key.replace('_', " "), word(value)?))).collect();
    html! { @for (index, (key, value)) in lines.iter().enumerate() { @if index > 0 { br; } (key) ": " (value) } }
}

impl Adapter {
    /// Renders the page.
    #[must_use]
    pub fn page(&self, moment: Moment) -> Page {
        let rows = html! {
            @for (index, replica) in self.replicas.iter().enumerate() {
                tr { @if index == 0 { th scope="rowgroup" rowspan=(self.replicas.len()) { (self.name) } } (cells(replica, moment)) }
            }
        };
        let content = html! {
            h1 { (self.name) " " small { "adapter" } }
            @for replica in &self.replicas { @if let Err(problem) = &replica.answer { (away(problem)) } }
            (table("Replicas", &HEADINGS, rows))
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
        let rows =
            html! { @for (reason, count) in &failures { tr { th scope="row" { (reason) } td.number { (count) } } } };
        html! { @if !failures.is_empty() { (table("Entries that failed since the replicas started", &["Reason", "Times"], rows)) } }
    }

    fn picture(&self) -> Markup {
        let task = match &self.task {
            Ok(task) => task,
            Err(problem) => return away(problem),
        };
        let rows = html! {
            @for resource in &task.resources {
                tr { th scope="row" { (resource.name) } td { (resource.kind) } td { (resource.is_created) } td { (resource.is_deleted) } }
            }
        };
        html! {
            h2 { "The task" }
            @if task.resources.is_empty() { p { "The task has no resources." } }
            @else {
                div.picture { (graph::draw(task)) }
                (table("Its resources, in the order in which the adapter takes them", &["Resource", "Kind", "Is created", "Is deleted"], rows))
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
            @if hidden > 0 { p.faint { (hidden) " older passes are not shown; the adapter's page " code { "/passes" } " has them." } }
        }
    }
}

/// The bytes of the list of passes; the page has less than 100 kB.
const OF_PASSES: usize = 60_000;
/// The most decisions of a pass in the list.
const MOST_DECISIONS: usize = 8;

fn row(pass: &Pass, moment: Moment) -> Markup {
    let tone = match pass.status.as_str() {
        "success" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Busy,
    };
    let decisions: Vec<String> = pass
        .decisions
        .iter()
        .map(|decision| format!("{}: {} {}", decision.resource, decision.decision, decision.reason))
        .collect();
    html! {
        tr {
            td { (ago(pass.time, moment.now)) }
            td { (pass.event.kind) " " (link(&pass.event.resource_id, "")) br; small { "generation " (pass.event.generation) } }
            td { (mark(tone, &pass.status)) @for error in pass.errors.values() { br; small.error { (cut(error)) } } }
            td { @for (index, decision) in decisions.iter().enumerate() { @if index > 0 { br; } (cut(decision)) } @if pass.decisions.len() > MOST_DECISIONS { br; small { (pass.decisions.len() - MOST_DECISIONS) " more" } } }
            td.number { (format!("{:.0} ms", pass.duration_seconds * 1000.0)) }
        }
    }
}
