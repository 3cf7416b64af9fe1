//! Jobs that Kubernetes deletes after they have finished, and roles whose rules a controller fills in.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{World, annotated};

fn job(world: &World, image: &str) -> Value {
    let pod = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": image }] } });
    // The test is the Job's controller.
    let spec = json!({ "ttlSecondsAfterFinished": 60, "managedBy": "example.com/test", "template": pod });
    world.object("batch/v1", "Job", "migration", json!({ "spec": spec }))
}

/// What the Job's controller says in the end.
async fn complete(world: &World) -> Result<()> {
    let now = world.now.to_string();
    let condition = |kind: &str| json!({ "type": kind, "status": "True" });
    let status = json!({ "status": {
        "startTime": now, "completionTime": now, "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    } });
    world.report("migration", &status).await
}

#[tokio::test]
async fn completed_job_that_is_gone_does_not_run_again() -> Result<()> {
    let mut world = World::new().await?;
    let next = annotated(world.map("next", "1"), &[("apply-order", "1")]);
    let objects = vec![job(&world, "a"), next];
    world.render(objects.clone());
    world.pass().await?;
    complete(&world).await?;
    // The event that sees the Job complete ends after its first write, which is the memory.
    world.pass().await?;
    assert_eq!(world.lines(), ["migration none Ready", "next created Ready"]);
    // As the controller of finished Jobs does.
    world.delete("migration").await?;
    world.await_gone("migration").await?;
    for _ in 0..3 {
        world.pass().await?;
        assert_eq!(
            (world.lines(), world.why()),
            (vec!["migration none Absent".to_owned(), "next none Ready".to_owned()], String::new())
        );
    }
    let mut changed = objects;
    changed[0] = job(&world, "b");
    world.render(changed);
    world.pass().await?;
    assert_eq!(world.lines(), ["migration created InProgress", "next none Ready"]);
    Ok(())
}

#[tokio::test]
async fn rules_that_a_controller_fills_in_stay_when_the_role_is_applied_again() -> Result<()> {
    let mut world = World::with(json!({ "policies": { "reapply": "0s" } })).await?;
    let name = world.ns().to_owned();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "of": name } }] }, "rules": [],
    });
    world.render(vec![role]);
    world.pass().await?;
    let rules = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    world.merge("clusterrole-aggregation-controller", &name, &rules).await?;
    for _ in 0..3 {
        world.pass().await?;
        assert_eq!(world.live(&name).await?["rules"], rules["rules"]);
        assert!(world.drift().is_empty(), "{:?}", world.drift());
    }
    world.is_deleting = true;
    world.pass().await?;
    Ok(())
}
