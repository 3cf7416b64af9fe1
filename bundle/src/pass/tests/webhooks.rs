//! Webhooks that the bundle's own server serves.

use super::*;

const KIND: &str = "ValidatingWebhookConfiguration";

fn hooks(order: &str, service: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": KIND,
        "metadata": { "name": "hooks", "annotations": { "hyperfleet.io/apply-order": order } },
        "webhooks": [{ "clientConfig": { "service": { "namespace": "team", "name": service } } }],
    })
}

fn world(hooks: Value) -> World {
    // The server is ready once somebody says so.
    World::new(vec![hooks, object("v1", "Service", "server", &[]), foo("pods", &[])])
}

#[test]
fn webhooks_come_after_the_server_of_their_bundle_and_go_before_it() {
    let mut world = world(hooks("0", "server"));
    assert_eq!(world.apply().why_stopped().unwrap(), "wave 0: Foo.example.io team/pods: it has no condition Ready yet");
    assert!(!world.writes().contains(&"create hooks".to_owned()), "its server is not there yet");
    ready(&mut world, "pods");
    let report = world.apply();
    assert_eq!(report.steps.iter().map(|step| &**step).collect::<Vec<_>>(), ["wave 0", "wave 0, webhooks"]);
    assert_eq!(world.writes(), ["update monitoring", "create hooks"]);
    world.pass(Intent::Delete).unwrap();
    assert_eq!(world.writes(), ["delete hooks", "delete pods", "delete server"]);
}

#[test]
fn webhooks_in_another_wave_or_of_another_server_are_where_their_author_wants_them() {
    for hooks in [hooks("-1", "server"), hooks("0", "other")] {
        let mut world = world(hooks);
        world.apply();
        assert_eq!(world.writes()[..2], ["create monitoring", "create hooks"]);
    }
}
