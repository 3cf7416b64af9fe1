//! The webhooks that a bundle's own services serve: until the service answers, the API server refuses what they judge, which may be
//! the service's own objects.
//!
//! In: the set's services, and the services that a webhook configuration calls. Out: whether the configuration comes after what
//! serves it. Nothing here fails. A configuration in another wave than its service is where its author wants it.

use std::collections::BTreeSet;

use serde_json::Value;

use lifecycle_objects::identity::{GroupKind, Identity};

/// A namespace and the name of a service in it.
pub type ServiceName = (String, String);

/// The services of a set, with the orders of their waves.
#[derive(Debug, Default)]
pub struct Services(BTreeSet<(i16, ServiceName)>);

impl Services {
    /// Whether one of these is among the services of the wave of this order.
    #[must_use]
    pub fn serve(&self, order: i16, called: &BTreeSet<ServiceName>) -> bool {
        called.iter().any(|service| self.0.contains(&(order, service.clone())))
    }
}

/// Collects the services among the objects of a set, each with the order of its wave.
impl<'o> FromIterator<(&'o Identity, i16)> for Services {
    fn from_iter<I: IntoIterator<Item = (&'o Identity, i16)>>(objects: I) -> Self {
        let services = objects.into_iter().filter(|(identity, _)| identity.kind == GroupKind::new("", "Service"));
        let named = services
            .filter_map(|(Identity { namespace, name, .. }, order)| Some((order, (namespace.clone()?, name.clone()))));
        Self(named.collect())
    }
}

/// The services that the webhooks of an object call; none for an object without webhooks.
#[must_use]
pub fn called_by(kind: &GroupKind, object: &Value) -> BTreeSet<ServiceName> {
    let configurations = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    if kind.group != "admissionregistration.k8s.io" || !configurations.contains(&kind.kind.as_str()) {
        return BTreeSet::new();
    }
    let webhooks = object.get("webhooks").and_then(Value::as_array).into_iter().flatten();
    let services = webhooks.filter_map(|webhook| {
        let service = webhook.pointer("/clientConfig/service")?;
        let text = |key: &str| Some(service.get(key)?.as_str()?.to_owned());
        Some((text("namespace")?, text("name")?))
    });
    services.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhook_is_served_by_a_service_of_its_own_wave() {
        let service =
            Identity { kind: GroupKind::new("", "Service"), namespace: Some("a".to_owned()), name: "hooks".to_owned() };
        let map = Identity { kind: GroupKind::new("", "ConfigMap"), ..service.clone() };
        let services: Services = [(&service, 1), (&map, 0)].into_iter().collect();
        let kind = GroupKind::new("admissionregistration.k8s.io", "ValidatingWebhookConfiguration");
        let calling = |client: Value| called_by(&kind, &json!({ "webhooks": [{}, { "clientConfig": client }] }));
        let own = calling(json!({ "service": { "namespace": "a", "name": "hooks" } }));
        assert!(services.serve(1, &own) && !services.serve(0, &own));
        for client in [
            json!({ "url": "https://a" }),
            json!({ "service": { "namespace": "b", "name": "hooks" } }),
            json!({ "service": { "namespace": "a", "name": "other" } }),
        ] {
            assert!(!services.serve(1, &calling(client.clone())), "{client}");
        }
        assert!(called_by(&map.kind, &json!({ "webhooks": [] })).is_empty());
    }
}
