//! Says what keeps a resource from being reconciled, whose part it is, and what helps. Without I/O.
//!
//! In: [`Facts`]: the resource, the reports about it, and the last pass of each adapter about it. Out: a [`Verdict`]. Cannot fail: where
//! a fact is missing, the verdict says what is not known.
//!
//! A resource waits on an adapter until the adapter's report is about the resource's generation and says `Available=True`, or, while the
//! resource is being deleted, `Finalized=True`. The adapters that count are those for which the API keeps a condition of their own; the
//! API does not say which other adapters it requires, but the exporter does of resources that are stuck.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::model::{Condition, Pass, Report, Resource, Stuck};

/// After how long without a pass an adapter is called silent: the Sentinel sends events about an unreconciled resource every ten seconds
/// or so.
const SILENCE: SignedDuration = SignedDuration::from_mins(2);

/// What is known about a resource.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The resource.
    pub resource: &'a Resource,
    /// The last report of each adapter.
    pub reports: &'a [Report],
    /// The last pass about the resource, of each adapter whose passes are known.
    pub passes: &'a [(String, Option<Pass>)],
    /// What the exporter says, if the resource is stuck.
    pub stuck: Option<&'a Stuck>,
    /// The resources that are part of it.
    pub children: &'a [Resource],
    /// The current time.
    pub now: Timestamp,
}

/// How things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing is left to do.
    Good,
    /// Something is being done.
    Busy,
    /// Somebody has to do something.
    Bad,
}

/// What keeps a resource from being reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How things stand.
    pub tone: Tone,
    /// The state in one sentence.
    pub headline: String,
    /// What the resource waits on.
    pub waits: Vec<Wait>,
}

/// Something that a resource waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What it waits on, such as `adapter dns`.
    pub on: String,
    /// How things stand with it.
    pub tone: Tone,
    /// What is the matter, as a sentence.
    pub what: String,
    /// Whose part it is, as a sentence; empty if nobody has to do anything.
    pub whose: &'static str,
    /// The words of the adapter, or of the server that refused it.
    pub said: Vec<String>,
    /// What helps, as sentences.
    pub helps: Vec<String>,
}

/// Judges a resource.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Verdict {
    let resource = facts.resource;
    let generation = resource.generation;
    let what = format!("{} {}", resource.kind, resource.name);
    let condition = resource.condition("Reconciled");
    let since =
        condition.and_then(|condition| condition.last_transition_time).map(|since| facts.now.duration_since(since));
    let lasts = since.map(|since| format!(" for {}", age(since))).unwrap_or_default();
    let mut waits = waits(facts);
    if resource.deleted_time.is_some() {
        waits.extend(children(facts));
        let asked = resource.deleted_time.map(|time| age(facts.now.duration_since(time))).unwrap_or_default();
        let headline = match waits.as_slice() {
            [] => format!(
                "The deletion of {what} was asked for {asked} ago; every report says that nothing is left, so the API removes it with the next one"
            ),
            waits => format!("The deletion of {what} was asked for {asked} ago; it waits on {}", names(waits)),
        };
        return Verdict { tone: worst(facts, &waits), headline, waits };
    }
    match condition {
        None => {
            let headline = format!("{what} has no condition Reconciled: no adapter has to report about its kind");
            Verdict { tone: Tone::Good, headline, waits: Vec::new() }
        }
        Some(condition) if condition.status == "True" => {
            let headline = format!("{what} is reconciled at generation {generation}{lasts}");
            Verdict { tone: Tone::Good, headline, waits: Vec::new() }
        }
        Some(condition) if waits.is_empty() => {
            let headline = format!("{what} is not reconciled{lasts}: {}", said(condition).join(": "));
            Verdict { tone: worst(facts, &waits), headline, waits }
        }
        Some(_) => {
            let headline = format!("{what} is not reconciled{lasts}: it waits on {}", names(&waits));
            Verdict { tone: worst(facts, &waits), headline, waits }
        }
    }
}

/// Somebody has to do something about what is stuck, or if a wait says so.
fn worst(facts: &Facts<'_>, waits: &[Wait]) -> Tone {
    let is_bad = facts.stuck.is_some() || waits.iter().any(|wait| wait.tone == Tone::Bad);
    if is_bad { Tone::Bad } else { Tone::Busy }
}

fn names(waits: &[Wait]) -> String {
    waits.iter().map(|wait| wait.on.as_str()).collect::<Vec<_>>().join(" and ")
}

fn said(condition: &Condition) -> Vec<String> {
    [&condition.reason, &condition.message].into_iter().filter(|text| !text.is_empty()).cloned().collect()
}

