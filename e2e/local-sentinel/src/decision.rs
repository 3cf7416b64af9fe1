//! The Sentinel's default rule: whether to publish an event about a resource in this poll.
//!
//! In: a resource, the time of the poll, and the two ages. Out: a [`Decision`] with its reason. Pure; never fails.
//!
//! The rule has no memory: a resource whose condition stays older than its age is chosen in every poll, until the
//! adapters report again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::resource::Resource;

/// How old the condition `Reconciled` of a resource may become before the resource is announced again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxAges {
    /// The age for a reconciled resource.
    pub reconciled: Duration,
    /// The age for any other resource, which gives the adapters time to report.
    pub unreconciled: Duration,
}

impl Default for MaxAges {
    fn default() -> Self {
        Self { reconciled: Duration::from_secs(30 * 60), unreconciled: Duration::from_secs(10) }
    }
}

/// Whether an event is published, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// An event is published.
    Publish(Cause),
    /// No event is published.
    Skip(SkipReason),
}

/// Why an event is published: the first parameter of the default rule that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The resource has generation 1, and no time of a report.
    NewResource,
    /// The condition is about an older generation, or there is none.
    GenerationMismatch,
    /// The resource is reconciled, and its condition is old.
    ReconciledAndStale,
    /// The resource is not reconciled, and its condition is old.
    NotReconciledAndDebounced,
}

impl Cause {
    /// Every cause, in the order of the rule.
    pub const ALL: [Self; 4] =
        [Self::NewResource, Self::GenerationMismatch, Self::ReconciledAndStale, Self::NotReconciledAndDebounced];

    /// The cause as the value of a metric label: the name of the parameter in the default rule.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NewResource => "is_new_resource",
            Self::GenerationMismatch => "generation_mismatch",
            Self::ReconciledAndStale => "reconciled_and_stale",
            Self::NotReconciledAndDebounced => "not_reconciled_and_debounced",
        }
    }
}

/// Why no event is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The resource is reconciled, and its condition is recent.
    ReconciledLately,
    /// The resource is not reconciled, but its condition is recent.
    Debounced,
    /// The condition has no time from which an age could be computed.
    NoReferenceTime,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::ReconciledLately, Self::Debounced, Self::NoReferenceTime];

    /// The reason as the value of a metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ReconciledLately => "reconciled_lately",
            Self::Debounced => "debounced",
            Self::NoReferenceTime => "no_reference_time",
        }
    }
}

