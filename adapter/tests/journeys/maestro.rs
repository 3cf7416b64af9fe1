//! Remote clusters: one task writes to this cluster and, through Maestro, to another one.
//!
//! Maestro is the stand-in of `local-maestro`. The tests play its agents, but for the last two, whose agent applies to the real
//! API server.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use local_maestro::{KubeAgent, LocalMaestro, Options};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::adapter::{Adapter, Setup};
use crate::task::{SETTINGS, task};
use crate::world::{Report, World};

/// A work of the cluster's own consumer, with an object inside whose status comes back.
const WORK: &str = r#"
  - name: work
    transport: {client: maestro, maestro: {target_cluster: "spoke-{{ .clusterId }}"}}
    manifest:
      apiVersion: work.open-cluster-management.io/v1
      kind: ManifestWork
      metadata: {name: "{{ .clusterId }}-work"}
      spec:
        workload:
          manifests:
            - apiVersion: v1
              kind: ConfigMap
              metadata: {name: remote, namespace: "{{ .namespace }}"}
              data: {generation: "{{ .generation }}"}
        manifestConfigs:
          - resourceIdentifier: {group: "", resource: configmaps, name: remote, namespace: "{{ .namespace }}"}
            feedbackRules: [{type: JSONPaths, jsonPaths: [{name: phase, path: .status.phase}]}]
    discovery: {by_name: "{{ .clusterId }}-work"}
    nested_discoveries:
      - name: remote
        discovery: {namespace: "{{ .namespace }}", by_name: remote}
LIFECYCLE"#;

const DELETE: &str = "    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}\n";

const SOURCE: &str = "journey-source";

fn work(lifecycle: &str) -> String {
    WORK.replace("LIFECYCLE", lifecycle)
}

/// The servers of one test, with the consumers of the clusters `c1` and `c2`.
struct Remote {
    world: World,
    maestro: LocalMaestro,
}

impl Remote {
    async fn new() -> Result<Self> {
        let consumers = ["c1", "c2"].map(|cluster| format!("spoke-{cluster}")).to_vec();
        let options = Options { consumers, repeats_deletions: true, ..Options::default() };
        let maestro = LocalMaestro::start(options).await?;
        Ok(Self { world: World::new().await?, maestro })
    }

    fn setup(&self, resources: &str) -> Result<Setup> {
        let grpc = self.maestro.grpc_url().split_once("://").context("no scheme")?.1;
        let block = json!({
            "grpc_server_address": grpc, "http_server_address": self.maestro.rest_url(), "source_id": SOURCE, "insecure": true,
        });
        Ok(self.world.adapter(task(resources))?.with("clients.maestro", block))
    }

    async fn start(&self, resources: &str) -> Result<Adapter> {
        self.setup(resources)?.start().await
    }

    /// The id by which the adapter has to store the cluster's work, computed as the Go client does.
    fn id(cluster: &str) -> String {
        let name = format!("{SOURCE}-manifestworks.work.open-cluster-management.io-spoke-{cluster}-{cluster}-work");
        Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
    }

    fn version(&self, cluster: &str) -> Option<i32> {
        self.maestro.bundle(&Self::id(cluster)).map(|bundle| bundle.version)
    }

    /// The work's metadata, as Maestro stored them.
    fn metadata(&self, cluster: &str) -> Result<Value> {
        let bundle = self.maestro.bundle(&Self::id(cluster)).context("no work")?;
        Ok(bundle.payload["metadata"].clone())
    }

