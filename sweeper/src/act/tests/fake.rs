//! A cluster in memory that honours fences, and changes or fails at chosen calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use lifecycle_core::sweep::Candidate;
use lifecycle_kube::{Discovery, Fence, ServedKind};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::objects::{Choice, Objects};

/// What happens at one call, instead of it or before it.
pub(super) enum At {
    /// The call fails, and is not carried out.
    Fails(WriteErrorKind),
    /// The call is carried out, and its answer is lost.
    AnswerLost,
    /// The call is never answered, and not carried out.
    Silent,
    /// Somebody changes or removes the object before the call arrives.
    Edited(fn(&mut Option<Value>)),
}

/// Objects by name, and the calls so far.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) objects: RefCell<BTreeMap<String, Option<Value>>>,
    pub(super) calls: RefCell<Vec<String>>,
    pub(super) created: RefCell<Vec<Value>>,
    pub(super) at: RefCell<BTreeMap<&'static str, At>>,
    /// Told when a call waits for an answer that never comes.
    pub(super) silence: Notify,
    pub(super) in_flight: Cell<usize>,
    pub(super) most_in_flight: Cell<usize>,
}

impl Fake {
    pub(super) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let named = objects.into_iter().map(|object| (ObjectRef::of(&object).name, Some(object))).collect();
        Self { objects: RefCell::new(named), ..Self::default() }
    }

    pub(super) fn at(self, call: &'static str, at: At) -> Self {
        self.at.borrow_mut().insert(call, at);
        self
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.objects.borrow().get(name).is_some_and(Option::is_some)
    }

    async fn call<T>(
        &self,
        verb: &'static str,
        object: &ObjectRef,
        answer: impl FnOnce() -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        self.in_flight.set(self.in_flight.get() + 1);
        self.most_in_flight.set(self.most_in_flight.get().max(self.in_flight.get()));
        tokio::task::yield_now().await;
        self.in_flight.set(self.in_flight.get() - 1);
        self.calls.borrow_mut().push(format!("{verb} {object}"));
        if matches!(self.at.borrow().get(verb), Some(At::Silent)) {
            self.silence.notify_one();
            std::future::pending::<()>().await;
        }
        match self.at.borrow().get(verb) {
            Some(At::Fails(kind)) => Err(error(*kind)),
            Some(At::AnswerLost) => answer().and(Err(error(WriteErrorKind::Unreachable))),
            Some(At::Edited(edit)) => {
                if let Some(live) = self.objects.borrow_mut().get_mut(&object.name) {
                    edit(live);
                }
                answer()
            }
            Some(At::Silent) | None => answer(),
        }
    }
}

fn error(kind: WriteErrorKind) -> WriteError {
    WriteError { kind, call: "call".to_owned(), status: None, message: "injected".to_owned() }
}

impl Objects for Fake {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        unreachable!("a deletion discovers no kinds")
    }

    async fn list(&self, _: &ServedKind, _: Choice<'_>, _: &mut dyn FnMut(Candidate)) -> Result<(), WriteError> {
        unreachable!("a deletion lists nothing")
    }

    async fn read(&self, _: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        self.call("get", object, || Ok(self.objects.borrow().get(&object.name).cloned().flatten())).await
    }

    async fn create(&self, _: &Destination, object: &Value) -> Result<Value, WriteError> {
        self.call("create", &ObjectRef::of(object), || {
            self.created.borrow_mut().push(object.clone());
            Ok(object.clone())
        })
        .await
    }

    async fn delete(&self, _: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        self.call("delete", object, || {
            let mut objects = self.objects.borrow_mut();
            let Some(entry) = objects.get_mut(&object.name) else { return Ok(Deletion::Gone) };
            let Some(live) = entry else { return Ok(Deletion::Gone) };
            if Fence::of(live) != fence {
                return Err(error(WriteErrorKind::Conflict));
            }
            if live["metadata"]["finalizers"].is_array() {
                live["metadata"]["deletionTimestamp"] = json!("2026-03-01T12:00:00Z");
                return Ok(Deletion::Pending(live.clone()));
            }
            *entry = None;
            Ok(Deletion::Gone)
        })
        .await
    }

    async fn dry_run_delete(&self, _: &Destination, object: &ObjectRef, _: Fence<'_>) -> Result<(), WriteError> {
        self.call("dry-run", object, || Ok(())).await
    }
}
