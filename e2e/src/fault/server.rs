//! The HTTP server of proxies and of the local API, which applies the rules before its backend answers.

use std::convert::Infallible;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use axum::body::{Body, to_bytes};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinSet, yield_now};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::rules::{self, Fault, Faults};
use super::stream::{Ending, Stream};

/// The source of answers: an upstream or the local API.
pub(crate) trait Backend: Send + Sync + 'static {
    /// Answers a request. An error resets the client's connection.
    fn answer(&self, request: Request<Body>) -> impl Future<Output = anyhow::Result<Response<Body>>> + Send;

    /// Builds an error answer in the format of the real server.
    fn refusal(&self, status: u16, request: &rules::Request) -> Response<Body>;
}

/// A running server. Dropping it closes its connections.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) faults: Faults,
    _accepting: AbortOnDropHandle<()>,
}

impl Server {
    pub(crate) async fn start(backend: impl Backend, tls: Option<TlsAcceptor>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("failed to listen")?;
        let address = listener.local_addr().context("failed to listen")?;
        let faults = Faults::default();
        let accepting = tokio::spawn(accept(listener, tls, Arc::new(backend), faults.clone()));
        Ok(Self { address, faults, _accepting: AbortOnDropHandle::new(accepting) })
    }
}

async fn accept<B: Backend>(listener: TcpListener, tls: Option<TlsAcceptor>, backend: Arc<B>, faults: Faults) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            yield_now().await;
            continue;
        };
        let (tls, backend, faults) = (tls.clone(), backend.clone(), faults.clone());
        connections.spawn(async move {
            let ending = Ending::default();
            let stream = Stream::new(stream, ending.clone());
            match tls {
                Some(tls) => {
                    // The client reports a failed handshake.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, ending, backend, faults).await;
                    }
                }
                None => serve(stream, ending, backend, faults).await,
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve<B: Backend>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    ending: Ending,
    backend: Arc<B>,
    faults: Faults,
) {
    let service = service_fn(|request| answer(request, &ending, &*backend, &faults));
    // An error here is a connection that a rule reset or that the client closed; the client reports it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer<B: Backend>(
    request: Request<Incoming>,
    ending: &Ending,
    backend: &B,
    faults: &Faults,
) -> anyhow::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let seen = rules::Request::of(&parts);
    // Read the whole request before answering, so that no rest of it stays in the connection.
    let body = to_bytes(Body::new(body), usize::MAX).await?;
    let request = Request::from_parts(parts, Body::from(body));
    match faults.admit(seen.clone()) {
        None => {}
        Some(Fault::Status(status)) => return Ok(backend.refusal(status, &seen)),
        Some(Fault::Answer { status, headers, body }) => {
            let response = headers
                .iter()
                .fold(Response::builder().status(status), |response, (name, value)| response.header(*name, value));
            return Ok(response.body(Body::from(body))?);
        }
        Some(Fault::Truncate) => {
            let (mut parts, body) = backend.answer(request).await?.into_parts();
            let body = to_bytes(body, usize::MAX).await?;
            parts.headers.remove(http::header::CONTENT_LENGTH);
            parts.headers.remove(http::header::TRANSFER_ENCODING);
            return Ok(Response::from_parts(parts, Body::from(body.slice(..body.len() / 2))));
        }
        Some(Fault::TooManyRequests { retry_after }) => {
            let mut response = backend.refusal(429, &seen);
            response.headers_mut().insert(http::header::RETRY_AFTER, retry_after.into());
            return Ok(response);
        }
        Some(Fault::ResetBefore) => return broken(ending),
        Some(Fault::ResetAfter) => {
            let response = backend.answer(request).await?;
            // Wait for the end of the answer, so that the upstream has carried the request out.
            to_bytes(response.into_body(), usize::MAX).await?;
            return broken(ending);
        }
        Some(Fault::Silence) => match pending::<Infallible>().await {},
        Some(Fault::Hold(gate)) => gate.pass().await,
        Some(Fault::HoldAnswer(gate)) => {
            let response = backend.answer(request).await?;
            gate.pass().await;
            return Ok(response);
        }
    }
    let answer = backend.answer(request).await;
    if answer.is_err() {
        ending.reset();
    }
    answer
}

fn broken(ending: &Ending) -> anyhow::Result<Response<Body>> {
    ending.reset();
    anyhow::bail!("the connection is reset by a fault")
}
