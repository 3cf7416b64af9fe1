//! Prints what a survey found and what became of it, for people and for programs.
//!
//! In: a [`Survey`]. Out: text, or JSON whose `objects` can be the first strike of a later sweep ([`first_strikes`]).
//! Fails: only to read such a file, with a sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use lifecycle_core::sweep::{Candidate, Hold, Keep, Release, Strikes, Verdict};
use lifecycle_objects::identity::GroupKind;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::act::{Outcome, Outcomes};
use crate::approval::approve_command;
use crate::config::Config;
use crate::metrics::kind_label;
use crate::survey::Survey;

/// Why an object is due.
const GONE: &str = "its API resource is gone";

/// For how long a plan counts as a first look: a strike means the more, the closer the two looks are to each other.
const FIRST_LOOK_COUNTS: SignedDuration = SignedDuration::from_hours(24);

/// Describes a survey that asked the API at `time`.
#[must_use]
pub fn json(survey: &Survey, config: &Config, time: Timestamp) -> Value {
    let mut json = without_objects(survey, config, time);
    json["objects"] = survey.orphans.iter().map(|orphan| object(survey, orphan)).collect();
    json
}

/// One object of [`json()`].
#[must_use]
pub fn object(survey: &Survey, (candidate, verdict): &(Candidate, Verdict)) -> Value {
    let object = &candidate.object;
    let along = survey.takes_along.get(&candidate.uid).into_iter().flatten();
    let along: BTreeMap<_, _> = along.map(|(kind, objects)| (kind_label(kind), objects)).collect();
    let mut json = json!({
        "apiVersion": object.kind.api_version(),
        "kind": object.kind.kind,
        "namespace": object.namespace,
        "name": object.name,
        "uid": candidate.uid,
        "adapter": candidate.adapter,
        "resource_id": candidate.resource_id,
        "verdict": verdict.label(),
        "in_it": along,
    });
    if let Some(stays) = survey.stays.get(&candidate.uid) {
        json["stays"] = json!(stays);
    }
    json
}

/// The [`json()`] of a survey, all but its objects.
#[must_use]
pub fn without_objects(survey: &Survey, config: &Config, time: Timestamp) -> Value {
    let kept: BTreeMap<_, _> = kept(survey).into_iter().map(|(keep, objects)| (keep.label(), objects)).collect();
    json!({
        "time": time,
        "api": config.api.base_url,
        "adapters": config.policy.adapters,
        "plan": survey.plan.hash(),
        "released": survey.release != Release::Held,
        "holds": survey.plan.holds().iter().map(Hold::to_string).collect::<Vec<_>>(),
        "inventory": survey.inventory,
        "owners": survey.owners,
        "kept": kept,
    })
}

/// What a sweep reads of a plan as [`json()`].
#[derive(Deserialize)]
struct FirstLook {
    time: Timestamp,
    api: String,
    adapters: BTreeSet<String>,
    holds: Vec<String>,
    objects: Vec<Planned>,
}

#[derive(Deserialize)]
struct Planned {
    uid: String,
    resource_id: String,
    verdict: String,
}

/// Reads the [`json()`] of a plan as the first strike against each object that it would delete.
///
/// # Errors
///
/// The text is no plan, or one that was held, of another API, for other adapters, too old, or from the future.
pub fn first_strikes(text: &str, config: &Config, now: Timestamp) -> Result<Strikes, String> {
    let look: FirstLook = serde_json::from_str(text)
        .map_err(|error| format!("is no plan: {error}; write one by `sweeper plan --output json`"))?;
    let cure = "use the configuration of the plan, or make another plan";
    let (old, new) = (look.api.trim_end_matches('/'), config.api.base_url.trim_end_matches('/'));
    if old != new {
        return Err(format!("was made with `api.base_url` {old}, and now it is {new}; {cure}"));
    }
    if look.adapters != config.policy.adapters {
        let list = |adapters: &BTreeSet<String>| adapters.iter().cloned().collect::<Vec<_>>().join(", ");
        let (old, new) = (list(&look.adapters), list(&config.policy.adapters));
        return Err(format!("was made for the adapters {old}, and now they are {new}; {cure}"));
    }
    if look.time > now {
        return Err(format!("is from {}, which is in the future; correct this machine's clock", look.time));
    }
    if now.duration_since(look.time) > FIRST_LOOK_COUNTS {
        let hours = FIRST_LOOK_COUNTS.as_hours();
        return Err(format!("is from {}, more than {hours} hours ago; make another one", look.time));
    }
    // The second look would not know why the first one doubted the API.
    if let Some(hold) = look.holds.first() {
        return Err(format!("was held: {hold}; sweep without it, so that the sweep looks twice itself"));
    }
    let mut strikes = Strikes::default();
    // What something claims has no strike in a pass either.
    for object in look.objects.into_iter().filter(|object| object.verdict == Verdict::Delete.label()) {
        strikes.restore(object.uid, object.resource_id, look.time);
    }
    Ok(strikes)
}

