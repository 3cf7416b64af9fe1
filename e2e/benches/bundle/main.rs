//! Measures what a large bundle costs the adapter: calls, time, CPU and memory, from outside of its process.
//!
//! Run it with `cargo bench --bench bundle [-- --help]`. The API server is real; a proxy before it counts requests. The proxy passes
//! answers on in small pieces, each of which wakes the adapter; so the events whose CPU counts go without it. Events
//! come over HTTP, so that no broker is needed. The adapter that creates the bundle and the one that finds it complete are two
//! processes, because the kernel tells only the most memory that a process ever had. Memory is above that of the idle process, which
//! holds the task with all manifests already.
//!
//! It also compares full lists with lists of metadata for the members of one kind. It fails if a pass fails, and never because
//! of slowness.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use lifecycle_benches::build;
use lifecycle_e2e::fault::Proxy;
use lifecycle_e2e::kube::{ControlPlane, widgets};
use lifecycle_e2e::usage::Usage;
use lifecycle_e2e::{await_condition, free_port, unique};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How long anything may take before the benchmark fails.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most events whose requests are counted.
const COUNTED: u32 = 2;
/// How many requests of the benchmark's own are under way at the same time.
const CONCURRENCY: usize = 8;

/// Measures what a large bundle costs the adapter.
#[derive(Debug, clap::Parser)]
struct Options {
    /// Number of objects.
    #[arg(long, default_value_t = 1000)]
    objects: usize,
    /// Number of kinds, at least 2.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..))]
    kinds: u16,
    /// Size of the text in each object. A task file has 2 MiB at most.
    #[arg(long, default_value_t = 1024)]
    bytes: usize,
    /// Number of steady events that are measured together; the kernel counts CPU time in steps of 10 ms.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(i64::from(COUNTED) + 1..))]
    steady: u32,
    /// Measure this binary instead of one that the benchmark builds.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Cargo passes this flag to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The API version and the name of a kind.
type Kind = (String, String);

/// The servers, and the kinds of the bundle.
struct Ground {
    client: Client,
    proxy: Proxy,
    /// The access to the API server without the proxy.
    direct: PathBuf,
    namespace: String,
    kinds: Vec<Kind>,
    definitions: Vec<String>,
}

fn api(client: &Client, (version, kind): &Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let plural = format!("{}s", kind.to_lowercase());
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn definitions(client: &Client) -> Api<DynamicObject> {
    api(client, &("apiextensions.k8s.io/v1".to_owned(), "CustomResourceDefinition".to_owned()), None)
}

impl Ground {
    /// Installs the kinds, but for `ConfigMap` and `Secret`.
    async fn new(control_plane: &ControlPlane, namespace: &str, count: u16) -> Result<Self> {
        let mut ground = Self {
            client: control_plane.client().await?,
            proxy: control_plane.proxy().await?,
            direct: control_plane.access().kubeconfig.clone(),
            namespace: namespace.to_owned(),
            kinds: ["ConfigMap", "Secret"].map(|kind| ("v1".to_owned(), kind.to_owned())).into(),
            definitions: Vec::new(),
        };
        for _ in 2..count {
            let group = format!("{}.example.com", unique("bundle"));
            let definition: DynamicObject = serde_json::from_value(widgets(&group))?;
            let created = definitions(&ground.client).create(&PostParams::default(), &definition).await?;
            ground.definitions.extend(created.metadata.name);
            ground.kinds.push((format!("{group}/v1"), "Widget".to_owned()));
        }
        for kind in &ground.kinds {
            let api = api(&ground.client, kind, Some(namespace));
            await_condition("a kind to be served", PATIENCE, async || Ok(api.list(&Default::default()).await?)).await?;
        }
        Ok(ground)
    }

    async fn clear(&self) -> Result<()> {
        for name in &self.definitions {
            definitions(&self.client).delete(name, &DeleteParams::background()).await?;
        }
        Ok(())
    }

    fn task(&self, options: &Options) -> Value {
        let text = "x".repeat(options.bytes);
        let manifests = (0..options.objects).map(|number| {
            let (version, kind) = &self.kinds[number % self.kinds.len()];
            let name = format!("o{number}");
            let mut object = json!({ "apiVersion": version, "kind": kind,
                                     "metadata": { "name": name, "namespace": self.namespace } });
            let field = if kind == "Secret" { "stringData" } else { "data" };
            object[field] = json!({ "text": text });
            object
        });
        let manifests: Vec<Value> = manifests.collect();
        json!({
            "params": [{ "name": "clusterId", "source": "event.id", "required": true }],
            "resources": [{ "name": "large", "bundle": { "namespace": self.namespace, "manifests": manifests } }],
        })
    }
}

/// A running adapter; dropping it kills the process.
struct Adapter {
    _child: Child,
    process: u32,
    events: String,
    metrics: String,
    client: reqwest::Client,
    _directory: TempDir,
}

/// What one or more events cost.
struct Cost {
    reads: usize,
    writes: usize,
    took: Duration,
    cpu: Duration,
}

impl Adapter {
    /// Starts an adapter, whose requests the proxy counts or not.
    async fn start(binary: &PathBuf, ground: &Ground, options: &Options, is_counted: bool) -> Result<Self> {
        let directory = TempDir::new()?;
        let (events, health, metrics) = (free_port()?, free_port()?, free_port()?);
        let local = |port: u16| format!("{}:{port}", Ipv4Addr::LOCALHOST);
        let kubeconfig = if is_counted { &ground.proxy.access()?.kubeconfig } else { &ground.direct };
        let config = json!({
            "adapter": { "name": "bench" },
            "inputs": { "http": { "listen": local(events) } },
            "clients": {
                "hyperfleet_api": { "base_url": "http://127.0.0.1:1" },
                "kubernetes": { "kube_config_path": kubeconfig },
            },
        });
        fs::write(directory.path().join("config.yaml"), config.to_string())?;
        fs::write(directory.path().join("task.yaml"), ground.task(options).to_string())?;
        let log = directory.path().join("log");
        let output = File::create(&log)?;
        let child = Command::new(binary)
            .args(["serve", "--config", "config.yaml", "--task-config", "task.yaml"])
            .current_dir(directory.path())
            .env("HYPERFLEET_HEALTH_LISTEN", local(health))
            .env("HYPERFLEET_METRICS_LISTEN", local(metrics))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()?;
        let process = child.id().context("the adapter ended at once")?;
        lifecycle_e2e::init();
        let client = reqwest::Client::builder().build()?;
        let ready = format!("http://{}/readyz", local(health));
        let up = await_condition("the adapter to be ready", PATIENCE, async || {
            client.get(&ready).send().await?.error_for_status()?;
            Ok(())
        });
        up.await.with_context(|| fs::read_to_string(log).unwrap_or_default())?;
        let (events, metrics) = (format!("http://{}/", local(events)), format!("http://{}/metrics", local(metrics)));
        Ok(Self { _child: child, process, events, metrics, client, _directory: directory })
    }

    fn usage(&self) -> Result<Usage> {
        Usage::of(self.process)
    }

    /// Sends events, one after the other.
    async fn events(&self, ground: &Ground, count: u32) -> Result<Cost> {
        let (before, requests, begun) = (self.usage()?, ground.proxy.requests().len(), Instant::now());
        for _ in 0..count {
            let event = json!({
                "specversion": "1.0", "id": "1", "source": "bench", "type": "bench",
                "data": { "id": "c1", "kind": "Cluster", "href": "", "generation": 1 },
            });
            let request = self
                .client
                .post(&self.events)
                .header("content-type", "application/cloudevents+json")
                .body(event.to_string());
            let status = request.send().await?.status();
            ensure!(status == 204, "the adapter answered {status}");
        }
        let took = begun.elapsed();
        let requests = ground.proxy.requests().split_off(requests);
        let reads = requests.iter().filter(|request| request.method == "GET").count();
        let cpu = self.usage()?.cpu.saturating_sub(before.cpu);
        Ok(Cost { reads, writes: requests.len() - reads, took, cpu })
    }

    /// Fails unless all events were handled without a failure.
    async fn check(&self) -> Result<()> {
        let metrics = self.client.get(&self.metrics).send().await?.text().await?;
        let failed = metrics.lines().find(|line| {
            line.starts_with("hyperfleet_adapter_events_processed_total")
                && !line.contains("status=\"success\"")
                && !line.ends_with(" 0")
        });
        ensure!(failed.is_none(), "{failed:?}");
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the report")]
fn print(text: &str) {
    println!("{text}");
}

fn mebibytes(kibibytes: u64) -> String {
    format!("{:.1} MiB", kibibytes as f64 / 1024.0)
}

/// Measures an adapter from its start to the last of its events. The requests of few events are counted.
async fn measure(name: &str, binary: &PathBuf, ground: &Ground, options: &Options, events: u32) -> Result<()> {
    let is_counted = events <= COUNTED;
    let adapter = Adapter::start(binary, ground, options, is_counted).await?;
    let idle = adapter.usage()?;
    let Cost { reads, writes, took, cpu } = adapter.events(ground, events).await?;
    let after = adapter.usage()?;
    adapter.check().await?;
    let calls = if is_counted { format!("{reads} | {writes}") } else { "not counted | not counted".to_owned() };
    print(&format!(
        "| {name} | {calls} | {:.1?} | {:.1?} | {} | {} | {} |",
        took / events,
        cpu / events,
        mebibytes(idle.resident),
        mebibytes(after.most_resident - idle.resident),
        mebibytes(after.resident.saturating_sub(idle.resident)),
    ));
    Ok(())
}

/// Compares the lists of as many objects of the kind `ConfigMap`, full and metadata-only: their sizes, and what their parsed form keeps resident.
async fn compare_lists(ground: &Ground, namespace: &str, options: &Options) -> Result<()> {
    let maps = api(&ground.client, &ground.kinds[0], Some(namespace));
    let text = "x".repeat(options.bytes);
    stream::iter(0..options.objects)
        .map(|number| {
            let labels = json!({ "hyperfleet.io/adapter": "bench", "hyperfleet.io/resource": "large" });
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "text": text },
                                 "metadata": { "name": format!("o{number}"), "labels": labels } });
            let maps = maps.clone();
            async move { anyhow::Ok(maps.create(&PostParams::default(), &serde_json::from_value(object)?).await.map(drop)?) }
        })
        .buffer_unordered(CONCURRENCY)
        .try_collect::<Vec<()>>()
        .await?;
    for (name, accept) in [
        ("full", "application/json"),
        ("metadata only", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
    ] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let request = http::Request::get(path).header("accept", accept).body(Vec::new())?;
        let body = ground.client.request_text(request).await?;
        let before = Usage::of(std::process::id())?.resident;
        let parsed: Vec<Value> = (0..4).map(|_| serde_json::from_str(&body)).collect::<Result<_, _>>()?;
        let resident = Usage::of(std::process::id())?.resident.saturating_sub(before) / 4;
        drop(parsed);
        print(&format!("| {name} | {} | {} |", mebibytes(body.len() as u64 / 1024), mebibytes(resident)));
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let binary = options.binary.clone().map_or_else(|| build("hyperfleet-adapter"), Ok)?;
    let control_plane = ControlPlane::shared().await?;
    let (namespace, other) = (control_plane.namespace().await?, control_plane.namespace().await?);
    let ground = Ground::new(&control_plane, namespace.name(), options.kinds).await?;
    print(&format!("{} objects of {} kinds, with {} bytes each", options.objects, options.kinds, options.bytes));
    print("| event | reads | writes | time | CPU | memory: idle | peak above idle | afterwards above idle |");
    print("| --- | --- | --- | --- | --- | --- | --- | --- |");
    measure("create", &binary, &ground, &options, 1).await?;
    measure("steady, the first", &binary, &ground, &options, 1).await?;
    measure("steady, the first two", &binary, &ground, &options, COUNTED).await?;
    measure(&format!("steady, {}", options.steady), &binary, &ground, &options, options.steady).await?;
    print(&format!("\nA list of {} ConfigMaps\n", options.objects));
    print("| list | size | parsed |");
    print("| --- | --- | --- |");
    compare_lists(&ground, other.name(), &options).await?;
    ground.clear().await
}
