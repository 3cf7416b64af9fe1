//! Measures a pass of the sweeper, and the deletion of 1,000 orphans, with a real API server.
//!
//! Run it with `cargo bench --bench pass [-- --help]`. The control plane, the local API, its
//! database and the sweeper's release binary share the machine. Time is what the sweeper logs; CPU time and memory come
//! from the kernel; a pass through a proxy, which is not measured otherwise, counts the calls. `docs/performance.md`
//! has the figures and the targets. The benchmark never fails because of slowness.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use lifecycle_benches::build;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::await_condition;
use lifecycle_e2e::fault::When;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::usage::Usage;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// How many objects are created at the same time.
const CREATING: usize = 64;
/// How many objects each API resource has.
const PER_OWNER: usize = 10;
/// How many orphans are deleted.
const ORPHANS: usize = 1000;
/// Limits the wait for a pass.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many custom kinds there are, besides the [`BUILT_IN`] ones.
const CUSTOM: usize = 15;
const BUILT_IN: [(&str, &str, &str); 5] = [
    ("", "v1", "ConfigMap"),
    ("", "v1", "Secret"),
    ("", "v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("batch", "v1", "Job"),
];

/// Measures a pass of the sweeper with real servers.
#[derive(Debug, clap::Parser)]
struct Options {
    /// How many objects of 20 kinds there are; a pass is measured with a tenth of them first.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// Measure this binary instead of one that the benchmark builds.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let binary = options.binary.map_or_else(|| build("sweeper"), Ok)?;
    let control_plane = ControlPlane::shared().await?;
    let namespace = control_plane.namespace().await?;
    let bench = Bench { kinds: kinds(&control_plane).await?, api: LocalApi::start().await?, control_plane, namespace };
    let mut objects = 0;
    for wanted in [options.objects / 10, options.objects] {
        let started = Instant::now();
        bench.create(objects..wanted).await?;
        print(&format!("created {} objects in {:.0?}", wanted - objects, started.elapsed()));
        objects = wanted;
        bench.measure_pass(&binary, objects).await?;
    }
    for (number, per_second) in [50, 1000].into_iter().enumerate() {
        let owners = ORPHANS / PER_OWNER;
        for owner in owners * number..owners * (number + 1) {
            bench.api.remove(&id(owner)).await?;
        }
        bench.measure_deletion(&binary, per_second).await?;
    }
    Ok(())
}

struct Bench {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    api: LocalApi,
    kinds: Vec<ApiResource>,
}

impl Bench {
    /// Creates API resources, and objects of 2 kB that name them.
    async fn create(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        for owner in numbers.start / PER_OWNER..numbers.end.div_ceil(PER_OWNER) {
            self.api.put_cluster(&id(owner), 1).await?;
        }
        let client = self.control_plane.client().await?;
        let params = PostParams { field_manager: Some("bench".to_owned()), ..PostParams::default() };
        let create = async |number: usize| {
            let kind = &self.kinds[number % self.kinds.len()];
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), self.namespace.name(), kind);
            api.create(&params, &serde_json::from_value(manifest(kind, number))?).await?;
            anyhow::Ok(())
        };
        stream::iter(numbers.map(create)).buffer_unordered(CREATING).try_collect().await
    }

    /// The configuration of a sweeper; the API server is reached by `kubeconfig`.
    fn config(&self, kubeconfig: &Path, more: Value) -> Value {
        let mut config = json!({
            "adapters": ["bench"], "interval": "1s", "grace": "1ms", "min_age": "1ms",
            "api": { "base_url": self.api.url() },
            "kubernetes": { "kubeconfig": kubeconfig },
            "limits": { "objects": 2 * ORPHANS, "percent": 100 },
            "lease": { "namespace": self.namespace.name(), "duration": "10s", "renew_deadline": "8s" },
            "audit": { "file": "audit.jsonl" },
            "health": { "listen": "127.0.0.1:0" }, "metrics": { "listen": "127.0.0.1:0" },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        config
    }

    /// Prints the cost of a pass that has nothing to do: of the first one of a process, and of a later one.
    async fn measure_pass(&self, binary: &Path, objects: usize) -> anyhow::Result<()> {
        let proxy = self.control_plane.proxy().await?;
        let calls = || [self.api.count(&When::any().query_contains("search=")), self.api.count(&When::any())];
        let [searches, all] = calls();
        let mut counted = Sweeper::start(binary, "plan", &self.config(&proxy.access()?.kubeconfig, json!({})))?;
        let status = counted.process.wait().await?;
        ensure!(status.success(), "{}", counted.log()?);
        let [searches, all] = [calls()[0] - searches, calls()[1] - all];
        print(&format!(
            "{objects} objects: {} calls to the API server, {} of them pages of lists; {searches} searches and {} other \
             calls to the API",
            proxy.count(&When::any()),
            proxy.count(&When::any().query_contains("limit=")),
            all - searches,
        ));

        let config = self.config(self.control_plane.kubeconfig_path(), json!({}));
        let sweeper = Sweeper::start(binary, "run", &config)?;
        let first = sweeper.await_pass(1, |_| true).await?;
        let begun = sweeper.usage()?.cpu;
        let last = sweeper.await_pass(4, |_| true).await?;
        let cpu = (sweeper.usage()?.cpu - begun) / 3;
        ensure!(first["inventory"] == objects && last["orphans"] == 0, "{last}");
        print(&format!(
            "{objects} objects: pass {} s, later {} s; {cpu:.2?} CPU; at most {} KiB resident",
            first["duration_seconds"],
            last["duration_seconds"],
            sweeper.usage()?.most_resident
        ));
        Ok(())
    }

    /// Prints how long the deletion of the orphans takes, without the rest of the pass.
    async fn measure_deletion(&self, binary: &Path, per_second: u32) -> anyhow::Result<()> {
        let more = json!({ "dry_run": false, "kubernetes": {
            "kubeconfig": self.control_plane.kubeconfig_path(), "requests_per_second": per_second } });
        let sweeper = Sweeper::start(binary, "run", &self.config(self.control_plane.kubeconfig_path(), more))?;
        let survey = sweeper.await_pass(1, |_| true).await?;
        let begun = sweeper.usage()?.cpu;
        let sweep = sweeper.await_pass(1, |entry| entry["due"] == ORPHANS).await?;
        ensure!(sweep["result"] == "done" && survey["orphans"] == ORPHANS, "{survey} {sweep}");
        print(&format!(
            "{ORPHANS} deletions at most {per_second} requests/s: pass {} s, and {} s without deletions; {:.2?} CPU",
            sweep["duration_seconds"],
            survey["duration_seconds"],
            sweeper.usage()?.cpu - begun
        ));
        Ok(())
    }
}

/// The id of an API resource.
fn id(owner: usize) -> String {
    format!("0198c0de-0000-7000-8000-{owner:012x}")
}

/// Defines the custom kinds, and returns all 20.
async fn kinds(control_plane: &ControlPlane) -> anyhow::Result<Vec<ApiResource>> {
    let client = control_plane.client().await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let built_in = BUILT_IN.iter().map(|(group, version, kind)| GroupVersionKind::gvk(group, version, kind));
    let mut kinds: Vec<_> = built_in.map(|kind| ApiResource::from_gvk(&kind)).collect();
    for number in 0..CUSTOM {
        let group = format!("bench-{number}.example.com");
        definitions.create(&PostParams::default(), &serde_json::from_value(widgets(&group))?).await?;
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Widget"));
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        await_condition("the kind to be served", PATIENCE, async || {
            Ok(api.list(&Default::default()).await.map(drop)?)
        })
        .await?;
        kinds.push(kind);
    }
    Ok(kinds)
}

fn manifest(kind: &ApiResource, number: usize) -> Value {
    let mut manifest = json!({
        "apiVersion": kind.api_version, "kind": kind.kind,
        "metadata": {
            "name": format!("bench-{number}"),
            "labels": { "hyperfleet.io/adapter": "bench", "hyperfleet.io/resource": "object",
                        "hyperfleet.io/resource-id": id(number / PER_OWNER) },
            "annotations": { "hyperfleet.io/generation": "1", "example.com/content": "x".repeat(1300) },
        },
    });
    if kind.kind == "Job" {
        let container = json!({ "name": "main", "image": "none" });
        manifest["spec"] = json!({ "suspend": true, "template": {
            "spec": { "restartPolicy": "Never", "containers": [container] } } });
    }
    manifest
}

/// A running sweeper; dropping it kills the process.
struct Sweeper {
    process: Child,
    files: TempDir,
}

impl Sweeper {
    fn start(binary: &Path, command: &str, config: &Value) -> anyhow::Result<Self> {
        let files = TempDir::new()?;
        fs::write(files.path().join("sweeper.yaml"), config.to_string())?;
        let log = File::create(files.path().join("log"))?;
        let mut process = Command::new(binary);
        process.arg(command).args(["--config", "sweeper.yaml"]).env_clear();
        process.current_dir(files.path()).kill_on_drop(true);
        let process = process.stdout(log.try_clone()?).stderr(log).spawn().context("failed to start the sweeper")?;
        Ok(Self { process, files })
    }

    fn log(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(self.files.path().join("log"))?)
    }

    /// Waits until this many passes have ended that the predicate accepts, and returns the log entry of the last one.
    async fn await_pass(&self, wanted: usize, accepts: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        await_condition("the end of a pass", PATIENCE, async || {
            let log = self.log()?;
            let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut ended = entries.filter(|entry| entry["message"] == "Pass ended" && accepts(entry));
            ended.nth(wanted - 1).with_context(|| log.clone())
        })
        .await
    }

    fn usage(&self) -> anyhow::Result<Usage> {
        let id = self.process.id().context("the sweeper has ended")?;
        Usage::of(id).with_context(|| self.log().unwrap_or_default())
    }
}

#[expect(clippy::print_stdout, reason = "the result")]
fn print(text: &str) {
    println!("{text}");
}
