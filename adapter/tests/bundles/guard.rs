//! The guard before a deletion: what is not of the bundle must not go with its types and namespaces.

use anyhow::{Context as _, Result, ensure};
use lifecycle_core::outcome::OutcomeResult;
use lifecycle_e2e::unique;
use serde_json::{Value, json};

use crate::table::Act::{Create, Delete, Deleting, Gone, Hold, Merge, Ready, Release, Render};
use crate::table::{pass, play};
use crate::world::{World, annotated, definition};

/// A bundle of a type, whose name comes with it, and of other objects, its instances among them.
async fn type_and(others: impl FnOnce(&World) -> Vec<Value>) -> Result<(World, String)> {
    let mut world = World::new().await?;
    let named = format!("bazs.{}", world.group);
    let mut objects = vec![definition(&world.group, "Baz", "Namespaced")];
    objects.extend(others(&world));
    world.render(objects);
    world.pass().await?;
    world.await_established(&named).await?;
    world.pass().await?;
    Ok((world, named))
}

async fn type_and_instance() -> Result<(World, String)> {
    type_and(|world| vec![world.own("Baz", "baz")]).await
}

/// The deletion of such a bundle, which nothing blocks.
async fn play_deletion(world: &mut World, named: String) -> Result<()> {
    let passes = [
        pass(
            "deletion",
            [Deleting],
            "deleting",
            &["baz deleted Absent", "bazs.GROUP deleting Terminating"],
            "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
             customresourcecleanup.apiextensions.k8s.io",
        ),
        pass("gone", [Gone(named)], "deleted", &[], ""),
    ];
    play(world, passes).await
}

#[tokio::test]
async fn own_instances_of_own_types_do_not_block() -> Result<()> {
    let (mut world, named) = type_and_instance().await?;
    let settled = [pass("settled", [Ready(&["baz"])], "skipped", &["baz none Ready", "bazs.GROUP none Ready"], "")];
    play(&mut world, settled).await?;
    play_deletion(&mut world, named).await
}

#[tokio::test]
async fn foreign_instance_of_a_named_type_blocks_the_deletion() -> Result<()> {
    let mut world = World::new().await?;
    world.install("Bar", "Namespaced").await?;
    world.options = json!({ "managed_types": [format!("{}/Bar", world.group)] });
    let (map, foreign) = (world.map("map", "1"), world.own("Bar", "foreign"));
    let passes = [
        pass("creation", [Render(vec![map])], "created", &["map created Ready"], ""),
        pass(
            "foreign instance",
            [Create(foreign), Deleting],
            "waiting",
            &["map none Ready"],
            "deletion guard: Bar.GROUP NS/foreign is not of this bundle; the deletion waits until it is gone",
        ),
        pass("instance gone", [Delete("foreign")], "deleted", &["map deleted Absent"], ""),
        pass("gone", [], "skipped", &[], ""),
    ];
    play(&mut world, passes).await?;
    world.clear().await
}

