//! The watch cache against a real API server, as a pass uses it.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use hyperfleet_adapter::api::{Api, CallContext};
use hyperfleet_adapter::metrics::CacheAnswer;
use hyperfleet_adapter::pass::{PassReport, PassStatus};
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::trace::TraceContext;
use hyperfleet_adapter::transport::Transport;
use hyperfleet_adapter::transport::kubernetes::{KubernetesTransport, Settings, connect};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DeleteParams;
use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::host::Host;
use lifecycle_core::id::Generation;
use lifecycle_core::observation::KEPT_WHOLE;
use lifecycle_core::observation::{Query, QueryBy};
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_e2e::fault::{Fault, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::json;
use tokio::time::Instant;

/// The task calls no API.
struct NoApi;

impl Api for NoApi {
    async fn call(&self, request: &ApiRequest, _: &CallContext) -> Result<ApiResponse, ApiFailure> {
        unreachable!("{request:?}")
    }

    fn resolve_url(&self, url: &str) -> String {
        url.to_owned()
    }
}

/// A pipeline whose live calls go through one proxy and whose watches go through another.
struct World {
    namespace: TestNamespace,
    live: Proxy,
    watched: Option<Proxy>,
    pipeline: Pipeline<KubernetesTransport, NoApi>,
}

impl World {
    async fn new(before: impl FnOnce(&Proxy)) -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let (live, watched) = (control_plane.proxy().await?, control_plane.proxy().await?);
        before(&watched);
        let namespace = control_plane.namespace().await?;
        let adapter = unique("watcher");
        let connected = async |proxy: &Proxy| -> Result<KubernetesTransport> {
            let client = connect(Some(&proxy.access()?.kubeconfig), "lifecycle-test/1").await?;
            Ok(KubernetesTransport::new(client, adapter.clone(), Settings::default()))
        };
        let task = TASK.replace("NAMESPACE", namespace.name()).replace("ADAPTER", &adapter);
        let surroundings = Surroundings { read: &|path| Err(format!("no {path}")), environment: &|_| None };
        let compiled = compile("task.yaml", &task, &surroundings);
        let Some(task) = compiled.task else { bail!("{}", compiled.diagnostics) };
        let cache = connected(&watched).await?.watch(task.resources.iter().map(|resource| resource.kind.clone()));
        let pipeline = Pipeline {
            task: Arc::new(task),
            host: Host { name: adapter.clone(), ..Host::default() },
            resource_id: None,
            signer: None,
            transport: connected(&live).await?,
            cache: Some(cache),
            api: NoApi,
            kept_whole: KEPT_WHOLE,
            keep_account: false,
        };
        Ok(Self { namespace, live, watched: Some(watched), pipeline })
    }

    /// One pass, and the calls that it made.
    async fn pass(&self, generation: i64) -> Result<(PassReport, Vec<String>)> {
        let event = event(generation);
        let before = self.live.requests().len();
        let deadline = Instant::now() + PATIENCE;
        let report = self.pipeline.run(&event, Timestamp::now(), deadline, &TraceContext::default()).await;
        ensure!(report.status() == PassStatus::Success, "{:?}", report.errors());
        Ok((report, self.live.lines().split_off(before)))
    }

    /// Passes until the cache gives that answer.
    async fn pass_until(&self, generation: i64, answer: CacheAnswer) -> Result<(PassReport, Vec<String>)> {
        await_condition(&format!("the cache to be {}", answer.as_str()), PATIENCE, async || {
            let (report, calls) = self.pass(generation).await?;
            ensure!(report.cache == Some(answer), "{:?}, calls {calls:?}", report.cache);
            Ok((report, calls))
        })
        .await
    }

    /// Waits until the job's controller has seen it: what it writes later would come between a read and a write.
    async fn await_controller(&self) -> Result<()> {
        let jobs = self.namespace.api::<Job>().await?;
        await_condition("the job's controller to suspend it", PATIENCE, async || {
            let status = jobs.get("job").await?.status.unwrap_or_default();
            let is_suspended = status.conditions.unwrap_or_default().iter().any(|found| found.type_ == "Suspended");
            ensure!(is_suspended, "it has not");
            Ok(())
        })
        .await
    }
}

const TASK: &str = r#"
params: [{ name: generation, source: event.generation }]
resources:
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: settings, namespace: NAMESPACE, annotations: { note: "" } }
      data: { generation: "{{ .generation }}" }
    discovery: { by_name: settings, namespace: NAMESPACE }
  - name: job
    manifest:
      apiVersion: batch/v1
      kind: Job
      metadata: { name: job, namespace: NAMESPACE, labels: { app: installer } }
      spec:
        # Its controller says so once, and changes nothing any more.
        suspend: true
        template:
          spec:
            restartPolicy: Never
            containers: [{ name: a, image: "example.com/a:1", resources: { limits: { cpu: "1", memory: 1Gi } } }]
    discovery:
      namespace: NAMESPACE
      by_selectors: { label_selector: { hyperfleet.io/adapter: ADAPTER, app: installer } }
    recreate_on_change: true
