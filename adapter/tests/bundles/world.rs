//! A real API server with a test namespace, the adapter with one bundle, and the users beside it.
//!
//! Readiness comes from a custom kind whose instances are in progress until the test observes them, as a controller would.
//! Time is simulated: each pass begins one second after the one before.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use hyperfleet_adapter::api::{Answer, Api as HyperFleet, ApiFailure, CallContext};
use hyperfleet_adapter::dependency::kubernetes::FORMER_MANAGERS;
use hyperfleet_adapter::pass::PassReport;
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::trace::TraceContext;
use jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use lifecycle_core::api_call::ApiRequest;
use lifecycle_core::event::{LifecycleEvent, MAX_EVENT_BYTES};
use lifecycle_core::outcome::Outcome;
use lifecycle_core::process_variables::Host;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_e2e::fault::Proxy;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Settings, connect};
use lifecycle_transport::Transport;
use lifecycle_transport::kubernetes::KubernetesTransport;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) const ADAPTER: &str = "team-adapter";
/// The group of the kind `Foo`, which all tests share.
pub(crate) const SUITE: &str = "suite.bundles.example.com";
/// The name of the entry of the task, and of its parent.
pub(crate) const ENTRY: &str = "monitoring";

/// An API that is never called.
#[derive(Debug)]
struct NoApi;

impl HyperFleet for NoApi {
    async fn call(&self, _: &ApiRequest, _: &CallContext) -> Result<Answer, ApiFailure> {
        Err(ApiFailure { attempts: 0, message: "there is no API".to_owned() })
    }

    fn resolve_url(&self, url: &str) -> String {
        url.to_owned()
    }
}

