//! Runs one event through the phases: params, preconditions, resources, post actions.
//!
//! In: an event, the time of its start, and its deadline. Out: a [`PassReport`]. The pipeline neither decides
//! nor retries: core decides, and the transport and the API client do the I/O. A failed phase is part of the
//! report, so that a pass returns no error.

use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_bundle::need::{Request, Response};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::execution::Execution;
use lifecycle_core::outcome::Outcome;
use lifecycle_core::params::{Resolver, Unresolved};
use lifecycle_core::plan::{Next, Planner, Read};
use lifecycle_core::post::Reporter;
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::process_variables::Host;
use lifecycle_core::report_overlay::{Account, Unread};
use lifecycle_core::stage::Phase;
use lifecycle_core::task::{Discover, Task};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use lifecycle_objects::proof::Signer;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::{Executed, NotCreated, WriteError};
use lifecycle_transport::Transport;
use lifecycle_transport::executor::execute;
use lifecycle_transport::observe::find_all;
use lifecycle_transport::request::carry_out;
use tokio::time::Instant;

use crate::api::Api;
use crate::fetch::Fetcher;
use crate::pass::PassReport;
use crate::redact::Redactor;
use crate::trace::TraceContext;

/// One sixth of an event's time is reserved for phase 4, so that a pass that runs out of time still reports its
/// failures.
const REPORTING_SHARE: u32 = 6;

/// Everything that is loaded once and used for every event.
#[derive(Debug)]
pub struct Pipeline<T, A> {
    /// The compiled task, whose phases run for each event.
    pub task: Arc<Task>,
    /// The host values that the task's params can read: configuration, environment variables, and version.
    pub host: Host,
    /// The template of the label `hyperfleet.io/resource-id`; the event's `id` if `None`.
    pub resource_id: Option<Template>,
    /// Signs the labels of written objects, if a signing key is configured.
    pub signer: Option<Signer>,
    /// Reads and writes the objects.
    pub transport: T,
    /// Sends the API calls of preconditions, params and post actions.
    pub api: A,
    /// Whether reports contain the HTTP calls and log lines of a pass and the values that its gates read, for traces.
    pub keep_account: bool,
    /// Whether reports contain the values that gates read, although the log does not show them.
    pub keep_readings: bool,
}

