//! The page of the sweeper: what it would delete and why not yet, the command that approves it, and what it has deleted. Nothing on the
//! page changes anything.

use std::cmp::Reverse;

use jiff::Timestamp;
use maud::{Markup, html};

use super::parts::{ago, all_away, cut, fitting, link, mark, rest, sentence, table};
use super::{Moment, Page, Part};
use crate::model::{Deed, Orphan, Plan, Sweep};
use crate::source::Replica;
use crate::why::{Tone, age};

/// The bytes of the replicas, of the reasons to hold, of the reasons to keep objects, of the objects that are due and of those that are not,
/// and of the attempts; the page has less than 100 kB.
const OF_REPLICAS: usize = 8_000;
const OF_HOLDS: usize = 5_000;
const OF_KEPT: usize = 2_000;
const OF_DUE: usize = 28_000;
const OF_OTHERS: usize = 10_000;
const OF_HISTORY: usize = 22_000;
/// How long a pass counts as the present state, in intervals, and if the interval is not known.
const RECENT: f64 = 2.0;
const RECENT_ANYHOW: f64 = 3600.0;
/// The most bytes of a command, which is of no use if it is cut.
const LONGEST_COMMAND: usize = 200;

/// Renders the page; `replicas` is none if no sweeper is configured.
#[must_use]
pub fn page(replicas: Option<&[Replica<Plan>]>, moment: Moment) -> Page {
    let content = html! {
        h1 { "Sweeper" }
        p { "The sweeper deletes the objects that a force-delete left behind: those whose cluster or node pool the API no longer has." }
        @match replicas {
            None => p { "No sweeper is configured: write its URL under " code { "sweeper" } " in this console's configuration, and set " code { "plan.token_file" } " in its own." },
            Some(replicas) => {
                (all_away(replicas.iter().filter_map(|replica| replica.answer.as_ref().err())))
                (overview(replicas, moment))
                // Two may say that they lead, while one takes over from the other.
                @for plan in leaders(replicas) { (details(plan, leaders(replicas).count(), moment)) }
                @if answers(replicas).next().is_some() { (history(replicas, moment)) }
            }
        }
    };
    Page { title: "Sweeper".to_owned(), part: Part::Sweeper, content, exists: true }
}

fn answers(replicas: &[Replica<Plan>]) -> impl Iterator<Item = &Plan> {
    replicas.iter().filter_map(|replica| replica.answer.as_ref().ok())
}

fn leaders(replicas: &[Replica<Plan>]) -> impl Iterator<Item = &Plan> {
    answers(replicas).filter(|plan| plan.leads)
}

/// What a leader does, as far as its last pass shows.
fn state(plan: &Plan, moment: Moment) -> Markup {
    let has_just_started = is_recent(plan.history_since, plan, moment);
    let (tone, word) = match &plan.pass {
        None if has_just_started => (Tone::Busy, "leads; its first pass has not ended"),
        Some(pass) if pass.result == "failed" => (Tone::Bad, "leads, but its last pass failed"),
        Some(pass) if is_recent(pass.time, plan, moment) => (Tone::Good, "sweeps"),
        None | Some(_) => (Tone::Bad, "leads, but its last pass is long ago or not known"),
    };
    mark(tone, word)
}

/// Whether a time is less than two intervals ago.
fn is_recent(time: Option<Timestamp>, plan: &Plan, moment: Moment) -> bool {
    let recent = if plan.interval_seconds > 0.0 { RECENT * plan.interval_seconds } else { RECENT_ANYHOW };
    time.is_some_and(|time| moment.now.duration_since(time).as_secs_f64() < recent)
}

