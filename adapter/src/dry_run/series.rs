//! A series: the events of a life, in a scenario's file `series.yaml`.
//!
//! In: the file, and the scenario's event and answers, which the first step begins with. Out: [`Step`]s, each with its
//! clock, event and answers, and the changes that others make before it. Fails with an error that names the file, the
//! step and the cure.
//!
//! | key of a step | content |
//! | --- | --- |
//! | `name` | what the step shows |
//! | `after` | the time since the step before; by default 10s, as the Sentinel repeats an event |
//! | `event` | a JSON merge patch of the event before |
//! | `answers` | entries as in `api-responses.json`, tried before those of the steps before; with `patch` in place of `responses`, a JSON merge patch of the bodies of the entry with the same `match` |
//! | `world` | what people and controllers do before the event: `create`, `patch` and `delete`, each with an object; a name or namespace that is left out means all |

use std::path::Path;

use jiff::Timestamp;
use lifecycle_config::duration::{self, Units};
use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_transport::memory::MemoryTransport;
use serde::Deserialize;
use serde_json::{Value, json};

use super::canned_api::{Answers, AnswersFile, unknown_keys};
use super::input;
use super::input_error::{InputError, SeriesError};

/// The time between two steps that name none: the time after which the Sentinel repeats an event.
const PERIOD: &str = "10s";

/// One event of a series.
#[derive(Debug)]
pub struct Step {
    /// What the step shows.
    pub name: String,
    /// The file, and the step in it, for error texts.
    pub place: String,
    /// The clock at the event.
    pub now: Timestamp,
    /// The event.
    pub event: LifecycleEvent,
    /// The answers of the API; none if those of the step before stay.
    pub answers: Option<Answers>,
    /// What others do before the event.
    pub world: Vec<Change>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    name: String,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    event: Option<Value>,
    #[serde(default)]
    answers: Vec<AnswerFile>,
    #[serde(default)]
    world: Vec<Change>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerFile {
    #[serde(rename = "match")]
    call: Value,
    #[serde(default)]
    responses: Option<Value>,
    #[serde(default)]
    patch: Option<Value>,
}

/// What a person or a controller does to objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Creates this object.
    Create(Value),
    /// Changes objects by a JSON merge patch, which names them.
    Patch(Value),
    /// Deletes objects.
    Delete(Value),
}

impl Change {
    /// Makes the change in a store.
    pub(super) fn make(&self, store: &MemoryTransport) -> Result<(), String> {
        let found = |object: &Value| {
            let meant = ObjectRef::of(object);
            if meant.kind.kind.is_empty() {
                return Err("names no object; add its `apiVersion`, `kind` and `metadata`".to_owned());
            }
            let found = store.objects_of(&meant);
            if !found.is_empty() {
                return Ok(found);
            }
            let kind = store.objects_of(&ObjectRef::all(meant.kind.clone(), None));
            let there: Vec<_> = kind.iter().map(ToString::to_string).collect();
            let cure = if there.is_empty() {
                format!("there is no {}", meant.kind.kind)
            } else {
                format!("there is {}", there.join(", "))
            };
            Err(format!("{meant} does not exist; {cure}"))
        };
        match self {
            Self::Create(object) => store.create_outside(object).map_err(|error| error.to_string()),
            Self::Patch(document) => found(document)?
                .iter()
                .try_for_each(|object| store.patch_outside(object, document))
                .map_err(|error| error.to_string()),
            Self::Delete(object) => {
                found(object)?.iter().for_each(|object| store.delete_outside(object));
                Ok(())
            }
        }
    }
}

/// Reads a series, whose first step has the event and the answers of these files. `default_now` is the clock for an event
/// without a time.
///
/// # Errors
/// A file cannot be read, or a step is invalid.
pub fn read(
    path: &Path,
    event: &Path,
    answers: Option<&Path>,
    default_now: Timestamp,
) -> Result<Vec<Step>, InputError> {
    let written: Vec<Value> = serde_saphyr::from_str(&input::read(path)?)
        .map_err(|source| InputError::SeriesYaml { path: path.to_owned(), source: Box::new(source) })?;
    let mut event: Value = input::read_json(event, "write one CloudEvent")?;
    let mut answers: Value = match answers {
        Some(answers) => input::read_json(answers, "write {\"responses\": […]}")?,
        None => json!({ "responses": [] }),
    };
    let mut now = event.get("time").and_then(Value::as_str).and_then(|time| time.parse().ok()).unwrap_or(default_now);
    let mut steps = Vec::new();
    for (index, written) in written.into_iter().enumerate() {
        let name = written.get("name").and_then(Value::as_str).unwrap_or_default();
        let place = format!("{}: step {} `{name}`", path.display(), index + 1);
        let failed = |problem: String| InputError::Series(SeriesError { step: place.clone(), problem });
        let file: StepFile = serde_json::from_value(written).map_err(|error| failed(error.to_string()))?;
        if let Some(patch) = &file.event {
            json_patch::merge(&mut event, patch);
        }
        let first_or_period = if index == 0 { "0s" } else { PERIOD };
        let after = duration::parse(file.after.as_deref().unwrap_or(first_or_period), Units::GoAndDays);
        now += after.map_err(|error| failed(format!("after: {error}")))?;
        event["time"] = now.to_string().into();
        let changes_answers = !file.answers.is_empty();
        for (index, entry) in file.answers.into_iter().enumerate() {
            put_answer(&mut answers, entry).map_err(|problem| failed(format!("answers[{index}]: {problem}")))?;
        }
        let bytes = event.to_string();
        let parsed = LifecycleEvent::from_structured(bytes.as_bytes(), MAX_EVENT_BYTES);
        steps.push(Step {
            name: file.name,
            now,
            event: parsed.map_err(|error| failed(format!("event: {error}")))?,
            answers: if changes_answers { Some(compiled(&answers).map_err(failed)?) } else { None },
            world: file.world,
            place,
        });
    }
    Ok(steps)
}

/// Puts an entry before the others, or patches the bodies of the entry with the same `match`.
fn put_answer(answers: &mut Value, entry: AnswerFile) -> Result<(), String> {
    let Some(entries) = answers.get_mut("responses").and_then(Value::as_array_mut) else {
        return Err("the scenario's api-responses.json has no list `responses`".to_owned());
    };
    match (entry.responses, entry.patch) {
        (Some(responses), None) => {
            entries.insert(0, json!({ "match": entry.call, "responses": responses }));
            Ok(())
        }
        (None, Some(patch)) => {
            let known = || entries.iter().map(|known| known["match"].to_string()).collect::<Vec<_>>().join(", ");
            let Some(place) = entries.iter().position(|known| known["match"] == entry.call) else {
                return Err(format!("no entry has this `match`, whose bodies `patch` changes; there are {}", known()));
            };
            for response in entries[place]["responses"].as_array_mut().into_iter().flatten() {
                json_patch::merge(&mut response["body"], &patch);
            }
            Ok(())
        }
        (Some(_), Some(_)) | (None, None) => Err("write either `responses` or `patch` beside `match`".to_owned()),
    }
}

fn compiled(answers: &Value) -> Result<Answers, String> {
    let unknown = unknown_keys("answers", answers);
    if let Some(first) = unknown.all().first() {
        return Err(first.to_string());
    }
    let file: AnswersFile = serde_json::from_value(answers.clone()).map_err(|error| format!("answers: {error}"))?;
    Answers::compile(file).map_err(|error| format!("answers: {error}"))
}

#[cfg(test)]
mod tests;
