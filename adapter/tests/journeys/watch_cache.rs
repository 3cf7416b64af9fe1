//! An adapter that watches its objects: what has not changed is not read, and nothing is written on a watch's word.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::DeleteParams;
use lifecycle_e2e::fault::{Fault, TcpProxy, When};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use tempfile::TempDir;

use crate::adapter::Adapter;
use crate::task::{SETTINGS, task};
use crate::world::{Report, World};

const CLUSTER: &str = "c1";
const BROKEN: &str = "the watch broke: objects are read live until it is back";

/// A secret that is found by its labels, the adapter's own among them: any other selector is not answered by a watch.
const CREDENTIALS: &str = r#"
  - name: credentials
    manifest:
      apiVersion: v1
      kind: Secret
      metadata:
        name: "{{ .clusterId }}"
        namespace: "{{ .namespace }}"
        labels: {journey/cluster: "{{ .clusterId }}"}
      stringData:
        generation: "{{ .generation }}"
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors:
        label_selector: {hyperfleet.io/adapter: ADAPTER, journey/cluster: "{{ .clusterId }}"}
"#;

/// Both resources, deleted when the cluster is.
fn resources(adapter: &str) -> String {
    let gate = "    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.hasValue()'}}}\n";
    [SETTINGS, gate, CREDENTIALS, gate].concat().replace("ADAPTER", adapter)
}

/// An adapter with a watch cache, and a line between it and the proxy that counts its calls.
struct Watched {
    world: World,
    line: TcpProxy,
    adapter: Adapter,
    _files: TempDir,
}

/// What came of one more event about the cluster as it is.
struct Pass {
    report: Report,
    /// Whether the cache spared the reads.
    is_answered: bool,
    /// What reached the API server meanwhile, watches aside.
    calls: Vec<String>,
}

impl Watched {
    async fn start() -> Result<Self> {
        let world = World::new().await?;
        let upstream = world.kubernetes.url().trim_start_matches("https://").to_owned();
        let line = TcpProxy::before(&upstream).await?;
        let files = TempDir::new()?;
        let through = world.kubernetes.access()?.through(&line, files.path())?;
        let name = unique("watcher");
        let adapter = world
            .adapter(task(&resources(&name)))?
            .with("adapter.name", name)
            .with("clients.kubernetes.watch_cache", true)
            .with("clients.kubernetes.kube_config_path", through.kubeconfig.display().to_string())
            .start()
            .await?;
        Ok(Self { world, line, adapter, _files: files })
    }

    async fn count(&self, metric: &str, labels: &[(&str, &str)]) -> Result<f64> {
        self.adapter.metric(&format!("hyperfleet_adapter_{metric}_total"), labels).await
    }

    /// Kubernetes calls as the adapter counts them, watches aside; there is no such series before the first.
    async fn calls(&self) -> Result<f64> {
        self.count("api_requests", &[("api", "kubernetes")]).await
    }

    /// Publishes an event about the cluster as it is.
    async fn pass(&self) -> Result<Pass> {
        let answered = [("result", "answered")];
        let before = (self.count("events_processed", &[]).await?, self.count("cache_answers", &answered).await?);
        let (counted, mark) = (self.calls().await?, self.world.mark());
        let report = self.world.reconcile_again(CLUSTER).await?;
        self.adapter.await_handled(before.0 + 1.0).await?;
        let is_answered = self.count("cache_answers", &answered).await? > before.1;
        let calls = self.world.calls_since(mark);
        ensure!((self.calls().await? > counted) != is_answered, "the adapter's own count disagrees: {calls:?}");
        if is_answered {
            ensure!(calls.is_empty(), "{calls:?}");
            for resource in ["settings", "credentials"] {
                ensure!(report.outcome(resource) == "skip SameGeneration", "{report:?}");
            }
        }
        Ok(Pass { report, is_answered, calls })
    }

    /// Publishes events until the cache answers one.
    async fn until_answered(&self) -> Result<Pass> {
        await_condition("an event without a read", PATIENCE, async || {
            let pass = self.pass().await?;
            ensure!(pass.is_answered, "{:?}", pass.calls);
            Ok(pass)
        })
        .await
    }

