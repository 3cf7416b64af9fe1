//! Tells an observer of each request.
//!
//! In: a request that is about to be sent, and its verb. Out: its answer. Nothing fails here. The observer hears of a request
//! before it is sent, and of its end only if it has one: a request that is dropped, as by a timeout, ends without a record.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::refusal::Refusal;

/// A request that ended.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord {
    /// The verb: get, list, create, update, patch, delete, probe.
    pub verb: &'static str,
    /// The HTTP status of the answer, or the one that means the same as that of gRPC; `None` if there was no answer.
    pub status: Option<u16>,
    /// How long it took.
    pub duration: Duration,
}

/// Is told that a request begins; what it returns is told that the request ended.
pub type CallObserver = Arc<dyn Fn() -> Box<dyn FnOnce(CallRecord) + Send> + Send + Sync>;

/// Watches the requests of one client.
#[derive(Clone)]
pub(crate) struct Watch(CallObserver);

impl Watch {
    pub(crate) fn new(observer: CallObserver) -> Self {
        Self(observer)
    }

    /// Makes a request, and reports it.
    pub(crate) async fn over<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let (end, started) = ((self.0)(), Instant::now());
        let result = call.await;
        let status = result.as_ref().map_or_else(|refusal| refusal.status, |_| Some(200));
        end(CallRecord { verb, status, duration: started.elapsed() });
        result
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
