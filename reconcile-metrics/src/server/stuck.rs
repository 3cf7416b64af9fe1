//! Serves `/stuck`: the stuck resources as JSON or as an HTML page.
//!
//! In: filters, a page number and a token. Out: one page of stuck resources, the oldest first. Fails: 403 if `/stuck` is
//! off, 401 without the right token, 400 for wrong parameters, 503 if the database cannot be read or another client is
//! reading. It never delays a scrape, which has a database connection of its own.

use std::fmt;
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
use lifecycle_service::files;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use subtle::ConstantTimeEq as _;

use super::{Shared, json_body};
use crate::config::StuckAccess;
use crate::listing::Filter;
use crate::store::Trouble;
use crate::stuck_page::Page;

const DEFAULT_SIZE: usize = 100;
const MAX_SIZE: usize = 500;
/// The highest page number: with `details.max_resources` at its maximum, even pages of one resource end there.
const MAX_PAGE: usize = 10_000;

/// The parameters of a request. A browser's form also sends empty ones, which count as absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(default, deserialize_with = "non_empty")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "non_empty")]
    adapter: Option<String>,
    #[serde(default, deserialize_with = "non_empty")]
    deleting: Option<bool>,
    #[serde(default, deserialize_with = "non_empty")]
    stalled: Option<bool>,
    #[serde(default, deserialize_with = "non_empty")]
    page: Option<usize>,
    #[serde(default, deserialize_with = "non_empty")]
    size: Option<usize>,
    #[serde(default, deserialize_with = "non_empty")]
    format: Option<Format>,
}

/// The format of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Html,
}

impl Format {
    /// Chooses the format: the parameter's, else HTML for clients that accept it (browsers), else JSON.
    fn of(asked: Option<Self>, headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        asked.unwrap_or(if accepted.contains("text/html") { Self::Html } else { Self::Json })
    }
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Self::Json),
            "html" => Ok(Self::Html),
            _ => Err("format is json or html"),
        }
    }
}

fn non_empty<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    if text.contains('\0') {
        // PostgreSQL rejects a parameter that contains it.
        return Err(D::Error::custom("a filter has a character U+0000"));
    }
    text.parse().map(Some).map_err(|error| D::Error::custom(format!("`{text}`: {error}")))
}

pub(super) async fn page(
    State(shared): State<Shared>,
    headers: HeaderMap,
    parameters: Result<Query<Parameters>, axum::extract::rejection::QueryRejection>,
) -> Response {
    if let Err(refusal) = admit(&shared.config.stuck_access, &headers).await {
        return refusal;
    }
    let parameters = match parameters {
        Ok(Query(parameters)) => parameters,
        Err(rejection) => return problem(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    let (number, size) = (parameters.page.unwrap_or(1), parameters.size.unwrap_or(DEFAULT_SIZE));
    if !(1..=MAX_PAGE).contains(&number) || !(1..=MAX_SIZE).contains(&size) {
        let message = format!("page is from 1 to {MAX_PAGE}, size from 1 to {MAX_SIZE}");
        return problem(StatusCode::BAD_REQUEST, &message);
    }
    let trouble = if parameters.stalled.unwrap_or_default() { Trouble::Stalled } else { Trouble::Stuck };
    let Ok(reader) = shared.readers.clone().try_acquire_owned() else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "another client is reading; try again");
    };
    let filter = Filter { kind: parameters.kind, adapter: parameters.adapter, deleting: parameters.deleting, trouble };
    let config = &shared.config;
    let first = (number - 1) * size;
    // If a client disconnects, PostgreSQL still runs its statement. The task keeps the permits until that statement ends, so
    // that impatient clients cannot start many at once.
    let task = tokio::spawn({
        let (filter, config, store) = (filter.clone(), config.clone(), shared.store.clone());
        async move {
            let _reader = reader;
            filter.list(&store, config.details.max_resources, first..first + size, config.scrape_timeout).await
        }
    });
    let listing = match task.await {
        Ok(Ok(listing)) => listing,
        Err(_panicked) => return problem(StatusCode::INTERNAL_SERVER_ERROR, "the reading broke off; see the log"),
        Ok(Err(error)) => {
            // The texts of the causes may quote data of the database, so they go to the log and not to the client.
            tracing::warn!(reason = error.reason(), error = error.chain(), "Stuck resources cannot be read");
            return problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string());
        }
    };
    let read_at = Timestamp::now();
    let items = listing.found.get(first..).unwrap_or_default();
    let items = items.get(..size).unwrap_or(items);
    let hint = filter.hint(&config.kinds).filter(|_| listing.found.is_empty());
    let mut response = if Format::of(parameters.format, &headers) == Format::Html {
        let page = Page {
            listing: &listing,
            items,
            number,
            size,
            filter: &filter,
            hint: hint.as_deref(),
            kinds: &config.kinds,
            read_at,
        };
        let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)];
        (headers, page.html()).into_response()
    } else {
        let (total, read, truncated) = (listing.found.len(), listing.read, listing.truncated);
        json_body(
            StatusCode::OK,
            &json!({
                "items": items, "page": number, "size": items.len(), "total": total,
                "read": read, "truncated": truncated, "hint": hint,
            }),
        )
    };
    response.headers_mut().insert(CACHE_CONTROL, axum::http::HeaderValue::from_static("no-store"));
    response
}

