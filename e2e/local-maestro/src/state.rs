//! What all parts of the server share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use lifecycle_proto::CloudEvent;
use tokio::sync::{mpsc, watch};

use crate::broadcast::Subscribers;
use crate::database::Database;
use crate::event::Event;
use crate::faults::Faults;
use crate::publish::{self, EventType, SpecEvent};
use crate::refusal::Refusal;
use crate::reports;
use crate::sequence::Sequence;
use crate::spoke::Agent;
use crate::status::{self, Outgoing, Report, Reported};

/// The server's state and its ways out.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    outbox: mpsc::UnboundedSender<Outgoing>,
    broadcaster: mpsc::Sender<Outgoing>,
    /// Wakes agents: something waits for them.
    pub(crate) wake: watch::Sender<u64>,
    pub(crate) subscribers: Subscribers,
    pub(crate) faults: Faults,
}

/// What changes.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) database: Database,
    /// What REST reads instead of the tables, while reads are frozen.
    pub(crate) frozen: Option<Database>,
    /// The agents, by the consumer's name; they are no part of the database.
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) sequence: Sequence,
    /// Whether an agent is told again of a deletion that is repeated.
    pub(crate) repeats_deletions: bool,
    pub(crate) published: Vec<CloudEvent>,
    pub(crate) rest_requests: Vec<String>,
}

impl State {
    /// The agent of a consumer; a new one has nothing yet.
    pub(crate) fn agent(&mut self, consumer: &str) -> &mut Agent {
        self.agents.entry(consumer.to_owned()).or_default()
    }

    /// What a repeated deletion tells an agent.
    fn repeated_deletion(&self, event: &Event, kind: &EventType) -> Option<SpecEvent> {
        let is_repeated = self.repeats_deletions && kind.action == "delete_request";
        let id = event.extensions.get("resourceid")?.text().filter(|_| is_repeated)?;
        let bundle = self.database.bundles.get(id)?;
        Some(SpecEvent { consumer: bundle.consumer.clone(), id: bundle.id.clone() })
    }

    fn tell(&mut self, event: SpecEvent) {
        let agent = self.agent(&event.consumer);
        // An agent that is offline hears of everything when it comes back.
        if !agent.is_offline {
            agent.queue.push_back(event.id);
        }
    }
}

impl Shared {
    pub(crate) fn new(
        outbox: mpsc::UnboundedSender<Outgoing>,
        broadcaster: mpsc::Sender<Outgoing>,
        faults: Faults,
    ) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            outbox,
            broadcaster,
            wake: watch::Sender::new(0),
            subscribers: Subscribers::default(),
            faults,
        })
    }

    /// Locks the state for one change or look.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores a spec event, and tells the agent of it.
    pub(crate) fn store(&self, event: &Event, kind: &EventType) -> Result<(), Refusal> {
        let told = self.with(|state| {
            let told = publish::store(&mut state.database, event, kind, Timestamp::now())?;
            let told = told.or_else(|| state.repeated_deletion(event, kind));
            if let Some(told) = told.filter(|_| !self.faults.takes_lost_spec_event()) {
                state.tell(told);
            }
            Ok(())
        });
        self.wake();
        told
    }

    /// Marks a bundle as being deleted, as REST does.
    pub(crate) fn delete(&self, id: &str) {
        self.with(|state| {
            let marked = state.database.mark_deleted(id, Timestamp::now());
            let told = marked.map(|bundle| SpecEvent { consumer: bundle.consumer.clone(), id: bundle.id.clone() });
            if let Some(told) = told {
                state.tell(told);
            }
        });
        self.wake();
    }

    /// Applies an agent's report, and queues what subscribers hear of it.
    pub(crate) fn report(&self, report: Report) -> Reported {
        // The outbox is filled under the lock: its order is that of the changes.
        self.with(|state| self.report_in(state, report))
    }

    /// As [`Shared::report`], for callers that hold the lock.
    pub(crate) fn report_in(&self, state: &mut State, report: Report) -> Reported {
        let (reported, outgoing) = status::apply(&mut state.database, report, Timestamp::now());
        if let Some(outgoing) = outgoing {
            // An error means that the server has stopped.
            let _ = self.outbox.send(outgoing);
        }
        reported
    }

    /// Applies a report under the agent's next sequence id. Conditions that have not changed keep their times.
    pub(crate) fn send(&self, state: &mut State, mut report: Report) -> Reported {
        report.sequence_id = state.sequence.next(Timestamp::now());
        if let Some(status) = state.database.bundles.get(&report.id).and_then(|bundle| bundle.status.as_ref()) {
            reports::keep_times(status, &mut report);
        }
        self.report_in(state, report)
    }

    /// Sends events past the outbox, and waits until the broadcaster has taken them all.
    pub(crate) async fn broadcast(&self, events: Vec<Outgoing>) {
        for event in events {
            let _ = self.broadcaster.send(event).await;
        }
    }

    /// Wakes all agents.
    pub(crate) fn wake(&self) {
        self.wake.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Changes a bundle without its client: as another client that sends the same content does.
    pub(crate) fn bump(&self, id: &str) -> Option<i32> {
        let version = self.with(|state| {
            let written = state.database.write();
            let bundle = state.database.bundles.get_mut(id)?;
            bundle.version = bundle.version.saturating_add(1);
            bundle.payload.insert("id".to_owned(), uuid::Uuid::new_v4().to_string().into());
            bundle.written = written;
            bundle.updated_at = Timestamp::now();
            let (version, told) =
                (bundle.version, SpecEvent { consumer: bundle.consumer.clone(), id: bundle.id.clone() });
            state.tell(told);
            Some(version)
        });
        self.wake();
        version
    }
}
