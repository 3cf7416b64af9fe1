//! Updates of an object that exists: a server-side apply or a replacement, with the requests before and after it that its
//! fields' owners demand.
//!
//! In: the manifest, the live object as it was read, and a [`Fence`]. Out: the object as the server stored it.
//!
//! # What an apply cannot take away
//!
//! An apply removes what its field manager owns. A default that the server filled in belongs to nobody, and stays: a Deployment
//! with the defaults of a rolling update cannot be applied with the strategy `Recreate`. If the server refuses an apply as
//! invalid because of values that the manifest lacks, one merge patch follows, of the same manager and with the same fence. It
//! makes the live object what the [overlay](crate::overlay) says, without the fields that the server named. It is sent only if
//! there is such a field, and never a second time.
//!
//! The same patch follows if the server cannot read in the version of the manifest who set the fields: it gives the entries of
//! `managedFields` this version. Its right is that of an apply, `patch`.

use std::borrow::Cow;

use lifecycle_objects::fence::Fence;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{UpdateMode, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use super::Cluster;
use crate::call::{Call, Verb};
use crate::managed_fields::unpack;
use crate::migration::{self, Takeover};
use crate::overlay::{self, Owners, overlay};
use crate::refusal::Refusal;
use crate::request;

/// The object before an update, in the version of the manifest.
struct Before<'a> {
    live: Cow<'a, Version>,
    managed_fields: Value,
    owners: Owners,
    /// Whether the write removes what kubectl copied of a Secret.
    clears: bool,
}

