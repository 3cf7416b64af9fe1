//! Says what keeps an object that Kubernetes is deleting.
//!
//! In: a live object. Out: its finalizers, and what the API server reports of the content of a namespace, as a phrase such as
//! `held by the finalizer example.io/backup`. Fails never: nothing is said of a field of another form.

use serde_json::Value;

/// The conditions in which the API server itself says what keeps a namespace. Anybody may write the conditions of other kinds, and
/// quote secrets in them.
const OF_NAMESPACES: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
];

/// What keeps an object that is being deleted; `None` if nothing is known to, or if nobody deletes the object.
#[must_use]
pub fn held_by(object: &Value) -> Option<String> {
    object.pointer("/metadata/deletionTimestamp").filter(|at| !at.is_null())?;
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
    let finalizers: Vec<&str> = finalizers.filter_map(Value::as_str).collect();
    let named = match finalizers.as_slice() {
        [] => None,
        [one] => Some(format!("held by the finalizer {one}")),
        several => Some(format!("held by the finalizers {}", several.join(", "))),
    };
    let said: Vec<String> = named.into_iter().chain(reported(object)).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The true conditions of a namespace, in which the server says what is left in it.
fn reported(object: &Value) -> impl Iterator<Item = String> {
    let is_namespace = object["apiVersion"] == "v1" && object["kind"] == "Namespace";
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).filter(|_| is_namespace);
    let conditions = conditions.into_iter().flatten().filter(|condition| condition["status"] == "True");
    conditions.filter_map(|condition| {
        let name = condition["type"].as_str().filter(|name| OF_NAMESPACES.contains(name))?;
        let message = condition["message"].as_str().filter(|message| !message.is_empty());
        Some(message.map_or_else(|| name.to_owned(), |message| format!("{name}: {message}")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: (&str, &str), finalizers: Value, conditions: Value) -> Value {
        json!({
            "apiVersion": kind.0, "kind": kind.1,
            "metadata": { "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers },
            "status": { "conditions": conditions },
        })
    }

    fn condition(name: &str, status: &str, message: &str) -> Value {
        json!({ "type": name, "status": status, "message": message })
    }

    #[test]
    fn finalizers_and_the_servers_own_conditions_are_told() {
        let (map, namespace) = (("v1", "ConfigMap"), ("v1", "Namespace"));
        let remaining = || {
            condition(
                "NamespaceContentRemaining",
                "True",
                "Some resources are remaining: pods. has 1 resource instances",
            )
        };
        let cases = [
            ("no finalizer", object(map, json!([]), json!(null)), None),
            ("one", object(map, json!(["a.io/b"]), json!(null)), Some("held by the finalizer a.io/b")),
            ("two", object(map, json!(["a.io/b", "c"]), json!(null)), Some("held by the finalizers a.io/b, c")),
            (
                "a namespace with content",
                object(
                    namespace,
                    json!(null),
                    json!([condition("NamespaceDeletionContentFailure", "False", "fine"), remaining()]),
                ),
                Some("NamespaceContentRemaining: Some resources are remaining: pods. has 1 resource instances"),
            ),
            (
                "a namespace with a finalizer of its own and content",
                object(
                    namespace,
                    json!(["a.io/b"]),
                    json!([remaining(), condition("NamespaceFinalizersRemaining", "True", "")]),
                ),
                Some(
                    "held by the finalizer a.io/b; NamespaceContentRemaining: Some resources are remaining: pods. has 1 resource \
                     instances; NamespaceFinalizersRemaining",
                ),
            ),
            ("another kind's free text", object(("a.io/v1", "Namespace"), json!([]), json!([remaining()])), None),
            ("fields of other forms", object(namespace, json!("a"), json!("b")), None),
        ];
        for (name, object, expected) in cases {
            assert_eq!(held_by(&object).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn nothing_holds_an_object_that_nobody_deletes() {
        let mut living = object(("v1", "ConfigMap"), json!(["a.io/b"]), json!(null));
        living["metadata"]["deletionTimestamp"] = Value::Null;
        assert_eq!(held_by(&living), None);
    }
}
