//! Fences: a write carries the UID and resource version that its author read, and the API server refuses the
//! write if the live object has others.
//!
//! In: a fence with a manifest, a merge patch or a deletion's options. Out: the body of the request. Fails: a
//! message, if the fence has no UID or the body contradicts it. Pure.

use crate::object_ref::ObjectRef;
use crate::write::{PropagationPolicy, Target};
use serde_json::{Map, Value, json};

/// The UID, and usually the resource version, that the live object must have for a write to succeed. So no
/// write reaches an object that was created later under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence<'a> {
    uid: &'a str,
    resource_version: Option<&'a str>,
}

impl<'a> Fence<'a> {
    /// Requires this UID and this resource version; if `resource_version` is empty, any version of the object.
    #[must_use]
    pub fn new(uid: &'a str, resource_version: &'a str) -> Self {
        Self { uid, resource_version: Some(resource_version).filter(|version| !version.is_empty()) }
    }

    /// The UID that the live object must have.
    #[must_use]
    pub fn uid(&self) -> &'a str {
        self.uid
    }

    /// The resource version that the live object must have; `None` for any.
    #[must_use]
    pub fn resource_version(&self) -> Option<&'a str> {
        self.resource_version
    }

    /// Requires the UID and resource version that `object` was read with.
    #[must_use]
    pub fn of(object: &'a Value) -> Self {
        let metadata = |key: &str| {
            object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default()
        };
        Self::new(metadata("uid"), metadata("resourceVersion"))
    }

    /// Says whether a server lets a write with this fence reach `live`.
    ///
    /// # Errors
    ///
    /// The object has another UID, or another resource version than the fence requires.
    pub fn admits(&self, live: &Value) -> Result<(), &'static str> {
        let live = Fence::of(live);
        if live.uid != self.uid {
            return Err("the UID is another one");
        }
        match self.resource_version {
            Some(version) if live.resource_version != Some(version) => Err("the object was modified meanwhile"),
            Some(_) | None => Ok(()),
        }
    }

    /// Copies the UID and the resource version into the manifest of an apply, so that the API server refuses
    /// the apply if the object was replaced or changed.
    ///
    /// # Errors
    ///
    /// The fence has no UID, or the manifest has no metadata.
    pub fn in_manifest(&self, manifest: &Value) -> Result<Value, String> {
        let uid = self.checked_uid()?;
        let mut fenced = manifest.clone();
        let Some(metadata) = fenced.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Err("the manifest has no metadata".to_owned());
        };
        metadata.insert("uid".to_owned(), uid.into());
        if let Some(version) = self.resource_version {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        Ok(fenced)
    }

    /// Adds the fence to a merge patch for `object`.
    ///
    /// # Errors
    ///
    /// The fence has no UID, the patch is not a mapping, or the patch changes the object's kind, name,
    /// namespace, UID or resource version.
    pub fn in_patch(&self, patch: &Value, object: &ObjectRef) -> Result<Value, String> {
        let uid = self.checked_uid()?;
        let Value::Object(patch) = patch else {
            return Err("the patch is not a mapping: it would replace the object".to_owned());
        };
        let mut fenced = patch.clone();
        for (key, value) in [("apiVersion", &object.kind.api_version()), ("kind", &object.kind.kind)] {
            unchanged(&fenced, "", key, Some(value))?;
        }
        let metadata = fenced.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(metadata) = metadata else {
            return Err("`metadata` of the patch is not a mapping".to_owned());
        };
        for (key, value) in [
            ("name", Some(object.name.as_str())),
            ("namespace", object.namespace.as_deref()),
            ("uid", Some(uid)),
            ("resourceVersion", self.resource_version),
        ] {
            unchanged(metadata, "metadata.", key, value)?;
        }
        metadata.insert("uid".to_owned(), uid.into());
        if let Some(version) = self.resource_version {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        Ok(Value::Object(fenced))
    }

    /// Builds the `DeleteOptions` of a deletion, with the fence as preconditions.
    ///
    /// # Errors
    ///
    /// The fence has no UID.
    pub fn in_delete_options(&self, propagation: PropagationPolicy) -> Result<Value, String> {
        let propagation = match propagation {
            PropagationPolicy::Background => "Background",
            PropagationPolicy::Foreground => "Foreground",
            PropagationPolicy::Orphan => "Orphan",
        };
        let mut preconditions = json!({ "uid": self.checked_uid()? });
        if let Some(version) = self.resource_version {
            preconditions["resourceVersion"] = version.into();
        }
        Ok(json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": propagation,
        }))
    }

    /// Builds the `test` operations of a JSON patch (RFC 6902); the server refuses the patch if one of them fails.
    ///
    /// # Errors
    ///
    /// The fence has no UID.
    pub fn in_json_patch(&self) -> Result<Vec<Value>, String> {
        let mut tests = vec![test("/metadata/uid", self.checked_uid()?)];
        if let Some(version) = self.resource_version {
            tests.push(test("/metadata/resourceVersion", version));
        }
        Ok(tests)
    }

    fn checked_uid(&self) -> Result<&'a str, String> {
        if self.uid.is_empty() {
            return Err("the UID is missing: without it the write could reach another object".to_owned());
        }
        Ok(self.uid)
    }
}

