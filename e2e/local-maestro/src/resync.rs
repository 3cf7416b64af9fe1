//! Answers a request for statuses: each row whose status is not the one that the client has.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::database::Database;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::status::{Outgoing, outgoing, sha256};

#[derive(Deserialize)]
struct Known {
    #[serde(rename = "statusHashes", default)]
    hashes: Option<Vec<KnownStatus>>,
}

#[derive(Deserialize)]
struct KnownStatus {
    #[serde(rename = "resourceID")]
    id: String,
    #[serde(rename = "statusHash")]
    hash: String,
}

/// The events for the subscribers of the request's source.
pub(crate) fn answer(database: &Database, event: &Event, now: Timestamp) -> Result<Vec<Outgoing>, Refusal> {
    let refused = |reason: String| Refusal::Decode(format!("failed to decode the status resync request: {reason}"));
    let data = event.data.as_ref().ok_or_else(|| refused("no data".to_owned()))?;
    let known: Known = serde_json::from_slice(data).map_err(|error| refused(error.to_string()))?;
    let known: BTreeMap<String, String> =
        known.hashes.unwrap_or_default().into_iter().map(|known| (known.id, known.hash)).collect();
    let rows = database.bundles.values().filter(|bundle| bundle.source == event.source);
    let asked = rows.filter(|bundle| {
        let hash = bundle.status.as_ref().map_or_else(|| sha256(""), |status| status.hash.clone());
        known.is_empty() || known.get(&bundle.id).is_some_and(|known| *known != hash)
    });
    // A row without a status cannot be sent: the real server only logs that.
    Ok(asked.filter_map(|bundle| Some(outgoing(bundle, bundle.status.as_ref()?, now))).collect())
}
