//! Makes the client: from a kubeconfig file, or from the pod that the process runs in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

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
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// No file was named, and the process does not run in a pod with a service account.
    #[error("failed to load the pod's service account")]
    InCluster(#[source] kube::config::InClusterError),
    /// The User-Agent holds what no header may hold.
    #[error("failed to use {0:?} as User-Agent")]
    UserAgent(String),
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
    // On by default: 15 more attempts at a 429, 503 or 504, writes included. The next event is the retry.
    config.default_retry = false;
    Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
}
