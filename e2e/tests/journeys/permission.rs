//! An adapter that Kubernetes refuses: everybody can see what is wrong, and nobody has to do anything but grant it.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::Api;
use kube::api::{Patch, PatchParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::system::{Adapter, System, UNRECONCILED};

/// What a user may do with config maps.
fn on_config_maps(verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_adapter_says_why_and_recovers_once_it_is_permitted() -> Result<()> {
    let system = System::start().await?;
    // The administrator forgot that an adapter writes.
    let user = system.namespace.user(&[on_config_maps(&["get", "list"])]).await?;
    let _first = system.adapter_as(Adapter::First, &user.kubeconfig)?;
    let _second = system.adapter(Adapter::Second)?;
    let cluster = system.create_cluster("refused", &json!({ "region": "north" })).await?;

    // Whoever looks at the cluster reads what is missing: in the adapter's report, and in the cluster itself.
    let refusal = r#"cannot create resource "configmaps""#;
    await_condition("a report about the refusal", PATIENCE, async || {
        let statuses = system.send("GET", &format!("{cluster}/statuses"), &Value::Null, 200).await?;
        let report = &statuses["items"][0];
        ensure!(report["adapter"] == system.name(Adapter::First), "{statuses}");
        let conditions = report["conditions"].as_array().context("no conditions")?;
        let health = conditions.iter().find(|condition| condition["type"] == "Health").context("no Health")?;
        ensure!(health["status"] == "False", "{health}");
        ensure!(health["message"].as_str().is_some_and(|message| message.contains(refusal)), "{health}");
        let resource = system.send("GET", &cluster, &Value::Null, 200).await?;
        let of_adapter = &resource["status"]["conditions"][2];
        ensure!(of_adapter["status"] == "False", "{of_adapter}");
        ensure!(of_adapter["message"].as_str().is_some_and(|message| message.contains(refusal)), "{of_adapter}");
        Ok(())
    })
    .await?;

    // Whoever watches the fleet sees a stuck cluster, and which adapter it waits for.
    await_condition("the exporter to name the adapter", PATIENCE, async || {
        for series in [UNRECONCILED, "hyperfleet_api_resource_pending_reconciliation_stuck"] {
            let count = system.figure(series, &[("resource_type", "cluster")]).await?;
            ensure!((count - 1.0).abs() < 0.5, "{series}: {count}");
        }
        let series = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";
        let labels = [("adapter", system.name(Adapter::First)), ("reason", "not_available")];
        let count = system.figure(series, &labels).await?;
        ensure!((count - 1.0).abs() < 0.5, "{series}: {count}");
        let stuck = system.stuck().await?;
        let waits_on = &stuck.first().context("nothing is stuck")?["waits_on"][0];
        ensure!(waits_on["adapter"] == system.name(Adapter::First), "{waits_on}");
        ensure!(waits_on["message"].as_str().is_some_and(|message| message.contains(refusal)), "{waits_on}");
        Ok(())
    })
    .await?;
    system.check_invariants().await?;

    let roles: Api<Role> = system.namespace.api().await?;
    let granted = json!({ "rules": [on_config_maps(&["get", "list", "create", "patch", "delete"])] });
    let name = user.user.as_deref().context("no user")?;
    roles.patch(name, &PatchParams::default(), &Patch::Merge(granted)).await?;
    system.await_reconciled(&cluster, 1).await?;
    ensure!(system.figure(UNRECONCILED, &[]).await? < 0.5, "the cluster is reconciled");
    system.check_invariants().await
}
