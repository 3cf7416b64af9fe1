//! How objects are applied: in waves, by their update and reconcile policies, and purged once they have served.

use anyhow::Result;
use lifecycle_objects::keys;
use serde_json::json;

use crate::table::Act::{Apply, Delete, Deleting, Established, Generation, Know, Later, Merge, Ready, Release, Render};
use crate::table::{pass, play};
use crate::world::{World, annotated, definition};

const UNOBSERVED: &str = "wave 0: Foo.SUITE NS/foo: its controller has observed generation -1, not yet 1";

#[tokio::test]
async fn object_is_created_with_labels_and_digest_and_stays() -> Result<()> {
    let mut world = World::new().await?;
    let map = world.map("map", "1");
    let first = [
        pass("creation", [Render(vec![map])], "created", &["map created Ready"], ""),
        pass("next", [], "skipped", &["map none Ready"], ""),
    ];
    play(&mut world, first).await?;
    let live = world.live("map").await?;
    let labels = &live["metadata"]["labels"];
    assert_eq!(labels[keys::RESOURCE], "monitoring");
    assert!(labels["applyset.kubernetes.io/part-of"].is_string() && labels[keys::ADAPTER].is_string(), "{labels}");
    assert!(live["metadata"]["annotations"][keys::DIGEST].is_string(), "{live}");
    assert_eq!(live["metadata"]["annotations"][keys::DELETION], format!("delete,0,ConfigMap {}/map", world.ns()));
    Ok(())
}

