//! The world of a dry run: an in-memory store, a fake API, and the adapter's pipeline between them.
//!
//! In: the configuration, and a [`Setting`]: an event, canned answers, live objects. Out: the [`Trace`] of each
//! pass. The store keeps the writes of a pass, so that the next pass finds them. Fails if the configuration has
//! errors, or if the store refuses an object.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_api_client::Base;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_objects::quantity::canonicalize;
use lifecycle_objects::write::WriteError;
use lifecycle_service::version::Version;
use lifecycle_transport::memory::MemoryTransport;
use reqwest::Url;
use serde_json::Value;
use tokio::time::Instant;

use super::DryRunError;
use super::canned_api::{Answers, CannedApi, Unmatched};
use super::input_error::{InputError, SeriesError};
use super::series::Step;
use super::trace::{Recording, Trace};
use crate::config::{Environment, Flags, Loaded, Paths, load};
use crate::pipeline::Pipeline;
use crate::serve::host;
use crate::trace::TraceContext;

/// The initial state of a world.
#[derive(Debug)]
pub struct Setting {
    /// The event of the pass.
    pub event: LifecycleEvent,
    /// The path of the event's file, for error texts.
    pub event_path: PathBuf,
    /// The canned answers of the API.
    pub answers: Answers,
    /// The answer to a call that none of them matches.
    pub unmatched: Unmatched,
    /// The objects that exist before the pass.
    pub live: Vec<Value>,
    /// Objects by name that exist before the pass, and that the store keeps in place of applied objects of that
    /// name.
    pub overrides: BTreeMap<String, Value>,
}

/// The world of one dry run.
pub struct World {
    pipeline: Pipeline<MemoryTransport, CannedApi>,
    event: LifecycleEvent,
    now: Timestamp,
    time: Duration,
    warnings: Diagnostics,
}

/// Loads the configuration of a dry run, with the same checks as `serve`.
///
/// # Errors
/// The configuration has errors.
pub fn configure(
    paths: &Paths,
    environment: &Environment,
    flags: &Flags,
    version: &Version,
) -> Result<Loaded, DryRunError> {
    load(paths, environment, flags, version.number).map_err(DryRunError::Configuration)
}

/// Does what clusters do by themselves in the time between two events, and the agents of remote ones.
fn settle(transport: &MemoryTransport) {
    transport.confirm_remote_deletions();
    transport.empty_deleted_namespaces();
    transport.collect_garbage();
}

impl World {
    /// Builds a world. The clock is the event's time; `default_now` for an event without one.
    ///
    /// # Errors
    /// The event's time is not a timestamp, or the store refuses an object.
    pub fn build(
        configured: Loaded,
        environment: &Environment,
        setting: Setting,
        default_now: Timestamp,
    ) -> Result<Self, DryRunError> {
        let Setting { event, event_path, answers, unmatched, mut live, overrides } = setting;
        let now = match &event.time {
            None => default_now,
            Some(time) => {
                time.parse().map_err(|source| InputError::EventTime { path: event_path, time: time.clone(), source })?
            }
        };
        let host = host(&configured, environment);
        let Loaded { adapter, task, mut warnings, .. } = configured;
        warnings.extend(answers.warnings.clone());
        live.iter_mut().for_each(canonicalize);
        let transport = MemoryTransport::new(now)
            .with_objects(live)
            .and_then(|transport| transport.with_overrides(overrides))
            .map_err(|error: WriteError| InputError::Refused(error))?;
        let base = adapter.api.base_url.as_deref().and_then(|base| Url::parse(base).ok());
        let api = CannedApi::new(base.map(|base| Base::new(base, &adapter.api.version)), answers, unmatched);
        let time = adapter.event_deadline;
        let pipeline = Pipeline {
            task: Arc::new(task),
            host,
            resource_id: adapter.stamp_resource_id,
            signer: adapter.signer,
            transport,
            api,
            keep_account: true,
            keep_readings: true,
        };
        Ok(Self { pipeline, event, now, time, warnings })
    }

    /// Runs the event through one pass.
    pub async fn play(&self, verbose: bool) -> Trace {
        let Pipeline { task, transport, api, .. } = &self.pipeline;
        let before = transport.objects();
        let operations_before = transport.operations().len();
        let calls_before = api.answered_by().len();
        let deadline = Instant::now() + self.time;
        let report = self.pipeline.run(&self.event, self.now, deadline, &TraceContext::default()).await;
        let recording = Recording {
            event: &self.event,
            now: self.now,
            task,
            report: &report,
            before: &before,
            after: &transport.objects(),
            operations: &transport.operations()[operations_before..],
            answered_by: &api.answered_by()[calls_before..],
            unmatched: &|method, url| api.warning(method, url),
            verbose,
        };
        recording.trace()
    }

    /// Begins a step of a series: what happens outside of the adapter happens, and the step's event and answers
    /// replace those before.
    ///
    /// # Errors
    /// A change names no object, or the store refuses it.
    pub fn begin(&mut self, step: &Step) -> Result<(), SeriesError> {
        let Pipeline { transport, api, .. } = &mut self.pipeline;
        transport.set_now(step.now);
        settle(transport);
        for (index, change) in step.world.iter().enumerate() {
            let failed =
                |problem| SeriesError { step: step.place.clone(), problem: format!("world[{index}]: {problem}") };
            change.make(transport).map_err(failed)?;
        }
        if let Some(answers) = &step.answers {
            api.set_answers(answers.clone());
        }
        self.event = step.event.clone();
        self.now = step.now;
        Ok(())
    }

    /// Plays the event again until a pass writes nothing, as the Sentinel does, and puts the world back. Returns what a
    /// repeat wrongly writes, with its trace: it may continue what the passes before it began, and never makes one of their writes
    /// again.
    pub async fn repeat(&self, played: &Trace) -> Option<(String, Trace)> {
        let Pipeline { transport, api, .. } = &self.pipeline;
        let (saved, calls) = (transport.save(), api.answered_by().len());
        let mut written: BTreeSet<String> = played.writes().into_iter().collect();
        let wrong = loop {
            settle(transport);
            let trace = self.play(false).await;
            let writes = trace.writes();
            let again: Vec<String> = writes.iter().filter(|write| written.contains(*write)).cloned().collect();
            if writes.is_empty() || !again.is_empty() {
                break (again.join(", "), trace);
            }
            written.extend(writes);
        };
        transport.restore(saved);
        api.forget_after(calls);
        (!wrong.0.is_empty()).then_some(wrong)
    }

    /// The warnings of the configuration and of the canned answers.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Returns every object in the store, for the diff of objects before and after a pass.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        self.pipeline.transport.objects()
    }
}