impl<T: Transport, A: Api> Pipeline<T, A> {
    /// Runs one event as if it were `now`, until `deadline`.
    pub async fn run(
        &self,
        event: &LifecycleEvent,
        now: Timestamp,
        deadline: Instant,
        trace: &TraceContext,
    ) -> PassReport {
        let time = deadline.saturating_duration_since(Instant::now());
        let before_reporting = deadline.checked_sub(time / REPORTING_SHARE).unwrap_or(deadline);
        let mut scope = Scope::new(now);
        self.host.introduce(event, &mut scope);
        let mut execution = Execution::default();
        execution.publish(&self.host, &mut scope);
        let mut fetcher = Fetcher::new(&self.api, event, trace, self.keep_account);
        let mut report = PassReport::new();

        let (params, resolver) = fetcher
            .drive(Phase::ParamExtraction, Resolver::new(&self.task, &self.host), &mut scope, before_reporting)
            .await;
        let has_fetched = resolver.has_fetched();
        report.defaulted = resolver.defaulted().iter().map(|name| (*name).to_owned()).collect();
        report.replaced = resolver.into_replaced();
        match params {
            Ok(()) if report.replaced.is_empty() => {}
            Ok(()) => {
                execution.note_replaced(&report.replaced);
                execution.publish(&self.host, &mut scope);
            }
            Err(Unresolved::Failed(error)) => {
                report.params_error = Some(error);
                report.is_malformed = !has_fetched;
                return report.end(scope, fetcher.account);
            }
            Err(Unresolved::Gone(message)) => {
                report.verdict = Some(Verdict::ResourceNotFound(message));
                return report.end(scope, fetcher.account);
            }
        }

        let (verdict, evaluator) =
            fetcher.drive(Phase::Preconditions, Evaluator::new(&self.task), &mut scope, before_reporting).await;
        report.preconditions = evaluator.into_results();
        execution.note_verdict(&verdict);
        report.verdict = Some(verdict.clone());
        let mut undecided = None;
        match &verdict {
            Verdict::ResourceNotFound(_) => return report.end(scope, fetcher.account),
            Verdict::NotMet(_) | Verdict::Failed(_) => match self.task.discover {
                Discover::WhenMet => {}
                Discover::Always => {
                    let stamp = self.stamp(event, &scope);
                    (report.outcomes, undecided) = self.observe_only(stamp, &mut scope, before_reporting).await;
                    execution.note_outcomes(&report.outcomes);
                }
            },
            Verdict::Met => {
                execution.publish(&self.host, &mut scope);
                let stamp = self.stamp(event, &scope);
                report.outcomes = self.reconcile(stamp, &mut scope, before_reporting).await;
                report.outcomes.iter_mut().for_each(|outcome| outcome.redact(scope.secrets()));
                execution.note_outcomes(&report.outcomes);
            }
        }

        execution.publish(&self.host, &mut scope);
        execution.publish_conditions(&self.task, &report.outcomes, &mut scope);
        let unread = Unread::of(&self.task, &verdict).or(undecided.as_deref().map(Unread::Undecided));
        let account = Account { outcomes: &report.outcomes, unread, is_deleting: fetcher.is_deleting };
        let (post, _) =
            fetcher.drive(Phase::PostActions, Reporter::new(&self.task, account), &mut scope, deadline).await;
        report.post = Some(post);
        report.end(scope, fetcher.account)
    }

    /// Phase 3: reads the live objects, then decides and writes one resource after the other.
    async fn reconcile(&self, stamp: Stamp, scope: &mut Scope, deadline: Instant) -> Vec<Outcome> {
        let mut planner = self.planner(stamp);
        loop {
            match planner.next(scope) {
                Next::Read(reads) => self.read(reads, &mut planner, scope, deadline).await,
                Next::Write(step) => {
                    let mut executed = execute(&self.transport, step.command, deadline).await;
                    self.redact(std::slice::from_mut(&mut executed), scope);
                    planner.record(scope, executed);
                }
                Next::Bundle(step) => {
                    let answer = self.carry_out(step, scope, deadline).await;
                    planner.answer(answer);
                }
                Next::Done => return planner.into_outcomes(),
            }
        }
    }

    /// Reads, writes or looks at what belongs to a bundle.
    async fn carry_out(&self, step: Request, scope: &Scope, deadline: Instant) -> Response {
        let mut response = carry_out(&self.transport, step, deadline).await;
        match &mut response {
            Response::Written(executed) => self.redact(executed, scope),
            Response::Read(_) | Response::Inspected(_) => {}
        }
        response
    }

    /// Removes secrets from the messages of a server that refuses objects.
    fn redact(&self, executed: &mut [Executed], scope: &Scope) {
        // Made once, and only if something was refused: it reads every manifest of the task.
        let mut redactor = None;
        for error in executed.iter_mut().filter_map(refusal_of_content) {
            let redactor = redactor.get_or_insert_with(|| Redactor::of(&self.task, scope, []));
            error.message = redactor.text(&error.message).into_owned();
        }
    }

    /// Reads the live objects for the report, without a decision or a write. Also returns, in words, the objects that
    /// have to be deleted.
    async fn observe_only(&self, stamp: Stamp, scope: &mut Scope, deadline: Instant) -> (Vec<Outcome>, Option<String>) {
        let mut planner = self.planner(stamp);
        while let Some(reads) = planner.survey(scope) {
            self.read(reads, &mut planner, scope, deadline).await;
        }
        let undecided = planner.surveyed_objects(scope);
        (planner.into_outcomes(), undecided)
    }

