//! Reads all resources of one type from the HyperFleet API.
//!
//! In: the type and the label selector of the configuration. Out: the resources of all pages, in the API's order.
//! Fails: with the first page that cannot be read; no part of a list counts as all of it.
//!
//! A failed page is not requested again, because the next poll requests all of them a few seconds later. A resource
//! that is created or removed while the pages are read can be listed twice or not at all, as with the real Sentinel.

use std::collections::BTreeMap;

use http::{HeaderValue, StatusCode};
use lifecycle_api_client::failure::CallError;
use lifecycle_api_client::problem::Problem;
use lifecycle_api_client::url::segment;
use lifecycle_api_client::{Client, DelayGrowth, Failure, Request, RetryPolicy, Settings, SettingsError};
use lifecycle_service::version::THIS;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::config::ApiConfig;
use crate::resource::Resource;

/// The resources of one type, behind a client of the API.
#[derive(Debug)]
pub struct Listing {
    client: Client,
    /// The path and the query of a list, without its page.
    url: String,
}

/// Why the list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// No complete answer arrived.
    #[error("failed to read page {page}")]
    NoAnswer {
        /// The number of the page, from 1.
        page: usize,
        /// The client's error.
        source: Failure,
    },
    /// The API answered with another status than 200.
    #[error("page {page}: HTTP status {status}{detail}")]
    Refused {
        /// The number of the page, from 1.
        page: usize,
        /// The status of the answer.
        status: StatusCode,
        /// What the API's problem document says, after a colon.
        detail: String,
    },
    /// The answer is not a list of resources.
    #[error("page {page} is no list of resources")]
    NoList {
        /// The number of the page, from 1.
        page: usize,
        /// The place of the mistake in the answer.
        source: serde_json::Error,
    },
}

/// The kind of a failed request, as a metric label tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorType {
    /// The list was not read.
    Fetch,
    /// There is no token, or the API refuses it.
    Auth,
}

impl ApiErrorType {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Fetch, Self::Auth];

    /// The kind as the value of a metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Fetch => "fetch_error",
            Self::Auth => "auth_error",
        }
    }
}

impl ListingError {
    /// The kind of this error.
    #[must_use]
    pub fn error_type(&self) -> ApiErrorType {
        match self {
            Self::NoAnswer { source: Failure { error: CallError::Token(_), .. }, .. }
            | Self::Refused { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, .. } => ApiErrorType::Auth,
            Self::NoAnswer { .. } | Self::Refused { .. } | Self::NoList { .. } => ApiErrorType::Fetch,
        }
    }
}

/// A page of a list.
#[derive(Debug, Deserialize)]
struct Page {
    /// The API may write `null` for none.
    items: Option<Vec<Resource>>,
    /// How many resources all pages have.
    total: usize,
}

impl Listing {
    /// Builds the client of the API.
    ///
    /// # Errors
    /// The API's URL is unusable, or TLS cannot be set up.
    pub fn new(
        name: &str,
        api: &ApiConfig,
        resource_type: &str,
        selector: &BTreeMap<String, String>,
    ) -> Result<Self, SettingsError> {
        let agent = format!("local-sentinel/{} ({name})", THIS.number);
        let client = Client::new(Settings {
            base_url: api.base_url.clone(),
            // As in the real Sentinel, whatever `clients.hyperfleet_api.version` says.
            version: String::new(),
            timeout: api.timeout,
            retry: RetryPolicy { attempts: 1, backoff: DelayGrowth::Constant, ..RetryPolicy::default() },
            default_headers: http::HeaderMap::new(),
            token: api.token.clone(),
            user_agent: HeaderValue::from_str(&agent).unwrap_or(HeaderValue::from_static("local-sentinel")),
        })?;
        Ok(Self { client, url: url(resource_type, selector, api.page_size) })
    }

    /// Reads all pages.
    ///
    /// # Errors
    /// A page could not be read.
    pub async fn read(&self) -> Result<Vec<Resource>, ListingError> {
        let mut resources = Vec::new();
        for page in 1.. {
            let Page { items, total } = self.page(page).await?;
            let items = items.unwrap_or_default();
            let is_last = items.is_empty() || resources.len() + items.len() >= total;
            resources.extend(items);
            if is_last {
                break;
            }
        }
        Ok(resources)
    }

    async fn page(&self, page: usize) -> Result<Page, ListingError> {
        let request = Request::get(format!("{}&page={page}", self.url));
        let answer = self.client.call(&request, None, &()).await;
        let answer = answer.map_err(|source| ListingError::NoAnswer { page, source })?;
        if answer.status != StatusCode::OK {
            let detail = Problem::parse(&answer.body).map(|problem| format!(": {}", problem.detail));
            return Err(ListingError::Refused { page, status: answer.status, detail: detail.unwrap_or_default() });
        }
        serde_json::from_str(&answer.body).map_err(|source| ListingError::NoList { page, source })
    }
}

fn url(resource_type: &str, selector: &BTreeMap<String, String>, page_size: u16) -> String {
    let mut url = format!("{}?size={page_size}", segment(resource_type).unwrap_or_default());
    let labels = selector.iter().map(|(label, value)| format!("labels.{label}='{value}'"));
    let search = labels.collect::<Vec<_>>().join(" and ");
    if !search.is_empty() {
        url.extend(["&search=", &utf8_percent_encode(&search, NON_ALPHANUMERIC).to_string()]);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_has_the_size_and_the_sorted_selector() {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let cases = [
            ("clusters", labels(&[]), "clusters?size=20"),
            ("clusters", labels(&[("shard", "1")]), "clusters?size=20&search=labels%2Eshard%3D%271%27"),
            (
                "nodepools",
                labels(&[("zone", "b"), ("shard", "1")]),
                "nodepools?size=20&search=labels%2Eshard%3D%271%27%20and%20labels%2Ezone%3D%27b%27",
            ),
            ("odd/type", labels(&[]), "odd%2Ftype?size=20"),
        ];
        for (resource_type, selector, expected) in cases {
            assert_eq!(url(resource_type, &selector, 20), expected);
        }
    }
}
