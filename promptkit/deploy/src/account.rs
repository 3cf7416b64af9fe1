//! What a running call has done: events, errors, and the state that it leaves.
//!
//! In: what the provider reports, as soon as it happened. Out: the answer of `apply` and `destroy`. Nothing that was done can
//! get lost: the account outlives a call that fails, panics, or is cut short, and the answer to each of these has its state.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, LONGEST, Output, RpcError, clip, head, raw, shorten};
use crate::error::{self, DeployError};
use crate::protocol::{Action, Event, EventKind, Extensions, Link, ResourceResult, ResourceStatus};
use crate::state::{Entry, State};

/// The account of one call. The provider may report from several tasks at once.
pub struct Account {
    events_to: Option<(Output, Box<RawValue>)>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    events: Vec<Event>,
    errors: Vec<DeployError>,
    state: State,
    broken: Option<io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Streamed<'a>,
}

#[derive(Serialize)]
struct Streamed<'a> {
    id: &'a RawValue,
    seq: usize,
    event: &'a Event,
}

/// What `apply` and `destroy` answer. A result without failures has neither `errors` nor `error`.
#[derive(Serialize)]
struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adapter_state: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Event>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<error::Entry>,
    #[serde(skip_serializing_if = "String::is_empty")]
    error: String,
}

impl Account {
    /// Opens an account with the state before the call. Nothing of it is seen before its end.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self::streaming(state, None)
    }

    /// Opens an account whose events are also written at once, where somebody asked for that.
    pub(crate) fn streaming(state: State, events_to: Option<(Output, Box<RawValue>)>) -> Self {
        Self { events_to, book: Mutex::new(Book { state, ..Book::default() }) }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // What a task reported before it panicked is the truth about what it did.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, book: &mut Book, kind: EventKind, mut message: String, mut resource: Option<ResourceResult>) {
        clip(&mut message);
        resource.iter_mut().for_each(|resource| clip(&mut resource.detail));
        let event = Event { kind, message, resource };
        if let Some((output, id)) = &self.events_to {
            let params = Streamed { id, seq: book.events.len() + 1, event: &event };
            let written = output.line(&Line { jsonrpc: "2.0", method: "event", params });
            book.broken = book.broken.take().or(written.err());
        }
        book.events.push(event);
    }

    /// Reports that a step begins; `fraction` of the whole is done. Outside of 0 to 1 there is no percentage.
    pub fn progress(&self, message: impl Into<String>, fraction: f64) {
        let mut message = message.into();
        if (0.0..=1.0).contains(&fraction) {
            message = format!("{message} ({}%)", (fraction * 100.0).trunc());
        }
        self.event(&mut self.book(), EventKind::Progress, message, None);
    }

    /// Reports something that the user should know, and that is no failure. The client shows no progress, but errors, of which it makes
    /// nothing else.
    pub fn warn(&self, message: &str) {
        self.event(&mut self.book(), EventKind::Error, format!("warning: {message}"), None);
    }

    /// Reports the end.
    pub fn complete(&self, message: impl Into<String>) {
        self.event(&mut self.book(), EventKind::Complete, message.into(), None);
    }

    /// Keeps an entry in the state, without an event: call it before a write of which the answer may get lost.
    pub fn record(&self, entry: Entry) {
        self.book().state.record(entry);
    }

    /// Reports that a resource was written, or is as it should be, and keeps its entry.
    pub fn done(&self, entry: Entry, action: Action, detail: impl Into<String>) {
        self.linked(entry, action, detail, Vec::new());
    }

    /// Does as [`done`](Self::done), and names pages about the resource. The client shows each link once.
    pub fn linked(&self, entry: Entry, action: Action, detail: impl Into<String>, links: Vec<Link>) {
        let mut book = self.book();
        let resource = result(&entry.kind, &entry.name, action, entry.status, detail.into());
        let resource = ResourceResult { links, ..resource };
        book.state.record(entry);
        self.event(&mut book, EventKind::Resource, String::new(), Some(resource));
    }

    /// Reports that a resource no longer exists.
    pub fn deleted(&self, kind: &str, name: &str) {
        let mut book = self.book();
        book.state.forget(kind, name);
        let resource = result(kind, name, Action::Delete, ResourceStatus::Deleted, String::new());
        self.event(&mut book, EventKind::Resource, String::new(), Some(resource));
    }

    /// Reports what a dry run would write. The entry of a resource that exists stays as it is.
    pub fn planned(&self, kind: &str, name: &str, action: Action) {
        let mut book = self.book();
        if book.state.find(kind, name).is_none() {
            book.state.record(Entry::new(kind, name, ResourceStatus::Planned));
        }
        let resource = result(kind, name, action, ResourceStatus::Planned, String::new());
        self.event(&mut book, EventKind::Resource, String::new(), Some(resource));
    }

    /// Reports a failure, and keeps the resource's entry as failed, with the identifiers that it has: a write whose answer got
    /// lost may have happened, and the next call has to look.
    pub fn failed(&self, error: DeployError) {
        let mut book = self.book();
        let event = error.to_string();
        if let Some((kind, name)) = error.resource.as_deref() {
            let status = ResourceStatus::Failed;
            let entry = book.state.find(kind, name).cloned().unwrap_or_else(|| Entry::new(kind, name, status));
            book.state.record(Entry { status, ..entry });
        }
        book.errors.push(error);
        self.event(&mut book, EventKind::Error, event, None);
    }

    /// Reports a resource that this adapter can neither delete nor look at, and drops its entry: no later call could end it either.
    /// The client shows the message; the call does not fail.
    pub fn left(&self, kind: &str, name: &str, why: &str) {
        let mut book = self.book();
        book.state.forget(kind, name);
        self.event(&mut book, EventKind::Error, format!("{kind} \"{name}\" is left: {why}"), None);
    }

    /// Changes the state's other members, such as the pack's version.
    pub fn update_state(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.book().state);
    }

    /// The errors so far.
    #[must_use]
    pub fn errors(&self) -> Vec<DeployError> {
        self.book().errors.clone()
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.book().events.clone()
    }

    /// The entry of a resource, if the state has one. It costs less than [`state`](Self::state), which copies all of them.
    #[must_use]
    pub fn entry(&self, kind: &str, name: &str) -> Option<Entry> {
        self.book().state.find(kind, name).cloned()
    }

    /// Reads the state as it is now.
    #[must_use]
    pub fn state(&self) -> State {
        self.book().state.clone()
    }

    /// Says whether an event could not be written.
    pub(crate) fn broken(&self) -> Option<io::Error> {
        self.book().broken.take()
    }

    /// Whether nothing was done, and something was planned.
    pub(crate) fn is_only_planned(&self) -> bool {
        let book = self.book();
        let resources = book.events.iter().filter_map(|event| event.resource.as_ref());
        let mut resources = resources.peekable();
        resources.peek().is_some() && resources.all(|resource| resource.status == ResourceStatus::Planned)
    }

    /// Answers an `apply`. `end` is what ended the call early; `kept` is another owner's state that stays in place of the account's.
    pub(crate) fn applied(&self, end: Result<(), DeployError>, kept: Option<String>, extensions: Extensions) -> Answer {
        let mut book = std::mem::take(&mut *self.book());
        let is_early = end.is_err();
        book.errors.extend(end.err());
        let texts: Vec<_> = book.errors.iter().map(ToString::to_string).collect();
        let error = match texts.as_slice() {
            [] => String::new(),
            [alone] if is_early => alone.clone(),
            several => error::combined(&format!("Deployment completed with {} error(s):", several.len()), several),
        };
        match kept {
            Some(kept) => book.answer_with(None, Some(kept), error, extensions),
            None => book.answer(None, error, extensions),
        }
    }

    /// Answers a `destroy`. Whatever is left makes it a failure, so that the client keeps its state: ours, or that of another
    /// owner, which is `kept` with the reason.
    pub(crate) fn destroyed(
        &self,
        end: Result<(), DeployError>,
        kept: Option<(String, String)>,
        extensions: Extensions,
    ) -> Answer {
        let mut book = std::mem::take(&mut *self.book());
        let is_deleted =
            |event: &&Event| event.resource.as_ref().is_some_and(|it| it.status == ResourceStatus::Deleted);
        let deleted = book.events.iter().filter(is_deleted).count();
        book.state.resources.retain(|entry| entry.status != ResourceStatus::Planned);
        let mut texts: Vec<_> = book.errors.iter().map(ToString::to_string).collect();
        let names_failure = |entry: &&Entry| book.errors.iter().any(|error| names(error, entry));
        let silent = book.state.resources.iter().filter(|entry| !names_failure(entry));
        texts.extend(silent.map(|entry| format!("{} \"{}\" still exists", entry.kind, entry.name)));
        let left = texts.len();
        let interrupted = end.as_ref().err().map(ToString::to_string);
        book.errors.extend(end.err());
        let mut error = match left {
            0 => String::new(),
            _ => format!("{left} of {} resources could not be deleted: {}", left + deleted, texts.join("; ")),
        };
        if let Some(text) = interrupted {
            error = if error.is_empty() { text } else { format!("{text}\n{error}") };
        }
        if let Some((reason, state)) = kept {
            error = if error.is_empty() { reason } else { format!("{reason}\n{error}") };
            return book.answer_with(Some("failed"), Some(state), error, extensions);
        }
        let status = if error.is_empty() { "destroyed" } else { "failed" };
        book.answer(Some(status), error, extensions)
    }
}

