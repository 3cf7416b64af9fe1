//! What Kubernetes deletes along with an orphan: a namespace's content, and what names the orphan as its owner.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use lifecycle_e2e::fault::When;
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn namespace_of_an_orphan_goes_after_the_last_object_that_must_stay() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let gone = world.cluster(1).await?;
    let client = world.control_plane.client().await?;
    let (namespaces, name) = (Api::<Namespace>::all(client.clone()), unique("orphan"));
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let namespace = serde_json::from_value(world.signed(namespace, &gone)?)?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    // An adapter that disowns an object takes its own label away.
    let disowned = json!({ "metadata": { "name": "disowned", "labels": { "hyperfleet.io/disowned": gone } } });
    let content = Api::<ConfigMap>::namespaced(client.clone(), &name);
    content.create(&PostParams::default(), &serde_json::from_value(disowned)?).await?;
    let secrets = Api::<Secret>::namespaced(client, &name);
    let of_a_person = json!({ "metadata": { "name": "of-a-person" } });
    secrets.create(&PostParams::default(), &serde_json::from_value(of_a_person)?).await?;
    world.force_delete(&gone).await?;

    // Namespaces alone are swept; what lives in them can be of any kind.
    let kinds = json!({ "include": ["core/Namespace"], "cluster_scoped": ["core/Namespace"] });
    let setup = world.sweeper()?.with("kinds", kinds).with("grace", "1ms");
    let setup = setup.with("signing_key_files", json!([world.signing_key()?]));
    let sweeper = setup.run()?;
    let not_empty = "candidates{kind=\"core/Namespace\",verdict=\"not_empty\"} 1";
    sweeper.await_metric(not_empty).await?;
    sweeper.await_passes(2).await?;
    ensure!(content.get_opt("disowned").await?.is_some(), "what was disowned survives");
    ensure!(namespaces.get(&name).await?.metadata.deletion_timestamp.is_none(), "and so does its namespace");

    content.delete("disowned", &DeleteParams::default()).await?;
    sweeper.await_passes(2).await?;
    sweeper.await_metric(not_empty).await?;
    ensure!(namespaces.get(&name).await?.metadata.deletion_timestamp.is_none(), "it has what nobody labelled");
    let plan = String::from_utf8(setup.output(&["plan"]).await?.stdout)?;
    ensure!(plan.lines().any(|row| row.contains(&name) && row.ends_with("in it: 1 core/Secret")), "{plan}");

    secrets.delete("of-a-person", &DeleteParams::default()).await?;
    await_condition("the namespace to go", PATIENCE, async || {
        ensure!(namespaces.get_opt(&name).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    world.assert_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_stays_that_got_an_object_of_a_new_kind_while_the_pass_waited_for_the_api() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let (lives, gone) = (world.cluster(1).await?, world.cluster(1).await?);
    let client = world.control_plane.client().await?;
    let (namespaces, name) = (Api::<Namespace>::all(client.clone()), unique("orphan"));
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let namespace = serde_json::from_value(world.signed(namespace, &gone)?)?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    world.force_delete(&gone).await?;

    // The API is asked once in each of two passes, and then before the namespace goes.
    let question = When::method("GET").path_ends(format!("/resources/{gone}"));
    let gate = world.api.hold(question.nth(3));
    let kinds = json!({ "include": ["core/Namespace"], "cluster_scoped": ["core/Namespace"] });
    let setup = world.sweeper()?.with("kinds", kinds).with("grace", "1ms").with("api.timeout", "1m");
    let sweeper = setup.with("signing_key_files", json!([world.signing_key()?])).run()?;
    gate.reached().await;
    let group = format!("{}.example.com", unique("group"));
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &serde_json::from_value(widgets(&group))?).await?;
    world.widget(&group, &name, &lives).await?;
    gate.release();
    sweeper.await_log("the namespace to be kept", |entry| entry["outcome"] == "kept").await?;
    sweeper.await_passes(1).await?;
    let namespace = namespaces.get(&name).await?;
    ensure!(namespace.metadata.deletion_timestamp.is_none(), "it goes, and with it the object of a living cluster");

    definitions.delete(&format!("widgets.{group}"), &DeleteParams::default()).await?;
    await_condition("the namespace to go", PATIENCE, async || {
        ensure!(namespaces.get_opt(&name).await?.is_none(), "it is there");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_stays_while_it_owns_the_object_of_a_living_cluster_of_a_kind_that_is_not_swept() -> Result<()> {
    let world = World::new().await?;
    let (lives, gone) = (world.cluster(1).await?, world.cluster(1).await?);
    let uid = world.create(world.config_map("orphan", &gone)).await?;
    let mut secret = world.config_map("living", &lives);
    let data = secret["data"].take();
    secret["stringData"] = data;
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "orphan", "uid": uid });
    secret["metadata"]["ownerReferences"] = json!([owner]);
    let secrets: Api<Secret> = world.namespace.api().await?;
    secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    world.force_delete(&gone).await?;

    let sweeper = world.sweeper()?.with("kinds.include", json!(["core/ConfigMap"])).with("grace", "1ms").run()?;
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"not_empty\"} 1").await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["orphan"]).await?;
    ensure!(secrets.get_opt("living").await?.is_some(), "Kubernetes deletes nothing along");

    let orphaned = json!({ "metadata": { "ownerReferences": null } });
    secrets.patch("living", &PatchParams::default(), &Patch::Merge(orphaned)).await?;
    world.await_names(&[]).await?;
    ensure!(secrets.get_opt("living").await?.is_some(), "it lives");
    Ok(())
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
