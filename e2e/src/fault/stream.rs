//! A TCP stream that can be closed with a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How a connection ends; shared between the stream and the code that answers its requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    reset: Arc<AtomicBool>,
}

impl Ending {
    /// Makes the connection end with RST instead of FIN.
    pub(super) fn reset(&self) {
        self.reset.store(true, Ordering::Release);
    }

    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }
}

/// The server's side of a connection.
pub(super) struct Stream {
    inner: TcpStream,
    ending: Ending,
}

impl Stream {
    pub(super) fn new(inner: TcpStream, ending: Ending) -> Self {
        Self { inner, ending }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.ending.is_reset() {
            // If this fails, the connection ends with FIN, which also breaks it for the peer.
            let _ = self.inner.set_zero_linger();
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ending.is_reset() { Poll::Ready(Ok(())) } else { Pin::new(&mut self.inner).poll_shutdown(cx) }
    }
}
