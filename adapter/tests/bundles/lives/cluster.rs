//! What is on the server where a life takes place.

use std::collections::BTreeMap;

use anyhow::Result;
use futures::future::try_join_all;
use kube::Client;
use kube::api::{DynamicObject, ListParams};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use super::life::Kind;
use crate::world::{ADAPTER, ENTRY, SUITE, api, text};

pub(crate) const OWNER: &str = "hyperfleet.io/adapter";
pub(crate) const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The labels of a member.
pub(crate) const LABELS: [&str; 4] = [OWNER, "hyperfleet.io/resource-id", "hyperfleet.io/resource", PART_OF];
/// The annotation with an object's content, which every kind can have.
pub(crate) const CONTENT: &str = "example.com/content";
/// The label of what strangers made.
pub(crate) const STRANGER: &str = "example.com/stranger";
/// The kind of the bundle's own type.
pub(crate) const THING: &str = "Thing";

/// Where a life takes place.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) namespace: String,
    /// The bundle's own namespace.
    pub(crate) team: String,
    /// The group of the bundle's own type.
    pub(crate) group: String,
    /// Whether the bundle has a namespace and a type.
    pub(crate) has_outer: bool,
}

impl Site {
    /// The name of the object at a place of the life.
    pub(crate) fn name(&self, place: usize, kind: Kind) -> String {
        match kind {
            Kind::Namespace => self.team.clone(),
            Kind::Type => format!("{}s.{}", THING.to_lowercase(), self.group),
            _ => format!("o{place}"),
        }
    }

    /// What all objects of the life look like: their kinds, their namespaces, and their names if others have such objects, too.
    fn likes(&self) -> Vec<Value> {
        let foos = format!("{SUITE}/v1");
        let kinds = [("v1", "ConfigMap"), ("v1", "Secret"), (foos.as_str(), "Foo")];
        let namespaces = [Some(&self.namespace), self.has_outer.then_some(&self.team)];
        let like = |version: &str, kind: &str, metadata: Value| json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
        let mut likes: Vec<Value> = Vec::new();
        for namespace in namespaces.into_iter().flatten() {
            likes.extend(kinds.map(|(version, kind)| like(version, kind, json!({ "namespace": namespace }))));
        }
        if self.has_outer {
            let crd = "CustomResourceDefinition";
            likes.push(like(&format!("{}/v1", self.group), THING, json!({})));
            likes.push(like("v1", "Namespace", json!({ "name": self.team })));
            likes.push(like("apiextensions.k8s.io/v1", crd, json!({ "name": self.name(0, Kind::Type) })));
        }
        likes
    }
}

/// What is on the server.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// The objects at the places of the life, by their names.
    pub(crate) objects: BTreeMap<String, Value>,
    /// What strangers made.
    pub(crate) strangers: Vec<Value>,
    pub(crate) parent: Option<Value>,
}

impl Cluster {
    pub(crate) async fn read(client: &Client, site: &Site) -> Result<Self> {
        let lists = site.likes().into_iter().map(async |like| anyhow::Ok((list(client, &like).await?, like)));
        let mut cluster = Self::default();
        for (found, like) in try_join_all(lists).await? {
            for object in found {
                let mut object = serde_json::to_value(object)?;
                // The items of a list do not say their kind.
                (object["apiVersion"], object["kind"]) = (like["apiVersion"].clone(), like["kind"].clone());
                cluster.add(object);
            }
        }
        Ok(cluster)
    }

    pub(crate) fn add(&mut self, object: Value) {
        match text(&object, "/metadata/name") {
            _ if label(&object, STRANGER).is_some() => self.strangers.push(object),
            ENTRY => self.parent = Some(object),
            "kube-root-ca.crt" => {}
            name => drop(self.objects.insert(name.to_owned(), object)),
        }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.iter().filter(|(_, object)| is_member(object))
    }

    /// What goes with an object when it goes.
    pub(crate) fn inside<'a>(&'a self, outer: &'a Value) -> impl Iterator<Item = &'a Value> {
        self.objects.values().chain(&self.strangers).filter(|object| is_inside(object, outer))
    }

    /// Whether the parent remembers that an object has served.
    pub(crate) fn has_served(&self, name: &str) -> bool {
        let memory = self.parent.as_ref().map(|parent| text(parent, "/data/memory")).unwrap_or_default();
        let memory: Value = serde_json::from_str(memory).unwrap_or_default();
        let end = format!("/{name}");
        memory["completed"].as_object().is_some_and(|completed| completed.keys().any(|key| key.ends_with(&end)))
    }

    /// Whether the parent names a kind or a namespace, in an annotation, to all who look for members.
    pub(crate) fn names(&self, annotation: &str, word: &str) -> bool {
        let annotations = self.parent.as_ref().and_then(|parent| parent.pointer("/metadata/annotations"));
        let words = annotations.and_then(|it| it[format!("applyset.kubernetes.io/{annotation}")].as_str());
        words.is_some_and(|words| words.split(',').any(|it| it.split('.').next() == Some(word)))
    }
}

/// All objects that look so; none if their type is not served.
async fn list(client: &Client, like: &Value) -> Result<Vec<DynamicObject>> {
    let only = text(like, "/metadata/name");
    let params = ListParams::default();
    let params = if only.is_empty() { params } else { params.fields(&format!("metadata.name={only}")) };
    // The server puts off requests for a type that was just created.
    let api = api(client, like);
    await_condition("a list", PATIENCE, move || {
        let (api, params) = (api.clone(), params.clone());
        async move {
            match api.list(&params).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
                found => Ok(found?.items),
            }
        }
    })
    .await
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str)
}

pub(crate) fn is_member(object: &Value) -> bool {
    LABELS.iter().all(|key| label(object, key).is_some()) && label(object, OWNER) == Some(ADAPTER)
}

/// Whether an object goes with another one when that goes.
pub(crate) fn is_inside(object: &Value, outer: &Value) -> bool {
    match text(outer, "/kind") {
        "Namespace" => object["metadata"]["namespace"] == outer["metadata"]["name"],
        "CustomResourceDefinition" => object["kind"] == THING,
        _ => false,
    }
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// Whether a controller observes objects of this one's kind.
pub(crate) fn is_observable(object: &Value) -> bool {
    object["kind"] == "Foo" || object["kind"] == THING
}

/// Whether the status of an object says that it works.
pub(crate) fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is_true =
        |of: &str| conditions.is_some_and(|all| all.iter().any(|it| it["type"] == of && it["status"] == "True"));
    let works = match text(object, "/kind") {
        _ if is_observable(object) => {
            object["status"]["observedGeneration"] == object["metadata"]["generation"] && is_true("Ready")
        }
        "CustomResourceDefinition" => is_true("Established"),
        _ => true,
    };
    works && !is_terminating(object)
}
