//! Reads bundles from Maestro's REST interface.
//!
//! In: an id, or a [`Search`]. Out: bundles that Maestro itself showed. Fails with the reason for which it is unknown what
//! Maestro has: no answer, or one that need not be Maestro's own. A bundle is absent only if Maestro says so in its own
//! words; a proxy's 404 says nothing.

use std::time::Duration;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap};
use lifecycle_api_client::token::TokenFile;
use lifecycle_core::write::WriteErrorKind;
use lifecycle_errors::Chain;
use reqwest::{Url, redirect};
use serde_json::Value;

use crate::grpc::Refusal;
use crate::search::Search;
use crate::tls::{Files, Unusable, client_config};

/// The bundles of one page: as many of the largest ones fit into the memory that an answer may take.
pub const PAGE: usize = 50;

/// The largest answer.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;

/// A reader of bundles, with one connection pool.
#[derive(Debug)]
pub struct Reader {
    http: reqwest::Client,
    bundles: Url,
    token: Option<TokenFile>,
}

/// Why no bundle can be read.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// The address is no http or https URL with a host.
    #[error("the REST server's address is none such as https://maestro:8000")]
    Address,
    /// The certificate authorities cannot be used.
    #[error(transparent)]
    Tls(#[from] Unusable),
    /// The HTTP client cannot be built.
    #[error("failed to build the HTTP client")]
    Http(#[source] reqwest::Error),
}

impl Reader {
    /// Reads from `address`; verifies its certificate with `files`, or not at all.
    ///
    /// # Errors
    /// The address or a file cannot be used.
    pub fn new(
        address: &str,
        files: Option<&Files>,
        token: Option<TokenFile>,
        timeout: Duration,
    ) -> Result<Self, NotSetUp> {
        let no_address = || NotSetUp::Address;
        let mut bundles = Url::parse(address).map_err(|_| no_address())?;
        if !matches!(bundles.scheme(), "http" | "https") || !bundles.has_host() || bundles.query().is_some() {
            return Err(no_address());
        }
        bundles.path_segments_mut().map_err(|()| no_address())?.pop_if_empty().extend([
            "api",
            "maestro",
            "v1",
            "resource-bundles",
        ]);
        let mut tls = client_config(files)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .timeout(timeout)
            .tcp_nodelay(true)
            .build()
            .map_err(NotSetUp::Http)?;
        Ok(Self { http, bundles, token })
    }

    /// The bundle with this id, in whatever state; `None` if Maestro says that there is none.
    ///
    /// # Errors
    /// It is unknown whether the bundle exists.
    pub async fn get(&self, id: &str) -> Result<Option<Value>, Refusal> {
        let mut url = self.bundles.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(id);
        }
        let (status, answer) = self.ask(url).await?;
        match status {
            StatusCode::OK if answer["kind"] == "ResourceBundle" && answer["id"] == id && has_fence(&answer) => {
                Ok(Some(answer))
            }
            StatusCode::NOT_FOUND if answer["kind"] == "Error" && answer["code"] == "maestro-7" => Ok(None),
            _ => Err(refusal(status, &answer)),
        }
    }

    /// One page of the bundles that the search selects, by id, after this one; the last page has less than [`PAGE`].
    ///
    /// # Errors
    /// It is unknown which bundles there are.
    pub async fn page(&self, search: &Search<'_>, after: Option<&str>) -> Result<Vec<Value>, Refusal> {
        if let Some(fault) = search.fault() {
            return Err(Refusal { kind: WriteErrorKind::Invalid, message: fault });
        }
        let mut url = self.bundles.clone();
        let question = [("size", PAGE.to_string()), ("orderBy", "id asc".to_owned()), ("search", search.text(after))];
        url.query_pairs_mut().extend_pairs(question);
        let (status, mut answer) = self.ask(url).await?;
        let is_list = status == StatusCode::OK && answer["kind"] == "ResourceBundleList";
        let items = if is_list { answer["items"].take() } else { Value::Null };
        let Value::Array(items) = items else { return Err(refusal(status, &answer)) };
        // Each page must go on where the one before ended, or the search would never end.
        let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
        let goes_on =
            items.iter().all(has_fence) && ids.len() == items.len() && ids.windows(2).all(|pair| pair[0] != pair[1]);
        if !goes_on || after.is_some_and(|after| ids.contains(&after)) {
            return Err(foreign("a page with a bundle of the page before, or without id, version or creation"));
        }
        Ok(items)
    }

    /// Sends one GET, and reads the whole answer, which must be JSON.
    async fn ask(&self, url: Url) -> Result<(StatusCode, Value), Refusal> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let token = token.token().await;
            let token = token
                .map_err(|error| Refusal { kind: WriteErrorKind::Forbidden, message: Chain(&error).to_string() })?;
            headers.insert(AUTHORIZATION, token);
        }
        let mut response = self.http.get(url).headers(headers).send().await.map_err(unreachable)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > LARGEST_ANSWER {
                return Err(foreign("more than 32 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

/// Whether a bundle has what fences a write: version 0 would opt out of Maestro's lock.
fn has_fence(bundle: &Value) -> bool {
    bundle["version"].as_i64().is_some_and(|version| version > 0)
        && bundle["created_at"].as_str().is_some_and(|created| !created.is_empty())
}

fn unreachable(error: reqwest::Error) -> Refusal {
    Refusal { kind: WriteErrorKind::Unreachable, message: Chain(&error.without_url()).to_string() }
}

fn foreign(what: &str) -> Refusal {
    Refusal { kind: WriteErrorKind::Unavailable, message: format!("the answer is not Maestro's: {what}") }
}

fn refusal(status: StatusCode, answer: &Value) -> Refusal {
    let kind = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => WriteErrorKind::Forbidden,
        StatusCode::BAD_REQUEST => WriteErrorKind::Invalid,
        StatusCode::TOO_MANY_REQUESTS => WriteErrorKind::TooManyRequests,
        _ => WriteErrorKind::Unavailable,
    };
    let message = match answer["reason"].as_str().filter(|_| answer["kind"] == "Error") {
        Some(reason) => format!("{}: {reason}", answer["code"].as_str().unwrap_or("an error")),
        None => format!("the answer is not Maestro's: HTTP status {}", status.as_u16()),
    };
    Refusal { kind, message }
}
