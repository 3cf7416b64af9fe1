//! The servers behind this workspace's tests, and the faults that tests inject between them and the programs.
//!
//! In: the programs that `./test --setup` installs. Out: a Kubernetes control plane ([`kube`]), a RabbitMQ
//! broker ([`rabbitmq`]), a PostgreSQL server ([`postgres`]) and the local API ([`api`]) on the loopback
//! interface, the programs of this workspace as one system ([`parts`]), a [`browser`], and proxies ([`fault`]) that refuse,
//! delay or lose chosen requests to them. Fails: with the name of the server and the last lines of its log.
//!
//! The first test process that needs the control plane, the broker or the database server starts it, and all
//! other test processes share it; `src/run.rs` describes how, and how the servers end with the tests. Each
//! test has its own [`TestNamespace`](kube::TestNamespace), [`Topic`](rabbitmq::Topic),
//! [`LocalApi`](api::LocalApi) and [`Database`](postgres::Database), so that all tests can run at the same time.
//!
//! No function sleeps for a fixed time: [`await_condition`] waits until a condition is met.
//!
//! There is no kubelet, no scheduler and no network between Pods: see
//! [`ControlPlane::finish_job`](kube::ControlPlane::finish_job), and
//! [`ControlPlane::with_node`](kube::ControlPlane::with_node) for a control plane that has them.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod api;
pub mod browser;
pub mod cgroup;
pub mod fault;
pub mod kube;
pub mod parts;
pub mod pki;
pub mod postgres;
pub mod process;
pub mod pubsub;
pub mod rabbitmq;
mod run;
pub mod scripted;
pub mod series;
pub mod sockets;
pub mod usage;
mod wait;
pub mod workspaces;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

pub use lifecycle_sentinel_event as sentinel;
pub use run::{free_port, keep_servers_in, stop_servers};
pub use wait::{PATIENCE, await_condition};

/// Installs the process' TLS provider; can be called repeatedly.
///
/// Every handle of this crate calls this function. A test that uses TLS before it has a handle calls it itself.
pub fn init() {
    // An error means that a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Generates a name that no other test uses: a valid DNS label that begins with `prefix`.
#[must_use]
pub fn unique(prefix: &str) -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}-{}", id.get(..12).unwrap_or(&id))
}

/// The shared servers that most journeys need.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The Kubernetes control plane of this run.
    pub control_plane: kube::ControlPlane,
    /// The RabbitMQ broker of this run.
    pub broker: rabbitmq::Broker,
}

impl Stack {
    /// Connects to the run's servers, and starts those that do not run yet, concurrently.
    pub async fn join() -> anyhow::Result<Self> {
        let (control_plane, broker) = tokio::try_join!(kube::ControlPlane::shared(), rabbitmq::Broker::shared())?;
        Ok(Self { control_plane, broker })
    }
}

/// A command that runs cargo from within a program that cargo itself runs.
///
/// Cargo describes that program's package in variables. The build script of `ring` names the same variables, so that
/// `ring` and every crate that uses it would be built again, and yet again by the next build without these variables.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name.to_string_lossy().starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Finds a program of this workspace that cargo built for the running tests.
///
/// `cargo test --workspace` builds all programs before the first test; `cargo test -p` of another package
/// does not.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe().context("the running test's own path is unknown")?;
    let path = test
        .ancestors()
        .skip(1)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("`{name}` is not built: run `cargo build --workspace`"))?;
    Ok(path)
}