#[tokio::test]
async fn foreign_instance_of_an_own_type_keeps_the_type_and_everything_else() -> Result<()> {
    let (mut world, named) = type_and(|world| vec![world.map("map", "1"), world.own("Baz", "baz")]).await?;
    let (rest, foreign) = (vec![world.secret("secret")], world.own("Baz", "foreign"));
    let blocked = "deletion guard: Baz.GROUP NS/foreign is not of this bundle; the deletion waits until it is gone";
    let passes = [
        pass(
            "settled",
            [Ready(&["baz"])],
            "skipped",
            &["baz none Ready", "bazs.GROUP none Ready", "map none Ready"],
            "",
        ),
        pass(
            "all of it left",
            [Create(foreign), Render(rest)],
            "waiting",
            &["baz none Ready", "bazs.GROUP none Ready", "map none Ready", "secret created Ready"],
            blocked,
        ),
        pass(
            "deletion",
            [Deleting],
            "waiting",
            &["baz none Ready", "bazs.GROUP none Ready", "map none Ready", "secret none Ready"],
            blocked,
        ),
    ];
    play(&mut world, passes).await?;
    let report = world.outcome.as_ref().and_then(|outcome| outcome.bundle.as_ref()).context("no report")?;
    assert_eq!(report.blocked_by().map(|it| &*it.name), Some("foreign"));
    let passes = [
        pass(
            "instance gone",
            [Delete("foreign")],
            "deleting",
            &["baz deleted Absent", "bazs.GROUP deleting Terminating", "map none Ready", "secret none Ready"],
            "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
             customresourcecleanup.apiextensions.k8s.io",
        ),
        pass("gone", [Gone(named)], "deleted", &["map deleted Absent", "secret deleted Absent"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn instance_that_is_to_stay_keeps_its_type_until_somebody_decides() -> Result<()> {
    let kept = |world: &World| annotated(world.own("Baz", "baz"), &[("delete-policy", "orphan")]);
    let (mut world, named) = type_and(|world| vec![world.map("map", "1"), kept(world)]).await?;
    let goes = format!("delete,0,Baz.{} {}/baz", world.group, world.ns());
    let goes = json!({ "metadata": { "annotations": { "hyperfleet.io/deletion": goes } } });
    let passes = [
        pass(
            "settled",
            [Ready(&["baz"])],
            "skipped",
            &["baz none Ready", "bazs.GROUP none Ready", "map none Ready"],
            "",
        ),
        pass(
            "deletion",
            [Deleting],
            "waiting",
            &["baz none Ready", "bazs.GROUP none Ready", "map none Ready"],
            "deletion guard: Baz.GROUP NS/baz is to stay, but would go with CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP; \
             write `orphan` as the first word of the annotation `hyperfleet.io/deletion` of the type if that is to stay, too, or \
             `delete` as that of the instance",
        ),
        pass(
            "it is to go",
            [Merge("person", "baz", goes)],
            "deleting",
            &["baz deleted Absent", "bazs.GROUP deleting Terminating", "map none Ready"],
            "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
             customresourcecleanup.apiextensions.k8s.io",
        ),
        pass("gone", [Gone(named)], "deleted", &["map deleted Absent"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn type_that_left_before_its_wanted_instance_stops_the_pass() -> Result<()> {
    let mut world = World::new().await?;
    let named = format!("bazs.{}", world.group);
    let (types, instance) = (definition(&world.group, "Baz", "Namespaced"), world.own("Baz", "baz"));
    world.render(vec![types, instance.clone()]);
    world.pass().await?;
    world.await_established(&named).await?;
    world.pass().await?;
    let passes = [
        pass("settled", [Ready(&["baz"])], "skipped", &["baz none Ready", "bazs.GROUP none Ready"], ""),
        pass(
            "its type left",
            [Render(vec![instance])],
            "waiting",
            &["baz none Ready", "bazs.GROUP none Ready"],
            "CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP has left the manifests, and Baz.GROUP NS/baz would go \
             with it; render CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP again, with the delete policy `orphan` \
             if it is to leave later",
        ),
    ];
    play(&mut world, passes).await?;
    world.delete(&named).await
}

#[tokio::test]
async fn namespace_stays_while_something_of_others_is_in_it() -> Result<()> {
    let mut world = World::new().await?;
    let team = unique("team");
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": team } });
    let (mut inside, mut foreign) = (world.map("inside", "1"), world.map("foreign", "1"));
    inside["metadata"]["namespace"] = json!(team);
    foreign["metadata"]["namespace"] = json!(team);
    world.render(vec![space, inside]);
    world.pass().await?;
    assert_eq!(world.why(), "");
    world.create(&foreign).await?;
    world.is_deleting = true;
    let result = world.pass().await?.result.clone();
    assert_eq!(result, OutcomeResult::Deleting, "{}", world.why());
    assert_eq!(
        world.why(),
        format!(
            "deletion wave 0, namespaces: ConfigMap {team}/foreign is not of this bundle; the deletion waits until it is gone"
        )
    );
    assert!(world.read("inside").await?.is_none(), "what is the bundle's own has gone");
    assert!(world.live(&team).await?["metadata"].get("deletionTimestamp").is_none());
    world.delete("foreign").await?;
    world.pass().await?;
    world.await_gone(&team).await?;
    world.pass().await?;
    assert_eq!((world.why(), world.parent().await?), (String::new(), None));
    Ok(())
}

/// An instance that the bundle's instance controls.
async fn dependent(world: &World) -> Result<Value> {
    let owner = world.live("baz").await?;
    let mut dependent = world.own("Baz", "dependent");
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": "Baz", "name": "baz", "uid": owner["metadata"]["uid"], "controller": true,
    }]);
    Ok(dependent)
}

#[tokio::test]
async fn what_an_instance_of_the_bundle_controls_does_not_block() -> Result<()> {
    let (mut world, named) = type_and_instance().await?;
    world.create(&dependent(&world).await?).await?;
    play_deletion(&mut world, named).await
}

#[tokio::test]
async fn operator_stays_while_what_its_instances_control_has_a_finalizer() -> Result<()> {
    let mut world = World::new().await?;
    let named = format!("bazs.{}", world.group);
    let objects =
        vec![definition(&world.group, "Baz", "Namespaced"), world.own("Baz", "baz"), world.map("operator", "1")];
    world.render(objects);
    world.pass().await?;
    world.await_established(&named).await?;
    world.pass().await?;
    let dependent = dependent(&world).await?;
    let waits = "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
                 customresourcecleanup.apiextensions.k8s.io";
    let passes = [
        pass(
            "deletion",
            [Create(dependent), Hold("dependent"), Deleting],
            "deleting",
            &["baz deleted Absent", "bazs.GROUP deleting Terminating", "operator none Ready"],
            waits,
        ),
        pass("held", [], "waiting", &["bazs.GROUP none Terminating", "operator none Ready"], waits),
        pass("released", [Release("dependent"), Gone(named)], "deleted", &["operator deleted Absent"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn copy_of_an_instance_in_a_namespace_of_others_keeps_the_type() -> Result<()> {
    let (mut world, _) = type_and_instance().await?;
    let elsewhere = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": unique("team") } });
    world.create(&elsewhere).await?;
    // As `kubectl get --output yaml` and `kubectl create` copy it: with all labels and annotations.
    let mut copy = world.live("baz").await?;
    copy["metadata"]["namespace"] = elsewhere["metadata"]["name"].clone();
    for of_server in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
        copy["metadata"].as_object_mut().map(|metadata| metadata.remove(of_server));
    }
    world.create(&copy).await?;
    world.is_deleting = true;
    world.pass().await?;
    let namespace = elsewhere["metadata"]["name"].as_str().unwrap_or_default();
    let expected = format!("{namespace}/baz is not of this bundle; the deletion waits until it is gone");
    ensure!(world.why().starts_with("deletion guard: Baz.") && world.why().ends_with(&expected), "{}", world.why());
    world.is_deleting = false;
    world.delete(namespace).await
}
