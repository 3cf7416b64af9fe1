//! Decides the next request of a replica, and whether the replica leads.
//!
//! In: the answers to its requests, with the instants at which each was sent and its answer arrived. Out: the next
//! request, or how long to wait; the [`Term`] that this replica may claim. Fails: never; an answer that says
//! nothing ends no term before its deadline. Pure: the caller passes the clocks in.

use std::mem;

use jiff::Timestamp;
use tokio::time::Instant;

use super::claim::End;
use super::record::{Record, Spec};
use super::settings::Settings;
use super::term::Term;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Decide again at this instant.
    Wait(Instant),
    Send(Request),
    /// The election is over for this replica.
    Done,
}

/// A request about the Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Read,
    /// Creates the Lease, without a holder.
    Create(Spec),
    /// Changes the very record that was read.
    Write {
        fence: Fenced,
        spec: Spec,
    },
}

/// The UID and resource version that the Lease must have for a write to succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fenced {
    pub(super) uid: String,
    pub(super) resource_version: String,
}

/// What a request showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The Lease, as it was read or written.
    Lease(Record),
    /// The server answers that the Lease does not exist.
    Absent,
    /// 409: another write came first.
    Refused,
    /// Whether the request was carried out, or what the Lease is, is unknown.
    Failed,
}

/// The Lease as last seen; none if the server answered that it does not exist.
struct Seen {
    record: Option<Record>,
    /// When this replica first saw the Lease in this state. The last renewal was carried out before.
    since: Instant,
}

/// Which request comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Read,
    /// The Lease was just read, and this replica may write it.
    Act,
    /// The last write succeeded, so the next renewal needs no read.
    Renew,
}

pub(super) struct Machine {
    settings: Settings,
    identity: String,
    seen: Option<Seen>,
    /// The highest `leaseTransitions` seen, so that the number rises even if the Lease is deleted.
    highest: u32,
    term: Option<Term>,
    end: End,
    turn: Turn,
    next: Instant,
    is_stopping: bool,
}

impl Machine {
    pub(super) fn new(settings: Settings, identity: String, now: Instant) -> Self {
        Self {
            settings,
            identity,
            seen: None,
            highest: 0,
            term: None,
            end: End::Stopped,
            turn: Turn::Read,
            next: now,
            is_stopping: false,
        }
    }

    /// The term that this replica may claim until [`Term::until`].
    pub(super) fn claim(&self) -> Option<&Term> {
        self.term.as_ref().filter(|_| !self.is_stopping)
    }

    /// Why the last term ended.
    pub(super) fn end(&self) -> &End {
        &self.end
    }

    /// The Lease as last seen.
    pub(super) fn record(&self) -> Option<&Record> {
        self.seen.as_ref()?.record.as_ref()
    }

