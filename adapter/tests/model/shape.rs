//! The shape of a task in the model.
//!
//! The engine gets the shape as a task file ([`TaskShape::yaml`]); the oracle uses the shape itself. A gate
//! is a conjunction of [`Atom`]s, so that the oracle can evaluate it from the event's flags and the objects,
//! without the engine's CEL.

mod yaml;

use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::write::PropagationPolicy;

/// The name of the adapter whose tasks the model runs.
pub(crate) const ADAPTER: &str = "model";
/// The label that every object of a sequence has, which no act removes.
pub(crate) const MARKER: &str = "model";
/// The names of resources, by their places in the list.
pub(crate) const NAMES: [&str; 3] = ["one", "two", "three"];

/// A task of the model: its resources with their gates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskShape {
    pub(crate) resources: Vec<ResourceShape>,
}

impl TaskShape {
    /// The same task with works, which have no owners, in the place of all objects.
    pub(crate) fn of_works(mut self) -> Self {
        for resource in &mut self.resources {
            resource.kind = Kind::Work;
            resource.owner = None;
        }
        self
    }
}

/// One resource of the task. The default is a `ConfigMap` with a fixed name, discovered by that name, without
/// gates.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ResourceShape {
    pub(crate) kind: Kind,
    pub(crate) naming: Naming,
    pub(crate) discovery: Discovery,
    /// The place of the owner, which is an earlier resource.
    pub(crate) owner: Option<usize>,
    pub(crate) retention: Option<Retention>,
    pub(crate) adopt: bool,
    pub(crate) recreate_on_change: bool,
    pub(crate) when: Option<Gate>,
    pub(crate) create: Option<Gate>,
    pub(crate) apply: Option<Gate>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) recreate: Option<Gate>,
    pub(crate) orphan: Option<Gate>,
    pub(crate) delete: Option<Gate>,
    pub(crate) propagation: PropagationPolicy,
}

/// The kinds of the objects that a task manages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) enum Kind {
    #[default]
    ConfigMap,
    /// A custom kind without a schema and without subresources, so that any client can write its status.
    Widget,
    /// A suspended Job, which creates no Pods. The Job controller still writes its status.
    Job,
    /// A `ManifestWork` of a Maestro consumer, with one `ConfigMap`.
    Work,
}

/// How the names of a resource's objects are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Naming {
    #[default]
    Fixed,
    Generation,
    Clock,
}

/// How a resource's objects are discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Discovery {
    #[default]
    Name,
    /// By a label of the author that only this resource's objects have.
    OwnLabel,
    /// By a label of the author that the objects of all such resources have.
    SharedLabel,
    /// By the adapter's labels for this resource.
    Managed,
    /// By the adapter's labels that all resources have in common.
    ManagedShared,
}

/// The limits of retention, at least one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retention {
    pub(crate) history_limit: Option<usize>,
    pub(crate) ttl_hours: Option<i64>,
}

/// An entry of `lifecycle.patch`, which sets a field of its own to a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patch {
    pub(crate) when: Gate,
    pub(crate) value: &'static str,
}

/// A gate: it holds if all of its atoms hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gate(pub(crate) Vec<Atom>);

/// A condition that the oracle can evaluate itself. Numbers are the places of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atom {
    /// The event's flag has this value; undecided if the event lacks the flag.
    Flag(Flag, bool),
    /// The resource has an object.
    There(usize),
    /// The resource has no object.
    Missing(usize),
    /// The field that the resource's patch of this number sets does not have this value; false without an object.
    Differs(usize, usize, &'static str),
    /// The object's generation is below the event's; undecided without an object.
    Behind(usize),
    /// The object's status is done, or says that the agent has applied the work; undecided without an object or a status.
    Done(usize),
}

/// Flags of an event. How often the generator sets each one suits the gates that mostly use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flag {
    Ready,
    May,
    Tweak,
    Again,
    Leaving,
    Going,
}

impl Flag {
    pub(crate) const ALL: [Self; 6] = [Self::Ready, Self::May, Self::Tweak, Self::Again, Self::Leaving, Self::Going];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::May => "may",
            Self::Tweak => "tweak",
            Self::Again => "again",
            Self::Leaving => "leaving",
            Self::Going => "going",
        }
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::ConfigMap, Self::Widget, Self::Job, Self::Work];

    /// The group, version and kind; `group` is that of the custom kind.
    pub(crate) fn gvk(self, group: &str) -> GroupVersionKind {
        match self {
            Self::ConfigMap => GroupVersionKind::new("v1", "ConfigMap"),
            Self::Widget => GroupVersionKind::new(&format!("{group}/v1"), "Widget"),
            Self::Job => GroupVersionKind::new("batch/v1", "Job"),
            Self::Work => GroupVersionKind::new("work.open-cluster-management.io/v1", "ManifestWork"),
        }
    }

    /// Where objects of this kind are; the namespace of works has the name of their consumer.
    pub(crate) fn destination(self, namespace: &str) -> Destination {
        match self {
            Self::ConfigMap | Self::Widget | Self::Job => Destination::ThisCluster,
            Self::Work => Destination::Consumer(namespace.to_owned()),
        }
    }
}

impl Discovery {
    /// Whether the discovery matches no object of other resources.
    pub(crate) fn is_exclusive(self) -> bool {
        !matches!(self, Self::SharedLabel | Self::ManagedShared)
    }
}

impl ResourceShape {
    /// The label selector of the resource's discovery, as templates.
    pub(crate) fn selector(&self, place: usize) -> Vec<(&'static str, String)> {
        let name = NAMES[place];
        let id = || "{{ .id }}".to_owned();
        match self.discovery {
            Discovery::Name => Vec::new(),
            Discovery::OwnLabel => vec![("app", format!("{{{{ .id }}}}-{name}"))],
            Discovery::SharedLabel => vec![("app", id())],
            Discovery::Managed => {
                vec![("hyperfleet.io/resource", name.to_owned()), ("hyperfleet.io/resource-id", id())]
            }
            Discovery::ManagedShared => {
                vec![("hyperfleet.io/adapter", ADAPTER.to_owned()), ("hyperfleet.io/resource-id", id())]
            }
        }
    }
}

impl Atom {
    /// The resource that the atom reads.
    pub(crate) fn reads(self) -> Option<usize> {
        match self {
            Self::Flag(..) => None,
            Self::There(place)
            | Self::Missing(place)
            | Self::Differs(place, ..)
            | Self::Behind(place)
            | Self::Done(place) => Some(place),
        }
    }
}

/// The field that the patch of this number sets.
pub(crate) fn patch_field(number: usize) -> String {
    format!("p{number}")
}
