//! A scenario: one folder that is an example, a test, and documentation at once.
//!
//! | file | content |
//! | --- | --- |
//! | `event.json` | the CloudEvent; its `time`, if it has one, is the clock of the pass |
//! | `adapter-config.yaml`, `task-config.yaml` | the configuration, with the files that it refers to |
//! | `api-responses.json` | the canned answers of the API; a call that none of them matches gets 404, and a report is accepted |
//! | `series.yaml` | the steps of a [`series`]; without the file, the scenario is one event |
//! | `live/*.yaml` | the objects that exist before the pass; without the folder, none |
//! | `environment.json` | the environment variables, a JSON object of strings; without the file, none |
//! | `expected/trace.txt`, `expected/trace.json` | the expected traces |

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use lifecycle_config::diagnostics::{Diagnostics, Mistake};
use lifecycle_service::version::Version;

use super::canned_api::Unmatched;
use super::fakes::{Setting, World, configure};
use super::input_error::InputError;
use super::series::Step;
use super::{DryRunError, canned_api, input, series};
use crate::config::{Flags, Paths};

const EVENT: &str = "event.json";
const ADAPTER_CONFIG: &str = "adapter-config.yaml";
const TASK_CONFIG: &str = "task-config.yaml";
const ANSWERS: &str = canned_api::FILE;
const ENVIRONMENT: &str = "environment.json";
const SERIES: &str = "series.yaml";
const LIVE: &str = "live";

/// Traces contain the program's version, so use a constant one: expected traces must not change with each
/// release.
const NO_BUILD: Version = Version { number: "0.0.0-dev", commit: "none", date: "unknown" };

/// Builds the world of the scenario in `folder`. `default_now` is the clock for an event without a time.
///
/// # Errors
/// A file is missing or cannot be used, or the configuration has errors.
pub fn load(folder: &Path, default_now: Timestamp) -> Result<World, DryRunError> {
    if let Some(missing) = [EVENT, ADAPTER_CONFIG, TASK_CONFIG].into_iter().find(|name| !folder.join(name).is_file()) {
        return Err(DryRunError::NoScenario { folder: folder.to_owned(), missing });
    }
    let environment = optional(&folder.join(ENVIRONMENT), input::read_environment)?;
    let paths = Paths { adapter: folder.join(ADAPTER_CONFIG), task: folder.join(TASK_CONFIG) };
    let configured = configure(&paths, &environment, &Flags::default(), &NO_BUILD).map_err(naming_the_file)?;
    let event_path = folder.join(EVENT);
    let setting = Setting {
        event: input::read_event(&event_path)?,
        event_path,
        answers: optional(&folder.join(ANSWERS), input::read_answers)?,
        unmatched: Unmatched::AsTheApi,
        live: input::read_objects(&folder.join(LIVE))?,
        overrides: BTreeMap::new(),
    };
    World::build(configured, &environment, setting, default_now)
}

/// Lets the diagnostics of missing variables name the file from which a scenario takes its variables.
fn naming_the_file(error: DryRunError) -> DryRunError {
    let DryRunError::Configuration(diagnostics) = error else { return error };
    let mut named = Diagnostics::default();
    for mut diagnostic in diagnostics.all().iter().cloned() {
        if diagnostic.mistake == Some(Mistake::UnsetVariable) {
            let help = "add it to `environment.json` beside the event, a JSON object of texts; a dry run reads no other variables";
            diagnostic.help = Some(help.to_owned());
        }
        named.push(diagnostic);
    }
    DryRunError::Configuration(named)
}

/// Reads the steps of the scenario's series; none if the scenario is one event.
///
/// # Errors
/// A file cannot be read, or a step is invalid.
pub fn steps(folder: &Path, default_now: Timestamp) -> Result<Vec<Step>, DryRunError> {
    let series = folder.join(SERIES);
    if !series.is_file() {
        return Ok(Vec::new());
    }
    let answers = Some(folder.join(ANSWERS)).filter(|path| path.is_file());
    Ok(series::read(&series, &folder.join(EVENT), answers.as_deref(), default_now)?)
}

fn optional<T: Default>(path: &Path, read: fn(&Path) -> Result<T, InputError>) -> Result<T, InputError> {
    if path.exists() { read(path) } else { Ok(T::default()) }
}
