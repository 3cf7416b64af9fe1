//! Elects the one replica that may delete, by a Lease of the API server.
//!
//! In: the [`Settings`] and a client. Out: [`Leadership`], and from it a [`Claim`] for each term of this replica.
//! Fails: only without a namespace; while the API server cannot be reached or refuses, this replica does not lead.
//!
//! | module | idea |
//! | --- | --- |
//! | `machine` | decides the next request and whether this replica leads; pure |
//! | `record` | the Lease as JSON |
//! | `claim` | what whoever deletes asks before each call |
//! | `settings` | durations, and the order that they must have |
//!
//! # Why two claims never hold at the same time
//!
//! * A claim holds until `renew_deadline` after its last successful write of the Lease *was sent*.
//! * A replica takes the Lease over only if it has seen no change of it for `duration`. It counts from the arrival
//!   of the answer that first showed this state, which is after the last write was carried out, and so after
//!   it was sent. The longer of its own duration and the one in the Lease counts, so that replicas with different
//!   settings are safe with each other.
//! * Each write names the UID and resource version that were read, and the API server refuses it after any other
//!   write. So the taken state is the last one, and of several replicas one succeeds.
//! * A Lease that does not exist is created without a holder, and then taken like one that has expired: a leader may
//!   not know yet that somebody deleted the former Lease.
//! * A replica gives the Lease back after its claim has ended and every [`Permit`] was dropped. Only such a Lease is
//!   taken at once; one that a person emptied is not.
//!
//! No clock is compared with another one: times in the Lease are written for people, and never read.
//!
//! # Assumptions
//!
//! * The ratio of the rates of two monotonic clocks stays below `duration / renew_deadline`: 1.5 by default, and at
//!   least 1.25. A monotonic clock that stands still (a suspended virtual machine) breaks this.
//! * A permitted call is over within [`Settings::margin`] after its permit was asked, 5 s by default. A process that is
//!   paused between the question and the call, or a request that is under way for longer, can reach the API
//!   server in another replica's term. Then the fence of the call itself is what is left: it names the UID and resource
//!   version that were judged.
//! * Only electors write the Lease's `spec`; a person may empty the holder. Annotations may be written by anybody. A
//!   person may delete the Lease, except while replicas have different lease durations.

mod claim;
mod machine;
mod record;
mod settings;
mod term;

use jiff::Timestamp;
use lifecycle_errors::Chain;
use lifecycle_kube::{Client, Cluster, Fence};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::WriteErrorKind;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use self::claim::{Claim, End, Leadership, Lease, Permit, TermOver};
pub use self::settings::{NoNamespace, Settings, identity};

use self::claim::{Open, State};
use self::machine::{Answer, Machine, Request, Step};
use self::record::Record;
use self::term::Term;

/// The field manager of the Lease.
const FIELD_MANAGER: &str = "hyperfleet-sweeper-leader";

/// One replica of the election.
pub struct Elector {
    machine: Machine,
    cluster: Cluster,
    object: ObjectRef,
    settings: Settings,
    identity: String,
    states: watch::Sender<State>,
    permits: TaskTracker,
    /// The holder that was last logged.
    holder: String,
    /// Cancels the token of the present term, also if the elector is dropped.
    guard: Option<DropGuard>,
}

impl Elector {
    /// Prepares the election; sends no request.
    ///
    /// Each replica has its own `identity`, from [`identity`].
    ///
    /// The elector has a [`Cluster`] of its own without a rate limit, so that no other request delays a renewal.
    ///
    /// # Errors
    ///
    /// The Lease has no namespace.
    pub fn new(client: Client, settings: Settings, identity: String) -> Result<(Self, Leadership), NoNamespace> {
        let request_timeout = settings.request_timeout();
        let elector = Self {
            cluster: Cluster::new(
                client,
                FIELD_MANAGER,
                lifecycle_kube::Settings { request_timeout, ..lifecycle_kube::Settings::default() },
            ),
            object: settings.object()?,
            machine: Machine::new(settings.clone(), identity.clone(), Instant::now()),
            settings,
            identity,
            states: watch::Sender::default(),
            permits: TaskTracker::new(),
            holder: String::new(),
            guard: None,
        };
        let leadership = Leadership(elector.states.subscribe());
        Ok((elector, leadership))
    }

