//! Which connections of a server are idle, in the order in which they became so.
//!
//! In: a connection waits for the head of a request, or has one to answer. Out: whoever has waited longest, told to
//! close. The two exclude each other: a request that is begun is not cut, and one that comes too late is not begun.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;
use tokio::sync::Notify;

/// The idle connections of a server.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// What tells each of them to close, the longest idle first.
    waiting: Mutex<VecDeque<Arc<Notify>>>,
    one_more: Notify,
}

impl Idle {
    /// Tells the connection that has been idle longest to close; `false` if none is idle.
    pub(super) fn close_longest(&self) -> bool {
        let longest = self.waiting().pop_front();
        longest.inspect(|close| close.notify_one()).is_some()
    }

    /// Waits until a connection has become idle since the last call. It may be busy again by then.
    pub(super) async fn one_more(&self) {
        self.one_more.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. It counts as busy until it [waits](Self::waits), and is forgotten when it is dropped.
#[derive(Debug)]
pub(super) struct Activity {
    idle: Arc<Idle>,
    close: Arc<Notify>,
}

impl Activity {
    pub(super) fn new(idle: Arc<Idle>) -> Self {
        Self { idle, close: Arc::default() }
    }

    /// From now on it is idle.
    fn waits(&self) {
        self.idle.waiting().push_back(Arc::clone(&self.close));
        self.idle.one_more.notify_one();
    }

    /// From now on it is busy; `false` if it was not idle, which is to say that it has been told to close.
    #[must_use]
    pub(super) fn begins(&self) -> bool {
        let mut waiting = self.idle.waiting();
        let place = waiting.iter().position(|other| Arc::ptr_eq(other, &self.close));
        place.and_then(|place| waiting.remove(place)).is_some()
    }

    /// Waits until it is told to close.
    pub(super) async fn told_to_close(&self) {
        self.close.notified().await;
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        let _ = self.begins();
    }
}

/// The timer of a connection. Hyper uses it for the head of requests alone, and sets it once the answer before is out
/// to its last byte: that is when the connection becomes idle.
#[derive(Debug)]
pub(super) struct HeadTimer(pub(super) Arc<Activity>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.0.waits();
        TokioTimer::new().sleep_until(deadline)
    }

    fn now(&self) -> Instant {
        TokioTimer::new().now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        self.0.waits();
        TokioTimer::new().reset(sleep, deadline);
    }
}
