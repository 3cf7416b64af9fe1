//! Requests that fail in the middle of a pass.

use anyhow::Result;
use lifecycle_e2e::fault::When;
use lifecycle_objects::failure::FailReason;
use serde_json::json;

use crate::table::Act::{Delete, Deleting, Fault, Later, Merge, Render};
use crate::table::{pass, play};
use crate::world::{ENTRY, World, annotated};

#[tokio::test]
async fn failed_write_stops_before_the_next_wave_and_the_next_pass_goes_on() -> Result<()> {
    let mut world = World::new().await?;
    let objects = |world: &World, value: &str| {
        let last = annotated(world.map("last", value), &[("apply-order", "1")]);
        vec![world.map("map", value), annotated(world.secret("secret"), &[("of", value)]), last]
    };
    let (before, after) = (objects(&world, "1"), objects(&world, "2"));
    let failed = |verb: &str| {
        When::any().and({
            let verb = verb.to_owned();
            move |request| request.method == verb && request.path.contains("/secrets")
        })
    };
    let passes = [
        pass(
            "creation fails",
            [Fault(failed("POST").first(1)), Render(before)],
            "failed",
            &["last none Absent", "map created Ready", "secret failed Absent"],
            "wave 0: Secret NS/secret: failed to create Secret NS/secret: injected 500 for POST \
             /api/v1/namespaces/NS/secrets (HTTP 500); look at the server, its webhooks, and \
             proxies in front of it",
        ),
        pass("creation resumes", [], "updated", &["last created Ready", "map none Ready", "secret created Ready"], ""),
        pass(
            "update fails",
            [Fault(failed("PATCH").first(1)), Render(after)],
            "failed",
            &["last none Ready", "map updated Ready", "secret failed Ready"],
            "wave 0: Secret NS/secret: failed to migrate the managed fields of Secret NS/secret: injected 500 for PATCH \
             /api/v1/namespaces/NS/secrets/secret (HTTP 500); look at the server, its webhooks, and \
             proxies in front of it",
        ),
        pass("update resumes", [], "updated", &["last updated Ready", "map none Ready", "secret updated Ready"], ""),
        pass(
            "deletion fails",
            [Fault(failed("DELETE").first(1)), Deleting],
            "failed",
            &["last deleted Absent", "map deleted Absent", "secret failed Ready"],
            "deletion wave 0: Secret NS/secret: failed to delete Secret NS/secret: injected 500 for DELETE \
             /api/v1/namespaces/NS/secrets/secret (HTTP 500); look at the server, its webhooks, and \
             proxies in front of it",
        ),
        pass("deletion resumes", [], "deleted", &["secret deleted Absent"], ""),
        pass("gone", [], "skipped", &[], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn failed_list_keeps_everything_as_it_is() -> Result<()> {
    let mut world = World::new().await?;
    let (before, after) = (vec![world.map("map", "1"), world.secret("secret")], vec![world.map("map", "2")]);
    world.render(before);
    world.pass().await?;
    let unread = || When::method("GET").path_ends("/secrets");
    let failed = "failed to list the bundle's objects of the kind v1, Kind=Secret: failed to list Secret in NS: injected 500 for GET \
                  /api/v1/namespaces/NS/secrets (HTTP status 500); look at the server, its webhooks, and proxies in \
                  front of it";
    let passes = [
        pass("change", [Fault(unread()), Render(after)], "failed", &[], failed),
        pass("deletion", [Fault(unread()), Deleting], "failed", &[], failed),
    ];
    play(&mut world, passes).await?;
    assert_eq!(world.live("map").await?["data"]["a"], "1");
    world.live("secret").await?;
    Ok(())
}

#[tokio::test]
async fn parent_that_cannot_be_written_keeps_members_unwritten() -> Result<()> {
    let mut world = World::new().await?;
    let maps = When::method("POST").path_ends("/configmaps").first(1);
    let objects = vec![world.map("map", "1"), world.secret("secret")];
    let passes = [
        pass(
            "parent fails",
            [Fault(maps), Render(objects)],
            "failed",
            &["map none Absent", "secret none Absent"],
            "the parent: failed to create ConfigMap NS/monitoring: injected 500 for POST \
             /api/v1/namespaces/NS/configmaps (HTTP 500); look at the server, its webhooks, and \
             proxies in front of it",
        ),
        pass("next", [], "created", &["map created Ready", "secret created Ready"], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn members_are_found_again_after_somebody_deleted_the_parent() -> Result<()> {
    let mut world = World::new().await?;
    let (parent, map, secret) = (world.map(ENTRY, ""), world.map("map", "1"), world.secret("secret"));
    world.render(vec![map.clone(), secret]);
    world.pass().await?;
    world.know(&parent);
    let edit = json!({ "metadata": { "annotations": { "applyset.kubernetes.io/contains-group-kinds": "ConfigMap" } } });
    let passes = [
        pass("parent gone", [Delete(ENTRY)], "created", &["map none Ready", "secret none Ready"], ""),
        pass(
            "a kind was removed from it by hand",
            [Merge("person", ENTRY, edit), Render(vec![map]), Later(1)],
            "updated",
            &["map none Ready", "secret deleted Absent"],
            "",
        ),
        pass("parent gone again", [Delete(ENTRY), Deleting], "deleted", &["map deleted Absent"], ""),
        pass("gone", [], "skipped", &[], ""),
    ];
    play(&mut world, passes).await
}

#[tokio::test]
async fn two_events_at_the_same_time_run_an_object_that_serves_once_only_once() -> Result<()> {
    let mut world = World::new().await?;
    let objects = |world: &World, value: &str| {
        vec![annotated(world.map("job", value), &[("purge-order", "0")]), world.secret("secret")]
    };
    let jobs = When::method("DELETE").path_ends("/configmaps/job");
    for (number, value) in ["1", "2", "3"].into_iter().enumerate() {
        let manifests = objects(&world, value);
        world.render(manifests);
        let events = [world.transport.clone(), world.transport.clone()].map(|transport| world.run(transport));
        let [one, other] = events;
        let (one, other) = tokio::join!(one?, other?);
        for report in [one, other] {
            let reason = world.keep(report)?.failure().map(|failure| failure.reason);
            assert!(matches!(reason, None | Some(FailReason::Conflict)), "{reason:?}: {}", world.why());
        }
        let settled = [pass("afterwards", [], "skipped", &["job none Absent", "secret none Ready"], "")];
        play(&mut world, settled).await?;
        assert_eq!(world.proxy.count(&jobs), number + 1, "{:?}", world.proxy.lines());
    }
    Ok(())
}
