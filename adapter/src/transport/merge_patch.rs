//! A merge patch that can only reach the very object that it is meant for.
//!
//! Pure: a document and its [`Target`] go in; out comes the document with the target's UID and resource version, which
//! a server compares with what is live, or the words in which the document is refused.

use lifecycle_core::write::Target;
use serde_json::{Map, Value, json};

/// Adds the fence to a document.
///
/// What says which object it is may stand in a document only with the values that the object has.
pub(super) fn fenced(document: &Value, target: &Target) -> Result<Value, String> {
    if target.uid.is_empty() {
        return Err("nothing is patched without its UID".to_owned());
    }
    let Value::Object(document) = document else {
        return Err("the patch is not a mapping: it would replace the object".to_owned());
    };
    let mut fenced = document.clone();
    let api_version = target.kind.api_version();
    for (key, value) in [("apiVersion", &api_version), ("kind", &target.kind.kind)] {
        unchanged(&fenced, "", key, Some(value))?;
    }
    let metadata = fenced.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else {
        return Err("`metadata` of the patch is not a mapping".to_owned());
    };
    let namespace = target.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let version = Some(target.resource_version.as_str()).filter(|version| !version.is_empty());
    for (key, value) in [
        ("name", Some(target.name.as_str())),
        ("namespace", namespace),
        ("uid", Some(target.uid.as_str())),
        ("resourceVersion", version),
    ] {
        unchanged(metadata, "metadata.", key, value)?;
    }
    metadata.insert("uid".to_owned(), target.uid.as_str().into());
    if let Some(version) = version {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    Ok(Value::Object(fenced))
}

fn unchanged(fields: &Map<String, Value>, place: &str, key: &str, live: Option<&str>) -> Result<(), String> {
    match fields.get(key) {
        Some(wanted) if *wanted != json!(live) => {
            Err(format!("a patch cannot change `{place}{key}` from {} to {wanted}", json!(live)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifecycle_core::destination::Destination;
    use lifecycle_core::id::GroupVersionKind;

    fn target(namespace: Option<&str>, resource_version: &str) -> Target {
        Target {
            destination: Destination::ThisCluster,
            kind: GroupVersionKind::new("batch/v1", "Job"),
            namespace: namespace.map(str::to_owned),
            name: "build".to_owned(),
            uid: "u1".to_owned(),
            resource_version: resource_version.to_owned(),
        }
    }

    #[test]
    fn the_fence_is_added_and_the_rest_stays() {
        let patch = json!({ "metadata": { "labels": { "a": null } }, "spec": { "suspend": true } });
        let fence = json!({ "labels": { "a": null }, "uid": "u1", "resourceVersion": "7" });
        assert_eq!(
            fenced(&patch, &target(Some("a"), "7")),
            Ok(json!({ "metadata": fence, "spec": { "suspend": true } }))
        );
        assert_eq!(
            fenced(&json!({}), &target(None, "")),
            Ok(json!({ "metadata": { "uid": "u1" } })),
            "a version that is not known is no fence"
        );
    }

    #[test]
    fn a_document_does_not_choose_its_object() {
        let same = json!({ "apiVersion": "batch/v1", "kind": "Job",
                           "metadata": { "name": "build", "namespace": "a", "uid": "u1", "resourceVersion": "7" } });
        assert_eq!(fenced(&same, &target(Some("a"), "7")), Ok(same), "what the object has may be repeated");
        let homeless = json!({ "metadata": { "namespace": null } });
        assert!(fenced(&homeless, &target(None, "7")).is_ok(), "a cluster-scoped object has no namespace");

        let cases = [
            (json!({ "apiVersion": "v1" }), "a patch cannot change `apiVersion` from \"batch/v1\" to \"v1\""),
            (json!({ "kind": null }), "a patch cannot change `kind` from \"Job\" to null"),
            (json!({ "metadata": { "name": "x" } }), "a patch cannot change `metadata.name` from \"build\" to \"x\""),
            (
                json!({ "metadata": { "namespace": null } }),
                "a patch cannot change `metadata.namespace` from \"a\" to null",
            ),
            (json!({ "metadata": { "uid": "u2" } }), "a patch cannot change `metadata.uid` from \"u1\" to \"u2\""),
            (json!({ "metadata": { "uid": null } }), "a patch cannot change `metadata.uid` from \"u1\" to null"),
            (
                json!({ "metadata": { "resourceVersion": "8" } }),
                "a patch cannot change `metadata.resourceVersion` from \"7\" to \"8\"",
            ),
            (
                json!({ "metadata": { "resourceVersion": 7 } }),
                "a patch cannot change `metadata.resourceVersion` from \"7\" to 7",
            ),
            (json!({ "metadata": null }), "`metadata` of the patch is not a mapping"),
            (json!([]), "the patch is not a mapping: it would replace the object"),
            (json!(null), "the patch is not a mapping: it would replace the object"),
        ];
        for (document, expected) in cases {
            assert_eq!(fenced(&document, &target(Some("a"), "7")), Err(expected.to_owned()), "{document}");
        }
        let unknown = fenced(&json!({ "metadata": { "resourceVersion": "7" } }), &target(Some("a"), ""));
        assert_eq!(unknown, Err("a patch cannot change `metadata.resourceVersion` from null to \"7\"".to_owned()));
        let placeless = Target { uid: String::new(), ..target(None, "7") };
        assert_eq!(fenced(&json!({}), &placeless), Err("nothing is patched without its UID".to_owned()));
    }
}
