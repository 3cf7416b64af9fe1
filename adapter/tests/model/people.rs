//! What people, and other programs, do to the objects of a world.

use std::sync::Arc;

use hyperfleet_adapter::transport::Transport;
use jiff::SignedDuration;
use lifecycle_core::destination::Destination;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, WriteErrorKind};
use serde_json::{Value, json};

use crate::ground::Ground;
use crate::object::{is_marked, is_terminating, name, uid};
use crate::oracle::{Event, Invariant, Violation, rendered_name};
use crate::sequence::{Act, Flags};
use crate::shape::MARKER;
use crate::world::World;

/// What holds an object when somebody does.
const HOLD: &str = "example.com/hold";
/// What the adapter stamps as labels.
const LABELS: [&str; 3] = ["hyperfleet.io/adapter", "hyperfleet.io/resource-id", "hyperfleet.io/resource"];

impl<G: Ground> World<G> {
    /// Does it. What cannot be done, as there is no object for it, is left out.
    pub(crate) async fn act(&mut self, act: &Act) -> anyhow::Result<()> {
        self.tell(format!("somebody: {act:?}"));
        let objects = self.objects().await?;
        let chosen = |pick: usize| objects.get(pick % objects.len().max(1));
        match *act {
            Act::Delete(pick) => {
                if let Some(object) = chosen(pick) {
                    let target = Target { resource_version: String::new(), ..target(object) };
                    self.ground.store().delete(&target, PropagationPolicy::Background).await?;
                }
            }
            Act::Hold(pick) => {
                // A server takes no finalizer for what is on its way out.
                let object = chosen(pick).filter(|object| !is_terminating(object));
                self.patch(object, json!({ "metadata": { "finalizers": [HOLD] } })).await?;
            }
            Act::LetGo(pick) => {
                let held: Vec<&Value> = objects
                    .iter()
                    .filter(|object| object.pointer("/metadata/finalizers/0") == Some(&json!(HOLD)))
                    .collect();
                let object = held.get(pick % held.len().max(1)).copied();
                self.patch(object, json!({ "metadata": { "finalizers": null } })).await?;
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
                let widgets: Vec<&Value> = objects.iter().filter(|object| object["kind"] == "Widget").collect();
                let phase = if done { "Done" } else { "Busy" };
                let object = widgets.get(pick % widgets.len().max(1)).copied();
                self.patch(object, json!({ "status": { "phase": phase } })).await?;
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
                // And a bit, so that nobody ever looks at the very moment at which a time is over.
                self.advance(SignedDuration::from_hours(hours) + SignedDuration::from_mins(10));
            }
        }
        Ok(())
    }

    async fn patch(&self, object: Option<&Value>, document: Value) -> anyhow::Result<()> {
        let Some(object) = object else { return Ok(()) };
        // Unfenced by version: people do not look first.
        let target = Target { resource_version: String::new(), ..target(object) };
        match self.ground.store().patch(&document, &target).await {
            Ok(_) => Ok(()),
            // A controller was faster, or the server does not take it: then it did not happen.
            Err(error) if matches!(error.kind, WriteErrorKind::Conflict | WriteErrorKind::Invalid) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates an object of the name that the entry wants for the latest generation, or for one that comes so much later, if
    /// nobody has it: a foreign one, or one as the Go adapter wrote it.
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
            // It stamped nothing: only the author's own labels are there.
            for (key, value) in resource.selector(place).into_iter().filter(|(key, _)| *key == "app") {
                object["metadata"]["labels"][key] = json!(value.replace("{{ .id }}", &self.id));
            }
        }
        if kind.kind == "Job" {
            let container = json!({ "name": "work", "image": "none" });
            let pod = json!({ "restartPolicy": "Never", "containers": [container] });
            object["spec"] = json!({ "suspend": true, "template": { "spec": pod } });
        } else {
            object["data"] = json!({ "of": "somebody" });
        }
        self.ground.store().create(&object, &Destination::ThisCluster).await?;
        Ok(())
    }

    /// Waits for controllers, if there are any that may come between two passes.
    pub(crate) async fn settle(&mut self) -> anyhow::Result<()> {
        if self.ground.is_busy(&self.task) { self.collect_garbage().await } else { Ok(()) }
    }

    /// I3: what was released no longer hangs on an owner.
    async fn collect_garbage(&mut self) -> anyhow::Result<()> {
        let before = self.objects().await?;
        let journal = Arc::clone(&self.journal);
        self.ground.settle(&journal).await?;
        let after = self.objects().await?;
        for object in before.iter().filter(|object| is_marked(object)) {
            if after.iter().all(|left| uid(left) != uid(object)) {
                let what = format!("{} was released, and went with its owner", name(object));
                self.violations.push(Violation { invariant: Invariant::ReleasedTouched, what });
            }
        }
        Ok(())
    }
}

/// The very object, in the version that it has.
pub(crate) fn target(object: &Value) -> Target {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    Target {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new(&text("/apiVersion"), &text("/kind")),
        namespace: Some(text("/metadata/namespace")),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        resource_version: text("/metadata/resourceVersion"),
    }
}
