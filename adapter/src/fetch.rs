//! Fetches what core's stages request: API calls, files and log lines.
//!
//! In: a [`Need`] of one phase. Out: its [`Answer`]. Fetching never fails: an error is an answer too, and core
//! decides what it means.

use http::StatusCode;
use lifecycle_core::api_call::{ApiRequest, Method};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::stage::{Answer, CallError, Need, Phase, Progress, ReadError, Stage};
use lifecycle_core::task::LogLevel;
use lifecycle_language::scope::Scope;
use lifecycle_service::files;
use tokio::time::Instant;

use crate::api::{
    self, Api, ApiFailure, CallContext, Discard, Meaning, dropped, explain, failure, is_api_report, meaning,
    names_resource_of,
};
use crate::secret::redacted_url;
use crate::trace::TraceContext;

/// The largest file that a `file` source reads, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// How many reports a list asks for: the most that the API answers at once, and more than an API resource has adapters.
const REPORTS: u32 = 100;

/// An HTTP call that a pass made, as traces print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The phase that made the call.
    pub phase: Phase,
    /// The HTTP method of the call, such as `GET`.
    pub method: &'static str,
    /// The resolved URL, without credentials.
    pub url: String,
    /// The status of the response; `None` if no response came.
    pub status: Option<u16>,
    /// The body of the request.
    pub request_body: Option<String>,
    /// The body of the response.
    pub response_body: Option<String>,
}

/// A line of the task's `log`, as traces print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The phase that logged the line.
    pub phase: Phase,
    /// The name of the precondition or action whose line it is.
    pub step: String,
    /// The level at which the task logs the line.
    pub level: LogLevel,
    /// The rendered text, or why it could not be rendered.
    pub message: Result<String, String>,
}

/// What traces print of a pass beside its report.
#[derive(Debug, Default)]
pub struct Account {
    /// The HTTP calls, in order.
    pub calls: Vec<CallRecord>,
    /// The lines of the task's `log`, in order.
    pub logs: Vec<LogRecord>,
}

/// What a pass looks for in the API's document about the event's resource.
#[derive(serde::Deserialize)]
struct Answered {
    /// When the deletion began. A resource that is not being deleted has none, or null.
    deleted_time: Option<serde_json::Value>,
}

/// Fetches the needs of one pass.
pub struct Fetcher<'a, A> {
    api: &'a A,
    event: &'a LifecycleEvent,
    context: CallContext,
    phase: Phase,
    /// Whether the event's own resource is being deleted, if the API said so or the opposite.
    pub is_deleting: Option<bool>,
    /// The calls and lines so far; `None` if the caller does not need them.
    pub account: Option<Account>,
}

impl<'a, A: Api> Fetcher<'a, A> {
    /// Creates a fetcher for the pass of `event`; it records its calls and log lines if `keep_account`.
    pub fn new(api: &'a A, event: &'a LifecycleEvent, trace: &TraceContext, keep_account: bool) -> Self {
        let context = CallContext { trace: trace.clone(), ..CallContext::default() };
        let account = keep_account.then(Account::default);
        Self { api, event, context, phase: Phase::ParamExtraction, is_deleting: None, account }
    }

    /// Runs a stage to its end. Calls and delays end at `deadline`.
    pub async fn drive<S: Stage>(
        &mut self,
        phase: Phase,
        mut stage: S,
        scope: &mut Scope,
        deadline: Instant,
    ) -> (S::Done, S) {
        self.phase = phase;
        self.context.deadline = Some(deadline);
        let mut answer = None;
        loop {
            match stage.resume(scope, answer.take()) {
                Progress::Done(done) => return (done, stage),
                Progress::Needs(need) => answer = Some(without_secrets(self.answer(need).await, scope)),
            }
        }
    }

    async fn answer(&mut self, need: Need) -> Answer {
        match need {
            Need::Call(request) => Answer::Called(self.call(request).await),
            Need::File(path) => Answer::Read(read(&path, self.context.deadline).await),
            Need::Log { step, level, message } => {
                log(level, &message);
                if let Some(account) = &mut self.account {
                    account.logs.push(LogRecord { phase: self.phase, step, level, message });
                }
                Answer::Logged
            }
        }
    }

    async fn call(&mut self, request: ApiRequest) -> Result<String, CallError> {
        let answer = self.send(&request).await;
        let resolved = self.api.resolve_url(&request.url);
        match (meaning(self.event, &request, &resolved, &answer, self.api.is_prepared()), answer) {
            (Meaning::Success, Ok(answer)) => match self.discard(&request, &resolved, &answer).await {
                None | Some(Discard::OutOfDate(_)) => {
                    self.note_deletion(&request, &resolved, &answer.body);
                    Ok(answer.body)
                }
                Some(cause) => {
                    let detail = format!("the API discarded the report: {cause}");
                    Err(CallError::Failed(failure(&request, &resolved, &answer, &detail)))
                }
            },
            (Meaning::Success, Err(error)) => Err(CallError::Failed(error.to_string())),
            (Meaning::Gone(text), _) => Err(CallError::Gone(text)),
            (Meaning::NotFound(text), _) => Err(CallError::ResourceNotFound(text)),
            (Meaning::Failed(text), _) => Err(CallError::Failed(text)),
        }
    }

