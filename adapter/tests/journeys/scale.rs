//! A thousand clusters at the same time.

use std::collections::BTreeSet;

use anyhow::Result;
use kube::ResourceExt;
use kube::api::ListParams;
use lifecycle_e2e::fault::When;
use lifecycle_e2e::{PATIENCE, await_condition};

use crate::task::{SETTINGS, task};
use crate::world::{SUBSCRIPTION, World};

const CLUSTERS: usize = 1000;

#[tokio::test(flavor = "multi_thread")]
async fn thousand_clusters_are_each_reconciled_once() -> Result<()> {
    let world = World::new().await?;
    let clusters: BTreeSet<String> = (0..CLUSTERS).map(|number| format!("c{number:04}")).collect();
    let mut adapter = world.adapter(task(SETTINGS))?.with("log.level", "info").start().await?;
    for cluster in &clusters {
        world.announce(cluster, 1).await?;
    }
    await_condition("every report", 3 * PATIENCE, async || {
        let missing = clusters.iter().filter(|cluster| world.reports(cluster).is_empty()).count();
        anyhow::ensure!(missing == 0, "{missing} are missing");
        Ok(())
    })
    .await?;

    for cluster in &clusters {
        let reports = world.reports(cluster);
        assert_eq!(reports.len(), 1, "{cluster}: an event was handled twice");
        assert_eq!(reports[0].statuses(), ["True", "True", "True", "False"], "{cluster}");
    }
    let selector = ListParams::default().labels("app=journey");
    let made = world.objects("v1", "ConfigMap").await?.list(&selector).await?;
    let made: BTreeSet<String> = made.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(made, clusters);
    assert_eq!(world.kubernetes.count(&When::method("POST")), CLUSTERS);
    let expected = 2 * CLUSTERS + 2;
    assert_eq!(world.kubernetes.requests().len(), expected, "a probe, one discovery, and two calls per cluster");
    adapter.stop().await?;
    let depth = world.stack.broker.depth(&world.topic.queue_name(SUBSCRIPTION)).await?;
    assert_eq!((depth.ready, depth.consumers), (0, 0));
    Ok(())
}
