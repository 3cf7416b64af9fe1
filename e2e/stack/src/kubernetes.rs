//! A client of the stack's Kubernetes.
//!
//! In: a kubeconfig file. Out: a client. Fails: if the file cannot be read, or names no cluster.

use std::path::Path;

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

pub(crate) async fn client(kubeconfig: &Path) -> Result<Client> {
    let content = Kubeconfig::read_from(kubeconfig);
    let content = content.with_context(|| format!("failed to read {}", kubeconfig.display()))?;
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
