//! A foreign object has the name or the labels of ours: the adapter leaves it unchanged and reports it.

use anyhow::Result;
use kube::api::PostParams;
use serde_json::json;

use crate::task::{CREDENTIALS, SETTINGS, task};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn foreign_object_with_the_name_is_kept_and_reported() -> Result<()> {
    let world = World::new().await?;
    let secrets = world.objects("v1", "Secret").await?;
    let foreign = json!({"metadata": {"name": "c1-credentials"}, "data": {"theirs": "eA=="}});
    secrets.create(&PostParams::default(), &serde_json::from_value(foreign)?).await?;
    let before = world.object("Secret", "c1-credentials").await?;

    let _adapter = world.adapter(task(&[SETTINGS, CREDENTIALS].concat()))?.start().await?;
    for _ in 0..2 {
        let report = world.reconcile("c1", 1).await?;
        let available = report.condition("Available");
        assert_eq!((&available["status"], &available["reason"]), (&json!("False"), &json!("NameTaken")));
        let message = available["message"].as_str().unwrap_or_default();
        assert!(message.contains("credentials") && message.contains("Secret c1-credentials"), "{message}");
        assert!(message.contains("but to nobody: no adapter wrote it; it is left alone"), "{message}");
        assert_eq!(world.object("Secret", "c1-credentials").await?, before);
    }
    assert!(!world.object("ConfigMap", "c1").await?.is_null(), "the resource before it was created");

    secrets.delete("c1-credentials", &kube::api::DeleteParams::default()).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!(report.statuses(), ["True", "True", "True", "False"], "after its deletion, ours is created");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_of_another_cluster_in_a_loose_selector_is_kept() -> Result<()> {
    // This selector matches the secrets of every cluster.
    let loose = CREDENTIALS.replace(r#"{journey/cluster: "{{ .clusterId }}"}"#, "{journey/kind: credentials}");
    let gated = format!(
        "{loose}    lifecycle: {{delete: {{when: {{expression: 'cluster.?deleted_time.orValue(null) != null'}}}}}}\n"
    );
    let world = World::new().await?;
    let _adapter = world.adapter(task(&gated))?.start().await?;
    for cluster in ["c1", "c2"] {
        assert_eq!(world.reconcile(cluster, 1).await?.outcome("credentials"), "create Absent", "{cluster}");
    }
    let other = world.object("Secret", "c2-credentials").await?;
    world.reconcile("c1", 2).await?;
    assert_eq!(world.object("Secret", "c2-credentials").await?, other);

    world.api.delete("c1").await?;
    assert_eq!(world.reconcile_again("c1").await?.outcome("credentials"), "delete DeleteGateHolds");
    assert!(world.object("Secret", "c1-credentials").await?.is_null());
    assert_eq!(world.object("Secret", "c2-credentials").await?, other);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn patched_foreign_object_is_never_stamped_updated_or_deleted() -> Result<()> {
    let gates = r#"    lifecycle:
      patch:
        - when: {expression: 'dig(resources.settings, "data.tier") != "gold"'}
          document: {data: {tier: gold}}
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
"#;
    let world = World::new().await?;
    let maps = world.objects("v1", "ConfigMap").await?;
    let foreign = json!({"metadata": {"name": "c1"}, "data": {"theirs": "x"}});
    maps.create(&PostParams::default(), &serde_json::from_value(foreign)?).await?;

    let _adapter = world.adapter(task(&format!("{SETTINGS}{gates}")))?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("settings"), "patch PatchGateHolds");
    let patched = world.object("ConfigMap", "c1").await?;
    assert_eq!(patched["data"], json!({"theirs": "x", "tier": "gold"}));
    assert_eq!((&patched["metadata"]["labels"], &patched["metadata"]["annotations"]), (&json!(null), &json!(null)));

    let second = world.reconcile_again("c1").await?;
    assert_eq!(second.outcome("settings"), "fail NotOurs");
    assert_eq!(second.condition("Available")["reason"], json!("NotOurs"));
    world.api.delete("c1").await?;
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "skip NotOurs");
    assert_eq!(world.object("ConfigMap", "c1").await?, patched, "neither updated, stamped nor deleted");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adopting_entry_takes_a_foreign_object_over() -> Result<()> {
    let world = World::new().await?;
    let maps = world.objects("v1", "ConfigMap").await?;
    let foreign = json!({"metadata": {"name": "c1"}, "data": {"theirs": "x"}});
    maps.create(&PostParams::default(), &serde_json::from_value(foreign)?).await?;

    let _adapter = world.adapter(task(&format!("{SETTINGS}    adopt: true\n")))?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("settings"), "update GenerationChanged");
    let adopted = world.object("ConfigMap", "c1").await?;
    assert_eq!(adopted["metadata"]["labels"]["hyperfleet.io/resource"], json!("settings"));
    assert_eq!((&adopted["data"]["theirs"], &adopted["data"]["cluster"]), (&json!("x"), &json!("c1")));
    assert_eq!(world.reconcile_again("c1").await?.outcome("settings"), "skip SameGeneration");
    Ok(())
}

/// An entry of one fixed name for all clusters, whose author gives its object an id of its own.
const SHARED: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: shared
        namespace: "{{ .namespace }}"
        labels: {hyperfleet.io/resource-id: 'LABEL'}
    discovery: {namespace: "{{ .namespace }}", by_name: shared}
    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn deletion_of_a_cluster_keeps_the_object_that_another_uses_by_the_same_label() -> Result<()> {
    let world = World::new().await?;
    let task = |label: &str| task(&SHARED.replace("LABEL", label));
    // Not fixed for those who read the file, but the same for all clusters.
    let adapter = world.adapter(task(r#"{{ printf "%s" "shared" }}"#))?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Available")), ("fail InvalidLabel", "False"));
    assert!(world.object("ConfigMap", "shared").await?.is_null(), "nothing is written");

    // An adapter without this rule wrote it.
    let labels = json!({
        "hyperfleet.io/adapter": world.name(), "hyperfleet.io/resource-id": "shared", "hyperfleet.io/resource": "settings",
    });
    let annotations = json!({"hyperfleet.io/generation": "1"});
    let object = json!({"metadata": {"name": "shared", "labels": labels, "annotations": annotations}});
    let maps = world.objects("v1", "ConfigMap").await?;
    maps.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    let before = world.object("ConfigMap", "shared").await?;
    world.reconcile("c2", 1).await?;
    world.api.delete("c2").await?;
    let report = world.reconcile_again("c2").await?;
    assert_eq!(report.outcome("settings"), "fail DiscoveryFailed");
    assert_eq!(report.status("Finalized"), "False");
    assert_eq!(world.object("ConfigMap", "shared").await?, before);
    drop(adapter);

    maps.delete("shared", &kube::api::DeleteParams::default()).await?;
    let _adapter = world.adapter(task("{{ .clusterId }}"))?.start().await?;
    assert_eq!(world.reconcile("c1", 2).await?.outcome("settings"), "create Absent", "it equals what is stamped");
    world.reconcile("c3", 1).await?;
    world.api.delete("c3").await?;
    let report = world.reconcile_again("c3").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("skip AlreadyAbsent", "True"));
    let owner = format!("belongs to adapter {}, entry settings, for the resource c1; it is left alone", world.name());
    let message = report.condition("Finalized")["message"].to_string();
    assert!(message.contains(&owner), "{message}");
    assert!(!world.object("ConfigMap", "shared").await?.is_null(), "it is c1's");
    Ok(())
}
