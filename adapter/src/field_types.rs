//! Whether the fields of an object have the types that Kubernetes gives them.
//!
//! In: an object, or the manifests of a task as its file writes them. Out: the fields whose value has another type
//! than Kubernetes wants, each with its place. An API server refuses such an object. The types are those of
//! `k8s-openapi`, for the kinds that a task may have a reason to write; for objects of other kinds, those of the metadata alone.

mod comparisons;

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
use lifecycle_check::manifests::manifests;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_core::task::Task;
use lifecycle_objects::merge_keys::equal_keys;
use lifecycle_objects::object_ref::ObjectRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
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

/// Reports the fields of a task's manifests and patches that an API server refuses whatever the event brings, and comparisons with
/// fields of live objects that have another type.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut diagnostics = comparisons::lint(task, document);
    for object in manifests(task) {
        // A text with templates may get other values than their sources.
        let specimen = object.tree.specimen();
        if object.is_inline() || object.tree.templates().is_empty() {
            let at = |path: &Path| object.at(document, path);
            // The place of a field in a text is that of the whole text.
            let field = |path: &Path| {
                if object.is_inline() { String::new() } else { format!("{}{path} ", object.subject()) }
            };
            report(&specimen, at, field, document, &mut diagnostics);
        }
    }
    for (index, resource) in task.resources.iter().enumerate() {
        for (patch_index, patch) in resource.gates.patches.iter().enumerate() {
            let place = Path::of_keys("resources").index(index).key("lifecycle").key("patch").index(patch_index);
            let place = place.key("document");
            let mut specimen = patch.document.specimen();
            specimen["apiVersion"] = Value::from(resource.kind.api_version());
            specimen["kind"] = Value::from(resource.kind.kind.as_str());
            report(&specimen, |path| place.join(path), |_| String::new(), document, &mut diagnostics);
        }
    }
    diagnostics
}

/// Reports the fields of an object, and elements that a server cannot tell apart. Files of the Go adapter may have such elements,
/// so that they are no error.
fn report(
    object: &Value,
    at: impl Fn(&Path) -> Path,
    field: impl Fn(&Path) -> String,
    document: &Document,
    diagnostics: &mut Diagnostics,
) {
    if let Some(equal) = equal_keys(object) {
        let message = format!("{}: {equal}", ObjectRef::of(object));
        let diagnostic = || document.diagnostic(Severity::Warning, &at(&Path::root()), message, None);
        diagnostics.push_with(Severity::Warning, diagnostic);
    }
    for fault in faults(object).iter().filter(|fault| is_certain(fault)) {
        let (is, wanted) = (describe(&fault.value), &fault.wanted);
        let message = format!("{}is {is}, and Kubernetes wants {wanted}: it refuses the object", field(&fault.path));
        let diagnostic = || document.diagnostic(Severity::Error, &at(&fault.path), message, help(fault));
        diagnostics.push_with(Severity::Error, diagnostic);
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
