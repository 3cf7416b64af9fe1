//! What a client needs to reach an API server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fault::TcpProxy;

/// One way into an API server: its address, whom to trust, and as whom to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Access {
    /// The server's address, without a path.
    pub url: String,
    /// The bearer token; empty if the kubeconfig has other means.
    pub token: String,
    /// The certificate that signs the server's; empty if the kubeconfig has its own.
    pub certificate_authority: PathBuf,
    /// The user to impersonate, if not the token's own.
    pub user: Option<String>,
    /// All of the above as a kubeconfig file.
    pub kubeconfig: PathBuf,
}

impl Access {
    /// Describes a way in and writes its kubeconfig to the given file.
    pub(crate) fn write(
        kubeconfig: PathBuf,
        url: String,
        certificate_authority: PathBuf,
        token: String,
        user: Option<String>,
    ) -> anyhow::Result<Self> {
        // JSON is YAML, and needs no second serializer.
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

    /// The same way in by way of a proxy before it; the kubeconfig is written into `directory`.
    pub fn through(&self, proxy: &TcpProxy, directory: &Path) -> anyhow::Result<Self> {
        ensure!(!self.token.is_empty(), "only a control plane started by the tests can be proxied");
        let Self { certificate_authority, token, user, .. } = self.clone();
        let kubeconfig = directory.join("through-a-proxy.json");
        Self::write(kubeconfig, format!("https://{}", proxy.address()), certificate_authority, token, user)
    }

    /// Takes over a kubeconfig that exists.
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

    /// A client for the calling runtime: one must not outlive the test that made it.
    ///
    /// It does not repeat requests by itself, so that a test sees every refusal that it asked for.
    pub async fn client(&self) -> anyhow::Result<Client> {
        crate::init();
        Client::try_from(self.config().await?).context("failed to make a Kubernetes client")
    }

    /// The client configuration, for tests that set timeouts of their own.
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
