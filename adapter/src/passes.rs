//! Keeps the last passes, each as the text that the page `/passes` shows.
//!
//! In: each pass that ended. Out: the newest of them, and counts of all since the start. The texts say what the log says at level
//! debug, in the words of a dry run's trace, and nothing of bodies, payloads, captures and variables. They take no more than the
//! configured bytes: the oldest pass goes first, and a pass that is too long is cut and says so. Fails: nothing.
//!
//! A pass that panicked, or that a shutdown cancelled, has no report and is not kept.

mod record;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::task::Task;
use serde::Serialize;

use crate::pass::{PassReport, Status};
use record::Record;

/// The share of all bytes that one pass may take, so that the page still shows others beside a large bundle's.
const SHARE: usize = 8;

/// A pass that ended.
#[derive(Debug, Clone)]
pub struct Ended<'a> {
    /// The event of the pass.
    pub event: &'a LifecycleEvent,
    /// The clock of the pass.
    pub now: Timestamp,
    /// The time that the pass took.
    pub took: Duration,
    /// The id of the trace that the pass belongs to, if there is one.
    pub trace_id: Option<String>,
    /// The task of the pass.
    pub task: &'a Task,
    /// The report of the pass.
    pub report: &'a PassReport,
}

/// The last passes, and the counts of all.
#[derive(Debug)]
pub struct Passes {
    most: usize,
    most_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    totals: Totals,
    /// The newest pass is last.
    entries: VecDeque<Entry>,
    /// The sum of the entries' sizes.
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    time: Timestamp,
    resource_id: Box<str>,
    text: Bytes,
}

impl Entry {
    fn size(&self) -> usize {
        self.resource_id.len() + self.text.len()
    }
}

/// The number of passes since the start, by their result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Every phase that ran succeeded, and the preconditions were met.
    pub success: u64,
    /// At least one step failed.
    pub failed: u64,
    /// A precondition was not met, or the API resource is gone.
    pub skipped: u64,
    /// The resources of the task that failed, by reason.
    pub failures: BTreeMap<&'static str, u64>,
}

/// What the page tells of the kept passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// The number of kept passes.
    pub passes: usize,
    /// Their bytes.
    pub bytes: usize,
    /// The most passes that are kept.
    pub max_passes: usize,
    /// The most bytes that are kept.
    pub max_bytes: usize,
    /// The time of the oldest kept pass.
    pub oldest: Option<Timestamp>,
}

/// The passes that a client asked for.
#[derive(Debug, Clone)]
pub struct Found {
    /// The counts of all passes since the start.
    pub totals: Totals,
    /// All that is kept, also what the client did not ask for.
    pub extent: Extent,
    /// The passes as JSON objects, the newest first.
    pub texts: Vec<Bytes>,
}

impl Passes {
    /// Keeps up to `most` passes of up to `most_bytes` together.
    #[must_use]
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self { most, most_bytes, kept: Mutex::default() }
    }

    /// Keeps a pass, in place of the oldest ones if there is no room.
    pub fn keep(&self, ended: &Ended<'_>) {
        let resource_id = &ended.event.resource_id;
        // An id of such a length cannot be one of the API: its pass is counted, and has no place of its own in the filter.
        let resource_id = if resource_id.len() > self.most_bytes / (4 * SHARE) { "" } else { resource_id };
        let text = Record::of(ended).text(self.most_bytes / SHARE - resource_id.len());
        let entry = Entry { time: ended.now, resource_id: resource_id.into(), text: Bytes::from(text) };
        let mut kept = self.lock();
        kept.totals.count(ended.report);
        kept.bytes += entry.size();
        kept.entries.push_back(entry);
        while kept.entries.len() > self.most || kept.bytes > self.most_bytes {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.size();
        }
    }

    /// Finds the newest `limit` passes, of one API resource if `resource_id` names it.
    #[must_use]
    pub fn find(&self, resource_id: Option<&str>, limit: usize) -> Found {
        let kept = self.lock();
        let entries = kept.entries.iter().rev();
        let asked = entries.filter(|entry| resource_id.is_none_or(|id| *entry.resource_id == *id));
        Found {
            totals: kept.totals.clone(),
            extent: Extent {
                passes: kept.entries.len(),
                bytes: kept.bytes,
                max_passes: self.most,
                max_bytes: self.most_bytes,
                oldest: kept.entries.front().map(|entry| entry.time),
            },
            // Clones share the text.
            texts: asked.take(limit).map(|entry| entry.text.clone()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    fn count(&mut self, report: &PassReport) {
        match report.status() {
            Status::Success => self.success += 1,
            Status::Failed => self.failed += 1,
            Status::Skipped => self.skipped += 1,
        }
        for failure in report.outcomes.iter().filter_map(|outcome| outcome.failure()) {
            *self.failures.entry(failure.reason.as_str()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests;
