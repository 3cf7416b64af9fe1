//! Two replicas of an adapter share a subscription.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::ListParams;
use lifecycle_e2e::fault::When;
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};

use crate::adapter::Adapter;
use crate::task::{CREDENTIALS, SETTINGS, task};
use crate::world::World;

async fn pair(world: &World, task: &str) -> Result<[Adapter; 2]> {
    let replica = || async { world.adapter(task)?.start().await };
    let (one, other) = tokio::try_join!(replica(), replica())?;
    Ok([one, other])
}

async fn handled(replicas: &[Adapter; 2]) -> Result<[f64; 2]> {
    let name = "hyperfleet_adapter_events_processed_total";
    Ok([replicas[0].metric(name, &[]).await?, replicas[1].metric(name, &[]).await?])
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_events_and_create_everything_once() -> Result<()> {
    let world = World::new().await?;
    let replicas = pair(&world, &task(&[SETTINGS, CREDENTIALS].concat())).await?;
    let clusters: Vec<String> = (0..30).map(|number| format!("c{number}")).collect();
    let mut uids = BTreeMap::new();
    for generation in [1, 2, 3] {
        for cluster in &clusters {
            world.api.put_cluster(cluster, generation).await?;
            // Publish twice, so that both replicas probably handle the same event at the same time.
            for _ in 0..2 {
                world.topic.publish(&Event::cluster(cluster, generation)).await?;
            }
        }
        await_condition(&format!("generation {generation} of every cluster"), PATIENCE, async || {
            let mut missing = Vec::new();
            for cluster in &clusters {
                let reports = world.reports(cluster);
                let last = reports.iter().rfind(|report| report.0["observed_generation"] == generation);
                let Some(report) = last else { anyhow::bail!("no report about {cluster}") };
                if report.status("Available") != "True" {
                    // Both replicas wrote at the same time, and one got a conflict. Send the event again, as
                    // the Sentinel does.
                    ensure!(report.condition("Available")["reason"] == "Conflict", "{report:?}");
                    world.topic.publish(&Event::cluster(cluster, generation)).await?;
                    missing.push(cluster);
                }
            }
            ensure!(missing.is_empty(), "{missing:?} are not available");
            Ok(())
        })
        .await?;
        let all = ListParams::default().labels(&format!("hyperfleet.io/adapter={}", world.name()));
        for kind in ["ConfigMap", "Secret"] {
            let found = world.objects("v1", kind).await?.list(&all).await?.items;
            assert_eq!(found.len(), clusters.len(), "{kind}");
            for object in found {
                let name = object.name_any();
                assert_eq!(object.annotations()["hyperfleet.io/generation"], generation.to_string(), "{kind} {name}");
                let uid = object.uid();
                let first = uids.entry((kind, name)).or_insert_with(|| uid.clone());
                assert_eq!(*first, uid, "no object was deleted and created again");
            }
        }
    }
    let shares = handled(&replicas).await?;
    assert!(shares.iter().all(|share| *share > 0.0), "both replicas handled events: {shares:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn slower_replica_accepts_the_object_of_the_faster_one() -> Result<()> {
    let world = World::new().await?;
    let _replicas = pair(&world, &task(&[SETTINGS, CREDENTIALS].concat())).await?;
    // Hold both creations, so that both replicas have read before either wrote: the second creation then fails.
    let gate = world.kubernetes.hold(When::method("POST").path_ends("/configmaps").first(2));
    world.api.put_cluster("c1", 1).await?;
    await_condition("both replicas before the creation", PATIENCE, async || {
        world.topic.publish(&Event::cluster("c1", 1)).await?;
        ensure!(world.kubernetes.count(&When::method("POST").path_ends("/configmaps")) == 2, "one of them yet");
        Ok(())
    })
    .await?;
    gate.release();
    for number in [1, 2] {
        let report = world.report("c1", number).await?;
        assert_eq!(report.statuses(), ["True", "True", "True", "False"], "{report:?}");
    }
    assert_eq!(world.kubernetes.count(&When::method("POST").path_ends("/configmaps")), 2);
    let all = ListParams::default().labels("hyperfleet.io/resource-id=c1");
    assert_eq!(world.objects("v1", "ConfigMap").await?.list(&all).await?.items.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_killed_replica_are_handled_by_the_other() -> Result<()> {
    let world = World::new().await?;
    let [mut killed, survivor] = pair(&world, &task(SETTINGS)).await?;
    let gate = world.kubernetes.hold(When::method("POST"));
    let clusters: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    for cluster in &clusters {
        world.announce(cluster, 1).await?;
    }
    gate.reached_by(clusters.len()).await;
    killed.signal("KILL").await?;
    assert_eq!(killed.exit().await?.code(), None, "killed by a signal");
    gate.release();
    for cluster in &clusters {
        assert_eq!(world.report(cluster, 1).await?.status("Available"), "True", "{cluster}");
        assert!(!world.object("ConfigMap", cluster).await?.is_null(), "{cluster}");
    }
    survivor.await_handled(clusters.len() as f64).await
}

#[tokio::test(flavor = "multi_thread")]
async fn late_write_of_the_slower_replica_is_refused() -> Result<()> {
    let world = World::new().await?;
    let _replicas = pair(&world, &task(SETTINGS)).await?;
    world.reconcile("c1", 1).await?;
    world.reconcile("c1", 2).await?;
    let gate = world.kubernetes.hold(When::method("PATCH").nth(1));
    world.announce("c1", 3).await?;
    gate.reached().await;
    let reported = |generation: i64| {
        let reports = world.reports("c1");
        ensure!(reports.iter().any(|report| report.0["observed_generation"] == generation), "{reports:?}");
        Ok(())
    };
    // Events in the replica with the held event wait behind that one, so publish until the other replica gets one.
    world.api.put_cluster("c1", 4).await?;
    await_condition("the fourth generation", PATIENCE, async || {
        world.topic.publish(&Event::cluster("c1", 4)).await?;
        reported(4)
    })
    .await?;
    gate.release();
    await_condition("the third generation", PATIENCE, async || reported(3)).await?;
    assert_eq!(world.object("ConfigMap", "c1").await?["data"]["generation"], "4", "it was rolled back");
    world.reconcile_again("c1").await?;
    assert_eq!(world.object("ConfigMap", "c1").await?["data"]["generation"], "4");
    Ok(())
}