    /// Takes part in the election until `stop` is cancelled.
    ///
    /// Then the claim ends at once, and the Lease is given back when every permit was dropped. If that takes longer
    /// than the claim would have lasted, the Lease is left to expire.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut is_stopping = false;
        loop {
            let now = Instant::now();
            let step = self.machine.decide(now, Timestamp::now());
            self.publish();
            match step {
                Step::Wait(until) => {
                    let _ = stop.run_until_cancelled(sleep_until(until)).await;
                }
                Step::Send(request) => self.send(&request, now, &stop).await,
                Step::Done => break,
            }
            if stop.is_cancelled() && !is_stopping {
                is_stopping = true;
                self.machine.stop();
                self.publish();
                self.permits.close();
                let _ = timeout(self.settings.renew_deadline, self.permits.wait()).await;
            }
        }
    }

    /// Sends a request. If the term ends or the program stops before the answer arrives, publishes that at once.
    async fn send(&mut self, request: &Request, sent: Instant, stop: &CancellationToken) {
        let (cluster, object) = (self.cluster.clone(), self.object.clone());
        let limit = self.settings.request_timeout();
        let exchange = timeout(limit, exchange(&cluster, &object, request));
        tokio::pin!(exchange);
        let answer = loop {
            let until = self.machine.claim().map(|term| term.until);
            tokio::select! {
                answer = &mut exchange => break answer,
                () = sleep_until(until.unwrap_or(sent)), if until.is_some() => self.machine.expire(Instant::now()),
                () = stop.cancelled(), if until.is_some() => self.machine.stop(),
            }
            self.publish();
        };
        let mut trouble = None;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {limit:?}"))).unwrap_or_else(|error| {
            let term = self.machine.claim().map(|term| term.number);
            tracing::warn!(lease = %self.object, term, error, "Request about the Lease failed");
            trouble = Some(error);
            Answer::Failed
        });
        self.states.send_modify(|state| state.trouble = trouble);
        self.machine.receive(request, sent, answer, Instant::now());
    }

    /// Tells the rest of the program, and the log, what the machine decided.
    fn publish(&mut self) {
        let claim = self.machine.claim().cloned();
        let published = self.states.borrow().open.clone();
        if let Some(open) = published
            && claim.as_ref().is_none_or(|term| term.number != open.term)
        {
            self.end(&open);
        }
        let lease = self.machine.record().map(|record| Lease {
            object: self.object.clone(),
            annotations: record.annotations.clone(),
            other_holder: Some(&record.holder).filter(|it| !it.is_empty() && **it != self.identity).cloned(),
        });
        self.states.send_modify(|state| {
            state.lease = lease;
            if let (Some(term), Some(open)) = (&claim, &mut state.open) {
                open.until = term.until;
            }
        });
        match claim {
            Some(term) if self.guard.is_none() => self.begin(&term),
            Some(_) => {}
            None => self.log_holder(),
        }
    }

    fn begin(&mut self, term: &Term) {
        let open = Open::new(term, self.permits.clone());
        self.guard = Some(open.over.clone().drop_guard());
        self.states.send_modify(|state| state.open = Some(open));
        tracing::info!(lease = %self.object, term = term.number, "Term began: this replica leads");
    }

    fn end(&mut self, open: &Open) {
        let end = open.end.get_or_init(|| self.machine.end().clone());
        self.states.send_modify(|state| state.open = None);
        self.guard = None;
        let lasted_seconds = open.began.elapsed().as_secs_f64();
        tracing::info!(lease = %self.object, term = open.term, lasted_seconds, reason = %end, "Term ended");
    }

    /// Logs which other replica holds the Lease, whenever that changes.
    fn log_holder(&mut self) {
        let holder = self.machine.record().map(|record| record.holder.clone());
        if let Some(holder) = holder.filter(|holder| *holder != self.holder) {
            if !holder.is_empty() && holder != self.identity {
                tracing::info!(lease = %self.object, holder, "Another replica holds the Lease");
            }
            self.holder = holder;
        }
    }
}

/// Carries out one request of the machine.
async fn exchange(cluster: &Cluster, object: &ObjectRef, request: &Request) -> Result<Answer, String> {
    let answer = match request {
        Request::Read => cluster.get(object).await,
        Request::Create(spec) => cluster.create(&spec.lease(object)).await.map(Some),
        Request::Write { fence, spec } => {
            let fence = Fence::new(&fence.uid, &fence.resource_version);
            cluster.merge_patch(&spec.patch(), object, fence).await
        }
    };
    match answer {
        Ok(Some(lease)) => Record::read(&lease).map(Answer::Lease),
        Ok(None) => Ok(Answer::Absent),
        Err(error) if matches!(error.kind, WriteErrorKind::Conflict | WriteErrorKind::AlreadyExists) => {
            Ok(Answer::Refused)
        }
        Err(error) => Err(Chain(&error).to_string()),
    }
}

#[cfg(test)]
mod model;
