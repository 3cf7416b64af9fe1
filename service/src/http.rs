//! HTTP/1.1 listeners with time limits for slow clients.
//!
//! In: an address, its purpose, and the routes. Out: a server that answers until it is stopped. An address that cannot be
//! listened on is an error at start-up. Later only single connections fail, which is logged at debug; a handler that panics is a
//! bug of ours, and is logged as an error.
//!
//! `axum::serve` sets no time limit; [`Limits`] do, for the head and the body of a request and for a client that stops reading
//! the answer. The handler decides how long its answer takes. There is no TLS and no authentication.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tower_http::timeout::RequestBodyDeadline;

mod body;

pub use body::whole_body;

/// The limits that a listener sets to its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for the head of a request, counted from the connection or from the end of the last answer. So it is also how
    /// long an idle connection is kept.
    pub head: Duration,
    /// The time for the body of a request, from its head on.
    pub body: Duration,
    /// The time for a client to take some more of an answer.
    pub answer: Duration,
    /// The connections at a time. Further ones wait in the system's queue until one of them ends.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Between the usual intervals of scrapes, 15 and 30 s: the next one never meets the end of an idle connection.
            head: Duration::from_secs(20),
            body: Duration::from_secs(10),
            answer: Duration::from_secs(20),
            // Few enough for three listeners within the usual 1024 descriptors, with most left for clients of our own.
            connections: 128,
        }
    }
}

/// An address that could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on `{address}` for {purpose}")]
pub struct ListenError {
    purpose: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// An address that is listened on; connections wait until it is served.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    purpose: &'static str,
}

impl Listener {
    /// Listens, and says so in the log.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn bind(address: SocketAddr, purpose: &'static str) -> Result<Self, ListenError> {
        let failed = |source| ListenError { purpose, address, source };
        let listener = match TcpListener::bind(address).await {
            // The system has no IPv6.
            Err(error)
                if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && error.kind() != io::ErrorKind::AddrInUse =>
            {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
            }
            bound => bound,
        };
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tracing::info!(%address, purpose, "Listening");
        Ok(Self { listener, address, purpose })
    }

    /// The address that it really listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to answer.
    #[must_use]
    pub fn serve(self, router: Router, limits: Limits) -> Server {
        let Self { listener, address, purpose } = self;
        let stop = CancellationToken::new();
        let connections = Connections { purpose, router, limits, stop: stop.clone() };
        Server { address, stop, task: AbortOnDropHandle::new(tokio::spawn(connections.run(listener))) }
    }
}

/// A server that is running. Dropped, it breaks off all connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Server {
    /// The address that it really listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections. Idle ones are closed, busy ones after the answer to their request.
    pub fn close(&self) {
        self.stop.cancel();
    }

    /// Closes, waits at most `cap` for running requests, and breaks the remaining connections off.
    pub async fn stop(mut self, cap: Duration) {
        self.close();
        // The task has no result to lose.
        let _ = tokio::time::timeout(cap, &mut self.task).await;
    }
}

/// What a server's connections share.
struct Connections {
    purpose: &'static str,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
}

/// Accepts the next connection and turns Nagle's algorithm off, which would delay an answer until the client acknowledges the
/// bytes before it.
async fn accept(listener: &mut TcpListener) -> TcpStream {
    // `accept` waits a while after a failure, for example while no file descriptor is free.
    let (stream, _) = axum::serve::Listener::accept(listener).await;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = &error as &dyn std::error::Error, "A connection keeps Nagle's algorithm");
    }
    stream
}

impl Connections {
    async fn run(self, mut listener: TcpListener) {
        let graceful = GracefulShutdown::new();
        let mut running = JoinSet::new();
        loop {
            let has_room = running.len() < self.limits.connections;
            tokio::select! {
                () = self.stop.cancelled() => break,
                Some(ended) = running.join_next() => self.report(ended),
                stream = accept(&mut listener), if has_room => {
                    running.spawn(self.serve(stream, graceful.watcher()));
                }
            }
        }
        drop(listener);
        let ends = async {
            while let Some(ended) = running.join_next().await {
                self.report(ended);
            }
        };
        tokio::join!(graceful.shutdown(), ends);
    }

    fn report(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            let error = &error as &dyn std::error::Error;
            tracing::error!(purpose = self.purpose, error, "A request's handler panicked");
        }
    }

    fn serve(&self, stream: TcpStream, watcher: Watcher) -> impl Future<Output = ()> + Send + use<> {
        let service = TowerToHyperService::new(RequestBodyDeadline::new(self.router.clone(), self.limits.body));
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.answer));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let purpose = self.purpose;
        async move {
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(purpose, error = &error as &dyn std::error::Error, "A connection broke off");
            }
        }
    }
}

#[cfg(test)]
mod tests;
