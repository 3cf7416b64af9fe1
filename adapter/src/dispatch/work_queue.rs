//! The work queue: decides which event runs next.
//!
//! In: events as they arrive, and the ends of passes. Out: the events to start, and the events that a newer one
//! replaces. The queue never fails. It reads no clock and spawns no task, so that tests can drive it step by
//! step.
//!
//! Each API resource has a key. Events of one key run one at a time, in order of arrival. Events of different
//! keys run in parallel, at most `parallelism` at a time. After an event ends, its key moves behind the other
//! waiting keys, so that a busy API resource does not starve a quiet one.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;

use lifecycle_core::event::LifecycleEvent;
use lifecycle_objects::id::Generation;

/// Identifies events that must not run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Events about one API resource have one key.
    Resource {
        /// The kind of the API resource, such as `Cluster`.
        kind: String,
        /// The id of the API resource.
        id: String,
    },
    /// The event's own id, because the event names no API resource: only a redelivery of the same event has the
    /// same key.
    Event(String),
}

impl Key {
    /// Returns the key of an event: events with equal keys run one after the other.
    #[must_use]
    pub fn of(event: &LifecycleEvent) -> Self {
        if event.resource_id.is_empty() {
            Self::Event(event.event_id.clone())
        } else {
            Self::Resource { kind: event.kind.clone(), id: event.resource_id.clone() }
        }
    }
}

/// The result of [`WorkQueue::offer`]: whether the new event starts or waits.
#[derive(Debug, PartialEq, Eq)]
pub enum Offered<T> {
    /// The caller must start this event now: no event of its key is running, and a slot is free.
    Start(T),
    /// The event waits, and replaces the events in `replaced`.
    Waits {
        /// Waiting events that the new event replaces; they never run.
        replaced: Vec<T>,
    },
}

/// The running and the waiting events, by key.
#[derive(Debug)]
pub struct WorkQueue<T> {
    parallelism: usize,
    held: bool,
    running: usize,
    waiting: usize,
    keys: HashMap<Key, Events<T>>,
    /// Keys with a waiting but without a running event, each once, the longest waiting first.
    ready: VecDeque<Key>,
}

/// The events of one key. The entry exists while one of them runs or waits.
#[derive(Debug)]
struct Events<T> {
    running: bool,
    /// Waiting events in order of arrival. Their generations fall strictly, because an event replaces waiting
    /// ones of the same or a lower generation.
    waiting: VecDeque<(Generation, T)>,
}

impl<T> WorkQueue<T> {
    /// Creates an empty queue that lets `parallelism` events run at once.
    #[must_use]
    pub fn new(parallelism: NonZeroUsize) -> Self {
        Self {
            parallelism: parallelism.get(),
            held: false,
            running: 0,
            waiting: 0,
            keys: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// The number of running events.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
    }

    /// The number of waiting events.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Holds the queue: while `held`, no event starts, and arriving events wait.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Adds an event.
    ///
    /// The event replaces a waiting one only if that one's generation is not higher: a late event of an old
    /// generation must not discard a newer one that waits.
    pub fn offer(&mut self, key: Key, generation: Generation, event: T) -> Offered<T> {
        let free = self.has_room();
        let events =
            self.keys.entry(key.clone()).or_insert_with(|| Events { running: false, waiting: VecDeque::new() });
        let quiet = !events.running && events.waiting.is_empty();
        if quiet && free {
            events.running = true;
            self.running += 1;
            return Offered::Start(event);
        }
        let kept = events.waiting.partition_point(|(waiting, _)| *waiting > generation);
        let replaced: Vec<T> = events.waiting.drain(kept..).map(|(_, event)| event).collect();
        events.waiting.push_back((generation, event));
        self.waiting = self.waiting + 1 - replaced.len();
        if quiet {
            self.ready.push_back(key);
        }
        Offered::Waits { replaced }
    }

    /// Records that the running event of `key` ended, and returns the event to start in its place.
    ///
    /// Does nothing if no event of `key` runs.
    pub fn finished(&mut self, key: &Key) -> Option<(Key, T)> {
        let events = self.keys.get_mut(key).filter(|events| events.running)?;
        events.running = false;
        self.running -= 1;
        if events.waiting.is_empty() {
            self.keys.remove(key);
        } else {
            self.ready.push_back(key.clone());
        }
        self.start_next()
    }

    fn has_room(&self) -> bool {
        !self.held && self.running < self.parallelism
    }

    /// Removes and returns every waiting event, in no particular order. Running events are not affected.
    pub fn drain(&mut self) -> Vec<T> {
        self.ready.clear();
        self.waiting = 0;
        let waiting =
            self.keys.values_mut().flat_map(|events| events.waiting.drain(..)).map(|(_, event)| event).collect();
        self.keys.retain(|_, events| events.running);
        waiting
    }

    /// Returns the next event to start, unless `parallelism` events run already or the queue is held.
    pub fn start_next(&mut self) -> Option<(Key, T)> {
        if !self.has_room() {
            return None;
        }
        let key = self.ready.pop_front()?;
        let events = self.keys.get_mut(&key)?;
        let (_, event) = events.waiting.pop_front()?;
        events.running = true;
        self.running += 1;
        self.waiting -= 1;
        Some((key, event))
    }
}

#[cfg(test)]
mod tests;
