//! A fake API with canned answers.
//!
//! In: the answers file, in the format of the Go adapter's dry run. Out: for each call, the next answer of the
//! first entry that matches its method and resolved URL. The last answer of an entry repeats. What a call gets that
//! matches no entry, [`Unmatched`] says. The fake neither waits nor retries: a canned 500 is the call's result.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use http::header::CONTENT_TYPE;
use lifecycle_api_client::Base;
use lifecycle_api_client::problem::MEDIA_TYPE;
use lifecycle_config::decode::suggest;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_core::api_call::ApiRequest;
use lifecycle_language::pattern::{Pattern, PatternError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{Answer, Api, ApiFailure, CallContext, is_report};
use crate::secret::redacted_url;

/// The name of a scenario's file with the canned answers.
pub const FILE: &str = "api-responses.json";

/// The answer to a call that no entry matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// What the API answers: it stores a report, and has no other path. A `200` without content would let a misspelt pattern pass
    /// for an API resource without fields.
    AsTheApi,
    /// `200 {}`, as in the Go adapter's dry run, whose files rely on it.
    AsTheGoAdapter,
}

/// The answers file, as its author writes it.
#[derive(Debug, Default, Deserialize)]
pub struct AnswersFile {
    #[serde(default)]
    responses: Vec<EntryFile>,
}

#[derive(Debug, Deserialize)]
struct EntryFile {
    #[serde(rename = "match")]
    call: CallFile,
    #[serde(default)]
    responses: Vec<ResponseFile>,
}

#[derive(Debug, Deserialize)]
struct CallFile {
    #[serde(default)]
    method: String,
    #[serde(default, rename = "urlPattern")]
    url_pattern: String,
}

#[derive(Debug, Deserialize)]
struct ResponseFile {
    #[serde(default, rename = "statusCode")]
    status_code: u16,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, Value>,
}

/// The known keys, which are the Go adapter's. Of an answer's `headers` the fake API sends `Content-Type` alone.
const ENTRY: [&str; 2] = ["match", "responses"];
const CALL: [&str; 2] = ["method", "urlPattern"];
const RESPONSE: [&str; 3] = ["body", "headers", "statusCode"];

/// Warns of each unknown key of an answers file. A warning rather than an error, because the Go adapter ignores
/// unknown keys.
#[must_use]
pub fn unknown_keys(file: &str, written: &Value) -> Diagnostics {
    let mut found = Diagnostics::default();
    let mut look = |object: Option<&Value>, path: &str, known: &[&str]| {
        let keys = object.and_then(Value::as_object).into_iter().flat_map(|object| object.keys());
        for key in keys.filter(|key| !known.contains(&key.as_str())) {
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let help = match suggest(key, known) {
                Some(similar) => format!("write `{similar}`"),
                None => format!("remove it; the keys here are {}", known.join(", ")),
            };
            let message = "is an unknown key and is ignored".to_owned();
            let diagnostic = Diagnostic::outside(file, &place, message, Some(help));
            found.push(Diagnostic { severity: Severity::Warning, ..diagnostic });
        }
    };
    look(Some(written), "", &["responses"]);
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    for (index, entry) in list(written.get("responses")).iter().enumerate() {
        let at = format!("responses[{index}]");
        look(Some(entry), &at, &ENTRY);
        look(entry.get("match"), &format!("{at}.match"), &CALL);
        for (index, response) in list(entry.get("responses")).iter().enumerate() {
            look(Some(response), &format!("{at}.responses[{index}]"), &RESPONSE);
        }
    }
    found
}

