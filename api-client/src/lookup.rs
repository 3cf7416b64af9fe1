//! Looks up one resource, and tells "does not exist" from every answer that does not prove it.
//!
//! In: the id of a resource, and the answer to its GET. Out: one of three results. Callers delete objects of
//! resources that do not exist, so an answer that may come from something else than the API is
//! [`Lookup::Unknown`]: a proxy's or a web server's page, another API, a cache, a truncated body.
//!
//! | answer | result |
//! | --- | --- |
//! | 200 and a resource with the id | [`Lookup::Found`] |
//! | 404 and the API's problem document about this id, with the code `HYPERFLEET-NTF-001` | [`Lookup::NotFound`] |
//! | anything else | [`Lookup::Unknown`], with its reason |
//!
//! Another installation of the same API would answer the same 404. So before a deletion, a caller also looks
//! up a resource that is known to exist.

use http::StatusCode;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Answer, Client, Failure, Request};
use crate::problem::{self, Code, Problem};
use crate::url::segment;
use crate::watch::Watch;

/// The result of looking up one resource in the API.
#[derive(Debug)]
pub enum Lookup {
    /// The resource exists; holds the API's document.
    Found(Value),
    /// The resource does not exist: the API itself answered so.
    NotFound,
    /// Unknown: the answer proves neither.
    Unknown(Unknown),
}

/// Why it is unknown whether a resource exists.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The id cannot be a segment of a URL path.
    #[error("the id cannot stand in a path")]
    Id,
    /// The call failed before a complete answer arrived.
    #[error(transparent)]
    NoAnswer(Failure),
    /// A redirect was followed, so another URL answered.
    #[error("the answer comes from another URL")]
    Redirected,
    /// A cache answered, so the answer says what was true before.
    #[error("the answer comes from a cache")]
    Cached,
    /// The status is neither 200 nor 404.
    #[error("HTTP status {0}")]
    Status(StatusCode),
    /// The status is 200, but the body is not the requested resource.
    #[error("HTTP status 200 without the resource")]
    NoResource,
    /// The status is 404, but the body is not a problem document of the API: a proxy's page, or a truncated
    /// document.
    #[error("HTTP status 404 without a problem document of the API")]
    NoProblem,
    /// The status is 404 with another problem, such as a URL that the API does not serve.
    #[error("HTTP status 404 for another reason: {0:?}")]
    OtherProblem(Code),
    /// The status is 404, but the problem document names another path.
    #[error("HTTP status 404 about another path")]
    OtherPath,
}

impl Unknown {
    /// The labels of all reasons.
    pub const LABELS: [&str; 9] = [
        "invalid_id",
        "no_answer",
        "redirected",
        "cached",
        "status",
        "no_resource",
        "no_problem",
        "other_problem",
        "other_path",
    ];

    /// The reason as the value of a metric label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Id => "invalid_id",
            Self::NoAnswer(_) => "no_answer",
            Self::Redirected => "redirected",
            Self::Cached => "cached",
            Self::Status(_) => "status",
            Self::NoResource => "no_resource",
            Self::NoProblem => "no_problem",
            Self::OtherProblem(_) => "other_problem",
            Self::OtherPath => "other_path",
        }
    }
}

impl Client {
    /// Looks up a resource in a collection: `clusters`, another kind's, or `resources`, which has all kinds.
    pub async fn look_up<W: Watch>(&self, collection: &str, id: &str, deadline: Option<Instant>, watch: &W) -> Lookup {
        let Some(segment) = segment(id) else { return Lookup::Unknown(Unknown::Id) };
        match self.call(&Request::get(format!("{collection}/{segment}")), deadline, watch).await {
            Ok(answer) => judge(id, &answer),
            Err(failure) => Lookup::Unknown(Unknown::NoAnswer(failure)),
        }
    }
}

/// Checks that the requested URL answered, and just now.
///
/// # Errors
/// Another URL or a cache answered.
pub fn check_source(answer: &Answer) -> Result<(), Unknown> {
    match answer {
        Answer { redirected: true, .. } => Err(Unknown::Redirected),
        Answer { cached: true, .. } => Err(Unknown::Cached),
        Answer { .. } => Ok(()),
    }
}

/// Classifies the answer to `GET …/{id}`.
#[must_use]
pub fn judge(id: &str, answer: &Answer) -> Lookup {
    if let Err(unknown) = check_source(answer) {
        return Lookup::Unknown(unknown);
    }
    match answer.status {
        StatusCode::OK => match serde_json::from_str::<Value>(&answer.body) {
            Ok(resource) if resource.get("id").and_then(Value::as_str) == Some(id) => Lookup::Found(resource),
            Ok(_) | Err(_) => Lookup::Unknown(Unknown::NoResource),
        },
        StatusCode::NOT_FOUND => not_found(id, answer).map_or_else(Lookup::Unknown, |()| Lookup::NotFound),
        status => Lookup::Unknown(Unknown::Status(status)),
    }
}

/// Succeeds only if the answer is the API's own statement that the resource does not exist.
fn not_found(id: &str, answer: &Answer) -> Result<(), Unknown> {
    let media_type = answer.content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case(problem::MEDIA_TYPE) {
        return Err(Unknown::NoProblem);
    }
    let problem = Problem::parse(&answer.body).filter(|problem| problem.status == 404).ok_or(Unknown::NoProblem)?;
    if problem.code != Code::ResourceNotFound {
        return Err(Unknown::OtherProblem(problem.code));
    }
    // Compare only the last segment: a proxy may have rewritten the path before it.
    let named = problem.instance.rsplit('/').next().unwrap_or_default();
    if percent_decode_str(named).decode_utf8().ok().as_deref() == Some(id) { Ok(()) } else { Err(Unknown::OtherPath) }
}

#[cfg(test)]
mod tests;
