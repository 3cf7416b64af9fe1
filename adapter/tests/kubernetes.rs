//! The Kubernetes transport and the executor against a real API server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hyperfleet_adapter::executor::execute;
use hyperfleet_adapter::transport::kubernetes::{KubernetesTransport, Settings, connect};
use hyperfleet_adapter::transport::{Deletion, Transport};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Patch, PatchParams, PostParams};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::observation::{Query, QueryBy};
use lifecycle_core::task::PropagationPolicy::{Background, Foreground};
use lifecycle_core::write::{Command, Executed, Target, WriteError, WriteErrorKind};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Value, json};
use tokio::time::Instant;

const ADAPTER: &str = "team-adapter";

async fn transport(kubeconfig: &Path, settings: Settings) -> Result<KubernetesTransport> {
    lifecycle_e2e::init();
    Ok(KubernetesTransport::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, ADAPTER, settings))
}

/// A control plane, a namespace of its own, and the transport under test.
struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    transport: KubernetesTransport,
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let transport = transport(control_plane.kubeconfig_path(), Settings::default()).await?;
        Ok(Self { control_plane, namespace, transport })
    }

    fn object(&self, api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let mut object = json!({ "apiVersion": api_version, "kind": kind,
                                 "metadata": { "name": name, "namespace": self.namespace.name() } });
        if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
            object.extend(rest);
        }
        object
    }

    fn map(&self, name: &str, data: Value) -> Value {
        self.object("v1", "ConfigMap", name, json!({ "data": data }))
    }

    fn named(&self, name: &str) -> Query {
        self.query("v1", "ConfigMap", QueryBy::Name(name.to_owned()))
    }

    fn query(&self, api_version: &str, kind: &str, by: QueryBy) -> Query {
        let namespace = Some(self.namespace.name().to_owned());
        Query { kind: GroupVersionKind::new(api_version, kind), namespace, by }
    }

    async fn read(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.transport.find(&self.named(name)).await?.pop())
    }

    async fn execute(&self, command: Command) -> Executed {
        execute(&self.transport, command, Instant::now() + PATIENCE).await
    }

    /// Writes as somebody else.
    async fn patch_as(&self, manager: &str, name: &str, patch: Value) -> Result<()> {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.namespace.api::<ConfigMap>().await?.patch(name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn target(object: &Value) -> Target {
    Target {
        kind: GroupVersionKind::new(text(object, "/apiVersion"), text(object, "/kind")),
        namespace: object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned),
        name: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        resource_version: text(object, "/metadata/resourceVersion").to_owned(),
    }
}

fn namesake(object: &Value) -> Target {
    Target { uid: "00000000-0000-4000-8000-000000000000".to_owned(), ..target(object) }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, WriteError>) -> Result<(WriteErrorKind, Option<u16>)> {
    let error = answer.err().context("the call should have been refused")?;
    Ok((error.kind, error.status))
}

fn managed_fields(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields")
}

#[tokio::test]
async fn a_fence_is_a_conflict_whichever_way_the_server_words_it() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("fenced", json!({ "a": "1" }));
    let live = world.transport.create(&desired).await?;

    let other = world.transport.update(&desired, &namesake(&live), None).await;
    assert_eq!(refusal(other)?, (WriteErrorKind::Conflict, Some(422)), "an apply onto a namesake");
    let other = world.transport.delete(&namesake(&live), Background).await;
    assert_eq!(refusal(other)?, (WriteErrorKind::Conflict, Some(409)), "a delete of a namesake");
    assert_eq!(world.read("fenced").await?.as_ref(), Some(&live), "nothing was touched");

    assert_eq!(world.transport.delete(&target(&live), Background).await?, Deletion::Gone);
    assert_eq!(world.transport.delete(&target(&live), Background).await?, Deletion::Gone, "it is gone already");
    let vanished = world.transport.update(&desired, &target(&live), None).await;
    assert_eq!(refusal(vanished)?, (WriteErrorKind::Conflict, Some(409)), "an apply onto a vanished object");
    assert_eq!(world.read("fenced").await?, None, "it was not resurrected");
    Ok(())
}

#[tokio::test]
async fn a_rehearsal_judges_the_object_before_its_name_and_writes_nothing() -> Result<()> {
    let world = World::new().await?;
    let valid = world.map("rehearsed", json!({ "a": "1" }));
    let invalid = world.map("rehearsed", json!({ "no key": "1" }));

    world.transport.rehearse_create(&valid).await?;
    assert_eq!(world.read("rehearsed").await?, None);
    world.transport.create(&valid).await?;
    let taken = world.transport.rehearse_create(&valid).await;
    assert_eq!(refusal(taken)?, (WriteErrorKind::AlreadyExists, Some(409)));
    let refused = world.transport.rehearse_create(&invalid).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::Invalid, Some(422)));
    Ok(())
}

