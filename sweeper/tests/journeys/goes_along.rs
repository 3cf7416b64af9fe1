//! What Kubernetes deletes along with an orphan: a namespace's content, and what names the orphan as its owner.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn namespace_of_an_orphan_goes_after_the_last_disowned_object_in_it() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let gone = world.cluster(1).await?;
    let client = world.control_plane.client().await?;
    let (namespaces, name) = (Api::<Namespace>::all(client.clone()), unique("orphan"));
    let labels = json!({ "hyperfleet.io/adapter": world.adapter, "hyperfleet.io/resource-id": gone });
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } }))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    // An adapter that disowns an object takes its own label away.
    let disowned = json!({ "metadata": { "name": "disowned", "labels": { "hyperfleet.io/disowned": gone } } });
    let content = Api::<ConfigMap>::namespaced(client, &name);
    content.create(&PostParams::default(), &serde_json::from_value(disowned)?).await?;
    world.force_delete(&gone).await?;

    let kinds = json!({ "cluster_scoped": ["core/Namespace"] });
    let sweeper = world.sweeper()?.with("kinds", kinds).with("grace", "1ms").run()?;
    sweeper.await_metric("candidates{kind=\"core/Namespace\",verdict=\"not_empty\"} 1").await?;
    sweeper.await_passes(2).await?;
    ensure!(content.get_opt("disowned").await?.is_some(), "what was disowned survives");
    ensure!(namespaces.get(&name).await?.metadata.deletion_timestamp.is_none(), "and so does its namespace");

    content.delete("disowned", &DeleteParams::default()).await?;
    await_condition("the namespace to go", PATIENCE, async || {
        ensure!(namespaces.get_opt(&name).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn orphan_stays_while_the_object_of_a_living_cluster_names_it_as_owner() -> Result<()> {
    let world = World::new().await?;
    let (lives, gone) = (world.cluster(1).await?, world.cluster(1).await?);
    let uid = world.create(world.config_map("orphan", &gone)).await?;
    let owned = |name: &str, id: &str| {
        let mut manifest = world.config_map(name, id);
        let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "orphan", "uid": uid });
        manifest["metadata"]["ownerReferences"] = json!([owner]);
        manifest
    };
    world.create(owned("living", &lives)).await?;
    world.create(owned("goes-along", &gone)).await?;
    world.force_delete(&gone).await?;

    let sweeper = world.sweeper()?.with("grace", "1ms").run()?;
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"not_empty\"} 1").await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["goes-along", "living", "orphan"]).await?;

    world.patch("living", &json!({ "metadata": { "ownerReferences": null } })).await?;
    world.await_names(&["living"]).await
}
