#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::admin::Readiness;
use crate::metrics::{MetricIdentity, Metrics};

/// A dependency whose probe answers as the test says.
#[derive(Clone, Default)]
struct Fake {
    away: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Fake {
    fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn probe(&self) -> Probe {
        let fake = self.clone();
        Box::new(move || {
            let fake = fake.clone();
            Box::pin(async move {
                fake.asked.lock().unwrap().push(Instant::now());
                if fake.silent.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                if fake.away.load(Ordering::SeqCst) { Err("refused".to_owned()) } else { Ok(()) }
            })
        })
    }
}

/// A supervisor of both dependencies that runs.
struct Bench {
    kubernetes: Fake,
    api: Fake,
    doubt: Doubt,
    intake: watch::Receiver<Intake>,
    readiness: Readiness,
    _running: AbortOnDropHandle<()>,
}

fn bench(kubernetes: Fake, api: Fake) -> Bench {
    let readiness = Readiness::default();
    readiness.config_loaded();
    readiness.set_broker(true);
    let identity = MetricIdentity { adapter: "a".to_owned(), version: "1".to_owned(), commit: "c".to_owned() };
    let mut supervisor = Supervisor::new(readiness.clone(), Arc::new(Metrics::new(&identity)));
    let (doubt, intake) = (supervisor.doubt(), supervisor.intake());
    supervisor.watch(Dependency::Kubernetes, doubt.clone(), kubernetes.probe());
    supervisor.watch(Dependency::Hyperfleet, supervisor.doubt(), api.probe());
    let running = AbortOnDropHandle::new(tokio::spawn(supervisor.run()));
    Bench { kubernetes, api, doubt, intake, readiness, _running: running }
}

impl Bench {
    /// With paused time a wait in vain ends at once in a timeout.
    async fn until(&mut self, wanted: Intake) {
        let seen = self.intake.wait_for(|intake| *intake == wanted);
        drop(timeout(Duration::from_secs(3600), seen).await.unwrap().unwrap());
    }

    fn problem(&self) -> Option<String> {
        self.readiness.report().problem
    }
}

#[tokio::test(start_paused = true)]
async fn intake_opens_once_every_dependency_answers() {
    let api = Fake::default();
    api.set_away(true);
    let mut bench = bench(Fake::default(), api);
    assert_eq!(*bench.intake.borrow(), Intake::Paused);
    while bench.api.asked() < 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(*bench.intake.borrow(), Intake::Paused);
    assert_eq!(bench.problem().as_deref(), Some("waiting for the HyperFleet API: refused"));
    bench.api.set_away(false);
    bench.until(Intake::Open).await;
    assert_eq!(bench.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn only_a_missing_answer_or_a_gateways_raises_a_doubt() {
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
        let doubt = Doubt::default();
        match status {
            Some(status) => doubt.call().answered(status),
            None => drop(doubt.call()),
        }
        assert_eq!(doubt.is_raised(), is_raised, "{name}");
        let expected = if is_raised { Intake::Held } else { Intake::Open };
        assert_eq!(*doubt.intake.borrow(), expected, "{name}: the intake is held before the call returns");
    }
}

#[tokio::test(start_paused = true)]
async fn false_alarm_holds_the_intake_and_pauses_nothing() {
    let mut bench = bench(Fake::default(), Fake::default());
    bench.until(Intake::Open).await;
    drop(bench.doubt.call());
    assert_eq!(*bench.intake.borrow(), Intake::Held);
    let mut changes = Vec::new();
    while changes.last() != Some(&Intake::Open) {
        bench.intake.changed().await.unwrap();
        changes.push(*bench.intake.borrow_and_update());
    }
    assert!(!changes.contains(&Intake::Paused), "{changes:?}");
    assert_eq!((bench.kubernetes.asked(), bench.api.asked()), (2, 1), "one probe, of the doubted dependency");
}

#[tokio::test(start_paused = true)]
async fn many_doubts_share_one_probe() {
    let mut bench = bench(Fake::default(), Fake::default());
    bench.until(Intake::Open).await;
    for _ in 0..16 {
        drop(bench.doubt.call());
    }
    bench.until(Intake::Open).await;
    assert_eq!(bench.kubernetes.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn doubt_raised_during_a_probe_keeps_the_hold() {
    let mut bench = bench(Fake::default(), Fake::default());
    bench.until(Intake::Open).await;
    bench.kubernetes.silent.store(true, Ordering::SeqCst);
    drop(bench.doubt.call());
    while bench.kubernetes.asked() < 2 {
        tokio::task::yield_now().await;
    }
    drop(bench.doubt.call());
    bench.until(Intake::Paused).await;
    assert_eq!(bench.problem().as_deref(), Some("waiting for the Kubernetes API: no answer within 5 s"));
}

#[tokio::test(start_paused = true)]
async fn paused_intake_is_probed_ever_more_slowly_until_it_opens() {
    let mut bench = bench(Fake::default(), Fake::default());
    bench.until(Intake::Open).await;
    bench.kubernetes.set_away(true);
    drop(bench.doubt.call());
    bench.until(Intake::Paused).await;
    assert_eq!(bench.problem().as_deref(), Some("waiting for the Kubernetes API: refused"));
    while bench.kubernetes.asked() < 20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let asked = bench.kubernetes.asked.lock().unwrap().clone();
    let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).skip(1).collect();
    assert!(pauses[0] <= Duration::from_secs(1), "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(23)), "{pauses:?}");
    assert!(pauses.last().unwrap() >= &Duration::from_secs(7), "{pauses:?}");
    bench.kubernetes.set_away(false);
    bench.until(Intake::Open).await;
    assert_eq!(bench.problem(), None);
}
