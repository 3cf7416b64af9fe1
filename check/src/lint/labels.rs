//! Warns of labels and annotations that Kubernetes rejects: those of each manifest, and for the kinds of Kubernetes also those of
//! what an object makes, such as Pods, and those that it selects.
//!
//! A text that no event decides is judged as it is. Of a template, only what it renders to for every sample is judged, as for
//! [names](super::names): its literal part.

use lifecycle_config::document::{Path, Segment};
use lifecycle_language::template::Template;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::labels::{key_fault, value_fault};
use serde_json::{Map, Value};

use super::linter::Linter;
use super::names::samples;

/// Kinds whose fields hold parts of other objects as data.
const OPAQUE: [&str; 2] = ["CustomResourceDefinition", "ControllerRevision"];

/// Mappings of labels to select, in any object of Kubernetes.
const SELECTORS: [&str; 2] = ["matchLabels", "nodeSelector"];

/// How many characters of a value a warning shows.
const SHOWN: usize = 60;

/// What is written at a place of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Labels,
    Annotations,
    /// Labels of objects to select.
    Selector,
}

/// A mapping of a manifest, with its path there.
type Found<'v> = (Path, Written, &'v Map<String, Value>);

pub(super) fn lint(linter: &mut Linter<'_>) {
    for object in linter.manifests().iter() {
        let value = object.tree.specimen();
        let mut found = Vec::new();
        of_metadata(&value, &Path::root(), &mut found);
        if let Some(kind) = object.kind.as_ref().filter(|kind| is_namespaced(kind).is_some()) {
            if !OPAQUE.contains(&kind.kind.as_str()) {
                of_fields(&value, &Path::root(), &mut found);
            }
            // Other kinds have a selector with `matchLabels`.
            let selects = ["Service", "ReplicationController"].contains(&kind.kind.as_str());
            let selector = value.pointer("/spec/selector").and_then(Value::as_object).filter(|_| selects);
            found.extend(selector.map(|it| (Path::root().key("spec").key("selector"), Written::Selector, it)));
        }
        for (path, written, entries) in found {
            for (key, value) in entries {
                let Some(fault) = fault(written, key, value) else { continue };
                let message = format!("{}Kubernetes refuses {fault}", object.subject());
                let help = match written {
                    Written::Labels => "mend it, or write an annotation, whose value may be any text",
                    Written::Annotations | Written::Selector => "mend it",
                };
                linter.warn(&object.at(linter.document, &path.key(key)), message, help.to_owned());
            }
        }
    }
}

/// The labels and annotations of an object, or of what it makes.
fn of_metadata<'v>(object: &'v Value, path: &Path, found: &mut Vec<Found<'v>>) {
    for (key, written) in [("labels", Written::Labels), ("annotations", Written::Annotations)] {
        let entries = object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_object);
        found.extend(entries.map(|entries| (path.key("metadata").key(key), written, entries)));
    }
}

/// The labels that are inside of an object of Kubernetes: only templates of objects have `metadata` there.
fn of_fields<'v>(value: &'v Value, path: &Path, found: &mut Vec<Found<'v>>) {
    let fields: Vec<(Path, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, field)| (path.key(key), field)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (path.index(index), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (path, field) in fields {
        match (path.segments().last(), field) {
            (Some(Segment::Key(key)), Value::Object(entries)) if SELECTORS.contains(&key.as_str()) => {
                found.push((path, Written::Selector, entries));
            }
            _ => {
                of_metadata(field, &path, found);
                of_fields(field, &path, found);
            }
        }
    }
}

/// What is wrong with an entry, whatever the event brings.
fn fault(written: Written, key: &str, value: &Value) -> Option<String> {
    let what = match written {
        Written::Labels => "label",
        Written::Annotations => "annotation",
        Written::Selector => "selected label",
    };
    let of_key = |key: &str| match written {
        // Kubernetes compares the keys of annotations in lower case.
        Written::Annotations => key_fault(&key.to_lowercase()),
        Written::Labels | Written::Selector => key_fault(key),
    };
    if let Some((_, fault)) = certain(key, of_key) {
        return Some(format!("the key of the {what} `{key}`: {fault}"));
    }
    let value = value.as_str().filter(|_| written != Written::Annotations)?;
    let (sample, fault) = certain(value, value_fault)?;
    Some(format!("values like \"{sample}\" of the {what} `{key}`: {fault}"))
}

/// A text that a written one gives, and its fault, if every event has the fault.
fn certain(written: &str, fault: impl Fn(&str) -> Option<&'static str>) -> Option<(String, &'static str)> {
    let samples = match Template::parse(written) {
        Ok(template) if template.as_literal().is_none() => samples(&template),
        Ok(_) | Err(_) => vec![written.to_owned()],
    };
    let faults: Option<Vec<&str>> = samples.iter().map(|sample| fault(sample)).collect();
    let (sample, fault) = (samples.first()?, *faults?.first()?);
    Some((sample.chars().take(SHOWN).collect(), fault))
}
