//! The flags and environment variables that set keys of the configuration file.

use lifecycle_config::decode::Typing;
use lifecycle_config::settings::{Derived, FileName, Setting, Table};

/// The flag and the variable that name the configuration file.
pub const FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_CONFIG" };

/// The console's table of flags and variables, by which the loader merges its configuration.
pub const CONSOLE: Table = Table { settings: SETTINGS, derived: Derived::None, typing: Typing::Strict };

const SETTINGS: &[Setting] = &[
    Setting::text("log.level", "log-level", &["HYPERFLEET_LOG_LEVEL"]),
    Setting::text("log.format", "log-format", &["HYPERFLEET_LOG_FORMAT"]),
    Setting::text("log.output", "log-output", &["HYPERFLEET_LOG_OUTPUT"]),
    Setting::text("listen", "listen", &["HYPERFLEET_CONSOLE_LISTEN"]),
    Setting::text("access.token_file", "access-token-file", &["HYPERFLEET_CONSOLE_TOKEN_FILE"]),
    Setting::text("api.base_url", "hyperfleet-api-base-url", &["HYPERFLEET_API_BASE_URL"]),
    Setting::text("api.token_file", "hyperfleet-api-token-file", &["HYPERFLEET_API_TOKEN_FILE"]),
    Setting::text("api.auth_scheme", "hyperfleet-api-auth-scheme", &["HYPERFLEET_API_AUTH_SCHEME"]),
    Setting::text("health.listen", "health-listen", &["HYPERFLEET_HEALTH_LISTEN"]),
    Setting::text("metrics.listen", "metrics-listen", &["HYPERFLEET_METRICS_LISTEN"]),
];
