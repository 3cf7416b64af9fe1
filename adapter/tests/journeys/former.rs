//! What a cluster had under another name, in another namespace or as another entry goes with the cluster, or keeps its
//! deletion open.

use anyhow::Result;
use kube::api::ListParams;
use lifecycle_e2e::fault::{Fault, When};
use serde_json::json;

use crate::task::task;
use crate::world::World;

/// An object whose name or namespace changes with the specification.
const MOVING: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: NAME, namespace: NAMESPACE}
    discovery: {namespace: NAMESPACE, by_name: NAME}
    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}
"#;

/// A set whose own object changes its name with the specification.
const SET: &str = r#"
  - name: monitoring
    bundle:
      namespace: "{{ .namespace }}"
      name: set-{{ .generation }}
      manifests:
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: "first-{{ .generation }}"}}
        - {apiVersion: v1, kind: Secret, metadata: {name: "second-{{ .generation }}"}}
    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}
"#;

/// Config maps of an entry that are found by its name in a label.
const LABELLED: &str = r#"
  - name: ENTRY
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .clusterId }}-NAME", namespace: "{{ .namespace }}"}
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors: {label_selector: {hyperfleet.io/resource-id: "{{ .clusterId }}", hyperfleet.io/resource: ENTRY}}
    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}
"#;

/// How many objects of the adapter are left in the world's namespace, of the two kinds of these tests.
async fn left(world: &World) -> Result<usize> {
    let selector = ListParams::default().labels(&format!("hyperfleet.io/adapter={}", world.name()));
    let maps = world.objects("v1", "ConfigMap").await?.list(&selector).await?.items.len();
    Ok(maps + world.objects("v1", "Secret").await?.list(&selector).await?.items.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_under_a_former_name_is_deleted_before_the_cluster_is_finalized() -> Result<()> {
    let world = World::new().await?;
    let moving = MOVING.replace("NAMESPACE", "'{{ .namespace }}'").replace("NAME", "'c-{{ .generation }}'");
    let _adapter = world.adapter(task(&moving))?.start().await?;
    world.reconcile("c1", 1).await?;
    world.reconcile("c1", 2).await?;
    let maps = world.objects("v1", "ConfigMap").await?;
    let hold = json!({"metadata": {"finalizers": ["journey.example.com/hold"]}});
    maps.patch("c-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(hold)).await?;

    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "False"));
    assert!(world.object("ConfigMap", "c-2").await?.is_null());
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("wait Deleting", "False"));

    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("c-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(free)).await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("skip AlreadyAbsent", "True"));
    assert_eq!(left(&world).await?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_in_a_former_namespace_is_deleted_with_the_cluster() -> Result<()> {
    let world = World::new().await?;
    let other = world.stack.control_plane.namespace().await?;
    let namespace =
        format!(r"'{{{{ if eq .generation 1 }}}}{}{{{{ else }}}}{{{{ .namespace }}}}{{{{ end }}}}'", other.name());
    let moving = MOVING.replace("NAMESPACE", &namespace).replace("NAME", "'{{ .clusterId }}'");
    let _adapter = world.adapter(task(&moving))?.start().await?;
    world.reconcile("c1", 1).await?;
    world.reconcile("c1", 2).await?;
    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "True"));
    let maps = world.stack.control_plane.client().await?;
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::namespaced(maps, other.name());
    assert!(maps.get_opt("c1").await?.is_none(), "the object in the former namespace");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn set_of_a_former_bundle_name_is_deleted_before_the_cluster_is_finalized() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SET))?.start().await?;
    world.reconcile("c1", 1).await?;
    world.reconcile("c1", 2).await?;
    assert_eq!(left(&world).await?, 6);
    world.api.delete("c1").await?;
    let mut finalized = "False".to_owned();
    for _ in 0..6 {
        if finalized == "True" {
            break;
        }
        let report = world.reconcile_again("c1").await?;
        report.status("Finalized").clone_into(&mut finalized);
        assert!(finalized == "False" || left(&world).await? == 0, "{report:?}");
    }
    assert_eq!((finalized.as_str(), left(&world).await?), ("True", 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn object_of_a_renamed_entry_keeps_the_deletion_open_and_is_named() -> Result<()> {
    let world = World::new().await?;
    let entry = |entry: &str, name: &str| task(&LABELLED.replace("ENTRY", entry).replace("NAME", name));
    let adapter = world.adapter(entry("former", "a"))?.start().await?;
    world.reconcile("c1", 1).await?;
    drop(adapter);
    let _adapter = world.adapter(entry("present", "b"))?.start().await?;
    world.reconcile("c1", 2).await?;
    assert_eq!(left(&world).await?, 2);
    world.api.delete("c1").await?;
    for _ in 0..2 {
        let report = world.reconcile_again("c1").await?;
        let finalized = report.condition("Finalized");
        assert_eq!((&finalized["status"], &finalized["reason"]), (&json!("False"), &json!("ObjectsRemain")));
        let message = finalized["message"].as_str().unwrap_or_default();
        assert!(message.contains("c1-a of the entry `former`, which the task does not have"), "{message}");
    }
    assert_eq!(left(&world).await?, 1);

    world.objects("v1", "ConfigMap").await?.delete("c1-a", &kube::api::DeleteParams::default()).await?;
    assert_eq!(world.reconcile_again("c1").await?.status("Finalized"), "True");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn role_without_the_search_blocks_no_deletion_and_a_failed_search_does() -> Result<()> {
    let world = World::new().await?;
    let moving = MOVING.replace("NAMESPACE", "'{{ .namespace }}'").replace("NAME", "'{{ .clusterId }}'");
    let adapter = world.adapter(task(&moving))?.start().await?;
    let searches = || When::method("GET").and(|request| request.path == "/api/v1/configmaps");
    world.reconcile("c1", 1).await?;
    world.api.delete("c1").await?;
    world.kubernetes.inject(searches(), Fault::Status(500));
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("fail DiscoveryFailed", "False"));
    world.kubernetes.heal();
    world.kubernetes.inject(searches(), Fault::Status(403));
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "True"));
    let report = world.reconcile_again("c1").await?;
    let finalized = report.condition("Finalized");
    assert_eq!((report.outcome("settings").as_str(), &finalized["status"]), ("skip AlreadyAbsent", &json!("True")));
    let message = finalized["message"].as_str().unwrap_or_default();
    assert!(message.contains("is left is unknown") && message.contains("hyperfleet-adapter rbac"), "{message}");
    adapter.await_metric("hyperfleet_adapter_warnings_total", &[("warning", "former_unread")], 2.0).await?;
    Ok(())
}