pub(crate) struct World {
    pub(crate) namespace: TestNamespace,
    /// A group of this test alone.
    pub(crate) group: String,
    /// The proxy before the server, through which the adapter alone sends its requests.
    pub(crate) proxy: Proxy,
    pub(crate) transport: KubernetesTransport,
    /// The client of everybody else.
    pub(crate) client: Client,
    /// The manifests of the bundle from now on.
    pub(crate) manifests: Vec<Value>,
    /// The other keys of the bundle.
    pub(crate) options: Value,
    /// The entries of the task in place of the only one.
    pub(crate) entries: Option<Vec<Value>>,
    pub(crate) is_deleting: bool,
    pub(crate) is_disowning: bool,
    pub(crate) generation: i64,
    pub(crate) now: Timestamp,
    /// All objects that this test has named, by their names.
    known: BTreeMap<String, Value>,
    definitions: Vec<Value>,
    pub(crate) outcome: Option<Outcome>,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        Self::on(ControlPlane::shared().await?).await
    }

    pub(crate) async fn on(control_plane: ControlPlane) -> Result<Self> {
        let proxy = control_plane.proxy().await?;
        let kubernetes = connect(Some(&proxy.access()?.kubeconfig), "lifecycle-bundles/1").await?;
        let world = Self {
            namespace: control_plane.namespace().await?,
            group: format!("{}.example.com", unique("group")),
            proxy,
            transport: KubernetesTransport::new(Cluster::new(
                kubernetes,
                ADAPTER,
                Settings { former_managers: &FORMER_MANAGERS, ..Settings::default() },
            )),
            client: control_plane.client().await?,
            manifests: Vec::new(),
            options: json!({}),
            entries: None,
            is_deleting: false,
            is_disowning: false,
            generation: 1,
            now: Timestamp::from_second(Timestamp::now().as_second())?,
            known: BTreeMap::new(),
            definitions: Vec::new(),
            outcome: None,
        };
        world.serve(&definition(SUITE, "Foo", "Namespaced")).await?;
        Ok(world)
    }

    pub(crate) async fn with(options: Value) -> Result<Self> {
        Ok(Self { options, ..Self::new().await? })
    }

    /// The test's namespace.
    pub(crate) fn ns(&self) -> &str {
        self.namespace.name()
    }

    /// Has the manifests render these objects from now on.
    pub(crate) fn render(&mut self, manifests: Vec<Value>) {
        for object in &manifests {
            self.know(object);
        }
        self.manifests = manifests;
    }

    /// Remembers an object by its name.
    pub(crate) fn know(&mut self, object: &Value) {
        self.known.insert(text(object, "/metadata/name").to_owned(), object.clone());
    }

    /// Whether this test has named an object so.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    pub(crate) fn object(&self, api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let mut object = json!({ "apiVersion": api_version, "kind": kind,
                                 "metadata": { "name": name, "namespace": self.ns() } });
        if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
            object.extend(rest);
        }
        object
    }

    pub(crate) fn map(&self, name: &str, value: &str) -> Value {
        self.object("v1", "ConfigMap", name, json!({ "data": { "a": value } }))
    }

    pub(crate) fn secret(&self, name: &str) -> Value {
        self.object("v1", "Secret", name, json!({ "stringData": { "a": "1" } }))
    }

    /// An object that is in progress until it was observed.
    pub(crate) fn foo(&self, name: &str, size: u32) -> Value {
        self.object(&format!("{SUITE}/v1"), "Foo", name, json!({ "spec": { "size": size } }))
    }

    /// An object of a kind of this test alone, which is in progress until it was observed.
    pub(crate) fn own(&self, kind: &str, name: &str) -> Value {
        self.object(&format!("{}/v1", self.group), kind, name, json!({ "spec": { "size": 1 } }))
    }

    /// Handles one event.
    pub(crate) async fn pass(&mut self) -> Result<&Outcome> {
        let transport = self.transport.clone();
        let report = self.run(transport)?.await;
        self.keep(report)
    }

    /// Handles one event with another transport; the future may be dropped.
    pub(crate) fn run<T: Transport>(&mut self, transport: T) -> Result<impl Future<Output = PassReport> + use<T>> {
        self.now += SignedDuration::from_secs(1);
        let now = self.now;
        let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
        let compiled = compile("task.yaml", &self.task().to_string(), &surroundings);
        let task = compiled.task.with_context(|| format!("the task is refused: {}", compiled.diagnostics))?;
        let pipeline = Pipeline {
            task: Arc::new(task),
            host: Host { name: ADAPTER.to_owned(), ..Host::default() },
            resource_id: None,
            signer: None,
            transport,
            api: NoApi,
            keep_account: false,
            keep_readings: false,
        };
        let data = json!({
            "id": self.ns(), "kind": "Cluster", "href": "", "generation": self.generation,
            "flags": { "deleting": self.is_deleting, "disowning": self.is_disowning },
        });
        let envelope = json!({ "specversion": "1.0", "id": "1", "source": "test", "type": "test", "data": data });
        let event = LifecycleEvent::from_structured(envelope.to_string().as_bytes(), MAX_EVENT_BYTES)?;
        let trace = TraceContext::default();
        Ok(async move { pipeline.run(&event, now, Instant::now() + PATIENCE, &trace).await })
    }

    pub(crate) fn keep(&mut self, mut report: PassReport) -> Result<&Outcome> {
        ensure!(report.params_error.is_none(), "{:?}", report.params_error);
        self.outcome = Some(report.outcomes.pop().context("an outcome")?);
        self.outcome.as_ref().context("an outcome")
    }

    fn task(&self) -> Value {
        let mut bundle = json!({ "namespace": self.ns(), "name": ENTRY, "manifests": self.manifests });
        if let (Value::Object(bundle), Value::Object(options)) = (&mut bundle, &self.options) {
            bundle.extend(options.clone());
        }
        let gate = |flag: &str| json!({ "when": { "expression": format!("flags.{flag}") } });
        let only = json!({
            "name": ENTRY, "bundle": bundle, "lifecycle": { "delete": gate("deleting"), "orphan": gate("disowning") },
        });
        let resources = self.entries.clone().unwrap_or_else(|| vec![only]);
        json!({ "params": [{ "name": "flags", "source": "event.flags" }], "resources": resources })
    }

    /// Says of each object what became of it in the last pass and how it is, sorted by name.
    pub(crate) fn lines(&self) -> Vec<String> {
        let report = self.outcome.as_ref().and_then(|outcome| outcome.bundle.as_ref());
        let objects = report.iter().flat_map(|report| &report.objects);
        let line = |object: &lifecycle_bundle::report::ObjectReport| {
            format!("{} {} {}", object.identity.name, object.effect.as_str(), object.readiness().0)
        };
        let mut lines: Vec<String> = objects.map(line).map(|line| self.neutral(&line)).collect();
        lines.sort_unstable();
        lines
    }

    /// Why the last pass did not come to its end, or failed; empty if it did.
    pub(crate) fn why(&self) -> String {
        let Some(outcome) = &self.outcome else { return "there was no pass".to_owned() };
        let stopped = outcome.bundle.as_ref().and_then(|report| report.why_stopped());
        let failure = || outcome.failure().map(|failure| failure.message.clone());
        self.neutral(&stopped.or_else(failure).unwrap_or_default())
    }

    /// The fields that the last pass repaired, by the name of the object.
    pub(crate) fn drift(&self) -> Vec<(&str, &[String])> {
        let report = self.outcome.as_ref().and_then(|outcome| outcome.bundle.as_ref());
        let objects = report.iter().flat_map(|report| &report.objects);
        objects.filter_map(|object| Some((object.identity.name.as_str(), object.effect.drift()?))).collect()
    }

    /// The text with fixed words in place of the names that differ from run to run.
    pub(crate) fn neutral(&self, text: &str) -> String {
        text.replace(self.ns(), "NS").replace(&self.group, "GROUP").replace(SUITE, "SUITE")
    }
}

