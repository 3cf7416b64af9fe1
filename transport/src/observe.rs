//! Reads live objects, many at once.
//!
//! In: core's queries. Out: one [`Observation`] for each query, in the same order. A read that fails or misses
//! the deadline is `Unknown` with its reason, and never counts as absent.

use futures::{StreamExt, stream};
use lifecycle_objects::failure::Failure;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Query, Version};
use lifecycle_objects::write::{WriteError, WriteErrorKind};
use serde_json::Value;
use tokio::time::Instant;

use crate::Transport;
use crate::executor::deadline_exceeded;

/// How many reads of one event run at the same time.
const CONCURRENT_READS: usize = 16;

/// Runs every query, equal ones only once.
pub async fn find_all<T: Transport>(transport: &T, queries: Vec<Query>, deadline: Instant) -> Vec<Observation> {
    let mut distinct: Vec<Query> = Vec::with_capacity(queries.len());
    let mut answer_of: Vec<usize> = Vec::with_capacity(queries.len());
    for query in queries {
        let index = distinct.iter().position(|known| *known == query).unwrap_or_else(|| {
            distinct.push(query);
            distinct.len() - 1
        });
        answer_of.push(index);
    }

    let answers: Vec<Observation> = stream::iter(distinct)
        .map(|query| async move { find(transport, &query, deadline).await })
        .buffered(CONCURRENT_READS)
        .collect()
        .await;

    if answers.len() == answer_of.len() {
        // No two queries were equal, which is the normal case: return the answers without cloning objects.
        return answers;
    }
    answer_of.into_iter().map(|index| answers[index].clone()).collect()
}

/// Runs the queries of a bundle's members.
pub async fn find_members<T: Transport>(transport: &T, queries: Vec<Query>, deadline: Instant) -> Vec<Observation> {
    let find = |query: Query| async move { find(transport, &query, deadline).await };
    stream::iter(queries).map(find).buffered(CONCURRENT_READS).collect().await
}

/// A kind that the server serves in no version has no objects: the finalizer of a definition removes them before the definition
/// goes, so that a definition which is installed again brings none back.
async fn find<T: Transport>(transport: &T, query: &Query, deadline: Instant) -> Observation {
    observed(transport.find(query), query, deadline).await
}

async fn observed(
    answer: impl Future<Output = Result<Vec<Value>, WriteError>>,
    query: &Query,
    deadline: Instant,
) -> Observation {
    let answer = match tokio::time::timeout_at(deadline, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(deadline_exceeded(format!("find {}", ObjectRef::from(query)))),
    };
    match answer {
        Ok(found) => Observation::Found(found.into_iter().map(Version::new).collect()),
        Err(error) if error.kind == WriteErrorKind::Forbidden => Observation::Forbidden(Failure::from(&error).message),
        Err(error) => Observation::Unknown(Failure::from(&error).message),
    }
}

#[cfg(test)]
mod tests;
