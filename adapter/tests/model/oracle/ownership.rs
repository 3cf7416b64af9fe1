//! Ownership and the current version, by the terms of `docs/lifecycle.md`.

use lifecycle_objects::observation::{Query, QueryBy};
use serde_json::Value;

use super::view::{Event, View};
use crate::object::{annotation, created, generation, is_marked, is_terminating, is_written, label, name};
use crate::shape::{ADAPTER, Discovery, NAMES, Naming, ResourceShape, TaskShape};

/// The annotation with the adapter and resource that disowned an object.
const DISOWNED_BY: &str = "hyperfleet.io/disowned-by";
/// The label with the name of the resource that owns an object.
const RESOURCE: &str = "hyperfleet.io/resource";

impl View<'_> {
    /// Returns those of the discovered objects that the resource owns.
    pub(super) fn owned(&self, objects: &[Value], place: usize) -> Vec<Value> {
        beside_foreign(objects.iter().filter(|object| self.owns(object, place)).cloned().collect())
    }

    fn owns(&self, object: &Value, place: usize) -> bool {
        let resource = &self.task.resources[place];
        if resource.discovery == Discovery::Name || was_disowned_by(object, place, &self.event.id) {
            return true;
        }
        match label(object, RESOURCE) {
            Some(of) => of == NAMES[place] && self.is_stamped(object),
            None if is_marked(object) && annotation(object, DISOWNED_BY).is_some() => false,
            None => !self.is_contested(object, place) || name(object) == rendered_name(resource, place, self.event),
        }
    }

    /// Whether the resource owns one of the objects independently of the name that its manifest renders to.
    pub(super) fn owns_certainly(&self, objects: &[Value], place: usize) -> bool {
        objects.iter().any(|object| {
            self.owns(object, place)
                && (self.task.resources[place].discovery == Discovery::Name
                    || label(object, RESOURCE).is_some()
                    || was_disowned_by(object, place, &self.event.id)
                    || !self.is_contested(object, place))
        })
    }

    /// Whether an object that a search in all namespaces found is one that the resource had before.
    pub(super) fn is_former(&self, object: &Value, place: usize) -> bool {
        label(object, RESOURCE) == Some(NAMES[place]) && self.is_stamped(object) && !is_marked(object)
    }

    /// Whether the object's labels name this adapter and this API resource.
    fn is_stamped(&self, object: &Value) -> bool {
        label(object, "hyperfleet.io/adapter") == Some(ADAPTER)
            && label(object, "hyperfleet.io/resource-id") == Some(&self.event.id)
    }

    /// Whether another resource's discovery also finds an object without a resource label.
    fn is_contested(&self, object: &Value, place: usize) -> bool {
        self.task.resources.iter().enumerate().any(|(other, shape)| {
            let finds = || match query(self.task, other, self.event).by {
                QueryBy::Name(wanted) => name(object) == wanted,
                QueryBy::Labels(labels) => labels.iter().all(|(key, value)| label(object, key) == Some(value)),
            };
            other != place && shape.kind == self.task.resources[place].kind && finds()
        })
    }
}

/// Leaves foreign objects out if an adapter wrote another one of the objects: they are no versions then.
pub(super) fn beside_foreign(mut objects: Vec<Value>) -> Vec<Value> {
    if objects.iter().any(is_written) {
        objects.retain(is_written);
    }
    objects
}

/// Whether the object has the mark of having been disowned by the resource. In the model, only the adapter
/// sets it.
pub(super) fn was_disowned_by(object: &Value, place: usize, id: &str) -> bool {
    label(object, "hyperfleet.io/disowned") == Some(id)
        && annotation(object, DISOWNED_BY) == Some(&format!("{ADAPTER}/{}", NAMES[place]))
}

/// The current version: the newest live one of the desired generation, else the newest live one, else the
/// newest. Newest is by creation time, then by name.
pub(super) fn current(versions: &[Value], desired: i64) -> Option<&Value> {
    let newest = |wanted: &dyn Fn(&Value) -> bool| {
        let among = versions.iter().filter(|version| wanted(version));
        among.max_by_key(|version| (created(version), name(version)))
    };
    newest(&|version| !is_terminating(version) && generation(version) == Some(desired))
        .or_else(|| newest(&|version| !is_terminating(version)))
        .or_else(|| newest(&|_| true))
}

/// The discovery query of a resource.
pub(super) fn query(task: &TaskShape, place: usize, event: &Event) -> Query {
    let resource = &task.resources[place];
    let by = match resource.discovery {
        Discovery::Name => QueryBy::Name(rendered_name(resource, place, event)),
        Discovery::OwnLabel | Discovery::SharedLabel | Discovery::Managed | Discovery::ManagedShared => {
            let rendered = |(key, value): (&str, String)| (key.to_owned(), value.replace("{{ .id }}", &event.id));
            QueryBy::Labels(resource.selector(place).into_iter().map(rendered).collect())
        }
    };
    Query {
        destination: resource.kind.destination(&event.namespace),
        kind: resource.kind.gvk(&event.group),
        namespace: Some(event.namespace.clone()),
        by,
    }
}

/// The query for objects that the resource has disowned.
pub(super) fn mark_query(task: &TaskShape, place: usize, event: &Event) -> Query {
    let by = QueryBy::Labels([("hyperfleet.io/disowned".to_owned(), event.id.clone())].into());
    Query { by, ..query(task, place, event) }
}

/// The query for objects that the resource had at other places before; a deletion asks it.
pub(super) fn former_query(task: &TaskShape, place: usize, event: &Event) -> Query {
    let labels = [("hyperfleet.io/adapter", ADAPTER), ("hyperfleet.io/resource-id", event.id.as_str())];
    let by = QueryBy::Labels(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    Query { by, namespace: None, ..query(task, place, event) }
}

/// The name that a resource's manifest renders to.
pub(crate) fn rendered_name(resource: &ResourceShape, place: usize, event: &Event) -> String {
    let (id, name) = (&event.id, NAMES[place]);
    match resource.naming {
        Naming::Fixed => format!("{id}-{name}"),
        Naming::Generation => format!("{id}-{name}-{}", event.generation),
        Naming::Clock => format!("{id}-{name}-{}", event.now.strftime("%Y%m%d%H%M%S")),
    }
}
