//! Says what keeps a resource from being reconciled, whose part it is, and what helps. Without I/O.
//!
//! In: [`Facts`]: the resource, the reports about it, and the last pass of each adapter about it. Out: a [`Verdict`]. Cannot fail: where
//! a fact is missing, the verdict says what is not known.
//!
//! A resource waits on an adapter until the adapter's report is about the resource's generation and says `Available=True`, or, while the
//! resource is being deleted, `Finalized=True`. The adapters that count are those for which the API keeps a condition of their own; the
//! API does not say which other adapters it requires, but the exporter does of resources that are stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Condition, Effect, List, Pass, Report, Resource, Stuck};

mod failure;

/// After how long without a pass an adapter is called silent: the Sentinel sends events about an unreconciled resource every ten seconds
/// or so.
const SILENCE: SignedDuration = SignedDuration::from_mins(2);

/// What is known about a resource.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The resource.
    pub resource: &'a Resource,
    /// The last report of each adapter; none if the API does not tell.
    pub reports: Option<&'a [Report]>,
    /// What is known of the passes of each configured adapter.
    pub passes: &'a [(String, Known)],
    /// What the exporter says, if the resource is stuck.
    pub stuck: Option<&'a Stuck>,
    /// The resources that are part of it; none if the API does not tell.
    pub children: Option<&'a List<Resource>>,
    /// The current time.
    pub now: Timestamp,
}

/// What is known of the passes of an adapter about a resource.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// No replica of the adapter answered.
    Nothing,
    /// A replica at least answered.
    Passes {
        /// The newest pass about the resource; none if none is kept.
        last: Option<Box<Pass>>,
        /// Whether the pass about the resource before that one failed.
        failed_before: bool,
        /// Since when all passes are known; none if a replica did not answer, or does not say.
        since: Option<Timestamp>,
    },
}

impl Known {
    fn last(&self) -> Option<&Pass> {
        match self {
            Self::Passes { last, .. } => last.as_deref(),
            Self::Nothing => None,
        }
    }

    /// The last pass, if it failed, and whether the one before failed, too.
    fn failed(&self) -> Option<(&Pass, bool)> {
        let Self::Passes { last: Some(pass), failed_before, .. } = self else { return None };
        (pass.status == "failed").then_some((&**pass, *failed_before))
    }

    /// How long the adapter has certainly handled no event about the resource; none if it may have.
    fn silence(&self, now: Timestamp) -> Option<SignedDuration> {
        let Self::Passes { last, since: Some(since), .. } = self else { return None };
        let last = last.as_ref().and_then(|pass| pass.time).unwrap_or(*since);
        Some(now.duration_since(last.max(*since))).filter(|silence| *silence >= SILENCE)
    }
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
    /// The same in a word or two.
    pub word: &'static str,
    /// The state in one sentence.
    pub headline: String,
    /// What the resource waits on.
    pub waits: Vec<Wait>,
}

/// What a resource waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// An adapter, by its name.
    Adapter(String),
    /// The resources that are part of it.
    Children {
        /// The kind and the name of one of them.
        first: String,
        /// How many others there are.
        others: u64,
    },
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adapter(name) => write!(f, "adapter {name}"),
            Self::Children { first, others: 0 } => f.write_str(first),
            Self::Children { first, others } => write!(f, "{first} and {others} more"),
        }
    }
}

/// Something that a resource waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What it waits on.
    pub on: On,
    /// How things stand with it.
    pub tone: Tone,
    /// What is the matter, as a sentence.
    pub what: String,
    /// Whose part it is, as a sentence; empty if nobody has to do anything.
    pub whose: String,
    /// The words of the adapter, or of the server that refused it.
    pub said: Vec<String>,
    /// What helps, as sentences.
    pub helps: Vec<String>,
}