impl<'a> From<&'a Target> for Fence<'a> {
    fn from(target: &'a Target) -> Self {
        Self::new(&target.uid, &target.resource_version)
    }
}

fn test(path: &str, value: &str) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// Checks that a patch leaves an identifying field out or repeats its live value.
fn unchanged(fields: &Map<String, Value>, place: &str, key: &str, live: Option<&str>) -> Result<(), String> {
    match fields.get(key) {
        Some(patched) if *patched != json!(live) => {
            Err(format!("a patch cannot change `{place}{key}` from {} to {patched}", json!(live)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::id::GroupVersionKind;

    use super::*;

    fn job(namespace: Option<&str>) -> ObjectRef {
        ObjectRef { name: "build".to_owned(), ..ObjectRef::all(GroupVersionKind::new("batch/v1", "Job"), namespace) }
    }

    #[test]
    fn fence_of_an_object_names_its_uid_and_version() {
        let object = json!({ "metadata": { "uid": "u1", "resourceVersion": "7" } });
        assert_eq!(Fence::of(&object), Fence::new("u1", "7"));
        assert_eq!(Fence::of(&json!({})).in_delete_options(PropagationPolicy::Background).ok(), None);
    }

    #[test]
    fn fence_admits_the_object_that_was_read() {
        let object = json!({ "metadata": { "uid": "u1", "resourceVersion": "7" } });
        let cases = [
            ("the object as it was read", Fence::new("u1", "7"), Ok(())),
            ("any version of it", Fence::new("u1", ""), Ok(())),
            ("a later version", Fence::new("u1", "6"), Err("the object was modified meanwhile")),
            ("a namesake", Fence::new("u2", "7"), Err("the UID is another one")),
            ("an object without a UID", Fence::new("", ""), Err("the UID is another one")),
        ];
        for (name, fence, expected) in cases {
            assert_eq!(fence.admits(&object), expected, "{name}");
        }
    }

    #[test]
    fn manifest_gets_the_fence_and_keeps_the_rest() {
        let object = json!({ "metadata": { "name": "a" } });
        let fenced = Fence::new("u1", "").in_manifest(&object);
        assert_eq!(fenced, Ok(json!({ "metadata": { "name": "a", "uid": "u1" } })));
        assert!(Fence::new("", "").in_manifest(&object).is_err(), "an apply without a fence could create");
    }

    #[test]
    fn delete_options_name_the_version_only_if_it_is_known() {
        for (version, expected) in [("7", json!({ "uid": "u1", "resourceVersion": "7" })), ("", json!({ "uid": "u1" }))]
        {
            let options =
                Fence::new("u1", version).in_delete_options(PropagationPolicy::Foreground).unwrap_or_default();
            assert_eq!(options["preconditions"], expected);
            assert_eq!(options["propagationPolicy"], "Foreground");
        }
    }

    #[test]
    fn patch_gets_the_fence_and_keeps_the_rest() {
        let patch = json!({ "metadata": { "labels": { "a": null } }, "spec": { "suspend": true } });
        let fence = json!({ "labels": { "a": null }, "uid": "u1", "resourceVersion": "7" });
        assert_eq!(
            Fence::new("u1", "7").in_patch(&patch, &job(Some("a"))),
            Ok(json!({ "metadata": fence, "spec": { "suspend": true } }))
        );
        assert_eq!(
            Fence::new("u1", "").in_patch(&json!({}), &job(None)),
            Ok(json!({ "metadata": { "uid": "u1" } })),
            "an unknown resource version is not part of the fence"
        );
    }

    #[test]
    fn patch_does_not_choose_its_object() {
        let fence = Fence::new("u1", "7");
        let same = json!({ "apiVersion": "batch/v1", "kind": "Job",
                           "metadata": { "name": "build", "namespace": "a", "uid": "u1", "resourceVersion": "7" } });
        assert_eq!(fence.in_patch(&same, &job(Some("a"))), Ok(same), "a patch may repeat the live values");
        let homeless = json!({ "metadata": { "namespace": null } });
        assert!(fence.in_patch(&homeless, &job(None)).is_ok(), "a cluster-scoped object has no namespace");

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
        for (patch, expected) in cases {
            assert_eq!(fence.in_patch(&patch, &job(Some("a"))), Err(expected.to_owned()), "{patch}");
        }
        let unknown =
            Fence::new("u1", "").in_patch(&json!({ "metadata": { "resourceVersion": "7" } }), &job(Some("a")));
        assert_eq!(unknown, Err("a patch cannot change `metadata.resourceVersion` from null to \"7\"".to_owned()));
        let unfenced = Fence::new("", "7").in_patch(&json!({}), &job(None));
        assert_eq!(unfenced, Err("the UID is missing: without it the write could reach another object".to_owned()));
    }
}