    /// Ends the term if its deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.term.as_ref().is_some_and(|term| now >= term.until) {
            self.end_term(End::Deadline);
        }
    }

    /// Ends the claim. From now on [`decide`](Self::decide) only gives the Lease back.
    pub(super) fn stop(&mut self) {
        if self.claim().is_some() {
            self.end = End::Stopped;
        }
        self.is_stopping = true;
    }

    /// Says what to do at the instant `now`; `wall` is the time that a write records.
    pub(super) fn decide(&mut self, now: Instant, wall: Timestamp) -> Step {
        self.expire(now);
        if self.is_stopping && self.term.is_none() {
            return Step::Done;
        }
        if now < self.next && !self.is_stopping {
            return Step::Wait(self.term.as_ref().map_or(self.next, |term| term.until.min(self.next)));
        }
        let request = match self.turn {
            Turn::Read => None,
            Turn::Act | Turn::Renew => self.write(wall),
        };
        Step::Send(request.unwrap_or(Request::Read))
    }

    /// The request that creates, acquires, renews or releases the Lease.
    fn write(&self, wall: Timestamp) -> Option<Request> {
        let (number, acquired) =
            self.term.as_ref().map_or((self.highest + 1, wall), |term| (term.number, term.acquired));
        let spec = Spec {
            holder: self.identity.clone(),
            duration: self.settings.duration,
            acquired,
            renewed: wall,
            transitions: number,
        };
        match &self.seen.as_ref()?.record {
            // Somebody may have deleted the Lease under a leader whose claim lasts, so its creation gives no claim. An
            // absence has no version, so waiting for its end would miss a Lease that was created and deleted meanwhile.
            None => Some(Request::Create(Spec { holder: String::new(), transitions: self.highest, ..spec })),
            Some(record) => {
                let fence = Fenced { uid: record.uid.clone(), resource_version: record.resource_version.clone() };
                Some(Request::Write { fence, spec: if self.is_stopping { spec.released() } else { spec } })
            }
        }
    }

    /// Takes the answer to `request`, which was sent at `sent` and answered at `now`.
    pub(super) fn receive(&mut self, request: &Request, sent: Instant, answer: Answer, now: Instant) {
        self.expire(now);
        self.next = sent + self.settings.retry;
        let turn = mem::replace(&mut self.turn, Turn::Read);
        match (request, answer) {
            (Request::Read, Answer::Lease(record)) => self.read(record, now),
            (Request::Create(spec) | Request::Write { spec, .. }, Answer::Lease(record)) => {
                let fence = match request {
                    Request::Write { fence, .. } => Some(fence),
                    Request::Read | Request::Create(_) => None,
                };
                self.written(fence, spec, record, sent, now);
            }
            (_, Answer::Absent) => {
                self.end_term(End::Deleted);
                self.observe(None, now);
                self.act_if(true, now);
            }
            (_, Answer::Refused) => {
                // A replica that held the Lease learns at once whether it still does. The second refusal in a row
                // waits, so that a server that refuses every write is not asked without pause.
                if turn == Turn::Renew {
                    self.next = now;
                } else if self.is_stopping {
                    self.term = None;
                }
            }
            (_, Answer::Failed) if self.is_stopping => self.term = None,
            (_, Answer::Failed) => {}
        }
    }

    fn read(&mut self, record: Record, now: Instant) {
        match &self.term {
            Some(term) if term.uid != record.uid => self.end_term(End::Deleted),
            Some(term) if !self.is_mine(&record, term.number) => {
                self.end_term(End::TakenOver { holder: record.holder.clone() });
            }
            Some(_) | None => {}
        }
        self.observe(Some(record), now);
        self.act_if(self.term.is_some() || self.may_take(now), now);
    }

    fn written(&mut self, fence: Option<&Fenced>, spec: &Spec, record: Record, sent: Instant, now: Instant) {
        // The answer to a renewal may arrive after the deadline; a term that has ended stays so.
        let is_over = self.term.is_none() && spec.transitions <= self.highest;
        // A write that left the Lease as it was is no sign of life: the other replicas saw no change.
        let is_unchanged = fence.is_some_and(|fence| fence.resource_version == record.resource_version);
        let uid = record.uid.clone();
        let is_mine = self.is_mine(&record, spec.transitions);
        self.observe(Some(record), now);
        if spec.holder.is_empty() {
            self.term = None;
            return;
        }
        let until = sent + self.settings.renew_deadline;
        if is_over || is_unchanged || !is_mine || now >= until {
            return;
        }
        self.turn = Turn::Renew;
        match &mut self.term {
            Some(term) => term.until = until,
            None => {
                let (number, acquired) = (spec.transitions, spec.acquired);
                self.term = Some(Term { number, until, uid, acquired });
            }
        }
    }

    fn is_mine(&self, record: &Record, number: u32) -> bool {
        record.holder == self.identity && record.transitions == number
    }

    /// Remembers the Lease; if it changed, as seen since `now`.
    ///
    /// Every change counts as a sign of life, whoever made it. A change of `renewTime` alone would not do: clocks
    /// that are set back can write the same time twice.
    fn observe(&mut self, record: Option<Record>, now: Instant) {
        let version = |record: &Option<Record>| record.as_ref().map(|it| (it.uid.clone(), it.resource_version.clone()));
        let since = match &self.seen {
            Some(seen) if version(&seen.record) == version(&record) => seen.since,
            Some(_) | None => now,
        };
        self.highest = self.highest.max(record.as_ref().map_or(0, |record| record.transitions));
        self.seen = Some(Seen { record, since });
    }

    /// Whether every claim by the Lease as it was seen has ended.
    fn may_take(&self, now: Instant) -> bool {
        let Some(seen) = &self.seen else { return false };
        match &seen.record {
            Some(record) if record.is_released() => true,
            Some(record) => now >= seen.since + record.duration.max(self.settings.duration),
            None => false,
        }
    }

    fn act_if(&mut self, may_write: bool, now: Instant) {
        if may_write {
            self.turn = Turn::Act;
            self.next = now;
        }
    }

    fn end_term(&mut self, end: End) {
        if self.term.take().is_some() && !self.is_stopping {
            self.end = end;
        }
        self.turn = Turn::Read;
    }
}

#[cfg(test)]
mod tests;
