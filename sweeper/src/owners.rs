//! Asks the API which API resources exist.
//!
//! In: the ids that objects name. Out: one [`OwnerAnswer`] for each. Fails: never; an answer that proves nothing is
//! [`OwnerAnswer::Unknown`], and counted by its reason.
//!
//! A search asks for many ids at once and can only show that resources exist: what it does not list is then asked for
//! by a GET of its own, and only that GET's own 404 says that a resource is gone. [`check_canaries`](crate::canary::check_canaries) tests
//! beforehand that the API answers both kinds of question as it must.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use lifecycle_api_client::Lookup;
use lifecycle_core::sweep::OwnerAnswer;
use lifecycle_objects::id::Generation;
use serde_json::Value;

use crate::api::{Api, SEARCH_SIZE};

/// How many requests wait for the API at once; the rate limit bounds how many are sent in a second.
const AT_ONCE: usize = 8;

/// What the API said in one pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answers {
    by_id: BTreeMap<String, OwnerAnswer>,
    /// How many answers proved nothing, by their reason: a label of [`Unknown`], or [`NO_GENERATION`].
    ///
    /// [`Unknown`]: lifecycle_api_client::lookup::Unknown
    pub unknown: BTreeMap<&'static str, u64>,
    /// Why a search failed, if one did: then each of its ids was asked for alone.
    pub failed_search: Option<String>,
}

/// The label of a resource that exists, and whose answer has no generation.
pub const NO_GENERATION: &str = "no_generation";

impl Answers {
    /// Asks for each id, by searches first.
    pub async fn ask(api: &impl Api, ids: &[&str]) -> Self {
        let mut answers = Self::default();
        let searches = stream::iter(ids.chunks(SEARCH_SIZE)).map(async |ids| (ids, api.search(ids).await));
        let mut unlisted = Vec::new();
        for (ids, found) in searches.buffered(AT_ONCE).collect::<Vec<_>>().await {
            let found = found.unwrap_or_else(|error| {
                answers.failed_search = Some(error);
                BTreeMap::new()
            });
            unlisted.extend(ids.iter().copied().filter(|id| !found.contains_key(*id)));
            answers.by_id.extend(found.into_iter().map(|(id, generation)| (id, OwnerAnswer::Exists(generation))));
        }
        let lookups = stream::iter(unlisted).map(async |id| (id, api.look_up(id).await));
        for (id, lookup) in lookups.buffered(AT_ONCE).collect::<Vec<_>>().await {
            let answer = read(&lookup).unwrap_or_else(|reason| {
                *answers.unknown.entry(reason).or_default() += 1;
                OwnerAnswer::Unknown
            });
            answers.by_id.insert(id.to_owned(), answer);
        }
        answers
    }

    /// What the API said about a resource; unknown if it was not asked.
    #[must_use]
    pub fn of(&self, id: &str) -> OwnerAnswer {
        self.by_id.get(id).copied().unwrap_or(OwnerAnswer::Unknown)
    }
}

fn read(lookup: &Lookup) -> Result<OwnerAnswer, &'static str> {
    match lookup {
        Lookup::Found(resource) => {
            let generation = resource.get("generation").and_then(Value::as_i64).ok_or(NO_GENERATION)?;
            Ok(OwnerAnswer::Exists(Generation(generation)))
        }
        Lookup::NotFound => Ok(OwnerAnswer::Gone),
        Lookup::Unknown(unknown) => Err(unknown.label()),
    }
}
