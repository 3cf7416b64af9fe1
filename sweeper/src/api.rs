//! The HyperFleet API as a pass sees it: which resources exist.
//!
//! `http_api` asks a real one; the demo and the tests of a pass have one in memory.

use std::collections::BTreeMap;

use lifecycle_api_client::Lookup;
use lifecycle_objects::id::Generation;

/// The API.
#[expect(async_fn_in_trait, reason = "a pass runs on one thread, so its futures need not be Send")]
pub trait Api {
    /// Asks for one resource by `GET /resources/{id}`. Only this request proves that a resource does not exist.
    async fn look_up(&self, id: &str) -> Lookup;

    /// Searches for up to [`SEARCH_SIZE`] resources, and returns those that the API lists. That a list lacks a resource
    /// proves nothing.
    ///
    /// # Errors
    ///
    /// The API's answer is no list; says why.
    async fn search(&self, ids: &[&str]) -> Result<BTreeMap<String, Generation>, String>;

    /// Lists one resource, any, and returns its id; `None` if the API has none.
    ///
    /// # Errors
    ///
    /// The API's answer is no list; says why.
    async fn any(&self) -> Result<Option<String>, String>;
}

/// The most ids of one search: the API's largest page, whose search text stays below the API's 4,096 characters.
pub const SEARCH_SIZE: usize = 100;
