//! Configuration: from a file, the environment and flags to what the process runs with.
//!
//! In: the file's text, the environment as a value, and the flags that were given. Out: a [`Config`], or every
//! mistake with its file, place and cure. A value comes from a flag, else from the environment, else from the file, else
//! from its default. Nothing is connected to here, and no secret is read: a file that holds one is read when it is used,
//! so that it can be renewed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_config::decode::{Typing, coerce, normalize, schema_of};
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics};
use lifecycle_config::document::{self, Document};
use lifecycle_service::files;
use lifecycle_service::logging::LogSettings;
use serde_json::Value;

mod kinds;
mod settle;
pub mod spec;

pub use kinds::{Kind, Kinds};
pub use settle::AGE_BUCKETS;

use spec::ExporterSpec;

pub use lifecycle_service::program::Environment;

/// Keys set by flags.
pub type Overrides = BTreeMap<&'static str, String>;

/// One key that can be set from outside of the file.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key's path in the file.
    pub key: &'static str,
    /// The flag's long name.
    pub flag: &'static str,
    /// The environment variable.
    pub variable: &'static str,
}

impl Setting {
    /// Who sets it from outside of the file, as a message names them, and to what: the flag before the variable.
    pub(crate) fn given<'a>(
        &self,
        environment: &'a Environment,
        overrides: &'a Overrides,
    ) -> Option<(String, &'a String)> {
        match (overrides.get(self.key), environment.get(self.variable)) {
            (Some(flag), _) => Some((format!("--{}", self.flag), flag)),
            (None, Some(variable)) if !variable.is_empty() => Some((self.variable.to_owned(), variable)),
            (None, _) => None,
        }
    }
}

const fn setting(key: &'static str, flag: &'static str, variable: &'static str) -> Setting {
    Setting { key, flag, variable }
}

/// The flag and the variable that name the file.
pub const FILE: (&str, &str) = ("config", "HYPERFLEET_CONFIG");
/// The variable that holds the database role's password, for want of a file.
pub const PASSWORD_VARIABLE: &str = "HYPERFLEET_DATABASE_PASSWORD";

/// Every key that can be set from outside of the file.
pub const SETTINGS: &[Setting] = &[
    setting("log.level", "log-level", "HYPERFLEET_LOG_LEVEL"),
    setting("log.format", "log-format", "HYPERFLEET_LOG_FORMAT"),
    setting("log.output", "log-output", "HYPERFLEET_LOG_OUTPUT"),
    setting("database.url", "db-url", "HYPERFLEET_DATABASE_URL"),
    setting("database.host", "db-host", "HYPERFLEET_DATABASE_HOST"),
    setting("database.port", "db-port", "HYPERFLEET_DATABASE_PORT"),
    setting("database.name", "db-name", "HYPERFLEET_DATABASE_NAME"),
    setting("database.username", "db-username", "HYPERFLEET_DATABASE_USERNAME"),
    setting("database.password_file", "db-password-file", "HYPERFLEET_DATABASE_PASSWORD_FILE"),
    setting("database.ssl_mode", "db-ssl-mode", "HYPERFLEET_DATABASE_SSL_MODE"),
    setting("database.schema", "db-schema", "HYPERFLEET_DATABASE_SCHEMA"),
    setting("health.listen", "health-listen", "HYPERFLEET_HEALTH_LISTEN"),
    setting("metrics.listen", "metrics-listen", "HYPERFLEET_METRICS_LISTEN"),
    setting(
        "metrics.reconciliation_stuck_threshold",
        "metrics-reconciliation-stuck-threshold",
        "HYPERFLEET_METRICS_RECONCILIATION_STUCK_THRESHOLD",
    ),
    setting("api_config_file", "api-config-file", "HYPERFLEET_API_CONFIG_FILE"),
    setting("stuck.token_file", "stuck-token-file", "HYPERFLEET_STUCK_TOKEN_FILE"),
];

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
/// Every mistake. A file that was named and is not there is one; that none was named is not.
pub fn load(
    path: Option<&Path>,
    environment: &Environment,
    overrides: &Overrides,
) -> Result<(Config, Diagnostics), Diagnostics> {
    let Some(path) = path else { return parse("built-in defaults", "{}", environment, overrides) };
    let file = path.display().to_string();
    let text = files::read_text(path, files::CONFIGURATION).map_err(|error| {
        let help = format!("name a readable file by --{} or {}", FILE.0, FILE.1);
        Diagnostics::from(Diagnostic::outside(&file, "", format!("cannot be read: {error}"), Some(help)))
    })?;
    parse(&file, &text, environment, overrides)
}

/// Loads a file from its text. Beside the configuration it gives what is worth a warning.
///
/// # Errors
/// Every mistake.
pub fn parse(
    file: &str,
    text: &str,
    environment: &Environment,
    overrides: &Overrides,
) -> Result<(Config, Diagnostics), Diagnostics> {
    // A database's address may hold a password: mistakes must not quote the file.
    let document = Document::parse_secret(file, text)?;
    let mut diagnostics = Diagnostics::default();
    let schema = schema();
    let mut values = normalize(&document, &schema, Typing::Strict, &Default::default(), &mut diagnostics);
    for setting in SETTINGS {
        let Some((source, given)) = setting.given(environment, overrides) else { continue };
        let key = document::Path::of_keys(setting.key);
        match coerce(&schema, &key, given) {
            Ok(value) => set(&mut values, setting.key, value),
            Err(message) => diagnostics.push(Diagnostic::outside(&source, setting.key, message, None)),
        }
    }
    let spec: ExporterSpec = match serde_json::from_value(values) {
        Ok(spec) => spec,
        Err(error) => {
            diagnostics.push(Diagnostic::outside(file, "", error.to_string(), None));
            return Err(diagnostics);
        }
    };
    let config = settle::settle(&spec, &document, environment, overrides, &mut diagnostics);
    diagnostics.sort();
    match config {
        Some(config) if !diagnostics.has_errors() => Ok((config, diagnostics)),
        Some(_) | None => Err(diagnostics),
    }
}

fn set(values: &mut Value, key: &str, value: Value) {
    let mut place = values;
    for segment in key.split('.') {
        if !place.is_object() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = &mut place[segment];
    }
    *place = value;
}

/// The JSON Schema of the file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<ExporterSpec>()
}

#[cfg(test)]
mod tests;