fn problem(status: StatusCode, message: &str) -> Response {
    json_body(status, &json!({"status": "error", "message": message}))
}

/// Returns the answer for a client that may not read the page.
async fn admit(access: &StuckAccess, headers: &HeaderMap) -> Result<(), Response> {
    let file = match access {
        StuckAccess::Off => {
            let message = "/stuck is off: set stuck.token_file, or stuck.anonymous to open it to all";
            return Err(problem(StatusCode::FORBIDDEN, message));
        }
        StuckAccess::Anonymous => return Ok(()),
        StuckAccess::Token(file) => file,
    };
    let token = files::read_text_aside(file, files::SECRET).await.map_err(|error| error.to_string());
    let token = token.and_then(|token| if token.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(token) });
    let token = token.map_err(|error| {
        tracing::error!(file = %file.display(), error, "The token of /stuck cannot be read");
        problem(StatusCode::SERVICE_UNAVAILABLE, "the token cannot be read")
    })?;
    let given = headers.get(AUTHORIZATION).and_then(|given| given.to_str().ok()).and_then(presented);
    // Compare in constant time, so that the duration does not reveal how many characters are right.
    if given.is_some_and(|given| given.as_bytes().ct_eq(token.trim().as_bytes()).into()) {
        return Ok(());
    }
    let message = "send the token as `Authorization: Bearer`, or as the password of basic authentication";
    let scheme = [(WWW_AUTHENTICATE, "Basic realm=\"stuck resources\"")];
    Err((scheme, problem(StatusCode::UNAUTHORIZED, message)).into_response())
}

/// Returns the token of `Authorization`: a bearer token, or the password of basic authentication, which browsers use.
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use axum::http::HeaderValue;

    use super::*;

    /// Returns the status of a refusal.
    async fn refusal(access: &StuckAccess, authorization: Option<&str>) -> Option<u16> {
        admit(access, &headers(authorization)).await.err().map(|refusal| refusal.status().as_u16())
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
        let access = StuckAccess::Token(file.path().to_owned());
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

    #[test]
    fn format_parameter_wins_over_the_accept_header() {
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        let cases = [
            ("a program", "/stuck", "*/*", Some(Format::Json)),
            ("a browser", "/stuck", browser, Some(Format::Html)),
            ("JSON in a browser", "/stuck?format=json", browser, Some(Format::Json)),
            ("a page for a program", "/stuck?kind=Cluster&format=html", "*/*", Some(Format::Html)),
            ("a field left empty", "/stuck?format=", browser, Some(Format::Html)),
            ("another format", "/stuck?format=xml", browser, None),
        ];
        for (name, address, accept, expected) in cases {
            let parameters = Query::<Parameters>::try_from_uri(&address.parse().unwrap());
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            let format = parameters.ok().map(|Query(parameters)| Format::of(parameters.format, &headers));
            assert_eq!(format, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn admit_grants_no_access_without_a_readable_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path().to_owned(), "/nonexistent".into(), "/dev/zero".into()] {
            assert_eq!(refusal(&StuckAccess::Token(path.clone()), Some("Bearer ")).await, Some(503), "{path:?}");
        }
        assert_eq!(refusal(&StuckAccess::Off, Some("Bearer x")).await, Some(403));
        assert_eq!(refusal(&StuckAccess::Anonymous, None).await, None);
    }
}
