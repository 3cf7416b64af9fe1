//! Asks dependencies whether they are there, and opens or pauses the intake.

use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{Dependency, Doubt, Intake};
use crate::admin::Readiness;
use crate::backoff::Backoff;
use crate::metrics::SharedMetrics;

/// The time of one probe: long for one small answer, short for events that are held meanwhile.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest pause between two probes. A small request every quarter of a minute burdens no server that starts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Asks one dependency for any answer; without one, says why.
pub type Probe = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

struct Watched {
    dependency: Dependency,
    doubt: Doubt,
    probe: Probe,
}

/// Watches the dependencies that were added to it.
pub struct Supervisor {
    watched: Vec<Watched>,
    intake: watch::Sender<Intake>,
    readiness: Readiness,
    metrics: SharedMetrics,
}

impl Supervisor {
    /// Watches nothing yet; the intake is paused until [`run`](Self::run) opens it.
    #[must_use]
    pub fn new(readiness: Readiness, metrics: SharedMetrics) -> Self {
        Self { watched: Vec::new(), intake: watch::Sender::new(Intake::Paused), readiness, metrics }
    }

    /// What dispatcher and inputs follow.
    #[must_use]
    pub fn intake(&self) -> watch::Receiver<Intake> {
        self.intake.subscribe()
    }

    /// Where the client of one dependency tells of its calls. Without [`watch`](Self::watch) nobody acts on it.
    #[must_use]
    pub fn doubt(&self) -> Doubt {
        Doubt { raised: Default::default(), intake: self.intake.clone() }
    }

    /// Watches a dependency.
    pub fn watch(&mut self, dependency: Dependency, doubt: Doubt, probe: Probe) {
        self.watched.push(Watched { dependency, doubt, probe });
    }

    /// Opens the intake once every dependency answers, and pauses it while one does not. It never returns.
    pub async fn run(self) {
        let mut backoff = Backoff::up_to(LONGEST_PAUSE);
        let mut suspects: Vec<&Watched> = self.watched.iter().collect();
        loop {
            if let Err(away) = self.probe(&suspects).await {
                self.wait_out(away, &mut backoff).await;
            }
            let opened = Instant::now();
            self.open();
            suspects = self.doubted().await;
            backoff.connected_for(opened.elapsed());
        }
    }

    /// Asks these, at the same time. In the error, each one that is away and why.
    async fn probe(&self, suspects: &[&Watched]) -> Result<(), String> {
        let answers = join_all(suspects.iter().map(|suspect| async move {
            // A call that fails from here on doubts this probe's answer, too.
            suspect.doubt.lower();
            let answer = timeout(PROBE_TIMEOUT, (suspect.probe)()).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())));
            self.metrics.dependency_up(suspect.dependency, answer.is_ok());
            answer.map_err(|error| format!("{}: {error}", name(suspect.dependency)))
        }));
        let away: Vec<String> = answers.await.into_iter().filter_map(Result::err).collect();
        if away.is_empty() { Ok(()) } else { Err(away.join("; ")) }
    }

    /// Pauses the intake until every dependency answers.
    async fn wait_out(&self, away: String, backoff: &mut Backoff) {
        let begun = Instant::now();
        self.readiness.set_away(Some(&away));
        self.intake.send_replace(Intake::Paused);
        tracing::warn!(error = away, "a dependency does not answer: no events are taken until it does");
        let everything: Vec<&Watched> = self.watched.iter().collect();
        loop {
            tokio::time::sleep(backoff.delay(fastrand::f64())).await;
            match self.probe(&everything).await {
                Ok(()) => break,
                Err(away) => {
                    tracing::debug!(error = away, "a dependency still does not answer");
                    self.readiness.set_away(Some(&away));
                }
            }
        }
        self.readiness.set_away(None);
        tracing::info!(paused_seconds = begun.elapsed().as_secs_f64(), "every dependency answers: events are taken");
    }

    /// Opens the intake, unless a call has raised a doubt since the probe began: then it is held for the next probe.
    fn open(&self) {
        self.intake.send_modify(|intake| {
            let doubted = self.watched.iter().any(|watched| watched.doubt.is_raised());
            *intake = if doubted { Intake::Held } else { Intake::Open };
        });
    }

    /// Waits for a doubt; says about which dependencies.
    async fn doubted(&self) -> Vec<&Watched> {
        // The sender lives in `self`, so the channel cannot be closed.
        let _ = self.intake.subscribe().wait_for(|intake| *intake != Intake::Open).await;
        self.watched.iter().filter(|watched| watched.doubt.is_raised()).collect()
    }
}

fn name(dependency: Dependency) -> &'static str {
    match dependency {
        Dependency::Kubernetes => "the Kubernetes API",
        Dependency::Hyperfleet => "the HyperFleet API",
    }
}
