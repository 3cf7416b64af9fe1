//! What the adapter does with objects that exist before it writes them.

use anyhow::Result;
use lifecycle_objects::keys;
use serde_json::{Value, json};

use crate::table::Act::{Create, Render};
use crate::table::{Act, pass, play};
use crate::world::{World, annotated};

/// An object of somebody else with these labels.
fn existing(world: &World, name: &str, labels: Value) -> Act {
    let mut object = world.map(name, "before");
    object["metadata"]["labels"] = labels;
    Create(object)
}

#[tokio::test]
async fn policy_decides_whether_an_object_is_taken_over() -> Result<()> {
    let mut world = World::new().await?;
    let foreign = || json!({ keys::ADAPTER: "other", keys::RESOURCE_ID: "c1", keys::RESOURCE: "monitoring" });
    let of_set = || json!({ "applyset.kubernetes.io/part-of": "applyset-x-v1" });
    let (mut acts, mut objects) = (Vec::new(), Vec::new());
    for policy in ["if-unowned", "never", "always"] {
        for (owner, labels) in [("foreign", foreign()), ("set", of_set()), ("unowned", json!({ "of": "person" }))] {
            let name = format!("{policy}-{owner}");
            acts.push(existing(&world, &name, labels));
            objects.push(annotated(world.map(&name, "after"), &[("adoption-policy", policy)]));
        }
    }
    acts.push(Render(objects));
    let first = [pass(
        "adoption",
        acts,
        "failed",
        &[
            "always-foreign updated Ready",
            "always-set updated Ready",
            "always-unowned updated Ready",
            "if-unowned-foreign failed Taken",
            "if-unowned-set failed Taken",
            "if-unowned-unowned updated Ready",
            "never-foreign failed Taken",
            "never-set failed Taken",
            "never-unowned failed Taken",
        ],
        "wave 0: ConfigMap NS/if-unowned-foreign belongs to adapter other, entry monitoring, \
         for the resource c1; it is left alone; give the object another name, or the adoption policy `always` if the \
         bundle is to take it over",
    )];
    play(&mut world, first).await?;
    let adopted = ["always-foreign", "always-set", "always-unowned", "if-unowned-unowned"];
    for policy in ["if-unowned", "never", "always"] {
        for owner in ["foreign", "set", "unowned"] {
            let name = format!("{policy}-{owner}");
            let expected = if adopted.contains(&name.as_str()) { "after" } else { "before" };
            assert_eq!(world.live(&name).await?["data"]["a"], expected, "{name}");
        }
    }
    let refused = world.outcome.as_ref().and_then(|outcome| outcome.failure());
    assert!(refused.is_some_and(|failure| failure.message.ends_with("(4 more failed)")), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn object_in_the_way_of_a_later_wave_keeps_the_earlier_ones() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "adoption": "never" } })).await?;
    let objects = vec![
        world.map("map", "1"),
        annotated(world.map("taken", "1"), &[("apply-order", "1")]),
        world.secret("secret"),
    ];
    let taken = "wave 1: ConfigMap NS/taken belongs to nobody, and its policy is to adopt no object; it \
                 is left alone; give the object another name, or the adoption policy `always` if the bundle is to take it over";
    let passes = [
        pass(
            "in the way",
            [existing(&world, "taken", json!({})), Render(objects)],
            "failed",
            &["map created Ready", "secret created Ready", "taken failed Taken"],
            taken,
        ),
        pass("still", [], "failed", &["map none Ready", "secret none Ready", "taken failed Taken"], taken),
        pass(
            "out of the way",
            [Act::Delete("taken")],
            "updated",
            &["map none Ready", "secret none Ready", "taken created Ready"],
            "",
        ),
    ];
    play(&mut world, passes).await
}
