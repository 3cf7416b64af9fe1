//! Fetches what core's stages request: API calls, files and log lines.
//!
//! In: a [`Need`] of one phase. Out: its [`Answer`]. Fetching never fails: an error is an answer too, and core
//! decides what it means.

use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::scope::Scope;
use lifecycle_core::stage::{Answer, CallError, Need, Phase, Progress, Stage};
use lifecycle_core::task::LogLevel;
use lifecycle_service::files;
use tokio::time::Instant;

use crate::api::{Api, CallContext, failure_text, is_resource_not_found, names_resource_of};
use crate::secret::redacted_url;
use crate::trace::TraceContext;

/// The largest file that a `file` source reads, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

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

/// Fetches the needs of one pass.
pub struct Fetcher<'a, A> {
    api: &'a A,
    event: &'a LifecycleEvent,
    context: CallContext,
    phase: Phase,
    /// The calls so far; `None` if the caller does not need them.
    pub calls: Option<Vec<CallRecord>>,
}

impl<'a, A: Api> Fetcher<'a, A> {
    /// Creates a fetcher for the pass of `event`; it records its calls if `keep_calls`.
    pub fn new(api: &'a A, event: &'a LifecycleEvent, trace: &TraceContext, keep_calls: bool) -> Self {
        let context = CallContext { trace: trace.clone(), deadline: None };
        Self { api, event, context, phase: Phase::ParamExtraction, calls: keep_calls.then(Vec::new) }
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
                Progress::Needs(need) => answer = Some(self.answer(need).await),
            }
        }
    }

    async fn answer(&mut self, need: Need) -> Answer {
        match need {
            Need::Call(request) => Answer::Called(self.call(request).await),
            Need::File(path) => Answer::Read(read(&path, self.context.deadline).await),
            Need::Log { level, message } => {
                log(level, message);
                Answer::Logged
            }
        }
    }

    async fn call(&mut self, request: ApiRequest) -> Result<String, CallError> {
        let answer = self.api.call(&request, &self.context).await;
        let url = self.calls.is_some().then(|| self.redacted_url(&request));
        if let Some((calls, url)) = self.calls.as_mut().zip(url) {
            calls.push(CallRecord {
                phase: self.phase,
                method: request.method.as_str(),
                url,
                status: answer.as_ref().ok().map(|response| response.status),
                request_body: request.body.clone(),
                response_body: answer.as_ref().ok().map(|response| response.body.clone()),
            });
        }
        // Format the error text and its URL only for a failed call, because most calls succeed.
        match answer {
            Ok(response) if response.is_success() => Ok(response.body),
            answer => Err(self.failure(&request, &answer)),
        }
    }

    /// Converts a failed call to core's error, with its text.
    fn failure(&self, request: &ApiRequest, answer: &Result<ApiResponse, ApiFailure>) -> CallError {
        let url = self.redacted_url(request);
        let text = failure_text(request, &url, answer).unwrap_or_default();
        match answer {
            Ok(response) if is_resource_not_found(response.status, &response.body) => {
                if names_resource_of(self.event, &url) {
                    CallError::Gone(text)
                } else {
                    CallError::ResourceNotFound(text)
                }
            }
            Ok(_) | Err(_) => CallError::Failed(text),
        }
    }

    /// The resolved URL without credentials, for errors, reports and traces.
    fn redacted_url(&self, request: &ApiRequest) -> String {
        redacted_url(&self.api.resolve_url(&request.url))
    }
}

async fn read(path: &str, deadline: Option<Instant>) -> Result<String, String> {
    let read = async { files::read_text_aside(path, FILE_LIMIT).await.map_err(|error| error.to_string()) };
    let outcome = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, read).await,
        None => Ok(read.await),
    };
    outcome
        .unwrap_or_else(|_| Err("the event's deadline passed".to_owned()))
        .map_err(|cause| format!("failed to read {path}: {cause}"))
}

fn log(level: LogLevel, message: Result<String, String>) {
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
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use std::time::Duration;

    use lifecycle_core::api_call::Method;
    use lifecycle_core::id::Generation;

    use super::*;

    /// A fake API whose base URL contains credentials, and which fails every call.
    struct Absent;

    impl Api for Absent {
        async fn call(&self, _: &ApiRequest, _: &CallContext) -> Result<ApiResponse, ApiFailure> {
            Err(ApiFailure { attempts: 1, message: "refused".to_owned() })
        }

        fn resolve_url(&self, url: &str) -> String {
            format!("https://user:hunter2@api{url}?token=hunter2")
        }
    }

    #[tokio::test]
    async fn errors_and_traces_show_no_url_credentials() {
        let request = ApiRequest {
            method: Method::Get,
            url: "/x".to_owned(),
            timeout: None,
            retry_attempts: None,
            retry_backoff: None,
            body: None,
            headers: Vec::new(),
        };
        let event = LifecycleEvent {
            event_id: "e-1".to_owned(),
            source: "tests".to_owned(),
            event_type: "reconcile".to_owned(),
            time: None,
            traceparent: None,
            tracestate: None,
            resource_id: "c-1".to_owned(),
            kind: "Cluster".to_owned(),
            href: String::new(),
            generation: Generation(1),
            owner: None,
            data: serde_json::Value::Null,
        };
        let mut fetcher = Fetcher::new(&Absent, &event, &TraceContext::default(), true);
        let Answer::Called(Err(error)) = fetcher.answer(Need::Call(request)).await else { panic!("an error") };
        let shown = "https://**REDACTED**@api/x?token=**REDACTED**";
        assert!(error.to_string().contains(shown), "{error}");
        let urls: Vec<_> = fetcher.calls.iter().flatten().map(|call| call.url.as_str()).collect();
        assert_eq!(urls, [shown]);
    }

    #[tokio::test]
    async fn endless_file_is_an_error() {
        let deadline = Instant::now() + Duration::from_secs(60);
        let error = read("/dev/zero", Some(deadline)).await;
        assert_eq!(error, Err("failed to read /dev/zero: it has more than 1048576 bytes".to_owned()));
    }
}
