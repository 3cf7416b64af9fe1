//! The requests of an agent to the API server.

use std::collections::BTreeMap;

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope, pinned_kind};
use kube::{Api, Client};
use serde_json::Value;

use crate::spoke::{Applied, ObjectKey, Spec, plural};

/// The field manager of everything that agents apply.
const MANAGER: &str = "work-agent";

/// A client that knows the kinds of what it has applied.
pub(super) struct Cluster {
    client: Client,
    /// Kinds by API version and name. A missing kind is looked up again each time.
    kinds: BTreeMap<(String, String), (ApiResource, Scope)>,
}

/// What became of one manifest.
pub(super) struct Outcome {
    pub(super) plural: String,
    /// The object on the cluster, if there is one.
    pub(super) object: Option<Value>,
    pub(super) failure: Option<String>,
}

/// A request that failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The kind or the object does not exist.
    Missing(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    fn message(self) -> String {
        match self {
            Self::Missing(message) | Self::Other(message) => message,
        }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() => Self::Missing(status.message.clone()),
            kube::Error::Api(status) => Self::Other(status.message.clone()),
            kube::Error::Discovery(error) => Self::Missing(error.to_string()),
            error => Self::Other(error.to_string()),
        }
    }
}

impl Cluster {
    pub(super) fn new(client: Client) -> Self {
        Self { client, kinds: BTreeMap::new() }
    }

    /// The plural of a kind; guessed, if the kind has not been seen.
    pub(super) fn plural(&self, api_version: &str, kind: &str) -> String {
        let known = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        known.map_or_else(|| plural(kind), |(resource, _)| resource.plural.clone())
    }

    async fn api(&mut self, api_version: &str, key: &ObjectKey) -> Result<Api<DynamicObject>, Failure> {
        let known = (api_version.to_owned(), key.kind.clone());
        if !self.kinds.contains_key(&known) {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let kind = GroupVersionKind::gvk(&key.group, version, &key.kind);
            let (resource, capabilities) = pinned_kind(&self.client, &kind).await?;
            self.kinds.insert(known.clone(), (resource, capabilities.scope));
        }
        let Some((resource, scope)) = self.kinds.get(&known) else {
            return Err(Failure::Missing(format!("no kind {}", key.kind)));
        };
        match scope {
            Scope::Cluster => Ok(Api::all_with(self.client.clone(), resource)),
            Scope::Namespaced if key.namespace.is_empty() => {
                Err(Failure::Other("an empty namespace may not be set during creation".to_owned()))
            }
            Scope::Namespaced => Ok(Api::namespaced_with(self.client.clone(), &key.namespace, resource)),
        }
    }

    /// Reads the object of a manifest; writes it first if that is due, or if the object is missing.
    pub(super) async fn manifest(&mut self, spec: Spec<'_>, manifest: &Value, is_due: bool) -> Outcome {
        let result = self.try_manifest(spec, manifest, is_due).await;
        let key = ObjectKey::of(manifest);
        let plural = self.plural(manifest["apiVersion"].as_str().unwrap_or_default(), &key.kind);
        match result {
            Ok(object) => Outcome { plural, object, failure: None },
            Err(failure) => Outcome { plural, object: None, failure: Some(failure.message()) },
        }
    }

    async fn try_manifest(&mut self, spec: Spec<'_>, manifest: &Value, is_due: bool) -> Result<Option<Value>, Failure> {
        let (key, api_version) = (ObjectKey::of(manifest), manifest["apiVersion"].as_str().unwrap_or_default());
        let api = self.api(api_version, &key).await?;
        let plural = self.plural(api_version, &key.kind);
        let found = api.get_opt(&key.name).await?;
        let params = match spec.strategy(&key, &plural) {
            "ReadOnly" => return value(found),
            "CreateOnly" if found.is_some() => return value(found),
            "ServerSideApply" => {
                let config = spec.config(&key, &plural).map(|config| &config["updateStrategy"]["serverSideApply"]);
                let manager = config.and_then(|config| config["fieldManager"].as_str()).unwrap_or(MANAGER);
                let is_forced = config.and_then(|config| config["force"].as_bool()).unwrap_or(false);
                let params = PatchParams::apply(manager);
                if is_forced { params.force() } else { params }
            }
            _ => PatchParams::apply(MANAGER).force(),
        };
        if !is_due && found.is_some() {
            return value(found);
        }
        value(Some(api.patch(&key.name, &params, &Patch::Apply(manifest)).await?))
    }

    /// Deletes an object that an agent wrote, and says whether it is gone. A later object of the same name is another.
    pub(super) async fn delete(&mut self, applied: &Applied) -> bool {
        match self.try_delete(applied).await {
            Ok(is_gone) => is_gone,
            Err(Failure::Missing(_)) => true,
            // The next pass tries again.
            Err(Failure::Other(_)) => false,
        }
    }

    async fn try_delete(&mut self, applied: &Applied) -> Result<bool, Failure> {
        let name = &applied.key.name;
        let api = self.api(&applied.api_version, &applied.key).await?;
        let Some(found) = api.get_opt(name).await? else { return Ok(true) };
        if applied.uid.is_some() && found.metadata.uid != applied.uid {
            return Ok(true);
        }
        if found.metadata.deletion_timestamp.is_none() {
            let fence = Preconditions { uid: found.metadata.uid, resource_version: None };
            api.delete(name, &DeleteParams::foreground().preconditions(fence)).await?;
        }
        Ok(api.get_opt(name).await?.is_none())
    }
}

fn value(object: Option<DynamicObject>) -> Result<Option<Value>, Failure> {
    object.map(serde_json::to_value).transpose().map_err(|error| Failure::Other(error.to_string()))
}
