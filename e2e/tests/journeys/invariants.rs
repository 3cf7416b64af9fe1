//! The checks at the end of each journey notice what they are there for.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::system::{Adapter, System};

#[tokio::test(flavor = "multi_thread")]
async fn invariants_notice_a_leaked_object_and_a_lost_one() -> Result<()> {
    let system = System::start().await?;
    let (_first, _second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    let cluster = system.create_cluster("watched", &json!({ "region": "north" })).await?;
    system.await_reconciled(&cluster, 1).await?;
    system.check_invariants().await?;

    let objects: Api<ConfigMap> = system.namespace.api().await?;
    let mut object = system.object(Adapter::First, &cluster).await?.context("no object")?;
    let name = object.metadata.name.clone().context("no name")?;
    objects.delete(&name, &DeleteParams::default()).await?;
    ensure!(noticed(&system).await.starts_with("lost"), "{}", noticed(&system).await);

    object.metadata.resource_version = None;
    objects.create(&PostParams::default(), &object).await?;
    system.check_invariants().await?;
    let labels = object.metadata.labels.as_mut().context("no labels")?;
    labels.insert("hyperfleet.io/resource-id".to_owned(), "of-no-cluster".to_owned());
    object.metadata.name = Some(format!("{name}-leaked"));
    objects.create(&PostParams::default(), &object).await?;
    ensure!(noticed(&system).await.starts_with("leaked"), "{}", noticed(&system).await);
    Ok(())
}

/// What the invariants complain about.
async fn noticed(system: &System) -> String {
    system.check_invariants().await.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
}
