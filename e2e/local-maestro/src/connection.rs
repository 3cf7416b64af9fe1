//! Connections that a test can cut, with or without TLS.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Who a client says to be with its certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
}

/// What the server knows of the connection of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    /// The subject of the client's certificate, if the client has one.
    pub(crate) subject: Option<Subject>,
    cut: CancellationToken,
}

impl Connection {
    /// Breaks the connection, without an answer to what is under way.
    pub(crate) fn cut(&self) {
        self.cut.cancel();
    }
}

/// All connections of a listener.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    is_refusing: Arc<AtomicBool>,
    root: Arc<Mutex<CancellationToken>>,
}

impl Connections {
    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        let mut root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *root).cancel();
    }

    /// Breaks all connections, and each new one at once, until told otherwise.
    pub(crate) fn refuse(&self, is_refusing: bool) {
        self.is_refusing.store(is_refusing, Ordering::SeqCst);
        if is_refusing {
            self.cut();
        }
    }

    fn token(&self) -> CancellationToken {
        self.root.lock().unwrap_or_else(PoisonError::into_inner).child_token()
    }
}

/// The bytes of one connection.
pub(crate) struct Io {
    bytes: Bytes,
    connection: Connection,
    is_cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

enum Bytes {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Accepts connections until dropped.
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    accepted: mpsc::Receiver<Io>,
}

impl Listener {
    /// Listens on a free port of the loopback interface.
    pub(crate) async fn bind(tls: Option<TlsAcceptor>, connections: Connections) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (sender, accepted) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let stream = tokio::select! {
                    () = sender.closed() => return,
                    stream = listener.accept() => stream,
                };
                let Ok((stream, _)) = stream else { continue };
                if connections.is_refusing.load(Ordering::SeqCst) {
                    continue;
                }
                let (tls, sender, token) = (tls.clone(), sender.clone(), connections.token());
                // A handshake takes as long as the client likes, and must not hold up others.
                tokio::spawn(async move {
                    if let Ok(io) = Io::new(stream, tls, token).await {
                        let _ = sender.send(io).await;
                    }
                });
            }
        });
        Ok(Self { address, accepted })
    }

    /// The connections as a stream.
    pub(crate) fn incoming(self) -> impl futures::Stream<Item = io::Result<Io>> {
        futures::stream::unfold(self.accepted, async |mut accepted| {
            let io = accepted.recv().await?;
            Some((Ok(io), accepted))
        })
    }
}

impl axum::serve::Listener for Listener {
    type Io = Io;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Io, SocketAddr) {
        match self.accepted.recv().await {
            Some(io) => (io, self.address),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Io {
    async fn new(stream: TcpStream, tls: Option<TlsAcceptor>, cut: CancellationToken) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (bytes, subject) = match tls {
            None => (Bytes::Plain(stream), None),
            Some(tls) => {
                let stream = tls.accept(stream).await?;
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let subject = certificates.first().map(|certificate| subject(certificate));
                (Bytes::Encrypted(Box::new(stream)), subject)
            }
        };
        let is_cut = Box::pin(cut.clone().cancelled_owned());
        Ok(Self { bytes, connection: Connection { subject, cut }, is_cut })
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.is_cut.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

fn subject(certificate: &[u8]) -> Subject {
    // A certificate that the handshake verified can be read; if not, it names nobody.
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Subject::default() };
    let subject = certificate.subject();
    let text = |entry: &x509_parser::x509::AttributeTypeAndValue<'_>| entry.as_str().unwrap_or_default().to_owned();
    Subject {
        common_name: subject.iter_common_name().next().map(text).unwrap_or_default(),
        organizations: subject.iter_organization().map(text).filter(|name| !name.is_empty()).collect(),
    }
}

impl Connected for Io {
    type ConnectInfo = Connection;

    fn connect_info(&self) -> Connection {
        self.connection.clone()
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check(context)?;
        match &mut this.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Bytes::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check(context)?;
        match &mut this.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Bytes::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_flush(context),
            Bytes::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Bytes::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