/// Judges a resource.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Verdict {
    let resource = facts.resource;
    let what = format!("{} {}", resource.kind, resource.name);
    let condition = resource.condition("Reconciled");
    let since =
        condition.and_then(|condition| condition.last_transition_time).map(|since| facts.now.duration_since(since));
    let lasts = since.map(|since| format!(" for {}", age(since))).unwrap_or_default();
    let not_reconciled =
        if lasts.is_empty() { "is not reconciled".to_owned() } else { format!("has not been reconciled{lasts}") };
    let mut waits = waits(facts);
    let verdict = |tone, headline: String, waits| Verdict { tone, word: word(tone), headline, waits };
    if resource.deleted_time.is_some() {
        waits.extend(children(facts));
        let asked = resource.deleted_time.map(|time| age(facts.now.duration_since(time))).unwrap_or_default();
        let left = match (waits.as_slice(), facts.reports, facts.children) {
            ([], None, _) | ([], _, None) => {
                "what is left of it is not known, because the API does not tell".to_owned()
            }
            ([], Some([]), _) => "no adapter has reported about it".to_owned(),
            ([], Some(_), Some(_)) => {
                "every report so far says that nothing is left; the API removes it once each adapter that has to report has said so".to_owned()
            }
            (waits, ..) => format!("it waits on {}", names(waits)),
        };
        let headline = format!("The deletion of {what} was asked for {asked} ago; {left}");
        return verdict(worst(facts, &waits), headline, waits);
    }
    match condition {
        None => {
            let headline = format!(
                "The API keeps no condition Reconciled of {what}: no adapter has to report about its kind, or none was told of it yet"
            );
            Verdict { word: "Not judged", ..verdict(Tone::Busy, headline, Vec::new()) }
        }
        Some(condition) if condition.status == "True" => {
            let generation = condition.observed_generation.unwrap_or(resource.generation);
            let headline = format!("{what} is reconciled at generation {generation}{lasts}");
            if waits.is_empty() {
                return verdict(Tone::Good, headline, waits);
            }
            let headline = format!("{headline}, but the last pass of {} failed", names(&waits));
            Verdict { word: "Well so far", ..verdict(Tone::Busy, headline, waits) }
        }
        Some(condition) if waits.is_empty() => {
            let headline = format!("{what} {not_reconciled}: {}", said(condition).join(": "));
            verdict(worst(facts, &waits), headline, waits)
        }
        Some(_) => {
            let headline = format!("{what} {not_reconciled}: it waits on {}", names(&waits));
            verdict(worst(facts, &waits), headline, waits)
        }
    }
}

fn word(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "Well",
        Tone::Busy => "In progress",
        Tone::Bad => "Needs somebody",
    }
}

/// Somebody has to do something about what is stuck, or if a wait says so.
fn worst(facts: &Facts<'_>, waits: &[Wait]) -> Tone {
    let is_bad = facts.stuck.is_some() || waits.iter().any(|wait| wait.tone == Tone::Bad);
    if is_bad { Tone::Bad } else { Tone::Busy }
}

fn names(waits: &[Wait]) -> String {
    waits.iter().map(|wait| wait.on.to_string()).collect::<Vec<_>>().join(" and ")
}

fn said(condition: &Condition) -> Vec<String> {
    [&condition.reason, &condition.message].into_iter().filter(|text| !text.is_empty()).cloned().collect()
}

