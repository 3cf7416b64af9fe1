//! Loads the configuration from a file, environment variables and flags.
//!
//! In: the file's text, the environment variables, and the flags. Out: a [`Config`] with every default applied. Fails: with all
//! diagnostics at once. A flag wins over a variable, a variable over the file, the file over the default. The loader reads no secret.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderName;
use ipnet::IpNet;
use lifecycle_api_client::AuthScheme;
use lifecycle_config::decode::schema_of;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_config::settings::{Environment, Flags};
use lifecycle_service::logging::LogSettings;
use lifecycle_service::settings as service;
use serde_json::Value;

mod resolve;
pub mod settings;
pub mod spec;

pub use resolve::TRACE_ID;

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

/// Reads and loads the configuration file; without a path it loads the defaults.
///
/// # Errors
/// Returns every diagnostic, also if the file cannot be read.
pub fn load(
    path: Option<&Path>,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    service::load(&FILE, path, "built-in defaults", |file, text| parse(file, text, environment, flags))
}

/// Loads a configuration from the file's text. Returns warnings beside the configuration.
///
/// # Errors
/// Returns every diagnostic.
pub fn parse(
    file: &str,
    text: &str,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    // A URL may contain a password, so diagnostics must not quote the file.
    let document = Document::parse_secret(file, text)?;
    lifecycle_config::settings::load(
        &CONSOLE,
        &schema(),
        document,
        environment,
        flags,
        |spec: ConsoleSpec, resolver| resolve::resolve(&spec, resolver),
    )
}

/// Returns the JSON Schema of the file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<ConsoleSpec>()
}

#[cfg(test)]
mod tests;
