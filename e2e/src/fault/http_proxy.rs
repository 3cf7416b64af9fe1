//! A proxy for an HTTP or HTTPS server.

use std::fs;
use std::ops::Deref;
use std::sync::Arc;

use anyhow::Context;
use axum::body::Body;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::{Authority as UriAuthority, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use super::rules::{self, Faults};
use super::server::{Backend, Server};
use crate::kube::Access;
use crate::pki::Authority;

/// A proxy whose rules ([`Faults`]) decide which requests reach the upstream.
///
/// The proxy runs in the runtime of the test that started it. Dropping it closes its connections.
pub struct Proxy {
    server: Server,
    url: String,
    access: Option<Access>,
    _files: Option<TempDir>,
}

impl Deref for Proxy {
    type Target = Faults;

    fn deref(&self) -> &Faults {
        &self.server.faults
    }
}

impl Proxy {
    /// Starts a proxy for a Kubernetes API server.
    pub(crate) async fn before_kubernetes(upstream: &Access) -> anyhow::Result<Self> {
        anyhow::ensure!(!upstream.token.is_empty(), "only a control plane started by the tests can be proxied");
        let trusted = fs::read(&upstream.certificate_authority).context("failed to read the certificate authority")?;
        let forward = Forward::to(&upstream.url, Some(&trusted), Dialect::Kubernetes)?;

        let files = TempDir::new().context("failed to create a directory for the proxy's files")?;
        let authority = Authority::new("lifecycle-e2e proxy")?;
        let certificate_authority = files.path().join("ca.crt");
        fs::write(&certificate_authority, &authority.certificate).context("failed to write the certificate")?;
        let server = Server::start(forward, Some(acceptor(&authority)?)).await?;
        let url = format!("https://{}", server.address);
        let access = Access::write(
            files.path().join("kubeconfig.json"),
            url.clone(),
            certificate_authority,
            upstream.token.clone(),
            upstream.user.clone(),
        )?;
        Ok(Self { server, url, access: Some(access), _files: Some(files) })
    }

    /// Starts a proxy for a plain HTTP server, such as `http://127.0.0.1:8000`.
    pub async fn before_http(upstream: &str) -> anyhow::Result<Self> {
        crate::init();
        let server = Server::start(Forward::to(upstream, None, Dialect::Plain)?, None).await?;
        let url = format!("http://{}", server.address);
        Ok(Self { server, url, access: None, _files: None })
    }

    /// The proxy's base URL, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Access to the API server through this proxy, with the upstream's credentials.
    pub fn access(&self) -> anyhow::Result<&Access> {
        self.access.as_ref().context("this is not a proxy of an API server")
    }
}

fn acceptor(authority: &Authority) -> anyhow::Result<TlsAcceptor> {
    let identity = authority.loopback()?;
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .context("failed to use the proxy's certificate")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The format of injected errors, which is that of the upstream.
enum Dialect {
    Kubernetes,
    Plain,
}

/// Forwards requests to the upstream.
struct Forward {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    scheme: Scheme,
    authority: UriAuthority,
    dialect: Dialect,
}

impl Forward {
    fn to(url: &str, trusted: Option<&[u8]>, dialect: Dialect) -> anyhow::Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("`{url}` is no address"))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(trusted.unwrap_or_default()) {
            roots.add(certificate.context("failed to read the upstream's certificate")?)?;
        }
        let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            scheme: uri.scheme().cloned().context("the upstream's address has no scheme")?,
            authority: uri.authority().cloned().context("the upstream's address has no host")?,
            dialect,
        })
    }
}

impl Backend for Forward {
    async fn answer(&self, mut request: Request<Body>) -> anyhow::Result<Response<Body>> {
        let mut target = request.uri().clone().into_parts();
        target.scheme = Some(self.scheme.clone());
        target.authority = Some(self.authority.clone());
        *request.uri_mut() = Uri::from_parts(target)?;
        request.headers_mut().insert(HOST, HeaderValue::from_str(self.authority.as_str())?);
        Ok(self.client.request(request).await?.map(Body::new))
    }

    fn refusal(&self, status: u16, request: &rules::Request) -> Response<Body> {
        let body = match self.dialect {
            Dialect::Kubernetes => Body::from(kubernetes_status(status, request)),
            Dialect::Plain => Body::from(format!("{status} by way of the proxy\n")),
        };
        let mut response = Response::new(body);
        // An invalid status is a mistake in the test; 500 makes the mistake visible.
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        if matches!(self.dialect, Dialect::Kubernetes) {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        response
    }
}

/// The `Status` object of an API server's refusal.
fn kubernetes_status(code: u16, request: &rules::Request) -> String {
    let reason = match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 if request.method == "POST" => "AlreadyExists",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("injected {code} for {} {}", request.method, request.path),
        "reason": reason,
        "code": code,
    })
    .to_string()
}
