//! The servers around the sweepers of one test: a namespace behind a proxy, the API, and a Lease.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use lifecycle_core::sweep::Candidate;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::fault::{Proxy, Request, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::proof::Signer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::Setup;

/// A cluster that every API has from the start. The sweeper tests the API by its first resource: this one.
pub(crate) const CANARY: &str = "00000000-0000-7000-8000-000000000000";
/// How the ids of all other clusters begin.
pub(crate) const ID_PREFIX: &str = "0198c0de-";
/// The key by which the adapter signs its cluster-scoped objects.
const SIGNING_KEY: &[u8] = &[7; 32];
/// The name of the sweepers' Lease.
const LEASE: &str = "sweeper";

/// The servers and objects that belong to one test.
pub(crate) struct World {
    pub(crate) control_plane: ControlPlane,
    pub(crate) namespace: TestNamespace,
    /// The proxy of the API server, which records the sweeper's requests and injects faults.
    pub(crate) kubernetes: Proxy,
    pub(crate) api: LocalApi,
    pub(crate) adapter: String,
    pub(crate) objects: Api<ConfigMap>,
    files: TempDir,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let (namespace, kubernetes, api) =
            tokio::try_join!(control_plane.namespace(), control_plane.proxy(), LocalApi::start())?;
        api.put_cluster(CANARY, 1).await?;
        let objects = namespace.api().await?;
        let world = Self {
            control_plane,
            namespace,
            kubernetes,
            api,
            adapter: unique("adapter"),
            objects,
            files: TempDir::new()?,
        };
        world.put_released_lease().await?;
        Ok(world)
    }

    /// Creates the Lease as a sweeper leaves it that was stopped, so that the first one of the test leads at once.
    async fn put_released_lease(&self) -> Result<()> {
        let lease = serde_json::from_value(json!({
            "metadata": { "name": LEASE },
            "spec": { "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 1 },
        }))?;
        self.leases().await?.create(&PostParams::default(), &lease).await?;
        Ok(())
    }

    async fn leases(&self) -> Result<Api<Lease>> {
        self.namespace.api().await
    }

    /// Reads the sweepers' Lease.
    pub(crate) async fn lease(&self) -> Result<Lease> {
        Ok(self.leases().await?.get(LEASE).await?)
    }

    /// Writes another holder into the Lease, as a person or a broken program may.
    pub(crate) async fn usurp_lease(&self) -> Result<()> {
        self.patch_lease(&json!({ "spec": { "holderIdentity": "somebody" } })).await
    }

    /// Applies a merge patch to the sweepers' Lease.
    pub(crate) async fn patch_lease(&self, patch: &Value) -> Result<()> {
        self.leases().await?.patch(LEASE, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until a sweeper has sent this many requests about the Lease from now on.
    pub(crate) async fn await_lease_requests(&self, wanted: usize) -> Result<()> {
        let requests = When::any().and(is_about_the_lease);
        let known = self.kubernetes.count(&requests);
        self.kubernetes.await_count(&requests, known + wanted, PATIENCE).await
    }

    /// A sweeper of this world's adapter that deletes `ConfigMaps` after a second, and has no limit in percent.
    pub(crate) fn sweeper(&self) -> Result<Setup> {
        Ok(Setup::new(json!({
            "adapters": [self.adapter],
            "dry_run": false,
            "interval": "200ms",
            "grace": "1s",
            "min_age": "1ms",
            "kinds": { "include": ["core/ConfigMap"] },
            "limits": { "percent": 100 },
            "api": { "base_url": self.api.url(), "requests_per_second": 1000 },
            "kubernetes": { "kubeconfig": self.kubernetes.access()?.kubeconfig, "requests_per_second": 1000 },
            "lease": { "namespace": self.namespace.name(), "name": LEASE,
                       "duration": "30s", "renew_deadline": "20s", "retry": "200ms" },
            "audit": { "file": self.audit() },
            "log": { "level": "debug" },
            "health": { "listen": "127.0.0.1:0" },
            "metrics": { "listen": "127.0.0.1:0" },
        })))
    }

    /// The path of the audit file.
    pub(crate) fn audit(&self) -> PathBuf {
        self.files.path().join("audit.jsonl")
    }

    /// The path of a file with the key that [`signed`](Self::signed) uses.
    pub(crate) fn signing_key(&self) -> Result<PathBuf> {
        let path = self.files.path().join("signing.key");
        fs::write(&path, SIGNING_KEY)?;
        Ok(path)
    }

    /// The manifest of an object without a namespace that the adapter made for a cluster, with its ownership proof.
    pub(crate) fn signed(&self, mut manifest: Value, id: &str) -> Result<Value> {
        manifest["metadata"]["labels"] =
            json!({ "hyperfleet.io/adapter": self.adapter, "hyperfleet.io/resource-id": id });
        let candidate = Candidate::of(&manifest, Destination::ThisCluster);
        let proof = Signer::new(SIGNING_KEY)?.sign(&candidate.claim());
        manifest["metadata"]["annotations"] = json!({ "hyperfleet.io/ownership-proof": proof });
        Ok(manifest)
    }

    /// The audit records about an object, in the order in which they were written.
    pub(crate) fn records(&self, name: &str) -> Result<Vec<Value>> {
        let text = fs::read_to_string(self.audit()).unwrap_or_default();
        let records: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(records.into_iter().filter(|record| record["object"]["name"] == name).collect())
    }

    /// Stores a cluster in the API, and returns its id.
    pub(crate) async fn cluster(&self, generation: i64) -> Result<String> {
        let id = format!("{ID_PREFIX}0000-7000-8000-{:012x}", fastrand::u64(..1 << 48));
        self.api.put_cluster(&id, generation).await?;
        Ok(id)
    }

    /// The manifest of a `ConfigMap` that the adapter made for generation 1 of a cluster.
    pub(crate) fn config_map(&self, name: &str, id: &str) -> Value {
        let labels = json!({ "hyperfleet.io/adapter": self.adapter, "hyperfleet.io/resource-id": id });
        let annotations = json!({ "hyperfleet.io/generation": "1" });
        json!({ "metadata": { "name": name, "labels": labels, "annotations": annotations },
                "data": { "key": "value" } })
    }

    /// Creates a `ConfigMap`, and returns its UID.
    pub(crate) async fn create(&self, manifest: Value) -> Result<String> {
        let created = self.objects.create(&PostParams::default(), &serde_json::from_value(manifest)?).await?;
        created.uid().context("the UID")
    }

    /// Creates an object of the custom kind `Widget` of this group in a namespace, as soon as the kind is served.
    pub(crate) async fn widget(&self, group: &str, namespace: &str, resource_id: &str) -> Result<Api<DynamicObject>> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Widget"));
        let custom: Api<DynamicObject> = Api::namespaced_with(self.control_plane.client().await?, namespace, &kind);
        let mut widget = self.config_map("widget", resource_id);
        widget["apiVersion"] = json!(format!("{group}/v1"));
        widget["kind"] = json!("Widget");
        let widget: DynamicObject = serde_json::from_value(widget)?;
        await_condition("the kind to be served", PATIENCE, async || {
            custom.create(&PostParams::default(), &widget).await?;
            Ok(())
        })
        .await?;
        Ok(custom)
    }

    /// Creates an object of a cluster that exists, and returns the cluster's id.
    pub(crate) async fn living(&self, name: &str) -> Result<String> {
        let id = self.cluster(1).await?;
        self.create(self.config_map(name, &id)).await?;
        Ok(id)
    }

    /// Creates an object of a cluster, and force-deletes the cluster. Returns the cluster's id.
    pub(crate) async fn orphan(&self, name: &str) -> Result<String> {
        let id = self.living(name).await?;
        self.force_delete(&id).await?;
        Ok(id)
    }

    /// Force-deletes a cluster, as a person does whose cluster's deletion is stuck.
    pub(crate) async fn force_delete(&self, id: &str) -> Result<()> {
        lifecycle_e2e::init();
        self.api.delete(id).await?;
        let url = format!("{}/api/hyperfleet/v1/clusters/{id}/force-delete", self.api.url());
        let answer = reqwest::Client::new().post(url).json(&json!({ "reason": "stuck" })).send().await?;
        answer.error_for_status()?;
        Ok(())
    }

    /// Applies a merge patch to an object.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        self.objects.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Deletes an object, and creates another one of the same name.
    pub(crate) async fn replace(&self, name: &str, manifest: Value) -> Result<String> {
        self.objects.delete(name, &DeleteParams::default()).await?;
        self.create(manifest).await
    }

    /// The names of the adapter's objects in the namespace.
    pub(crate) async fn names(&self) -> Result<BTreeSet<String>> {
        let of_adapter = ListParams::default().labels(&format!("hyperfleet.io/adapter={}", self.adapter));
        Ok(self.objects.list(&of_adapter).await?.iter().map(|object| object.name_any()).collect())
    }

    /// Waits until the adapter's objects are exactly these.
    pub(crate) async fn await_names(&self, wanted: &[&str]) -> Result<()> {
        let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        await_condition(&format!("only {wanted:?} to be left"), PATIENCE, async || {
            let names = self.names().await?;
            ensure!(names == wanted, "{names:?}");
            Ok(())
        })
        .await
    }

    /// Fails unless the adapter's objects are exactly these.
    pub(crate) async fn assert_names(&self, wanted: &[&str]) -> Result<()> {
        let names = self.names().await?;
        ensure!(names.iter().map(String::as_str).eq(wanted.iter().copied()), "{names:?} instead of {wanted:?}");
        Ok(())
    }

    /// The events about an object.
    pub(crate) async fn events(&self, name: &str) -> Result<Vec<Event>> {
        let events: Api<Event> = self.namespace.api().await?;
        let about = ListParams::default().fields(&format!("involvedObject.name={name}"));
        Ok(events.list(&about).await?.items)
    }

    /// Chooses requests for one object by its name.
    pub(crate) fn request(&self, method: &'static str, name: &str) -> When {
        When::method(method).path(format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace.name()))
    }
}

/// Whether a request is one of the election.
fn is_about_the_lease(request: &Request) -> bool {
    request.path.contains("/leases")
}

/// Chooses the lists of `ConfigMaps` in all namespaces.
pub(crate) fn lists() -> When {
    When::method("GET").path("/api/v1/configmaps")
}
