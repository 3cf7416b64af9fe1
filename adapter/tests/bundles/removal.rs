//! How objects leave: those that the manifests no longer render, and all when the bundle is deleted.

use anyhow::Result;
use serde_json::{Value, json};

use crate::table::Act::{Deleting, Established, Gone, Hold, Ready, Release, Render};
use crate::table::{pass, play};
use crate::world::{ENTRY, World, annotated, definition};

/// Objects of three deletion waves, and with each variant of the policy.
fn departing(world: &World) -> Vec<Value> {
    let with = |name: &str, annotation: (&str, &str)| annotated(world.map(name, "1"), &[annotation]);
    vec![
        world.foo("foo", 1),
        with("order1", ("delete-order", "1")),
        with("order2", ("delete-order", "2")),
        with("orphan", ("delete-policy", "orphan")),
        with("orphan-on-apply", ("delete-policy", "orphan-on-apply")),
        with("orphan-on-delete", ("delete-policy", "orphan-on-delete")),
        world.secret("secret"),
    ]
}

/// A world whose bundle has these objects, of which `foo` has a finalizer.
async fn settled() -> Result<World> {
    let mut world = World::new().await?;
    let objects = departing(&world);
    world.render(objects);
    world.pass().await?;
    world.ready("foo").await?;
    let all = &[
        "foo none Ready",
        "order1 none Ready",
        "order2 none Ready",
        "orphan none Ready",
        "orphan-on-apply none Ready",
        "orphan-on-delete none Ready",
        "secret none Ready",
    ];
    play(&mut world, [pass("settled", [Hold("foo")], "skipped", all, "")]).await?;
    Ok(world)
}

async fn existing(world: &World) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in ["foo", "order1", "order2", "orphan", "orphan-on-apply", "orphan-on-delete", "secret"] {
        names.extend(world.read(name).await?.map(|_| name.to_owned()));
    }
    Ok(names)
}

const HELD: &str = "deletion wave 0: Foo.SUITE NS/foo is still there, held by the finalizer example.com/hold";

