//! A proxy for any TCP protocol.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::stream::{Ending, Stream};

/// Forwards bytes until the test cuts the connections.
///
/// The proxy runs in the runtime of the test that started it. Dropping it closes its connections.
pub struct TcpProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _accepting: AbortOnDropHandle<()>,
}

struct Shared {
    upstream: String,
    /// The state of new connections; `None` refuses them. Each fault replaces it, so that it affects only
    /// older ones.
    line: watch::Sender<Option<Line>>,
    accepted: watch::Sender<usize>,
}

/// Shared by the connections that were opened between two faults; a fault cancels one of its tokens.
#[derive(Clone, Default)]
struct Line {
    cut: CancellationToken,
    muted: CancellationToken,
}

impl TcpProxy {
    /// Starts a proxy for the upstream `host:port`.
    pub async fn before(upstream: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("failed to listen")?;
        let address = listener.local_addr().context("failed to listen")?;
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            line: watch::Sender::new(Some(Line::default())),
            accepted: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self { address, shared, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// The address that clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resets all connections. New connections are forwarded.
    pub fn cut(&self) {
        self.replace(Some(Line::default()));
    }

    /// Stops forwarding on all connections without closing them, as a firewall that dropped its state does.
    /// New connections are forwarded.
    pub fn mute(&self) {
        if let Some(old) = self.shared.line.send_replace(Some(Line::default())) {
            old.muted.cancel();
        }
    }

    /// Resets all connections and each new one, until [`restore`](Self::restore).
    pub fn refuse(&self) {
        self.replace(None);
    }

    /// Forwards new connections again, after [`refuse`](Self::refuse).
    pub fn restore(&self) {
        self.replace(Some(Line::default()));
    }

    /// The number of connections so far, including refused ones.
    #[must_use]
    pub fn connections(&self) -> usize {
        *self.shared.accepted.borrow()
    }

    /// Waits until this many connections have arrived, including refused ones.
    pub async fn await_connections(&self, wanted: usize) {
        // Cannot fail: `self` owns the sender, so the channel stays open.
        let _ = self.shared.accepted.subscribe().wait_for(|accepted| *accepted >= wanted).await;
    }

    fn replace(&self, line: Option<Line>) {
        if let Some(old) = self.shared.line.send_replace(line) {
            old.cut.cancel();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else {
            yield_now().await;
            continue;
        };
        let ending = Ending::default();
        let client = Stream::new(client, ending.clone());
        let line = shared.line.borrow().clone();
        shared.accepted.send_modify(|accepted| *accepted += 1);
        match line {
            Some(line) => drop(connections.spawn(pass(client, ending, shared.clone(), line))),
            None => ending.reset(),
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(mut client: Stream, ending: Ending, shared: Arc<Shared>, line: Line) {
    let copied = line.cut.run_until_cancelled(async {
        let mut server = TcpStream::connect(&shared.upstream).await?;
        match line.muted.run_until_cancelled(copy_bidirectional(&mut client, &mut server)).await {
            Some(copied) => copied,
            None => std::future::pending().await,
        }
    });
    match copied.await {
        Some(Ok(_)) => {}
        // Reset the client's connection, so that the client does not read an orderly end of the stream.
        Some(Err(_)) | None => ending.reset(),
    }
}
