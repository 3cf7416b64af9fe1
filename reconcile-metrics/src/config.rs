//! Configuration: from a file, the environment and flags to what the process runs with.
//!
//! In: the file's text, the environment as a value, and the flags that were given. Out: a [`Config`], or every
//! diagnostic with its file, place and cure. A value comes from a flag, else from the environment, else from the file, else
//! from its default. Nothing is connected to here, and no secret is read: a file that holds one is read when it is used,
//! so that it can be renewed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_config::decode::schema_of;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics};
use lifecycle_config::document::Document;
use lifecycle_config::settings::{Resolver, Settings};
use lifecycle_service::files;
use lifecycle_service::logging::LogSettings;
use serde_json::Value;

mod kinds;
mod resolve;
pub mod settings;
pub mod spec;

pub use kinds::{Kind, Kinds};
pub use resolve::AGE_BUCKETS;

use settings::{EXPORTER, FILE};
use spec::ExporterSpec;

pub use lifecycle_config::settings::{Environment, Flags};

/// What the process runs with; every default is in place.
#[derive(Debug, Clone)]
pub struct Config {
    /// Logging.
    pub log: LogSettings,
    /// The database.
    pub database: DatabaseConfig,
    /// Where health and `/stuck` are served.
    pub health_listen: SocketAddr,
    /// Where metrics are served.
    pub metrics_listen: SocketAddr,
    /// The time for a scrape.
    pub scrape_timeout: Duration,
    /// How often details are renewed, and how far they go.
    pub details: DetailsConfig,
    /// Who may read `/stuck`.
    pub stuck_access: StuckAccess,
    /// The kinds, with what is stuck for each.
    pub kinds: Kinds,
}

/// How the database is reached.
#[derive(Clone)]
pub struct DatabaseConfig {
    /// Address, role and TLS. The password is not in it unless the address named one.
    pub options: sqlx::postgres::PgConnectOptions,
    /// Where the password comes from.
    pub password: PasswordSource,
    /// The schema of the tables, if the search path is not to decide.
    pub schema: Option<String>,
    /// The file of certificate authorities, which is in the options, too.
    pub root_certificates: Option<PathBuf>,
    /// The time for a statement.
    pub statement_timeout: Duration,
}

/// Where the password comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum PasswordSource {
    /// The address, or none is needed.
    Address,
    /// The environment.
    Given(String),
    /// A file, read at each new connection.
    File(PathBuf),
}

impl Config {
    /// The files that are read when they are used, each with its key: whoever checks a configuration reads them earlier.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let password = match &self.database.password {
            PasswordSource::File(file) => Some(("database.password_file", file.as_path())),
            PasswordSource::Address | PasswordSource::Given(_) => None,
        };
        let token = match &self.stuck_access {
            StuckAccess::Token(file) => Some(("stuck.token_file", file.as_path())),
            StuckAccess::Off | StuckAccess::Anonymous => None,
        };
        let authorities = self.database.root_certificates.as_deref().map(|file| ("database.ssl_root_cert_file", file));
        [password, authorities, token].into_iter().flatten().collect()
    }

    /// How long after its last answer the database counts as gone: details alone ask often enough, without any scrape.
    #[must_use]
    pub fn answered_within(&self) -> Duration {
        (self.details.interval * 2).max(Duration::from_secs(120))
    }
}

impl std::fmt::Debug for DatabaseConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The options print the password that the address may name.
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

/// How often details are renewed, and how far they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetailsConfig {
    /// How old they may be.
    pub interval: Duration,
    /// How many stuck resources are looked into.
    pub max_resources: u32,
}

/// Who may read `/stuck`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StuckAccess {
    /// Nobody.
    Off,
    /// Who presents the token in the file.
    Token(PathBuf),
    /// Who reaches the port.
    Anonymous,
}

/// Reads the file, if there is one, and loads it.
///
/// # Errors
/// Every diagnostic. A file that was named must be there; none has to be named.
pub fn load(
    path: Option<&Path>,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    let Some(path) = path else { return parse("built-in defaults", "{}", environment, flags) };
    let file = path.display().to_string();
    let text = files::read_text(path, files::CONFIGURATION).map_err(|error| {
        let help = format!("name a readable file by --{} or {}", FILE.flag, FILE.variable);
        Diagnostics::from(Diagnostic::unreadable(&file, &error, Some(help)))
    })?;
    parse(&file, &text, environment, flags)
}

/// Loads a file from its text. Beside the configuration it gives what is worth a warning.
///
/// # Errors
/// Every diagnostic.
pub fn parse(
    file: &str,
    text: &str,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    // A database's address may hold a password: diagnostics must not quote the file.
    let document = Document::parse_secret(file, text)?;
    let mut diagnostics = Diagnostics::default();
    let settings = Settings::merge(&EXPORTER, &schema(), document, environment, flags, &mut diagnostics);
    let spec: Option<ExporterSpec> = settings.decode(&mut diagnostics);
    let resolver = Resolver::new(&settings, &mut diagnostics);
    let config = spec.and_then(|spec| resolve::resolve(&spec, resolver, environment));
    diagnostics.sort();
    match config {
        Some(config) if !diagnostics.has_errors() => Ok((config, diagnostics)),
        Some(_) | None => Err(diagnostics),
    }
}

/// The JSON Schema of the file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<ExporterSpec>()
}

#[cfg(test)]
mod tests;
