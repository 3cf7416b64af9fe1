//! Writes: creations, server-side applies, merge patches, deletions, and the migration of managed fields.
//!
//! A creation is fenced by its name, which must be free. Every other write is fenced by a [`Fence`]; one without a UID is
//! not sent.

use lifecycle_core::object_ref::ObjectRef;
use lifecycle_core::task::PropagationPolicy;
use serde_json::{Value, json};

use super::Cluster;
use crate::call::{Call, Verb};
use crate::error::{Error, ErrorKind};
use crate::fence::Fence;
use crate::{migration, request};

/// What became of a deletion that the server accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// The object is gone.
    Gone,
    /// The object stays until its finalizers and dependents let it go.
    Pending(Value),
}

impl Cluster {
    /// Creates the object (POST) and returns what the server made of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the name is taken; otherwise the object may have been created or not.
    pub async fn create(&self, desired: &Value) -> Result<Value, Error> {
        self.post(Verb::Create, desired).await
    }

    /// Asks what [`create`](Self::create) would answer, without writing (`dryRun=All`).
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub async fn dry_run_create(&self, desired: &Value) -> Result<(), Error> {
        self.post(Verb::DryRun, desired).await.map(drop)
    }

    async fn post(&self, verb: Verb, desired: &Value) -> Result<Value, Error> {
        let object = ObjectRef::of(desired);
        let call = Call { verb, object: &object };
        let endpoint = self.endpoint(&call).await?;
        let path = endpoint.collection_for_create(&call)?;
        let request = request::create(path, &self.field_manager, verb == Verb::DryRun, desired);
        let answer = self.sender.send(&call, request).await;
        let created = answer.and_then(|answer| endpoint.expected(&object).object(answer));
        created.map_err(|refusal| self.refused(&call, refusal))
    }

    /// Applies a manifest onto the object, by force, and returns what the server made of it.
    ///
    /// The path has the kind and version of the manifest, which may be newer than the version that was read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the fence does not hold.
    pub async fn apply(&self, desired: &Value, object: &ObjectRef, fence: Fence<'_>) -> Result<Value, Error> {
        let object = ObjectRef { kind: ObjectRef::of(desired).kind, ..object.clone() };
        let call = Call { verb: Verb::Apply, object: &object };
        let body = fence.in_manifest(desired).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        let request = request::apply(&endpoint.object(&call)?, &self.field_manager, &body);
        let answer = self.sender.send(&call, request).await;
        let applied = answer.and_then(|answer| endpoint.expected(&object).with_uid(fence.uid()).object(answer));
        applied.map_err(|refusal| self.refused(&call, refusal))
    }

    /// Turns the entries of `managed_fields` that the field manager and its former names have written by other ways than
    /// an apply into entries of its applies, so that its next apply removes what the manifest no longer names.
    ///
    /// Returns the resource version that the object has then; none, and sends nothing, if there is nothing to migrate.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the fence does not hold, or the object has other managed fields.
    pub async fn migrate(
        &self,
        object: &ObjectRef,
        fence: Fence<'_>,
        managed_fields: &Value,
    ) -> Result<Option<String>, Error> {
        let Some(migrated) = migration::migrate(managed_fields, &self.field_manager, self.former_managers) else {
            return Ok(None);
        };
        let call = Call { verb: Verb::Migrate, object };
        // The answer's version is the next apply's fence, so nothing may have come before it: not every write shows in the
        // managed fields, and a deletion that finalizers hold up never does.
        let mut patch = fence.in_json_patch().map_err(|message| call.invalid(message))?;
        patch.push(json!({ "op": "test", "path": "/metadata/managedFields", "value": managed_fields }));
        patch.push(json!({ "op": "replace", "path": "/metadata/managedFields", "value": migrated }));
        let endpoint = self.endpoint(&call).await?;
        let request = request::json_patch(&endpoint.object(&call)?, &self.field_manager, &Value::Array(patch));
        let answer = self.sender.send(&call, request).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).object(answer)) {
            Ok(live) => Ok(live.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)),
            Err(refusal) if refusal.is_failed_test() => Err(Error {
                kind: ErrorKind::Conflict,
                message: "the object or its field managers changed meanwhile".to_owned(),
                ..refusal.into_error(&call)
            }),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    /// Sends one JSON merge patch (RFC 7396), and returns what the server made of the object; none if it does not exist.
    ///
    /// The patch is written as the field manager `<name>-patch`: as the manager itself, the patched fields would go with
    /// its next apply, which does not name them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the fence does not hold.
    pub async fn merge_patch(
        &self,
        patch: &Value,
        object: &ObjectRef,
        fence: Fence<'_>,
    ) -> Result<Option<Value>, Error> {
        let call = Call { verb: Verb::Patch, object };
        let fenced = fence.in_patch(patch, object).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        let manager = format!("{}-patch", self.field_manager);
        let request = request::merge_patch(&endpoint.object(&call)?, &manager, &fenced);
        let answer = self.sender.send(&call, request).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).object(answer)) {
            Ok(patched) => Ok(Some(patched)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    /// Deletes the object. One that does not exist counts as gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] if the fence does not hold.
    pub async fn delete(
        &self,
        object: &ObjectRef,
        fence: Fence<'_>,
        propagation: PropagationPolicy,
    ) -> Result<Deletion, Error> {
        let call = Call { verb: Verb::Delete, object };
        let options = fence.in_delete_options(propagation).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        let answer = self.sender.send(&call, request::delete(&endpoint.object(&call)?, &options)).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).deletion(answer)) {
            Ok(answer) => Ok(deletion(answer)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(Deletion::Gone),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }
}

/// Reads the answer to a DELETE: a status, or the object as it was last.
///
/// Some kinds answer with the object even when it is gone at once; one that stays carries a deletionTimestamp.
pub(super) fn deletion(answer: Value) -> Deletion {
    let stays = answer.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
    if stays { Deletion::Pending(answer) } else { Deletion::Gone }
}
