//! The faults that a test switches on.
//!
//! A count is that of the next requests or events; each is met by one. Faults of streams hold for all streams, open and
//! new.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::broadcast::Pace;

/// The switches. A clone shares them.
#[derive(Debug, Clone)]
pub struct Faults {
    counts: Arc<Mutex<Counts>>,
    pace: watch::Sender<Pace>,
}

#[derive(Debug, Default)]
struct Counts {
    unavailable: usize,
    hanging: usize,
    locked: usize,
    lost_answers: usize,
    failing_requests: usize,
    lost_spec_events: usize,
    duplicates: usize,
    reversed: usize,
    is_without_heartbeats: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self { counts: Arc::default(), pace: watch::Sender::new(Pace::default()) }
    }
}

impl Faults {
    /// Answers the next `count` calls of Publish with the code `Unavailable`, without an effect.
    pub fn refuse_publish(&self, count: usize) {
        self.with(|counts| counts.unavailable = count);
    }

    /// Never answers the next `count` calls of Publish, which have no effect.
    pub fn hang_publish(&self, count: usize) {
        self.with(|counts| counts.hanging = count);
    }

    /// Refuses the next `count` updates, because another one holds the lock of the database.
    pub fn lock_updates(&self, count: usize) {
        self.with(|counts| counts.locked = count);
    }

    /// Breaks the connection after each of the next `count` calls of Publish that had an effect, before the answer.
    pub fn lose_answers(&self, count: usize) {
        self.with(|counts| counts.lost_answers = count);
    }

    /// Stores each of the next `count` writes and tells no agent of it, as when the database is lost between the write and the
    /// queueing of its event. The agent hears of the row with its next change, or when it reconnects.
    pub fn lose_spec_events(&self, count: usize) {
        self.with(|counts| counts.lost_spec_events = count);
    }

    /// Answers the next `count` requests over REST with 500, without an effect.
    pub fn fail_rest(&self, count: usize) {
        self.with(|counts| counts.failing_requests = count);
    }

    /// Sends each of the next `count` status events twice.
    pub fn duplicate_events(&self, count: usize) {
        self.with(|counts| counts.duplicates = count);
    }

    /// Holds the next `count` status events until the last of them, and sends them in reverse order.
    pub fn reverse_events(&self, count: usize) {
        self.with(|counts| counts.reversed = count);
    }

    /// Stops the heartbeats of all streams, and starts them again.
    pub fn stop_heartbeats(&self, is_stopped: bool) {
        self.with(|counts| counts.is_without_heartbeats = is_stopped);
    }

    /// Delivers nothing on any stream, neither events nor heartbeats, until told otherwise.
    pub fn hold_streams(&self, is_held: bool) {
        self.pace.send_modify(|pace| pace.is_held = is_held);
    }

    /// Waits before each event and heartbeat on each stream.
    pub fn slow_streams(&self, delay: Option<Duration>) {
        self.pace.send_modify(|pace| pace.delay = delay);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Counts) -> T) -> T {
        act(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn pace(&self) -> watch::Receiver<Pace> {
        self.pace.subscribe()
    }

    pub(crate) fn takes_unavailable(&self) -> bool {
        self.with(|counts| take(&mut counts.unavailable))
    }

    pub(crate) fn takes_hanging(&self) -> bool {
        self.with(|counts| take(&mut counts.hanging))
    }

    pub(crate) fn takes_locked(&self) -> bool {
        self.with(|counts| take(&mut counts.locked))
    }

    pub(crate) fn takes_lost_answer(&self) -> bool {
        self.with(|counts| take(&mut counts.lost_answers))
    }

    pub(crate) fn takes_lost_spec_event(&self) -> bool {
        self.with(|counts| take(&mut counts.lost_spec_events))
    }

    pub(crate) fn takes_failing_request(&self) -> bool {
        self.with(|counts| take(&mut counts.failing_requests))
    }

    pub(crate) fn takes_duplicate(&self) -> bool {
        self.with(|counts| take(&mut counts.duplicates))
    }

    /// Counts one event towards a reversal, and says whether it waits for more.
    pub(crate) fn holds_for_reversal(&self) -> bool {
        self.with(|counts| take(&mut counts.reversed) && counts.reversed > 0)
    }

    pub(crate) fn has_heartbeats(&self) -> bool {
        self.with(|counts| !counts.is_without_heartbeats)
    }
}

fn take(count: &mut usize) -> bool {
    let is_left = *count > 0;
    *count = count.saturating_sub(1);
    is_left
}
