//! Writes of one request each: creations, server-side applies, merge patches, deletions, and the migration of managed fields.
//!
//! A creation needs no [`Fence`]: the server refuses it if the name is taken. Every other write needs a fence
//! with a UID, and is not sent without.

use lifecycle_objects::fence::Fence;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, PropagationPolicy, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use super::Cluster;
use crate::call::{Call, Verb};
use crate::managed_fields::unpack;
use crate::migration::{self, Takeover};
use crate::refusal::Refusal;
use crate::request;

impl Cluster {
    /// Creates the object (POST) and returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::AlreadyExists`] if the name is taken. After any other error the object may exist or not.
    pub async fn create(&self, desired: &Value) -> Result<Value, WriteError> {
        self.post(Verb::Create, desired).await
    }

    /// Sends the creation with `dryRun=All`: the server checks it as [`create`](Self::create) and stores nothing.
    ///
    /// # Errors
    ///
    /// The same as [`create`](Self::create).
    pub async fn dry_run_create(&self, desired: &Value) -> Result<(), WriteError> {
        self.post(Verb::DryRun, desired).await.map(drop)
    }

    async fn post(&self, verb: Verb, desired: &Value) -> Result<Value, WriteError> {
        let object = ObjectRef::of(desired);
        let call = Call { verb, object: &object };
        let endpoint = self.endpoint(&call).await?;
        let path = endpoint.collection_for_create(&call)?;
        let request = request::create(path, &self.field_manager, verb == Verb::DryRun, desired);
        let answer = self.sender.send(&call, request).await;
        let created = answer.and_then(|answer| endpoint.expected(&object).object(answer));
        created.map_err(|refusal| self.refused(&call, refusal))
    }

    /// Applies a manifest to an existing object, with `force=true`, and returns the object as the server
    /// stored it.
    ///
    /// The request's path has the kind and version of the manifest, which may differ from the version that
    /// was read.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence.
    pub async fn apply(&self, desired: &Value, object: &ObjectRef, fence: Fence<'_>) -> Result<Value, WriteError> {
        let object = ObjectRef { kind: ObjectRef::of(desired).kind, ..object.clone() };
        let call = Call { verb: Verb::Apply, object: &object };
        self.try_apply(&call, desired, fence).await?.map_err(|refusal| self.refused(&call, refusal))
    }

    /// Sends the apply of `call`, and keeps the server's refusal for those who can do something about it.
    pub(super) async fn try_apply(
        &self,
        call: &Call<'_>,
        desired: &Value,
        fence: Fence<'_>,
    ) -> Result<Result<Value, Refusal>, WriteError> {
        let body = fence.in_manifest(desired).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(call).await?;
        let request = request::apply(&endpoint.object(call)?, &self.field_manager, &body);
        let answer = self.sender.send(call, request).await;
        Ok(answer.and_then(|answer| endpoint.expected(call.object).with_uid(fence.uid()).object(answer)))
    }

