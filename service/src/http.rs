//! HTTP/1.1 listeners with limits for slow clients.
//!
//! In: an address, its purpose for logs, and the routes. Out: a server that answers until it is stopped.
//! Fails: with [`ListenError`] at start-up. Later only single connections fail, which is logged at level
//! debug, and a handler that panics is logged as an error.
//!
//! `axum::serve` sets no time limits. [`Limits`] sets them for a request's head, for its body, and for a
//! client that does not read its answer; the handler itself has none. There is no TLS and no authentication.

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
use tower_http::add_extension::AddExtension;
use tower_http::timeout::RequestBodyDeadline;

mod body;

pub use body::whole_body;

/// The limits for a listener's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time for the head of a request, from the connection or from the end of the previous answer. So an
    /// idle connection is closed after this time.
    pub head: Duration,
    /// The time for the body of a request, from the end of its head.
    pub body: Duration,
    /// The time after which a connection is closed if the client reads nothing of its answer.
    pub answer: Duration,
    /// The maximum number of concurrent connections. Further ones wait in the operating system's queue.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Between the usual scrape intervals of 15 and 30 s: so no scrape arrives just when its idle
            // connection is closed.
            head: Duration::from_secs(20),
            body: Duration::from_secs(10),
            answer: Duration::from_secs(20),
            // Three listeners with 128 connections each leave most of the usual 1024 file descriptors to the
            // program's own clients.
            connections: 128,
        }
    }
}

/// The operating system refused to listen on an address.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on `{address}` for {purpose}")]
pub struct ListenError {
    purpose: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// A socket that listens; connections wait in its queue until [`serve`](Self::serve) accepts them.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    purpose: &'static str,
}

impl Listener {
    /// Listens on an address, and logs it.
    ///
    /// # Errors
    /// The operating system refuses the address.
    pub async fn bind(address: SocketAddr, purpose: &'static str) -> Result<Self, ListenError> {
        let failed = |source| ListenError { purpose, address, source };
        let listener = match TcpListener::bind(address).await {
            // A system without IPv6 refuses the unspecified IPv6 address: use that of IPv4.
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

    /// The bound address, with the port that the system chose if the configured one is 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to accept connections and to answer requests.
    #[must_use]
    pub fn serve(self, router: Router, limits: Limits) -> Server {
        let Self { listener, address, purpose } = self;
        let stop = CancellationToken::new();
        let connections = Connections { purpose, router, limits, stop: stop.clone() };
        Server { address, stop, task: AbortOnDropHandle::new(tokio::spawn(connections.run(listener))) }
    }
}

/// A running server. Dropping it closes all connections at once.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Server {
    /// The bound address, with the port that the system chose if the configured one is 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections. Closes idle ones at once, and the others after their current answer.
    pub fn close(&self) {
        self.stop.cancel();
    }

    /// Calls [`close`](Self::close), waits at most `cap` for running requests, and then closes the remaining
    /// connections.
    pub async fn stop(mut self, cap: Duration) {
        self.close();
        // Either result is fine: after the time limit, dropping the task closes the remaining connections.
        let _ = tokio::time::timeout(cap, &mut self.task).await;
    }
}

/// The state that a server's connections share.
struct Connections {
    purpose: &'static str,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
}

/// The address from which a connection comes, as an extension of each of its requests: that of the client, or of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Accepts a connection and sets `TCP_NODELAY`. Nagle's algorithm would delay a part of an answer until the
/// client acknowledges the part before.
async fn accept(listener: &mut TcpListener) -> (TcpStream, Peer) {
    // axum's `accept` retries after a pause if it fails, for example while no file descriptor is free.
    let (stream, address) = axum::serve::Listener::accept(listener).await;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(error = &error as &dyn std::error::Error, "A connection keeps Nagle's algorithm");
    }
    (stream, Peer(address.ip().to_canonical()))
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
                (stream, peer) = accept(&mut listener), if has_room => {
                    running.spawn(self.serve(stream, peer, graceful.watcher()));
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

    fn serve(&self, stream: TcpStream, peer: Peer, watcher: Watcher) -> impl Future<Output = ()> + Send + use<> {
        let service = AddExtension::new(self.router.clone(), peer);
        let service = TowerToHyperService::new(RequestBodyDeadline::new(service, self.limits.body));
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
