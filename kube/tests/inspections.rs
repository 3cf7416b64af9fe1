//! Tests of the guard before a deletion, with a real API server.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lifecycle_bundle::applyset::PART_OF;
use lifecycle_bundle::guard::{Guard, Members};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Settings, connect};
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{PropagationPolicy, WriteError, WriteErrorKind};
use serde_json::{Value, json};

const SET: &str = "applyset-mine-v1";

async fn cluster(kubeconfig: &Path) -> Result<Cluster> {
    let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
    Ok(Cluster::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, "test", settings))
}

/// The set, of which these objects are the members.
fn members(of: &[&Value]) -> Members {
    Members {
        labels: [(PART_OF.to_owned(), SET.to_owned())].into(),
        uids: of.iter().map(|object| Fence::of(object).uid().to_owned()).collect(),
    }
}

/// The first object of others.
async fn inspect(
    cluster: &Cluster,
    inspection: &Inspection,
    members: &Members,
) -> Result<Option<Identity>, WriteError> {
    let guard = Mutex::new(Guard::new(inspection, members));
    let found = cluster
        .search(inspection, |object| guard.lock().unwrap_or_else(PoisonError::into_inner).look_at(object))
        .await?;
    Ok(found.or_else(|| guard.into_inner().unwrap_or_else(PoisonError::into_inner).finish()))
}

fn instances(pattern: &str) -> Result<Inspection> {
    Ok(Inspection::Instances(pattern.parse()?))
}

/// A test namespace, and a client that may do anything.
struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    cluster: Cluster,
}

impl World {
    async fn of(control_plane: ControlPlane) -> Result<Self> {
        let namespace = control_plane.namespace().await?;
        let cluster = cluster(control_plane.kubeconfig_path()).await?;
        Ok(Self { control_plane, namespace, cluster })
    }

    fn object(&self, api_version: &str, kind: &str, name: &str, set: Option<&str>) -> Value {
        let mut metadata = json!({ "name": name, "namespace": self.namespace.name() });
        if let Some(set) = set {
            metadata["labels"] = json!({ PART_OF: set });
        }
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    }

    /// Installs the kind `Widget`, and creates its first object.
    async fn install(&self, group: &str, first: &Value) -> Result<(Value, Value)> {
        let definition = self.cluster.create(&widgets(group)).await?;
        let first = await_condition("the kind to be served", PATIENCE, async || Ok(self.cluster.create(first).await?));
        Ok((definition, first.await?))
    }

    async fn delete(&self, object: &Value) -> Result<()> {
        let fence = Fence::new(Fence::of(object).uid(), "");
        self.cluster.delete(&ObjectRef::of(object), fence, PropagationPolicy::Background).await?;
        Ok(())
    }

    fn whole_namespace(&self) -> Inspection {
        Inspection::Namespace(self.namespace.name().to_owned())
    }

    /// Inspects the namespace until all kinds can be read: other tests install and remove kinds at the same time.
    async fn in_namespace(&self, members: &Members) -> Result<Option<Identity>> {
        let whole = self.whole_namespace();
        await_condition("every kind to be readable", PATIENCE, async || {
            Ok(inspect(&self.cluster, &whole, members).await?)
        })
        .await
    }
}

fn words(found: Option<Identity>) -> Option<String> {
    found.map(|identity| identity.to_string())
}

#[tokio::test]
async fn instance_of_others_is_found_in_any_namespace() -> Result<()> {
    let world = World::of(ControlPlane::shared().await?).await?;
    let label = unique("group");
    let group = format!("{label}.example.com");
    let api_version = format!("{group}/v1");
    let patterns =
        [format!("{group}/Widget"), format!("{group}/*"), format!("*.{group}/Widget"), format!("{group}/Gadget")];
    let member = world.object(&api_version, "Widget", "member", Some(SET));
    let (definition, member) = world.install(&group, &member).await?;
    let members = members(&[&member]);
    for pattern in &patterns {
        // The pattern `*.SUFFIX` has every group discovered.
        let types = instances(pattern)?;
        let found =
            await_condition("an answer", PATIENCE, async || Ok(inspect(&world.cluster, &types, &members).await?));
        assert_eq!(found.await?, None, "{pattern}: there is only a member");
    }

    let others = [("another-set", Some("applyset-other-v1")), ("of-nobody", None), ("a-copy", Some(SET))];
    for (name, set) in others {
        let foreign = world.cluster.create(&world.object(&api_version, "Widget", name, set)).await?;
        let expected = format!("Widget.{group} {}/{name}", world.namespace.name());
        for (pattern, is_found) in patterns.iter().zip([true, true, false, false]) {
            let types = instances(pattern)?;
            let found =
                await_condition("an answer", PATIENCE, async || Ok(inspect(&world.cluster, &types, &members).await?));
            assert_eq!(words(found.await?), is_found.then(|| expected.clone()), "{pattern}");
        }
        world.delete(&foreign).await?;
    }
    world.delete(&member).await?;
    world.delete(&definition).await
}

#[tokio::test]
async fn absent_group_has_no_instances() -> Result<()> {
    let world = World::of(ControlPlane::shared().await?).await?;
    assert_eq!(inspect(&world.cluster, &instances("nowhere.example.com/*")?, &Members::default()).await?, None);
    Ok(())
}