/// The adapters that the resource waits on.
fn waits(facts: &Facts<'_>) -> Vec<Wait> {
    let resource = facts.resource;
    let is_required = |adapter: &str| resource.condition(&condition_of(adapter)).is_some();
    let reporting = facts.reports.iter().map(|report| report.adapter.as_str()).filter(|adapter| is_required(adapter));
    let named = facts.stuck.into_iter().flat_map(|stuck| &stuck.waits_on).map(|on| on.adapter.as_str());
    // The API tells nothing of a required adapter before its first report; one that has handled an event will report.
    let is_new = |adapter: &str| !facts.reports.iter().any(|report| report.adapter == adapter);
    let handling = facts.passes.iter().filter(|(adapter, pass)| pass.is_some() && is_new(adapter));
    let adapters: BTreeSet<&str> =
        reporting.chain(named).chain(handling.map(|(adapter, _)| adapter.as_str())).collect();
    if resource.is_reconciled() == Some(true) && resource.deleted_time.is_none() {
        return Vec::new();
    }
    let wait = |adapter: &str| {
        let report = facts.reports.iter().find(|report| report.adapter == adapter);
        if report.is_some_and(|report| is_done(resource, report)) {
            return None;
        }
        let pass = facts.passes.iter().find(|(name, _)| name == adapter);
        Some(wait_on(facts, adapter, report, pass.map(|(_, pass)| pass.as_ref())))
    };
    adapters.into_iter().filter_map(wait).collect()
}

/// The type of the API's own condition about an adapter: `cl-namespace` has `ClNamespaceSuccessful`.
fn condition_of(adapter: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        characters.next().map(char::to_uppercase).into_iter().flatten().chain(characters).collect::<String>()
    };
    adapter.split('-').map(part).collect::<String>() + "Successful"
}

/// Whether a report is the last word of its adapter about the resource.
fn is_done(resource: &Resource, report: &Report) -> bool {
    let last = if resource.deleted_time.is_some() { "Finalized" } else { "Available" };
    report.observed_generation == resource.generation
        && report.condition(last).is_some_and(|condition| condition.status == "True")
}

/// Who has to look if an adapter hears of no events, and where.
const SILENT: &str = "Whoever runs the Sentinel, the broker or the adapter.";
const LOOK: &str =
    "Look whether the adapter is away or takes no events (page Adapters), and whether the Sentinel runs.";

/// What an adapter that is not done does, and whether it still hears of events.
fn wait_on(facts: &Facts<'_>, adapter: &str, report: Option<&Report>, pass: Option<Option<&Pass>>) -> Wait {
    let mut wait = doing(facts, adapter, report, pass);
    let last = pass.flatten().and_then(|pass| pass.time).map(|time| facts.now.duration_since(time));
    if let Some(silent) = last.filter(|silent| *silent >= SILENCE) {
        wait.tone = Tone::Bad;
        wait.what.push_str(&format!(
            " That was {} ago, and it has handled no event about this resource since.",
            age(silent)
        ));
        wait.whose = SILENT;
        wait.helps = vec![LOOK.to_owned()];
    }
    wait
}

/// What an adapter that is not done does. `pass` is none if its passes are not known, and has none if there is none about the resource.
fn doing(facts: &Facts<'_>, adapter: &str, report: Option<&Report>, pass: Option<Option<&Pass>>) -> Wait {
    let resource = facts.resource;
    let generation = resource.generation;
    let wait = |tone, what: String, whose| Wait {
        on: format!("adapter {adapter}"),
        tone,
        what,
        whose,
        said: Vec::new(),
        helps: pass.flatten().map(helps).unwrap_or_default(),
    };
    let has_failed = pass.flatten().filter(|pass| pass.status == "failed");
    if let Some(pass) = has_failed {
        let (phase, whose, help) = failure(pass);
        let mut wait = wait(Tone::Bad, format!("Its last pass failed{phase}."), whose);
        wait.said = pass.errors.values().cloned().collect();
        wait.helps.insert(0, help.to_owned());
        return wait;
    }
    let unmet = pass.flatten().and_then(|pass| pass.preconditions.iter().find(|precondition| !precondition.matched));
    if let Some(precondition) = unmet {
        let what = format!("Its precondition `{}` is not met yet, so it does nothing.", precondition.name);
        let mut wait = wait(Tone::Busy, what, "");
        wait.helps = vec![format!("It goes on by itself once `{}` holds.", precondition.name)];
        return wait;
    }
    let is_current = report.is_some_and(|report| report.observed_generation == generation);
    if let Some(report) = report.filter(|_| is_current) {
        return unfinished(facts, report, wait);
    }
    let silent = pass.flatten().and_then(|pass| pass.time).map(|time| facts.now.duration_since(time));
    let history = match report {
        Some(report) => format!("Its last report is about generation {}, not {generation}", report.observed_generation),
        None => "It has never reported".to_owned(),
    };
    match (pass, silent) {
        (Some(Some(_)), Some(silent)) if silent < SILENCE => {
            wait(Tone::Busy, format!("{history}; it handled an event {} ago.", age(silent)), "")
        }
        (Some(Some(_)), _) => wait(Tone::Busy, format!("{history}, and it handled an event."), ""),
        (Some(_), _) => {
            let what = format!("{history}, and none of the passes that it keeps is about this resource.");
            let mut wait = wait(Tone::Bad, what, SILENT);
            wait.helps = vec![LOOK.to_owned()];
            wait
        }
        (None, _) => {
            let mut wait = wait(Tone::Busy, format!("{history}."), "");
            wait.helps = vec![format!(
                "What it does is not known here: add `{adapter}` to `adapters` of this console, or read the adapter's log."
            )];
            wait
        }
    }
}

