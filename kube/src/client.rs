//! Builds the HTTP client of the API server from a kubeconfig file, or from the service account of the pod.
//!
//! In: the file's path, or the pod's service account. Out: a client that sends each request once. Fails:
//! [`ConnectError`].

use std::path::{Path, PathBuf};
use std::sync::Once;
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

/// Limits the time in which a TCP and TLS connection to the API server must be established.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why no client could be built.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig file cannot be read, or lacks something that a client needs.
    #[error("failed to load kubeconfig {}", path.display())]
    Kubeconfig {
        /// The path of the kubeconfig file.
        path: PathBuf,
        /// The error of the library that loads kubeconfig files.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// No file was named, and the process does not run in a pod with a service account.
    #[error("failed to load the pod's service account")]
    InCluster(#[source] kube::config::InClusterError),
    /// The User-Agent contains characters that HTTP headers cannot carry.
    #[error("failed to use {0:?} as User-Agent")]
    UserAgent(String),
    /// The kubeconfig file, or the variable `HTTPS_PROXY`, names a proxy.
    #[error(
        "failed to use the proxy {0}: the program connects to the API server directly; remove `proxy-url` from the \
         kubeconfig file, or unset HTTPS_PROXY"
    )]
    Proxy(http::Uri),
    /// The credentials or certificates are unusable.
    #[error("failed to prepare the connection to the API server")]
    Client(#[source] Box<kube::Error>),
}

/// A program connects more than once, and its log has the warning once.
static WARNED: Once = Once::new();

/// Builds a client from a kubeconfig file or, without one, from the pod's service account. Sends no request.
///
/// The client reads token files and the CA file again about once a minute. It speaks HTTP/1.1,
/// opens a connection for each concurrent request without a limit, and keeps idle connections for 90 s. It
/// follows no redirects, uses no proxy, and sends no request twice.
pub async fn connect(kube_config: Option<&Path>, user_agent: &str) -> Result<Client, ConnectError> {
    let mut config = load(kube_config).await?;
    let user_agent = HeaderValue::from_str(user_agent).map_err(|_| ConnectError::UserAgent(user_agent.to_owned()))?;
    config.headers.push((USER_AGENT, user_agent));
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    if config.accept_invalid_certs {
        WARNED.call_once(|| {
            tracing::warn!(
                server = %config.cluster_url,
                "The kubeconfig has `insecure-skip-tls-verify: true`: any server in the network's path can read the token \
                 and answer in the API server's place. Put its CA into `certificate-authority-data` instead"
            );
        });
    }
    if let Some(proxy) = config.proxy_url.take() {
        return Err(ConnectError::Proxy(proxy));
    }
    client(&config).map_err(|error| ConnectError::Client(Box::new(error)))
}

/// The CA file of the current context's cluster, which the client then reads again when it is rotated; `None` if
/// the kubeconfig file contains the certificates, which count before the file.
fn authority_file(file: &Kubeconfig) -> Option<PathBuf> {
    let named = file.contexts.iter().find(|context| Some(&context.name) == file.current_context.as_ref())?;
    let cluster = &named.context.as_ref()?.cluster;
    let cluster = file.clusters.iter().find(|named| named.name == *cluster)?.cluster.as_ref()?;
    let is_inline = cluster.certificate_authority_data.as_ref().is_some_and(|data| !data.is_empty());
    cluster.certificate_authority.as_ref().filter(|_| !is_inline).map(PathBuf::from)
}

/// The URL of the API server that [`connect`] with the same file connects to. Sends no request.
///
/// # Errors
///
/// As [`connect`].
pub async fn server(kube_config: Option<&Path>) -> Result<String, ConnectError> {
    Ok(load(kube_config).await?.cluster_url.to_string().trim_end_matches('/').to_owned())
}

async fn load(kube_config: Option<&Path>) -> Result<Config, ConnectError> {
    let Some(path) = kube_config else { return Config::incluster().map_err(ConnectError::InCluster) };
    let loaded = match Kubeconfig::read_from(path) {
        Ok(file) => {
            let authority = authority_file(&file);
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
            config.map(|mut config| {
                config.root_cert_file = authority;
                config
            })
        }
        Err(error) => Err(error),
    };
    loaded.map_err(|source| ConnectError::Kubeconfig { path: path.to_owned(), source: Box::new(source) })
}

/// Builds the client from the library's layers, with two differences: it uses [`connector`], and it leaves out
/// the library's retry layer.
///
/// That layer repeats requests, writes included, up to 15 times after a 429, 503 or 504; here the caller
/// decides about another attempt.
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

/// Opens TCP connections with `TCP_NODELAY`.
///
/// Nagle's algorithm would hold back the last part of a TLS handshake or request until the server acknowledges
/// the part before: about 40 ms for the first request of each connection.
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

    #[test]
    fn authority_file_of_the_current_cluster_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("a file beside the kubeconfig", "certificate-authority: ca.crt", Some("ca.crt")),
            ("a file elsewhere", "certificate-authority: /etc/ca.crt", Some("/etc/ca.crt")),
            (
                "certificates count before a file",
                "{certificate-authority: ca.crt, certificate-authority-data: eA==}",
                None,
            ),
            ("the system's authorities", "{}", None),
        ];
        for (name, cluster, expected) in cases {
            let text = format!(
                "{{apiVersion: v1, kind: Config, current-context: x, contexts: [{{name: x, context: {{cluster: x, user: x}}}}], \
                 clusters: [{{name: other, cluster: {{certificate-authority: other.crt}}}}, {{name: x, cluster: {}}}]}}",
                if cluster.starts_with('{') { cluster.to_owned() } else { format!("{{{cluster}}}") }
            );
            let path = folder.path().join("config");
            std::fs::write(&path, text).unwrap();
            let found = authority_file(&Kubeconfig::read_from(&path).unwrap());
            assert_eq!(found, expected.map(|file| folder.path().join(file)), "{name}");
        }
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
