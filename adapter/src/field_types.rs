//! Whether the fields of an object have the types that Kubernetes gives them.
//!
//! In: an object, or the manifests of a task as its file writes them. Out: the fields whose value has another type
//! than Kubernetes wants, each with its place. An API server refuses such an object. The types are those of
//! `k8s-openapi`, for the kinds that a task may have a reason to write; for objects of other kinds, those of the metadata alone.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota, Secret,
    Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::scalar::Tag;
use lifecycle_config::document::{Content, Document, Node as Written, Path, Segment as Step};
use lifecycle_core::bundle::render::is_list;
use lifecycle_core::merge_keys::equal_keys;
use lifecycle_core::object_ref::ObjectRef;
use lifecycle_core::task::{Manifest, Task};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

/// How many faults of one object are looked for.
const LIMIT: usize = 20;

/// Fields whose values are quantities: text, which an API server also takes as a number.
const QUANTITIES: [&str; 15] = [
    "allocatable",
    "averageValue",
    "capacity",
    "default",
    "defaultRequest",
    "divisor",
    "hard",
    "limits",
    "max",
    "maxLimitRequestRatio",
    "min",
    "overhead",
    "requests",
    "sizeLimit",
    "target",
];

const INTEGER: &str = "an integer";
const NUMBER: &str = "a number";
const BOOLEAN: &str = "true or false";
const TEXT: &str = "text";
const LIST: &str = "a list";
const MAPPING: &str = "a mapping";

/// A field whose value has another type than Kubernetes wants.
#[derive(Debug)]
pub struct Fault {
    path: Path,
    /// The type that Kubernetes wants, such as `an integer`.
    wanted: String,
    value: Value,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: is {}, and Kubernetes wants {}", self.path, describe(&self.value), self.wanted)
    }
}

type Parse = fn(&Value) -> Option<(Vec<Segment>, String)>;

/// The first value that a type refuses: its place, and the reason.
fn parse<T: DeserializeOwned>(object: &Value) -> Option<(Vec<Segment>, String)> {
    let error = serde_path_to_error::deserialize::<_, T>(object).err()?;
    Some((error.path().iter().cloned().collect(), error.inner().to_string()))
}

macro_rules! parsers {
    ($api_version:expr, $kind:expr, $($kind_type:ty),+ $(,)?) => {{
        $(
            let known = (
                <$kind_type as k8s_openapi::Resource>::API_VERSION,
                <$kind_type as k8s_openapi::Resource>::KIND,
            );
            if known == ($api_version, $kind) {
                return Some(parse::<$kind_type>);
            }
        )+
        None
    }};
}

fn parser(api_version: &str, kind: &str) -> Option<Parse> {
    parsers!(
        api_version,
        kind,
        ClusterRole,
        ClusterRoleBinding,
        ConfigMap,
        CronJob,
        DaemonSet,
        Deployment,
        HorizontalPodAutoscaler,
        Ingress,
        Job,
        LimitRange,
        Namespace,
        NetworkPolicy,
        Node,
        PersistentVolume,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        ReplicaSet,
        ResourceQuota,
        Role,
        RoleBinding,
        Secret,
        Service,
        ServiceAccount,
        StatefulSet,
    )
}

/// The part of every object whose fields have the same types for all kinds.
#[derive(Deserialize)]
struct Labelled {
    #[serde(default, rename = "metadata")]
    _metadata: ObjectMeta,
}

/// The fields of an object that have another type than Kubernetes wants; for an unknown kind, those of its metadata.
#[must_use]
pub fn faults(object: &Value) -> Vec<Fault> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let parse = parser(text("apiVersion"), text("kind")).unwrap_or(parse::<Labelled>);
    let mut rest = object.clone();
    let mut found: Vec<Fault> = Vec::new();
    // A type names its first fault only: take that away, and look for the next.
    while let Some((segments, reason)) = parse(&rest) {
        let Some((path, value)) = locate(&mut rest, &segments) else { break };
        let is_quantity = value.is_number()
            && segments
                .iter()
                .any(|segment| matches!(segment, Segment::Map { key } if QUANTITIES.contains(&key.as_str())));
        let seen_before = value.is_null();
        let value = std::mem::replace(value, if is_quantity { Value::from("1") } else { Value::Null });
        if seen_before || found.len() == LIMIT {
            break;
        }
        if !is_quantity {
            found.push(Fault { path, wanted: wanted(&reason), value });
        }
    }
    found
}