fn overview(replicas: &[Replica<Plan>], moment: Moment) -> Markup {
    let has_leader = leaders(replicas).next().is_some();
    let row = |replica: &Replica<Plan>| {
        html! {
            tr {
                @match &replica.answer {
                    Err(_) => {
                        th scope="row" { (replica.address.map(|address| address.to_string()).unwrap_or_default()) }
                        td { (mark(Tone::Bad, "away")) }
                        td { span.faint { "not known" } }
                        td {}
                    }
                    Ok(plan) => {
                        th scope="row" { (cut(&plan.replica)) br; small { (cut(&plan.version)) } }
                        td {
                            @if plan.leads { (state(plan, moment)) } @else { "stands by" }
                            @if let Some(holder) = &plan.holder { br; small { (cut(holder)) " leads" } }
                            @if let Some(trouble) = &plan.trouble { br; small.error { (sentence(&cut(trouble))) } }
                        }
                        td { @if plan.dry_run { "only reports" } @else { "deletes" } }
                        td { (ago(plan.pass.as_ref().and_then(|pass| pass.time), moment.now)) }
                    }
                }
            }
        }
    };
    let (rows, hidden) = fitting(replicas.iter().map(row), OF_REPLICAS);
    html! {
        (table("Replicas", &["Replica", "State", "Objects it finds", "Last pass"], rows))
        (rest(hidden, "replicas are not shown here"))
        @if !has_leader { p { (mark(Tone::Bad, "No replica that answers is the leader: nothing is swept, or the leader is away")) } }
    }
}

fn details(plan: &Plan, leaders: usize, moment: Moment) -> Markup {
    let seconds = |seconds: f64| age(jiff::SignedDuration::try_from_secs_f64(seconds).unwrap_or_default());
    html! {
        @match &plan.pass {
            None => p { "Its first pass has not ended yet." },
            Some(pass) => {
                h2 { "The plan" @if !pass.plan.is_empty() { " " small { code { (cut(&pass.plan)) } } } }
                p {
                    (pass.inventory) " objects name " (pass.owners) " API resources. "
                    "An API resource has to be gone for " (seconds(plan.grace_seconds)) ", in two passes at least; one begins "
                    (seconds(plan.interval_seconds)) " after the one before. "
                    @if plan.dry_run { strong { "It only reports: " code { "dry_run" } " is on. " } }
                    "The last pass was " (ago(pass.time, moment.now)) @if !pass.result.is_empty() { "; its result is " strong { (cut(&pass.result.replace('_', " "))) } } "."
                }
                (holds(pass, leaders))
                (kept(pass, leaders))
                (objects(pass, plan, leaders, moment))
            }
        }
    }
}

fn holds(pass: &Sweep, leaders: usize) -> Markup {
    let (reasons, hidden) =
        fitting(pass.holds.iter().map(|hold| html! { li { (sentence(&cut(hold))) } }), OF_HOLDS / leaders);
    html! {
        @if !pass.holds.is_empty() {
            p {
                @if pass.released { (mark(Tone::Busy, "A person approved the plan despite:")) }
                @else { (mark(Tone::Bad, "The pass was held, and deleted nothing")) }
            }
            ul { (reasons) }
            (rest(hidden, "reasons are not shown here"))
        }
    }
}

/// The objects that are no orphans, as far as the pass knows.
fn kept(pass: &Sweep, leaders: usize) -> Markup {
    let item = |(reason, count): (&String, &u64)| html! { li { (count) ": " (cut(&reason.replace('_', " "))) } };
    let (items, hidden) = fitting(pass.kept.iter().map(item), OF_KEPT / leaders);
    html! {
        @if !pass.kept.is_empty() {
            p { "Objects that it keeps, by the reason:" }
            ul { (items) }
            (rest(hidden, "reasons are not shown here"))
        }
    }
}

/// Whether a pass tells that no other object is orphaned: it is recent, nothing spoke against it, and the API spoke about each resource.
fn is_certain(pass: &Sweep, plan: &Plan, moment: Moment) -> bool {
    let is_unknown = pass.kept.get("owner_unknown").is_some_and(|count| *count > 0);
    pass.holds.is_empty() && !is_unknown && is_recent(pass.time, plan, moment)
}