impl Cluster {
    /// Updates an existing object in the way of `mode`. `live` is the object as it was read.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence; [`WriteErrorKind::Invalid`] if the server finds the
    /// object invalid, or if the fence of a replacement has no resource version.
    pub async fn update(
        &self,
        desired: &Value,
        object: &ObjectRef,
        fence: Fence<'_>,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        let takeover = match mode {
            // Only works of remote clusters are sent again, and no caller asks a cluster for that.
            UpdateMode::Apply | UpdateMode::Resend => Takeover::Own,
            UpdateMode::ApplyOverride => Takeover::OwnAndKubectl,
            UpdateMode::Replace => return self.replace(desired, object, fence, live).await,
        };
        let migrated = match live.managed_fields() {
            Some(managed_fields) => self.migrate(object, fence, managed_fields, takeover).await?,
            None => None,
        };
        let fence = migrated.as_deref().map_or(fence, |version| Fence::new(fence.uid(), version));
        let written = ObjectRef { kind: ObjectRef::of(desired).kind, ..object.clone() };
        let call = Call { verb: Verb::Apply, object: &written };
        match self.try_apply(&call, desired, fence).await? {
            Ok(applied) => Ok(applied),
            Err(refusal) => self.overcome(refusal, &call, desired, fence, live, takeover).await,
        }
    }

    /// Sends the write that follows an apply which the server refused because of fields that the manifest lacks. Returns the
    /// refusal if it is another one, or if the server finds this write invalid, too.
    async fn overcome(
        &self,
        refusal: Refusal,
        apply: &Call<'_>,
        desired: &Value,
        fence: Fence<'_>,
        live: &Version,
        takeover: Takeover,
    ) -> Result<Value, WriteError> {
        let (blocked, is_about_versions) = (refusal.fields(), refusal.is_about_versions());
        if blocked.is_empty() && !is_about_versions {
            return Err(self.refused(apply, refusal));
        }
        let before = self.before(apply, desired, live, takeover).await?;
        let live = before.live.object();
        let changed = overlay(live, desired, &before.owners, &blocked);
        let in_one_version = overlay::in_one_version(&before.managed_fields, desired).filter(|_| is_about_versions);
        if in_one_version.is_none() && changed == overlay(live, desired, &before.owners, &[]) {
            return Err(self.refused(apply, refusal));
        }
        let mut patch = overlay::difference(live, &changed).unwrap_or_else(|| json!({}));
        if let Some(managed_fields) = in_one_version {
            patch["metadata"]["managedFields"] = managed_fields;
        }
        let call = Call { verb: Verb::Patch, object: apply.object };
        let patch = fence.in_patch(&patch, call.object).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        let request = request::merge_patch(&endpoint.object(&call)?, &self.field_manager, &patch);
        let answer = self.sender.send(&call, request).await;
        match answer.and_then(|answer| endpoint.expected(call.object).with_uid(fence.uid()).object(answer)) {
            Ok(patched) => Ok(patched),
            // The first refusal is about the manifest as its author knows it.
            Err(again) if again.kind() == WriteErrorKind::Invalid => Err(self.refused(apply, refusal)),
            Err(other) => Err(self.refused(&call, other)),
        }
    }

    /// Replaces an existing object by a PUT of what the overlay says. Sends nothing if the live object has all of the manifest
    /// already, and no copy by kubectl of the values of a Secret: a manifest that lacks a field of before has another annotation of its digest or generation.
    ///
    /// # Errors
    ///
    /// [`WriteErrorKind::Conflict`] if the live object does not match the fence; [`WriteErrorKind::Invalid`] if the fence has no resource
    /// version, without which the server would replace the object in any state.
    pub async fn replace(
        &self,
        desired: &Value,
        object: &ObjectRef,
        fence: Fence<'_>,
        live: &Version,
    ) -> Result<Value, WriteError> {
        let object = ObjectRef { kind: ObjectRef::of(desired).kind, ..object.clone() };
        let call = Call { verb: Verb::Replace, object: &object };
        if fence.resource_version().is_none() {
            return Err(call.invalid("the resource version to replace is unknown".to_owned()));
        }
        let before = self.before(&call, desired, live, Takeover::Own).await?;
        let live = before.live.object();
        if !before.clears && overlay(live, desired, &before.owners.removing_nothing(), &[]) == *live {
            return Ok(live.clone());
        }
        let body = overlay(live, desired, &before.owners, &[]);
        let body = fence.in_manifest(&body).map_err(|message| call.invalid(message))?;
        let endpoint = self.endpoint(&call).await?;
        let request = request::replace(&endpoint.object(&call)?, &self.field_manager, &body);
        let answer = self.sender.send(&call, request).await;
        let replaced = answer.and_then(|answer| endpoint.expected(&object).with_uid(fence.uid()).object(answer));
        replaced.map_err(|refusal| self.refused(&call, refusal))
    }

    /// The live object in the version of the manifest, which is read anew if it was read in another one, and the owners of its
    /// fields. Whoever changed it meanwhile is noticed by the fence of the write.
    async fn before<'a>(
        &self,
        call: &Call<'_>,
        desired: &Value,
        live: &'a Version,
        takeover: Takeover,
    ) -> Result<Before<'a>, WriteError> {
        let is_read = live.object().get("apiVersion") == desired.get("apiVersion");
        let live = if is_read { Cow::Borrowed(live) } else { Cow::Owned(self.read_again(call).await?) };
        let managed_fields = live.managed_fields().map(|fields| unpack(fields).into_owned()).unwrap_or_default();
        let renamed = migration::texts_to_data(&call.object.kind, &managed_fields, None);
        let owned = renamed.as_ref().unwrap_or(&managed_fields);
        let cleared = migration::last_applied_to(&call.object.kind, owned, &self.field_manager);
        let owned = cleared.as_ref().unwrap_or(owned);
        let owners = migration::owners(owned, &self.field_manager, self.former_managers, takeover);
        Ok(Before { clears: cleared.is_some(), live, managed_fields, owners })
    }

    async fn read_again(&self, call: &Call<'_>) -> Result<Version, WriteError> {
        let gone = || call.error(WriteErrorKind::Conflict, None, "the object was deleted meanwhile".to_owned());
        self.get(call.object).await?.map(Version::new).ok_or_else(gone)
    }
}
