//! A workspace as the set engine writes it: objects of Kubernetes' shape, behind Omnia's API.
//!
//! In: the queries and commands of a pass. Out: objects as Kubernetes would show them: with `apiVersion`, `kind`, namespace, and the
//! names that Kubernetes has for fields of `metadata`. Fails: as the requests do. The API takes neither a UID nor a version of an object, so
//! that no write is fenced: what somebody else writes at the same moment can be lost. A deletion looks once more just before.

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::kinds::{Kind, PROVIDER, SKILL_SOURCE, Surface};
use crate::rest::{Pause, Workspace};

/// Reads and writes the objects of one workspace.
#[derive(Debug)]
pub struct WorkspaceTransport<P> {
    workspace: Workspace,
    name: String,
    clock: P,
}

impl<P: Pause + Send + Sync + 'static> WorkspaceTransport<P> {
    /// Writes to the workspace of this name.
    #[must_use]
    pub fn new(workspace: Workspace, name: &str, clock: P) -> Self {
        Self { workspace, name: name.to_owned(), clock }
    }

    /// The object as Kubernetes would show it.
    fn shown(&self, kind: &GroupVersionKind, mut object: Value) -> Value {
        if !object.is_object() {
            object = json!({});
        }
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.kind);
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        object["metadata"]["namespace"] = json!(self.name);
        if let Some(version) = object["metadata"].get("resource_version").cloned() {
            object["metadata"]["resourceVersion"] = version;
        }
        object
    }

    /// The body that the API takes.
    fn body(&self, object: &Value) -> Value {
        let mut body = object.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("apiVersion");
            if self.workspace.surface() == Surface::Current {
                fields.remove("kind");
            }
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("namespace");
            }
        }
        body
    }

    /// What was answered to a write, or what was written if the answer says nothing.
    fn written(&self, desired: &Value, answer: Value) -> Value {
        let kind = ObjectRef::of(desired).kind;
        if answer.get("metadata").is_some() { self.shown(&kind, answer) } else { desired.clone() }
    }

    async fn one(&self, kind: &GroupVersionKind, name: &str) -> Result<Value, Failure> {
        match kind.kind.as_str() {
            PROVIDER => self.workspace.provider(name).await,
            SKILL_SOURCE => self.workspace.skill_source(name).await,
            _ => self.workspace.get(known(kind)?, name).await,
        }
    }

    /// Deletes an object, if it still is the one that is meant: minutes may have gone by since it was listed.
    async fn delete_this(&self, kind: Kind, target: &Target) -> Result<bool, Failure> {
        match self.workspace.get(kind, &target.name).await {
            Ok(live) => {
                let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
                if !uid.is_empty() && !target.uid.is_empty() && uid != target.uid {
                    let message = format!("another object has the name `{}` now", target.name);
                    return Err(Failure::Refused { status: 409, message });
                }
                self.workspace.delete(kind, &target.name).await
            }
            Err(failure) if failure.is_missing() => Ok(false),
            // Who cannot look may still be allowed to delete what was listed just before.
            Err(_) => self.workspace.delete(kind, &target.name).await,
        }
    }

    async fn many(&self, kind: &GroupVersionKind, selector: &str) -> Result<Vec<Value>, Failure> {
        if kind.kind == PROVIDER {
            return self.workspace.providers().await;
        }
        self.workspace.list(known(kind)?, selector).await
    }
}

fn known(kind: &GroupVersionKind) -> Result<Kind, Failure> {
    let found = Kind::of(&GroupKind::new(&kind.group, &kind.kind));
    found.ok_or_else(|| Failure::Unexpected(format!("the workspace API has no {}", kind.kind)))
}

fn error(verb: &str, object: &ObjectRef, failure: &Failure) -> WriteError {
    failure.write_error(format!("{verb} {object}"))
}

impl<P: Pause + Send + Sync + 'static> Transport for WorkspaceTransport<P> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let object = ObjectRef::from(query);
        let found = match &query.by {
            // A kind without a collection has no objects.
            QueryBy::Name(_) if known(&query.kind).is_ok_and(|kind| !self.workspace.has(kind)) => Ok(Vec::new()),
            QueryBy::Name(name) => match self.one(&query.kind, name).await {
                Ok(found) => Ok(vec![found]),
                Err(failure) if failure.is_missing() => Ok(Vec::new()),
                Err(failure) => Err(failure),
            },
            QueryBy::Labels(labels) => {
                let parts: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                self.many(&query.kind, &parts.join(",")).await
            }
        };
        let found = found.map_err(|failure| error("find", &object, &failure))?;
        Ok(found.into_iter().map(|found| self.shown(&query.kind, found)).collect())
    }

    /// Nothing of a workspace takes others along.
    async fn inspect(&self, _: &Inspection, _: &Members) -> Result<Option<Identity>, WriteError> {
        Ok(None)
    }

    async fn create(&self, desired: &Value, _: &Destination) -> Result<Value, WriteError> {
        let object = ObjectRef::of(desired);
        let created = match known(&object.kind) {
            Ok(kind) => self.workspace.create(kind, &self.body(desired)).await,
            Err(failure) => Err(failure),
        };
        let created = created.map_err(|failure| error("create", &object, &failure))?;
        Ok(self.written(desired, created))
    }

    /// The API has no dry run; no object of a deployment is recreated.
    async fn dry_run_create(&self, _: &Value, _: &Destination) -> Result<(), WriteError> {
        Ok(())
    }

    async fn update(&self, desired: &Value, _: &Target, _: &Version, _: UpdateMode) -> Result<Value, WriteError> {
        let object = ObjectRef::of(desired);
        let updated = match known(&object.kind) {
            Ok(kind) => self.workspace.update(kind, &object.name, &self.body(desired), &self.clock).await,
            Err(failure) => Err(failure),
        };
        let updated = updated.map_err(|failure| error("update", &object, &failure))?;
        Ok(self.written(desired, updated))
    }

    /// The API has no patch, and the sets of this adapter send none.
    async fn patch(&self, _: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let failure = Failure::Unexpected("the workspace API has no patch".to_owned());
        Err(error("patch", &ObjectRef::from(target), &failure))
    }

    async fn delete(&self, target: &Target, _: PropagationPolicy) -> Result<Deletion, WriteError> {
        let object = ObjectRef::from(target);
        let deleted = match known(&object.kind) {
            Ok(kind) => self.delete_this(kind, target).await,
            Err(failure) => Err(failure),
        };
        deleted.map(|_| Deletion::Gone).map_err(|failure| error("delete", &object, &failure))
    }
}