/// The phase in which a pass failed, whose part that is, and what helps.
fn failure(pass: &Pass) -> (String, &'static str, &'static str) {
    const AGAIN: &str = "The adapter tries again with the next event, within seconds; nothing has to be started again.";
    let Some(phase) = pass.errors.keys().next() else { return (String::new(), "Whoever runs the adapter.", AGAIN) };
    let (what, whose) = match phase.as_str() {
        "param_extraction" => ("reading its params", "Whoever wrote the task, or runs the API that it asks."),
        "preconditions" => ("evaluating its preconditions", "Whoever wrote the task, or runs the API that it asks."),
        "resources" => ("writing its objects", "Whoever runs the Kubernetes cluster, or gave the adapter its rights."),
        "post_actions" => ("reporting", "Whoever runs the API, or wrote the task's report."),
        other => (other, "Whoever runs the adapter."),
    };
    (format!(" while {what}"), whose, AGAIN)
}

/// A wait on an adapter whose report is about the current generation, and not its last word.
fn unfinished(facts: &Facts<'_>, report: &Report, wait: impl Fn(Tone, String, &'static str) -> Wait) -> Wait {
    let is_deleting = facts.resource.deleted_time.is_some();
    let last = report.condition(if is_deleting { "Finalized" } else { "Available" });
    let since = last.and_then(|condition| condition.last_transition_time);
    let lasts = since.map(|since| format!(" for {}", age(facts.now.duration_since(since)))).unwrap_or_default();
    let mut found = if is_deleting {
        let what = format!("It still deletes: its report says Finalized=False{lasts}.");
        wait(if facts.stuck.is_some() { Tone::Bad } else { Tone::Busy }, what, "")
    } else {
        let status = last.map_or("no Available", |condition| condition.status.as_str());
        let what =
            format!("It has applied generation {}, and reports Available={status}{lasts}.", report.observed_generation);
        let is_bad = facts.stuck.is_some();
        let whose = if is_bad { "Whoever runs what the objects below start." } else { "" };
        wait(if is_bad { Tone::Bad } else { Tone::Busy }, what, whose)
    };
    found.said = last.map(said).unwrap_or_default();
    if found.tone == Tone::Bad && !is_deleting {
        let cure = "Find out why at the objects below. Then change the resource at the API: for a new generation the adapter writes them again.";
        found.helps.insert(0, cure.to_owned());
    }
    found
}

/// What would change the decisions of a pass; entries for which the same would are named together.
fn helps(pass: &Pass) -> Vec<String> {
    // What is on its way out, or out, is not what a resource waits on.
    let is_over = |reason: &str| {
        matches!(reason, "AlreadyAbsent" | "Deleting" | "DeleteGateHolds" | "Disowned" | "OrphanGateHolds")
    };
    let mut entries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for decision in pass.decisions.iter().filter(|decision| !is_over(&decision.reason)) {
        if let Some(otherwise) = decision.otherwise.as_deref().filter(|text| !text.is_empty()) {
            entries.entry(otherwise).or_default().push(&decision.resource);
        }
    }
    let name = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    entries
        .iter()
        .map(|(otherwise, names)| format!("For another decision about {}, {otherwise}.", name(names)))
        .collect()
}

/// The children that keep a resource from going.
fn children(facts: &Facts<'_>) -> Option<Wait> {
    let names: Vec<String> = facts.children.iter().map(|child| format!("{} {}", child.kind, child.name)).collect();
    let (first, count) = (names.first()?, names.len());
    let rest = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    Some(Wait {
        on: format!("{first}{rest}"),
        tone: Tone::Busy,
        what: format!("It goes after what is part of it: {}.", names.join(", ")),
        whose: "",
        said: Vec::new(),
        helps: vec!["Look at the pages of these resources.".to_owned()],
    })
}

/// Writes a duration with its two largest units: `3d 4h`, `1h 5m`, `12m 30s`.
#[must_use]
pub fn age(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests;
