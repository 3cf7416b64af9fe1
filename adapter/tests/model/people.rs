//! Acts of users and other programs on the objects of a world.

use std::sync::Arc;

use jiff::SignedDuration;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::write::{PropagationPolicy, Target, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::ground::Ground;
use crate::object::{is_marked, is_terminating, kind, metadata, name, uid};
use crate::oracle::{Event, Invariant, Violation, rendered_name};
use crate::sequence::{Act, Flags};
use crate::shape::{Kind, MARKER};
use crate::world::World;

/// The labels that the adapter stamps.
const LABELS: [&str; 3] = ["hyperfleet.io/adapter", "hyperfleet.io/resource-id", "hyperfleet.io/resource"];

impl<G: Ground> World<G> {
    /// Performs an act; does nothing if there is no object for it.
    pub(crate) async fn act(&mut self, act: &Act) -> anyhow::Result<()> {
        self.note(format!("somebody: {act:?}"));
        let objects = self.objects().await?;
        let chosen = |pick: usize| objects.get(pick % objects.len().max(1));
        match *act {
            Act::Delete(pick) => {
                if let Some(object) = chosen(pick) {
                    let target = Target { resource_version: String::new(), ..target(object) };
                    self.ground.store().delete(&target, PropagationPolicy::Background).await?;
                }
            }
            Act::AddFinalizer(pick) => {
                // The API server refuses new finalizers on a terminating object.
                if let Some(object) = chosen(pick).filter(|object| !is_terminating(object)) {
                    self.ground.hold(object, true).await?;
                }
            }
            Act::RemoveFinalizer(pick) => {
                let held: Vec<&Value> = objects.iter().filter(|object| self.ground.is_held(object)).collect();
                if let Some(object) = held.get(pick % held.len().max(1)) {
                    self.ground.hold(object, false).await?;
                }
            }
            Act::Edit(pick) => {
                let fields = json!({ "of": "somebody", "foreign": "field" });
                let document = match chosen(pick).map(|object| object.get("data").is_some()) {
                    Some(true) => json!({ "data": fields }),
                    _ => json!({ "metadata": { "annotations": fields } }),
                };
                self.patch(chosen(pick), document).await?;
            }
            Act::SetGeneration(pick, to) => {
                let annotations = json!({ "hyperfleet.io/generation": to.map(|to| to.to_string()) });
                self.patch(chosen(pick), json!({ "metadata": { "annotations": annotations } })).await?;
            }
            Act::StripLabels(pick) => {
                let labels: Value = LABELS.iter().map(|label| ((*label).to_owned(), Value::Null)).collect();
                self.patch(chosen(pick), json!({ "metadata": { "labels": labels } })).await?;
            }
            Act::DropOwners(pick) => {
                self.patch(chosen(pick), json!({ "metadata": { "ownerReferences": null } })).await?
            }
            Act::SetPhase(pick, done) => {
                let takes_status = |object: &&Value| object["kind"] == "Widget" || object["kind"] == "ManifestWork";
                let objects: Vec<&Value> = objects.iter().filter(takes_status).collect();
                if let Some(object) = objects.get(pick % objects.len().max(1)) {
                    self.ground.report(object, done).await?;
                }
            }
            Act::Reclaim(pick) => {
                let marked: Vec<&Value> = objects.iter().filter(|object| is_marked(object)).collect();
                let object = marked.get(pick % marked.len().max(1)).copied();
                self.patch(object, json!({ "metadata": { "labels": { "hyperfleet.io/disowned": null } } })).await?;
            }
            Act::Squat(place, ahead) => self.create(place, ahead, false, &objects).await?,
            Act::Inherit(place) => self.create(place, 0, true, &objects).await?,
            Act::CollectGarbage => self.collect_garbage().await?,
            Act::Wait(hours) => {
                // Ten minutes more, so that no limit is reached at exactly this time.
                self.advance(SignedDuration::from_hours(hours) + SignedDuration::from_mins(10));
            }
        }
        Ok(())
    }

    async fn patch(&self, object: Option<&Value>, document: Value) -> anyhow::Result<()> {
        match object {
            Some(object) => patch(&*self.ground.store(), object, &document).await,
            None => Ok(()),
        }
    }

    /// Creates an object with the name that the resource's manifest renders for the latest generation, or for
    /// a later one, if the name is free. The object is foreign, or like one of the Go adapter.
    async fn create(&self, place: usize, ahead: i64, of_old: bool, objects: &[Value]) -> anyhow::Result<()> {
        let place = place % self.task.resources.len();
        let resource = &self.task.resources[place];
        let event = Event {
            id: self.id.clone(),
            namespace: self.ground.namespace().to_owned(),
            group: self.ground.group().to_owned(),
            generation: self.latest.max(1) + ahead,
            flags: Flags::new(),
            now: self.now,
        };
        let wanted = rendered_name(resource, place, &event);
        if objects.iter().any(|object| name(object) == wanted) {
            return Ok(());
        }
        let kind = resource.kind.gvk(self.ground.group());
        let mut object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": wanted, "namespace": self.ground.namespace(), "labels": { MARKER: self.id } },
        });
        if of_old {
            object["metadata"]["annotations"] = json!({ "hyperfleet.io/generation": event.generation.to_string() });
            // The Go adapter stamps no labels: only those of the task's author exist.
            for (key, value) in resource.selector(place).into_iter().filter(|(key, _)| *key == "app") {
                object["metadata"]["labels"][key] = json!(value.replace("{{ .id }}", &self.id));
            }
        }
        let data = json!({ "of": "somebody" });
        match resource.kind {
            Kind::ConfigMap | Kind::Widget => object["data"] = data,
            Kind::Job => {
                let container = json!({ "name": "work", "image": "none" });
                let pod = json!({ "restartPolicy": "Never", "containers": [container] });
                object["spec"] = json!({ "suspend": true, "template": { "spec": pod } });
            }
            Kind::Work => {
                let metadata = json!({ "name": wanted, "namespace": "default" });
                let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
                object["spec"] = json!({ "workload": { "manifests": [manifest] } });
            }
        }
        let destination = resource.kind.destination(self.ground.namespace());
        self.ground.store().create(&object, &destination).await?;
        Ok(())
    }

    /// Waits for controllers, on a ground where they may act between two passes.
    pub(crate) async fn settle(&mut self) -> anyhow::Result<()> {
        if self.ground.is_busy(&self.task) { self.collect_garbage().await } else { Ok(()) }
    }

    /// Collects garbage, and checks I3: a disowned object is not deleted with its former owner.
    async fn collect_garbage(&mut self) -> anyhow::Result<()> {
        let before = self.objects().await?;
        let journal = Arc::clone(&self.journal);
        self.ground.settle(&journal).await?;
        let after = self.objects().await?;
        for object in before.iter().filter(|object| is_marked(object) && !is_terminating(object)) {
            if after.iter().all(|left| uid(left) != uid(object)) {
                let what = format!("{} was disowned, and was deleted with its former owner", name(object));
                self.violations.push(Violation { invariant: Invariant::DisownedChanged, what });
            }
        }
        Ok(())
    }
}

/// Patches an object as a user does, who does not read it before: without a resource version in the fence.
pub(crate) async fn patch(store: &impl Transport, object: &Value, document: &Value) -> anyhow::Result<()> {
    let target = Target { resource_version: String::new(), ..target(object) };
    match store.patch(document, &target).await {
        Ok(_) => Ok(()),
        // A controller was faster, or the server refuses the patch: the act did not happen.
        Err(error) if matches!(error.kind, WriteErrorKind::Conflict | WriteErrorKind::Invalid) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A target with the object's UID and resource version.
pub(crate) fn target(object: &Value) -> Target {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let destination = match kind(object) {
        "ManifestWork" => Kind::Work.destination(metadata(object, "namespace")),
        _ => Destination::ThisCluster,
    };
    Target {
        destination,
        kind: GroupVersionKind::new(&text("/apiVersion"), &text("/kind")),
        namespace: Some(text("/metadata/namespace")),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        resource_version: text("/metadata/resourceVersion"),
    }
}
