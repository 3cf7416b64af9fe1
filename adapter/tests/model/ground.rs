//! The server under a model: in memory, or real.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperfleet_adapter::transport::Transport;
use jiff::Timestamp;

use crate::journal::Journal;
use crate::sequence::Fault;
use crate::shape::TaskShape;

/// A server.
pub(crate) trait Ground {
    type Transport: Transport;

    /// The server as nobody in particular.
    fn store(&self) -> Arc<Self::Transport>;

    /// The server as a replica reaches it.
    fn wire(&self, replica: usize) -> Arc<Self::Transport>;

    /// The namespace of all objects.
    fn namespace(&self) -> &str;

    /// Where the custom kind lives.
    fn group(&self) -> &str;

    /// Sets the server's clock, as far as it can be set.
    fn set_now(&self, now: Timestamp);

    /// Has the wire do what faults it can before a pass; gives back the others, which the watching transport then does.
    fn inject(&self, replica: usize, faults: BTreeMap<usize, Fault>) -> BTreeMap<usize, Fault>;

    /// Ends what `inject` began; says how many faults came true.
    fn heal(&self, replica: usize) -> usize;

    /// Lets the garbage collector, and other controllers, do all that they have to do.
    async fn settle(&self, journal: &Journal<Self::Transport>) -> anyhow::Result<()>;

    /// Whether controllers write to objects of the task whenever they like.
    fn is_busy(&self, task: &TaskShape) -> bool;
}
