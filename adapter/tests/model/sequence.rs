//! What happens to a task: events, acts of users, and faults.
//!
//! A [`Sequence`] is plain data, so that it can be generated, shrunk, printed, and copied into a regression test.

use std::collections::BTreeMap;
use std::fmt;

use crate::shape::{Flag, TaskShape};

/// A run of the model: a past, and one event that is delivered with disturbances and then without.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sequence {
    pub(crate) task: TaskShape,
    pub(crate) past: Vec<Step>,
    pub(crate) event: EventShape,
    /// The disturbed passes of `event`.
    pub(crate) disturbances: Vec<Delivery>,
}

impl Sequence {
    /// The same sequence with works in the place of all objects.
    pub(crate) fn of_works(self) -> Self {
        Self { task: self.task.of_works(), ..self }
    }
}

/// A step of the past.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// An event is delivered, and if `again`, once more after its pass.
    Event { event: EventShape, delivery: Delivery, again: bool },
    /// A user or another program acts.
    Act(Act),
}

/// An event, with its generation relative to earlier events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventShape {
    pub(crate) age: Age,
    pub(crate) flags: Flags,
}

/// The values of the event's flags; the event lacks flags that are not in the map.
pub(crate) type Flags = BTreeMap<Flag, bool>;

/// The generation of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// The generation above the latest so far: the resource has changed.
    Next,
    /// The latest generation so far: an event is repeated.
    Same,
    /// A generation this far below the latest: an old event arrives late.
    Late(i64),
}

/// The circumstances of one pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Delivery {
    /// The replica that handles the event, 0 or 1.
    pub(crate) replica: usize,
    /// In a disturbance: the delivered event is this many generations older.
    pub(crate) late: i64,
    /// The faults of the pass' calls, by the number of the call from 1.
    pub(crate) faults: BTreeMap<usize, Fault>,
    /// The call before which the pass pauses, and what happens during the pause.
    pub(crate) pause: Option<(usize, Vec<Meanwhile>)>,
}

/// Something that happens during a pause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meanwhile {
    /// The other replica handles an event completely; `None` means the same event.
    Event(Option<EventShape>, BTreeMap<usize, Fault>),
    /// A user or another program acts.
    Act(Act),
}

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server refuses the request.
    Refused(Refusal),
    /// The connection breaks before the server has received the request.
    LostRequest,
    /// The connection breaks after the server has carried the request out.
    LostAnswer,
    /// No answer arrives before the deadline; `done` tells whether the server carried the request out.
    Silence { done: bool },
    /// The process crashes before the call, or right after it if `done`.
    Crash { done: bool },
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 409: the name of a creation is taken, or the object of another write has changed.
    Conflict,
    /// 422: the server rejects the object as invalid.
    Invalid,
    /// 403: the adapter lacks the permission.
    Forbidden,
    /// 429: the server limits the rate of requests.
    TooManyRequests,
    /// 503: the server is not available.
    Unavailable,
}

/// An act of a user or another program. A number chooses an object by its place among the existing ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    Delete(usize),
    /// Adds a finalizer to an object, which holds it when it is deleted.
    AddFinalizer(usize),
    /// Removes the finalizer of an object, which then may go.
    RemoveFinalizer(usize),
    /// Changes a field that the manifest sets, and adds a field that the manifest lacks.
    Edit(usize),
    /// Sets or removes the generation annotation.
    SetGeneration(usize, Option<i64>),
    /// Removes the adapter's labels from an object.
    StripLabels(usize),
    /// Removes the owner references of an object.
    DropOwners(usize),
    /// Sets a phase in the status: done or busy.
    SetPhase(usize, bool),
    /// Removes the mark of a disowned object.
    Reclaim(usize),
    /// Creates a foreign object with the name that the manifest renders for the latest generation, or for a
    /// later one.
    Squat(usize, i64),
    /// Creates an object like one of the Go adapter: with the author's label, without the adapter's.
    Inherit(usize),
    /// Runs the garbage collector, which removes objects whose owners are gone.
    CollectGarbage,
    /// Lets this many hours pass.
    Wait(i64),
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.past.iter().enumerate() {
            match step {
                Step::Event { event, delivery, again } => {
                    let again = if *again { ", then once more" } else { "" };
                    writeln!(f, "{:>3}. event {event}{delivery}{again}", number + 1)?;
                }
                Step::Act(act) => writeln!(f, "{:>3}. somebody: {act:?}", number + 1)?,
            }
        }
        writeln!(f, "then event {}, delivered", self.event)?;
        for delivery in &self.disturbances {
            let late =
                if delivery.late > 0 { format!(" {} generations too late", delivery.late) } else { String::new() };
            writeln!(f, "     -{late}{delivery}")?;
        }
        writeln!(f, "     - undisturbed")
    }
}

impl fmt::Display for EventShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {{", self.age)?;
        for (flag, value) in &self.flags {
            write!(f, " {}: {value}", flag.name())?;
        }
        f.write_str(" }")
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " at replica {}", self.replica)?;
        for (number, fault) in &self.faults {
            write!(f, ", call {number}: {fault:?}")?;
        }
        if let Some((number, meanwhile)) = &self.pause {
            write!(f, ", before call {number} meanwhile:")?;
            for step in meanwhile {
                match step {
                    Meanwhile::Event(None, faults) => write!(f, " [the same event at the other replica {faults:?}]")?,
                    Meanwhile::Event(Some(event), faults) => {
                        write!(f, " [event {event} at the other replica {faults:?}]")?;
                    }
                    Meanwhile::Act(act) => write!(f, " [somebody: {act:?}]")?,
                }
            }
        }
        Ok(())
    }
}
