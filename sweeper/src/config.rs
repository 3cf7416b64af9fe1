//! The sweeper's configuration.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use lifecycle_api_client::AuthScheme;
use lifecycle_config::document::Document;
use lifecycle_core::sweep::Policy;
use lifecycle_service::access::Access;
use lifecycle_service::configuration::Configuration;
use lifecycle_service::logging::LogSettings;

mod resolve;
pub mod settings;
pub mod spec;

pub use lifecycle_config::settings::{Environment, Flags};

use crate::inventory::KindFilter;
use crate::leader;
use settings::{FILE, SWEEPER};
use spec::SweeperSpec;

/// The configuration with every default applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which objects may be deleted.
    pub policy: Policy,
    /// Which kinds are listed.
    pub filter: KindFilter,
    /// Whether passes only report.
    pub dry_run: bool,
    /// The time between two passes.
    pub interval: Duration,
    /// The most deletions at the same time.
    pub deletions_at_once: NonZeroUsize,
    /// The HyperFleet API.
    pub api: ApiConfig,
    /// The kubeconfig file; without it, the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// What is wrong if a person runs a command: a variable, perhaps a forgotten one of the shell, names another cluster,
    /// API or Lease than the file.
    pub overridden: Vec<String>,
    /// The most requests to Kubernetes in one second.
    pub kubernetes_rate: u32,
    /// The Maestro whose works are swept.
    pub maestro: Option<lifecycle_maestro::Settings>,
    /// The Lease of the leader.
    pub lease: leader::Settings,
    /// The file of the records of deletions; standard output without one.
    pub audit_file: Option<PathBuf>,
    /// Whether the records contain the data of Secrets.
    pub audit_secrets: bool,
    /// Level, format and stream of the log.
    pub log: LogSettings,
    /// Who may read the page `/plan`.
    pub plan_access: Access,
    /// The address of probes.
    pub health_listen: SocketAddr,
    /// The address at which the sweeper serves `/metrics`.
    pub metrics_listen: SocketAddr,
}

/// The HyperFleet API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// The API's URL.
    pub base_url: String,
    /// The API version in paths; empty means v1.
    pub version: String,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The file of the bearer token.
    pub token_file: Option<PathBuf>,
    /// The word before the token in the header `Authorization`.
    pub auth_scheme: AuthScheme,
    /// The most requests in one second.
    pub requests_per_second: u32,
}

/// The sweeper's configuration file.
pub const CONFIGURATION: Configuration<SweeperSpec, Config> = Configuration {
    file: FILE,
    absent: "no configuration file",
    table: SWEEPER,
    document: Document::parse,
    resolve: resolve::resolve,
    log: |config| (config.log, "sweeper"),
};

#[cfg(test)]
mod tests;