#[tokio::test]
async fn object_is_in_progress_until_its_controller_observed_it() -> Result<()> {
    let mut world = World::new().await?;
    let foo = world.foo("foo", 1);
    let passes = [
        pass("creation", [Render(vec![foo])], "waiting", &["foo created InProgress"], UNOBSERVED),
        pass("unobserved", [], "waiting", &["foo none InProgress"], UNOBSERVED),
        pass("observed", [Ready(&["foo"])], "skipped", &["foo none Ready"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn objects_that_have_served_are_purged_before_the_next_wave() -> Result<()> {
    let mut world = World::new().await?;
    let mut foo = annotated(world.foo("foo", 1), &[("apply-order", "1"), ("purge-order", "1")]);
    foo["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let objects = vec![
        annotated(world.map("cm", "1"), &[("purge-order", "1")]),
        foo,
        annotated(world.secret("secret"), &[("apply-order", "2")]),
    ];
    let unobserved = "wave 1: Foo.SUITE NS/foo: its controller has observed generation -1, not yet 1";
    let held = "purge after wave 1: Foo.SUITE NS/foo is still there, held by the finalizer example.com/hold";
    let passes = [
        pass(
            "waves 0 and 1",
            [Render(objects)],
            "waiting",
            &["cm created Ready", "foo created InProgress", "secret none Absent"],
            unobserved,
        ),
        pass("unobserved", [], "waiting", &["cm none Ready", "foo none InProgress", "secret none Absent"], unobserved),
        pass(
            "observed",
            [Ready(&["foo"])],
            "waiting",
            &["cm deleted Absent", "foo deleting Terminating", "secret none Absent"],
            held,
        ),
        pass("held", [], "waiting", &["cm none Absent", "foo none Terminating", "secret none Absent"], held),
        pass(
            "released",
            [Release("foo")],
            "updated",
            &["cm none Absent", "foo none Absent", "secret created Ready"],
            "",
        ),
        pass("again", [], "skipped", &["cm none Absent", "foo none Absent", "secret none Ready"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn object_is_purged_in_the_pass_of_the_last_wave_and_serves_again_when_it_changes() -> Result<()> {
    let mut world = World::new().await?;
    let objects = |world: &World, value: &str| {
        vec![annotated(world.map("job", value), &[("purge-order", "100")]), world.map("map", "1")]
    };
    let (first, second, third) = (objects(&world, "1"), objects(&world, "2"), objects(&world, "3"));
    let passes = [
        pass("serves", [Render(first)], "created", &["job deleted Absent", "map created Ready"], ""),
        pass("has served", [], "skipped", &["job none Absent", "map none Ready"], ""),
        pass("another", [Render(second)], "updated", &["job deleted Absent", "map none Ready"], ""),
        pass("has served again", [], "skipped", &["job none Absent", "map none Ready"], ""),
        pass("left", [Render(vec![third[1].clone()])], "updated", &["map none Ready"], ""),
        pass("back", [Render(third)], "updated", &["job deleted Absent", "map none Ready"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn instances_wait_for_their_types() -> Result<()> {
    let mut world = World::new().await?;
    world.install("Bar", "Namespaced").await?;
    world.options = json!({ "managed_types": [format!("{}/Bar", world.group)] });
    let (instance, named) = (world.own("Baz", "baz"), format!("bazs.{}", world.group));
    // An instance without a namespace gets that of the bundle, because the bundle itself says that its type has one.
    let mut homeless = instance.clone();
    homeless["metadata"] = json!({ "name": "baz" });
    let types = definition(&world.group, "Baz", "Namespaced");
    let objects = vec![world.foo("foo", 1), world.own("Bar", "bar"), homeless, types];
    let passes = [
        pass(
            "creation",
            [Render(objects), Know(instance)],
            "waiting",
            &["bar none Absent", "baz none Absent", "bazs.GROUP created InProgress", "foo created InProgress"],
            "wave 0: CustomResourceDefinition.apiextensions.k8s.io bazs.GROUP: it has no condition Established yet",
        ),
        pass(
            "established",
            [Established(named.clone())],
            "waiting",
            &["bar none Absent", "baz none Absent", "bazs.GROUP none Ready", "foo none InProgress"],
            UNOBSERVED,
        ),
        pass(
            "observed",
            [Ready(&["foo"])],
            "waiting",
            &["bar created InProgress", "baz created InProgress", "bazs.GROUP none Ready", "foo none Ready"],
            "wave 0, instances: Bar.GROUP NS/bar: its controller has observed generation -1, not yet 1",
        ),
        pass(
            "all observed",
            [Ready(&["bar", "baz"])],
            "skipped",
            &["bar none Ready", "baz none Ready", "bazs.GROUP none Ready", "foo none Ready"],
            "",
        ),
    ];
    play(&mut world, passes).await?;
    world.delete(&named).await?;
    world.clear().await
}

#[tokio::test]
async fn changed_objects_alone_are_updated() -> Result<()> {
    let mut world = World::new().await?;
    let before = vec![world.foo("foo", 1), world.foo("foo2", 1), world.foo("foo3", 1)];
    let after = vec![world.foo("foo", 2), world.foo("foo2", 2), world.foo("foo3", 1)];
    let passes = [
        pass(
            "creation",
            [Render(before)],
            "waiting",
            &["foo created InProgress", "foo2 created InProgress", "foo3 created InProgress"],
            UNOBSERVED,
        ),
        pass(
            "change",
            [Ready(&["foo", "foo2"]), Render(after)],
            "waiting",
            &["foo updated InProgress", "foo2 updated InProgress", "foo3 none InProgress"],
            "wave 0: Foo.SUITE NS/foo: its controller has observed generation 1, not yet 2",
        ),
        pass(
            "observed",
            [Ready(&["foo", "foo2", "foo3"])],
            "skipped",
            &["foo none Ready", "foo2 none Ready", "foo3 none Ready"],
            "",
        ),
    ];
    play(&mut world, passes).await?;
    for (name, size) in [("foo", 2), ("foo2", 2), ("foo3", 1)] {
        assert_eq!(world.live(name).await?["spec"]["size"], size, "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn recreated_object_has_another_uid_only_after_a_change() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "update": "recreate" } })).await?;
    let (before, after) = (world.map("map", "1"), world.map("map", "2"));
    let created = [
        pass("creation", [Render(vec![before])], "created", &["map created Ready"], ""),
        pass("next", [], "skipped", &["map none Ready"], ""),
    ];
    play(&mut world, created).await?;
    let uid = world.live("map").await?["metadata"]["uid"].clone();
    play(&mut world, [pass("next", [], "skipped", &["map none Ready"], "")]).await?;
    assert_eq!(world.live("map").await?["metadata"]["uid"], uid);
    let changed = [pass("change", [Render(vec![after])], "updated", &["map recreated Ready"], "")];
    play(&mut world, changed).await?;
    assert_ne!(world.live("map").await?["metadata"]["uid"], uid);
    let policy = annotated(world.map("map", "2"), &[("delete-policy", "orphan")]);
    let uid = world.live("map").await?["metadata"]["uid"].clone();
    let next = [
        pass("next", [], "skipped", &["map none Ready"], ""),
        pass(
            "another policy is no change of the content",
            [Render(vec![policy])],
            "updated",
            &["map updated Ready"],
            "",
        ),
    ];
    play(&mut world, next).await?;
    assert_eq!(world.live("map").await?["metadata"]["uid"], uid);
    Ok(())
}

#[tokio::test]
async fn override_takes_the_fields_of_kubectl_and_of_nobody_else() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "update": "apply-override" } })).await?;
    let map = world.map("map", "1");
    let data = |key: &str| json!({ "data": { key: "x" } });
    let passes = [
        pass("creation", [Render(vec![map])], "created", &["map created Ready"], ""),
        pass(
            "before its time",
            [
                Apply("kubectl", "map", data("kubectl")),
                Merge("kubectl-actor", "map", data("actor")),
                Apply("other-actor", "map", data("other")),
                Later(59),
            ],
            "skipped",
            &["map none Ready"],
            "",
        ),
        pass("applied again", [Later(1)], "updated", &["map updated Ready"], ""),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.live("map").await?["data"], json!({ "a": "1", "other": "x" }));
    assert_eq!(world.drift(), [("map", &["data.actor".to_owned(), "data.kubectl".to_owned()][..])]);
    Ok(())
}

#[tokio::test]
async fn edited_object_is_repaired_when_its_time_has_come() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "reapply": "10m" } })).await?;
    let objects = vec![world.map("kept", "1"), world.map("edited", "1")];
    let edit = || json!({ "data": { "a": "edited", "more": "x" } });
    let passes = [
        pass("creation", [Render(objects)], "created", &["edited created Ready", "kept created Ready"], ""),
        pass(
            "before its time",
            [Merge("person", "edited", edit()), Later(9)],
            "skipped",
            &["edited none Ready", "kept none Ready"],
            "",
        ),
        pass("its time", [Later(1)], "updated", &["edited updated Ready", "kept updated Ready"], ""),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.drift(), [("edited", &["data.a".to_owned()][..])]);
    assert_eq!(world.live("edited").await?["data"], json!({ "a": "1", "more": "x" }), "fields of others stay");
    play(&mut world, [pass("just applied", [], "skipped", &["edited none Ready", "kept none Ready"], "")]).await
}

#[tokio::test]
async fn object_that_is_written_once_is_created_again_and_never_changed() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "reconcile": "once" } })).await?;
    let (before, after) = (world.map("map", "1"), world.map("map", "2"));
    let passes = [
        pass("creation", [Render(vec![before])], "created", &["map created Ready"], ""),
        pass("change", [Render(vec![after])], "skipped", &["map none Ready"], ""),
        pass("later", [Later(120)], "skipped", &["map none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.live("map").await?["data"]["a"], "1");
    play(&mut world, [pass("deleted", [Delete("map")], "updated", &["map created Ready"], "")]).await?;
    assert_eq!(world.live("map").await?["data"]["a"], "2");
    Ok(())
}

#[tokio::test]
async fn object_that_is_written_once_leaves_by_its_latest_policy() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "reconcile": "once" } })).await?;
    let (before, after) = (world.map("map", "1"), world.map("map", "2"));
    let kept = annotated(after, &[("delete-policy", "orphan")]);
    let passes = [
        pass("creation", [Render(vec![before])], "created", &["map created Ready"], ""),
        pass("another policy", [Render(vec![kept])], "updated", &["map updated Ready"], ""),
        pass("next", [], "skipped", &["map none Ready"], ""),
        pass("deletion", [Deleting], "deleted", &["map disowned Absent"], ""),
    ];
    play(&mut world, passes).await?;
    let live = world.live("map").await?;
    assert_eq!((&live["data"]["a"], live["metadata"].get("labels")), (&json!("1"), None));
    Ok(())
}

