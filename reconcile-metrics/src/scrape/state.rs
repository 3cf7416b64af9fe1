//! What is kept between two scrapes, and what of it is logged when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jiff::Timestamp;

use super::{Attempt, Details};
use crate::config::Kinds;
use crate::figures::Types;
use crate::store::StoreError;

/// The most spellings of kinds that are warned of.
const MAX_SPELLINGS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) types: Types,
    /// Kinds that were found, and are configured in another spelling, as far as it was logged.
    spelled_otherwise: BTreeSet<String>,
    pub(super) details: Option<(Instant, Details)>,
    pub(super) attempts: BTreeMap<&'static str, Attempt>,
    /// Why readings fail, as it was logged last.
    failing: BTreeMap<&'static str, &'static str>,
    pub(super) last_answer: Option<Instant>,
}

impl State {
    pub(super) fn new(types: Types) -> Self {
        Self { types, ..Self::default() }
    }

    /// Notes how a reading went.
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
                // When it begins, and when it becomes another: the metrics say that it goes on.
                let reason = error.reason();
                if self.failing.insert(collector, reason) != Some(reason) {
                    tracing::warn!(collector, reason, error = error.chain(), "The database cannot be read");
                }
            }
        }
    }

    /// Names kinds that were found, and warns of those that somebody meant to configure.
    pub(super) fn name<'k>(&mut self, kinds: &Kinds, found: impl IntoIterator<Item = &'k str> + Clone) {
        self.types.name(found.clone());
        for kind in found {
            let Some(configured) = kinds.spelled_otherwise(kind) else { continue };
            // Once for each, and not for ever where somebody makes spellings up.
            if self.spelled_otherwise.len() < MAX_SPELLINGS && self.spelled_otherwise.insert(kind.to_owned()) {
                let configured = configured.name.as_str();
                tracing::warn!(
                    kind,
                    configured,
                    "A kind is spelled otherwise in the configuration, which does not apply to it"
                );
            }
        }
    }
}
