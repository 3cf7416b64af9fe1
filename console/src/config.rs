//! The console's configuration. The loader reads no secret.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use ipnet::IpNet;
use lifecycle_api_client::AuthScheme;
use lifecycle_config::document::Document;
use lifecycle_service::configuration::Configuration;
use lifecycle_service::logging::LogSettings;

mod resolve;
pub mod settings;
pub mod spec;

pub use resolve::TRACE_ID;

use crate::PROGRAM;
use settings::{CONSOLE, FILE};
use spec::ConsoleSpec;

/// The configuration with every default applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Level, format and stream of the console's log.
    pub log: LogSettings,
    /// The address of the pages.
    pub listen: SocketAddr,
    /// Who may read the pages.
    pub access: AccessConfig,
    /// How often an open page is brought up to date.
    pub refresh: Duration,
    /// The HyperFleet API.
    pub api: ApiConfig,
    /// The exporter.
    pub exporter: Option<PeerConfig>,
    /// The adapters by name, in the order of the file.
    pub adapters: Vec<(String, PeerConfig)>,
    /// The sweeper.
    pub sweeper: Option<PeerConfig>,
    /// Where other programs show more.
    pub links: Links,
    /// The address of the probes.
    pub health_listen: SocketAddr,
    /// The address of `/metrics`.
    pub metrics_listen: SocketAddr,
}

/// Who may read the pages: whoever fulfils one of the ways that are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessConfig {
    /// Whether everybody may who can reach the address, which then is one of the loopback interface.
    pub anonymous: bool,
    /// The file of a token.
    pub token_file: Option<PathBuf>,
    /// The header with the name of a reader whom a proxy has authenticated.
    pub user_header: Option<HeaderName>,
    /// The proxies whose header counts.
    pub proxies: Vec<IpNet>,
}

/// The HyperFleet API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The API's URL.
    pub base_url: String,
    /// The API version in paths; empty means `v1`.
    pub version: String,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The file of the bearer token.
    pub token_file: Option<PathBuf>,
    /// The word before the token in the header `Authorization`.
    pub auth_scheme: AuthScheme,
    /// The kinds to count.
    pub kinds: Vec<String>,
}

/// A program of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// The host of its health port.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The file of its page's token.
    pub token_file: Option<PathBuf>,
}

/// Where other programs show more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The URL of a trace, with `{trace_id}` in it.
    pub trace: Option<String>,
    /// The URL of the log lines of a trace, with `{trace_id}` in it.
    pub logs: Option<String>,
}

/// The console's configuration file.
pub const CONFIGURATION: Configuration<ConsoleSpec, Config> = Configuration {
    file: FILE,
    absent: "built-in defaults",
    table: CONSOLE,
    document: Document::parse_secret,
    resolve: resolve::resolve,
    log: |config| (config.log, PROGRAM),
};

#[cfg(test)]
mod tests;
