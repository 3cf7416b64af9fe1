//! Objects without a namespace: the sweeper keeps them, and says so, until the configuration names their kind.

use anyhow::{Result, ensure};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn cluster_scoped_orphan_is_shown_and_kept_unless_its_kind_is_allowed() -> Result<()> {
    let world = World::new().await?;
    let gone = world.cluster(1).await?;
    let client = world.control_plane.client().await?;
    let all = |group, version, kind| {
        Api::<DynamicObject>::all_with(
            client.clone(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
        )
    };
    let named = |manifest: Value| (manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned(), manifest);
    let [namespace, definition, role] = [
        (
            all("", "v1", "Namespace"),
            named(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": unique("orphan") } })),
        ),
        (
            all("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            named(widgets(&format!("{}.example.com", unique("group")))),
        ),
        (
            all("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            named(
                json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": unique("orphan") } }),
            ),
        ),
    ];
    let scoped = [&namespace, &definition, &role];
    for (api, (_, manifest)) in scoped {
        let manifest = world.signed(manifest.clone(), &gone)?;
        api.create(&PostParams::default(), &serde_json::from_value(manifest)?).await?;
    }
    world.create(world.config_map("orphan", &gone)).await?;
    world.force_delete(&gone).await?;

    let kinds = ["core/ConfigMap", "core/Namespace", "CustomResourceDefinition", "ClusterRole"];
    let setup = world.sweeper()?.with("kinds.include", json!(kinds)).with("grace", "1ms");
    let plan = String::from_utf8(setup.output(&["plan"]).await?.stdout)?;
    for (_, (name, _)) in scoped {
        let why = "its kind is cluster-scoped, and `kinds.cluster_scoped` does not allow it";
        let is_kept = |row: &str| row.starts_with("keep") && row.contains(name) && row.contains(why);
        ensure!(plan.lines().any(is_kept), "{name}: {plan}");
    }
    let mut sweeper = setup.run()?;
    world.await_names(&[]).await?;
    for kind in
        ["core/Namespace", "apiextensions.k8s.io/CustomResourceDefinition", "rbac.authorization.k8s.io/ClusterRole"]
    {
        sweeper.await_metric(&format!("candidates{{kind=\"{kind}\",verdict=\"cluster_scoped\"}} 1")).await?;
    }
    sweeper.stop().await?;

    let setup = setup.with("kinds.cluster_scoped", json!(["ClusterRole"]));
    let refused = setup.output(&["run"]).await?;
    let said = String::from_utf8(refused.stderr)?;
    ensure!(said.contains("name the key's file in `signing_key_files`"), "{said}");
    let allowed = setup.with("signing_key_files", json!([world.signing_key()?])).run()?;
    await_condition("the role to go", PATIENCE, async || {
        ensure!(role.0.get_opt(&role.1.0).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    allowed.await_passes(2).await?;
    for (api, (name, _)) in [&namespace, &definition] {
        ensure!(api.get(name).await?.metadata.deletion_timestamp.is_none(), "{name} goes");
        api.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
