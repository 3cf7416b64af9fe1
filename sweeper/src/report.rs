//! Prints what a survey found, for people and for programs.
//!
//! In: a [`Survey`]. Out: text, or JSON whose `objects` can be the first strike of a later sweep ([`first_strikes`]).
//! Fails: only to read such a file, with a sentence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use lifecycle_core::sweep::{Candidate, Hold, Keep, Release, Strikes, Verdict};
use serde::{Deserialize, Serialize};

use crate::survey::Survey;

/// A survey as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanFile {
    /// When the API was asked.
    pub time: Timestamp,
    /// The name by which a person approves the objects that go.
    pub plan: String,
    /// Whether the pass would delete its plan.
    pub released: bool,
    /// Why it would not.
    pub holds: Vec<String>,
    /// How many objects there are, and how many API resources they name.
    pub inventory: u64,
    /// How many API resources the objects name.
    pub owners: u64,
    /// The objects whose API resource is gone.
    pub objects: Vec<PlannedObject>,
    /// How many objects are kept, by reason.
    pub kept: BTreeMap<String, u64>,
}

/// An object whose API resource is gone.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlannedObject {
    /// The object's `apiVersion`.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// The object's kind.
    pub kind: String,
    /// The object's namespace, unless it is cluster-scoped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// The object's UID.
    pub uid: String,
    /// The adapter that made the object.
    pub adapter: String,
    /// The API resource that is gone.
    pub resource_id: String,
    /// `delete`, or the label of the reason for which the object is kept.
    pub verdict: String,
}

impl PlanFile {
    /// Describes a survey that asked the API at `time`.
    #[must_use]
    pub fn new(survey: &Survey, time: Timestamp) -> Self {
        let mut kept = BTreeMap::new();
        for ((_, keep), objects) in &survey.kept {
            *kept.entry(keep.label().to_owned()).or_default() += objects;
        }
        Self {
            time,
            plan: survey.plan.hash().to_owned(),
            released: !matches!(survey.release, Release::Held(_)),
            holds: survey.holds().iter().map(Hold::to_string).collect(),
            inventory: survey.inventory,
            owners: survey.owners,
            objects: survey.orphans.iter().map(planned).collect(),
            kept,
        }
    }
}

fn planned((candidate, verdict): &(Candidate, Verdict)) -> PlannedObject {
    let object = candidate.object.clone();
    PlannedObject {
        api_version: object.kind.api_version(),
        kind: object.kind.kind,
        namespace: object.namespace,
        name: object.name,
        uid: candidate.uid.clone(),
        adapter: candidate.adapter.clone(),
        resource_id: candidate.resource_id.clone(),
        verdict: match verdict {
            Verdict::Delete => "delete".to_owned(),
            Verdict::Keep(keep) => keep.label().to_owned(),
        },
    }
}

/// Reads the JSON of a plan as the first strike against each of its objects.
///
/// # Errors
///
/// The text is no plan, or it claims to be from the future.
pub fn first_strikes(text: &str, now: Timestamp) -> Result<Strikes, String> {
    let plan: PlanFile = serde_json::from_str(text)
        .map_err(|error| format!("is no plan: {error}; write one by `sweeper plan --output json`"))?;
    if plan.time > now {
        return Err(format!("is from {}, which is in the future; correct this machine's clock", plan.time));
    }
    let mut strikes = Strikes::default();
    for object in plan.objects {
        strikes.restore(object.uid, object.resource_id, plan.time);
    }
    Ok(strikes)
}

/// Prints a survey as text. `would` says whether deletions are only talked about.
#[must_use]
pub fn text(survey: &Survey, would: bool) -> String {
    let mut text = format!(
        "{} objects of {} kinds name {} API resources\n",
        survey.inventory,
        survey.kinds.iter().filter(|(_, objects)| *objects > 0).count(),
        survey.owners,
    );
    let mut rows: Vec<_> = survey.orphans.iter().map(row).collect();
    rows.sort();
    if !rows.is_empty() {
        text.push('\n');
        table(&mut text, ["", "OBJECT", "ADAPTER", "API RESOURCE", "WHY"], &rows);
    }
    let mut kept: BTreeMap<Keep, u64> = BTreeMap::new();
    for ((_, keep), objects) in &survey.kept {
        *kept.entry(*keep).or_default() += objects;
    }
    for (_, verdict) in &survey.orphans {
        if let Verdict::Keep(keep) = verdict
            && let Some(objects) = kept.get_mut(keep)
        {
            *objects -= 1;
        }
    }
    for (keep, objects) in kept.into_iter().filter(|(_, objects)| *objects > 0) {
        let _ = write!(text, "\nkeep {objects}: {keep}");
    }
    for (reason, answers) in &survey.unknown {
        let _ = write!(text, "\n{answers} answer(s) of the API proved nothing: {reason}");
    }
    text.push('\n');
    text.push_str(&ending(survey, would));
    text
}

fn row((candidate, verdict): &(Candidate, Verdict)) -> [String; 5] {
    let (action, why) = match verdict {
        Verdict::Delete => ("delete", "its API resource is gone"),
        Verdict::Keep(keep) => ("keep", keep.sentence()),
    };
    let owner = candidate.resource_id.clone();
    [action.to_owned(), candidate.object.to_string(), candidate.adapter.clone(), owner, why.to_owned()]
}

fn ending(survey: &Survey, would: bool) -> String {
    let (count, hash) = (survey.plan.objects().len(), survey.plan.hash());
    let would = if would { "would be " } else { "" };
    match &survey.release {
        Release::Go if count == 0 => "\nnothing is due\n".to_owned(),
        Release::Go => format!("\nplan {hash}: {count} object(s) {would}deleted\n"),
        Release::Approved(_) => format!("\nplan {hash}, which a person approved: {count} object(s) {would}deleted\n"),
        Release::Held(holds) => {
            let mut text = String::new();
            for hold in holds {
                let _ = write!(text, "\nnothing is deleted: {hold}");
            }
            if count > 0 && holds.iter().all(Hold::is_approvable) {
                let _ = write!(text, "\nto delete these {count} object(s) all the same: sweeper approve {hash}");
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
