//! A webhook that refuses everything while its server, which the bundle brings, is not there.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{SUITE, World};

/// Judges each `Foo` of the test's namespace.
fn hooks(world: &World) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": world.ns() },
        "webhooks": [{
            "name": "judge.example.com", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 1,
            "clientConfig": { "service": { "namespace": world.ns(), "name": "server" } },
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": world.ns() } },
            "rules": [{
                "apiGroups": [SUITE], "apiVersions": ["*"], "resources": ["foos"], "operations": ["CREATE", "UPDATE", "DELETE"],
            }],
        }],
    })
}

#[tokio::test]
async fn webhook_does_not_block_the_server_of_its_own_bundle() -> Result<()> {
    let mut world = World::new().await?;
    let (name, service) = (world.ns().to_owned(), json!({ "spec": { "ports": [{ "port": 443 }] } }));
    let mut objects = vec![hooks(&world), world.object("v1", "Service", "server", service), world.foo("pods", 1)];
    world.render(objects.clone());
    world.pass().await?;
    assert!(world.read(&name).await?.is_none(), "the webhook waits for its server: {:?}", world.lines());
    // Nothing is refused while the server is not ready.
    objects.push(world.foo("more", 1));
    world.render(objects);
    world.pass().await?;
    assert!(world.read("more").await?.is_some(), "{}", world.why());
    world.ready("pods").await?;
    world.ready("more").await?;
    world.pass().await?;
    assert_eq!(world.why(), "");
    assert!(world.read(&name).await?.is_some());
    world.is_deleting = true;
    // The API server may ask a webhook for a moment after it is gone.
    for _ in 0..20 {
        world.pass().await?;
        assert!(world.read(&name).await?.is_none(), "the webhook goes first: {:?}", world.lines());
        if world.parent().await?.is_none() {
            return Ok(());
        }
    }
    anyhow::bail!("the bundle is not deleted: {}", world.why())
}
