//! Kinds whose scope or versions differ from what a manifest says.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Value, json};

use crate::table::Act::{Create, Later, Merge, Ready, Render};
use crate::table::{pass, play};
use crate::world::{World, definition};

#[tokio::test]
async fn member_is_found_after_its_version_is_no_longer_served() -> Result<()> {
    let mut world = World::new().await?;
    let mut types = definition(&world.group, "Old", "Namespaced");
    let mut second = types["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = (json!("v2"), json!(false));
    if let Some(versions) = types["spec"]["versions"].as_array_mut() {
        versions.push(second);
    }
    let named = format!("olds.{}", world.group);
    world.create(&types).await?;
    world.await_established(&named).await?;
    let (old, map) = (world.own("Old", "old"), world.map("map", "1"));
    world.render(vec![old, map.clone()]);
    world.pass().await?;
    let settled = [pass("settled", [Ready(&["old"])], "skipped", &["map none Ready", "old none Ready"], "")];
    play(&mut world, settled).await?;

    let mut versions = types["spec"]["versions"].clone();
    versions[0]["served"] = json!(false);
    world.merge("person", &named, &json!({ "spec": { "versions": versions } })).await?;
    let (unserved, mut served) = (world.own("Old", "old"), world.own("Old", "old"));
    served["apiVersion"] = json!(format!("{}/v2", world.group));
    await_condition("the version to be gone", PATIENCE, async || {
        world.all_like(&served).await?;
        let error = world.all_like(&unserved).await.err().context("it is served")?;
        let is_gone = matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 404);
        ensure!(is_gone, "{error:#}");
        Ok(())
    })
    .await?;
    world.render(vec![map]);
    // The server refuses requests with 429 while it makes a new storage for the changed kind, also once after it served some.
    await_condition("the object that left to be deleted", PATIENCE, async || {
        let failure = world.pass().await?.failure().map(ToString::to_string);
        let is_settled = failure.is_none_or(|failure| !failure.contains("(re)initializing"));
        ensure!(is_settled, "the storage is made");
        Ok(())
    })
    .await?;
    assert_eq!(world.lines(), ["map none Ready", "old deleted Absent"]);
    let passes =
        [pass("gone", [], "updated", &["map none Ready"], ""), pass("settled", [], "skipped", &["map none Ready"], "")];
    play(&mut world, passes).await?;
    world.delete(&named).await
}

#[tokio::test]
async fn namespace_of_a_cluster_scoped_object_is_ignored() -> Result<()> {
    let mut world = World::new().await?;
    world.install("Wide", "Cluster").await?;
    let (role, wide) = (unique("role"), unique("wide"));
    let with_namespace = |version: &str, kind: &str, name: &str, rest: Value| {
        let mut object = world.object(version, kind, name, rest);
        object["metadata"]["namespace"] = json!(world.ns());
        object
    };
    let objects = vec![
        with_namespace("rbac.authorization.k8s.io/v1", "ClusterRole", &role, json!({ "rules": [] })),
        with_namespace(&format!("{}/v1", world.group), "Wide", &wide, json!({ "spec": {} })),
    ];
    world.render(objects);
    // Where the objects really are.
    for (version, kind, name) in
        [("rbac.authorization.k8s.io/v1", "ClusterRole", &role), (&format!("{}/v1", world.group), "Wide", &wide)]
    {
        world.know(&json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name } }));
    }
    world.pass().await?;
    world.live(&role).await?;
    world.ready(&wide).await?;
    let uid = world.live(&wide).await?["metadata"]["uid"].clone();
    let effects = |world: &World| {
        let lines = world.lines().into_iter().filter_map(|line| Some(line.split_once(' ')?.1.to_owned()));
        (lines.collect::<Vec<_>>(), world.why())
    };
    let (all, in_sync) = (world.proxy.requests().len(), ["none Ready", "none Ready"].map(str::to_owned).to_vec());
    world.pass().await?;
    assert_eq!(effects(&world), (in_sync, String::new()));
    let requests = world.proxy.lines().split_off(all);
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
    world.manifests[1]["spec"]["size"] = json!(2);
    world.pass().await?;
    assert_eq!(effects(&world).0, ["none Ready", "updated InProgress"], "{}", world.why());
    world.ready(&wide).await?;
    assert_eq!(world.live(&wide).await?["metadata"]["uid"], uid);
    let role_alone = vec![world.manifests[0].clone()];
    let both = std::mem::replace(&mut world.manifests, role_alone);
    world.pass().await?;
    assert_eq!((world.read(&wide).await?, world.why()), (None, String::new()), "it left");
    world.manifests = both;
    world.pass().await?;
    world.live(&wide).await?;
    world.is_deleting = true;
    world.pass().await?;
    assert_eq!((world.read(&role).await?, world.read(&wide).await?), (None, None), "{}", world.why());
    world.clear().await
}

#[tokio::test]
async fn namespaced_object_without_a_namespace_fails_alone() -> Result<()> {
    let mut world = World::new().await?;
    world.install("Bar", "Namespaced").await?;
    let mut bar = world.own("Bar", "bar");
    bar["metadata"] = json!({ "name": "bar" });
    let map = world.map("map", "1");
    world.render(vec![map, bar]);
    world.pass().await?;
    assert_eq!(world.lines(), ["bar failed Absent", "map created Ready"]);
    assert!(world.why().starts_with("wave 0: Bar.GROUP bar: "), "{}", world.why());
    world.clear().await
}

#[tokio::test]
async fn member_whose_labels_somebody_took_over_is_let_go() -> Result<()> {
    let mut world = World::new().await?;
    let (kept, taken, other) = (world.map("kept", "1"), world.map("taken", "1"), world.map("other", "1"));
    let labels = json!({ "metadata": { "labels": { "hyperfleet.io/adapter": "another" } } });
    let passes = [
        pass(
            "creation",
            [Render(vec![kept.clone(), taken.clone()])],
            "created",
            &["kept created Ready", "taken created Ready"],
            "",
        ),
        pass(
            "left",
            [Merge("another", "taken", labels), Render(vec![kept.clone()])],
            "skipped",
            &["kept none Ready"],
            "",
        ),
        pass("again", [Later(90)], "updated", &["kept updated Ready"], ""),
        pass(
            "wanted again",
            [Create(other), Render(vec![kept, taken])],
            "failed",
            &["kept none Ready", "taken failed Taken"],
            "wave 0: ConfigMap NS/taken belongs to adapter another, entry monitoring, for the resource c1; \
             it is left alone",
        ),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.live("taken").await?["metadata"]["labels"]["hyperfleet.io/adapter"], "another");
    world.is_deleting = true;
    world.pass().await?;
    assert!(world.read("kept").await?.is_none() && world.read("taken").await?.is_some(), "{}", world.why());
    Ok(())
}
