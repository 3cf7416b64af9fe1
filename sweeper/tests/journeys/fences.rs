//! What changes between the judgement of an object and its deletion.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::Fault;
use lifecycle_objects::proof::{Claim, Signer};
use serde_json::json;

use crate::world::World;

/// The two requests between which, and before which, an object can change: the last read, and the deletion.
const MOMENTS: [&str; 2] = ["GET", "DELETE"];

#[tokio::test(flavor = "multi_thread")]
async fn namesake_that_was_made_in_between_stays() -> Result<()> {
    for moment in MOMENTS {
        let world = World::new().await?;
        world.orphan("object").await?;
        let gate = world.kubernetes.hold(world.request(moment, "object").first(1));
        let sweeper = world.sweeper()?.run()?;
        gate.reached().await;
        let id = world.cluster(1).await?;
        let uid = world.replace("object", world.config_map("object", &id)).await?;
        gate.release();
        let outcome = if moment == "GET" { "kept" } else { "changed" };
        sweeper.await_metric(&format!("deletions_total{{kind=\"core/ConfigMap\",outcome=\"{outcome}\"}} 1")).await?;
        let pass = sweeper.await_passes(2).await?;
        assert_eq!(pass["orphans"], 0, "{moment}: {pass}");
        let live = world.objects.get("object").await?.metadata.uid;
        assert_eq!(live, Some(uid), "{moment}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_lost_its_label_in_between_stays() -> Result<()> {
    for moment in MOMENTS {
        let world = World::new().await?;
        world.orphan("object").await?;
        let gate = world.kubernetes.hold(world.request(moment, "object").first(1));
        let sweeper = world.sweeper()?.run()?;
        gate.reached().await;
        world.patch("object", &json!({ "metadata": { "labels": { "hyperfleet.io/adapter": null } } })).await?;
        gate.release();
        let outcome = if moment == "GET" { "kept" } else { "changed" };
        sweeper.await_metric(&format!("deletions_total{{kind=\"core/ConfigMap\",outcome=\"{outcome}\"}} 1")).await?;
        let pass = sweeper.await_passes(2).await?;
        assert_eq!(pass["inventory"], 0, "{moment}: {pass}");
        world.objects.get("object").await.context(moment)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_an_adapter_wrote_in_between_begins_anew() -> Result<()> {
    let world = World::new().await?;
    let id = world.orphan("object").await?;
    let gate = world.kubernetes.hold(world.request("GET", "object").first(1));
    let sweeper = world.sweeper()?.run()?;
    gate.reached().await;
    // The cluster was made again, and its adapter has written the object.
    world.api.put_cluster(&id, 2).await?;
    world.patch("object", &json!({ "metadata": { "annotations": { "hyperfleet.io/generation": "2" } } })).await?;
    gate.release();
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"kept\"} 1").await?;
    let pass = sweeper.await_passes(2).await?;
    ensure!(pass["orphans"] == 0 && pass["inventory"] == 1, "{pass}");
    world.assert_names(&["object"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_whose_answer_is_lost_counts_as_uncertain() -> Result<()> {
    let world = World::new().await?;
    world.orphan("object").await?;
    world.kubernetes.inject(world.request("DELETE", "object"), Fault::ResetAfter);
    let sweeper = world.sweeper()?.run()?;
    sweeper.await_metric("deletions_total{kind=\"core/ConfigMap\",outcome=\"uncertain\"} 1").await?;
    sweeper.await_metric("passes_total{result=\"failed\"} 1").await?;
    let pass = sweeper.await_passes(1).await?;
    assert_eq!((&pass["inventory"], &pass["result"]), (&json!(0), &json!("done")), "{pass}");
    assert_eq!(world.kubernetes.count(&world.request("DELETE", "object")), 1, "no request is sent again");
    let last = world.records("object")?.pop().context("a record")?;
    assert_eq!(last["action"]["result"]["may_be_deleted"], true, "{last}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphan_without_a_valid_proof_stays_and_is_counted() -> Result<()> {
    let world = World::new().await?;
    let (key, id) = ([7; 32], world.cluster(1).await?);
    let claim = |name| Claim {
        adapter: &world.adapter,
        resource_id: &id,
        group: "",
        kind: "ConfigMap",
        namespace: world.namespace.name(),
        name,
    };
    let proof = Signer::new(&key)?.sign(&claim("signed"));
    let other_key = Signer::new(&[8; 32])?.sign(&claim("other-key"));
    for (name, proof) in
        [("signed", Some(&proof)), ("copied", Some(&proof)), ("other-key", Some(&other_key)), ("none", None)]
    {
        let mut manifest = world.config_map(name, &id);
        if let Some(proof) = proof {
            manifest["metadata"]["annotations"]["hyperfleet.io/ownership-proof"] = json!(proof);
        }
        world.create(manifest).await?;
    }
    world.force_delete(&id).await?;
    let file = world.audit().with_file_name("key");
    fs::write(&file, key)?;
    let setup = world.sweeper()?.with("signing_key_files", json!([file]));
    let plan = setup.output(&["plan"]).await?;
    let rows = String::from_utf8(plan.stdout)?;
    let forged = rows
        .lines()
        .filter(|row| row.starts_with("keep") && row.contains("its ownership proof is missing or not valid"));
    ensure!(forged.count() == 3, "{rows}");
    let sweeper = setup.run()?;
    world.await_names(&["copied", "none", "other-key"]).await?;
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"forged\"} 3").await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["copied", "none", "other-key"]).await
}
