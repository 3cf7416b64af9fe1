//! What a bundle costs in requests.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::World;

const EACH: usize = 10;

fn hundred(world: &World) -> Vec<Value> {
    let template =
        json!({ "metadata": { "labels": { "app": "x" } }, "spec": { "containers": [{ "name": "c", "image": "a" }] } });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role-0" });
    let limit = json!({ "limits": [{ "type": "Container", "max": { "cpu": "1" } }] });
    let kinds = [
        ("v1", "ConfigMap", json!({ "data": { "a": "1" } })),
        ("v1", "Secret", json!({ "stringData": { "a": "1" } })),
        ("v1", "Service", json!({ "spec": { "ports": [{ "port": 80 }] } })),
        ("v1", "ServiceAccount", json!({})),
        ("v1", "PodTemplate", json!({ "template": template })),
        ("v1", "LimitRange", json!({ "spec": limit })),
        ("networking.k8s.io/v1", "NetworkPolicy", json!({ "spec": { "podSelector": {} } })),
        ("coordination.k8s.io/v1", "Lease", json!({ "spec": { "holderIdentity": "a" } })),
        ("rbac.authorization.k8s.io/v1", "Role", json!({ "rules": [] })),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", json!({ "roleRef": role, "subjects": [] })),
    ];
    let mut objects = Vec::new();
    for (version, kind, rest) in kinds {
        for number in 0..EACH {
            let name = format!("{}-{number}", kind.to_lowercase());
            objects.push(world.object(version, kind, &name, rest.clone()));
        }
    }
    objects
}

/// Sends one pass, and returns how many of its requests read and how many write. Lookups of kinds count as neither.
async fn cost(world: &mut World) -> Result<(usize, usize)> {
    let before = world.proxy.requests().len();
    world.pass().await?;
    assert_eq!(world.why(), "");
    let requests = world.proxy.requests().split_off(before);
    let names = format!("/namespaces/{}/", world.ns());
    let of_objects: Vec<_> = requests.iter().filter(|request| request.path.contains(&names)).collect();
    let reads = of_objects.iter().filter(|request| request.method == "GET").count();
    Ok((reads, of_objects.len() - reads))
}

#[tokio::test]
async fn hundred_objects_of_ten_kinds_cost_eleven_requests_in_steady_state() -> Result<()> {
    let mut world = World::new().await?;
    let objects = hundred(&world);
    world.render(objects);
    assert_eq!(
        cost(&mut world).await?,
        (12, 101),
        "creation: each object and the parent, which may have been disowned"
    );
    let all = world.proxy.requests().len();
    assert_eq!(cost(&mut world).await?, (11, 0), "steady state");
    assert_eq!(world.proxy.requests().len() - all, 11, "there are no other requests: {:?}", world.proxy.lines());

    world.manifests[3]["data"]["a"] = json!("2");
    assert_eq!(cost(&mut world).await?, (11, 2), "the first change of an object, whose managed fields are migrated");
    world.manifests[3]["data"]["a"] = json!("3");
    assert_eq!(cost(&mut world).await?, (11, 1), "the second change");
    world.generation += 1;
    assert_eq!(cost(&mut world).await?, (11, 2), "a generation: the parent");
    world.manifests.remove(3);
    assert_eq!(cost(&mut world).await?, (11, 1), "an object that left");
    world.is_deleting = true;
    assert_eq!(cost(&mut world).await?, (21, 100), "deletion: each list once more before the parent goes");
    assert_eq!(cost(&mut world).await?.1, 0, "gone");
    Ok(())
}