#[tokio::test]
async fn namespace_with_kubernetes_own_objects_is_empty() -> Result<()> {
    let world = World::of(ControlPlane::shared().await?).await?;
    let mut own = vec![
        world.object("v1", "ConfigMap", "kube-root-ca.crt", None),
        world.object("v1", "ServiceAccount", "default", None),
        world.object("v1", "Endpoints", "web", None),
        world.object("coordination.k8s.io/v1", "Lease", "lock", None),
    ];
    let mut slice = world.object("discovery.k8s.io/v1", "EndpointSlice", "web", None);
    (slice["addressType"], slice["endpoints"]) = (json!("IPv4"), json!([]));
    let mut event = world.object("v1", "Event", "happened", None);
    event["involvedObject"] = json!({ "namespace": world.namespace.name() });
    own.extend([slice, event]);
    for object in &own {
        match world.cluster.create(object).await {
            Err(error) if error.kind != WriteErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    let members = members(&[&world.cluster.create(&world.object("v1", "ConfigMap", "member", Some(SET))).await?]);
    assert_eq!(world.in_namespace(&members).await?, None);

    for (name, set) in [("z-of-nobody", None), ("z-a-copy", Some(SET))] {
        let foreign = world.cluster.create(&world.object("v1", "ConfigMap", name, set)).await?;
        let expected = format!("ConfigMap {}/{name}", world.namespace.name());
        assert_eq!(words(world.in_namespace(&members).await?), Some(expected), "it comes after kube-root-ca.crt");
        world.delete(&foreign).await?;
        assert_eq!(world.in_namespace(&members).await?, None);
    }

    let group = format!("{}.example.com", unique("group"));
    let widget = world.object(&format!("{group}/v1"), "Widget", "one", None);
    let (definition, widget) = world.install(&group, &widget).await?;
    let expected = format!("Widget.{group} {}/one", world.namespace.name());
    assert_eq!(words(world.in_namespace(&members).await?), Some(expected));
    world.delete(&widget).await?;
    world.delete(&definition).await
}

#[tokio::test]
async fn broken_api_service_fails_every_inspection_that_it_could_hide_objects_from() -> Result<()> {
    let world = World::of(ControlPlane::apart().await?).await?;
    let domain = format!("{}.example.com", unique("group"));
    let group = format!("broken.{domain}");
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": format!("v1.{group}") },
        "spec": {
            "group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": { "namespace": world.namespace.name(), "name": "nobody" },
        },
    });
    let service = world.cluster.create(&service).await?;
    await_condition("the group to be unreadable", PATIENCE, async || {
        let discovery = world.cluster.discover_group(&group).await?;
        ensure!(!discovery.unread.is_empty(), "{discovery:?}");
        Ok(())
    })
    .await?;
    let cases = [
        (instances(&format!("{group}/*"))?, true),
        (instances(&format!("{group}/Widget"))?, true),
        (instances(&format!("*.{domain}/Widget"))?, true),
        (instances("*/*")?, true),
        (world.whole_namespace(), true),
        (instances(&format!("{domain}/Widget"))?, false),
        (instances("*.other.example.com/*")?, false),
    ];
    for (inspection, fails) in cases {
        let name = format!("{inspection:?}");
        match inspect(&world.cluster, &inspection, &Members::default()).await {
            Err(error) => {
                assert!(fails, "{name}: {error}");
                assert_eq!(error.kind, WriteErrorKind::Unavailable, "{name}: {error}");
                let cure = "repair the API server that serves this group, or delete its APIService";
                assert!(error.message.contains(&group) && error.message.contains(cure), "{name}: {error}");
            }
            Ok(found) => assert!(!fails && found.is_none(), "{name}: {found:?}"),
        }
    }
    world.delete(&service).await
}

#[tokio::test]
async fn refused_list_fails_and_vanished_kind_is_empty() -> Result<()> {
    let world = World::of(ControlPlane::shared().await?).await?;
    let group = format!("{}.example.com", unique("group"));
    let member = world.object(&format!("{group}/v1"), "Widget", "member", Some(SET));
    let (definition, member) = world.install(&group, &member).await?;
    let proxy = world.control_plane.proxy().await?;
    let through = cluster(&proxy.access()?.kubeconfig).await?;
    let (types, members) = (instances(&format!("{group}/Widget"))?, members(&[&member]));
    let list = || When::method("GET").path(format!("/apis/{group}/v1/widgets"));
    for (status, expected) in [
        (403, WriteErrorKind::Forbidden),
        (410, WriteErrorKind::Expired),
        (429, WriteErrorKind::TooManyRequests),
        (500, WriteErrorKind::Unavailable),
        (404, WriteErrorKind::NotFound),
    ] {
        proxy.inject(list(), Fault::Status(status));
        let error = inspect(&through, &types, &members).await.err().context("it passed")?;
        assert_eq!(error.kind, expected, "{status}, while the kind is still served: {error}");
        proxy.heal();
    }
    assert_eq!(inspect(&through, &types, &members).await?, None);

    // The kind is discovered once, and gone for every later request.
    proxy.inject(list(), Fault::Status(404));
    proxy.inject(When::method("GET").path(format!("/apis/{group}")).nth(2), Fault::Status(404));
    assert_eq!(inspect(&through, &types, &members).await?, None);

    let reader = world.namespace.user(&[]).await?;
    let error = inspect(&cluster(&reader.kubeconfig).await?, &types, &members).await.err().context("it passed")?;
    assert_eq!(error.kind, WriteErrorKind::Forbidden, "{error}");
    assert!(error.message.ends_with(&format!("; allow to list widgets of API group `{group}`")), "{error}");
    world.delete(&member).await?;
    world.delete(&definition).await
}
