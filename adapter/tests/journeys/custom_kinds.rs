//! Custom resources: kinds that a `CustomResourceDefinition` adds to the API server.

use anyhow::{Context, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::json;

use crate::task::task;
use crate::world::World;

/// A `CustomResourceDefinition` that the test removes itself, because it belongs to no namespace.
struct Definition {
    group: String,
    api: Api<CustomResourceDefinition>,
}

impl Definition {
    async fn new(world: &World) -> Result<Self> {
        let api = Api::all(world.stack.control_plane.client().await?);
        Ok(Self { group: format!("{}.example.com", unique("journey")), api })
    }

    async fn install(&self) -> Result<()> {
        let name = format!("gadgets.{}", self.group);
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {
                            "type": "object",
                            "properties": {"size": {"type": "integer", "maximum": 9}},
                        }},
                    }},
                }],
            },
        });
        self.api.create(&PostParams::default(), &serde_json::from_value(definition)?).await?;
        await_condition("the definition to be served", PATIENCE, async || {
            let status = self.api.get(&name).await?.status.context("no status")?;
            let conditions = status.conditions.unwrap_or_default();
            let served =
                conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True");
            ensure!(served, "{conditions:?}");
            Ok(())
        })
        .await
    }

    async fn remove(&self) -> Result<()> {
        self.api.delete(&format!("gadgets.{}", self.group), &DeleteParams::default()).await?;
        Ok(())
    }

    fn task(&self) -> String {
        task(&GADGET.replace("GROUP", &self.group))
    }
}

const GADGET: &str = r#"
  - name: gadget
    manifest: |
      apiVersion: GROUP/v1
      kind: Gadget
      metadata:
        name: "{{ .clusterId }}"
        namespace: "{{ .namespace }}"
      spec:
        size: {{ .generation }}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
    lifecycle:
      delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn custom_object_is_created_updated_and_deleted() -> Result<()> {
    let world = World::new().await?;
    let definition = Definition::new(&world).await?;
    definition.install().await?;
    let _adapter = world.adapter(definition.task())?.start().await?;
    let gadgets = world.objects(&format!("{}/v1", definition.group), "Gadget").await?;

    assert_eq!(world.reconcile("c1", 1).await?.outcome("gadget"), "create Absent");
    assert_eq!(gadgets.get("c1").await?.data["spec"]["size"], 1);
    assert_eq!(world.reconcile("c1", 2).await?.outcome("gadget"), "update GenerationChanged");
    assert_eq!(gadgets.get("c1").await?.data["spec"]["size"], 2);

    let report = world.reconcile("c1", 10).await?;
    let available = report.condition("Available");
    assert_eq!((&available["status"], &available["reason"]), (&json!("False"), &json!("Invalid")));
    let message = available["message"].as_str().unwrap_or_default();
    assert!(message.contains("spec.size"), "the report contains the server's message: {message}");

    world.api.delete("c1").await?;
    assert_eq!(world.reconcile_again("c1").await?.status("Finalized"), "True");
    assert!(gadgets.get_opt("c1").await?.is_none());
    definition.remove().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kind_installed_later_is_found_without_a_restart() -> Result<()> {
    let world = World::new().await?;
    let definition = Definition::new(&world).await?;
    let _adapter = world.adapter(definition.task())?.start().await?;
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(
        report.condition("Available")["reason"],
        "NotFound",
        "no object of the kind exists, and none can be made"
    );
    let message = report.condition("Available")["message"].to_string();
    assert!(message.contains("Gadget") && message.contains(&definition.group), "{message}");

    definition.install().await?;
    await_condition("the gadget", PATIENCE, async || {
        let report = world.reconcile_again("c1").await?;
        ensure!(report.status("Available") == "True", "{report:?}");
        Ok(())
    })
    .await?;
    definition.remove().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_is_finalized_although_the_definition_of_an_object_is_gone() -> Result<()> {
    let world = World::new().await?;
    let definition = Definition::new(&world).await?;
    definition.install().await?;
    let _adapter = world.adapter(definition.task())?.start().await?;
    assert_eq!(world.reconcile("c1", 1).await?.outcome("gadget"), "create Absent");
    definition.remove().await?;

    world.api.delete("c1").await?;
    await_condition("the deletion", PATIENCE, async || {
        let report = world.reconcile_again("c1").await?;
        ensure!(report.status("Finalized") == "True", "{report:?}");
        Ok(())
    })
    .await
}