/// Decides by the default rule.
///
/// A resource without the condition `Reconciled` is chosen in every poll, because its generation is above the zero
/// that the rule reads from a missing condition. That looks wasteful, but it is what the real Sentinel does for kinds
/// without adapters, so a developer must see that load here before it appears in production.
#[must_use]
pub fn decide(resource: &Resource, now: Timestamp, ages: &MaxAges) -> Decision {
    let condition = resource.reconciled();
    let reference_time = condition.and_then(|condition| condition.last_updated_time);
    if resource.generation == 1 && reference_time.is_none() {
        return Decision::Publish(Cause::NewResource);
    }
    if resource.generation > condition.map_or(0, |condition| condition.observed_generation) {
        return Decision::Publish(Cause::GenerationMismatch);
    }
    let Some(reference_time) = reference_time else { return Decision::Skip(SkipReason::NoReferenceTime) };
    let age = now.duration_since(reference_time);
    let is_reconciled = condition.is_some_and(|condition| condition.status == "True");
    let (limit, cause, skip) = match is_reconciled {
        true => (ages.reconciled, Cause::ReconciledAndStale, SkipReason::ReconciledLately),
        false => (ages.unreconciled, Cause::NotReconciledAndDebounced, SkipReason::Debounced),
    };
    let is_old = SignedDuration::try_from(limit).is_ok_and(|limit| age > limit);
    if is_old { Decision::Publish(cause) } else { Decision::Skip(skip) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn decided(generation: i64, conditions: Value, ages: &MaxAges) -> Decision {
        let document =
            json!({"id": "c1", "kind": "Cluster", "generation": generation, "status": {"conditions": conditions}});
        decide(&serde_json::from_value(document).unwrap(), NOW.parse().unwrap(), ages)
    }

    /// A condition that is this many seconds old.
    fn reconciled(status: &str, observed: i64, age: i64) -> Value {
        let time = NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(age);
        json!([{"type": "Reconciled", "status": status, "observed_generation": observed, "last_updated_time": time}])
    }

    #[test]
    fn each_parameter_of_the_default_rule_decides() {
        use Cause::{GenerationMismatch, NewResource, NotReconciledAndDebounced, ReconciledAndStale};
        use Decision::{Publish, Skip};
        use SkipReason::{Debounced, NoReferenceTime, ReconciledLately};
        const HALF_HOUR: i64 = 30 * 60;
        let timeless =
            |observed: i64| json!([{"type": "Reconciled", "status": "False", "observed_generation": observed}]);
        let cases = [
            // is_new_resource
            ("new, without a condition", 1, json!([]), Publish(NewResource)),
            ("new, with a condition without a time", 1, timeless(1), Publish(NewResource)),
            ("the API's first condition ends the time of being new", 1, reconciled("False", 1, 0), Skip(Debounced)),
            // generation_mismatch
            ("a kind without adapters, in every poll", 2, json!([]), Publish(GenerationMismatch)),
            (
                "only other conditions",
                2,
                json!([{"type": "Available", "status": "True", "observed_generation": 2}]),
                Publish(GenerationMismatch),
            ),
            ("an older generation, at once", 3, reconciled("True", 2, 0), Publish(GenerationMismatch)),
            ("an older generation without a time", 3, timeless(2), Publish(GenerationMismatch)),
            ("a newer generation is no mismatch", 3, reconciled("True", 4, 0), Skip(ReconciledLately)),
            ("no time at the same generation", 2, timeless(2), Skip(NoReferenceTime)),
            // reconciled_and_stale
            ("reconciled now", 1, reconciled("True", 1, 0), Skip(ReconciledLately)),
            ("reconciled for exactly half an hour", 1, reconciled("True", 1, HALF_HOUR), Skip(ReconciledLately)),
            ("reconciled for longer", 1, reconciled("True", 1, HALF_HOUR + 1), Publish(ReconciledAndStale)),
            // not_reconciled_and_debounced
            ("changed now, because the API resets the condition", 2, reconciled("False", 2, 0), Skip(Debounced)),
            ("not reconciled for exactly 10 s", 2, reconciled("False", 2, 10), Skip(Debounced)),
            ("not reconciled for longer", 2, reconciled("False", 2, 11), Publish(NotReconciledAndDebounced)),
            (
                "an adapter that reported long ago, in every poll",
                2,
                reconciled("False", 2, 86_400),
                Publish(NotReconciledAndDebounced),
            ),
            (
                "an unknown status is not reconciled",
                2,
                reconciled("Unknown", 2, 11),
                Publish(NotReconciledAndDebounced),
            ),
            ("an empty status is not reconciled", 2, reconciled("", 2, 11), Publish(NotReconciledAndDebounced)),
            // clocks
            ("a time in the future is not old", 1, reconciled("False", 1, -60), Skip(Debounced)),
        ];
        for (name, generation, conditions, expected) in cases {
            assert_eq!(decided(generation, conditions, &MaxAges::default()), expected, "{name}");
        }
    }

    #[test]
    fn configured_ages_replace_the_defaults() {
        let ages = MaxAges { reconciled: Duration::from_secs(120), unreconciled: Duration::from_millis(500) };
        let cases = [
            (reconciled("True", 1, 121), Decision::Publish(Cause::ReconciledAndStale)),
            (reconciled("True", 1, 119), Decision::Skip(SkipReason::ReconciledLately)),
            (reconciled("False", 1, 1), Decision::Publish(Cause::NotReconciledAndDebounced)),
            (reconciled("False", 1, 0), Decision::Skip(SkipReason::Debounced)),
        ];
        for (conditions, expected) in cases {
            assert_eq!(decided(1, conditions.clone(), &ages), expected, "{conditions}");
        }
        let never = MaxAges { reconciled: Duration::MAX, unreconciled: Duration::MAX };
        assert_eq!(decided(1, reconciled("False", 1, 86_400), &never), Decision::Skip(SkipReason::Debounced));
    }
}
