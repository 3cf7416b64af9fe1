//! Which event runs next.
//!
//! In: events as they arrive, and word of those that ended. Out: the events to start, and those that a newer
//! one made superfluous. No clock, no task, no message: a state machine that a test can drive.
//!
//! Each API resource has a lane. A lane runs one event at a time, in order of arrival; all lanes together run
//! at most `parallelism`. A lane that gave up its turn queues behind the others, so that a busy resource
//! does not starve a quiet one.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;

use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::id::Generation;

/// What must not run at the same time as itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LaneKey {
    /// Events about this API resource.
    Resource {
        /// The resource's kind.
        kind: String,
        /// The resource's id.
        id: String,
    },
    /// The event itself, as it names no resource: only its own redelivery can collide with it.
    Event(String),
}

impl LaneKey {
    /// The lane that `event` belongs to.
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

/// The lanes and their turns.
#[derive(Debug)]
pub struct Lanes<T> {
    parallelism: usize,
    held: bool,
    running: usize,
    waiting: usize,
    lanes: HashMap<LaneKey, Lane<T>>,
    /// Lanes with something waiting and nothing running, each once, longest waiting first.
    ready: VecDeque<LaneKey>,
}

/// One resource. Kept only while it has something running or waiting.
#[derive(Debug)]
struct Lane<T> {
    running: bool,
    /// In order of arrival. Generations fall strictly: whatever is not lower replaces what it overtakes.
    waiting: VecDeque<(Generation, T)>,
}

impl<T> Lanes<T> {
    /// No lanes yet.
    #[must_use]
    pub fn new(parallelism: NonZeroUsize) -> Self {
        Self {
            parallelism: parallelism.get(),
            held: false,
            running: 0,
            waiting: 0,
            lanes: HashMap::new(),
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

    /// Starts nothing any more while `held`; what arrives waits.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Takes in an event.
    ///
    /// A waiting event is replaced by a newer one only if its generation is not higher: a late event of an old
    /// generation must not swallow the news that waits.
    pub fn offer(&mut self, key: LaneKey, generation: Generation, event: T) -> Offered<T> {
        let free = self.has_room();
        let lane = self.lanes.entry(key.clone()).or_insert_with(|| Lane { running: false, waiting: VecDeque::new() });
        let quiet = !lane.running && lane.waiting.is_empty();
        if quiet && free {
            lane.running = true;
            self.running += 1;
            return Offered::Start(event);
        }
        let kept = lane.waiting.partition_point(|(waiting, _)| *waiting > generation);
        let replaced: Vec<T> = lane.waiting.drain(kept..).map(|(_, event)| event).collect();
        lane.waiting.push_back((generation, event));
        self.waiting = self.waiting + 1 - replaced.len();
        if quiet {
            self.ready.push_back(key);
        }
        Offered::Waits { replaced }
    }

    /// Takes note that the event which ran in lane `key` ended, and hands out the one to start in its place.
    ///
    /// Of a lane that runs nothing there is nothing to note.
    pub fn finished(&mut self, key: &LaneKey) -> Option<(LaneKey, T)> {
        let lane = self.lanes.get_mut(key).filter(|lane| lane.running)?;
        lane.running = false;
        self.running -= 1;
        if lane.waiting.is_empty() {
            self.lanes.remove(key);
        } else {
            self.ready.push_back(key.clone());
        }
        self.start_next()
    }

    fn has_room(&self) -> bool {
        !self.held && self.running < self.parallelism
    }

    /// Gives up everything that waits, in no particular order. What runs goes on.
    pub fn drain(&mut self) -> Vec<T> {
        self.ready.clear();
        self.waiting = 0;
        let waiting = self.lanes.values_mut().flat_map(|lane| lane.waiting.drain(..)).map(|(_, event)| event).collect();
        self.lanes.retain(|_, lane| lane.running);
        waiting
    }

    /// Hands out the next event to start, if there is room for it.
    pub fn start_next(&mut self) -> Option<(LaneKey, T)> {
        if !self.has_room() {
            return None;
        }
        let key = self.ready.pop_front()?;
        let lane = self.lanes.get_mut(&key)?;
        let (_, event) = lane.waiting.pop_front()?;
        lane.running = true;
        self.running += 1;
        self.waiting -= 1;
        Some((key, event))
    }
}

#[cfg(test)]
mod tests;