    /// Marks the cluster as deleted, and reconciles it.
    async fn delete(&self, cluster: &str) -> Result<Report> {
        self.world.api.delete(cluster).await?;
        self.world.reconcile_again(cluster).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_task_keeps_objects_in_two_clusters_until_they_are_deleted() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let adapter = remote.start(&[SETTINGS, &work(DELETE)].concat()).await?;

    let report = world.reconcile("c1", 1).await?;
    assert_eq!(
        (report.outcome("settings").as_str(), report.outcome("work").as_str()),
        ("create Absent", "create Absent")
    );
    let metadata = remote.metadata("c1")?;
    let stamp = json!({
        "hyperfleet.io/adapter": world.name(), "hyperfleet.io/resource-id": "c1", "hyperfleet.io/resource": "work",
    });
    assert_eq!(metadata["labels"], stamp);
    assert_eq!(
        (&metadata["namespace"], &metadata["annotations"]["hyperfleet.io/generation"]),
        (&json!("spoke-c1"), &json!("1"))
    );

    // A repeated event reads once, and writes nothing.
    let (reads, writes) = (remote.maestro.rest_requests().len(), remote.maestro.published().len());
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("work"), "skip SameGeneration");
    let bundle = format!("resource-bundles/{}", Remote::id("c1"));
    let asked: Vec<String> = remote.maestro.rest_requests().split_off(reads);
    let asked: Vec<&String> = asked.iter().filter(|request| request.contains(&bundle)).collect();
    assert_eq!((asked.len(), remote.maestro.published().len()), (1, writes), "{asked:?}");

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("work"), "update GenerationChanged");
    assert_eq!(remote.version("c1"), Some(2));

    remote.maestro.apply(&Remote::id("c1"))?;
    let report = remote.delete("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "False"));
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("wait Deleting", "False"));
    remote.maestro.finish_delete(&Remote::id("c1"))?;
    assert_eq!(world.reconcile_again("c1").await?.outcome("work"), "skip AlreadyAbsent");
    assert!(adapter.metric("hyperfleet_adapter_api_requests_total", &[("api", "maestro")]).await? > 3.0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_shows_what_the_agent_said_about_this_version() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let phase = "resources.?remote.?statusFeedback.?values[?0].?fieldValue.?string.orValue('unknown')";
    let task = task(&work("")).replace(
        "data:\n          outcomes:",
        &format!("data:\n          phase: {{expression: \"{phase}\"}}\n          outcomes:"),
    );
    let mut setup = remote.setup("")?;
    setup.task = task;
    let _adapter = setup.start().await?;
    let phase = |report: &Report| report.0["data"]["phase"].as_str().unwrap_or_default().to_owned();
    assert_eq!(phase(&world.reconcile("c1", 1).await?), "unknown");
    remote.maestro.apply(&Remote::id("c1"))?;
    remote.maestro.feedback(&Remote::id("c1"), "phase", &json!("Active"))?;
    assert_eq!(phase(&world.reconcile_again("c1").await?), "Active");
    assert_eq!(phase(&world.reconcile("c1", 2).await?), "unknown", "that was the version before");
    assert_eq!(phase(&world.reconcile_again("c1").await?), "unknown");
    remote.maestro.apply(&Remote::id("c1"))?;
    remote.maestro.feedback(&Remote::id("c1"), "phase", &json!("Active"))?;
    assert_eq!(phase(&world.reconcile_again("c1").await?), "Active");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_former_consumer_is_deleted_before_the_cluster_is_finalized() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let moving =
        work(DELETE).replace("spoke-{{ .clusterId }}", "spoke-c{{ if eq .generation 1 }}1{{ else }}2{{ end }}");
    let _adapter = remote.start(&moving).await?;
    world.reconcile("c1", 1).await?;
    world.reconcile("c1", 2).await?;
    let ids: Vec<String> = remote.maestro.bundles().into_iter().map(|bundle| bundle.id).collect();
    assert_eq!(ids.len(), 2, "a changed consumer moves nothing");

    let report = remote.delete("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "False"));
    for id in &ids {
        let report = world.reconcile_again("c1").await?;
        assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("wait Deleting", "False"));
        remote.maestro.finish_delete(id)?;
    }
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("skip AlreadyAbsent", "True"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_that_is_away_fails_its_own_resource_only() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let _adapter = remote.start(&[SETTINGS, &work("")].concat()).await?;
    let report = world.reconcile("c9", 1).await?;
    assert_eq!(report.outcome("settings"), "create Absent");
    let message = report.condition("Available")["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("consumer \"spoke-c9\" is not registered in Maestro"), "{report:?}");
    assert_eq!(world.reconcile("c1", 1).await?.outcome("work"), "create Absent");
    remote.maestro.register("spoke-c9");
    assert_eq!(world.reconcile_again("c9").await?.outcome("work"), "create Absent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_that_is_away_holds_up_the_resources_after_it() -> Result<()> {
    let remote = Remote::new().await?;
    let _adapter = remote.start(&[&work(""), SETTINGS].concat()).await?;
    let report = remote.world.reconcile("c9", 1).await?;
    assert_eq!(
        (report.outcome("work").as_str(), report.outcome("settings").as_str()),
        ("create NotFound", "skip EarlierFailure")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_wait_while_maestro_does_not_answer() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let adapter = remote.start(&work("")).await?;
    world.reconcile("c1", 1).await?;
    remote.maestro.pause();
    world.announce("c2", 1).await?;
    adapter.await_readiness(503).await?;
    let (_, body) = adapter.get("health", "/readyz").await?;
    assert!(body.contains("waiting for Maestro"), "{body}");
    remote.maestro.resume();
    adapter.await_readiness(200).await?;
    // The Sentinel sends the event again, whatever became of the first.
    await_condition("the work of c2", PATIENCE, async || {
        world.reconcile_again("c2").await?;
        remote.version("c2").context("no work")
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_acknowledgement_is_found_by_the_next_event() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let _adapter = remote.start(&work("")).await?;
    remote.maestro.faults().lose_answers(1);
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.condition("Available")["reason"], "Unreachable", "{report:?}");
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Available")), ("skip SameGeneration", "True"));
    assert_eq!(remote.version("c1"), Some(1), "nothing was written twice");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_work_waits_until_the_former_one_is_gone() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let _adapter = remote.start(&work("    recreate_on_change: true\n")).await?;
    world.reconcile("c1", 1).await?;
    remote.maestro.apply(&Remote::id("c1"))?;
    assert_eq!(world.reconcile("c1", 2).await?.outcome("work"), "recreate RecreateGateHolds");
    assert_eq!(world.reconcile_again("c1").await?.outcome("work"), "wait Terminating");
    remote.maestro.finish_delete(&Remote::id("c1"))?;
    assert_eq!(world.reconcile_again("c1").await?.outcome("work"), "create Absent");
    let metadata = remote.metadata("c1")?;
    assert_eq!((remote.version("c1"), &metadata["annotations"]["hyperfleet.io/generation"]), (Some(1), &json!("2")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disowned_work_stays_with_its_objects() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let orphan = DELETE.replace("delete:", "orphan:");
    let _adapter = remote.start(&work(&orphan)).await?;
    world.reconcile("c1", 1).await?;
    let report = remote.delete("c1").await?;
    assert_eq!((report.outcome("work").as_str(), report.status("Finalized")), ("disown OrphanGateHolds", "True"));
    let bundle = remote.maestro.bundle(&Remote::id("c1")).context("no work")?;
    assert_eq!(bundle.payload["metadata"]["labels"], json!({"hyperfleet.io/disowned": "c1"}));
    let stored = json!(bundle.payload).to_string();
    assert!(stored.contains(r#""propagationPolicy":"Orphan""#) && bundle.deleted_at.is_none(), "{stored}");
    assert_eq!(world.reconcile_again("c1").await?.outcome("work"), "skip Disowned");
    Ok(())
}

/// Starts an agent of the consumer of `c1`, whose cluster is the test's own.
async fn agent(remote: &Remote) -> Result<KubeAgent> {
    let client = remote.world.stack.control_plane.client().await?;
    Ok(KubeAgent::start(&remote.maestro, "spoke-c1", client, Duration::from_millis(100)))
}

/// Sends the event again until the report says this, as the Sentinel does.
async fn reconcile_until(remote: &Remote, what: &str, holds: impl Fn(&Report) -> bool) -> Result<()> {
    await_condition(what, PATIENCE, async || {
        let report = remote.world.reconcile_again("c1").await?;
        ensure!(holds(&report), "{report:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_makes_a_real_object_changes_it_and_deletes_it() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let _agent = agent(&remote).await?;
    let _adapter = remote.start(&work(DELETE)).await?;
    for generation in [1, 2] {
        world.reconcile("c1", generation).await?;
        await_condition("the object", PATIENCE, async || {
            let object = world.object("ConfigMap", "remote").await?;
            let expected = json!(generation.to_string());
            ensure!(object["data"]["generation"] == expected, "{object}");
            Ok(())
        })
        .await?;
    }
    world.api.delete("c1").await?;
    reconcile_until(&remote, "the end", |report| report.outcome("work") == "skip AlreadyAbsent").await?;
    assert_eq!(world.object("ConfigMap", "remote").await?, Value::Null);
    Ok(())
}

/// Awaits the generation that the real object has.
async fn await_generation(remote: &Remote, generation: &str) -> Result<()> {
    await_condition("the object", PATIENCE, async || {
        let object = remote.world.object("ConfigMap", "remote").await?;
        ensure!(object["data"]["generation"] == generation, "{object}");
        Ok(())
    })
    .await
}

/// Maestro stores an update and a deletion, and tells the agent of neither.
#[tokio::test(flavor = "multi_thread")]
async fn writes_that_no_agent_hears_of_are_reported_and_sent_again() -> Result<()> {
    let remote = Remote::new().await?;
    let (world, id, age) = (&remote.world, Remote::id("c1"), Duration::from_secs(121));
    let _agent = agent(&remote).await?;
    let adapter = remote.start(&work(DELETE)).await?;
    world.reconcile("c1", 1).await?;
    await_generation(&remote, "1").await?;
    let told = |report: &Report| {
        let available = report.condition("Available");
        (report.outcome("work"), available["status"].clone(), available["reason"].clone())
    };

    remote.maestro.faults().lose_spec_events(1);
    assert_eq!(world.reconcile("c1", 2).await?.outcome("work"), "update GenerationChanged");
    let young = world.reconcile_again("c1").await?;
    assert_eq!((young.outcome("work").as_str(), young.status("Available")), ("skip SameGeneration", "True"));
    remote.maestro.backdate(&id, age);
    let late = world.reconcile_again("c1").await?;
    assert_eq!(told(&late), ("update NotObserved".to_owned(), json!("False"), json!("NotObserved")));
    await_generation(&remote, "2").await?;
    reconcile_until(&remote, "the agent's report", |report| report.status("Available") == "True").await?;
    assert_eq!(remote.version("c1"), Some(3), "it was sent once");

    remote.maestro.faults().lose_spec_events(1);
    assert_eq!(remote.delete("c1").await?.outcome("work"), "delete DeleteGateHolds");
    assert_eq!(world.reconcile_again("c1").await?.outcome("work"), "wait Deleting");
    remote.maestro.backdate(&id, age);
    let late = world.reconcile_again("c1").await?;
    assert_eq!(told(&late), ("delete NotObserved".to_owned(), json!("False"), json!("NotObserved")));
    assert_eq!(late.status("Finalized"), "False");
    reconcile_until(&remote, "the end", |report| report.outcome("work") == "skip AlreadyAbsent").await?;
    assert_eq!(world.object("ConfigMap", "remote").await?, Value::Null);
    for decision in ["update", "delete"] {
        let labels = [("decision", decision), ("reason", "NotObserved")];
        assert!(adapter.metric("hyperfleet_adapter_decisions_total", &labels).await? >= 1.0, "{decision}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_with_the_policy_orphan_leaves_the_real_object() -> Result<()> {
    let remote = Remote::new().await?;
    let world = &remote.world;
    let _agent = agent(&remote).await?;
    let _adapter = remote.start(&work(&DELETE.replace("}}}\n", "}, propagationPolicy: Orphan}}\n"))).await?;
    world.reconcile("c1", 1).await?;
    await_condition("the object", PATIENCE, async || {
        ensure!(!world.object("ConfigMap", "remote").await?.is_null());
        Ok(())
    })
    .await?;
    world.api.delete("c1").await?;
    reconcile_until(&remote, "the end", |report| report.outcome("work") == "skip AlreadyAbsent").await?;
    assert_eq!(world.object("ConfigMap", "remote").await?["data"]["generation"], "1");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_without_kubernetes_resources_needs_no_cluster() -> Result<()> {
    let remote = Remote::new().await?;
    let setup = remote.setup(&work(""))?.with("clients.kubernetes.kube_config_path", "/does/not/exist");
    let _adapter = setup.start().await?;
    assert_eq!(remote.world.reconcile("c1", 1).await?.outcome("work"), "create Absent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_that_needs_maestro_does_not_start_without_it() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(&work("")))?.spawn()?;
    let entry =
        adapter.await_log("the reason", |entry| entry.to_string().contains("`clients.maestro` is missing")).await?;
    assert!(entry.to_string().contains("failed to set up the Maestro client"), "{entry}");
    Ok(())
}
