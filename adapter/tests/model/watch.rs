//! A transport between an engine and its server, which injects faults and records every call.
//!
//! In: the calls of one replica. Out: an [`Entry`] in the [`Journal`] for each. Only one call is made at a
//! time, so that each change between `before` and `after` is its effect (or a controller's).

use std::future::pending;
use std::sync::Arc;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::Value;

use crate::control::Control;
use crate::journal::{Call, CallResult, Entry, Journal};
use crate::sequence::{Fault, Refusal};

/// The transport of one replica.
pub(crate) struct Watched<T> {
    wire: Arc<T>,
    journal: Arc<Journal<T>>,
    control: Arc<Control>,
}

/// The end of a call, for its caller.
enum End<R> {
    Answer(Result<R, WriteError>),
    Silence,
    Crash,
}

impl<T: Transport> Watched<T> {
    pub(crate) fn new(wire: Arc<T>, journal: Arc<Journal<T>>, control: Arc<Control>) -> Self {
        Self { wire, journal, control }
    }

    pub(crate) fn journal(&self) -> &Journal<T> {
        &self.journal
    }

    async fn make<R: Send>(
        &self,
        call: Call,
        act: impl Future<Output = Result<R, WriteError>> + Send,
        record: fn(&R) -> CallResult,
    ) -> Result<R, WriteError> {
        let (pass, fault) = self.control.admit().await;
        let turn = self.journal.one_at_a_time.lock().await;
        let before = self.around(&call).await?;
        let end = self.end(fault, &call, act).await;
        let result = match &end {
            End::Answer(Ok(answer)) => record(answer),
            End::Answer(Err(error)) => CallResult::Refused(error.kind),
            End::Silence => CallResult::Refused(WriteErrorKind::DeadlineExceeded),
            End::Crash => CallResult::Crashed,
        };
        let after = self.around(&call).await?;
        self.journal.note(Entry { pass, call, result, before, after });
        drop(turn);
        match end {
            End::Answer(answer) => answer,
            End::Silence => pending().await,
            End::Crash => {
                self.control.crash().await;
                pending().await
            }
        }
    }

    /// Returns all objects of the sequence if the call writes, and none if it only reads.
    async fn around(&self, call: &Call) -> Result<Vec<Value>, WriteError> {
        if call.writes() { self.journal.objects().await } else { Ok(Vec::new()) }
    }

    /// Performs the call or not, and returns its result or an error, depending on the fault.
    async fn end<R>(
        &self,
        fault: Option<Fault>,
        call: &Call,
        act: impl Future<Output = Result<R, WriteError>> + Send,
    ) -> End<R> {
        let refused = |kind: WriteErrorKind, message: &str| {
            let (call, message) = (format!("{} by the model", call.verb()), message.to_owned());
            End::Answer(Err(WriteError { kind, call, status: None, message }))
        };
        let Some(fault) = fault else { return End::Answer(act.await) };
        match fault {
            Fault::Refused(refusal) => return refused(kind_of(refusal, call), "injected"),
            Fault::LostRequest | Fault::Silence { done: false } | Fault::Crash { done: false } => {}
            Fault::LostAnswer | Fault::Silence { done: true } | Fault::Crash { done: true } => drop(act.await),
        }
        match fault {
            Fault::Silence { .. } => End::Silence,
            Fault::Crash { .. } => End::Crash,
            Fault::Refused(_) | Fault::LostRequest | Fault::LostAnswer => {
                refused(WriteErrorKind::Unreachable, "the connection broke")
            }
        }
    }
}

fn kind_of(refusal: Refusal, call: &Call) -> WriteErrorKind {
    match refusal {
        Refusal::Conflict if matches!(call, Call::Create(_) | Call::DryRun(_)) => WriteErrorKind::AlreadyExists,
        Refusal::Conflict => WriteErrorKind::Conflict,
        Refusal::Invalid => WriteErrorKind::Invalid,
        Refusal::Forbidden => WriteErrorKind::Forbidden,
        Refusal::TooManyRequests => WriteErrorKind::TooManyRequests,
        Refusal::Unavailable => WriteErrorKind::Unavailable,
    }
}

impl<T: Transport> Transport for Watched<T> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let act = self.wire.find(query);
        self.make(Call::Find(query.clone()), act, |found: &Vec<Value>| CallResult::Found(found.clone())).await
    }

    /// Only bundles inspect, and no sequence has one.
    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.wire.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.make(Call::Create(desired.clone()), self.wire.create(desired, destination), object).await
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.make(Call::DryRun(desired.clone()), self.wire.dry_run_create(desired, destination), |()| {
            CallResult::Nothing
        })
        .await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        let act = self.wire.update(desired, target, live, mode);
        self.make(Call::Update(desired.clone(), target.clone()), act, object).await
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let act = self.wire.patch(document, target);
        let record = |answer: &Option<Value>| answer.as_ref().map_or(CallResult::Nothing, object);
        self.make(Call::Patch(document.clone(), target.clone()), act, record).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let act = self.wire.delete(target, propagation);
        let record = |answer: &Deletion| match answer {
            Deletion::Gone => CallResult::Nothing,
            Deletion::Pending(object) => CallResult::Object(object.clone()),
        };
        self.make(Call::Delete(target.clone()), act, record).await
    }
}

fn object(object: &Value) -> CallResult {
    CallResult::Object(object.clone())
}