    /// Deletes the config map as a person does.
    async fn delete_by_hand(&self) -> Result<()> {
        let objects = self.world.objects("v1", "ConfigMap").await?;
        objects.delete(CLUSTER, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Everything that the adapter has written, in order.
    fn writes(&self) -> Vec<String> {
        self.world.calls_since(0).into_iter().filter(|call| !call.starts_with("GET ")).collect()
    }
}

/// Sorted: the reads of an event run side by side.
fn sorted(mut calls: Vec<String>) -> Vec<String> {
    calls.sort();
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_changed_is_not_read_and_what_has_is_read_before_it_is_written() -> Result<()> {
    let watched = Watched::start().await?;
    let world = &watched.world;
    let report = world.reconcile(CLUSTER, 1).await?;
    assert_eq!([report.outcome("settings"), report.outcome("credentials")], ["create Absent"; 2]);
    let reads = ["GET configmaps/c1", "GET secrets"];
    assert_eq!(sorted(world.calls_since(0)), [&reads[..], &["POST configmaps", "POST secrets"]].concat());

    watched.until_answered().await?;
    let again = watched.pass().await?;
    assert!(again.is_answered, "{:?}", again.calls);
    assert_eq!(again.report.statuses(), ["True", "True", "True", "False"]);

    let first = world.object("ConfigMap", CLUSTER).await?;
    watched.delete_by_hand().await?;
    let recreated = await_condition("the deletion to be seen", PATIENCE, async || {
        let pass = watched.pass().await?;
        ensure!(!pass.is_answered, "the watch still has it");
        Ok(pass)
    })
    .await?;
    assert_eq!(recreated.report.outcome("settings"), "create Absent");
    assert_eq!(recreated.report.outcome("credentials"), "skip SameGeneration");
    assert_eq!(sorted(recreated.calls), [&reads[..], &["POST configmaps"]].concat());
    assert_ne!(world.object("ConfigMap", CLUSTER).await?["metadata"]["uid"], first["metadata"]["uid"]);

    watched.until_answered().await?;
    let mark = world.mark();
    let report = world.reconcile(CLUSTER, 2).await?;
    assert_eq!([report.outcome("settings"), report.outcome("credentials")], ["update GenerationChanged"; 2]);
    assert!(reads.iter().all(|read| world.calls_since(mark).iter().any(|call| call == read)));

    watched.until_answered().await?;
    world.api.mark_deleted(&format!("clusters/{CLUSTER}"))?;
    let deleted = watched.pass().await?;
    assert_eq!(deleted.report.outcome("settings"), "delete DeleteGateHolds");
    assert_eq!(sorted(deleted.calls), [&["DELETE configmaps/c1", "DELETE secrets/c1"], &reads[..]].concat());
    let gone = watched.pass().await?;
    assert_eq!(gone.report.outcome("settings"), "skip AlreadyAbsent");
    assert_eq!(gone.report.status("Finalized"), "True");
    assert_eq!(sorted(gone.calls), reads, "absence is always read");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_watches_are_broken_events_read_live_and_afterwards_they_do_not() -> Result<()> {
    let watched = Watched::start().await?;
    let world = &watched.world;
    world.reconcile(CLUSTER, 1).await?;
    watched.until_answered().await?;

    watched.line.refuse();
    watched.adapter.await_message(BROKEN).await?;
    watched.delete_by_hand().await?;
    let away = watched.pass().await?;
    assert!(!away.is_answered);
    assert_eq!(away.report.outcome("settings"), "fail DiscoveryFailed");
    assert_eq!(away.report.status("Available"), "False", "what was known before is not good enough");

    // The server is back, and watches are not: that is all that an event needs.
    let collections = ["/api/v1/configmaps", "/api/v1/secrets"];
    let watching = When::any().and(move |request| collections.contains(&request.path.as_str()));
    world.kubernetes.inject(watching, Fault::Status(503));
    watched.line.restore();
    let live = watched.pass().await?;
    assert_eq!(live.report.outcome("settings"), "create Absent");
    let live = watched.pass().await?;
    assert!(!live.is_answered);
    assert_eq!(live.report.statuses(), ["True", "True", "True", "False"]);
    assert_eq!(sorted(live.calls), ["GET configmaps/c1", "GET secrets"]);

    world.kubernetes.heal();
    watched.until_answered().await?;
    let mut writes = watched.writes();
    assert_eq!(writes.pop().as_deref(), Some("POST configmaps"), "the one that was deleted by hand");
    assert_eq!(sorted(writes), ["POST configmaps", "POST secrets"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_that_may_not_watch_says_so_and_reads_live() -> Result<()> {
    let world = World::new().await?;
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: ["get", "create", "patch"].map(str::to_owned).to_vec(),
        ..PolicyRule::default()
    };
    let user = world.namespace.user(&[rule]).await?;
    let adapter = world
        .adapter(task(SETTINGS))?
        .with("clients.kubernetes.watch_cache", true)
        .with("clients.kubernetes.kube_config_path", user.kubeconfig.display().to_string())
        .start()
        .await?;
    let warning = adapter.await_message(BROKEN).await?;
    assert_eq!((&warning["level"], &warning["kind"]), (&"warn".into(), &"ConfigMap".into()), "{warning}");
    let reason = warning["error"].as_str().context("no error")?;
    assert!(reason.contains("cannot list resource \"configmaps\""), "{reason}");

    assert_eq!(world.reconcile(CLUSTER, 1).await?.outcome("settings"), "create Absent");
    assert_eq!(world.reconcile_again(CLUSTER).await?.outcome("settings"), "skip SameGeneration");
    adapter.await_handled(2.0).await?;
    let answers = "hyperfleet_adapter_cache_answers_total";
    adapter.await_metric(answers, &[("result", "declined")], 2.0).await?;
    adapter.await_metric(answers, &[("result", "answered")], 0.0).await
}
