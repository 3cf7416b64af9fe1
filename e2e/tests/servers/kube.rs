//! Tests that the control plane has the controllers and permissions of a real one.

use anyhow::{Context, ensure};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use lifecycle_e2e::kube::{ControlPlane, JobEnd};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::json;

#[tokio::test]
async fn dependent_is_garbage_collected_with_its_owner() -> anyhow::Result<()> {
    let namespace = ControlPlane::shared().await?.namespace().await?;
    let maps: Api<ConfigMap> = namespace.api().await?;
    let owner = serde_json::from_value(json!({"metadata": {"name": "owner"}, "data": {"a": "1"}}))?;
    let owner = maps.create(&PostParams::default(), &owner).await?;
    let child = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "child",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid},
            ],
        },
    });
    let applied = maps.patch("child", &PatchParams::apply("test"), &Patch::Apply(&child)).await?;
    let managers = applied.metadata.managed_fields.unwrap_or_default();
    assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("test")), "{managers:?}");

    maps.delete("owner", &DeleteParams::background()).await?;
    await_condition("the child to be collected", PATIENCE, async || {
        ensure!(maps.get_opt("child").await?.is_none(), "it is there");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn job_gets_the_condition_of_its_pods_end() -> anyhow::Result<()> {
    let control_plane = ControlPlane::shared().await?;
    let namespace = control_plane.namespace().await?;
    let jobs: Api<Job> = namespace.api().await?;
    for (name, end, condition) in [("succeeds", JobEnd::Succeeded, "Complete"), ("fails", JobEnd::Failed, "Failed")] {
        let containers = json!([{"name": "main", "image": "none"}]);
        let job = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "backoffLimit": 0,
                "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
            },
        }))?;
        jobs.create(&PostParams::default(), &job).await?;
        let job = control_plane.finish_job(&namespace, name, end).await?;
        let conditions = job.status.and_then(|status| status.conditions).unwrap_or_default();
        assert!(conditions.iter().any(|found| found.type_ == condition && found.status == "True"), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn dropped_namespace_is_deleted_with_its_objects() -> anyhow::Result<()> {
    let control_plane = ControlPlane::shared().await?;
    let namespace = control_plane.namespace().await?;
    let maps: Api<ConfigMap> = namespace.api().await?;
    let map = serde_json::from_value(json!({"metadata": {"name": "left-behind"}}))?;
    maps.create(&PostParams::default(), &map).await?;
    let name = namespace.name().to_owned();
    drop(namespace);

    let namespaces: Api<Namespace> = Api::all(control_plane.client().await?);
    await_condition("the namespace to be gone", PATIENCE, async || {
        ensure!(namespaces.get_opt(&name).await?.is_none(), "it is there");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn restricted_user_has_the_permissions_of_its_rules() -> anyhow::Result<()> {
    let namespace = ControlPlane::shared().await?.namespace().await?;
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    let client = namespace.user(&[rule]).await?.client().await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace.name());
    maps.list(&ListParams::default()).await?;
    let secrets: Api<Secret> = Api::namespaced(client, namespace.name());
    let refused = secrets.list(&ListParams::default()).await.err().context("secrets could be listed")?;
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused:?}");
    Ok(())
}