/// The copy has the labels of the original, as from `kubectl get -o yaml`, an edit and `kubectl create`.
#[tokio::test(flavor = "multi_thread")]
async fn copy_that_a_person_made_outlives_the_deletion() -> Result<()> {
    let world = World::new().await?;
    let moving = MOVING.replace("NAMESPACE", "'{{ .namespace }}'").replace("NAME", "'{{ .clusterId }}'");
    let _adapter = world.adapter(task(&moving))?.start().await?;
    world.reconcile("c1", 1).await?;
    let maps = world.objects("v1", "ConfigMap").await?;
    let mut copy = maps.get("c1").await?;
    copy.metadata = kube::api::ObjectMeta {
        name: Some("copy".to_owned()),
        labels: copy.metadata.labels,
        annotations: copy.metadata.annotations,
        ..Default::default()
    };
    maps.create(&kube::api::PostParams::default(), &copy).await?;

    world.api.delete("c1").await?;
    let report = world.reconcile_again("c1").await?;
    assert_eq!((report.outcome("settings").as_str(), report.status("Finalized")), ("delete DeleteGateHolds", "True"));
    assert!(maps.get_opt("c1").await?.is_none());
    assert!(maps.get_opt("copy").await?.is_some(), "the adapter never wrote the copy");
    Ok(())
}