#[tokio::test]
async fn replacement_keeps_what_others_set_and_removes_what_left_the_manifest() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "update": "replace" } })).await?;
    let (mut before, after) = (world.map("map", "1"), world.map("map", "2"));
    before["data"]["left"] = json!("1");
    let foreign = json!({ "metadata": { "finalizers": ["example.com/hold"], "labels": { "of": "person" } }, "data": { "more": "x" } });
    let passes = [
        pass("creation", [Render(vec![before])], "created", &["map created Ready"], ""),
        pass(
            "replacement",
            [Merge("person", "map", foreign), Render(vec![after])],
            "updated",
            &["map updated Ready"],
            "",
        ),
        pass("next", [], "skipped", &["map none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    let live = world.live("map").await?;
    assert_eq!(live["data"], json!({ "a": "2", "more": "x" }));
    assert_eq!(live["metadata"]["finalizers"], json!(["example.com/hold"]));
    assert_eq!(live["metadata"]["labels"]["of"], "person");
    world.release("map").await
}

/// A volume without a source has the server's `emptyDir`, which belongs to nobody, and beside which it allows no other one.
#[tokio::test]
async fn choice_that_a_default_of_the_server_blocks_is_written_all_the_same() -> Result<()> {
    let mut world = World::new().await?;
    let pods = |volume: serde_json::Value, label: &str| {
        let spec = json!({ "volumes": [volume], "containers": [{ "name": "a", "image": "x" }] });
        let template = json!({ "metadata": { "labels": { "app": label } }, "spec": spec });
        world.object("v1", "PodTemplate", "pods", json!({ "template": template }))
    };
    let plain = json!({ "name": "v" });
    let with_source = json!({ "name": "v", "configMap": { "name": "settings" } });
    let (first, second, third) = (pods(plain.clone(), "1"), pods(plain, "2"), pods(with_source, "2"));
    let updated: &[&str] = &["pods updated Ready"];
    let passes = [
        pass("creation", [Render(vec![first])], "created", &["pods created Ready"], ""),
        pass("its first apply", [Render(vec![second])], "updated", updated, ""),
        pass("another source", [Render(vec![third])], "updated", updated, ""),
        pass("next", [], "skipped", &["pods none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    let volume = &world.live("pods").await?["template"]["spec"]["volumes"][0];
    assert_eq!((volume["configMap"]["name"].as_str(), volume.get("emptyDir")), (Some("settings"), None));
    Ok(())
}

#[tokio::test]
async fn generation_is_a_change_only_of_objects_whose_policy_says_so() -> Result<()> {
    let mut world = World::new().await?;
    let every = annotated(world.map("every", "1"), &[("reconcile-policy", "on-object-or-component-change")]);
    let objects = vec![every, world.map("map", "1")];
    let passes = [
        pass("creation", [Render(objects)], "created", &["every created Ready", "map created Ready"], ""),
        pass("same generation", [], "skipped", &["every none Ready", "map none Ready"], ""),
        pass("next generation", [Generation], "updated", &["every updated Ready", "map none Ready"], ""),
    ];
    play(&mut world, passes).await?;
    world.generation = 1;
    let outcome = world.pass().await?;
    assert_eq!((outcome.decision.reason(), outcome.bundle.is_none()), ("StaleEvent", true));
    Ok(())
}

#[tokio::test]
async fn key_dropped_from_the_texts_of_a_secret_is_dropped_from_its_data() -> Result<()> {
    let mut world = World::new().await?;
    let secret =
        |world: &World, texts: serde_json::Value| world.object("v1", "Secret", "s", json!({ "stringData": texts }));
    // An update as well: the creation's fields are those of the adapter in any case.
    for (texts, data) in [
        (json!({ "a": "1", "b": "1" }), json!({ "a": "MQ==", "b": "MQ==" })),
        (json!({ "a": "2", "b": "1" }), json!({ "a": "Mg==", "b": "MQ==" })),
        (json!({ "a": "3", "b": "1" }), json!({ "a": "Mw==", "b": "MQ==" })),
        (json!({ "a": "3" }), json!({ "a": "Mw==" })),
    ] {
        world.render(vec![secret(&world, texts)]);
        world.pass().await?;
        assert_eq!(world.live("s").await?["data"], data);
    }
    Ok(())
}