    /// Moves the fields that the field manager, or one of its former names, wrote with the operation `Update`
    /// to its operation `Apply`; with [`Takeover::OwnAndKubectl`], those of kubectl, too; and of a Secret, the annotation in which
    /// `kubectl apply` keeps the values. `managed_fields` is the list, or its JSON as a
    /// text, as [`Pages`](crate::Pages) return it.
    ///
    /// Without this migration, its next apply would keep fields that the manifest no longer contains.
    ///
    /// Returns the object's resource version after the migration; if nothing has to be migrated, sends
    /// nothing and returns `None`.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence, or has other `managedFields` by now.
    pub async fn migrate(
        &self,
        object: &ObjectRef,
        fence: Fence<'_>,
        managed_fields: &Value,
        takeover: Takeover,
    ) -> Result<Option<String>, WriteError> {
        let managed_fields = &*unpack(managed_fields);
        let manager = &self.field_manager;
        let renamed = migration::texts_to_data(&object.kind, managed_fields, Some(manager));
        let known = renamed.as_ref().unwrap_or(managed_fields);
        let cleared = migration::last_applied_to(&object.kind, known, manager);
        let known = cleared.as_ref().unwrap_or(known);
        let migrated = migration::migrate(known, manager, self.former_managers, takeover);
        let migrated = migrated.or_else(|| cleared.clone()).or_else(|| renamed.clone());
        let Some(migrated) = migrated else {
            return Ok(None);
        };
        let call = Call { verb: Verb::Migrate, object };
        // The next apply is fenced with the resource version of this answer, so this patch must fail after
        // any other write. Testing `managedFields` alone is not enough: some writes, such as setting a
        // deletionTimestamp, leave it unchanged.
        let mut patch = fence.in_json_patch().map_err(|message| call.invalid(message))?;
        patch.push(json!({ "op": "test", "path": "/metadata/managedFields", "value": managed_fields }));
        patch.push(json!({ "op": "replace", "path": "/metadata/managedFields", "value": migrated }));
        let endpoint = self.endpoint(&call).await?;
        let request = request::json_patch(&endpoint.object(&call)?, &self.field_manager, &Value::Array(patch));
        let answer = self.sender.send(&call, request).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).object(answer)) {
            Ok(live) => Ok(live.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)),
            Err(refusal) if refusal.is_failed_test() => Err(WriteError {
                kind: WriteErrorKind::Conflict,
                message: "the object or its field managers changed meanwhile".to_owned(),
                ..refusal.into_error(&call)
            }),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    /// Sends one JSON merge patch (RFC 7396), and returns the object as the server stored it; `None` if it
    /// does not exist.
    ///
    /// The field manager of the patch is `<name>-patch`: under the manager's own name, its next apply would
    /// remove the patched fields, because the manifest does not contain them.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence; [`WriteErrorKind::Invalid`] if the patch
    /// has a `status` that is a subresource.
    pub async fn merge_patch(
        &self,
        patch: &Value,
        object: &ObjectRef,
        fence: Fence<'_>,
    ) -> Result<Option<Value>, WriteError> {
        let call = Call { verb: Verb::Patch, object };
        let fenced = fence.in_patch(patch, object).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        endpoint.check_patch(&call, patch)?;
        let manager = format!("{}-patch", self.field_manager);
        let request = request::merge_patch(&endpoint.object(&call)?, &manager, &fenced);
        let answer = self.sender.send(&call, request).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).object(answer)) {
            Ok(patched) => Ok(Some(patched)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(None),
            Err(refusal) => Err(self.refused(&call, refusal)),
        }
    }

    /// Deletes the object. An object that does not exist counts as deleted.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence.
    pub async fn delete(
        &self,
        object: &ObjectRef,
        fence: Fence<'_>,
        propagation: PropagationPolicy,
    ) -> Result<Deletion, WriteError> {
        let call = Call { verb: Verb::Delete, object };
        let options = fence.in_delete_options(propagation).map_err(|message| call.invalid(message))?;
        self.send_deletion(&call, fence, &options).await
    }

    /// Sends the deletion with `dryRun=All`: the server checks it as [`delete`](Self::delete) and deletes nothing.
    ///
    /// # Errors
    ///
    /// The same as [`delete`](Self::delete).
    pub async fn dry_run_delete(
        &self,
        object: &ObjectRef,
        fence: Fence<'_>,
        propagation: PropagationPolicy,
    ) -> Result<(), WriteError> {
        let call = Call { verb: Verb::Delete, object };
        let mut options = fence.in_delete_options(propagation).map_err(|message| call.invalid(message))?;
        options["dryRun"] = json!(["All"]);
        self.send_deletion(&call, fence, &options).await.map(drop)
    }

    async fn send_deletion(&self, call: &Call<'_>, fence: Fence<'_>, options: &Value) -> Result<Deletion, WriteError> {
        let object = call.object;
        let endpoint = self.endpoint(call).await?;
        let answer = self.sender.send(call, request::delete(&endpoint.object(call)?, options)).await;
        match answer.and_then(|answer| endpoint.expected(object).with_uid(fence.uid()).deletion(answer)) {
            Ok(answer) => Ok(deletion(answer)),
            Err(refusal) if refusal.is_missing_object(object) => Ok(Deletion::Gone),
            Err(refusal) => Err(self.refused(call, refusal)),
        }
    }
}

/// Reads the answer to a DELETE: a `Status`, or the object in its last state.
///
/// Some kinds answer with the object even if it is gone at once; only an object that still exists has a
/// deletionTimestamp.
pub(super) fn deletion(answer: Value) -> Deletion {
    let stays = answer.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
    if stays { Deletion::Pending(answer) } else { Deletion::Gone }
}