#[tokio::test]
async fn a_field_that_the_manifest_drops_goes_once_the_creation_is_taken_over() -> Result<()> {
    let world = World::new().await?;
    let live = world.transport.create(&world.map("dropped", json!({ "a": "1", "b": "1" }))).await?;

    let without_b = world.map("dropped", json!({ "a": "1" }));
    let kept = world.transport.update(&without_b, &target(&live), None).await?;
    assert_eq!(kept["data"], json!({ "a": "1", "b": "1" }), "our own creation still claims the field");

    let updated = world.transport.update(&without_b, &target(&kept), managed_fields(&kept)).await?;
    assert_eq!(updated["data"], json!({ "a": "1" }));
    let writers: Vec<(&str, &str)> = managed_fields(&updated)
        .and_then(Value::as_array)
        .context("managedFields")?
        .iter()
        .map(|entry| (text(entry, "/manager"), text(entry, "/operation")))
        .collect();
    assert_eq!(writers, [(ADAPTER, "Apply")]);

    let again = world.transport.update(&without_b, &target(&updated), managed_fields(&updated)).await?;
    assert_eq!(again, updated, "again changes nothing, not even the resourceVersion");
    Ok(())
}

#[tokio::test]
async fn fields_of_the_go_adapter_are_ours_and_fields_of_others_stay_theirs() -> Result<()> {
    let world = World::new().await?;
    let maps = world.namespace.api::<ConfigMap>().await?;
    // The Go adapter's client sends no fieldManager: the server takes the first part of its User-Agent.
    let written: ConfigMap = serde_json::from_value(world.map("shared", json!({ "ours": "1", "old": "1" })))?;
    let params = PostParams { field_manager: Some("adapter".to_owned()), ..PostParams::default() };
    maps.create(&params, &written).await?;
    let foreign = json!({ "metadata": { "labels": { "team": "x" }, "finalizers": ["example.com/hold"] },
                          "data": { "foreign": "1", "ours": "foreign" } });
    world.patch_as("person", "shared", foreign).await?;

    let live = world.read("shared").await?.context("the object")?;
    let desired = world.map("shared", json!({ "ours": "2" }));
    let updated = world.transport.update(&desired, &target(&live), managed_fields(&live)).await?;
    assert_eq!(updated["data"], json!({ "ours": "2", "foreign": "1" }));
    assert_eq!(updated["metadata"]["labels"], json!({ "team": "x" }));
    assert_eq!(updated["metadata"]["finalizers"], json!(["example.com/hold"]));

    world.patch_as("person", "shared", json!({ "metadata": { "finalizers": null } })).await
}

#[tokio::test]
async fn an_object_that_changed_hands_meanwhile_is_not_taken_over() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("raced", json!({ "a": "1" }));
    let live = world.transport.create(&desired).await?;
    world.patch_as("person", "raced", json!({ "data": { "b": "1" } })).await?;

    let late = world.transport.update(&desired, &target(&live), managed_fields(&live)).await;
    assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(422)));
    let now = world.read("raced").await?.context("the object")?;
    let other = world.transport.update(&desired, &namesake(&now), managed_fields(&now)).await;
    assert_eq!(refusal(other)?.0, WriteErrorKind::Conflict, "a namesake's fields are not taken over");
    assert_eq!(world.read("raced").await?.as_ref(), Some(&now));
    world.transport.update(&desired, &target(&now), managed_fields(&now)).await?;
    Ok(())
}

#[tokio::test]
async fn an_update_that_another_write_came_before_is_a_conflict() -> Result<()> {
    let world = World::new().await?;
    let live = world.transport.create(&world.map("late", json!({ "a": "1" }))).await?;
    let looked_at = target(&live);
    world.transport.update(&world.map("late", json!({ "a": "2" })), &looked_at, None).await?;
    let late = world.transport.update(&world.map("late", json!({ "a": "3" })), &looked_at, None).await;
    assert_eq!(refusal(late)?, (WriteErrorKind::Conflict, Some(409)));
    let live = world.read("late").await?.context("the object")?;
    assert_eq!(live["data"], json!({ "a": "2" }));
    Ok(())
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_pending_and_its_recreation_waits() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map("held", json!({ "a": "1" }));
    let mut held = desired.clone();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let live = world.transport.create(&held).await?;
    let recreate = || Command::Recreate { desired: desired.clone(), targets: vec![target(&live)] };

    let Executed::Deleting(remaining) = world.execute(recreate()).await else { anyhow::bail!("it has a finalizer") };
    assert_eq!(text(&remaining[0], "/metadata/uid"), text(&live, "/metadata/uid"));
    assert_ne!(text(&remaining[0], "/metadata/deletionTimestamp"), "");
    let create = world.execute(Command::Create { desired: desired.clone() }).await;
    ensure!(
        matches!(&create, Executed::NameTaken(Some(holder)) if target(holder).uid == target(&live).uid),
        "{create:?}"
    );

    world.patch_as("person", "held", json!({ "metadata": { "finalizers": null } })).await?;
    let Executed::Recreated(new) = world.execute(recreate()).await else { anyhow::bail!("nothing holds it any more") };
    assert_ne!(text(&new, "/metadata/uid"), text(&live, "/metadata/uid"));
    Ok(())
}

