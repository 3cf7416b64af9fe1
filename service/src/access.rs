//! Who may read a page that tells more than probes and metrics do.
//!
//! In: the configured [`Access`], and the headers of a request. Out: nothing for a client that may read the page. Fails: with the
//! answer for any other client: 403 if the page is off, 401 without the right token, 503 if the token cannot be read. The token's file
//! is read at each request, so that the token can change while the process runs.

use std::path::PathBuf;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use subtle::ConstantTimeEq as _;

use crate::files;

/// The clients that may read a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// No client may read the page.
    Off,
    /// Clients that send the token in this file.
    Token(PathBuf),
    /// Every client may read the page, without a token.
    Anonymous,
}

/// The page, for what a refusal says.
#[derive(Debug, Clone, Copy)]
pub struct Guarded {
    /// The path of the page, such as `/stuck`.
    pub path: &'static str,
    /// What the page shows, for the dialog of a browser, such as `stuck resources`.
    pub realm: &'static str,
    /// What turns the page on, as the end of a sentence.
    pub cure: &'static str,
}

impl Access {
    /// Returns the answer for a client that may not read the page.
    ///
    /// # Errors
    /// The client may not read the page.
    pub async fn admit(&self, page: Guarded, headers: &HeaderMap) -> Result<(), Response> {
        let Guarded { path, realm, cure } = page;
        let file = match self {
            Self::Off => return Err(problem(StatusCode::FORBIDDEN, &format!("{path} is off: {cure}"))),
            Self::Anonymous => return Ok(()),
            Self::Token(file) => file,
        };
        let token = files::read_text_aside(file, files::SECRET).await.map_err(|error| error.to_string());
        let token =
            token.and_then(|token| if token.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(token) });
        let token = token.map_err(|error| {
            tracing::error!(file = %file.display(), error, "The token of {path} cannot be read");
            problem(StatusCode::SERVICE_UNAVAILABLE, "the token cannot be read")
        })?;
        if presented(headers).is_some_and(|given| is_same(&given, token.trim())) {
            return Ok(());
        }
        let message = "send the token as `Authorization: Bearer`, or as the password of basic authentication";
        let scheme = [(WWW_AUTHENTICATE, format!("Basic realm=\"{realm}\""))];
        Err((scheme, problem(StatusCode::UNAUTHORIZED, message)).into_response())
    }
}

/// Compares in constant time, so that the duration does not reveal how many characters are right.
fn is_same(given: &str, token: &str) -> bool {
    given.as_bytes().ct_eq(token.as_bytes()).into()
}

/// Returns the token of `Authorization`: a bearer token, or the password of basic authentication, which browsers use.
fn presented(headers: &HeaderMap) -> Option<String> {
    let (scheme, rest) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

/// An answer that says in JSON why a request failed.
#[must_use]
pub fn problem(status: StatusCode, message: &str) -> Response {
    json_body(status, &json!({"status": "error", "message": message}))
}

/// An answer with a JSON body.
#[must_use]
pub fn json_body(status: StatusCode, body: &serde_json::Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use axum::http::HeaderValue;

    use super::*;

    const PAGE: Guarded = Guarded { path: "/page", realm: "a page", cure: "set page.token_file" };

    /// Returns the status of a refusal.
    async fn refusal(access: &Access, authorization: Option<&str>) -> Option<u16> {
        access.admit(PAGE, &headers(authorization)).await.err().map(|refusal| refusal.status().as_u16())
    }

    fn headers(authorization: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[tokio::test]
    async fn admit_grants_access_to_the_right_token_only() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "s3cret").unwrap();
        let access = Access::Token(file.path().to_owned());
        let basic = |pair: &str| format!("Basic {}", BASE64_STANDARD.encode(pair));
        let cases = [
            ("nothing", None, Some(401)),
            ("the token", Some("Bearer s3cret".to_owned()), None),
            ("the token, scheme in other case", Some("bearer s3cret".to_owned()), None),
            ("another token", Some("Bearer s3creT".to_owned()), Some(401)),
            ("a longer token", Some("Bearer s3cret0".to_owned()), Some(401)),
            ("an empty token", Some("Bearer ".to_owned()), Some(401)),
            ("a browser's password", Some(basic("anybody:s3cret")), None),
            ("a browser's wrong password", Some(basic("s3cret:anything")), Some(401)),
            ("no base64", Some("Basic ???".to_owned()), Some(401)),
            ("another scheme", Some("Digest s3cret".to_owned()), Some(401)),
        ];
        for (name, given, expected) in cases {
            assert_eq!(refusal(&access, given.as_deref()).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn admit_grants_no_access_without_a_readable_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), "/nonexistent".into(), "/dev/zero".into()] {
            assert_eq!(refusal(&Access::Token(path.clone()), Some("Bearer ")).await, Some(503), "{path:?}");
        }
        assert_eq!(refusal(&Access::Off, Some("Bearer x")).await, Some(403));
        assert_eq!(refusal(&Access::Anonymous, None).await, None);
    }
}
