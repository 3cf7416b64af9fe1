//! What happens to a task: events, what other people do meanwhile, and faults.
//!
//! A [`Sequence`] is plain data, so that it can be generated, made smaller, printed and written down in a regression test.

use std::collections::BTreeMap;
use std::fmt;

use crate::shape::{Flag, TaskShape};

/// One run of the model: a past of any kind, then one event that is disturbed until it is left in peace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sequence {
    pub(crate) task: TaskShape,
    pub(crate) past: Vec<Step>,
    pub(crate) event: EventShape,
    /// What the passes of `event` suffer before faults cease. Each is one pass.
    pub(crate) disturbances: Vec<Delivery>,
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// An event comes. If `again`, it comes once more when its pass has ended.
    Event { event: EventShape, delivery: Delivery, again: bool },
    /// Somebody else does something.
    Act(Act),
}

/// An event, relative to those before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventShape {
    pub(crate) age: Age,
    pub(crate) flags: Flags,
}

/// The values of the flags; what is not here is not in the event.
pub(crate) type Flags = BTreeMap<Flag, bool>;

/// The generation of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// One generation later than the latest event so far.
    Next,
    /// Of the latest generation.
    Same,
    /// So many generations before the latest.
    Late(i64),
}

/// How an event is handled.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Delivery {
    /// Which of the two replicas takes it.
    pub(crate) replica: usize,
    /// Only among the disturbances: what is delivered is an event that is so many generations older.
    pub(crate) late: i64,
    /// What becomes of the calls of its pass, counted from 1.
    pub(crate) faults: BTreeMap<usize, Fault>,
    /// Before which call the pass stands still, and what happens until it goes on.
    pub(crate) pause: Option<(usize, Vec<Meanwhile>)>,
}

/// What happens while a pass stands still.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meanwhile {
    /// The other replica handles an event from beginning to end; none means the very same event.
    Event(Option<EventShape>, BTreeMap<usize, Fault>),
    /// Somebody else does something.
    Act(Act),
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server refuses, and does nothing.
    Refused(Refusal),
    /// The connection breaks before the server has the request.
    LostRequest,
    /// The server does it, and the connection breaks before the answer.
    LostAnswer,
    /// There is no answer before the deadline; the server did it, or not.
    Silence { done: bool },
    /// The process ends before the call, or right after it.
    Crash { done: bool },
}

/// How a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 409: for a creation, that the name is taken; for other writes, that the object has changed.
    Conflict,
    /// 422.
    Invalid,
    /// 403.
    Forbidden,
    /// 429.
    TooManyRequests,
    /// 503.
    Unavailable,
}

/// What somebody else does. Objects are chosen by their place among those that are there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    Delete(usize),
    /// Adds a finalizer.
    Hold(usize),
    /// Takes it off.
    LetGo(usize),
    /// Changes a field that the manifest sets, and adds one that it does not.
    Edit(usize),
    /// Writes another generation onto the object, or takes it off.
    SetGeneration(usize, Option<i64>),
    /// Takes the adapter's labels off.
    StripLabels(usize),
    /// Takes the owner references off.
    DropOwners(usize),
    /// Says in the status that the object is done, or is not.
    SetPhase(usize, bool),
    /// Removes the mark of a released object.
    Reclaim(usize),
    /// Creates a foreign object of the name that the entry wants for the latest generation, or for one that comes later.
    Squat(usize, i64),
    /// Creates an object as the Go adapter left it: found by the author's own label, without the adapter's.
    Inherit(usize),
    /// The garbage collector gets its turn.
    CollectGarbage,
    /// So many hours pass.
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
        writeln!(f, "then event {}, which comes", self.event)?;
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
