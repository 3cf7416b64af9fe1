#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_core::event::LifecycleEvent;
use tokio::time::{Instant, timeout};

use super::*;
use crate::consumer::http::HttpInput;
use crate::dispatch::{Handled, InputMetrics, Invalid};

/// Panics in the dispatcher as soon as the intake changes.
struct Panics;

impl InputMetrics for Panics {
    fn consumed(&self) {}
    fn invalid(&self, _: Invalid) {}
    fn coalesced(&self) {}
    fn panicked(&self) {}
    fn lag(&self, _: Duration) {}
    fn started(&self, _: Duration) {}
    fn in_flight(&self, _: usize, _: usize) {
        panic!("on purpose");
    }
    fn handled(&self, _: Duration) {}
}

struct Idle;

impl Handler for Idle {
    async fn handle(&self, _: LifecycleEvent, _: Instant) -> Handled {
        Handled::Done
    }
}

#[tokio::test]
async fn panic_of_the_dispatcher_ends_the_run_although_the_http_input_goes_on() {
    let input = HttpInput::bind("127.0.0.1:0".parse().unwrap(), 1).await.unwrap();
    let options = DispatchOptions {
        parallelism: NonZeroUsize::MIN,
        event_deadline: Duration::from_secs(60),
        shutdown_grace: Duration::from_secs(60),
    };
    let intake = watch::Sender::new(Intake::Open);
    let dispatcher = Dispatcher::new(Arc::new(Idle), options, Arc::new(Panics), intake.subscribe());
    let (readiness, stop) = (Readiness::default(), CancellationToken::new());
    let run = run(Inputs::of_http(input), dispatcher, intake.subscribe(), &readiness, &stop);
    intake.send_replace(Intake::Paused);
    // The HTTP input ends at a signal only, and there is none.
    let error = timeout(Duration::from_secs(30), run).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the dispatcher failed");
    assert!(!stop.is_cancelled());
}
