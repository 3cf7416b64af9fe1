//! A new cluster: the first event creates its objects, and a second one changes nothing.

use anyhow::Result;
use serde_json::json;

use crate::task::{ACCOUNT, CREDENTIALS, SETTINGS, task};
use crate::world::{World, writes};

#[tokio::test(flavor = "multi_thread")]
async fn first_event_creates_every_object_with_its_stamp() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(&[SETTINGS, CREDENTIALS, ACCOUNT].concat()))?.start().await?;
    let report = world.reconcile("c1", 3).await?;

    assert_eq!(report.statuses(), ["True", "True", "True", "False"], "{report:?}");
    assert_eq!(report.0["adapter"], world.name());
    assert_eq!(report.0["observed_generation"], 3);
    for resource in ["settings", "credentials", "account"] {
        assert_eq!(report.outcome(resource), "create Absent", "{resource}");
    }
    let settings = world.object("ConfigMap", "c1").await?;
    assert_eq!(settings["data"], json!({"cluster": "c1", "generation": "3"}));
    let stamped = |resource: &str| {
        json!({
            "hyperfleet.io/adapter": world.name(),
            "hyperfleet.io/resource-id": "c1",
            "hyperfleet.io/resource": resource,
        })
    };
    let objects = [
        ("settings", settings, json!({"app": "journey"})),
        ("credentials", world.object("Secret", "c1-credentials").await?, json!({"journey/cluster": "c1"})),
        ("account", world.object("ServiceAccount", "c1").await?, json!({})),
    ];
    for (resource, object, own) in objects {
        let mut labels = stamped(resource);
        labels
            .as_object_mut()
            .into_iter()
            .for_each(|labels| labels.extend(own.as_object().cloned().unwrap_or_default()));
        assert_eq!(object["metadata"]["labels"], labels, "{resource}");
        assert_eq!(object["metadata"]["annotations"]["hyperfleet.io/generation"], "3", "{resource}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn creation_takes_two_calls_and_a_repeated_event_one() -> Result<()> {
    let cases = [
        ("by name", SETTINGS, ["GET configmaps/c1", "POST configmaps"]),
        ("by labels", CREDENTIALS, ["GET secrets", "POST secrets"]),
    ];
    for (name, resource, calls) in cases {
        let world = World::new().await?;
        let _adapter = world.adapter(task(resource))?.start().await?;
        world.reconcile("c1", 1).await?;
        assert_eq!(world.calls_since(0), calls, "{name}");

        let mark = world.mark();
        let report = world.reconcile_again("c1").await?;
        assert_eq!(world.calls_since(mark), calls[..1], "{name}");
        assert_eq!(world.kubernetes.requests().len(), mark + 1, "{name}: no request outside of the namespace either");
        assert_eq!(report.statuses(), ["True", "True", "True", "False"], "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_event_writes_nothing_and_reports_the_same() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(&[SETTINGS, CREDENTIALS, ACCOUNT].concat()))?.start().await?;
    let first = world.reconcile("c1", 1).await?;
    let (written, object) = (world.kubernetes.count(&writes()), world.object("ConfigMap", "c1").await?);
    for _ in 0..5 {
        let again = world.reconcile_again("c1").await?;
        assert_eq!(again.outcome("settings"), "skip SameGeneration");
        assert_eq!(again.0["conditions"], first.0["conditions"]);
    }
    assert_eq!(world.kubernetes.count(&writes()), written);
    assert_eq!(world.object("ConfigMap", "c1").await?, object);
    adapter.await_handled(6.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_adapter_finds_the_objects_of_its_predecessor() -> Result<()> {
    let world = World::new().await?;
    let everything = task(&[SETTINGS, CREDENTIALS].concat());
    let mut adapter = world.adapter(everything.as_str())?.start().await?;
    world.reconcile("c1", 1).await?;
    adapter.stop().await?;

    let written = world.kubernetes.count(&writes());
    let _adapter = world.adapter(everything)?.start().await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.outcome("settings"), "skip SameGeneration");
    assert_eq!(world.kubernetes.count(&writes()), written);
    Ok(())
}
