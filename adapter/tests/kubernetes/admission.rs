//! Tests how denials of admission are told apart from invalid and from forbidden requests, on a real API server.

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::api::{Patch, PatchParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::observation::QueryBy;
use lifecycle_objects::write::PropagationPolicy::Background;
use lifecycle_objects::write::UpdateMode::Apply;
use lifecycle_objects::write::{Command, Executed, Target, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, refusal, seen, target};

/// Denies config maps of the test's namespace whose data has the key `denied`, with this reason.
async fn install_policy(world: &World, reason: &str) -> Result<String> {
    let name = format!("deny-{}", world.namespace.name());
    let cluster_scoped = |kind: &str, spec: Value| json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name }, "spec": spec });
    let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"] });
    let own = json!({ "matchLabels": { "kubernetes.io/metadata.name": world.namespace.name() } });
    let policy = cluster_scoped(
        "ValidatingAdmissionPolicy",
        json!({
            "matchConstraints": { "resourceRules": [rule], "namespaceSelector": own },
            "validations": [{ "expression": "!has(object.data) || !('denied' in object.data)", "reason": reason }],
        }),
    );
    let binding = json!({ "policyName": name, "validationActions": ["Deny"] });
    let binding = cluster_scoped("ValidatingAdmissionPolicyBinding", binding);
    for object in [policy, binding] {
        world.transport.create(&object, &Destination::ThisCluster).await?;
    }
    await_condition("the policy to be enforced", PATIENCE, async || {
        ensure!(world.dry_run_create(&world.map("probe", json!({ "denied": "1" }))).await.is_err(), "not yet");
        Ok(())
    })
    .await?;
    Ok(name)
}

#[tokio::test]
async fn policy_denies_creations_updates_and_patches_by_its_name() -> Result<()> {
    for reason in ["Invalid", "Forbidden"] {
        let world = World::new().await?;
        let policy = install_policy(&world, reason).await?;
        let denied = world.map("one", json!({ "denied": "1" }));
        let live = world.create(&world.map("one", json!({ "a": "1" }))).await?;
        let patch = json!({ "data": { "denied": "1" } });
        let refused = [
            world.create(&world.map("two", json!({ "denied": "1" }))).await.map(drop),
            world.transport.patch(&patch, &target(&live)).await.map(drop),
            // The migration of the managed fields changes the object before the policy denies the update.
            world.transport.update(&denied, &target(&live), &seen(&live), Apply).await.map(drop),
        ];
        for result in refused {
            let error = result.err().with_context(|| format!("{reason}: the policy denies it"))?;
            assert_eq!(error.kind, WriteErrorKind::Denied, "{reason}: {error}");
            assert!(error.message.contains(&format!("ValidatingAdmissionPolicy '{policy}'")), "{reason}: {error}");
        }
        let left = world.read("one").await?.context("the object")?;
        assert_eq!(left["data"], live["data"], "{reason}");
    }
    Ok(())
}

#[tokio::test]
async fn quota_denies_and_a_terminating_namespace_has_a_kind_of_its_own() -> Result<()> {
    let world = World::new().await?;
    let quota = world.object("v1", "ResourceQuota", "none", json!({ "spec": { "hard": { "secrets": "0" } } }));
    world.create(&quota).await?;
    let secret = world.object("v1", "Secret", "one", json!({}));
    await_condition("the quota to be enforced", PATIENCE, async || {
        let (kind, _) = refusal(world.dry_run_create(&secret).await)?;
        ensure!(kind == WriteErrorKind::Denied, "{kind:?}");
        Ok(())
    })
    .await?;

    world.create(&with_finalizer(world.map("held", json!({})))).await?;
    let namespace = world.query("v1", "Namespace", QueryBy::Name(world.namespace.name().to_owned()));
    let namespace = world.transport.find(&namespace).await?.pop().context("the namespace")?;
    let any_version = Target { resource_version: String::new(), ..target(&namespace) };
    world.transport.delete(&any_version, Background).await?;
    await_condition("the namespace to be terminating for admission", PATIENCE, async || {
        let refused = refusal(world.dry_run_create(&world.map("two", json!({}))).await)?;
        ensure!(refused == (WriteErrorKind::NamespaceTerminating, Some(403)), "{refused:?}");
        Ok(())
    })
    .await?;
    // So a recreation deletes nothing there.
    let taken = refusal(world.dry_run_create(&world.map("held", json!({}))).await)?;
    assert_eq!(taken.0, WriteErrorKind::NamespaceTerminating, "admission comes before the name");
    let held = world.read("held").await?.context("the held object")?;
    let changed = world.transport.patch(&json!({ "data": { "a": "1" } }), &target(&held)).await?;
    assert_eq!(changed.context("the held object")?["data"]["a"], "1", "what lives there can be written");
    world.patch_as("person", "held", json!({ "metadata": { "finalizers": null } })).await
}

fn with_finalizer(mut object: Value) -> Value {
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object
}

#[tokio::test]
async fn recreation_says_that_its_dry_run_counts_the_object_which_is_to_go() -> Result<()> {
    let world = World::new().await?;
    let service = |port: u16| {
        let spec = json!({ "type": "NodePort", "ports": [{ "port": port, "nodePort": 31_789 }] });
        world.object("v1", "Service", "web", json!({ "spec": spec }))
    };
    let secret = |name: &str| world.object("v1", "Secret", name, json!({ "data": { "a": "eA==" } }));
    let key = world.create(&secret("key")).await?;
    let quota = world.object("v1", "ResourceQuota", "one", json!({ "spec": { "hard": { "secrets": "1" } } }));
    world.create(&quota).await?;
    // No controller counts here what is used.
    let status = json!({ "status": { "hard": { "secrets": "1" }, "used": { "secrets": "1" } } });
    let quotas = world.namespace.api::<ResourceQuota>().await?;
    quotas.patch_status("one", &PatchParams::default(), &Patch::Merge(status)).await?;
    await_condition("the quota to be enforced", PATIENCE, async || {
        let refused = world.dry_run_create(&secret("other")).await.err().context("not yet")?;
        ensure!(refused.message.contains("exceeded quota"), "{refused}");
        Ok(())
    })
    .await?;
    let web = world.create(&service(80)).await?;

    for (live, desired, kind) in
        [(web, service(81), WriteErrorKind::Invalid), (key, secret("key"), WriteErrorKind::Denied)]
    {
        let targets = vec![target(&live)];
        let recreate = Command::Recreate { destination: Destination::ThisCluster, desired, targets: targets.clone() };
        let executed = world.execute(recreate).await;
        let Executed::Failed(error) = &executed else { bail!("the dry run should have been refused: {executed:?}") };
        ensure!(error.kind == kind && error.cure().contains("still counts the object"), "{error:?}");
        ensure!(world.now(&targets[0]).await?.is_some(), "nothing is deleted: {error}");
    }
    Ok(())
}
