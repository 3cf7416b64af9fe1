//! The state that survives between scrapes. Logs a failure of the database when it begins, changes and ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jiff::Timestamp;

use super::{Attempt, Details};
use crate::config::Kinds;
use crate::figures::Types;
use crate::store::StoreError;

/// The most kinds that the log warns of.
const MAX_SPELLINGS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) types: Types,
    /// Kinds that differ from a configured one in case only, and that were already logged.
    in_other_case: BTreeSet<String>,
    pub(super) details: Option<(Instant, Details)>,
    pub(super) attempts: BTreeMap<&'static str, Attempt>,
    /// The reason that was last logged for each collector that fails.
    failing: BTreeMap<&'static str, &'static str>,
    pub(super) last_answer: Option<Instant>,
}

impl State {
    pub(super) fn new(types: Types) -> Self {
        Self { types, ..Self::default() }
    }

    /// Records the result of a reading, and logs a change.
    pub(super) fn note(&mut self, collector: &'static str, started: (Instant, Timestamp), error: Option<&StoreError>) {
        let attempt = self.attempts.entry(collector).or_default();
        attempt.seconds = started.0.elapsed().as_secs_f64();
        attempt.success = Some(error.is_none());
        match error {
            None => {
                attempt.last_success = started.1.as_duration().as_secs_f64();
                self.last_answer = Some(Instant::now());
                if self.failing.remove(collector).is_some() {
                    tracing::info!(collector, "The database answers again");
                }
            }
            Some(error) => {
                *attempt.errors.entry(error.reason()).or_default() += 1;
                // Log only a new failure or a new reason: a failure that lasts is visible in the metrics.
                let reason = error.reason();
                if self.failing.insert(collector, reason) != Some(reason) {
                    tracing::warn!(collector, reason, error = error.chain(), "The database cannot be read");
                }
            }
        }
    }

    /// Adds types for kinds that a reading found, and warns of kinds that are configured in another case.
    pub(super) fn name<'k>(&mut self, kinds: &Kinds, found: impl IntoIterator<Item = &'k str> + Clone) {
        self.types.name(found.clone());
        for kind in found {
            let Some(configured) = kinds.in_other_case(kind) else { continue };
            // Warn once for each kind, and limit the memory for kinds that any client of the API can invent.
            if self.in_other_case.len() < MAX_SPELLINGS && self.in_other_case.insert(kind.to_owned()) {
                let configured = configured.name.as_str();
                tracing::warn!(
                    kind,
                    configured,
                    "A kind is configured in another case, so its thresholds and adapters do not apply"
                );
            }
        }
    }
}
