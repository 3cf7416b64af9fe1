//! A Job that runs repeatedly, with a limited history of former runs.
//!
//! The Job controller is real; the test ends Pods in place of a kubelet.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ListParams, PostParams};
use lifecycle_e2e::kube::JobEnd;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::json;

use crate::task::task;
use crate::world::{Report, World};

/// The minimal age of a run, in seconds, before the next run may be created. On a busy machine, too, an event right after
/// a creation comes earlier.
const DEBOUNCE: i64 = 15;

const RUNS: &str = r#"
  - name: run
    when:
      expression: |
        !resources.?run.hasValue()
          || timestamp(resources.run.metadata.creationTimestamp) < timestamp(now()) - duration("15s")
    manifest:
      apiVersion: batch/v1
      kind: Job
      metadata:
        name: '{{ .clusterId }}-{{ .now | date "20060102-150405" }}'
        namespace: "{{ .namespace }}"
      spec:
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: "example.com/job:1"}]
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors:
        label_selector: {hyperfleet.io/resource-id: "{{ .clusterId }}", hyperfleet.io/resource: run}
    retention: {historyLimit: 1}
    lifecycle:
      recreate:
        when:
          expression: |
            resources.run.?status.?conditions.orValue([])
              .exists(c, (c.type == "Complete" || c.type == "Failed") && c.status == "True")
"#;

/// The names of all jobs, oldest first: each name ends in its creation time.
async fn runs(world: &World) -> Result<Vec<String>> {
    let jobs = world.objects("batch/v1", "Job").await?.list(&ListParams::default()).await?;
    let names: BTreeSet<String> = jobs.iter().map(kube::ResourceExt::name_any).collect();
    Ok(names.into_iter().collect())
}

/// Sends events until the debounce has passed; every event before that must wait.
async fn next_run(world: &World) -> Result<Report> {
    await_condition("the next run", PATIENCE, async || {
        let report = world.reconcile_again("c1").await?;
        ensure!(report.outcome("run") != "wait NotYet", "still too early");
        Ok(report)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_debounced_and_former_runs_are_pruned() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(RUNS))?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("run"), "create Absent");
    let first = runs(&world).await?;
    let [first] = first.as_slice() else { anyhow::bail!("{first:?}") };

    // A run that has not ended is not replaced, whatever its age.
    let report = next_run(&world).await?;
    assert_eq!(report.outcome("run"), "skip SameGeneration", "{report:?}");
    assert_eq!(report.statuses(), ["True", "True", "True", "False"]);

    for (former, end) in [(1, JobEnd::Succeeded), (2, JobEnd::Failed)] {
        let current = runs(&world).await?.pop().context("there is no run")?;
        world.stack.control_plane.finish_job(&world.namespace, &current, end).await?;
        let report = next_run(&world).await?;
        assert_eq!(report.outcome("run"), "create_version RecreateGateHolds", "{report:?}");
        let report = world.reconcile_again("c1").await?;
        assert_eq!(report.outcome("run"), "wait NotYet", "the new run is younger than the debounce");
        assert_eq!(report.status("Health"), "True", "{report:?}");
        assert_eq!(runs(&world).await?.len(), 2, "{former} before it, of which one is kept");
    }

    let left = runs(&world).await?;
    assert!(!left.contains(first), "the first of three runs is beyond the limit of one");
    let jobs = world.objects("batch/v1", "Job").await?;
    let mut made = Vec::new();
    for name in &left {
        made.push(jobs.get(name).await?.metadata.creation_timestamp.context("no time")?.0);
    }
    assert!(made[1].duration_since(made[0]).as_secs() >= DEBOUNCE, "{made:?}");
    // The adapter prunes with background propagation, so the garbage collector deletes the Pods of the Job.
    let pods = world.objects("v1", "Pod").await?;
    let of_first = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={first}"));
    await_condition("the pods of the first run to be gone", PATIENCE, async || {
        let pods = pods.list(&of_first).await?.items.len();
        ensure!(pods == 0, "{pods}");
        Ok(())
    })
    .await
}

const RECORDS: &str = r#"
  - name: record
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-{{ .generation }}", namespace: "{{ .namespace }}"}
      data: {generation: "{{ .generation }}"}
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors:
        label_selector: {hyperfleet.io/resource-id: "{{ .clusterId }}", hyperfleet.io/resource: record}
    retention: {historyLimit: 3}
"#;

/// The number of former versions before the event.
const FORMER_VERSIONS: i64 = 1000;
/// The size of each version, in bytes.
const WEIGHT: usize = 32 * 1024;
/// The limit for the additional memory, in KiB; `docs/operations.md` states about 50 MiB.
const PEAK: u64 = 64 * 1024;

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the duration is informative, and no test depends on it")]
async fn event_prunes_a_thousand_versions_within_the_memory_limit() -> Result<()> {
    let world = World::new().await?;
    let (records, adapter_name) = (&world.objects("v1", "ConfigMap").await?, world.name());
    let names = (1..=FORMER_VERSIONS).map(|generation| async move {
        let labels = json!({
            "hyperfleet.io/adapter": adapter_name,
            "hyperfleet.io/resource-id": "c1",
            "hyperfleet.io/resource": "record",
        });
        let generation = generation.to_string();
        let record = json!({
            "metadata": {
                "name": format!("c1-{generation}"),
                "labels": labels,
                "annotations": {"hyperfleet.io/generation": generation},
            },
            "data": {"generation": generation, "weight": "x".repeat(WEIGHT)},
        });
        Ok::<_, anyhow::Error>(records.create(&PostParams::default(), &serde_json::from_value(record)?).await?)
    });
    stream::iter(names).buffer_unordered(16).try_collect::<Vec<_>>().await?;

    let adapter = world.adapter(task(RECORDS))?.start().await?;
    let (begun, memory) = (Instant::now(), adapter.peak_memory()?);
    let report = world.reconcile("c1", FORMER_VERSIONS + 1).await?;
    let memory = adapter.peak_memory()? - memory;
    println!("{FORMER_VERSIONS} former versions were pruned in {:?}, with {memory} KiB of memory", begun.elapsed());
    ensure!(memory <= PEAK, "{memory} KiB for {FORMER_VERSIONS} former versions of {WEIGHT} bytes each");
    assert_eq!(report.outcome("record"), "create_version NewName", "{report:?}");
    assert_eq!(report.status("Available"), "True", "{report:?}");

    let ours = ListParams::default().labels("hyperfleet.io/resource=record");
    let left = records.list(&ours).await?;
    let left: BTreeSet<String> = left.iter().map(kube::ResourceExt::name_any).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.contains(&format!("c1-{}", FORMER_VERSIONS + 1)), "the current version: {left:?}");
    let logged = adapter.await_message("former versions pruned").await?;
    assert_eq!(logged["count"], FORMER_VERSIONS - 3, "{logged}");
    Ok(())
}