fn objects(pass: &Sweep, plan: &Plan, leaders: usize, moment: Moment) -> Markup {
    if pass.objects.is_empty() && pass.objects_total.unwrap_or_default() == 0 {
        return match is_certain(pass, plan, moment) {
            true => html! { p { (mark(Tone::Good, "No object is orphaned")) } },
            false => {
                html! { p { (mark(Tone::Busy, "It is not known whether an object is orphaned")) ": the pass found none, and it is old, was held, or had no answer of the API about a resource." } }
            }
        };
    }
    let row = |object: &Orphan| {
        html! {
            tr {
                th scope="row" { (cut(&object.kind)) " " (cut(&place(&object.namespace, &object.name))) }
                td { (cut(&object.adapter)) }
                td { (link(&object.resource_id, "")) }
                td { (cut(&object.outcome.as_ref().unwrap_or(&object.verdict).replace('_', " "))) }
                td { (ago(object.first_strike, moment.now)) }
            }
        }
    };
    let of = |is_due: bool, bytes: usize| {
        let objects: Vec<&Orphan> =
            pass.objects.iter().filter(|object| (object.verdict == "delete") == is_due).collect();
        let (rows, hidden) = fitting(objects.iter().copied().map(row), bytes / leaders);
        (rows, objects.len() - hidden)
    };
    let ((due, due_shown), (others, others_shown)) = (of(true, OF_DUE), of(false, OF_OTHERS));
    let total = pass.objects_total.unwrap_or_default().max(pass.objects.len() as u64);
    let hidden = total - (due_shown + others_shown) as u64;
    let headings = ["Object", "Adapter", "API resource", "Verdict or outcome", "Found gone"];
    html! {
        p { "Objects whose API resource is gone: " (total) "." }
        @if hidden > 0 { p { (mark(Tone::Bad, &format!("{hidden} objects of this plan are not shown here"))) ": read " code { "sweeper plan" } @if plan.approve.is_some() { " before you approve" } "." } }
        @if let Some(command) = plan.approve.as_ref().filter(|command| command.len() <= LONGEST_COMMAND) {
            p { "If every object of the plan really is to go, this command approves this plan, and no other:" }
            pre tabindex="0" { code { (command) } }
        }
        @if due_shown > 0 { (table(&format!("Objects that are due, which are the plan: {due_shown}"), &headings, due)) }
        @if others_shown > 0 { (table(&format!("Objects that are not due, as their verdict says: {others_shown}"), &headings, others)) }
    }
}

/// What all replicas did: the one that leads may have taken over from another one.
fn history(replicas: &[Replica<Plan>], moment: Moment) -> Markup {
    let mut deeds: Vec<&Deed> = answers(replicas).flat_map(|plan| &plan.history).collect();
    deeds.sort_by_key(|deed| Reverse(deed.time));
    // A replica tells nothing of the time before it started.
    let since = answers(replicas).filter_map(|plan| plan.history_since).max();
    let row = |deed: &Deed| {
        html! {
            tr {
                td { (ago(deed.time, moment.now)) }
                th scope="row" { (cut(&deed.kind)) " " (cut(&place(&deed.namespace, &deed.name))) }
                td { (cut(&deed.adapter)) }
                td { code { (cut(&deed.resource_id)) } }
                td { (cut(&deed.result.replace('_', " "))) @if !deed.message.is_empty() { br; small { (sentence(&cut(&deed.message))) } } }
            }
        }
    };
    let is_empty = deeds.is_empty();
    let (rows, hidden) = fitting(deeds.into_iter().map(row), OF_HISTORY);
    html! {
        h2 { "What it did" }
        @if is_empty { p { "Nothing since " (ago(since, moment.now)) ", as far as the replicas know that answer." } }
        @else {
            (table("Its attempts to delete an object, the newest first; the audit log has all, with manifests", &["When", "Object", "Adapter", "API resource", "Result"], rows))
            (rest(hidden, "attempts are not shown here"))
        }
    }
}

fn place(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
