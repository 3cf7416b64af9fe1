//! Sends merge patches to one object, each fenced by the resource version that the previous one produced.

use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Executed, Target, WriteError, WriteErrorKind};
use serde_json::Value;

use super::Executor;
use crate::Transport;

impl<T: Transport> Executor<'_, T> {
    pub(super) async fn patch(&self, mut target: Target, documents: &[Value]) -> Executed {
        let mut taken = None;
        for document in documents {
            match self.patch_one(&target, document).await {
                Ok(Some(object)) => {
                    resource_version(&object).clone_into(&mut target.resource_version);
                    taken = Some(object);
                }
                Ok(None) => {
                    let error = refusal(&target, WriteErrorKind::NotFound, "it does not exist any more");
                    return Executed::PatchFailed { object: taken, error };
                }
                Err(error) => return Executed::PatchFailed { object: taken, error },
            }
        }
        match taken {
            Some(object) => Executed::Patched(object),
            None => {
                let error = refusal(&target, WriteErrorKind::Invalid, "there is no patch");
                Executed::PatchFailed { object: None, error }
            }
        }
    }

    /// Sends one patch. Returns `None` if the object does not exist.
    pub(super) async fn patch_one(&self, target: &Target, document: &Value) -> Result<Option<Value>, WriteError> {
        self.until_deadline("patch", &ObjectRef::from(target), self.transport.patch(document, target)).await
    }
}

fn refusal(target: &Target, kind: WriteErrorKind, message: &str) -> WriteError {
    WriteError { kind, call: format!("patch {}", ObjectRef::from(target)), status: None, message: message.to_owned() }
}

fn resource_version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}
