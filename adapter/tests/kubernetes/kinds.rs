//! Tests kinds, scopes and permissions on a real API server.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hyperfleet_adapter::transport::{Deletion, Transport};
use k8s_openapi::api::rbac::v1::PolicyRule;
use lifecycle_core::destination::Destination;
use lifecycle_core::observation::QueryBy;
use lifecycle_core::task::PropagationPolicy::Background;
use lifecycle_core::write::{Target, WriteErrorKind};
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::Settings;
use serde_json::{Value, json};

use crate::world::{World, refusal, seen, target, transport};

#[tokio::test]
async fn custom_kind_works_when_installed_and_is_an_error_before() -> Result<()> {
    let world = World::new().await?;
    let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
    let transport = transport(world.control_plane.kubeconfig_path(), settings).await?;
    let group = format!("{}.example.com", unique("group"));
    let api_version = format!("{group}/v1");
    let by_name = world.query(&api_version, "Widget", QueryBy::Name("one".to_owned()));
    assert_eq!(refusal(transport.find(&by_name).await)?.0, WriteErrorKind::NotFound);

    let definition = transport.create(&widgets(&group), &Destination::ThisCluster).await?;
    let found =
        await_condition("the kind to be served", PATIENCE, async || Ok(transport.find(&by_name).await?)).await?;
    assert_eq!(found, Vec::<Value>::new());

    let desired = |size: u32| world.object(&api_version, "Widget", "one", json!({ "spec": { "size": size } }));
    let live = transport.create(&desired(1), &Destination::ThisCluster).await?;
    let updated = transport.update(&desired(2), &target(&live), &seen(&live)).await?;
    assert_eq!(updated["spec"]["size"], 2);
    assert_eq!(transport.find(&by_name).await?, std::slice::from_ref(&updated));
    assert_eq!(transport.delete(&target(&updated), Background).await?, Deletion::Gone);
    assert_eq!(transport.find(&by_name).await?, Vec::<Value>::new());

    let any_version = Target { resource_version: String::new(), ..target(&definition) };
    transport.delete(&any_version, Background).await?;
    await_condition("the kind to be gone", PATIENCE, async || {
        let error = transport.find(&by_name).await.err().context("it is still served")?;
        ensure!(error.kind == WriteErrorKind::NotFound, "{error}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn forbidden_missing_namespace_and_cluster_scope_are_distinguished() -> Result<()> {
    let world = World::new().await?;
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let reader = world.namespace.user(&[rule]).await?;
    let transport = transport(&reader.kubeconfig, Settings::default()).await?;
    assert_eq!(transport.find(&world.named("none")).await?, Vec::<Value>::new());
    let refused = transport.create(&world.map("none", json!({})), &Destination::ThisCluster).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::Forbidden, Some(403)));

    let mut homeless = world.map("none", json!({}));
    homeless["metadata"]["namespace"] = json!(unique("missing"));
    let refused = world.create(&homeless).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::NotFound, Some(404)));

    let cluster_scoped = world.query("v1", "Namespace", QueryBy::Name(world.namespace.name().to_owned()));
    assert_eq!(world.transport.find(&cluster_scoped).await?.len(), 1, "the query's namespace is ignored");
    Ok(())
}