    async fn read(&self, reads: Vec<Read>, planner: &mut Planner<'_>, scope: &mut Scope, deadline: Instant) {
        let (resources, queries): (Vec<_>, _) = reads.into_iter().map(|read| (read.resource, read.query)).unzip();
        let observations = find_all(&self.transport, queries, deadline).await;
        for (resource, observation) in resources.into_iter().zip(observations) {
            planner.observe(scope, resource, observation);
        }
    }

    fn planner(&self, stamp: Stamp) -> Planner<'_> {
        // Recording what gates read costs time, so do it only if a trace or a debug line shows the result.
        let explains = self.keep_account || self.keep_readings || tracing::enabled!(tracing::Level::DEBUG);
        Planner::new(&self.task, stamp).keep_readings(explains)
    }

    fn stamp(&self, event: &LifecycleEvent, scope: &Scope) -> Stamp {
        let rendered = self.resource_id.as_ref().map(|template| template.render(scope));
        // If the template fails, stamp the event's id and fail every resource with the template's error.
        let (resource_id, resource_id_fault) = match rendered {
            None => (event.resource_id.clone(), None),
            Some(Ok(id)) => (id.into_owned(), None),
            Some(Err(error)) => (String::new(), Some(format!("failed to render `stamp.resource_id`: {error}"))),
        };
        Stamp {
            adapter: self.host.name.clone(),
            resource_id,
            resource_id_fault,
            generation: event.generation,
            signer: self.signer.clone(),
        }
    }
}

impl PassReport {
    fn new() -> Self {
        Self {
            scope: Scope::new(Timestamp::UNIX_EPOCH),
            params_error: None,
            replaced: Vec::new(),
            defaulted: Vec::new(),
            is_malformed: false,
            verdict: None,
            preconditions: Vec::new(),
            outcomes: Vec::new(),
            post: None,
            calls: Vec::new(),
            logs: Vec::new(),
        }
    }

    fn end(self, scope: Scope, account: Option<crate::fetch::Account>) -> Self {
        let crate::fetch::Account { calls, logs } = account.unwrap_or_default();
        Self { scope, calls, logs, ..self }
    }
}

/// The error in which a server may quote a value of the object or patch that it refuses.
fn refusal_of_content(executed: &mut Executed) -> Option<&mut WriteError> {
    match executed {
        Executed::Failed(error)
        | Executed::PatchFailed { error, .. }
        | Executed::DeletedNotCreated(NotCreated::Failed(error)) => Some(error),
        Executed::Created(_)
        | Executed::NameTaken(_)
        | Executed::Updated(_)
        | Executed::Recreated(_)
        | Executed::DeletedNotCreated(NotCreated::NameTaken(_))
        | Executed::Deleting(_)
        | Executed::Deleted
        | Executed::DeleteFailed { .. }
        | Executed::Patched(_)
        | Executed::Disowned(_)
        | Executed::DisownFailed { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use lifecycle_objects::write::WriteErrorKind;

    use super::*;

    #[test]
    fn refusal_of_each_write_with_content_is_redacted() {
        let error = || WriteError {
            kind: WriteErrorKind::Invalid,
            call: "create Secret a/b".to_owned(),
            status: Some(422),
            message: "got s3cret".to_owned(),
        };
        let cases = [
            ("a creation or an update", Executed::Failed(error()), true),
            ("a patch", Executed::PatchFailed { object: None, error: error() }, true),
            ("the creation after a deletion", Executed::DeletedNotCreated(NotCreated::Failed(error())), true),
            ("a taken name", Executed::DeletedNotCreated(NotCreated::NameTaken(None)), false),
            ("a deletion", Executed::Deleted, false),
        ];
        for (name, mut executed, expected) in cases {
            assert_eq!(refusal_of_content(&mut executed).is_some(), expected, "{name}");
        }
    }
}
