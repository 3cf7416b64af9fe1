//! Looks up one resource, and tells "does not exist" from every answer that does not prove it.
//!
//! In: the path of a resource, and the answer to its GET. Out: one of three results. Callers delete objects of
//! resources that do not exist, so an answer that may come from something else than the API is
//! [`Lookup::Unknown`]: a proxy's or a web server's page, another API, a cache, a truncated body, or the API's
//! answer to another request, because a gateway forwards some ids to another collection.
//!
//! | answer | result |
//! | --- | --- |
//! | 200 and a resource with the id | [`Lookup::Found`] |
//! | 404 and the API's problem document about this path, with the code `HYPERFLEET-NTF-001` | [`Lookup::NotFound`] |
//! | anything else | [`Lookup::Unknown`], with its reason |
//!
//! Another installation of the same API would answer the same 404. So before a deletion, a caller also looks
//! up a resource that is known to exist.

use http::StatusCode;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Answer, Client, Request};
use crate::failure::Failure;
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
    /// The answer is a redirect, which is not followed: another URL would have to answer.
    #[error("HTTP status {0}, a redirect to {1}, which is not followed")]
    Redirected(StatusCode, String),
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
            Self::Redirected(..) => "redirected",
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
        let path = self.base().resolve(&format!("{collection}/{segment}"));
        match self.call(&Request::get(path.as_str()), deadline, watch).await {
            Ok(answer) => judge(&path, &answer),
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
        Answer { redirect: Some(target), .. } => Err(Unknown::Redirected(answer.status, target.clone())),
        Answer { cached: true, .. } => Err(Unknown::Cached),
        Answer { .. } => Ok(()),
    }
}

/// Classifies the answer to `GET` of a path whose last two segments are a collection and an id, as
/// [`Base::resolve`](crate::Base::resolve) returns it.
#[must_use]
pub fn judge(path: &str, answer: &Answer) -> Lookup {
    if let Err(unknown) = check_source(answer) {
        return Lookup::Unknown(unknown);
    }
    match answer.status {
        StatusCode::OK => match serde_json::from_str::<Value>(&answer.body) {
            Ok(resource) if has_id(&resource, path) => Lookup::Found(resource),
            Ok(_) | Err(_) => Lookup::Unknown(Unknown::NoResource),
        },
        StatusCode::NOT_FOUND => check_absence(path, answer).map_or_else(Lookup::Unknown, |()| Lookup::NotFound),
        status => Lookup::Unknown(Unknown::Status(status)),
    }
}

fn has_id(resource: &Value, path: &str) -> bool {
    let id = segments(path).next().and_then(|id| String::from_utf8(id).ok());
    id.is_some() && resource.get("id").and_then(Value::as_str) == id.as_deref()
}

/// Checks that a 404 is the API's own statement that it has no resource at this path.
///
/// # Errors
/// The answer may come from something else than the API, or speaks about something else than this resource.
pub fn check_absence(path: &str, answer: &Answer) -> Result<(), Unknown> {
    check_source(answer)?;
    if answer.status != StatusCode::NOT_FOUND {
        return Err(Unknown::Status(answer.status));
    }
    if !answer.is_of_type(problem::MEDIA_TYPE) {
        return Err(Unknown::NoProblem);
    }
    let problem = Problem::parse(&answer.body).filter(|problem| problem.status == 404).ok_or(Unknown::NoProblem)?;
    if problem.code != Code::ResourceNotFound {
        return Err(Unknown::OtherProblem(problem.code));
    }
    if is_same_resource(path, &problem.instance) { Ok(()) } else { Err(Unknown::OtherPath) }
}

/// Whether two paths end alike, as far as the shorter one reaches: a proxy may cut a prefix from the path, or add
/// one. The collection and the id are never part of a prefix.
fn is_same_resource(asked: &str, named: &str) -> bool {
    let agreeing = segments(asked).zip(segments(named)).take_while(|(one, other)| one == other).count();
    agreeing >= 2 && agreeing == segments(asked).count().min(segments(named).count())
}

/// The segments of a path, decoded, from the last to the first.
fn segments(path: &str) -> impl Iterator<Item = Vec<u8>> {
    path.strip_prefix('/').unwrap_or(path).rsplit('/').map(|segment| percent_decode_str(segment).collect())
}

#[cfg(test)]
mod tests;
