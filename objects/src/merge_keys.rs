//! Finds elements of a list that the API server cannot tell apart.
//!
//! In: an object. Out: the first list with two elements of one key, and what to do; or a refusal that says so. Pure.
//!
//! The server merges some lists by a key, such as `env` by `name`. It accepts equal keys in a creation, and refuses every apply
//! of such an object from then on. So the adapter refuses it before the creation. The table is that of the lists which
//! Kubernetes' own types declare as maps or sets (`x-kubernetes-list-type`), for the objects that people write.

use std::fmt;

use serde_json::Value;

use crate::object_ref::ObjectRef;
use crate::pod;
use crate::write::{WriteError, WriteErrorKind};

/// Lists of every object.
const METADATA: [(&str, &[&str]); 2] = [("metadata/finalizers", &[]), ("metadata/ownerReferences", &["uid"])];

/// Lists of the specification of a Pod. `*` is each element of a list.
const POD: [(&str, &[&str]); 17] = [
    ("containers", &["name"]),
    ("containers/*/env", &["name"]),
    ("containers/*/ports", &["containerPort", "protocol"]),
    ("containers/*/volumeDevices", &["devicePath"]),
    ("containers/*/volumeMounts", &["mountPath"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("initContainers/*/env", &["name"]),
    ("initContainers/*/ports", &["containerPort", "protocol"]),
    ("initContainers/*/volumeDevices", &["devicePath"]),
    ("initContainers/*/volumeMounts", &["mountPath"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("volumes", &["name"]),
    ("ephemeralContainers", &["name"]),
];

/// A port's protocol is part of its key, and manifests leave it out.
const DEFAULT_PROTOCOL: &str = "TCP";

/// Two elements of a list that have the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EqualKeys {
    /// The list, such as `spec.template.spec.containers[0].env`.
    pub list: String,
    /// The key, such as `name "A"`.
    pub key: String,
}

impl fmt::Display for EqualKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, key } = self;
        write!(
            f,
            "`{list}` has two elements with the {key}: a server creates the object, and refuses every later apply of it; keep \
             one of them"
        )
    }
}

/// Refuses an object that the server would create, and never apply.
///
/// # Errors
///
/// A list of the object has equal keys.
pub fn refuse_equal_keys(verb: &str, desired: &Value) -> Result<(), WriteError> {
    let Some(equal) = equal_keys(desired) else { return Ok(()) };
    let call = format!("{verb} {}", ObjectRef::of(desired));
    Err(WriteError { kind: WriteErrorKind::Invalid, call, status: None, message: equal.to_string() })
}

/// The first list of the object with equal keys.
#[must_use]
pub fn equal_keys(object: &Value) -> Option<EqualKeys> {
    let kind = ObjectRef::of(object).kind;
    let own: &[(&str, &[&str])] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Service") => &[("spec/ports", &["port", "protocol"])],
        ("", "ServiceAccount") => &[("secrets", &["name"])],
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            &[("webhooks", &["name"])]
        }
        _ => &[],
    };
    let of_pod = pod::specification(&kind)
        .into_iter()
        .flat_map(|pod| POD.iter().map(move |(list, keys)| (format!("{pod}/{list}"), *keys)));
    let others = METADATA.iter().chain(own).map(|(list, keys)| ((*list).to_owned(), *keys));
    others.chain(of_pod).find_map(|(list, keys)| {
        let steps: Vec<&str> = list.split('/').collect();
        find(object, &steps, keys, String::new())
    })
}

fn find(value: &Value, steps: &[&str], keys: &[&str], at: String) -> Option<EqualKeys> {
    match steps {
        [] => repeated(value.as_array()?, keys).map(|key| EqualKeys { list: at, key }),
        ["*", rest @ ..] => {
            let mut elements = value.as_array()?.iter().enumerate();
            elements.find_map(|(index, element)| find(element, rest, keys, format!("{at}[{index}]")))
        }
        [step, rest @ ..] => {
            let dot = if at.is_empty() { "" } else { "." };
            find(value.get(step)?, rest, keys, format!("{at}{dot}{step}"))
        }
    }
}

/// The first key, in words, that an element shares with one before it. An element without its key is another mistake.
fn repeated(elements: &[Value], keys: &[&str]) -> Option<String> {
    let key_of = |element: &Value| -> Option<String> {
        if keys.is_empty() {
            return Some(format!("value {element}"));
        }
        let parts = keys.iter().map(|key| match element.get(key) {
            None if *key == "protocol" => Some(format!("{key} \"{DEFAULT_PROTOCOL}\"")),
            value => Some(format!("{key} {}", value?)),
        });
        Some(parts.collect::<Option<Vec<String>>>()?.join(" and the "))
    };
    let mut seen = std::collections::HashSet::new();
    elements.iter().filter_map(key_of).find(|key| !seen.insert(key.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(api_version: &str, kind: &str, rest: Value) -> Option<String> {
        let mut object = rest;
        (object["apiVersion"], object["kind"]) = (json!(api_version), json!(kind));
        equal_keys(&object).map(|equal| format!("{} {}", equal.list, equal.key))
    }

    #[test]
    fn equal_keys_are_named_with_their_list() {
        let twice = |field: &str, first: Value, second: Value| json!({ "containers": [{ "name": "a" }, { "name": "b", field: [first, second] }] });
        let env = twice("env", json!({ "name": "A", "value": "1" }), json!({ "name": "A", "value": "2" }));
        let ports = twice("ports", json!({ "containerPort": 80 }), json!({ "containerPort": 80, "protocol": "TCP" }));
        let other_ports =
            twice("ports", json!({ "containerPort": 80 }), json!({ "containerPort": 80, "protocol": "UDP" }));
        let args = twice("args", json!("a"), json!("a"));
        let in_template = |pod: &Value| json!({ "spec": { "template": { "spec": pod } } });
        let cases = [
            (
                found("apps/v1", "Deployment", in_template(&env)),
                Some("spec.template.spec.containers[1].env name \"A\""),
            ),
            (
                found("batch/v1", "Job", in_template(&ports)),
                Some("spec.template.spec.containers[1].ports containerPort 80 and the protocol \"TCP\""),
            ),
            (found("v1", "Pod", json!({ "spec": env })), Some("spec.containers[1].env name \"A\"")),
            (
                found("batch/v1", "CronJob", json!({ "spec": { "jobTemplate": in_template(&env) } })),
                Some("spec.jobTemplate.spec.template.spec.containers[1].env name \"A\""),
            ),
            (
                found("v1", "ConfigMap", json!({ "metadata": { "finalizers": ["a/b", "c/d", "a/b"] } })),
                Some("metadata.finalizers value \"a/b\""),
            ),
            (found("apps/v1", "Deployment", in_template(&other_ports)), None),
            (found("apps/v1", "Deployment", in_template(&args)), None),
            (found("example.com/v1", "Deployment", in_template(&env)), None),
        ];
        for (found, expected) in cases {
            assert_eq!(found.as_deref(), expected);
        }
    }
}
