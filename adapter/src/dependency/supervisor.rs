//! Probes the dependencies, and opens or pauses the intake.

use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{Dependency, Intake, Suspicion};
use crate::backoff::Backoff;
use crate::metrics::SharedMetrics;
use crate::readiness::Readiness;

/// The timeout of one probe: long enough for one small response, and short for the events that are held
/// meanwhile.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest delay between two probes: a small request every 15 s does not burden a server that is starting.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Sends one request to a dependency. Succeeds on any response of the dependency; else returns the reason.
pub type Probe = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

struct Watched {
    dependency: Dependency,
    suspicion: Suspicion,
    probe: Probe,
}

/// Watches dependencies, and sets the intake.
pub struct Supervisor {
    watched: Vec<Watched>,
    intake: watch::Sender<Intake>,
    readiness: Readiness,
    metrics: SharedMetrics,
}

impl Supervisor {
    /// Creates a supervisor without dependencies. The intake is paused until [`run`](Self::run) opens it.
    #[must_use]
    pub fn new(readiness: Readiness, metrics: SharedMetrics) -> Self {
        Self { watched: Vec::new(), intake: watch::Sender::new(Intake::Paused), readiness, metrics }
    }

    /// The state of the intake, which dispatcher and inputs follow.
    #[must_use]
    pub fn intake(&self) -> watch::Receiver<Intake> {
        self.intake.subscribe()
    }

    /// Creates a suspicion for the client of one dependency. It has an effect only after a call of
    /// [`watch`](Self::watch).
    #[must_use]
    pub fn suspicion(&self) -> Suspicion {
        Suspicion { raised: Default::default(), intake: self.intake.clone() }
    }

    /// Adds a dependency: [`run`](Self::run) calls `probe` at the start, and again when `suspicion` is
    /// raised.
    pub fn watch(&mut self, dependency: Dependency, suspicion: Suspicion, probe: Probe) {
        self.watched.push(Watched { dependency, suspicion, probe });
    }

    /// Opens the intake when every dependency answers, and pauses it while one does not. Never returns.
    pub async fn run(self) {
        let mut backoff = Backoff::up_to(LONGEST_PAUSE);
        let mut suspects: Vec<&Watched> = self.watched.iter().collect();
        loop {
            if let Err(unavailable) = self.probe(&suspects).await {
                self.pause_until_available(unavailable, &mut backoff).await;
            }
            let opened = Instant::now();
            self.open();
            suspects = self.suspected().await;
            backoff.connected_for(opened.elapsed());
        }
    }

    /// Probes the suspects in parallel. The error lists each one that is unavailable, with the reason.
    async fn probe(&self, suspects: &[&Watched]) -> Result<(), String> {
        let answers = join_all(suspects.iter().map(|suspect| async move {
            // Lower the flag before the probe: a call that fails during the probe raises it again, and causes
            // another probe.
            suspect.suspicion.lower();
            let answer = timeout(PROBE_TIMEOUT, (suspect.probe)()).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())));
            self.metrics.dependency_up(suspect.dependency, answer.is_ok());
            answer.map_err(|error| format!("{}: {error}", name(suspect.dependency)))
        }));
        let unavailable: Vec<String> = answers.await.into_iter().filter_map(Result::err).collect();
        if unavailable.is_empty() { Ok(()) } else { Err(unavailable.join("; ")) }
    }

    /// Pauses the intake until every dependency answers.
    async fn pause_until_available(&self, unavailable: String, backoff: &mut Backoff) {
        let begun = Instant::now();
        self.readiness.set_unavailable(Some(&unavailable));
        self.intake.send_replace(Intake::Paused);
        tracing::warn!(error = unavailable, "a dependency does not answer: no events are taken until it does");
        let everything: Vec<&Watched> = self.watched.iter().collect();
        loop {
            tokio::time::sleep(backoff.delay(fastrand::f64())).await;
            match self.probe(&everything).await {
                Ok(()) => break,
                Err(unavailable) => {
                    tracing::debug!(error = unavailable, "a dependency still does not answer");
                    self.readiness.set_unavailable(Some(&unavailable));
                }
            }
        }
        self.readiness.set_unavailable(None);
        tracing::info!(paused_seconds = begun.elapsed().as_secs_f64(), "every dependency answers: events are taken");
    }

    /// Opens the intake; holds it if a call raised a suspicion since the probe began.
    fn open(&self) {
        self.intake.send_modify(|intake| {
            let suspected = self.watched.iter().any(|watched| watched.suspicion.is_raised());
            *intake = if suspected { Intake::Held } else { Intake::Open };
        });
    }

    /// Waits until a suspicion is raised, and returns the suspected dependencies.
    async fn suspected(&self) -> Vec<&Watched> {
        // The sender lives in `self`, so the channel cannot be closed.
        let _ = self.intake.subscribe().wait_for(|intake| *intake != Intake::Open).await;
        self.watched.iter().filter(|watched| watched.suspicion.is_raised()).collect()
    }
}

fn name(dependency: Dependency) -> &'static str {
    match dependency {
        Dependency::Kubernetes => "the Kubernetes API",
        Dependency::Hyperfleet => "the HyperFleet API",
        Dependency::Maestro => "Maestro",
    }
}