#[tokio::test]
async fn a_recreation_that_the_server_would_refuse_deletes_nothing() -> Result<()> {
    let world = World::new().await?;
    let live = world.transport.create(&world.map("kept", json!({ "a": "1" }))).await?;
    let desired = world.map("kept", json!({ "no key": "1" }));
    let executed = world.execute(Command::Recreate { desired, targets: vec![target(&live)] }).await;
    ensure!(matches!(&executed, Executed::Failed(error) if error.kind == WriteErrorKind::Invalid), "{executed:?}");
    assert_eq!(world.read("kept").await?, Some(live));
    Ok(())
}

#[tokio::test]
async fn some_kinds_answer_a_delete_with_the_object_and_some_deletes_wait_for_dependents() -> Result<()> {
    let world = World::new().await?;
    let account = world.transport.create(&world.object("v1", "ServiceAccount", "short", json!({}))).await?;
    assert_eq!(world.transport.delete(&target(&account), Background).await?, Deletion::Gone);

    let owner = world.transport.create(&world.map("owner", json!({}))).await?;
    let mut dependent = world.map("dependent", json!({}));
    let reference = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": target(&owner).uid });
    dependent["metadata"]["ownerReferences"] = json!([reference]);
    world.transport.create(&dependent).await?;
    let deletion = world.transport.delete(&target(&owner), Foreground).await?;
    ensure!(matches!(deletion, Deletion::Pending(_)), "{deletion:?}");
    await_condition("owner and dependent to go", PATIENCE, async || {
        ensure!(world.read("owner").await?.is_none(), "the owner is there");
        ensure!(world.read("dependent").await?.is_none(), "the dependent is there");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_custom_kind_works_once_it_is_installed_and_is_no_absence_when_it_is_not() -> Result<()> {
    let world = World::new().await?;
    let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
    let transport = transport(world.control_plane.kubeconfig_path(), settings).await?;
    let group = format!("{}.example.com", unique("group"));
    let api_version = format!("{group}/v1");
    let by_name = world.query(&api_version, "Widget", QueryBy::Name("one".to_owned()));
    assert_eq!(refusal(transport.find(&by_name).await)?.0, WriteErrorKind::NotFound);

    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": open } }],
        },
    });
    let definition = transport.create(&definition).await?;
    let found =
        await_condition("the kind to be served", PATIENCE, async || Ok(transport.find(&by_name).await?)).await?;
    assert_eq!(found, Vec::<Value>::new());

    let desired = |size: u32| world.object(&api_version, "Widget", "one", json!({ "spec": { "size": size } }));
    let live = transport.create(&desired(1)).await?;
    let updated = transport.update(&desired(2), &target(&live), managed_fields(&live)).await?;
    assert_eq!(updated["spec"]["size"], 2);
    assert_eq!(transport.find(&by_name).await?, [updated]);
    assert_eq!(transport.delete(&target(&live), Background).await?, Deletion::Gone);
    assert_eq!(transport.find(&by_name).await?, Vec::<Value>::new());

    transport.delete(&target(&definition), Background).await?;
    await_condition("the kind to be gone", PATIENCE, async || {
        let error = transport.find(&by_name).await.err().context("it is still served")?;
        ensure!(error.kind == WriteErrorKind::NotFound, "{error}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_selector_finds_every_match_page_by_page() -> Result<()> {
    let world = World::new().await?;
    let elsewhere = world.control_plane.namespace().await?;
    let proxy = world.control_plane.proxy().await?;
    let settings = Settings { page_size: 2, ..Settings::default() };
    let transport = transport(&proxy.access()?.kubeconfig, settings).await?;
    let labels = BTreeMap::from([("test".to_owned(), unique("label")), ("tier".to_owned(), "1".to_owned())]);
    for index in 0..5 {
        let mut object = world.map(&format!("map-{index}"), json!({}));
        object["metadata"]["labels"] = json!(labels);
        transport.create(&object).await?;
        object["metadata"]["namespace"] = json!(elsewhere.name());
        transport.create(&object).await?;
    }
    transport.create(&world.map("other", json!({}))).await?;

    let query = world.query("v1", "ConfigMap", QueryBy::Labels(labels));
    let found = transport.find(&query).await?;
    let names: Vec<&str> = found.iter().map(|object| text(object, "/metadata/name")).collect();
    assert_eq!(names, ["map-0", "map-1", "map-2", "map-3", "map-4"]);
    assert_eq!((text(&found[0], "/apiVersion"), text(&found[0], "/kind")), ("v1", "ConfigMap"));
    assert_eq!(proxy.count(&When::method("GET").path_ends("/configmaps")), 3);

    let everywhere = transport.find(&Query { namespace: None, ..query }).await?;
    assert_eq!(everywhere.len(), 10);
    Ok(())
}

#[tokio::test]
async fn a_write_that_the_network_loses_is_sent_once_and_explained_by_the_next() -> Result<()> {
    let world = World::new().await?;
    for (fault, exists) in [(Fault::ResetBefore, false), (Fault::ResetAfter, true)] {
        let proxy = world.control_plane.proxy().await?;
        let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
        let name = unique("lost");
        // The read leaves a kept connection behind, which the write then takes.
        transport.find(&world.named(&name)).await?;
        proxy.inject(When::method("POST").first(1), fault.clone());

        let create = || Command::Create { desired: world.map(&name, json!({})) };
        let executed = execute(&transport, create(), Instant::now() + PATIENCE).await;
        let Executed::Failed(error) = executed else { anyhow::bail!("{fault:?}: {executed:?}") };
        assert_eq!(error.kind, WriteErrorKind::Unreachable, "{fault:?}: {error}");
        assert_eq!(proxy.count(&When::method("POST")), 1, "{fault:?}");

        let next = execute(&transport, create(), Instant::now() + PATIENCE).await;
        ensure!(matches!(&next, Executed::NameTaken(Some(_))) == exists, "{fault:?}: {next:?}");
        ensure!(matches!(&next, Executed::Created(_)) != exists, "{fault:?}: {next:?}");
    }
    Ok(())
}

#[tokio::test]
async fn refusals_of_a_busy_server_are_passed_on_at_once() -> Result<()> {
    let world = World::new().await?;
    let live = world.transport.create(&world.map("busy", json!({}))).await?;
    let cases = [
        (Fault::TooManyRequests { retry_after: 1 }, WriteErrorKind::TooManyRequests, 429),
        (Fault::Status(409), WriteErrorKind::Conflict, 409),
        (Fault::Status(500), WriteErrorKind::Unavailable, 500),
        (Fault::Status(503), WriteErrorKind::Unavailable, 503),
        (Fault::Status(504), WriteErrorKind::Unavailable, 504),
    ];
    for (fault, kind, status) in cases {
        let proxy = world.control_plane.proxy().await?;
        let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
        proxy.inject(When::method("DELETE"), fault.clone());
        let refused = transport.delete(&target(&live), Background).await;
        assert_eq!(refusal(refused)?, (kind, Some(status)), "{fault:?}");
        assert_eq!(proxy.count(&When::method("DELETE")), 1, "{fault:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_deadline_ends_a_call_that_is_not_answered() -> Result<()> {
    let world = World::new().await?;
    let proxy = world.control_plane.proxy().await?;
    let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
    transport.find(&world.named("any")).await?;
    proxy.inject(When::method("POST"), Fault::Silence);
    let command = Command::Create { desired: world.map("silent", json!({})) };
    let executed = execute(&transport, command, Instant::now() + Duration::from_millis(200)).await;
    let Executed::Failed(error) = executed else { anyhow::bail!("{executed:?}") };
    assert_eq!(error.kind, WriteErrorKind::DeadlineExceeded);
    Ok(())
}

#[tokio::test]
async fn what_is_not_allowed_and_what_has_no_place_is_told_apart() -> Result<()> {
    let world = World::new().await?;
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let reader = world.namespace.user(&[rule]).await?;
    let transport = transport(&reader.kubeconfig, Settings::default()).await?;
    assert_eq!(transport.find(&world.named("none")).await?, Vec::<Value>::new());
    let refused = transport.create(&world.map("none", json!({}))).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::Forbidden, Some(403)));

    let mut homeless = world.map("none", json!({}));
    homeless["metadata"]["namespace"] = json!(unique("missing"));
    let refused = world.transport.create(&homeless).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::NotFound, Some(404)));

    let cluster_scoped = world.query("v1", "Namespace", QueryBy::Name(world.namespace.name().to_owned()));
    assert_eq!(world.transport.find(&cluster_scoped).await?.len(), 1, "its namespace is ignored");
    Ok(())
}
