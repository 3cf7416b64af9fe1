//! The flags and environment variables that set keys of the configuration file.

use lifecycle_config::decode::Typing;
use lifecycle_config::settings::{Derived, FileName, Setting, Table};

/// The flag and the variable that name the configuration file.
pub const FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_CONFIG" };
/// The variable with the database role's password. It has no key, because a file in plain sight must not contain one.
pub const PASSWORD_VARIABLE: &str = "HYPERFLEET_DATABASE_PASSWORD";

/// The exporter's table of flags and variables, by which the loader merges its configuration.
pub const EXPORTER: Table = Table { settings: SETTINGS, derived: Derived::None, typing: Typing::Strict };

/// Flags and variables. Those that the HyperFleet API also has have the API's names.
const SETTINGS: &[Setting] = &[
    Setting::text("log.level", "log-level", &["HYPERFLEET_LOG_LEVEL"]),
    Setting::text("log.format", "log-format", &["HYPERFLEET_LOG_FORMAT"]),
    Setting::text("log.output", "log-output", &["HYPERFLEET_LOG_OUTPUT"]),
    Setting::text("database.url", "db-url", &["HYPERFLEET_DATABASE_URL"]),
    Setting::text("database.host", "db-host", &["HYPERFLEET_DATABASE_HOST"]),
    Setting::text("database.port", "db-port", &["HYPERFLEET_DATABASE_PORT"]),
    Setting::text("database.name", "db-name", &["HYPERFLEET_DATABASE_NAME"]),
    Setting::text("database.username", "db-username", &["HYPERFLEET_DATABASE_USERNAME"]),
    Setting::text("database.password_file", "db-password-file", &["HYPERFLEET_DATABASE_PASSWORD_FILE"]),
    Setting::text("database.ssl_mode", "db-ssl-mode", &["HYPERFLEET_DATABASE_SSL_MODE"]),
    Setting::text("database.schema", "db-schema", &["HYPERFLEET_DATABASE_SCHEMA"]),
    Setting::text("health.listen", "health-listen", &["HYPERFLEET_HEALTH_LISTEN"]),
    Setting::text("metrics.listen", "metrics-listen", &["HYPERFLEET_METRICS_LISTEN"]),
    Setting::text(
        "metrics.reconciliation_stuck_threshold",
        "metrics-reconciliation-stuck-threshold",
        &["HYPERFLEET_METRICS_RECONCILIATION_STUCK_THRESHOLD"],
    ),
    Setting::text("api_config_file", "api-config-file", &["HYPERFLEET_API_CONFIG_FILE"]),
    Setting::text("stuck.token_file", "stuck-token-file", &["HYPERFLEET_STUCK_TOKEN_FILE"]),
];
