//! Warns of comparisons of a field of a live object with a value of another type, such as `spec.replicas` with `'3'`: a patch gate
//! with such a comparison holds on every event.
//!
//! In: a task. Out: the types of the fields of its entries, which the library's types tell: they refuse a value of another type.

use lifecycle_check::lint::mismatches;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_core::task::Task;
use lifecycle_language::cel::Types;
use lifecycle_language::value::Type;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::quantity;
use lifecycle_transport::field_types::{BOOLEAN, INTEGER, NUMBER, TEXT, refused};
use serde_json::{Value, json};

pub(super) fn lint(task: &Task, document: &Document) -> Diagnostics {
    mismatches(task, document, &|path| type_at(task, path).map_or_else(Types::open, |known| Types::of([known])))
}

/// The type of the field at a path such as `resources.web.spec.replicas`; none if only an event knows it.
fn type_at(task: &Task, path: &str) -> Option<Type> {
    let (entry, field) = path.strip_prefix("resources.")?.split_once('.')?;
    let resource = task.resources.iter().find(|resource| resource.bundle.is_none() && resource.name == entry)?;
    type_of(&resource.kind, field)
}

fn type_of(kind: &GroupVersionKind, field: &str) -> Option<Type> {
    // Their keys have dots, too.
    if ["metadata.annotations.", "metadata.labels."].iter().any(|map| field.starts_with(map)) {
        return Some(Type::Text);
    }
    let keys: Vec<&str> = field.split('.').collect();
    // A server takes a number, and stores text.
    if quantity::is_at(kind, &keys) {
        return Some(Type::Text);
    }
    let refused_as = |leaf: Value| {
        let (depth, wanted) = refused(kind, &with(leaf, &keys))?;
        (depth == keys.len()).then_some(wanted)
    };
    match refused_as(json!("text")).as_deref() {
        Some(INTEGER | NUMBER) => Some(Type::Number),
        Some(BOOLEAN) => Some(Type::Boolean),
        Some(_) => None,
        None => (refused_as(json!(1)).as_deref() == Some(TEXT)).then_some(Type::Text),
    }
}

/// An object with one value, at this path of keys; digits are the index of a list.
fn with(leaf: Value, keys: &[&str]) -> Value {
    keys.iter().rev().fold(leaf, |below, key| {
        if key.bytes().all(|byte| byte.is_ascii_digit()) { json!([below]) } else { json!({ *key: below }) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_the_library() {
        let deployment = GroupVersionKind::new("apps/v1", "Deployment");
        let cases = [
            ("spec.replicas", Some(Type::Number)),
            ("spec.paused", Some(Type::Boolean)),
            ("status.readyReplicas", Some(Type::Number)),
            ("metadata.name", Some(Type::Text)),
            ("metadata.annotations.example.io/tier", Some(Type::Text)),
            ("spec.template.spec.containers.0.image", Some(Type::Text)),
            ("spec.template.spec.containers.0.resources.limits.cpu", Some(Type::Text)),
            ("spec.template.spec.containers.0.livenessProbe.httpGet.port", None),
            ("spec.template.spec.nodeSelector.example.io/pool", None),
            ("spec.selector", None),
            ("spec.unknown", None),
            ("metadata.creationTimestamp", None),
        ];
        for (field, expected) in cases {
            assert_eq!(type_of(&deployment, field), expected, "{field}");
        }
        assert_eq!(type_of(&GroupVersionKind::new("v1", "ConfigMap"), "data.replicas"), Some(Type::Text));
        assert_eq!(type_of(&GroupVersionKind::new("example.com/v1", "Thing"), "spec.replicas"), None);
    }
}
