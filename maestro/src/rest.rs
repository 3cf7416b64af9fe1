//! Reads bundles from Maestro's REST interface.
//!
//! In: an id, or a [`Search`]. Out: bundles that Maestro itself showed. Fails with the reason for which it is unknown what
//! Maestro has: no answer, or one that need not be Maestro's own. A bundle is absent only if Maestro says so in its own
//! words; a proxy's 404 says nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap};
use lifecycle_api_client::token::TokenFile;
use lifecycle_errors::Chain;
use lifecycle_objects::write::WriteErrorKind;
use reqwest::{Url, redirect};
use serde_json::Value;

use crate::call::Watch;
use crate::refusal::Refusal;
use crate::search::Search;
use crate::tls::{Files, Unusable, client_config};

/// The most bundles of one page.
pub const PAGE: usize = 50;

/// The largest answer that is read, in bytes.
const LARGEST_ANSWER: usize = 32 * 1024 * 1024;

/// A reader of bundles, with one connection pool.
#[derive(Debug)]
pub struct Reader {
    http: reqwest::Client,
    bundles: Url,
    token: Option<TokenFile>,
    watch: Watch,
}

/// An answer of the server.
enum Answer {
    /// A document; null if the body is no JSON.
    Document(StatusCode, Value),
    /// More than [`LARGEST_ANSWER`].
    TooLarge(StatusCode),
}

/// A part of the bundles that a search selects.
#[derive(Debug)]
pub enum Page {
    /// These bundles, ordered by id.
    Bundles(Vec<Value>),
    /// They would take more memory than an answer may.
    TooLarge,
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
    pub(crate) fn new(
        address: &str,
        files: Option<&Files>,
        token: Option<TokenFile>,
        timeout: Duration,
        watch: Watch,
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
            .build()
            .map_err(NotSetUp::Http)?;
        Ok(Self { http, bundles, token, watch })
    }

    /// The bundle with this id, in whatever state; `None` if Maestro says that there is none.
    ///
    /// # Errors
    /// It is unknown whether the bundle exists.
    pub async fn get(&self, verb: &'static str, id: &str) -> Result<Option<Value>, Refusal> {
        let mut url = self.bundles.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(id);
        }
        self.ask(verb, url, |answer| match answer {
            Answer::Document(StatusCode::OK, bundle)
                if bundle["kind"] == "ResourceBundle" && bundle["id"] == id && has_fence(&bundle) =>
            {
                Ok(Some(bundle))
            }
            Answer::Document(StatusCode::NOT_FOUND, error)
                if error["kind"] == "Error" && error["code"] == "maestro-7" =>
            {
                Ok(None)
            }
            Answer::Document(status, document) => Err(Refusal::of_rest(status, &document)),
            Answer::TooLarge(status) => Err(Refusal::foreign(status, "more than 32 MiB")),
        })
        .await
    }

    /// At most `size` of the bundles that the search selects, by id, after this one.
    ///
    /// # Errors
    /// It is unknown which bundles there are.
    pub async fn page(&self, search: &Search<'_>, after: Option<&str>, size: usize) -> Result<Page, Refusal> {
        if let Some(fault) = search.fault() {
            return Err(Refusal::unsent(WriteErrorKind::Invalid, fault));
        }
        let mut url = self.bundles.clone();
        let question = [("size", size.to_string()), ("orderBy", "id asc".to_owned()), ("search", search.text(after))];
        url.query_pairs_mut().extend_pairs(question);
        self.ask("list", url, |answer| match answer {
            Answer::Document(status, document) => bundles(status, document, after).map(Page::Bundles),
            Answer::TooLarge(_) => Ok(Page::TooLarge),
        })
        .await
    }

    /// Sends one GET, and reads the whole answer, which must be JSON. `read` says whether it is Maestro's own.
    async fn ask<T>(
        &self,
        verb: &'static str,
        url: Url,
        read: impl FnOnce(Answer) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let token = token.token().await;
            let token = token.map_err(|error| Refusal::unsent(WriteErrorKind::Forbidden, Chain(&error).to_string()))?;
            headers.insert(AUTHORIZATION, token);
        }
        let call = async {
            let mut response = self.http.get(url).headers(headers).send().await.map_err(unreachable)?;
            let status = response.status();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
                if body.len() + chunk.len() > LARGEST_ANSWER {
                    return read(Answer::TooLarge(status));
                }
                body.extend_from_slice(&chunk);
            }
            read(Answer::Document(status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
        };
        self.watch.over(verb, call).await
    }
}

/// The bundles of a list that begins after this id.
fn bundles(status: StatusCode, mut answer: Value, after: Option<&str>) -> Result<Vec<Value>, Refusal> {
    let is_list = status == StatusCode::OK && answer["kind"] == "ResourceBundleList";
    let items = if is_list { answer["items"].take() } else { Value::Null };
    let Value::Array(items) = items else { return Err(Refusal::of_rest(status, &answer)) };
    // Each page must go on where the one before ended, or the search would never end.
    let ids: BTreeSet<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    let goes_on = items.iter().all(has_fence) && ids.len() == items.len();
    if !goes_on || after.is_some_and(|after| ids.contains(after)) {
        let what = "a page with a bundle of the page before, or with one twice, or without id, version or creation";
        return Err(Refusal::foreign(status, what));
    }
    Ok(items)
}

/// Whether a bundle has what fences a write: version 0 would opt out of Maestro's lock.
fn has_fence(bundle: &Value) -> bool {
    bundle["version"].as_i64().is_some_and(|version| version > 0)
        && bundle["created_at"].as_str().is_some_and(|created| !created.is_empty())
}

fn unreachable(error: reqwest::Error) -> Refusal {
    Refusal::silence(Chain(&error.without_url()).to_string())
}