/// The adapters that the resource waits on.
fn waits(facts: &Facts<'_>) -> Vec<Wait> {
    let resource = facts.resource;
    if resource.is_reconciled() == Some(true) && resource.deleted_time.is_none() {
        // A failure from before that was made good by a pass that is no longer kept.
        let since = resource.condition("Reconciled").and_then(|condition| condition.last_transition_time);
        let failing = facts.passes.iter().filter_map(|(adapter, known)| Some((adapter, known.failed()?)));
        let failing = failing.filter(|(_, (pass, _))| pass.time >= since);
        return failing.map(|(adapter, (pass, again))| failed(facts, adapter, pass, again)).collect();
    }
    let reports = facts.reports.unwrap_or_default();
    // Where the API names no adapter, each that has reported counts.
    let names_any = resource.status.conditions.iter().any(|condition| condition.condition_type.ends_with(SUCCESSFUL));
    let is_required = |adapter: &str| !names_any || resource.condition(&condition_of(adapter)).is_some();
    let reporting = reports.iter().map(|report| report.adapter.as_str()).filter(|adapter| is_required(adapter));
    let named = facts.stuck.into_iter().flat_map(|stuck| &stuck.waits_on).map(|on| on.adapter.as_str());
    // The API tells nothing of a required adapter before its first report; one that has handled an event will report.
    let is_new = |adapter: &str| !reports.iter().any(|report| report.adapter == adapter);
    let handling = facts.passes.iter().filter(|(adapter, known)| known.last().is_some() && is_new(adapter));
    let adapters: BTreeSet<&str> =
        reporting.chain(named).chain(handling.map(|(adapter, _)| adapter.as_str())).collect();
    let wait = |adapter: &str| {
        let report = reports.iter().find(|report| report.adapter == adapter);
        if report.is_some_and(|report| is_done(resource, report)) {
            return None;
        }
        let known = facts.passes.iter().find(|(name, _)| name == adapter);
        Some(wait_on(facts, adapter, report, known.map(|(_, known)| known)))
    };
    adapters.into_iter().filter_map(wait).collect()
}

/// The end of the types of the API's own conditions about adapters.
const SUCCESSFUL: &str = "Successful";

/// The type of the API's own condition about an adapter: `cl-namespace` has `ClNamespaceSuccessful`.
fn condition_of(adapter: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        characters.next().map(char::to_uppercase).into_iter().flatten().chain(characters).collect::<String>()
    };
    adapter.split('-').map(part).collect::<String>() + SUCCESSFUL
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
fn wait_on(facts: &Facts<'_>, adapter: &str, report: Option<&Report>, known: Option<&Known>) -> Wait {
    let mut wait = doing(facts, adapter, report, known);
    // Events about a change come within seconds of it.
    let is_new = facts.resource.updated_time.is_some_and(|changed| facts.now.duration_since(changed) < SILENCE);
    let silence = known.and_then(|known| known.silence(facts.now)).filter(|_| !is_new);
    if let Some(silence) = silence {
        wait.tone = Tone::Bad;
        wait.what.push_str(&format!(" For {} at least it has handled no event about this resource.", age(silence)));
        wait.whose = SILENT.to_owned();
        wait.helps = vec![LOOK.to_owned()];
    }
    if wait.tone == Tone::Busy && facts.stuck.is_some() {
        wait.tone = Tone::Bad;
    }
    if wait.tone == Tone::Bad && wait.whose.is_empty() {
        wait.whose = "Whoever runs the adapter: its log says more.".to_owned();
    }
    wait
}

