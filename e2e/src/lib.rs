//! The real servers behind this workspace's tests, and the faults put before them.
//!
//! In: nothing but the programs that `./test --setup` provides. Out: a Kubernetes control plane
//! ([`kube`]), a RabbitMQ broker ([`rabbitmq`]), a PostgreSQL server ([`postgres`]) and a fake of the lifecycle API
//! ([`api`]), each reachable on the loopback interface, plus proxies ([`fault`]) that refuse, delay or lose
//! chosen requests on their way to any of them.
//!
//! The control plane, the broker and the database server are started by the first test process that asks and shared by
//! all others; `src/run.rs` says how, and why none of them outlives the tests. A test keeps to a
//! [`TestNamespace`](kube::TestNamespace), a [`Topic`](rabbitmq::Topic) and a [`Database`](postgres::Database) of its
//! own, so all tests may run at the same time.
//!
//! What can fail says which server it was and ends with that server's last log lines. Nothing in here
//! sleeps for a fixed time: [`await_condition`] waits for what a test wants to see.
//!
//! There is no kubelet, no scheduler and no network between objects: see
//! [`ControlPlane::finish_job`](kube::ControlPlane::finish_job).

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod api;
pub mod fault;
pub mod kube;
mod pki;
pub mod postgres;
pub mod rabbitmq;
mod run;
pub mod scripted;
pub mod sentinel;
pub mod sockets;
mod wait;

use std::path::PathBuf;

use anyhow::Context;

pub use wait::{PATIENCE, await_condition};

/// Makes the process fit for TLS; safe to call any number of times.
///
/// Every handle of this crate calls it. A test that opens a TLS connection before it has a handle calls it itself.
pub fn init() {
    // An error means that a provider is installed already, which is all that is asked for.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A name that no other test uses: a valid DNS label that begins with `prefix`.
#[must_use]
pub fn unique(prefix: &str) -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}-{}", id.get(..12).unwrap_or(&id))
}

/// The shared servers that most journeys need, started side by side.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The Kubernetes control plane of this run.
    pub control_plane: kube::ControlPlane,
    /// The RabbitMQ broker of this run.
    pub broker: rabbitmq::Broker,
}

impl Stack {
    /// Joins the run's servers, starting those that do not run yet.
    pub async fn join() -> anyhow::Result<Self> {
        let (control_plane, broker) = tokio::try_join!(kube::ControlPlane::shared(), rabbitmq::Broker::shared())?;
        Ok(Self { control_plane, broker })
    }
}

/// Finds a program of this workspace that cargo built for the running tests.
///
/// `cargo test --workspace` builds every program before it runs a test; `cargo test -p` of another package does not.
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
