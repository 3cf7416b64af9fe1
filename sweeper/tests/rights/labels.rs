//! Who may set, change and remove the labels, by every request that writes an object.

use anyhow::{Context as _, Result, bail, ensure};
use http::Method;
use lifecycle_e2e::kube::{TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use serde_json::{Map, Value, json};

use super::Server;
use super::policy::{ADAPTER, PERSON, enforce};

/// A request that changes the labels of an object.
#[derive(Debug, Clone, Copy)]
enum Route {
    Update,
    MergePatch,
    JsonPatch,
    Apply,
}

const ROUTES: [Route; 4] = [Route::Update, Route::MergePatch, Route::JsonPatch, Route::Apply];

/// Applies with one field manager for everybody, so that an apply without a label removes it.
const APPLY: &str = "?fieldManager=test&force=true";

/// Whether the policy let a request pass; any other failure is an error.
pub(super) fn passed(answer: Result<Value, kube::Error>) -> Result<Option<Value>> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            ensure!(status.message.contains("only the adapters and the sweeper of HyperFleet"), "{}", status.message);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn labels(object: &Value) -> Value {
    object["metadata"].get("labels").cloned().unwrap_or_else(|| json!({}))
}

/// A kind whose objects the cases write.
struct Kind {
    api_version: String,
    kind: &'static str,
    /// The URL path of the objects in the test's namespace.
    collection: String,
}

impl Kind {
    fn object(&self, name: &str, labels: &Value) -> Value {
        json!({ "apiVersion": self.api_version, "kind": self.kind, "metadata": { "name": name, "labels": labels } })
    }
}

impl Server {
    async fn kinds(&self, namespace: &TestNamespace) -> Result<[Kind; 2]> {
        let group = format!("{}.example.com", unique("group"));
        let mut definition = widgets(&group);
        definition["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
        self.apply(&definition.to_string()).await?;
        let namespace = namespace.name();
        let collection = format!("/apis/{group}/v1/namespaces/{namespace}/widgets");
        await_condition("the custom kind to be served", PATIENCE, async || {
            Ok(self.send("", Method::GET, &collection, &Value::Null).await?)
        })
        .await?;
        let config_maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        Ok([
            Kind { api_version: "v1".to_owned(), kind: "ConfigMap", collection: config_maps },
            Kind { api_version: format!("{group}/v1"), kind: "Widget", collection },
        ])
    }

    /// Gives an object other labels; returns those that it then has, or nothing if the policy refused.
    async fn relabel(&self, user: &str, route: Route, path: &str, kind: &Kind, after: &Value) -> Result<Option<Value>> {
        let mut object = self.send(user, Method::GET, path, &Value::Null).await?;
        let answer = match route {
            Route::Update => {
                object["metadata"]["labels"] = after.clone();
                self.send(user, Method::PUT, path, &object).await
            }
            Route::MergePatch => {
                let before = labels(&object);
                let removed = before.as_object().into_iter().flatten().map(|(key, _)| (key.clone(), Value::Null));
                let mut patch: Map<_, _> = removed.collect();
                patch.extend(after.as_object().context("the labels")?.clone());
                self.send(user, Method::PATCH, path, &json!({ "metadata": { "labels": patch } })).await
            }
            Route::JsonPatch => {
                let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": after }]);
                self.send(user, Method::PATCH, path, &patch).await
            }
            Route::Apply => {
                let name = object["metadata"]["name"].as_str().context("the name")?;
                let object = kind.object(name, after);
                self.send(user, Method::PATCH, &format!("{path}{APPLY}"), &object).await
            }
        };
        Ok(passed(answer)?.as_ref().map(labels))
    }
}

#[tokio::test]
async fn only_listed_accounts_create_objects_with_the_labels() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let namespace = server.control_plane.namespace().await?;
    let cases = [
        ("the adapter's name", json!({ "hyperfleet.io/adapter": "a" }), false),
        ("the id of an API resource", json!({ "hyperfleet.io/resource-id": "1" }), false),
        ("the name of a task's entry", json!({ "hyperfleet.io/resource": "r" }), false),
        ("an empty value", json!({ "hyperfleet.io/adapter": "" }), false),
        ("disowned", json!({ "hyperfleet.io/disowned": "1" }), false),
        ("another label of HyperFleet", json!({ "hyperfleet.io/other": "x" }), true),
        ("no labels", json!({}), true),
        ("null instead of labels", Value::Null, true),
    ];
    for kind in server.kinds(&namespace).await? {
        for (case, wanted, people_may) in &cases {
            let expected = people_may.then(|| if wanted.is_null() { json!({}) } else { wanted.clone() });
            for is_apply in [false, true] {
                let name = unique("object");
                let object = kind.object(&name, wanted);
                let path = format!("{}/{name}{APPLY}", kind.collection);
                let (method, path) =
                    if is_apply { (Method::PATCH, path) } else { (Method::POST, kind.collection.clone()) };
                let context = format!("{}, {method}, {case}", kind.kind);
                let by_person = server.send(PERSON, method.clone(), &path, &object).await;
                let created = passed(by_person).with_context(|| context.clone())?;
                assert_eq!(created.as_ref().map(labels), expected, "{context}");
                if !people_may {
                    let created = server.send(ADAPTER, method, &path, &object).await?;
                    assert_eq!(labels(&created), *wanted, "{context}");
                }
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn only_listed_accounts_change_the_labels() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let namespace = server.control_plane.namespace().await?;
    let owned =
        json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "1", "hyperfleet.io/resource": "r" });
    let with = |labels: &Value, key: &str, value: &str| {
        let mut labels = labels.clone();
        labels[key] = value.into();
        labels
    };
    let without = |key: &str| {
        let mut labels = owned.clone();
        labels.as_object_mut().map(|labels| labels.remove(key));
        labels
    };
    let plain = json!({ "app": "x" });
    let disowned = json!({ "hyperfleet.io/disowned": "1" });
    let mut cases = vec![
        ("all labels are added".to_owned(), plain.clone(), owned.clone(), false),
        ("all labels are removed".to_owned(), owned.clone(), json!({}), false),
        ("disowned is set".to_owned(), owned.clone(), with(&owned, "hyperfleet.io/disowned", "1"), false),
        ("disowned is changed".to_owned(), disowned.clone(), json!({ "hyperfleet.io/disowned": "2" }), false),
        ("disowned is removed".to_owned(), disowned.clone(), json!({}), true),
        ("another label joins disowned".to_owned(), disowned.clone(), with(&disowned, "app", "x"), true),
        ("another label joins the labels".to_owned(), owned.clone(), with(&owned, "app", "x"), true),
        ("another label changes".to_owned(), plain.clone(), json!({ "app": "y" }), true),
        ("another label is removed".to_owned(), plain.clone(), json!({}), true),
    ];
    for key in ["hyperfleet.io/adapter", "hyperfleet.io/resource-id", "hyperfleet.io/resource"] {
        cases.push((format!("{key} is added"), plain.clone(), with(&plain, key, "x"), false));
        cases.push((format!("{key} is changed"), owned.clone(), with(&owned, key, "x"), false));
        cases.push((format!("{key} is removed"), owned.clone(), without(key), false));
    }
    for kind in server.kinds(&namespace).await? {
        for (case, before, after, people_may) in &cases {
            for route in ROUTES {
                let context = format!("{}, {route:?}, {case}", kind.kind);
                let name = unique("object");
                let path = format!("{}/{name}", kind.collection);
                let object = kind.object(&name, before);
                server.send(ADAPTER, Method::PATCH, &format!("{path}{APPLY}"), &object).await?;
                let by_person = server.relabel(PERSON, route, &path, &kind, after).await;
                let expected = people_may.then(|| after.clone());
                assert_eq!(by_person.with_context(|| context.clone())?, expected, "{context}");
                if !people_may {
                    let by_adapter = server.relabel(ADAPTER, route, &path, &kind, after).await?;
                    assert_eq!(by_adapter.as_ref(), Some(after), "{context}");
                }
            }
        }
    }
    Ok(())
}

/// A write through a subresource, which names the labels to set.
struct Write {
    method: Method,
    path: String,
    body: Value,
    /// Whether the API server would store the labels.
    stores_labels: bool,
}

#[tokio::test]
async fn labels_are_protected_behind_subresources() -> Result<()> {
    let server = Server::connect().await?;
    enforce(&server).await?;
    let namespace = server.control_plane.namespace().await?;
    let here = namespace.name();
    let [_, widget] = server.kinds(&namespace).await?;
    let metadata = json!({ "labels": { "hyperfleet.io/adapter": "stolen" } });

    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "pod" },
                      "spec": { "containers": [{ "name": "main", "image": "none" }] } });
    let pods = format!("/api/v1/namespaces/{here}/pods");
    server.send(PERSON, Method::POST, &pods, &pod).await?;
    server.send(PERSON, Method::POST, &widget.collection, &widget.object("widget", &json!({}))).await?;
    let home = format!("/api/v1/namespaces/{}", unique("home"));
    let name = home.rsplit('/').next().context("the name")?;
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    server.send(PERSON, Method::POST, "/api/v1/namespaces", &space).await?;

    let mut finalized = server.send(PERSON, Method::GET, &home, &Value::Null).await?;
    finalized["metadata"]["labels"]["hyperfleet.io/adapter"] = "stolen".into();
    // Without it, the server accepts the object after other writes.
    finalized["metadata"]["resourceVersion"] = Value::Null;
    let mut bound = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": metadata,
                            "target": { "apiVersion": "v1", "kind": "Node", "name": "nowhere" } });
    bound["metadata"]["name"] = "pod".into();
    let patch = |path: String, stores_labels| Write {
        method: Method::PATCH,
        path,
        body: json!({ "metadata": metadata }),
        stores_labels,
    };
    let writes = [
        ("pods/status", format!("{pods}/pod"), patch(format!("{pods}/pod/status"), true)),
        ("namespaces/status", home.clone(), patch(format!("{home}/status"), true)),
        ("widgets/status", format!("{}/widget", widget.collection), {
            patch(format!("{}/widget/status", widget.collection), false)
        }),
        (
            "namespaces/finalize",
            home.clone(),
            Write { method: Method::PUT, path: format!("{home}/finalize"), body: finalized, stores_labels: true },
        ),
        (
            "pods/binding",
            format!("{pods}/pod"),
            Write { method: Method::POST, path: format!("{pods}/pod/binding"), body: bound, stores_labels: true },
        ),
    ];
    for (case, path, Write { method, path: through, body, stores_labels }) in writes {
        let by_person = passed(server.send(PERSON, method.clone(), &through, &body).await).context(case)?;
        assert_eq!(by_person.is_none(), stores_labels, "{case}");
        let label = async || -> Result<Value> {
            let object = server.send(PERSON, Method::GET, &path, &Value::Null).await?;
            Ok(object["metadata"]["labels"]["hyperfleet.io/adapter"].clone())
        };
        assert_eq!(label().await?, Value::Null, "{case}");
        if stores_labels {
            server.send(ADAPTER, method, &through, &body).await.context(case)?;
            assert_eq!(label().await?, "stolen", "{case}: the request would store the label");
            let removal = json!([{ "op": "remove", "path": "/metadata/labels/hyperfleet.io~1adapter" }]);
            server.send(ADAPTER, Method::PATCH, &path, &removal).await.context(case)?;
        }
    }
    Ok(())
}

/// Refuses everything but a refusal by the policy.
pub(super) fn ensure_refused(answer: Result<Value, kube::Error>) -> Result<()> {
    match passed(answer)? {
        None => Ok(()),
        Some(object) => bail!("the server stored {object}"),
    }
}
