//! What a server makes of a written object beyond storing it: `metadata.generation`, the `data` of a Secret, and quantities.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::quantity::canonicalize;
use serde_json::{Map, Value};

use lifecycle_objects::keys::LAST_APPLIED;
use lifecycle_objects::secret::is_kind_of_secrets;

/// The kinds of Kubernetes whose objects have a generation, by API group, among those that
/// [`is_namespaced`] knows. Every custom kind has one.
const WITH_GENERATION: [(&str, &[&str]); 10] = [
    ("", &["Pod", "PodTemplate", "ReplicationController"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apps", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch", &["CronJob", "Job"]),
    ("discovery.k8s.io", &["EndpointSlice"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", &["Ingress", "IngressClass", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
];

fn has_generation(kind: &GroupVersionKind) -> bool {
    is_namespaced(kind).is_none()
        || WITH_GENERATION.iter().any(|(group, kinds)| *group == kind.group && kinds.contains(&kind.kind.as_str()))
}

fn generation(object: &Value) -> Option<i64> {
    object.pointer("/metadata/generation").and_then(Value::as_i64)
}

/// A written object without the generation that it brings: a server takes none.
pub(super) fn without_generation(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("generation");
    }
    object
}

/// A created object as a server stores it, without what the server adds.
pub(super) fn stored(object: &Value) -> Value {
    let mut object = without_generation(object);
    canonicalize(&mut object);
    object
}

/// Sets the generation of a created object, unless it has one.
pub(super) fn begin_generation(kind: &GroupVersionKind, object: &mut Value) {
    if has_generation(kind) && generation(object).is_none() {
        object["metadata"]["generation"] = 1.into();
    }
}

/// Raises the generation if a write changed what the object's author asks for: all but `metadata` and `status`, and
/// the annotations of a Deployment, which its controller copies.
/// A generation that the write brought stays: it is that of an object which the dry run prepared.
pub(super) fn continue_generation(kind: &GroupVersionKind, before: &Value, after: &mut Value) {
    let Some(number) = generation(before) else { return };
    if generation(after).is_some_and(|brought| brought != number) {
        return;
    }
    let annotations = |object: &Value| object.pointer("/metadata/annotations").cloned();
    let is_deployment = kind.group == "apps" && kind.kind == "Deployment";
    let is_changed =
        asked_for(before) != asked_for(after) || (is_deployment && annotations(before) != annotations(after));
    after["metadata"]["generation"] = (number + i64::from(is_changed)).into();
}

/// Raises the generation of an object that begins to terminate, as a server does.
pub(super) fn end_generation(object: &mut Value) {
    if let Some(number) = generation(object) {
        object["metadata"]["generation"] = (number + 1).into();
    }
}

fn asked_for(object: &Value) -> Vec<(&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status")).collect()
}

/// Moves `stringData` of a Secret into `data`. An entry that a later write leaves out of `stringData` stays in
/// `data`, as on a server.
pub(super) fn encode_secret(kind: &GroupVersionKind, object: &mut Value) {
    if !is_kind_of_secrets(kind) {
        return;
    }
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    let encoded = texts.iter().filter_map(|(key, text)| Some((key.clone(), STANDARD.encode(text.as_str()?))));
    let encoded: Map<String, Value> = encoded.map(|(key, text)| (key, text.into())).collect();
    if encoded.is_empty() {
        return;
    }
    match fields.get_mut("data").and_then(Value::as_object_mut) {
        Some(data) => data.extend(encoded),
        None => _ = fields.insert("data".to_owned(), encoded.into()),
    }
}

/// Removes the copy of its values that `kubectl apply` keeps in an annotation of a Secret, as each update by the adapter does.
pub(super) fn drop_last_applied(kind: &GroupVersionKind, object: &mut Value, desired: &Value) {
    let is_wanted = desired.pointer("/metadata/annotations").is_some_and(|wanted| wanted.get(LAST_APPLIED).is_some());
    if is_kind_of_secrets(kind)
        && !is_wanted
        && let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(LAST_APPLIED);
    }
}

/// Returns why a server would refuse `stringData` of a Secret, if it would.
pub(super) fn secret_problem(kind: &GroupVersionKind, object: &Value) -> Option<String> {
    let texts = object.get("stringData").filter(|_| is_kind_of_secrets(kind))?.as_object()?;
    let (key, _) = texts.iter().find(|(_, text)| !text.is_string() && !text.is_null())?;
    Some(format!("stringData.{key}: must be text"))
}
