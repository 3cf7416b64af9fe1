//! Validates objects by the rules that every API server applies to every kind.

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use serde_json::{Map, Value};

use super::server;

/// Returns the reason why an API server would refuse the object, if there is one.
pub(super) fn problem(object: &Value) -> Option<String> {
    let subject = ObjectRef::of(object);
    let name = subject.name;
    if subject.kind.version.is_empty() || subject.kind.kind.is_empty() {
        Some("apiVersion and kind are required".to_owned())
    } else if !is_name(&subject.kind, &name) {
        Some(format!("metadata.name: {name:?} is not a DNS subdomain (lower case letters, digits, - and .)"))
    } else if !has_plain_maps(object) {
        Some("metadata.labels and metadata.annotations must map strings to strings".to_owned())
    } else {
        server::secret_problem(&subject.kind, object)
    }
}

/// Names are DNS subdomains. Names of RBAC objects may contain any character that a URL path segment may.
fn is_name(kind: &GroupVersionKind, name: &str) -> bool {
    if kind.group == "rbac.authorization.k8s.io" {
        return !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    }
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label =
        |label: &str| label.starts_with(inner) && label.ends_with(inner) && label.chars().all(|c| inner(c) || c == '-');
    name.len() <= 253 && name.split('.').all(is_label)
}

fn has_plain_maps(object: &Value) -> bool {
    ["labels", "annotations"].into_iter().all(|key| {
        let map: Option<&Map<String, Value>> = match object.get("metadata").and_then(|metadata| metadata.get(key)) {
            None | Some(Value::Null) => return true,
            Some(value) => value.as_object(),
        };
        map.is_some_and(|map| map.values().all(Value::is_string))
    })
}