/// Prints a survey as text, and what became of the objects that were due; `None` if deletions are only talked about.
#[must_use]
pub fn text(survey: &Survey, outcomes: Option<&Outcomes>) -> String {
    let mut text = format!(
        "{} objects of {} kinds name {} API resources\n",
        survey.inventory,
        survey.kinds.iter().filter(|(_, objects)| *objects > 0).count(),
        survey.owners,
    );
    let mut rows: Vec<_> = survey.orphans.iter().map(|orphan| row(survey, orphan, outcomes)).collect();
    rows.sort();
    if !rows.is_empty() {
        text.push('\n');
        table(&mut text, ["", "OBJECT", "ADAPTER", "API RESOURCE", "WHY"], &rows);
    }
    let kept = kept(survey).into_iter().map(|(keep, objects)| format!("keep {objects}: {keep}\n"));
    let unknown = survey.unknown.iter();
    let unknown = unknown.map(|(reason, count)| format!("{count} answer(s) of the API proved nothing: {reason}\n"));
    let notes: String = kept.chain(unknown).collect();
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes);
    }
    text.push_str(&ending(survey, outcomes));
    text
}

/// How many objects beside the orphans are kept, by reason.
fn kept(survey: &Survey) -> BTreeMap<Keep, u64> {
    let mut kept = BTreeMap::new();
    for ((_, keep), objects) in &survey.kept {
        *kept.entry(*keep).or_default() += objects;
    }
    kept
}

fn row(survey: &Survey, (candidate, verdict): &(Candidate, Verdict), outcomes: Option<&Outcomes>) -> [String; 5] {
    let (action, why) = match (verdict, outcomes) {
        (Verdict::Keep(keep), _) => ("keep".to_owned(), keep.sentence().to_owned()),
        (Verdict::Delete, None) => ("delete".to_owned(), GONE.to_owned()),
        (Verdict::Delete, Some(outcomes)) => match outcomes.get(&candidate.uid) {
            None => ("due".to_owned(), GONE.to_owned()),
            Some(outcome @ Outcome::Deleted) => (became(outcome), GONE.to_owned()),
            Some(outcome) => (became(outcome), outcome.to_string()),
        },
    };
    let along = survey.takes_along.get(&candidate.uid).into_iter().flatten();
    let along: Vec<_> = along.map(|(kind, objects)| format!("{objects} {}", kind_label(kind))).collect();
    let why = if along.is_empty() { why } else { format!("{why}; in it: {}", along.join(", ")) };
    let stays = survey.stays.get(&candidate.uid).map(|kinds| {
        let kinds: Vec<_> = kinds.iter().map(GroupKind::to_string).collect();
        format!("; of its bundle, objects of these kinds stay, which `kinds` leaves out: {}", kinds.join(", "))
    });
    let why = why + &stays.unwrap_or_default();
    [action, candidate.object.to_string(), candidate.adapter.clone(), candidate.resource_id.clone(), why]
}

/// What became of an object, in a word or two. What was kept is kept, whatever the reason.
fn became(outcome: &Outcome) -> String {
    let label = outcome.label().replace('_', " ");
    match outcome {
        Outcome::Deleted
        | Outcome::Terminating { .. }
        | Outcome::AlreadyGone
        | Outcome::Kept(_)
        | Outcome::Refused(_)
        | Outcome::Uncertain(_) => label,
        Outcome::Changed
        | Outcome::Unread(_)
        | Outcome::NotLeader(_)
        | Outcome::Withdrawn(_)
        | Outcome::AuditFailed => format!("kept ({label})"),
    }
}

/// How many objects each outcome has, in words.
fn counts(outcomes: &Outcomes) -> String {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for outcome in outcomes.values() {
        *counts.entry(became(outcome)).or_default() += 1;
    }
    counts.into_iter().map(|(became, count)| format!("{count} {became}")).collect::<Vec<_>>().join(", ")
}

fn ending(survey: &Survey, outcomes: Option<&Outcomes>) -> String {
    let (count, hash) = (survey.plan.objects().len(), survey.plan.hash());
    let became = match outcomes {
        None => format!("{count} object(s) would be deleted"),
        Some(outcomes) => format!("{count} object(s) due: {}", counts(outcomes)),
    };
    match &survey.release {
        Release::Go if count == 0 => "\nnothing is due\n".to_owned(),
        Release::Go => format!("\nplan {hash}: {became}\n"),
        Release::Approved => format!("\nplan {hash}, which a person approved: {became}\n"),
        Release::Held => {
            let holds = survey.plan.holds();
            let mut text = String::new();
            for hold in holds {
                let _ = write!(text, "\nnothing is deleted: {hold}");
            }
            if count > 0 && holds.iter().all(Hold::is_approvable) {
                let _ = write!(text, "\nto delete these {count} object(s) all the same: {}", approve_command(hash));
            }
            text.push('\n');
            text
        }
    }
}

/// Aligns the columns of a table.
fn table<const N: usize>(text: &mut String, head: [&str; N], rows: &[[String; N]]) {
    let mut widths = head.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in std::iter::once(head.map(str::to_owned)).chain(rows.iter().cloned()) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests;
