//! Reads the files of a dry run.
//!
//! In: paths. Out: an event, prepared answers, live objects. What cannot be used is an [`InputError`] that names the
//! file, the place in it, and what would mend it. It does not read configuration: see [`crate::config`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lifecycle_core::event::{EventError, LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_core::write::WriteError;
use lifecycle_service::files;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::canned_api::{self, Answers, AnswersError, AnswersFile};

/// The most bytes that a file may have: answers and traces of long scenarios stay far below.
const LIMIT: u64 = 16 << 20;

/// A file of a dry run that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is no JSON of the expected form.
    #[error("{}: not the JSON that is expected here; {expected}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the file has to hold.
        expected: &'static str,
        /// What was found, with its line and column.
        #[source]
        source: serde_json::Error,
    },
    /// It is no YAML.
    #[error("{}: not the YAML of Kubernetes objects", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What was found, with its line and column.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    /// It is no usable event.
    #[error("{}: not a CloudEvent", path.display())]
    Event {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: EventError,
    },
    /// Its answers cannot be used.
    #[error("{}: not usable as API answers", path.display())]
    Answers {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        #[source]
        source: AnswersError,
    },
    /// An object in it is none.
    #[error("{}: {place} {problem}; an object needs `apiVersion`, `kind` and `metadata.name`", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Which one.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The store would not have such an object.
    #[error(transparent)]
    Refused(WriteError),
    /// The event has a time that is none.
    #[error("{}: the event's time {time:?} is not in RFC 3339, such as 2026-08-01T12:00:00Z", path.display())]
    EventTime {
        /// The file.
        path: PathBuf,
        /// The time as written.
        time: String,
        /// What is wrong with it.
        #[source]
        source: jiff::Error,
    },
}

/// Reads a file as text.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn read(path: &Path) -> Result<String, InputError> {
    files::read_text(path, LIMIT).map_err(|source| InputError::Unreadable { path: path.to_owned(), source })
}

fn read_json<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, InputError> {
    serde_json::from_str(&read(path)?).map_err(|source| InputError::Json { path: path.to_owned(), expected, source })
}

/// Reads one CloudEvent in structured mode.
///
/// # Errors
/// It cannot be read, or is no CloudEvent that the adapter would accept.
pub fn read_event(path: &Path) -> Result<LifecycleEvent, InputError> {
    let text = read(path)?;
    LifecycleEvent::from_structured(text.as_bytes(), MAX_EVENT_BYTES)
        .map_err(|source| InputError::Event { path: path.to_owned(), source })
}

/// Reads the answers that the API is to give.
///
/// # Errors
/// It cannot be read, has another form, or has an entry that could never answer.
pub fn read_answers(path: &Path) -> Result<Answers, InputError> {
    let expected = "write {\"responses\": [{\"match\": {\"method\": …, \"urlPattern\": …}, \"responses\": [{\"statusCode\": …, \"body\": …}]}]}";
    let file: AnswersFile = read_json(path, expected)?;
    let mut answers = Answers::compile(file).map_err(|source| InputError::Answers { path: path.to_owned(), source })?;
    answers.warnings = canned_api::unknown_keys(&path.display().to_string(), &read_json(path, expected)?);
    Ok(answers)
}

/// Reads an environment.
///
/// # Errors
/// It cannot be read, or is no object of texts.
pub fn read_environment(path: &Path) -> Result<BTreeMap<String, String>, InputError> {
    read_json(path, "write {\"NAME\": \"text\", …}")
}

/// Reads objects by name, which take the place of what is applied under that name.
///
/// # Errors
/// It cannot be read, or a value is no object of Kubernetes.
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

/// Reads every `*.yaml` of a folder, in the order of their names; a folder that is not there holds none.
///
/// # Errors
/// A file cannot be read, or a document in it is no object of Kubernetes.
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
