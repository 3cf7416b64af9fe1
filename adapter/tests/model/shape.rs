//! What a task of the model can be.
//!
//! The engine gets it as a task file ([`TaskShape::yaml`]); the oracle has the same facts as values, from which it works
//! things out on its own. A gate is a conjunction of [`Atom`]s, so that its truth follows from the event's flags and from the
//! objects that were read, without the engine's expressions.

mod yaml;

use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::PropagationPolicy;

/// The adapter of every model.
pub(crate) const ADAPTER: &str = "model";
/// The label that every object of one sequence carries, whatever else it loses.
pub(crate) const MARKER: &str = "model";
/// The names of resources, by their place in the list.
pub(crate) const NAMES: [&str; 3] = ["one", "two", "three"];

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskShape {
    pub(crate) resources: Vec<ResourceShape>,
}

/// One entry of `resources`; by default a `ConfigMap` of a fixed name, found by it, without gates.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ResourceShape {
    pub(crate) kind: Kind,
    pub(crate) naming: Naming,
    pub(crate) discovery: Discovery,
    /// The place of an earlier entry.
    pub(crate) owner: Option<usize>,
    pub(crate) retention: Option<Retention>,
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

/// The kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) enum Kind {
    #[default]
    ConfigMap,
    /// A custom kind without schema and without subresources, so that a status can be written by anybody.
    Widget,
    /// Suspended, so that it makes no pods; its controller writes its status all the same.
    Job,
}

/// How an entry's objects are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Naming {
    #[default]
    Fixed,
    Generation,
    Clock,
}

/// How an entry's objects are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Discovery {
    #[default]
    Name,
    /// By a label of the author's that only this entry writes.
    OwnLabel,
    /// By a label of the author's that all such entries write.
    SharedLabel,
    /// By the labels that the adapter stamps for this entry.
    Managed,
    /// By the labels that the adapter stamps for every entry.
    ManagedShared,
}

/// What is kept of former versions; at least one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retention {
    pub(crate) history_limit: Option<usize>,
    pub(crate) ttl_hours: Option<i64>,
}

/// One entry of `lifecycle.patch`: it sets a field of its own to a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patch {
    pub(crate) when: Gate,
    pub(crate) value: &'static str,
}

/// All of these.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gate(pub(crate) Vec<Atom>);

/// A condition that the oracle can check by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atom {
    /// The event's flag has this value. It has no answer if the event lacks the flag.
    Flag(Flag, bool),
    /// The entry has an object.
    There(usize),
    /// The entry has none.
    Missing(usize),
    /// The field that the entry's patch of this place sets does not have this value; not without an object.
    Differs(usize, usize, &'static str),
    /// The entry's object is of a generation before the event's. It has no answer without an object.
    Behind(usize),
    /// The entry's object says that it is done. It has no answer without an object, or without a status.
    Done(usize),
}

/// What an event tells besides its generation. How likely each is to be set suits what it is mostly used for.
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
    pub(crate) const ALL: [Self; 3] = [Self::ConfigMap, Self::Widget, Self::Job];

    /// The kind as discovery names it; `group` is where the custom kind lives.
    pub(crate) fn gvk(self, group: &str) -> GroupVersionKind {
        match self {
            Self::ConfigMap => GroupVersionKind::new("v1", "ConfigMap"),
            Self::Widget => GroupVersionKind::new(&format!("{group}/v1"), "Widget"),
            Self::Job => GroupVersionKind::new("batch/v1", "Job"),
        }
    }
}

impl Discovery {
    /// Whether it finds no other entry's objects.
    pub(crate) fn is_exclusive(self) -> bool {
        !matches!(self, Self::SharedLabel | Self::ManagedShared)
    }
}

impl ResourceShape {
    /// The labels by which discovery finds the entry's objects, as templates.
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
    /// The entry that it reads.
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

/// The field that the patch of this place sets.
pub(crate) fn patch_field(number: usize) -> String {
    format!("p{number}")
}
