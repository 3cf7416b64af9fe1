//! Whether a resource exists: "definitely not found", apart from every other 404.
//!
//! In: the id that was asked for, and what came back. Out: the resource, or that the API itself says it does not exist,
//! or why neither is known. What is unknown must delete nothing, so everything that something else than the API may have
//! answered is unknown: a proxy, a page for people, another API, a cache, an answer that breaks off.
//!
//! | answer | means |
//! | --- | --- |
//! | 200 and a resource with the id | [`Lookup::Found`] |
//! | 404 and the API's own problem document about this id, with `HYPERFLEET-NTF-001` | [`Lookup::NotFound`] |
//! | anything else | [`Lookup::Unknown`], with its reason |
//!
//! It cannot tell the right API from another installation of it: whoever deletes asks for a resource that is known to
//! exist as well.

use http::StatusCode;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Answer, Client, Failure, Request};
use crate::problem::{self, Code, Problem};
use crate::url::segment;
use crate::watch::Watch;

/// What is known of one resource.
#[derive(Debug)]
pub enum Lookup {
    /// It exists: the document that the API gave.
    Found(Value),
    /// It does not exist: the API itself says so.
    NotFound,
    /// Neither is known.
    Unknown(Unknown),
}

/// Why it is not known whether a resource exists.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// No path can name the id.
    #[error("the id cannot stand in a path")]
    Id,
    /// There was no complete answer.
    #[error(transparent)]
    NoAnswer(Failure),
    /// Another URL answered.
    #[error("the answer comes from another URL")]
    Redirected,
    /// The status is neither 200 nor 404.
    #[error("HTTP status {0}")]
    Status(StatusCode),
    /// A 200 without the resource that was asked for.
    #[error("HTTP status 200 without the resource")]
    NoResource,
    /// A 404 without the API's problem document: a proxy's, or one that breaks off.
    #[error("HTTP status 404 without a problem document of the API")]
    NoProblem,
    /// A 404 whose problem is another one, such as a URL that the API does not serve.
    #[error("HTTP status 404 for another reason: {0:?}")]
    OtherProblem(Code),
    /// A 404 about another path.
    #[error("HTTP status 404 about another path")]
    OtherPath,
}

impl Client {
    /// Asks for one resource of a collection, such as `clusters`, or `resources` for any kind.
    pub async fn look_up<W: Watch>(&self, collection: &str, id: &str, deadline: Option<Instant>, watch: &W) -> Lookup {
        let Some(segment) = segment(id) else { return Lookup::Unknown(Unknown::Id) };
        match self.call(&Request::get(format!("{collection}/{segment}")), deadline, watch).await {
            Ok(answer) => judge(id, &answer),
            Err(failure) => Lookup::Unknown(Unknown::NoAnswer(failure)),
        }
    }
}

/// What an answer to `GET …/{id}` says.
#[must_use]
pub fn judge(id: &str, answer: &Answer) -> Lookup {
    if answer.redirected {
        return Lookup::Unknown(Unknown::Redirected);
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

/// Succeeds only for the API's own word that the resource does not exist.
fn not_found(id: &str, answer: &Answer) -> Result<(), Unknown> {
    let media_type = answer.content_type.as_deref().and_then(|value| value.split(';').next()).unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case(problem::MEDIA_TYPE) {
        return Err(Unknown::NoProblem);
    }
    let problem = Problem::parse(&answer.body).filter(|problem| problem.status == 404).ok_or(Unknown::NoProblem)?;
    if problem.code != Code::ResourceNotFound {
        return Err(Unknown::OtherProblem(problem.code));
    }
    // Proxies may have changed what stands before the id.
    let named = problem.instance.rsplit('/').next().unwrap_or_default();
    if percent_decode_str(named).decode_utf8().ok().as_deref() == Some(id) { Ok(()) } else { Err(Unknown::OtherPath) }
}

#[cfg(test)]
mod tests;
