//! The page of the sweeper: what it would delete and why not yet, the command that approves it, and what it has deleted. Nothing on the
//! page changes anything.

use maud::{Markup, html};

use super::parts::{ago, away, cut, fitting, link, mark, sentence, table};
use super::{Moment, Page, Part};
use crate::model::{Deed, Orphan, Plan, Sweep};
use crate::source::Replica;
use crate::why::{Tone, age};

/// The bytes of the reasons of a hold, of the orphans, and of the history; the page has less than 100 kB.
const OF_HOLDS: usize = 5_000;
const OF_ORPHANS: usize = 40_000;
const OF_HISTORY: usize = 30_000;

/// Renders the page; `replicas` is none if no sweeper is configured.
#[must_use]
pub fn page(replicas: Option<&[Replica<Plan>]>, moment: Moment) -> Page {
    let content = html! {
        h1 { "Sweeper" }
        p { "The sweeper deletes the objects that a force-delete left behind: those whose cluster or node pool the API no longer has." }
        @match replicas {
            None => p { "No sweeper is configured: write its URL under " code { "sweeper" } " in this console's configuration, and set " code { "plan.token_file" } " in its own." },
            Some(replicas) => {
                @for replica in replicas { @if let Err(problem) = &replica.answer { (away(problem)) } }
                (overview(replicas, moment))
                @for plan in leaders(replicas) { (details(plan, moment)) }
            }
        }
    };
    Page { title: "Sweeper".to_owned(), part: Part::Sweeper, content, exists: true }
}

fn leaders(replicas: &[Replica<Plan>]) -> impl Iterator<Item = &Plan> {
    replicas.iter().filter_map(|replica| replica.answer.as_ref().ok()).filter(|plan| plan.leads)
}

fn overview(replicas: &[Replica<Plan>], moment: Moment) -> Markup {
    let has_leader = leaders(replicas).next().is_some();
    let rows = html! {
        @for replica in replicas {
            tr {
                @match &replica.answer {
                    Err(_) => {
                        th scope="row" { (replica.address.map(|address| address.to_string()).unwrap_or_default()) }
                        td { (mark(Tone::Bad, "away")) }
                        td { span.faint { "not known" } }
                        td {}
                    }
                    Ok(plan) => {
                        th scope="row" { (plan.replica) br; small { (plan.version) } }
                        td { @if plan.leads { (mark(Tone::Good, "sweeps")) } @else { "stands by" @if let Some(holder) = &plan.holder { br; small { (holder) " leads" } } } }
                        td { @if plan.dry_run { "only reports" } @else { "deletes" } }
                        td { (ago(plan.pass.as_ref().and_then(|pass| pass.time), moment.now)) }
                    }
                }
            }
        }
    };
    html! {
        (table("Replicas", &["Replica", "State", "Objects it finds", "Last pass"], rows))
        @if !has_leader { p { (mark(Tone::Bad, "No replica that answers is the leader: nothing is swept, or the leader is away")) } }
    }
}

fn details(plan: &Plan, moment: Moment) -> Markup {
    let seconds = |seconds: f64| age(jiff::SignedDuration::try_from_secs_f64(seconds).unwrap_or_default());
    html! {
        @match &plan.pass {
            None => p { "Its first pass has not ended yet." },
            Some(pass) => {
                h2 { "The plan" }
                p {
                    (pass.inventory) " objects name " (pass.owners) " API resources. "
                    "An API resource has to be gone for " (seconds(plan.grace_seconds)) ", in two passes at least; one begins "
                    (seconds(plan.interval_seconds)) " after the one before. "
                    @if plan.dry_run { strong { "It only reports: " code { "dry_run" } " is on." } }
                }
                (holds(pass, plan))
                (objects(pass, moment))
            }
        }
        (history(plan, moment))
    }
}

fn holds(pass: &Sweep, plan: &Plan) -> Markup {
    html! {
        @if !pass.holds.is_empty() {
            p { (mark(Tone::Bad, "The pass was held, and deleted nothing")) }
            ul { (fitting(pass.holds.iter().map(|hold| html! { li { (sentence(&cut(hold))) } }), OF_HOLDS).0) }
        }
        @if let Some(command) = &plan.approve {
            p { "If every object below really is to go, this command approves this plan, and no other:" }
            pre tabindex="0" { code { (command) } }
        }
    }
}

fn objects(pass: &Sweep, moment: Moment) -> Markup {
    if pass.objects.is_empty() {
        return html! { p { (mark(Tone::Good, "No object is orphaned")) } };
    }
    let total = pass.objects_total.unwrap_or(pass.objects.len() as u64);
    let row = |object: &Orphan| {
        html! {
            tr {
                th scope="row" { (object.kind) " " (place(&object.namespace, &object.name)) }
                td { (object.adapter) }
                td { (link(&object.resource_id, "")) }
                td { (object.verdict.replace('_', " ")) }
                td { (ago(object.first_strike, moment.now)) }
            }
        }
    };
    let (rows, hidden) = fitting(pass.objects.iter().map(row), OF_ORPHANS);
    let shown = pass.objects.len() - hidden;
    let caption = format!("{shown} of {total} objects whose API resource is gone; `sweeper plan` prints all");
    table(&caption, &["Object", "Adapter", "API resource", "Verdict", "Found gone"], rows)
}

fn history(plan: &Plan, moment: Moment) -> Markup {
    let row = |deed: &Deed| {
        html! {
            tr {
                td { (ago(deed.time, moment.now)) }
                th scope="row" { (deed.kind) " " (place(&deed.namespace, &deed.name)) }
                td { (deed.adapter) }
                td { code { (deed.resource_id) } }
                td { (deed.result.replace('_', " ")) }
            }
        }
    };
    let (rows, _) = fitting(plan.history.iter().map(row), OF_HISTORY);
    html! {
        h2 { "What it did" }
        @if plan.history.is_empty() { p { "Nothing since " (ago(plan.history_since, moment.now)) "." } }
        @else { (table("The newest first; the audit log has all, with manifests", &["When", "Object", "Adapter", "API resource", "Result"], rows)) }
    }
}

fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
