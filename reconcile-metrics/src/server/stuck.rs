//! Serves `/stuck`: the stuck resources as JSON or as an HTML page.
//!
//! In: filters, a page number and a token. Out: one page of stuck resources, the oldest first. Fails: 403 if `/stuck` is
//! off, 401 without the right token, 400 for wrong parameters, 503 if the database cannot be read or another client is
//! reading. It never delays a scrape, which has a database connection of its own.

use std::fmt;
use std::str::FromStr;

use axum::extract::{Query, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use lifecycle_service::access::{Guarded, json_body, problem};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::Shared;
use crate::listing::Filter;
use crate::store::Trouble;
use crate::stuck_page::Page;

const THIS_PAGE: Guarded = Guarded {
    path: "/stuck",
    realm: "stuck resources",
    cure: "set stuck.token_file, or stuck.anonymous to open it to all",
};
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
    if let Err(refusal) = shared.config.stuck_access.admit(THIS_PAGE, &headers).await {
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use axum::http::HeaderValue;

    use super::*;

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
}
