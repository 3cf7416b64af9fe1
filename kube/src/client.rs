//! Makes the client: from a kubeconfig file, or from the pod that the process runs in.
//!
//! In: the file or the pod's service account. Out: a client that sends each request once, or a [`ConnectError`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

/// How long a connection to the API server may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig file cannot be read, or does not say what it has to.
    #[error("failed to load kubeconfig {}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// No file was named, and the process does not run in a pod with a service account.
    #[error("failed to load the pod's service account")]
    InCluster(#[source] kube::config::InClusterError),
    /// The User-Agent holds what no header may hold.
    #[error("failed to use {0:?} as User-Agent")]
    UserAgent(String),
    /// The kubeconfig file or the environment names a proxy.
    #[error(
        "failed to use the proxy {0}: the program connects to the API server directly; remove `proxy-url` from the \
         kubeconfig file, or unset HTTPS_PROXY"
    )]
    Proxy(http::Uri),
    /// The credentials or certificates cannot be used.
    #[error("failed to prepare the connection to the API server")]
    Client(#[source] Box<kube::Error>),
}

/// Makes a client from a kubeconfig file, or without one from the pod's service account. Sends nothing.
///
/// Token files and, in a pod, the CA file are read again about once a minute. The client speaks HTTP/1.1, one
/// connection for each request under way and as many as there are requests; connections are kept for 90 s. It
/// follows no redirects, uses no proxy, and sends no request twice.
pub async fn connect(kube_config: Option<&Path>, user_agent: &str) -> Result<Client, ConnectError> {
    let mut config = match kube_config {
        Some(path) => {
            let loaded = match Kubeconfig::read_from(path) {
                Ok(file) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await,
                Err(error) => Err(error),
            };
            loaded.map_err(|source| ConnectError::Kubeconfig { path: path.to_owned(), source: Box::new(source) })?
        }
        None => Config::incluster().map_err(ConnectError::InCluster)?,
    };
    let user_agent = HeaderValue::from_str(user_agent).map_err(|_| ConnectError::UserAgent(user_agent.to_owned()))?;
    config.headers.push((USER_AGENT, user_agent));
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    if let Some(proxy) = config.proxy_url.take() {
        return Err(ConnectError::Proxy(proxy));
    }
    client(&config).map_err(|error| ConnectError::Client(Box::new(error)))
}

/// Builds the client as the library does by default, with two differences: our connector, and no layer of retries (15
/// more attempts at a 429, 503 or 504, writes included): the caller decides whether and when there is another attempt.
fn client(config: &Config) -> Result<Client, kube::Error> {
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector())?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let sender: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(sender);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

/// Opens TCP connections without Nagle's algorithm, which holds back the last part of a TLS handshake or request until
/// the server acknowledges the part before it: about 40 ms for the first request of each connection.
fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use tower::Service as _;

    use super::*;

    #[tokio::test]
    async fn connector_turns_nagles_algorithm_off() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
        let stream = connector().call(url).await.unwrap();
        assert!(stream.inner().nodelay().unwrap());
    }

    #[tokio::test]
    async fn kubeconfig_with_a_proxy_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let text = "{apiVersion: v1, kind: Config, current-context: x, users: [{name: x, user: {}}], \
            contexts: [{name: x, context: {cluster: x, user: x}}], \
            clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1', proxy-url: 'http://proxy:3128'}}]}";
        file.write_all(text.as_bytes()).unwrap();
        let Err(error) = connect(Some(file.path()), "test/1").await else { panic!("accepted") };
        assert!(matches!(error, ConnectError::Proxy(_)), "{error:?}");
    }
}