/// Why an entry of the answers file is invalid.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// The entry has no answers.
    #[error(
        "responses[{entry}] has no answers; add at least one {{\"statusCode\": …, \"body\": …}} to its `responses`"
    )]
    NoResponses {
        /// The index of the entry.
        entry: usize,
    },
    /// The entry has no URL pattern.
    #[error("responses[{entry}].match.urlPattern is empty; use \".*\" for every URL")]
    NoPattern {
        /// The index of the entry.
        entry: usize,
    },
    /// An answer's status is no HTTP status.
    #[error("responses[{entry}] has an answer with the statusCode {code}; use a number from 100 to 999")]
    Status {
        /// The index of the entry.
        entry: usize,
        /// The status as written.
        code: u16,
    },
    /// The URL pattern is not a regular expression.
    #[error("responses[{entry}].match.urlPattern is not a regular expression")]
    Pattern {
        /// The index of the entry.
        entry: usize,
        /// The error of the regular expression's parser.
        #[source]
        source: PatternError,
    },
}

/// The entries of an answers file, with compiled patterns, in the order in which they are tried.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    entries: Vec<Entry>,
    /// The warnings of the answers file.
    pub warnings: Diagnostics,
}

#[derive(Debug, Clone)]
struct Entry {
    method: String,
    pattern: Pattern,
    /// At least one.
    responses: Vec<Response>,
}

/// A canned answer.
#[derive(Debug, Clone, Default)]
struct Response {
    status: StatusCode,
    body: Option<Value>,
    content_type: Option<String>,
}

impl Response {
    /// The answer to a request for `path`. A canned 404 stands for the API's own, so a document that lacks what
    /// the API would say about itself gets it, unless its author gave it another media type.
    fn to_answer(&self, path: &str) -> Answer {
        let mut body = self.body.clone().unwrap_or_else(|| json!({}));
        if let (None, StatusCode::NOT_FOUND, Some(problem)) = (&self.content_type, self.status, body.as_object_mut()) {
            let path = path.split('?').next().unwrap_or_default();
            let members = [("status", json!(404)), ("code", json!("HYPERFLEET-NTF-001")), ("instance", json!(path))];
            for (member, value) in members {
                problem.entry(member).or_insert(value);
            }
        }
        let own = if self.status.is_success() { "application/json" } else { MEDIA_TYPE };
        let body = match (&self.content_type, body) {
            // Text of another media type is sent as it is written.
            (Some(_), Value::String(text)) => text,
            (_, body) => body.to_string(),
        };
        let content_type = Some(self.content_type.clone().unwrap_or_else(|| own.to_owned()));
        let redirect = self.status.is_redirection().then(|| "an unknown URL".to_owned());
        Answer { status: self.status, content_type, redirect, body, attempts: 1, ..Answer::default() }
    }
}

impl Answers {
    /// Compiles every entry.
    ///
    /// # Errors
    /// The first invalid entry.
    pub fn compile(file: AnswersFile) -> Result<Self, AnswersError> {
        let compile = |(entry, written): (usize, EntryFile)| {
            if written.responses.is_empty() {
                return Err(AnswersError::NoResponses { entry });
            }
            if written.call.url_pattern.is_empty() {
                return Err(AnswersError::NoPattern { entry });
            }
            let pattern = Pattern::parse(&written.call.url_pattern);
            let pattern = pattern.map_err(|source| AnswersError::Pattern { entry, source })?;
            let responses = written.responses.into_iter().map(|response| {
                let code = if response.status_code == 0 { 200 } else { response.status_code };
                let status = StatusCode::from_u16(code).map_err(|_| AnswersError::Status { entry, code })?;
                let mut headers = response.headers.into_iter();
                let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()));
                // Go's type of a header is a list of values; its dry run also takes one value.
                let text = |value: Value| value.get(0).unwrap_or(&value).as_str().map(str::to_owned);
                let content_type = content_type.and_then(|(_, value)| text(value));
                Ok(Response { status, body: response.body, content_type })
            });
            let responses = responses.collect::<Result<_, _>>()?;
            Ok(Entry { method: written.call.method, pattern, responses })
        };
        let entries = file.responses.into_iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { entries, warnings: Diagnostics::default() })
    }
}

