//! The settings of the election, and the rules that they must keep.

use std::time::Duration;

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;

/// The least time that a permitted call has before another replica can lead.
const LEAST_MARGIN: Duration = Duration::from_secs(2);

/// The least ratio of `duration` and `renew_deadline`: by so much the clocks of two replicas may differ in their rate.
const LEAST_RATIO: f64 = 1.25;

/// The Lease and the durations of its election. The replicas of one installation have the same namespace and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the Lease; `None` outside a pod, if none is configured.
    pub namespace: Option<String>,
    /// The name of the Lease.
    pub name: String,
    /// How long the other replicas wait after the last change of the Lease that they saw, before they take it over.
    pub duration: Duration,
    /// How long a term lasts after the last renewal that succeeded, counted from the time at which it was sent.
    pub renew_deadline: Duration,
    /// The time between two requests.
    pub retry: Duration,
}

impl Default for Settings {
    /// Has the durations of the Kubernetes controllers.
    fn default() -> Self {
        Self {
            namespace: None,
            name: "hyperfleet-sweeper".to_owned(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// The settings name no namespace, and the program does not run in a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the Lease has no namespace: set `lease.namespace`")]
pub struct NoNamespace;

impl Settings {
    /// Refers to the Lease.
    ///
    /// # Errors
    ///
    /// There is no namespace.
    pub fn object(&self) -> Result<ObjectRef, NoNamespace> {
        let namespace = self.namespace.as_deref().ok_or(NoNamespace)?;
        let kind = GroupVersionKind::new("coordination.k8s.io/v1", "Lease");
        Ok(ObjectRef { name: self.name.clone(), ..ObjectRef::all(kind, Some(namespace)) })
    }

    /// The time between the end of a term and the earliest begin of the next one, if all clocks run alike.
    ///
    /// Whoever deletes gives up each request within this time: a request that the term permitted is then over
    /// before another replica leads.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.duration.saturating_sub(self.renew_deadline)
    }

    /// The time limit of a request of the election: two of them, and a pause between, fit into the renew deadline.
    pub(super) fn request_timeout(&self) -> Duration {
        self.renew_deadline.saturating_sub(self.retry) / 2
    }

    /// Returns each duration with which two replicas could lead at once, or none: its key, what is wrong, and the cure.
    pub(crate) fn faults(&self) -> Vec<(&'static str, String, &'static str)> {
        let &Self { duration, renew_deadline, retry, .. } = self;
        let mut faults = Vec::new();
        if duration.subsec_nanos() != 0 || i32::try_from(duration.as_secs()).is_err() {
            let why = format!("is {duration:?}, which the Lease cannot hold");
            faults.push(("lease.duration", why, "write whole seconds, such as 15s"));
        }
        if self.margin() < LEAST_MARGIN || duration < renew_deadline.mul_f64(LEAST_RATIO) {
            let why = format!("is {renew_deadline:?}, too close to `lease.duration`, which is {duration:?}");
            let help = "a leader must stop before another replica takes over: leave 2s, and a quarter of \
                        `lease.renew_deadline`; such as 10s and 15s";
            faults.push(("lease.renew_deadline", why, help));
        }
        if retry >= renew_deadline {
            let why = format!("is {retry:?}, not less than `lease.renew_deadline`, which is {renew_deadline:?}");
            faults.push(("lease.retry", why, "write 2s and 10s"));
        }
        faults
    }
}

/// Makes an identity from the name of the pod.
///
/// The random suffix makes a restarted process another holder, which knows nothing of the term before it.
#[must_use]
pub fn identity(pod: &str) -> String {
    format!("{pod}_{:016x}", fastrand::u64(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_leave_too_little_are_faults_with_their_keys() {
        let cases: [(u64, u64, u64, &[&str]); 11] = [
            (15_000, 10_000, 2000, &[]),
            (4000, 2000, 1999, &[]),
            (10_000, 8000, 500, &[]),
            (125_000, 100_000, 500, &[]),
            (3999, 2000, 500, &["lease.duration", "lease.renew_deadline"]),
            (4000, 2001, 500, &["lease.renew_deadline"]),
            (124_000, 100_000, 500, &["lease.renew_deadline"]),
            (10_000, 12_000, 500, &["lease.renew_deadline"]),
            (15_500, 10_000, 2000, &["lease.duration"]),
            (u64::from(u32::MAX) * 1000, 10_000, 2000, &["lease.duration"]),
            (15_000, 2000, 2000, &["lease.retry"]),
        ];
        for (duration, renew_deadline, retry, expected) in cases {
            let [duration, renew_deadline, retry] = [duration, renew_deadline, retry].map(Duration::from_millis);
            let faults = Settings { duration, renew_deadline, retry, ..Settings::default() }.faults();
            let keys: Vec<_> = faults.iter().map(|(key, ..)| *key).collect();
            assert_eq!(keys, expected, "{duration:?} {renew_deadline:?} {retry:?}");
        }
    }

    #[test]
    fn two_requests_and_a_pause_fit_into_the_deadline() {
        assert_eq!(Settings::default().request_timeout(), Duration::from_secs(4));
    }

    #[test]
    fn identities_of_one_pod_differ() {
        assert_ne!(identity("sweeper-0"), identity("sweeper-0"));
        assert!(identity("sweeper-0").starts_with("sweeper-0_"));
    }
}
