#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::metrics::{MetricIdentity, Metrics};
use crate::readiness::Readiness;

/// A fake dependency whose probe succeeds or fails as the test sets it.
#[derive(Clone, Default)]
struct Fake {
    unavailable: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    probes: Arc<Mutex<Vec<Instant>>>,
}

impl Fake {
    fn set_unavailable(&self, unavailable: bool) {
        self.unavailable.store(unavailable, Ordering::SeqCst);
    }

    fn probes(&self) -> usize {
        self.probes.lock().unwrap().len()
    }

    fn probe(&self) -> Probe {
        let fake = self.clone();
        Box::new(move || {
            let fake = fake.clone();
            Box::pin(async move {
                fake.probes.lock().unwrap().push(Instant::now());
                if fake.silent.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                if fake.unavailable.load(Ordering::SeqCst) { Err("refused".to_owned()) } else { Ok(()) }
            })
        })
    }
}

/// A running supervisor of two fake dependencies.
struct Fixture {
    kubernetes: Fake,
    api: Fake,
    suspicion: Suspicion,
    intake: watch::Receiver<Intake>,
    readiness: Readiness,
    _running: AbortOnDropHandle<()>,
}

fn fixture(kubernetes: Fake, api: Fake) -> Fixture {
    let readiness = Readiness::default();
    readiness.config_loaded();
    readiness.set_broker(true);
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    let mut supervisor = Supervisor::new(readiness.clone(), Arc::new(Metrics::new(&identity)));
    let (suspicion, intake) = (supervisor.suspicion(), supervisor.intake());
    supervisor.watch(Dependency::Kubernetes, suspicion.clone(), kubernetes.probe());
    supervisor.watch(Dependency::Hyperfleet, supervisor.suspicion(), api.probe());
    let running = AbortOnDropHandle::new(tokio::spawn(supervisor.run()));
    Fixture { kubernetes, api, suspicion, intake, readiness, _running: running }
}

impl Fixture {
    /// Waits for a state of the intake. The clock is paused, so that a wait without progress times out at once.
    async fn until(&mut self, wanted: Intake) {
        let state = self.intake.wait_for(|intake| *intake == wanted);
        drop(timeout(Duration::from_secs(3600), state).await.unwrap().unwrap());
    }

    fn problem(&self) -> Option<String> {
        self.readiness.report().problem
    }
}

#[tokio::test(start_paused = true)]
async fn intake_opens_when_every_dependency_answers() {
    let api = Fake::default();
    api.set_unavailable(true);
    let mut fixture = fixture(Fake::default(), api);
    assert_eq!(*fixture.intake.borrow(), Intake::Paused);
    while fixture.api.probes() < 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(*fixture.intake.borrow(), Intake::Paused);
    assert_eq!(fixture.problem().as_deref(), Some("waiting for the HyperFleet API: refused"));
    fixture.api.set_unavailable(false);
    fixture.until(Intake::Open).await;
    assert_eq!(fixture.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn only_missing_and_gateway_responses_raise_suspicion() {
    let cases = [
        ("no answer", None, true),
        ("success", Some(200), false),
        ("absence", Some(404), false),
        ("throttling", Some(429), false),
        ("a failure of the server itself", Some(500), false),
        ("bad gateway", Some(502), true),
        ("unavailable", Some(503), true),
        ("gateway timeout", Some(504), true),
    ];
    for (name, status, is_raised) in cases {
        let suspicion = Suspicion::default();
        match status {
            Some(status) => suspicion.call().answered(status),
            None => drop(suspicion.call()),
        }
        assert_eq!(suspicion.is_raised(), is_raised, "{name}");
        let expected = if is_raised { Intake::Held } else { Intake::Open };
        assert_eq!(*suspicion.intake.borrow(), expected, "{name}: the intake is held before the call returns");
    }
}

#[tokio::test(start_paused = true)]
async fn false_suspicion_holds_the_intake_without_a_pause() {
    let mut fixture = fixture(Fake::default(), Fake::default());
    fixture.until(Intake::Open).await;
    drop(fixture.suspicion.call());
    assert_eq!(*fixture.intake.borrow(), Intake::Held);
    let mut changes = Vec::new();
    while changes.last() != Some(&Intake::Open) {
        fixture.intake.changed().await.unwrap();
        changes.push(*fixture.intake.borrow_and_update());
    }
    assert!(!changes.contains(&Intake::Paused), "{changes:?}");
    assert_eq!((fixture.kubernetes.probes(), fixture.api.probes()), (2, 1), "one probe, of the suspected dependency");
}

#[tokio::test(start_paused = true)]
async fn many_suspicions_cause_one_probe() {
    let mut fixture = fixture(Fake::default(), Fake::default());
    fixture.until(Intake::Open).await;
    for _ in 0..16 {
        drop(fixture.suspicion.call());
    }
    fixture.until(Intake::Open).await;
    assert_eq!(fixture.kubernetes.probes(), 2);
}

#[tokio::test(start_paused = true)]
async fn suspicion_raised_during_a_probe_keeps_the_hold() {
    let mut fixture = fixture(Fake::default(), Fake::default());
    fixture.until(Intake::Open).await;
    fixture.kubernetes.silent.store(true, Ordering::SeqCst);
    drop(fixture.suspicion.call());
    while fixture.kubernetes.probes() < 2 {
        tokio::task::yield_now().await;
    }
    drop(fixture.suspicion.call());
    fixture.until(Intake::Paused).await;
    assert_eq!(fixture.problem().as_deref(), Some("waiting for the Kubernetes API: no answer within 5 s"));
}

#[tokio::test(start_paused = true)]
async fn probes_slow_down_until_the_intake_opens() {
    let mut fixture = fixture(Fake::default(), Fake::default());
    fixture.until(Intake::Open).await;
    fixture.kubernetes.set_unavailable(true);
    drop(fixture.suspicion.call());
    fixture.until(Intake::Paused).await;
    assert_eq!(fixture.problem().as_deref(), Some("waiting for the Kubernetes API: refused"));
    while fixture.kubernetes.probes() < 20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let probes = fixture.kubernetes.probes.lock().unwrap().clone();
    let pauses: Vec<Duration> = probes.windows(2).map(|pair| pair[1] - pair[0]).skip(1).collect();
    assert!(pauses[0] <= Duration::from_secs(1), "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(23)), "{pauses:?}");
    assert!(pauses.last().unwrap() >= &Duration::from_secs(7), "{pauses:?}");
    fixture.kubernetes.set_unavailable(false);
    fixture.until(Intake::Open).await;
    assert_eq!(fixture.problem(), None);
}
