//! Recreation: an object that cannot be changed is deleted and created again.

use anyhow::Result;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::task::task;
use crate::world::World;

/// Recreation with `recreate_on_change`, as in task files of the Go adapter.
const RECREATED: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}", namespace: "{{ .namespace }}"}
      immutable: true
      data: {generation: "{{ .generation }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    recreate_on_change: true
"#;

/// A Job, which is immutable: a completed one of an older generation is recreated.
const JOB: &str = r#"
  - name: job
    manifest:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "{{ .clusterId }}", namespace: "{{ .namespace }}"}
      spec:
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: "example.com/job:{{ .generation }}"}]
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    lifecycle:
      recreate:
        when:
          expression: |
            resources.job.metadata.annotations["hyperfleet.io/generation"] != string(generation)
              && resources.job.status.?conditions.orValue([]).exists(c, c.type == "Complete" && c.status == "True")
"#;

/// A config map whose manifest is invalid from the second generation on.
const INVALID_SECOND: &str = r#"
  - name: settings
    manifest: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}", namespace: "{{ .namespace }}"}
      data: { {{ if eq .generation 1 }}valid{{ else }}"not valid"{{ end }}: "1" }
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    recreate_on_change: true
"#;

/// A config map with the generation in its name, which replaces that of the former generation.
const RENAMED: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ .clusterId }}-{{ .generation }}"
        namespace: "{{ .namespace }}"
        labels: {journey: renamed}
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors: {label_selector: {journey: renamed}}
    recreate_on_change: true
"#;

fn uid(object: &Value) -> &Value {
    &object["metadata"]["uid"]
}

#[tokio::test(flavor = "multi_thread")]
async fn new_generation_recreates_the_object_in_one_event() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(RECREATED))?.start().await?;
    world.reconcile("c1", 1).await?;
    let old = world.object("ConfigMap", "c1").await?;
    let mark = world.mark();
    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("settings"), "recreate RecreateGateHolds");
    assert_eq!(report.status("Available"), "True");
    let new = world.object("ConfigMap", "c1").await?;
    assert_eq!(new["data"]["generation"], "2");
    assert_ne!(uid(&new), uid(&old));
    let calls = ["GET configmaps/c1", "POST configmaps (dry run)", "DELETE configmaps/c1", "POST configmaps"]
        .map(str::to_owned);
    assert_eq!(world.calls_since(mark), calls);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recreation_is_completed_after_a_finalizer_is_removed() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(RECREATED))?.start().await?;
    world.reconcile("c1", 1).await?;
    let old = world.object("ConfigMap", "c1").await?;
    let objects = world.objects("v1", "ConfigMap").await?;
    let finalizers = |value: Value| Patch::Merge(json!({"metadata": {"finalizers": value}}));
    objects.patch("c1", &PatchParams::default(), &finalizers(json!(["journey.example.com/hold"]))).await?;

    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.outcome("settings"), "recreate RecreateGateHolds");
    let held = world.object("ConfigMap", "c1").await?;
    assert_eq!(uid(&held), uid(&old));
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held}");

    let mark = world.mark();
    for _ in 0..2 {
        let report = world.reconcile_again("c1").await?;
        assert_eq!(report.outcome("settings"), "wait Terminating", "the adapter writes nothing meanwhile");
    }
    assert_eq!(world.calls_since(mark), ["GET configmaps/c1", "GET configmaps/c1"]);

    objects.patch("c1", &PatchParams::default(), &finalizers(Value::Null)).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("settings"), "create Absent");
    let new = world.object("ConfigMap", "c1").await?;
    assert_ne!(uid(&new), uid(&old));
    assert_eq!(new["data"]["generation"], "2");
    adapter.await_handled(5.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn recreation_is_refused_if_its_dry_run_fails() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(INVALID_SECOND))?.start().await?;
    world.reconcile("c1", 1).await?;
    let old = world.object("ConfigMap", "c1").await?;
    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.status("Available"), "False");
    assert_eq!(report.condition("Available")["reason"], "Invalid", "{report:?}");
    assert_eq!(world.object("ConfigMap", "c1").await?, old);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recreation_is_refused_if_a_foreign_object_has_the_name() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(RENAMED))?.start().await?;
    world.reconcile("c1", 1).await?;
    let old = world.object("ConfigMap", "c1-1").await?;
    let stranger = json!({"metadata": {"name": "c1-2"}, "data": {"whose": "a stranger's"}});
    world.objects("v1", "ConfigMap").await?.create(&PostParams::default(), &serde_json::from_value(stranger)?).await?;

    let mark = world.mark();
    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.condition("Available")["reason"], "NameTaken", "{report:?}");
    assert_eq!(world.object("ConfigMap", "c1-1").await?, old);
    assert_eq!(world.object("ConfigMap", "c1-2").await?["data"]["whose"], "a stranger's");
    assert_eq!(world.calls_since(mark), ["GET configmaps", "POST configmaps (dry run)", "GET configmaps/c1-2"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn job_is_recreated_only_after_its_completion() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(JOB))?.start().await?;
    world.reconcile("c1", 1).await?;
    let jobs = world.objects("batch/v1", "Job").await?;
    let first = jobs.get("c1").await?;

    // The Job still runs, so its gate is closed; the update is refused because a Job's template is immutable.
    let report = world.reconcile("c1", 2).await?;
    assert_eq!(report.status("Available"), "False", "{report:?}");
    assert_eq!(jobs.get("c1").await?.metadata.uid, first.metadata.uid);

    let control_plane = &world.stack.control_plane;
    control_plane.finish_job(&world.namespace, "c1", lifecycle_e2e::kube::JobEnd::Succeeded).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("job"), "recreate RecreateGateHolds", "{report:?}");
    // The controllers may need a moment to remove the finalizers of the Job's Pods.
    lifecycle_e2e::await_condition("the second job", lifecycle_e2e::PATIENCE, async || {
        world.reconcile_again("c1").await?;
        let second = jobs.get("c1").await?;
        anyhow::ensure!(second.metadata.uid != first.metadata.uid, "still the first job");
        Ok(())
    })
    .await?;
    jobs.delete("c1", &DeleteParams::background()).await?;
    Ok(())
}