/// What users and controllers do.
impl World {
    fn api(&self, object: &Value) -> Api<DynamicObject> {
        api(&self.client, object)
    }

    fn named(&self, name: &str) -> Result<(Api<DynamicObject>, &Value)> {
        let object = self.known.get(name).with_context(|| format!("no object has the name {name}"))?;
        Ok((self.api(object), object))
    }

    /// Reads an object by the name that this test gave it.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<Value>> {
        let found = self.named(name)?.0.get_opt(name).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    pub(crate) async fn live(&self, name: &str) -> Result<Value> {
        self.read(name).await?.with_context(|| format!("{name} is not there"))
    }

    pub(crate) async fn parent(&self) -> Result<Option<Value>> {
        let found = self.api(&self.map(ENTRY, "")).get_opt(ENTRY).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// All objects of the kind, and in the namespace, of this one.
    pub(crate) async fn all_like(&self, object: &Value) -> Result<Vec<Value>> {
        let found = self.api(object).list(&ListParams::default()).await?;
        Ok(found.items.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
    }

    pub(crate) async fn await_served(&self, object: &Value) -> Result<()> {
        await_condition("a kind to be served", PATIENCE, async || self.all_like(object).await.map(drop)).await
    }

    /// Waits until the kind of this object is not served in the object's version.
    pub(crate) async fn await_unserved(&self, object: &Value) -> Result<()> {
        await_condition("the version to be gone", PATIENCE, async || {
            let error = self.all_like(object).await.err().context("it is served")?;
            let is_gone = matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 404);
            ensure!(is_gone, "{error:#}");
            Ok(())
        })
        .await
    }

    /// Creates an object as somebody else.
    pub(crate) async fn create(&mut self, object: &Value) -> Result<()> {
        self.know(object);
        self.api(object).create(&PostParams::default(), &serde_json::from_value(object.clone())?).await?;
        Ok(())
    }

    /// Sends a merge patch of these fields as a field manager.
    pub(crate) async fn merge(&self, manager: &str, name: &str, patch: &Value) -> Result<()> {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.named(name)?.0.patch(name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Applies these fields as a field manager.
    pub(crate) async fn apply(&self, manager: &str, name: &str, fields: &Value) -> Result<()> {
        let (api, known) = self.named(name)?;
        let mut object = json!({ "apiVersion": known["apiVersion"], "kind": known["kind"] });
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
            object.extend(fields.clone());
        }
        api.patch(name, &PatchParams::apply(manager).force(), &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Observes an object as its controller does, and finds it ready.
    pub(crate) async fn ready(&self, name: &str) -> Result<()> {
        let live = self.live(name).await?;
        let status = json!({ "status": {
            "observedGeneration": live["metadata"]["generation"],
            "conditions": [{ "type": "Ready", "status": "True" }],
        } });
        self.report(name, &status).await
    }

    /// Writes the status of an object, as its controller does.
    pub(crate) async fn report(&self, name: &str, status: &Value) -> Result<()> {
        self.named(name)?.0.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    pub(crate) async fn hold(&self, name: &str) -> Result<()> {
        self.merge("person", name, &json!({ "metadata": { "finalizers": ["example.com/hold"] } })).await
    }

    pub(crate) async fn release(&self, name: &str) -> Result<()> {
        self.merge("person", name, &json!({ "metadata": { "finalizers": null } })).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<()> {
        self.named(name)?.0.delete(name, &DeleteParams::background()).await?;
        Ok(())
    }

    pub(crate) async fn await_gone(&self, name: &str) -> Result<()> {
        await_condition(&format!("{name} to be gone"), PATIENCE, async || {
            ensure!(self.read(name).await?.is_none(), "it is there");
            Ok(())
        })
        .await
    }

    /// Waits until a type of the bundle is served.
    pub(crate) async fn await_established(&self, name: &str) -> Result<()> {
        await_condition(&format!("{name} to be established"), PATIENCE, async || {
            let live = self.live(name).await?;
            let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_established = |it: &Value| it["type"] == "Established" && it["status"] == "True";
            ensure!(conditions.iter().any(is_established), "{conditions:?}");
            Ok(())
        })
        .await?;
        self.await_instances(&self.live(name).await?).await
    }

    /// Waits until instances of this definition's first version can be read.
    async fn await_instances(&self, definition: &Value) -> Result<()> {
        let version = format!("{}/{}", text(definition, "/spec/group"), text(definition, "/spec/versions/0/name"));
        self.await_served(&json!({ "apiVersion": version, "kind": definition["spec"]["names"]["kind"] })).await
    }

    /// Installs a kind of this test alone, which the bundle does not know.
    pub(crate) async fn install(&mut self, kind: &str, scope: &str) -> Result<()> {
        let definition = definition(&self.group, kind, scope);
        self.know(&definition);
        self.serve(&definition).await?;
        self.definitions.push(definition);
        Ok(())
    }

    async fn serve(&self, definition: &Value) -> Result<()> {
        let api = self.api(definition);
        match api.create(&PostParams::default(), &serde_json::from_value(definition.clone())?).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error.into()),
        }
        self.await_instances(definition).await
    }

    /// Removes what the deletion of the test's namespace leaves behind.
    pub(crate) async fn clear(&self) -> Result<()> {
        for definition in &self.definitions {
            let name = text(definition, "/metadata/name");
            self.api(definition).delete(name, &DeleteParams::background()).await?;
        }
        Ok(())
    }
}

/// The objects of the kind, and in the namespace, of this one.
pub(crate) fn api(client: &Client, object: &Value) -> Api<DynamicObject> {
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let plural = format!("{}s", kind.to_lowercase());
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural);
    match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// A kind whose instances are in progress until they were observed.
pub(crate) fn definition(group: &str, kind: &str, scope: &str) -> Value {
    let singular = kind.to_lowercase();
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let status = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": { "observedGeneration": -1 },
        "properties": { "observedGeneration": { "type": "integer" } },
    });
    let schema = json!({ "type": "object", "properties": { "spec": open, "status": status } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{singular}s.{group}") },
        "spec": {
            "group": group, "scope": scope,
            "names": {
                "plural": format!("{singular}s"), "singular": singular, "kind": kind, "listKind": format!("{kind}List"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

/// The object with annotations of the bundle, such as `apply-order`.
pub(crate) fn annotated(mut object: Value, annotations: &[(&str, &str)]) -> Value {
    for (key, value) in annotations {
        object["metadata"]["annotations"][format!("hyperfleet.io/{key}")] = json!(value);
    }
    object
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
