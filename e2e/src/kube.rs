//! A real Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager.
//!
//! In: nothing. Out: [`Access`] to an API server on the loopback interface. Server-side apply, preconditions,
//! admission, RBAC, finalizers, garbage collection and the Job controller are real. There is no kubelet: a
//! Job's Pod stays Pending until [`ControlPlane::finish_job`] sets its end, and a Pod without a node is
//! deleted at once. Only [`ControlPlane::with_node`] has a kubelet, which needs root.
//!
//! [`ControlPlane::kubectl`] is what a person does beside the adapter.
//!
//! The variable `LIFECYCLE_E2E_KUBECONFIG` names an existing cluster to use instead.

mod access;
mod job;
mod namespace;
mod node;
mod start;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::Context;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub use access::Access;
pub use job::JobEnd;
pub use namespace::TestNamespace;
pub use node::NODE_IMAGE;

use crate::fault::Proxy;
use crate::run::start_or_join;

/// The control plane that all tests of a run share.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    access: Access,
}

impl ControlPlane {
    /// Connects to the run's control plane, or starts one, which takes a few seconds.
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

    /// Connects to the run's second control plane, for tests that change what holds in the whole cluster.
    ///
    /// Such a change is an admission policy. This control plane is always one that the tests start.
    pub async fn apart() -> anyhow::Result<Self> {
        static APART: OnceCell<Access> = OnceCell::const_new();
        crate::init();
        // A name that began with `kube-` would be taken for an instance of the shared control plane.
        let access = APART.get_or_try_init(|| start_or_join("apart-kube", start::start, answers)).await?;
        Ok(Self { access: access.clone() })
    }

    /// Connects to the run's control plane that has a node, or starts one, which takes about 15 seconds.
    ///
    /// Its Pods run, if their image is [`NODE_IMAGE`]. Needs root, and the programs that `e2e/tools/node/node prepare`
    /// installs.
    pub async fn with_node() -> anyhow::Result<Self> {
        static WITH_NODE: OnceCell<Access> = OnceCell::const_new();
        crate::init();
        let access = WITH_NODE.get_or_try_init(|| start_or_join("node", node::start, answers)).await?;
        Ok(Self { access: access.clone() })
    }

    /// Returns the address and the credentials of a cluster administrator.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// A client with all permissions, for the current runtime.
    pub async fn client(&self) -> anyhow::Result<Client> {
        self.access.client().await
    }

    /// The API server's own metrics, in Prometheus' text format.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        self.client().await?.request_text(request).await.context("the API server does not tell its metrics")
    }

    /// The API server's address, `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The administrator's bearer token; empty for a cluster that the tests did not start.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.access.token
    }

    /// Returns the path of a kubeconfig file with an administrator's credentials.
    #[must_use]
    pub fn kubeconfig_path(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// Runs kubectl, of the version of the control plane that tests start, as an administrator.
    ///
    /// Its sets of objects, `apply --applyset`, are switched on. It reads no settings of the user, and keeps nothing
    /// between two calls.
    pub async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let cache = tempfile::tempdir()?;
        let mut command = tokio::process::Command::new(start::tools()?.join("kubectl"));
        command.arg("--kubeconfig").arg(self.kubeconfig_path()).args(arguments);
        command.env("KUBECTL_APPLYSET", "true").env("KUBECACHEDIR", cache.path()).env("KUBERC", "off");
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.context("failed to run kubectl")
    }

    /// Creates a namespace that no other test uses.
    pub async fn namespace(&self) -> anyhow::Result<TestNamespace> {
        TestNamespace::create(&self.access).await
    }

    /// Starts a proxy for the API server; clients use [`Proxy::access`].
    pub async fn proxy(&self) -> anyhow::Result<Proxy> {
        Proxy::before_kubernetes(&self.access).await
    }
}

/// Whether a server accepts connections at the recorded address.
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

/// The definition of a custom kind `Widget` in the given API group, with a schema that accepts any content.
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