/// What an adapter that is not done does. `known` is none if the adapter is not configured.
fn doing(facts: &Facts<'_>, adapter: &str, report: Option<&Report>, known: Option<&Known>) -> Wait {
    if let Some((pass, again)) = known.and_then(Known::failed) {
        return failed(facts, adapter, pass, again);
    }
    let generation = facts.resource.generation;
    let last = known.and_then(Known::last);
    let wait = |tone, what: String| Wait {
        on: On::Adapter(adapter.to_owned()),
        tone,
        what,
        whose: String::new(),
        said: Vec::new(),
        helps: last.map(helps).unwrap_or_default(),
    };
    let unmet = last.and_then(|pass| pass.preconditions.iter().find(|precondition| !precondition.matched));
    if let Some(precondition) = unmet {
        let what = format!("Its precondition `{}` is not met yet, so it does nothing.", precondition.name);
        let mut wait = wait(Tone::Busy, what);
        if facts.stuck.is_some() {
            wait.whose = "Whoever wrote the task, or runs what the precondition reads.".to_owned();
        }
        wait.said = last.and_then(|pass| pass.not_met.clone()).into_iter().collect();
        wait.helps = vec![format!("It goes on by itself once `{}` holds.", precondition.name)];
        return wait;
    }
    if let Some(report) = report.filter(|report| report.observed_generation == generation) {
        return unfinished(facts, report, last, wait);
    }
    let history = match (report, facts.reports) {
        (Some(report), _) => {
            format!("Its last report is about generation {}, not {generation}", report.observed_generation)
        }
        (None, Some(_)) => "It has never reported".to_owned(),
        (None, None) => "The API does not tell what it reported".to_owned(),
    };
    match known {
        Some(Known::Passes { last: Some(pass), .. }) => {
            let ago = pass.time.map(|time| format!(" {} ago", age(facts.now.duration_since(time)))).unwrap_or_default();
            wait(Tone::Busy, format!("{history}; it handled an event{ago}."))
        }
        Some(Known::Passes { last: None, since, .. }) => {
            let back = since.map(|since| format!(", which go back {},", age(facts.now.duration_since(since))));
            let none = format!("none of the passes that it keeps{} is about this resource", back.unwrap_or_default());
            wait(Tone::Busy, format!("{history}, and {none}."))
        }
        Some(Known::Nothing) => {
            let mut wait = wait(Tone::Busy, format!("{history}. It does not answer this console."));
            wait.helps = vec!["What it does is not known while it is away; see its page and its log.".to_owned()];
            wait
        }
        None => {
            let mut wait = wait(Tone::Busy, format!("{history}."));
            wait.helps = vec![format!(
                "What it does is not known here: add `{adapter}` to `adapters` of this console, or read the adapter's log."
            )];
            wait
        }
    }
}

/// A wait on an adapter whose last pass failed. One failure may pass by itself, such as a conflict or a server that restarts; a
/// second one in a row needs somebody.
fn failed(facts: &Facts<'_>, adapter: &str, pass: &Pass, again: bool) -> Wait {
    let failure = failure::of(pass);
    let is_bad = again || facts.stuck.is_some();
    let last = if again { "Its last passes" } else { "Its last pass" };
    let mut helps = helps(pass);
    if is_bad {
        helps.insert(0, failure.help.to_owned());
    }
    helps.push(
        "The adapter tries again with the next event, within seconds; nothing has to be started again.".to_owned(),
    );
    Wait {
        on: On::Adapter(adapter.to_owned()),
        tone: if is_bad { Tone::Bad } else { Tone::Busy },
        what: format!("{last} failed{}.", failure.phase),
        whose: if is_bad { failure.whose.to_owned() } else { String::new() },
        said: failure::PHASES.iter().filter_map(|phase| pass.errors.get(*phase)).cloned().collect(),
        helps,
    }
}

