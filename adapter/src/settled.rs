//! The steady state, decided without a read.
//!
//! In: a task and what a cache remembers of its objects. Out: the outcomes, if every resource is found as the event wants
//! it ([`SkipReason::SameGeneration`]); else nothing, and the pass reads live. It goes through the same plan as a live
//! pass, so whatever that would do differently for what is remembered ends the attempt: a failed gate, a gate
//! that asks for a write, a higher generation, anything absent or terminating. Nothing is ever written on the word of a cache.
//!
//! # What a stale memory can do
//!
//! A cache lags behind the server, so "nothing to do" may have stopped being true a moment ago: an object was deleted by
//! hand, or a delete or recreate gate reads a status that has just changed. Such an event does nothing, and reports the
//! object as it was; the next one sees the change. The other way round costs one read: what the memory wants written
//! is decided again from what is live.

use lifecycle_core::observation::{Observation, Query, Version};
use lifecycle_core::outcome::{Outcome, OutcomeResult};
use lifecycle_core::plan::decision::{Decision, SkipReason};
use lifecycle_core::plan::{Next, Planner};
use lifecycle_core::scope::Scope;
use serde_json::Value;

/// The variable that a plan writes to.
const RESOURCES: &str = "resources";

/// Goes through a new plan with what `remembered` gives. Without an outcome, the scope is as it was.
pub fn settle(
    planner: Planner<'_>,
    scope: &mut Scope,
    remembered: impl Fn(&Query) -> Option<Vec<Value>>,
) -> Option<Vec<Outcome>> {
    let before = scope.get(RESOURCES).cloned();
    let outcomes = plan(planner, scope, remembered);
    if outcomes.is_none() {
        match before {
            Some(resources) => scope.set(RESOURCES, resources),
            None => scope.unset(RESOURCES),
        }
    }
    outcomes
}

fn plan(
    mut planner: Planner<'_>,
    scope: &mut Scope,
    remembered: impl Fn(&Query) -> Option<Vec<Value>>,
) -> Option<Vec<Outcome>> {
    loop {
        match planner.next(scope) {
            Next::Read(wanted) => {
                for wanted in wanted {
                    let versions = remembered(&wanted.query)?.into_iter().map(Version::new).collect();
                    planner.observe(scope, wanted.resource, Observation::Found(versions));
                }
            }
            Next::Write(_) => return None,
            Next::Done => break,
        }
    }
    let outcomes = planner.into_outcomes();
    outcomes.iter().all(is_settled).then_some(outcomes)
}

fn is_settled(outcome: &Outcome) -> bool {
    matches!(outcome.decision, Decision::Skip(SkipReason::SameGeneration(_)))
        && outcome.result == OutcomeResult::Skipped
}

#[cfg(test)]
mod tests;
