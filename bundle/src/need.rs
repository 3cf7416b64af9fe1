//! What a pass asks of its caller, and the answers.

use lifecycle_objects::failure::Failure;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Observation, Query};
use lifecycle_objects::write::{Command, Executed, WriteError};

use super::guard::Members;
use super::memory::Memory;
use super::siblings::Siblings;

/// What a pass needs before it can go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// An answer of the cluster.
    Request(Request),
    /// To know what the other entries render. That takes no request.
    Siblings,
    /// That this memory is kept where the next pass reads it.
    Remember(Memory),
}

/// What a cluster is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Read these, all at the same time, each in whichever version the server serves the kind.
    Read(Vec<Query>),
    /// Execute these, all at the same time.
    Write(Vec<Command>),
    /// Look at these, all at the same time, for something that is not of this set.
    Inspect(Vec<Inspection>, Members),
}

/// What came of a [`Need`].
#[derive(Debug)]
pub enum Answer {
    /// The answer of the cluster.
    Response(Response),
    /// What the other entries render.
    Siblings(Siblings),
    /// Whether the memory is kept.
    Remembered(Result<(), NotKept>),
}

/// What came of a [`Request`], in the same order.
#[derive(Debug)]
pub enum Response {
    /// What was read.
    Read(Vec<Observation>),
    /// What became of the commands.
    Written(Vec<Executed>),
    /// The first object of others; none where there is nothing of others.
    Inspected(Vec<Result<Option<Identity>, WriteError>>),
}

/// Why a memory was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotKept {
    /// Its namespace is being deleted. It can be kept once that is gone.
    NamespaceTerminating,
    /// It could not be written.
    Failed(Failure),
}