#[tokio::test]
async fn objects_that_left_go_in_order_and_by_their_policies() -> Result<()> {
    let mut world = settled().await?;
    let rest = vec![world.secret("secret")];
    let passes = [
        pass(
            "left",
            [Render(rest)],
            "waiting",
            &[
                "foo deleting Terminating",
                "order1 none Ready",
                "order2 none Ready",
                "orphan disowned Absent",
                "orphan-on-apply disowned Absent",
                "orphan-on-delete deleted Absent",
                "secret none Ready",
            ],
            HELD,
        ),
        pass(
            "held",
            [],
            "waiting",
            &["foo none Terminating", "order1 none Ready", "order2 none Ready", "secret none Ready"],
            HELD,
        ),
        pass(
            "released",
            [Release("foo")],
            "updated",
            &["order1 deleted Absent", "order2 deleted Absent", "secret none Ready"],
            "",
        ),
        pass("the parent notes places", [], "updated", &["secret none Ready"], ""),
        pass("the parent forgets places", [], "updated", &["secret none Ready"], ""),
        pass("settled", [], "skipped", &["secret none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    assert_eq!(existing(&world).await?, ["orphan", "orphan-on-apply", "secret"]);
    assert_eq!(world.live("orphan").await?["metadata"].get("labels"), None, "it is nobody's");
    let parent = world.parent().await?.unwrap_or_default();
    assert_eq!(parent["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"], "Secret");
    Ok(())
}

#[tokio::test]
async fn deleted_bundle_goes_in_order_and_by_policies_and_its_parent_last() -> Result<()> {
    let mut world = settled().await?;
    let passes = [
        pass(
            "deletion",
            [Deleting],
            "deleting",
            &[
                "foo deleting Terminating",
                "order1 none Ready",
                "order2 none Ready",
                "orphan disowned Absent",
                "orphan-on-apply deleted Absent",
                "orphan-on-delete disowned Absent",
                "secret deleted Absent",
            ],
            HELD,
        ),
        pass("held", [], "waiting", &["foo none Terminating", "order1 none Ready", "order2 none Ready"], HELD),
    ];
    play(&mut world, passes).await?;
    assert!(world.parent().await?.is_some(), "the parent outlives all members");
    let released = [
        pass("released", [Release("foo")], "deleted", &["order1 deleted Absent", "order2 deleted Absent"], ""),
        pass("gone", [], "skipped", &[], ""),
    ];
    play(&mut world, released).await?;
    assert_eq!(existing(&world).await?, ["orphan", "orphan-on-delete"]);
    assert!(world.parent().await?.is_none());
    assert!(world.outcome.as_ref().is_some_and(|outcome| outcome.finalized));
    Ok(())
}

/// A world whose bundle has a type with an instance, and an instance of another type; both instances have finalizers.
async fn with_instances() -> Result<World> {
    let mut world = World::new().await?;
    world.install("Bar", "Namespaced").await?;
    world.options = json!({ "managed_types": [format!("{}/Bar", world.group)] });
    let (of_bar, of_baz) = (world.own("Bar", "bar"), world.own("Baz", "baz"));
    let objects = vec![
        world.map("map", "1"),
        of_bar,
        of_baz,
        definition(&world.group, "Baz", "Namespaced"),
        world.secret("secret"),
    ];
    world.render(objects);
    world.pass().await?;
    world.await_established(&format!("bazs.{}", world.group)).await?;
    world.pass().await?;
    let all = &["bar none Ready", "baz none Ready", "bazs.GROUP none Ready", "map none Ready", "secret none Ready"];
    let acts = [Ready(&["bar", "baz"]), Hold("bar"), Hold("baz")];
    play(&mut world, [pass("settled", acts, "skipped", all, "")]).await?;
    Ok(world)
}

#[tokio::test]
async fn instances_that_left_go_before_their_types() -> Result<()> {
    let mut world = with_instances().await?;
    let (rest, definition) = (vec![world.secret("secret")], format!("bazs.{}", world.group));
    let held = "deletion wave 0, instances: Bar.GROUP NS/bar is still there, held by the finalizer example.com/hold";
    let passes = [
        pass(
            "left",
            [Render(rest)],
            "waiting",
            &[
                "bar deleting Terminating",
                "baz deleting Terminating",
                "bazs.GROUP none Ready",
                "map none Ready",
                "secret none Ready",
            ],
            held,
        ),
        pass(
            "one is held",
            [Release("bar")],
            "waiting",
            &["baz none Terminating", "bazs.GROUP none Ready", "map none Ready", "secret none Ready"],
            "deletion wave 0, instances: Baz.GROUP NS/baz is still there, held by the finalizer example.com/hold",
        ),
        pass(
            "released",
            [Release("baz")],
            "waiting",
            &["bazs.GROUP deleting Terminating", "map none Ready", "secret none Ready"],
            "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
             customresourcecleanup.apiextensions.k8s.io",
        ),
        pass("type gone", [Gone(definition)], "updated", &["map deleted Absent", "secret none Ready"], ""),
        pass("the parent notes places", [], "updated", &["secret none Ready"], ""),
        pass("the parent forgets places", [], "updated", &["secret none Ready"], ""),
        pass("settled", [], "skipped", &["secret none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    world.clear().await
}

#[tokio::test]
async fn instances_of_a_deleted_bundle_go_before_their_types() -> Result<()> {
    let mut world = with_instances().await?;
    let definition = format!("bazs.{}", world.group);
    let passes = [
        pass(
            "deletion",
            [Deleting],
            "deleting",
            &[
                "bar deleting Terminating",
                "baz deleting Terminating",
                "bazs.GROUP none Ready",
                "map none Ready",
                "secret none Ready",
            ],
            "deletion wave 0, instances: Bar.GROUP NS/bar is still there, held by the finalizer example.com/hold",
        ),
        pass(
            "released",
            [Release("bar"), Release("baz")],
            "deleting",
            &["bazs.GROUP deleting Terminating", "map none Ready", "secret none Ready"],
            "deletion wave 0, types: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP is still there, held by the finalizer \
             customresourcecleanup.apiextensions.k8s.io",
        ),
        pass("type gone", [Gone(definition)], "deleted", &["map deleted Absent", "secret deleted Absent"], ""),
        pass("gone", [], "skipped", &[], ""),
    ];
    play(&mut world, passes).await?;
    world.clear().await
}

#[tokio::test]
async fn disowned_bundle_leaves_every_object() -> Result<()> {
    let mut world = settled().await?;
    // People removed marks by which these are found again.
    world.merge("person", "order1", &json!({ "metadata": { "labels": { "hyperfleet.io/resource": null } } })).await?;
    world
        .merge("person", "order2", &json!({ "metadata": { "annotations": { "hyperfleet.io/digest": null } } }))
        .await?;
    world.is_disowning = true;
    world.pass().await?;
    assert_eq!(world.outcome.as_ref().map(|outcome| outcome.result.as_str()), Some("disowned"), "{}", world.why());
    assert_eq!(existing(&world).await?.len(), 7);
    for name in ["foo", "secret", "order1", "order2"] {
        assert_eq!(world.live(name).await?["metadata"].get("labels"), None, "{name}");
    }
    let parent = world.parent().await?.unwrap_or_default();
    assert_eq!(parent["metadata"]["name"], ENTRY);
    assert!(parent["metadata"]["labels"].get("hyperfleet.io/adapter").is_none(), "{parent}");
    world.is_disowning = false;
    world.generation += 1;
    world.pass().await?;
    assert_eq!(world.lines(), Vec::<String>::new(), "it is left alone for ever: {}", world.why());
    world.release("foo").await
}

#[tokio::test]
async fn type_whose_instances_are_established_again_is_not_lost() -> Result<()> {
    let mut world = with_instances().await?;
    let everything = world.manifests.clone();
    let definition = format!("bazs.{}", world.group);
    let passes = [
        pass(
            "an instance leaves",
            [Render(everything.iter().filter(|it| it["metadata"]["name"] != "baz").cloned().collect())],
            "waiting",
            &[
                "bar none Ready",
                "baz deleting Terminating",
                "bazs.GROUP none Ready",
                "map none Ready",
                "secret none Ready",
            ],
            "deletion wave 0, instances: Baz.GROUP NS/baz is still there, held by the finalizer example.com/hold",
        ),
        pass(
            "it is wanted again while it goes",
            [Render(everything)],
            "waiting",
            &["bar none Ready", "baz none Terminating", "bazs.GROUP none Ready", "map none Ready", "secret none Ready"],
            "wave 0, instances: Baz.GROUP NS/baz: Kubernetes is deleting it; held by the finalizer example.com/hold",
        ),
        pass(
            "it is created once it is gone",
            [Release("baz"), Established(definition)],
            "waiting",
            &[
                "bar none Ready",
                "baz created InProgress",
                "bazs.GROUP none Ready",
                "map none Ready",
                "secret none Ready",
            ],
            "wave 0, instances: Baz.GROUP NS/baz: its controller has observed generation -1, not yet 1",
        ),
    ];
    play(&mut world, passes).await?;
    world.release("bar").await?;
    world.delete(&format!("bazs.{}", world.group)).await?;
    world.clear().await
}
