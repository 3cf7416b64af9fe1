//! The settings of the election, and the rules that they must keep.

use std::time::Duration;

/// The settings of the election. All replicas have the same namespace and name, and each its own identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The holder that this replica writes into the Lease, from [`identity`].
    pub identity: String,
    /// How long the other replicas wait after the last change of the Lease that they saw, before they take it over.
    pub lease_duration: Duration,
    /// How long a term lasts after the last renewal that succeeded, counted from the time at which it was sent.
    pub renew_deadline: Duration,
    /// The time between two requests.
    pub retry_period: Duration,
    /// A term that ends earlier counts as short.
    pub short_term: Duration,
}

/// Settings with which no election can work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    /// A name is empty.
    #[error("the election needs the {0} of its Lease")]
    Missing(&'static str),
    /// The durations are not in the order that makes two leaders impossible.
    #[error(
        "the lease duration ({lease_duration:?}) must exceed the renew deadline ({renew_deadline:?}), and that the \
         retry period ({retry_period:?}), which must not be zero"
    )]
    Order {
        /// The lease duration.
        lease_duration: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
        /// The retry period.
        retry_period: Duration,
    },
    /// The Lease cannot hold the duration, or it is that of a released Lease.
    #[error("the lease duration ({0:?}) must be whole seconds, from 2 to 2147483647")]
    NotInSeconds(Duration),
}

impl Settings {
    /// The settings for a Lease, with the durations of the Kubernetes controllers: 15 s, 10 s and 2 s.
    #[must_use]
    pub fn new(namespace: &str, name: &str, identity: String) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            short_term: Duration::ZERO,
        }
    }

    /// The time between the end of a term and the earliest begin of the next one, if all clocks run alike.
    ///
    /// Whoever deletes gives up each request within this time: a request that the term permitted is then over
    /// before another replica leads.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline)
    }

    /// The time limit of a request of the election: two of them, and a pause between, fit into the renew deadline.
    pub(super) fn request_timeout(&self) -> Duration {
        self.renew_deadline.saturating_sub(self.retry_period) / 2
    }

    pub(super) fn check(&self) -> Result<(), InvalidSettings> {
        for (name, value) in [("namespace", &self.namespace), ("name", &self.name), ("holder identity", &self.identity)]
        {
            if value.is_empty() {
                return Err(InvalidSettings::Missing(name));
            }
        }
        let &Self { lease_duration, renew_deadline, retry_period, .. } = self;
        if lease_duration <= renew_deadline || renew_deadline <= retry_period || retry_period.is_zero() {
            return Err(InvalidSettings::Order { lease_duration, renew_deadline, retry_period });
        }
        let seconds = lease_duration.as_secs();
        if lease_duration.subsec_nanos() != 0 || seconds < 2 || i32::try_from(seconds).is_err() {
            return Err(InvalidSettings::NotInSeconds(lease_duration));
        }
        Ok(())
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
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn settings(lease: u64, deadline: u64, retry: u64) -> Settings {
        Settings {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(deadline),
            retry_period: Duration::from_millis(retry),
            ..Settings::new("fleet", "sweeper", "a".to_owned())
        }
    }

    #[test]
    fn durations_in_the_wrong_order_are_refused_with_their_values() {
        for (lease, deadline, retry) in [(10_000, 10_000, 2000), (15_000, 2000, 2000), (15_000, 10_000, 0)] {
            let error = settings(lease, deadline, retry).check().unwrap_err();
            assert!(matches!(error, InvalidSettings::Order { .. }), "{error}");
        }
        let text = settings(10_000, 12_000, 2000).check().unwrap_err().to_string();
        assert!(text.contains("(10s)") && text.contains("(12s)") && text.contains("(2s)"), "{text}");
        assert_eq!(settings(15_000, 10_000, 2000).check(), Ok(()));
    }

    #[test]
    fn lease_duration_must_fit_into_the_lease() {
        for lease in [1000, 15_500, u64::from(u32::MAX) * 1000] {
            let error = settings(lease, 900, 200).check().unwrap_err();
            assert!(matches!(error, InvalidSettings::NotInSeconds(_)), "{error}");
        }
    }

    #[test]
    fn nameless_lease_is_refused() {
        let nameless = Settings { name: String::new(), ..settings(15_000, 10_000, 2000) };
        assert_eq!(nameless.check(), Err(InvalidSettings::Missing("name")));
    }

    #[test]
    fn two_requests_and_a_pause_fit_into_the_deadline() {
        assert_eq!(settings(15_000, 10_000, 2000).request_timeout(), Duration::from_secs(4));
    }

    #[test]
    fn identities_of_one_pod_differ() {
        assert_ne!(identity("sweeper-0"), identity("sweeper-0"));
        assert!(identity("sweeper-0").starts_with("sweeper-0_"));
    }
}
