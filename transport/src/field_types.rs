//! Whether the fields of an object have the types that Kubernetes gives them.
//!
//! In: an object. Out: the fields whose value has another type than Kubernetes wants, each with its place. An API server refuses
//! such an object. The types are those of `k8s-openapi`, for the kinds that a program may have a reason to write; for objects of
//! other kinds, those of the metadata alone.

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
use lifecycle_config::document::Path;
use lifecycle_objects::id::GroupVersionKind;
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

/// The wanted type of an integer.
pub const INTEGER: &str = "an integer";
/// The wanted type of a number that need not be an integer.
pub const NUMBER: &str = "a number";
/// The wanted type of a boolean.
pub const BOOLEAN: &str = "true or false";
/// The wanted type of a text.
pub const TEXT: &str = "text";
/// The wanted type of a list.
pub const LIST: &str = "a list";
/// The wanted type of a mapping.
pub const MAPPING: &str = "a mapping";

/// A field whose value has another type than Kubernetes wants.
#[derive(Debug)]
pub struct Fault {
    /// The place of the field.
    pub path: Path,
    /// The type that Kubernetes wants, such as `an integer`.
    pub wanted: String,
    /// What the field has.
    pub value: Value,
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

/// The first field of an object that the type of its kind refuses: how many keys lead there, and the type that Kubernetes wants.
/// `None` for an unknown kind, too.
#[must_use]
pub fn refused(kind: &GroupVersionKind, object: &Value) -> Option<(usize, String)> {
    let (place, reason) = parser(&kind.api_version(), &kind.kind)?(object)?;
    Some((place.len(), wanted(&reason)))
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

/// The type of a value, in the words of a fault.
#[must_use]
pub fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests;
