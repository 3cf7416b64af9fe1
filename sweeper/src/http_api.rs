//! The HyperFleet API over HTTP.
//!
//! In: ids of API resources. Out: whether one exists, by [`Lookup`]'s three answers; which of many the API lists. Fails:
//! a list fails with the reason for which its answer is not the complete list that was asked for, so that no half of a
//! list counts as all of it. The client's retry policy decides how often a call is tried.

use std::collections::BTreeMap;

use http::StatusCode;
use lifecycle_api_client::client::{Answer, Client, Request};
use lifecycle_api_client::lookup::{Lookup, check_source};
use lifecycle_api_client::problem::Problem;
use lifecycle_api_client::watch::Watch;
use lifecycle_errors::Chain;
use lifecycle_kube::RateLimit;
use lifecycle_objects::id::Generation;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Deserializer};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::api::{Api, SEARCH_SIZE};

/// The API's collection of all kinds.
const COLLECTION: &str = "resources";
/// The most characters of a search.
const SEARCH_LENGTH: usize = 4096;

/// The most calls that are made. The attempts of one call count once: the retry policy delays them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Calls per second, and the burst above that rate; unlimited if none.
    pub rate: Option<(f64, u32)>,
    /// Calls at the same time; zero counts as one.
    pub concurrent: usize,
}

/// The API behind a client; `watch` observes each attempt of each call.
#[derive(Debug)]
pub struct HttpApi<W = ()> {
    client: Client,
    rate: Option<RateLimit>,
    concurrent: Semaphore,
    watch: W,
}

impl<W: Watch> HttpApi<W> {
    /// Calls the API through `client`, within `limits`.
    #[must_use]
    pub fn new(client: Client, limits: Limits, watch: W) -> Self {
        Self {
            client,
            rate: limits.rate.and_then(|(per_second, burst)| RateLimit::new(per_second, burst)),
            concurrent: Semaphore::new(limits.concurrent.max(1)),
            watch,
        }
    }

    /// Waits until the limits allow a call, which may last until the permit is dropped.
    async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed, so there always is a permit.
        let permit = self.concurrent.acquire().await.ok();
        if let Some(rate) = &self.rate {
            rate.acquire().await;
        }
        permit
    }

    async fn list(&self, query: &str) -> Result<List, String> {
        let _permit = self.permit().await;
        let request = Request::get(format!("{COLLECTION}?{query}"));
        let answer = self.client.call(&request, None, &self.watch).await;
        List::read(&answer.map_err(|failure| Chain(&failure).to_string())?)
    }
}

impl<W: Watch> Api for HttpApi<W> {
    async fn look_up(&self, id: &str) -> Lookup {
        let _permit = self.permit().await;
        self.client.look_up(COLLECTION, id, None, &self.watch).await
    }

    async fn search(&self, ids: &[&str]) -> Result<BTreeMap<String, Generation>, String> {
        let mut found = BTreeMap::new();
        for search in searches(ids)? {
            let search = utf8_percent_encode(&search, NON_ALPHANUMERIC);
            let list = self.list(&format!("search={search}&page=1&size={SEARCH_SIZE}&fields=id,generation")).await?;
            if list.total > list.items.len() {
                return Err(format!("the list has {} of {} resources", list.items.len(), list.total));
            }
            let asked = list.items.into_iter().filter(|item| ids.contains(&item.id.as_str()));
            found.extend(asked.map(|item| (item.id, Generation(item.generation))));
        }
        Ok(found)
    }

    async fn any(&self) -> Result<Option<String>, String> {
        let list = self.list("page=1&size=1").await?;
        match list.items.into_iter().next() {
            None if list.total > 0 => Err(format!("the list has none of {} resources", list.total)),
            first => Ok(first.map(|item| item.id)),
        }
    }
}

/// Builds searches for all ids, each within the API's limits of ids and of characters.
fn searches(ids: &[&str]) -> Result<Vec<String>, String> {
    // The ids are values of labels, and those have no other characters. A quote would end the id, and the rest of it
    // would be read as part of the search.
    let is_plain = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if let Some(id) = ids.iter().find(|id| !is_plain(id)) {
        return Err(format!("the id {id:?} cannot stand in a search"));
    }
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let fitting = (SEARCH_LENGTH - "id in []".len()) / (longest + "'',".len());
    if fitting == 0 {
        return Err(format!("an id of {longest} characters cannot stand in a search"));
    }
    let search = |ids: &[&str]| format!("id in ['{}']", ids.join("','"));
    Ok(ids.chunks(fitting.min(SEARCH_SIZE)).map(search).collect())
}

/// A page of a list.
#[derive(Debug, Deserialize)]
struct List {
    #[serde(deserialize_with = "items")]
    items: Vec<Item>,
    /// How many resources all pages have.
    total: usize,
}

/// What both a full and a projected resource have.
#[derive(Debug, Deserialize)]
struct Item {
    id: String,
    generation: i64,
}

/// Reads `null` as no items: the API, written in Go, sends an empty projection so. Without `items`, it is no list.
fn items<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Item>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl List {
    fn read(answer: &Answer) -> Result<Self, String> {
        check_source(answer).map_err(|unknown| unknown.to_string())?;
        if answer.status != StatusCode::OK {
            let problem = Problem::parse(&answer.body).map(|problem| format!(": {}", problem.detail));
            return Err(format!("HTTP status {}{}", answer.status, problem.unwrap_or_default()));
        }
        if !answer.is_of_type("application/json") {
            let media_type = answer.content_type.as_deref().unwrap_or_default();
            return Err(format!("the answer has the media type {media_type:?}"));
        }
        serde_json::from_str(&answer.body).map_err(|error| format!("the answer is no list of resources: {error}"))
    }
}

#[cfg(test)]
mod tests;