/// The API of a dry run: it answers each call by the first matching entry, and sends nothing.
#[derive(Debug)]
pub struct CannedApi {
    base: Option<Base>,
    answers: Answers,
    unmatched: Unmatched,
    /// The index of the entry that answered each call so far; `None` for the default answer.
    answered_by: Mutex<Vec<Option<usize>>>,
}

impl CannedApi {
    /// Creates an API with these answers. Patterns match URLs as the real client resolves them against `base`;
    /// without a base, URLs as the task writes them.
    #[must_use]
    pub fn new(base: Option<Base>, answers: Answers, unmatched: Unmatched) -> Self {
        Self { base, answers, unmatched, answered_by: Mutex::default() }
    }

    /// The warning about a call that no entry matches, and that is no report.
    #[must_use]
    pub fn warning(&self, method: &str, url: &str) -> Option<String> {
        let answer = match self.unmatched {
            Unmatched::AsTheApi if is_stored(method, url) => return None,
            Unmatched::AsTheApi => {
                "404; add one to the file: with `\"statusCode\": 404` if the API is to have no such resource"
            }
            Unmatched::AsTheGoAdapter if is_report(url) => return None,
            Unmatched::AsTheGoAdapter => "200 {}, as in the Go adapter's dry run; the API would answer 404",
        };
        Some(format!("{}: the answer is {answer}", no_entry(method, url)))
    }

    /// The index of the entry that answered each call so far; `None` for the default answer.
    #[must_use]
    pub fn answered_by(&self) -> Vec<Option<usize>> {
        self.log().clone()
    }

    /// Replaces the answers. Each entry begins with its first answer again.
    pub fn set_answers(&mut self, answers: Answers) {
        self.answers = answers;
        self.log().clear();
    }

    /// Forgets the calls after the first `count`.
    pub fn forget_after(&self, count: usize) {
        self.log().truncate(count);
    }

    fn log(&self) -> MutexGuard<'_, Vec<Option<usize>>> {
        self.answered_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, method: &str, url: &str, body: Option<&str>) -> Answer {
        let matches = |entry: &Entry| (entry.method == "*" || entry.method == method) && entry.pattern.is_match(url);
        let chosen = self.answers.entries.iter().position(matches);
        let mut log = self.log();
        let response = match chosen {
            None => self.unmatched(method, url, body),
            Some(entry) => {
                let earlier = log.iter().filter(|answered| **answered == chosen).count();
                let responses = &self.answers.entries[entry].responses;
                responses[earlier.min(responses.len() - 1)].clone()
            }
        };
        log.push(chosen);
        response.to_answer(url)
    }

    fn unmatched(&self, method: &str, url: &str, body: Option<&str>) -> Response {
        let answer = |status, body| Response { status, body, content_type: None };
        match self.unmatched {
            Unmatched::AsTheGoAdapter => Response::default(),
            Unmatched::AsTheApi if is_stored(method, url) => {
                answer(StatusCode::CREATED, body.and_then(|report| serde_json::from_str(report).ok()))
            }
            // The code of a path that the API does not serve: it says of no resource that it does not exist.
            Unmatched::AsTheApi => {
                let problem = json!({
                    "title": "Not Found", "code": "HYPERFLEET-NTF-000", "detail": no_entry(method, url)
                });
                answer(StatusCode::NOT_FOUND, Some(problem))
            }
        }
    }
}

/// Whether a request is a report, which the API stores.
fn is_stored(method: &str, url: &str) -> bool {
    matches!(method, "PUT" | "POST") && is_report(url)
}

fn no_entry(method: &str, url: &str) -> String {
    format!("no entry of {FILE} matches {method} {}", redacted_url(url))
}

impl Api for CannedApi {
    fn resolve_url(&self, url: &str) -> String {
        self.base.as_ref().map_or_else(|| url.to_owned(), |base| base.resolve(url))
    }

    async fn call(&self, request: &ApiRequest, _context: &CallContext) -> Result<Answer, ApiFailure> {
        Ok(self.answer(request.method.as_str(), &self.resolve_url(&request.url), request.body.as_deref()))
    }

    fn is_prepared(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