/// The value at a place, and its path.
fn locate<'v>(object: &'v mut Value, segments: &[Segment]) -> Option<(Path, &'v mut Value)> {
    segments.iter().try_fold((Path::root(), object), |(path, value), segment| match segment {
        Segment::Map { key } => Some((path.key(key), value.get_mut(key)?)),
        Segment::Seq { index } => Some((path.index(*index), value.get_mut(index)?)),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// The type that a value should have, from the library's sentence, without the value that the sentence quotes.
fn wanted(reason: &str) -> String {
    // Only base64 and times have sentences of their own.
    let Some((_, expected)) = reason.rsplit_once("expected ") else {
        return "base64 (`| b64enc`, or plain text in `stringData`) or a time as in RFC 3339".to_owned();
    };
    let wanted = match expected {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => INTEGER,
        "f32" | "f64" => NUMBER,
        "a boolean" => BOOLEAN,
        "a string" => TEXT,
        "a sequence" => LIST,
        "IntOrString" => "an integer or text",
        other if other.starts_with("a ") || other.starts_with("an ") => other,
        _ => MAPPING,
    };
    wanted.to_owned()
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Reports the fields of a task's manifests and patches that an API server refuses whatever the event brings.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for (index, resource) in task.resources.iter().enumerate() {
        let path = Path::root().key("resources").index(index);
        let kind = &resource.kind;
        let patches = (0..resource.gates.patches.len())
            .map(|index| path.key("lifecycle").key("patch").index(index).key("document"));
        let manifest = matches!(resource.manifest, Manifest::Inline(_)).then(|| path.key("manifest"));
        for path in manifest.into_iter().chain(patches) {
            let Some(written) = document.node(&path) else { continue };
            let mut specimen = specimen(written);
            specimen["apiVersion"] = Value::from(kind.api_version());
            specimen["kind"] = Value::from(kind.kind.as_str());
            report(&specimen, &path, document, &mut diagnostics);
        }
        let of_bundle =
            resource.bundle.iter().flat_map(|bundle| bundle.manifests.iter().zip(&bundle.drafts).enumerate());
        for (index, (manifest, drafts)) in of_bundle {
            let path = path.key("bundle").key("manifests").index(index);
            match (manifest, document.node(&path)) {
                (Manifest::Text(_), _) => {
                    for draft in drafts.iter().flatten() {
                        report_in_text(&draft.object, &path, document, &mut diagnostics);
                    }
                }
                (Manifest::Inline(_), Some(written)) => {
                    report_all(&specimen(written), &path, document, &mut diagnostics);
                }
                (Manifest::Inline(_), None) => {}
            }
        }
    }
    diagnostics
}

/// Reports the fields of an object of a bundle, and of each item of a `List`.
fn report_all(object: &Value, path: &Path, document: &Document, diagnostics: &mut Diagnostics) {
    match object.get("items").and_then(Value::as_array).filter(|_| is_list(object)) {
        Some(items) => {
            let path = path.key("items");
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| report_all(item, &path.index(index), document, diagnostics));
        }
        None => report(object, path, document, diagnostics),
    }
}

/// Reports the fields of an object in a text without templates, at the place of the text.
fn report_in_text(object: &Value, place: &Path, document: &Document, diagnostics: &mut Diagnostics) {
    report_equal_keys(object, place, document, diagnostics);
    for fault in faults(object) {
        let (path, is, wanted) = (&fault.path, describe(&fault.value), &fault.wanted);
        let object = ObjectRef::of(object);
        let message = format!("{object}: {path} is {is}, and Kubernetes wants {wanted}: it refuses the object");
        let diagnostic = || document.diagnostic(Severity::Error, place, message, help(&fault));
        diagnostics.push_with(Severity::Error, diagnostic);
    }
}

/// Warns of elements that a server cannot tell apart. Files of the Go adapter may have them, so that it is no error.
fn report_equal_keys(object: &Value, place: &Path, document: &Document, diagnostics: &mut Diagnostics) {
    if let Some(equal) = equal_keys(object) {
        let message = format!("{}: {equal}", ObjectRef::of(object));
        let diagnostic = || document.diagnostic(Severity::Warning, place, message, None);
        diagnostics.push_with(Severity::Warning, diagnostic);
    }
}

fn report(object: &Value, path: &Path, document: &Document, diagnostics: &mut Diagnostics) {
    report_equal_keys(object, path, document, diagnostics);
    for fault in faults(object).iter().filter(|fault| is_certain(fault)) {
        let at = fault.path.segments().iter().fold(path.clone(), |path, step| match step {
            Step::Key(key) => path.key(key),
            Step::Index(index) => path.index(*index),
        });
        let (is, wanted) = (describe(&fault.value), &fault.wanted);
        let message = format!("is {is}, and Kubernetes wants {wanted}: it refuses the object");
        let diagnostic = || document.diagnostic(Severity::Error, &at, message, help(fault));
        diagnostics.push_with(Severity::Error, diagnostic);
    }
}

/// The value that a manifest's node renders to, with its templates as they are, and a value of the type of a tag in
/// place of a template behind that tag.
fn specimen(written: &Written) -> Value {
    match &written.content {
        Content::Scalar(scalar) if scalar.text.contains("{{") => match scalar.tag {
            Some(Tag::Int) => json!(1),
            Some(Tag::Float) => json!(1.5),
            Some(Tag::Bool) => json!(true),
            Some(Tag::Null | Tag::Text) | None => Value::from(scalar.text.as_str()),
        },
        Content::Scalar(_) => written.to_value(),
        Content::List(items) => items.iter().map(specimen).collect(),
        Content::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), specimen(&entry.value))).collect(),
    }
}

/// Whether every event has the fault. A template in quotes is text; as in the Go adapter, the text of `1{{ .n }}` can
/// become a number.
fn is_certain(fault: &Fault) -> bool {
    let Some(text) = fault.value.as_str().filter(|text| text.contains("{{")) else { return true };
    text.starts_with("{{") && [INTEGER, NUMBER, BOOLEAN, LIST, MAPPING].contains(&fault.wanted.as_str())
}

fn help(fault: &Fault) -> Option<String> {
    let tag = match fault.wanted.as_str() {
        INTEGER => "!!int ",
        NUMBER => "!!float ",
        BOOLEAN => "!!bool ",
        _ => "",
    };
    match &fault.value {
        Value::String(text) if text.contains("{{") && !tag.is_empty() => Some(format!("write `{tag}\"{text}\"`")),
        Value::String(_) if !tag.is_empty() => Some(format!("write {}, without quotes", fault.wanted)),
        Value::Object(map) if map.contains_key("expression") || map.contains_key("field") => {
            Some(format!("a manifest has no expressions: compute a param, and write `{tag}\"{{{{ .param }}}}\"`"))
        }
        Value::Number(_) | Value::Bool(_) if fault.wanted == TEXT => Some("put the value in quotes".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
