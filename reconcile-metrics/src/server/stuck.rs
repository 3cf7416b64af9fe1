//! `/stuck`: the stuck resources by name, as JSON and as a page.
//!
//! In: filters and a page's number, and who asks. Out: the resources with what they wait on, the oldest first. It can
//! fail because nobody may read it, because the asker has no token, or because the database does not answer; it never
//! fails a scrape, because one asker at a time may hold a connection.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{Query, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::{Shared, json_body};
use crate::config::StuckAccess;
use crate::diagnosis::{Stuck, diagnose};
use crate::store::Selection;
use crate::stuck_page::{Filter, Page};

const DEFAULT_SIZE: usize = 100;
const MAX_SIZE: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(default, deserialize_with = "unless_empty")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    adapter: Option<String>,
    #[serde(default, deserialize_with = "unless_empty")]
    deleting: Option<bool>,
    #[serde(default)]
    missing: bool,
    page: Option<usize>,
    size: Option<usize>,
}

/// A browser sends a field of the form that nobody filled in as an empty text.
fn unless_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(D::Error::custom) }
}

/// What may be read by whom.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Granted,
    Off,
    Refused,
    /// The file of the token cannot be read.
    Broken(String),
}

pub(super) async fn page(
    State(shared): State<Shared>,
    headers: HeaderMap,
    parameters: Result<Query<Parameters>, axum::extract::rejection::QueryRejection>,
) -> Response {
    match admit(&shared.config.stuck_access, &headers) {
        Admission::Granted => {}
        Admission::Off => {
            let message = "/stuck is off: set stuck.token_file, or stuck.anonymous to open it to all";
            return problem(StatusCode::FORBIDDEN, message);
        }
        Admission::Refused => {
            let mut response =
                problem(StatusCode::UNAUTHORIZED, "present the token as Bearer, or as password of Basic");
            let scheme = axum::http::HeaderValue::from_static("Basic realm=\"stuck resources\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        }
        Admission::Broken(error) => {
            tracing::error!(error, "The token of /stuck cannot be read");
            return problem(StatusCode::SERVICE_UNAVAILABLE, "the token cannot be read");
        }
    }
    let parameters = match parameters {
        Ok(Query(parameters)) => parameters,
        Err(rejection) => return problem(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    let (number, size) = (parameters.page.unwrap_or(1), parameters.size.unwrap_or(DEFAULT_SIZE));
    if number == 0 || size == 0 || size > MAX_SIZE {
        return problem(StatusCode::BAD_REQUEST, &format!("page is from 1, size from 1 to {MAX_SIZE}"));
    }
    let Ok(_reader) = shared.readers.try_acquire() else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "somebody else is reading; try again");
    };
    let most = shared.config.details.max_resources;
    let filter = Filter {
        kind: parameters.kind,
        adapter: parameters.adapter,
        deleting: parameters.deleting,
        missing: parameters.missing,
    };
    let selection =
        Selection { kind: filter.kind.clone(), deleting: filter.deleting, limit: most + 1, missing: filter.missing };
    let mut resources = match shared.store.stuck(&selection, shared.config.scrape_timeout).await {
        Ok(resources) => resources,
        Err(error) => {
            // The chain may quote data: it is for the log.
            tracing::warn!(reason = error.reason(), error = error.chain(), "Stuck resources cannot be read");
            return problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
        }
    };
    let read_at = Timestamp::now();
    let truncated = resources.len() > most as usize;
    resources.truncate(most as usize);
    let mut stuck = diagnose(&resources, shared.store.kinds());
    if let Some(adapter) = &filter.adapter {
        stuck.retain(|stuck| stuck.waits_on.iter().any(|wait| wait.adapter == *adapter));
    }
    let total = stuck.len();
    let items: Vec<Stuck> = stuck.into_iter().skip((number - 1).saturating_mul(size)).take(size).collect();
    let html = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|a| a.contains("text/html"));
    let mut response = if html {
        let type_and_policy = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
        ];
        let page = Page { items: &items, number, size, total, truncated, filter: &filter, read_at };
        (type_and_policy, page.html()).into_response()
    } else {
        let body = json!({"items": items, "page": number, "size": items.len(), "total": total, "truncated": truncated});
        json_body(StatusCode::OK, &body)
    };
    response.headers_mut().insert(CACHE_CONTROL, axum::http::HeaderValue::from_static("no-store"));
    response
}

fn problem(status: StatusCode, message: &str) -> Response {
    json_body(status, &json!({"status": "error", "message": message}))
}

fn admit(access: &StuckAccess, headers: &HeaderMap) -> Admission {
    let file = match access {
        StuckAccess::Off => return Admission::Off,
        StuckAccess::Anonymous => return Admission::Granted,
        StuckAccess::Token(file) => file,
    };
    let token = match std::fs::read_to_string(file) {
        Ok(token) if !token.trim().is_empty() => token.trim().to_owned(),
        Ok(_) => return Admission::Broken(format!("`{}` is empty", file.display())),
        Err(error) => return Admission::Broken(format!("`{}`: {error}", file.display())),
    };
    let given = headers.get(AUTHORIZATION).and_then(|given| given.to_str().ok()).and_then(presented);
    if given.is_some_and(|given| same(given.as_bytes(), token.as_bytes())) {
        Admission::Granted
    } else {
        Admission::Refused
    }
}

/// The token of a program, or the password that a browser asked a person for.
fn presented(header: &str) -> Option<String> {
    let (scheme, rest) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

/// Compares without telling by its time where two texts differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use axum::http::HeaderValue;

    use super::*;

    fn headers(authorization: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn the_page_opens_to_who_presents_the_token() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "s3cret").unwrap();
        let access = StuckAccess::Token(file.path().to_owned());
        let basic = |pair: &str| format!("Basic {}", BASE64_STANDARD.encode(pair));
        let cases = [
            ("nothing", None, Admission::Refused),
            ("the token", Some("Bearer s3cret".to_owned()), Admission::Granted),
            ("the token, scheme in other case", Some("bearer s3cret".to_owned()), Admission::Granted),
            ("another token", Some("Bearer s3creT".to_owned()), Admission::Refused),
            ("a longer token", Some("Bearer s3cret0".to_owned()), Admission::Refused),
            ("an empty token", Some("Bearer ".to_owned()), Admission::Refused),
            ("a browser's password", Some(basic("anybody:s3cret")), Admission::Granted),
            ("a browser's wrong password", Some(basic("s3cret:anything")), Admission::Refused),
            ("no base64", Some("Basic ???".to_owned()), Admission::Refused),
            ("another scheme", Some("Digest s3cret".to_owned()), Admission::Refused),
        ];
        for (name, given, expected) in cases {
            assert_eq!(admit(&access, &headers(given.as_deref())), expected, "{name}");
        }
    }

    #[test]
    fn an_empty_or_missing_token_file_opens_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), "/nonexistent".into()] {
            let admission = admit(&StuckAccess::Token(path), &headers(Some("Bearer ")));
            assert!(matches!(admission, Admission::Broken(_)), "{admission:?}");
        }
        assert_eq!(admit(&StuckAccess::Off, &headers(Some("Bearer x"))), Admission::Off);
        assert_eq!(admit(&StuckAccess::Anonymous, &headers(None)), Admission::Granted);
    }
}
