//! Puts the printed policy into force, and shows what goes on as before.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use hyperfleet_sweeper::rights::admission;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Value, json};

use super::labels::{ensure_refused, passed};
use super::{Server, account};

/// An account that the policy lists.
pub(super) const ADAPTER: &str = "system:serviceaccount:fleet:adapter";

/// A user with every right, whom the policy does not list.
pub(super) const PERSON: &str = "person";

/// Applies the printed policy, and waits until the API server enforces it.
pub(super) async fn enforce(server: &Server) -> Result<()> {
    server.apply(&admission::manifests(&[account("fleet/sweeper")?, account("fleet/adapter")?])).await?;
    let labels = json!({ "hyperfleet.io/adapter": "a" });
    let probe = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "probe", "labels": labels } });
    await_condition("the policy to take effect", PATIENCE, async || {
        let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
        ensure_refused(server.send(PERSON, Method::POST, path, &probe).await)
    })
    .await
}

/// The labels of an object that an adapter stamped.
fn stamped() -> Value {
    json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "1", "hyperfleet.io/resource": "r" })
}

impl Server {
    async fn await_gone(&self, path: &str) -> Result<()> {
        await_condition(&format!("{path} to be gone"), PATIENCE, async || {
            match self.send("", Method::GET, path, &Value::Null).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                answer => anyhow::bail!("{:?}", answer?["metadata"]),
            }
        })
        .await
    }
}

#[tokio::test]
async fn listed_accounts_and_kubernetes_alone_set_the_labels() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let cases = [
        ("system:serviceaccount:fleet:adapter", true),
        ("system:serviceaccount:fleet:sweeper", true),
        ("system:serviceaccount:kube-system:endpoint-controller", true),
        ("system:kube-controller-manager", true),
        ("system:apiserver", true),
        ("system:serviceaccount:fleet:another", false),
        ("system:serviceaccount:other:adapter", false),
        ("system:serviceaccount:kube-system-2:endpoint-controller", false),
        ("system:kube-scheduler", false),
        ("system:node:a", false),
        ("fleet/adapter", false),
        // The administrator of the tests.
        ("", false),
    ];
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "map", "labels": stamped() } });
    for (user, may) in cases {
        let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
        let answer = passed(server.send(user, Method::POST, path, &map).await).with_context(|| user.to_owned())?;
        assert_eq!(answer.is_some(), may, "{user}");
    }
    Ok(())
}

#[tokio::test]
async fn controllers_copy_the_labels_of_a_service() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let namespace = server.control_plane.namespace().await?;
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "labels": stamped() },
                          "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] } });
    let here = namespace.name();
    server.send(ADAPTER, Method::POST, &format!("/api/v1/namespaces/{here}/services"), &service).await?;

    let endpoints = format!("/api/v1/namespaces/{here}/endpoints/web");
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{here}/endpointslices");
    await_condition("the Endpoints and the EndpointSlice of the Service", PATIENCE, async || {
        let endpoints = server.send("", Method::GET, &endpoints, &Value::Null).await?;
        ensure!(endpoints["metadata"]["labels"]["hyperfleet.io/adapter"] == "a", "{endpoints}");
        let slices = server.send("", Method::GET, &slices, &Value::Null).await?;
        ensure!(slices["items"][0]["metadata"]["labels"]["hyperfleet.io/adapter"] == "a", "{slices}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn controllers_and_people_delete_stamped_objects() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let name = unique("stamped");
    let space = format!("/api/v1/namespaces/{name}");
    let manifest =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": stamped() } });
    server.send(ADAPTER, Method::POST, "/api/v1/namespaces", &manifest).await?;
    let maps = format!("{space}/configmaps");
    let create = async |name: &str, owner: Option<&Value>| {
        let owners = owner.map(|owner| {
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
                     "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true }])
        });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
                          "metadata": { "name": name, "labels": stamped(), "ownerReferences": owners } });
        server.send(ADAPTER, Method::POST, &maps, &map).await
    };
    let delete = async |name: &str, policy: &str| {
        let path = format!("{maps}/{name}");
        server.send(PERSON, Method::DELETE, &path, &json!({ "propagationPolicy": policy })).await?;
        server.await_gone(&path).await
    };

    let owner = create("in-foreground", None).await?;
    create("dependent", Some(&owner)).await?;
    delete("in-foreground", "Foreground").await.context("the garbage collector removes its finalizer")?;
    server.await_gone(&format!("{maps}/dependent")).await?;

    let owner = create("without-dependents", None).await?;
    create("kept", Some(&owner)).await?;
    delete("without-dependents", "Orphan").await?;
    let kept = server.send(PERSON, Method::GET, &format!("{maps}/kept"), &Value::Null).await?;
    assert_eq!(kept["metadata"].get("ownerReferences"), None, "the garbage collector removes the owner reference");

    server.send(PERSON, Method::DELETE, &space, &Value::Null).await?;
    server.await_gone(&space).await
}