fn names(error: &DeployError, entry: &Entry) -> bool {
    error.resource.as_deref().is_some_and(|(kind, name)| *kind == entry.kind && *name == entry.name)
}

fn result(kind: &str, name: &str, action: Action, status: ResourceStatus, detail: String) -> ResourceResult {
    ResourceResult { kind: kind.to_owned(), name: name.to_owned(), action, status, detail, links: Vec::new() }
}

impl Book {
    fn answer(self, status: Option<&'static str>, error: String, extensions: Extensions) -> Answer {
        let state = serde_json::to_string(&self.state).map_err(|error| RpcError::provider(error.to_string(), None))?;
        // A client deletes its state after a destroy that succeeded.
        let state = (status != Some("destroyed")).then_some(state);
        self.answer_with(status, state, error, extensions)
    }

    fn answer_with(
        self,
        status: Option<&'static str>,
        adapter_state: Option<String>,
        mut error: String,
        extensions: Extensions,
    ) -> Answer {
        let room = LONGEST.saturating_sub(raw(&adapter_state)?.get().len() + (1 << 20));
        clip(&mut error);
        let errors = head(self.errors.iter().map(DeployError::entry).collect(), room / 2);
        let events = shorten(self.events, room / 2);
        if error.is_empty() || extensions.partial {
            return raw(&Outcome { status, adapter_state, events, errors, error });
        }
        let data = raw(&Outcome { status: None, adapter_state, events, errors, error: String::new() })?;
        Err(RpcError::provider(error, Some(data)))
    }
}
