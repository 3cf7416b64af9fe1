//! A real Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager.
//!
//! In: nothing. Out: [`Access`] to an API server on the loopback interface, with everything that the server
//! decides being real: server-side apply, preconditions, admission, RBAC, finalizers, garbage collection and
//! the Job controller. There is no kubelet: a Job's Pod stays Pending until [`ControlPlane::finish_job`] says
//! what became of it, and a Pod without a node is deleted at once.
//!
//! Set `LIFECYCLE_E2E_KUBECONFIG` to use a cluster that runs already; nothing is started then.

mod access;
mod job;
mod namespace;
mod start;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub use access::Access;
pub use job::JobEnd;
pub use namespace::TestNamespace;

use crate::fault::Proxy;
use crate::run::start_or_join;

/// The control plane that all tests of the run share.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    access: Access,
}

impl ControlPlane {
    /// Joins the run's control plane, or starts it; a start takes a few seconds.
    pub async fn shared() -> anyhow::Result<Self> {
        static SHARED: OnceCell<Access> = OnceCell::const_new();
        crate::init();
        let access = SHARED
            .get_or_try_init(|| async {
                match std::env::var_os("LIFECYCLE_E2E_KUBECONFIG") {
                    Some(path) => Access::from_kubeconfig(&PathBuf::from(path)).await,
                    None => start_or_join("kube", start::start, answers).await,
                }
            })
            .await?;
        Ok(Self { access: access.clone() })
    }

    /// How to reach the API server as an administrator.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// A client with all rights, for the calling runtime.
    pub async fn client(&self) -> anyhow::Result<Client> {
        self.access.client().await
    }

    /// The API server's address, `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The administrator's bearer token; empty for a cluster that was not started here.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.access.token
    }

    /// The administrator's kubeconfig file.
    #[must_use]
    pub fn kubeconfig_path(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// Creates a namespace that no other test uses.
    pub async fn namespace(&self) -> anyhow::Result<TestNamespace> {
        TestNamespace::create(&self.access).await
    }

    /// Puts a proxy in front of the API server; clients reach it by [`Proxy::access`].
    pub async fn proxy(&self) -> anyhow::Result<Proxy> {
        Proxy::before_kubernetes(&self.access).await
    }
}

/// Says whether somebody still listens where the state says the API server is.
async fn answers(access: &Access) -> bool {
    match access.address() {
        Ok(address) => TcpStream::connect(address).await.is_ok(),
        Err(_) => false,
    }
}

impl Access {
    fn address(&self) -> anyhow::Result<SocketAddr> {
        let authority = self.url.trim_start_matches("https://");
        authority.parse().with_context(|| format!("`{}` has no address", self.url))
    }
}

/// The definition of the kind `Widget` in a group of the test's own.
#[must_use]
pub fn widgets(group: &str) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": open } }],
        },
    })
}
