//! Kinds whose scope or versions differ from what a manifest says.

use anyhow::Result;
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_e2e::unique;
use serde_json::{Value, json};

use crate::table::Act::{Create, Deleting, Later, Merge, Ready, Render};
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
    world.await_unserved(&unserved).await?;
    world.await_served(&served).await?;
    let passes = [
        pass("left", [Render(vec![map])], "updated", &["map none Ready", "old deleted Absent"], ""),
        pass("gone", [], "updated", &["map none Ready"], ""),
        pass("its kind is forgotten", [], "updated", &["map none Ready"], ""),
        pass("settled", [], "skipped", &["map none Ready"], ""),
    ];
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
            "wave 0: ConfigMap NS/taken belongs to adapter another, entry monitoring, for the resource NS; \
             it is left alone; give the object another name, or the adoption policy `always` if the bundle is to take it \
             over",
        ),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.live("taken").await?["metadata"]["labels"]["hyperfleet.io/adapter"], "another");
    world.is_deleting = true;
    world.pass().await?;
    assert!(world.read("kept").await?.is_none() && world.read("taken").await?.is_some(), "{}", world.why());
    Ok(())
}

/// An API service whose server is away makes discovery fail for all, hence the control plane of its own.
#[tokio::test]
async fn api_service_comes_late_and_its_instances_after_it() -> Result<()> {
    let mut world = World::on(ControlPlane::apart().await?).await?;
    let name = format!("v1.{}", world.group);
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": name },
        "spec": {
            "group": world.group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "insecureSkipTLSVerify": true, "service": { "namespace": world.ns(), "name": "away" },
        },
    });
    let bar = world.own("Bar", "bar");
    let objects = vec![bar.clone(), service.clone(), world.foo("foo", 1)];
    let changed = vec![bar.clone(), service, world.foo("foo", 2)];
    let passes = [
        pass(
            "creation",
            [Render(objects)],
            "waiting",
            &["bar none Absent", "foo created InProgress", "v1.GROUP none Absent"],
            "wave 0: Foo.SUITE NS/foo: its controller has observed generation -1, not yet 1",
        ),
        pass(
            "late",
            [Ready(&["foo"])],
            "waiting",
            &["bar none Absent", "foo none Ready", "v1.GROUP created InProgress"],
            "wave 0, API services: APIService.apiregistration.k8s.io v1.GROUP: it has no condition Available yet",
        ),
        // A member of the kind may exist, so its objects wait; what may repair the server is applied.
        pass(
            "its server is away",
            [Render(changed)],
            "waiting",
            &["bar none Absent", "foo updated InProgress", "v1.GROUP none InProgress"],
            "wave 0: Foo.SUITE NS/foo: its controller has observed generation 1, not yet 2",
        ),
    ];
    play(&mut world, passes).await?;
    world.delete(&name).await?;
    world.await_unserved(&bar).await?;
    let passes = [
        pass(
            "somebody deleted it",
            [],
            "waiting",
            &["bar none Absent", "foo none InProgress", "v1.GROUP none Absent"],
            "wave 0: Foo.SUITE NS/foo: its controller has observed generation 1, not yet 2",
        ),
        pass("deletion", [Deleting], "deleted", &["foo deleted Absent"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn member_that_lost_a_mark_is_named_and_kept() -> Result<()> {
    let mut world = World::new().await?;
    let (map, secret) = (world.map("map", "1"), world.secret("secret"));
    let unmarked = json!({ "metadata": { "labels": { "hyperfleet.io/resource-id": null } } });
    let lost = "ConfigMap NS/map has lost `hyperfleet.io/resource-id`, by which it is a member; restore it, or remove the label \
                `applyset.kubernetes.io/part-of` if the object is to stay";
    let passes = [
        pass(
            "creation",
            [Render(vec![map, secret.clone()])],
            "created",
            &["map created Ready", "secret created Ready"],
            "",
        ),
        pass("left", [Merge("person", "map", unmarked), Render(vec![secret])], "waiting", &["secret none Ready"], lost),
        pass("deletion", [Deleting], "waiting", &["secret none Ready"], lost),
    ];
    play(&mut world, passes).await?;
    world.live("map").await?;
    Ok(())
}
