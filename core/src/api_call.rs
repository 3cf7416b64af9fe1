//! An HTTP call of a param, precondition or post action: as compiled, and as rendered.

use std::time::Duration;

use lifecycle_language::scope::Scope;
use lifecycle_language::template::{RenderError, Template, UrlTemplate};

/// An HTTP method that a task may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of RFC 9110")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// Returns the method's name in a request line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// How the delay between attempts grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryBackoff {
    /// The delay doubles with each attempt: `base`, `2·base`, `4·base`, …
    #[default]
    Exponential,
    /// The delay grows by `base` with each attempt: `base`, `2·base`, `3·base`, …
    Linear,
    /// The delay is the same after each attempt: `base`, `base`, …
    Constant,
}

/// Reads a configured number of attempts. Zero and negative numbers mean none, so that the client's own
/// number counts, as in the Go adapter.
#[must_use]
pub fn attempts(written: i64) -> Option<u32> {
    (written > 0).then(|| u32::try_from(written).unwrap_or(u32::MAX))
}

/// A call, before its templates are rendered.
#[derive(Debug, Clone)]
pub struct ApiCall {
    /// The HTTP method of the call.
    pub method: Method,
    /// The URL: absolute, or relative to the base URL of the HyperFleet API.
    pub url: UrlTemplate,
    /// The time limit of one attempt; none for the client's own.
    pub timeout: Option<Duration>,
    /// Attempts in total; none for the client's own number.
    pub retry_attempts: Option<u32>,
    /// The growth of the delay between attempts; none for the client's own.
    pub retry_backoff: Option<RetryBackoff>,
    /// The body. GET and DELETE requests are sent without it.
    pub body: Option<Template>,
    /// The templates of the HTTP headers by name, in the order in which they are sent.
    pub headers: Vec<(String, Template)>,
}

/// A call with every template rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest {
    /// The HTTP method of the call.
    pub method: Method,
    /// The call's URL after its template was rendered.
    pub url: String,
    /// The URL as the task writes it: what metrics show of it does not come from events.
    pub url_template: String,
    /// The time limit of one attempt; see [`ApiCall::timeout`].
    pub timeout: Option<Duration>,
    /// How often the client may try the call in total; see [`ApiCall::retry_attempts`].
    pub retry_attempts: Option<u32>,
    /// How the delay between attempts grows; see [`ApiCall::retry_backoff`].
    pub retry_backoff: Option<RetryBackoff>,
    /// The request body after its template was rendered; none if the call has no body.
    pub body: Option<String>,
    /// The rendered headers, in order.
    pub headers: Vec<(String, String)>,
}

impl ApiCall {
    /// Renders every template of the call.
    ///
    /// # Errors
    /// The first template that fails; or a value would change the structure of the URL, such as `..` in its
    /// path.
    pub fn render(&self, scope: &Scope) -> Result<ApiRequest, RenderError> {
        let body = match (&self.body, self.method) {
            (Some(body), Method::Post | Method::Put | Method::Patch) => Some(body.render(scope)?.into_owned()),
            (_, Method::Get | Method::Delete) | (None, Method::Post | Method::Put | Method::Patch) => None,
        };
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.render(scope)?.into_owned())))
            .collect::<Result<_, RenderError>>()?;
        Ok(ApiRequest {
            method: self.method,
            url: self.url.render(scope)?,
            url_template: self.url.source().to_owned(),
            timeout: self.timeout,
            retry_attempts: self.retry_attempts,
            retry_backoff: self.retry_backoff,
            body,
            headers,
        })
    }
}