"#;

fn event(generation: i64) -> LifecycleEvent {
    LifecycleEvent {
        event_id: "e1".to_owned(),
        source: "test".to_owned(),
        event_type: "test".to_owned(),
        time: None,
        traceparent: None,
        tracestate: None,
        resource_id: "c1".to_owned(),
        kind: "Cluster".to_owned(),
        href: String::new(),
        generation: Generation(generation),
        owner: None,
        data: json!({ "id": "c1", "kind": "Cluster", "generation": generation }),
    }
}

fn reasons(report: &PassReport) -> Vec<&'static str> {
    report.outcomes.iter().map(|outcome| outcome.decision.reason()).collect()
}

#[tokio::test]
async fn an_event_with_nothing_to_do_makes_no_call_and_sees_what_a_live_read_sees() -> Result<()> {
    let world = World::new(|_| {}).await?;
    let (report, _) = world.pass(1).await?;
    assert_eq!((reasons(&report), report.cache), (vec!["Absent", "Absent"], Some(CacheAnswer::Declined)));

    world.await_controller().await?;
    // The watch may be behind for a moment.
    await_condition("the cache to have what a live read has", PATIENCE, async || {
        let (report, calls) = world.pass_until(1, CacheAnswer::Answered).await?;
        assert_eq!(calls, [""; 0]);
        assert_eq!(reasons(&report), ["SameGeneration", "SameGeneration"]);
        for (name, resource) in [("settings", 0), ("job", 1)] {
            let outcome = &report.outcomes[resource];
            let by = QueryBy::Name(outcome.name.clone());
            let query = Query { kind: outcome.kind.clone(), namespace: Some(outcome.namespace.clone()), by };
            let mut live = world.pipeline.transport.find(&query).await?.pop().context("it is live")?;
            live["metadata"].as_object_mut().context("metadata")?.remove("managedFields");
            let seen = report.scope.get("resources").and_then(|resources| resources.get(name));
            ensure!(seen == Some(&live), "{name}: {seen:?}, and live {live}");
        }
        Ok(())
    })
    .await?;

    let (report, calls) = world.pass(2).await?;
    assert_eq!(
        (reasons(&report), report.cache),
        (vec!["GenerationChanged", "RecreateGateHolds"], Some(CacheAnswer::Declined))
    );
    assert!(calls.iter().any(|call| call.starts_with("GET ")), "it was read live before it was written: {calls:?}");
    let (_, calls) = world.pass_until(2, CacheAnswer::Answered).await?;
    assert_eq!(calls, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn what_somebody_deletes_is_made_again_once_the_watch_has_seen_it() -> Result<()> {
    let world = World::new(|_| {}).await?;
    world.pass_until(1, CacheAnswer::Answered).await?;
    world.namespace.api::<ConfigMap>().await?.delete("settings", &DeleteParams::default()).await?;
    let (report, _) = world.pass_until(1, CacheAnswer::Declined).await?;
    assert_eq!(reasons(&report), ["Absent", "SameGeneration"]);
    world.namespace.api::<ConfigMap>().await?.get("settings").await?;

    world.namespace.api::<Job>().await?.delete("job", &DeleteParams::foreground()).await?;
    let (report, _) = world.pass_until(1, CacheAnswer::Declined).await?;
    assert!(matches!(reasons(&report)[..], ["SameGeneration", "Terminating" | "Absent"]), "{:?}", reasons(&report));
    Ok(())
}

#[tokio::test]
async fn a_watch_that_breaks_or_never_begins_is_replaced_by_live_reads() -> Result<()> {
    let mut world = World::new(|watched| watched.inject(When::any(), Fault::Status(503))).await?;
    world.pass(1).await?;
    let (report, calls) = world.pass(1).await?;
    assert_eq!((reasons(&report), report.cache), (vec!["SameGeneration"; 2], Some(CacheAnswer::Declined)));
    assert_eq!(calls.len(), 2, "one read for each resource: {calls:?}");

    world.watched.as_ref().context("it is there")?.heal();
    world.pass_until(1, CacheAnswer::Answered).await?;

    // Breaks the connections that are open, and refuses new ones.
    world.watched.take();
    let (report, calls) = world.pass_until(1, CacheAnswer::Declined).await?;
    assert_eq!(reasons(&report), ["SameGeneration"; 2]);
    assert_eq!(calls.len(), 2, "{calls:?}");
    Ok(())
}
