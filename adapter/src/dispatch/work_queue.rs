//! The work queue: which event runs next.
//!
//! In: events as they arrive, and which of them ended. Out: the events to start, and those that a newer event replaces.
//! Nothing can fail. The queue reads no clock and starts no task: a state machine that a test can drive.
//!
//! Each API resource has a key. The events of one key run one at a time, in order of arrival; events of different keys run
//! side by side, at most `parallelism` of them. A key whose event ended queues behind the others, so that a busy API resource
//! does not starve a quiet one.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;

use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::id::Generation;

/// Events of the same key never run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Events about this API resource.
    Resource {
        /// The resource's kind.
        kind: String,
        /// The resource's id.
        id: String,
    },
    /// The event itself, because it names no API resource: only its own redelivery has the same key.
    Event(String),
}

impl Key {
    /// The key of `event`.
    #[must_use]
    pub fn of(event: &LifecycleEvent) -> Self {
        if event.resource_id.is_empty() {
            Self::Event(event.event_id.clone())
        } else {
            Self::Resource { kind: event.kind.clone(), id: event.resource_id.clone() }
        }
    }
}

/// What became of an event that was offered.
#[derive(Debug, PartialEq, Eq)]
pub enum Offered<T> {
    /// Start it now.
    Start(T),
    /// It waits, in place of those that it made superfluous (mostly none).
    Waits {
        /// Events that will never run.
        replaced: Vec<T>,
    },
}

/// The events that run and wait, by key.
#[derive(Debug)]
pub struct WorkQueue<T> {
    parallelism: usize,
    held: bool,
    running: usize,
    waiting: usize,
    keys: HashMap<Key, Events<T>>,
    /// Keys of which an event waits and none runs, each once, longest waiting first.
    ready: VecDeque<Key>,
}

/// The events of one key, kept while one of them runs or waits.
#[derive(Debug)]
struct Events<T> {
    running: bool,
    /// In order of arrival. Generations fall strictly, because an event replaces the waiting ones of no higher generation.
    waiting: VecDeque<(Generation, T)>,
}

impl<T> WorkQueue<T> {
    /// An empty queue.
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

    /// How many events run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
    }

    /// How many events wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Starts no event while `held`; events that arrive wait.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Takes in an event.
    ///
    /// The event replaces a waiting one only if that one's generation is not higher: a late event of an old generation must
    /// not discard a newer one that waits.
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

    /// Notes that the running event of `key` ended, and hands out the event to start in its place.
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

    /// Gives up every waiting event, in no particular order. Running events go on.
    pub fn drain(&mut self) -> Vec<T> {
        self.ready.clear();
        self.waiting = 0;
        let waiting =
            self.keys.values_mut().flat_map(|events| events.waiting.drain(..)).map(|(_, event)| event).collect();
        self.keys.retain(|_, events| events.running);
        waiting
    }

    /// Hands out the next event to start, if there is room for it.
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