/// A wait on an adapter whose report is about the current generation, and not its last word.
fn unfinished(facts: &Facts<'_>, report: &Report, last: Option<&Pass>, wait: impl Fn(Tone, String) -> Wait) -> Wait {
    let is_deleting = facts.resource.deleted_time.is_some();
    let is_bad = facts.stuck.is_some();
    let tone = if is_bad { Tone::Bad } else { Tone::Busy };
    let name = if is_deleting { "Finalized" } else { "Available" };
    let final_word = report.condition(name);
    let since = final_word.and_then(|condition| condition.last_transition_time);
    let lasts = since.map(|since| format!(" for {}", age(facts.now.duration_since(since)))).unwrap_or_default();
    let reports = match final_word {
        None => format!("reports no condition {name}"),
        Some(condition) if lasts.is_empty() => format!("reports {name}={}", condition.status),
        Some(condition) => format!("has reported {name}={}{lasts}", condition.status),
    };
    let unapplied = report.condition("Applied").filter(|condition| condition.status != "True");
    let generation = report.observed_generation;
    let objects = last.map(objects).unwrap_or_default();
    let (what, whose) = match unapplied {
        _ if is_deleting => {
            let whose =
                "Whoever runs what keeps the adapter's objects, such as a controller that has to remove its finalizer.";
            (format!("It still deletes: it {reports}."), whose.to_owned())
        }
        Some(applied) => {
            let what =
                format!("It has not applied generation {generation} yet: it reports Applied={}.", applied.status);
            (what, "Whoever wrote the task, or runs what its gates wait for.".to_owned())
        }
        None => {
            let object = objects.first().map(|effect| format!("{} {}", effect.kind, effect.resource_name));
            let object = object.unwrap_or_else(|| "the adapter's objects".to_owned());
            let whose = format!(
                "Whoever owns {object}, and what it runs. The adapter has done its part, and reports what it sees."
            );
            (format!("It has applied generation {generation}, and {reports}."), whose)
        }
    };
    let mut found = wait(tone, what);
    if is_bad {
        found.whose = whose;
    }
    found.said = unapplied.filter(|_| !is_deleting).or(final_word).map(said).unwrap_or_default();
    if is_bad && !is_deleting && unapplied.is_none() {
        // What the adapter would have to decide otherwise is not what is wrong.
        found.helps = match objects.split_first() {
            None => vec!["Find out why: look at the adapter's objects.".to_owned()],
            Some((first, others)) => {
                let others: Vec<String> = others.iter().take(MOST_OBJECTS).map(|effect| describe(effect)).collect();
                let also = format!("The adapter's other objects, if that one is well: {}.", others.join(", "));
                let logs = logs(first).map(|logs| format!(", and what it wrote: {logs}")).unwrap_or_default();
                let first = format!("Find out why: {}{logs}.", describe(first));
                [first].into_iter().chain((!others.is_empty()).then_some(also)).collect()
            }
        };
        found.helps.push(format!(
            "Once the cause is cured, change the resource's `spec` at the API, by `PATCH {}`: for a new generation the adapter writes its objects again.",
            facts.resource.href
        ));
    }
    found
}

/// The objects that a pass left on the cluster, in the order of the task; without those that an entry may not have written yet, which
/// are all those of an adapter that does not say so.
fn objects(pass: &Pass) -> Vec<&Effect> {
    let is_early = |name: &str| {
        let decision = pass.decisions.iter().find(|decision| decision.resource == name);
        decision.is_some_and(|decision| decision.unwritten != Some(false))
    };
    let stays = |effect: &&Effect| {
        let is_gone = ["deleted", "deleting"].contains(&effect.result.as_str());
        !effect.resource_name.is_empty() && !is_gone && !is_early(&effect.name)
    };
    pass.resources.iter().filter(stays).collect()
}

/// The command that shows an object.
fn describe(effect: &Effect) -> String {
    format!("`kubectl{} describe {} {}`", namespace(effect), effect.kind.to_lowercase(), effect.resource_name)
}

/// The command that shows what the program of an object wrote; none for an object that runs none.
fn logs(effect: &Effect) -> Option<String> {
    let runs = ["DaemonSet", "Deployment", "Job", "Pod", "StatefulSet"].contains(&effect.kind.as_str());
    runs.then(|| format!("`kubectl{} logs {}/{}`", namespace(effect), effect.kind.to_lowercase(), effect.resource_name))
}

fn namespace(effect: &Effect) -> String {
    if effect.namespace.is_empty() { String::new() } else { format!(" -n {}", effect.namespace) }
}

/// The most objects that a sentence names.
const MOST_OBJECTS: usize = 3;

/// What would change the decisions of a pass; entries for which the same would are named together.
fn helps(pass: &Pass) -> Vec<String> {
    let mut entries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // Where an older adapter does not say whether anybody waits for another decision, to say nothing misleads nobody.
    for decision in pass.decisions.iter().filter(|decision| decision.settled == Some(false)) {
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
    let List { items, total, .. } = facts.children?;
    let Resource { kind, name, .. } = items.first()?;
    Some(Wait {
        on: On::Children { first: format!("{kind} {name}"), others: total.saturating_sub(1) },
        tone: Tone::Busy,
        what: "It goes after what is part of it.".to_owned(),
        whose: String::new(),
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
