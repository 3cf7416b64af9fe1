//! Listeners for HTTP/1.1 that idle clients do not hold up.
//!
//! In: an address, what it is for, and the routes. Out: a server that answers until it is stopped. An address that
//! cannot be listened on is an error at start-up; afterwards nothing fails but single connections, which is their
//! clients' concern and logged at debug; a handler that panics is ours, and an error.
//!
//! [`Limits`] bound what a client may take before its request is complete, and while it reads the answer; `axum::serve`
//! knows no such bounds. A connection is idle while it waits for the head of a request: where room is short, the longest
//! idle one gives way. How long an answer takes is for the handler to say. There is no TLS, and nobody is authenticated.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tower_http::timeout::RequestBodyDeadline;

mod body;
mod idle;

use idle::{Activity, HeadTimer, Idle};

pub use body::whole_body;

/// What clients may take of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for the head of a request, from the connection or the last answer on. Idle connections are kept for as
    /// long at most, therefore.
    pub head: Duration,
    /// The time for the body of a request, from its head on.
    pub body: Duration,
    /// The time for a client to take some more of an answer.
    pub answer: Duration,
    /// The connections at a time. One more closes the one that has been idle longest; while none is idle, it waits,
    /// and others behind it in the system's queue.
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

/// Reads an address to listen at: `:8080`, which is all interfaces, `localhost:8080`, `127.0.0.1:8080`, `[::1]:8080`.
#[must_use]
pub fn parse_address(text: &str) -> Option<SocketAddr> {
    if let Some(port) = text.strip_prefix(':') {
        return Some(all_interfaces(port.parse().ok()?));
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into());
    }
    text.parse().ok()
}

/// All interfaces, of both IP versions where the system has both.
#[must_use]
pub fn all_interfaces(port: u16) -> SocketAddr {
    (Ipv6Addr::UNSPECIFIED, port).into()
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
        let connections = Connections { purpose, router, limits, stop: stop.clone(), idle: Arc::default() };
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

    /// Takes no more connections. Idle ones are closed, others after the answer to their request.
    pub fn close(&self) {
        self.stop.cancel();
    }

    /// Closes, and waits for running requests, for at most `cap`; then breaks off what is left.
    pub async fn stop(mut self, cap: Duration) {
        self.close();
        // Nothing is lost that could be had: the task has no result.
        let _ = tokio::time::timeout(cap, &mut self.task).await;
    }
}

/// What a server's connections share.
#[derive(Clone)]
struct Connections {
    purpose: &'static str,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    idle: Arc<Idle>,
}

/// Takes the next connection, without Nagle's algorithm: an answer goes out at once, whatever is not acknowledged yet.
async fn accept(listener: &mut TcpListener) -> TcpStream {
    // Waits a while where accepting fails, as it does without free descriptors.
    let (stream, _) = axum::serve::Listener::accept(listener).await;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = &error as &dyn std::error::Error, "A connection keeps Nagle's algorithm");
    }
    stream
}

/// A request came over a connection that was already told to close.
#[derive(Debug, thiserror::Error)]
#[error("a newer connection took its place")]
struct Replaced;

impl Connections {
    async fn run(self, mut listener: TcpListener) {
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                Some(ended) = running.join_next() => self.report(ended),
                stream = accept(&mut listener) => {
                    tokio::select! {
                        () = self.stop.cancelled() => break,
                        () = self.make_room(&mut running) => {}
                    }
                    running.spawn(self.clone().serve(stream));
                }
            }
        }
        drop(listener);
        while let Some(ended) = running.join_next().await {
            self.report(ended);
        }
    }

    /// Waits until there is room for one more connection; an idle one is closed for it, if need be.
    async fn make_room(&self, running: &mut JoinSet<()>) {
        let mut closing = false;
        while running.len() >= self.limits.connections {
            closing = closing || self.idle.close_longest();
            tokio::select! {
                Some(ended) = running.join_next() => self.report(ended),
                () = self.idle.one_more(), if !closing => {}
            }
        }
    }

    fn report(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            let error = &error as &dyn std::error::Error;
            tracing::error!(purpose = self.purpose, error, "A request's handler panicked");
        }
    }

    async fn serve(self, stream: TcpStream) {
        let activity = Arc::new(Activity::new(self.idle));
        let router = TowerToHyperService::new(RequestBodyDeadline::new(self.router, self.limits.body));
        let service = service_fn(|request: Request<Incoming>| {
            let answer = activity.begins().then(|| router.call(request));
            async {
                let Ok(answer) = answer.ok_or(Replaced)?.await;
                Ok::<_, Replaced>(answer)
            }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.answer));
        let mut connection = pin!(
            http1::Builder::new()
                .timer(HeadTimer(Arc::clone(&activity)))
                .header_read_timeout(self.limits.head)
                .serve_connection(TokioIo::new(Box::pin(stream)), service)
        );
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = activity.told_to_close() => {
                tracing::debug!(purpose = self.purpose, "An idle connection gives way to a newer one");
                return;
            }
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(purpose = self.purpose, error = &error as &dyn std::error::Error, "A connection broke off");
        }
    }
}

#[cfg(test)]
mod tests;
