//! The address and credentials of an API server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::TcpProxy;

/// The address of an API server, the authority to trust, and the credentials of one user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Access {
    /// The server's address, without a path.
    pub url: String,
    /// The bearer token; empty if the kubeconfig uses other credentials.
    pub token: String,
    /// The certificate authority of the server; empty if the kubeconfig contains it.
    pub certificate_authority: PathBuf,
    /// The user to impersonate; none for the token's own user.
    pub user: Option<String>,
    /// A kubeconfig file with these values.
    pub kubeconfig: PathBuf,
}

impl Access {
    /// Writes a kubeconfig file with the given values.
    pub(crate) fn write(
        kubeconfig: PathBuf,
        url: String,
        certificate_authority: PathBuf,
        token: String,
        user: Option<String>,
    ) -> anyhow::Result<Self> {
        // JSON is valid YAML, so no YAML serializer is needed.
        let document = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": certificate_authority}}],
            "users": [{"name": "test", "user": {"token": token, "as": user}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        });
        fs::write(&kubeconfig, serde_json::to_vec_pretty(&document)?)
            .with_context(|| format!("failed to write {}", kubeconfig.display()))?;
        Ok(Self { url, token, certificate_authority, user, kubeconfig })
    }

    /// Returns the same access through a proxy; writes its kubeconfig into `directory`.
    pub fn through(&self, proxy: &TcpProxy, directory: &Path) -> anyhow::Result<Self> {
        ensure!(!self.token.is_empty(), "only a control plane started by the tests can be proxied");
        let Self { certificate_authority, token, user, .. } = self.clone();
        let kubeconfig = directory.join("through-a-proxy.json");
        Self::write(kubeconfig, format!("https://{}", proxy.address()), certificate_authority, token, user)
    }

    /// Reads the access from an existing kubeconfig.
    pub(crate) async fn from_kubeconfig(path: &Path) -> anyhow::Result<Self> {
        let config = read(path).await?;
        Ok(Self {
            url: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            token: String::new(),
            certificate_authority: PathBuf::new(),
            user: None,
            kubeconfig: path.to_owned(),
        })
    }

    /// Builds a client for the current runtime; the client must not outlive it.
    ///
    /// The client does not retry, so that the test sees every injected error.
    pub async fn client(&self) -> anyhow::Result<Client> {
        crate::init();
        Client::try_from(self.config().await?).context("failed to make a Kubernetes client")
    }

    /// The client's configuration, for tests that change its time limits.
    pub async fn config(&self) -> anyhow::Result<Config> {
        read(&self.kubeconfig).await
    }
}

async fn read(path: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(path).with_context(|| format!("failed to read {}", path.display()))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("failed to use {}", path.display()))?;
    config.default_retry = false;
    Ok(config)
}
