//! Reads the input files of a dry run.
//!
//! In: paths. Out: an event, canned answers, live objects. Fails with an [`InputError`] that names the file,
//! the place in it, and the cure. The module [`crate::config`] reads the configuration files instead.

use std::collections::BTreeMap;
use std::path::Path;

use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_service::files;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::canned_api::{self, Answers, AnswersFile};
use super::input_error::InputError;

/// The largest input file in bytes, far above the answers and traces of long scenarios.
const LIMIT: u64 = 16 << 20;

/// Reads a file as text.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<String, InputError> {
    files::read_text(path, LIMIT).map_err(|source| InputError::Unreadable { path: path.to_owned(), source })
}

/// Reads a file as JSON.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, InputError> {
    serde_json::from_str(&read(path)?).map_err(|source| InputError::Json { path: path.to_owned(), expected, source })
}

/// Reads one CloudEvent in structured mode.
///
/// # Errors
/// The file cannot be read, or the adapter would refuse the event.
pub fn read_event(path: &Path) -> Result<LifecycleEvent, InputError> {
    let text = read(path)?;
    LifecycleEvent::from_structured(text.as_bytes(), MAX_EVENT_BYTES)
        .map_err(|source| InputError::Event { path: path.to_owned(), source })
}

/// Reads the canned answers of the API.
///
/// # Errors
/// The file cannot be read, is not JSON of the expected form, or has an invalid entry.
pub fn read_answers(path: &Path) -> Result<Answers, InputError> {
    let expected = "write {\"responses\": [{\"match\": {\"method\": …, \"urlPattern\": …}, \"responses\": [{\"statusCode\": …, \"body\": …}]}]}";
    let file: AnswersFile = read_json(path, expected)?;
    let mut answers = Answers::compile(file).map_err(|source| InputError::Answers { path: path.to_owned(), source })?;
    answers.warnings = canned_api::unknown_keys(&path.display().to_string(), &read_json(path, expected)?);
    Ok(answers)
}

/// Reads the environment variables of a scenario.
///
/// # Errors
/// The file cannot be read, or is not a JSON object of strings.
pub fn read_environment(path: &Path) -> Result<BTreeMap<String, String>, InputError> {
    read_json(path, "write {\"NAME\": \"text\", …}")
}

/// Reads complete objects, which simulate what a server would return, such as a status of a controller.
///
/// The objects exist in the store from the start. The key of each is a `metadata.name`: when a pass applies an object
/// of that name, the store keeps the complete object in its place.
///
/// # Errors
/// The file cannot be read, or a value is not a Kubernetes object.
pub fn read_overrides(path: &Path) -> Result<BTreeMap<String, Value>, InputError> {
    let mut overrides: BTreeMap<String, Value> = read_json(path, "write {\"<metadata.name>\": {<complete object>}}")?;
    for (name, object) in &mut overrides {
        check_object(path, &format!("the object of {name:?}"), object, &["/apiVersion", "/kind"])?;
        let metadata = object
            .as_object_mut()
            .map(|object| object.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new())));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.entry("name").or_insert_with(|| Value::from(name.as_str()));
        }
    }
    Ok(overrides)
}

/// Reads every `*.yaml` file of a folder, sorted by file name. A missing folder holds no objects.
///
/// # Errors
/// A file cannot be read, or a document is not a Kubernetes object.
pub fn read_objects(folder: &Path) -> Result<Vec<Value>, InputError> {
    let unreadable = |source| InputError::Unreadable { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    files.sort();
    let mut objects = Vec::new();
    for path in files {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&read(&path)?)
            .map_err(|source| InputError::Yaml { path: path.clone(), source: Box::new(source) })?;
        for (index, document) in documents.into_iter().enumerate().filter(|(_, document)| !document.is_null()) {
            let place = format!("document {}", index + 1);
            check_object(&path, &place, &document, &["/apiVersion", "/kind", "/metadata/name"])?;
            objects.push(document);
        }
    }
    Ok(objects)
}

fn check_object(path: &Path, place: &str, object: &Value, required: &[&str]) -> Result<(), InputError> {
    let has_text =
        |pointer: &&&str| object.pointer(pointer).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let Some(missing) = required.iter().find(|pointer| !has_text(pointer)) else { return Ok(()) };
    let problem = format!("has no `{}`", missing.trim_start_matches('/').replace('/', "."));
    Err(InputError::Object { path: path.to_owned(), place: place.to_owned(), problem })
}

#[cfg(test)]
mod tests;
