//! The exporter's configuration. The loader reads no secret: files with secrets are read at each use, so that they can
//! change while the process runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_config::document::Document;
use lifecycle_service::access::Access;
use lifecycle_service::configuration::Configuration;
use lifecycle_service::logging::LogSettings;

mod kinds;
mod resolve;
pub mod settings;
pub mod spec;

pub use kinds::{Kind, Kinds};
pub use resolve::AGE_BUCKETS;

use settings::{EXPORTER, FILE};
use spec::ExporterSpec;

pub use lifecycle_config::settings::{Environment, Flags};

/// The configuration with every default applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Level, format and stream of the exporter's log.
    pub log: LogSettings,
    /// How to connect to the database.
    pub database: DatabaseConfig,
    /// The address of probes and `/stuck`.
    pub health_listen: SocketAddr,
    /// The address at which the exporter serves `/metrics`.
    pub metrics_listen: SocketAddr,
    /// The time limit of one scrape.
    pub scrape_timeout: Duration,
    /// The background reading of details.
    pub details: DetailsConfig,
    /// The clients that may read `/stuck`, which prints names and ids of resources.
    pub stuck_access: Access,
    /// The configured kinds, with their thresholds.
    pub kinds: Kinds,
}

/// How to connect to the database.
#[derive(Clone)]
pub struct DatabaseConfig {
    /// Address, role and TLS, without the password unless `database.url` contains it.
    pub options: sqlx::postgres::PgConnectOptions,
    /// Where the password comes from.
    pub password: PasswordSource,
    /// The schema of the API's tables; `None` leaves it to the role's search path.
    pub schema: Option<String>,
    /// The file of certificate authorities, a copy of the one in `options`, which has no getter.
    pub root_certificates: Option<PathBuf>,
    /// The limit after which PostgreSQL itself ends a statement.
    pub statement_timeout: Duration,
}

/// Where the password comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum PasswordSource {
    /// `database.url` contains it, or the server asks for none.
    Address,
    /// The environment variable of the password is set; holds the password.
    Given(String),
    /// A file, which is read at each new connection.
    File(PathBuf),
}

impl Config {
    /// Returns the files that the process reads only at their use, with their keys, so that `check` can read them early.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let password = match &self.database.password {
            PasswordSource::File(file) => Some(("database.password_file", file.as_path())),
            PasswordSource::Address | PasswordSource::Given(_) => None,
        };
        let token = match &self.stuck_access {
            Access::Token(file) => Some(("stuck.token_file", file.as_path())),
            Access::Off | Access::Anonymous => None,
        };
        let authorities = self.database.root_certificates.as_deref().map(|file| ("database.ssl_root_cert_file", file));
        [password, authorities, token].into_iter().flatten().collect()
    }

    /// Returns how long `/readyz` stays 200 after the last successful reading: two background readings, so that an exporter
    /// that nobody scrapes is ready too.
    #[must_use]
    pub fn readiness_window(&self) -> Duration {
        (self.details.interval * 2).max(Duration::from_secs(120))
    }
}

impl std::fmt::Debug for DatabaseConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // `PgConnectOptions` prints the password if `database.url` contains it.
        f.debug_struct("DatabaseConfig")
            .field("host", &self.options.get_host())
            .field("port", &self.options.get_port())
            .field("database", &self.options.get_database())
            .field("password", &self.password)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address => f.write_str("Address"),
            Self::Given(_) => f.write_str("Given(**REDACTED**)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// The background reading of details: the adapters that stuck resources wait on, and stalled deletions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetailsConfig {
    /// The time between two readings.
    pub interval: Duration,
    /// How many stuck resources one reading covers, the oldest first.
    pub max_resources: u32,
}

/// The exporter's configuration file. `database.url` may contain a password.
pub const CONFIGURATION: Configuration<ExporterSpec, Config> = Configuration {
    file: FILE,
    absent: "built-in defaults",
    table: EXPORTER,
    document: Document::parse_secret,
    resolve: resolve::resolve,
    log: |config| (config.log, "reconcile-metrics"),
};

#[cfg(test)]
mod tests;