#[tokio::test]
async fn requests_without_labels_pass_the_policy() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let namespace = server.control_plane.namespace().await?;
    let here = format!("/api/v1/namespaces/{}", namespace.name());
    let apps = format!("/apis/apps/v1/namespaces/{}/deployments", namespace.name());
    let containers = json!({ "containers": [{ "name": "main", "image": "none" }] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "pod", "labels": stamped() },
                      "spec": containers });
    server.send(ADAPTER, Method::POST, &format!("{here}/pods"), &pod).await?;
    let template = json!({ "metadata": { "labels": { "app": "x" } }, "spec": containers });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "labels": stamped() },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "x" } }, "template": template },
    });
    server.send(ADAPTER, Method::POST, &apps, &deployment).await?;

    let review = json!({ "resourceAttributes": { "verb": "get", "resource": "pods" } });
    let requests = [
        (
            "a review of one's own rights",
            Method::POST,
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
            json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": review }),
        ),
        (
            "a review of a token",
            Method::POST,
            "/apis/authentication.k8s.io/v1/tokenreviews".to_owned(),
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": "x" } }),
        ),
        (
            "a token of a service account",
            Method::POST,
            format!("{here}/serviceaccounts/default/token"),
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "audiences": ["x"] } }),
        ),
        (
            "the scale of a stamped Deployment",
            Method::PATCH,
            format!("{apps}/web/scale"),
            json!({ "spec": { "replicas": 1 } }),
        ),
        (
            "the spec of a stamped Deployment",
            Method::PATCH,
            format!("{apps}/web"),
            json!({ "spec": { "paused": true } }),
        ),
        (
            "the status of a stamped Pod",
            Method::PATCH,
            format!("{here}/pods/pod/status"),
            json!({ "status": { "message": "x" } }),
        ),
        (
            "the binding of a stamped Pod",
            Method::POST,
            format!("{here}/pods/pod/binding"),
            json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "pod" },
                    "target": { "apiVersion": "v1", "kind": "Node", "name": "nowhere" } }),
        ),
        (
            "the eviction of a stamped Pod",
            Method::POST,
            format!("{here}/pods/pod/eviction"),
            json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "pod" } }),
        ),
        (
            "an Event",
            Method::POST,
            format!("{here}/events"),
            json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "generateName": "e-" },
                    "involvedObject": { "kind": "Pod", "namespace": namespace.name(), "name": "pod" } }),
        ),
    ];
    await_condition("the default service account", PATIENCE, async || {
        Ok(server.send("", Method::GET, &format!("{here}/serviceaccounts/default"), &Value::Null).await?)
    })
    .await?;
    for (case, method, path, body) in requests {
        server.send(PERSON, method, &path, &body).await.with_context(|| format!("{case} is refused"))?;
    }
    Ok(())
}