    /// Why the API discarded a report, from the reports that it has; `None` for a stored report, an answer to anything
    /// else, or if a person prepared it.
    async fn discard(&mut self, request: &ApiRequest, resolved: &str, answer: &api::Answer) -> Option<Discard> {
        let sent = request.body.as_deref()?;
        if self.api.is_prepared() || request.method == Method::Get || !is_api_report(resolved) {
            return None;
        }
        if answer.status != StatusCode::NO_CONTENT {
            return dropped(sent, &answer.body);
        }
        let path = request.url.split(['?', '#']).next().unwrap_or_default();
        let read = ApiRequest {
            method: Method::Get,
            url: format!("{path}?page=1&size={REPORTS}"),
            body: None,
            ..request.clone()
        };
        let answer = self.send(&read).await;
        let resolved = self.api.resolve_url(&read.url);
        Some(match (meaning(self.event, &read, &resolved, &answer, false), answer) {
            (Meaning::Success, Ok(list)) => explain(sent, &list.body),
            (Meaning::Success, Err(error)) => Discard::Unexplained(error.to_string()),
            (Meaning::Gone(text) | Meaning::NotFound(text) | Meaning::Failed(text), _) => Discard::Unexplained(text),
        })
    }

    /// Sends a request, and records it.
    async fn send(&mut self, request: &ApiRequest) -> Result<api::Answer, ApiFailure> {
        let answer = self.api.call(request, &self.context).await;
        let url = self.account.is_some().then(|| self.redacted_url(request));
        if let Some((account, url)) = self.account.as_mut().zip(url) {
            account.calls.push(CallRecord {
                phase: self.phase,
                method: request.method.as_str(),
                url,
                status: answer.as_ref().ok().map(|response| response.status.as_u16()),
                request_body: request.body.clone(),
                response_body: answer.as_ref().ok().map(|response| response.body.clone()),
            });
        }
        answer
    }

    /// Notes what an answer at the own URL of the event's resource says of its deletion.
    fn note_deletion(&mut self, request: &ApiRequest, resolved: &str, body: &str) {
        if self.is_deleting == Some(true) || request.method != Method::Get || !names_resource_of(self.event, resolved) {
            return;
        }
        // Most answers are about something that is not being deleted: they are not parsed once more.
        let says_so = body.contains("deleted_time")
            && serde_json::from_str(body).is_ok_and(|answer: Answered| answer.deleted_time.is_some());
        self.is_deleting = Some(says_so);
    }

    /// The resolved URL without credentials, for traces.
    fn redacted_url(&self, request: &ApiRequest) -> String {
        redacted_url(&self.api.resolve_url(&request.url))
    }
}

/// The answer with an error that does not quote a secret, such as the body of a request that an API refuses.
fn without_secrets(answer: Answer, scope: &Scope) -> Answer {
    let clean = |text: String| scope.secrets().text(&text).into_owned();
    match answer {
        Answer::Called(Err(error)) => Answer::Called(Err(match error {
            CallError::Gone(text) => CallError::Gone(clean(text)),
            CallError::ResourceNotFound(text) => CallError::ResourceNotFound(clean(text)),
            CallError::Failed(text) => CallError::Failed(clean(text)),
        })),
        Answer::Called(Ok(_)) | Answer::Read(_) | Answer::Logged => answer,
    }
}

async fn read(path: &str, deadline: Option<Instant>) -> Result<String, ReadError> {
    let text = |cause: &dyn std::fmt::Display| format!("failed to read {path}: {cause}");
    let read = async {
        files::read_text_aside(path, FILE_LIMIT).await.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadError::Missing(text(&error)),
            _ => ReadError::Failed(text(&error)),
        })
    };
    let outcome = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, read).await,
        None => Ok(read.await),
    };
    outcome.unwrap_or_else(|_| Err(ReadError::Failed(text(&"the event's deadline passed"))))
}

fn log(level: LogLevel, message: &Result<String, String>) {
    let text = match message {
        Ok(text) => text,
        Err(cause) => {
            tracing::error!(error = cause, "a log message of the task could not be rendered");
            return;
        }
    };
    match level {
        LogLevel::Debug => tracing::debug!("[config] {text}"),
        LogLevel::Info => tracing::info!("[config] {text}"),
        LogLevel::Warn => tracing::warn!("[config] {text}"),
        LogLevel::Error => tracing::error!("[config] {text}"),
    }
}

#[cfg(test)]
mod tests;
