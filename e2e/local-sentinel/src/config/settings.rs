//! The flags and environment variables that set keys of the configuration file.

use lifecycle_config::decode::Typing;
use lifecycle_config::settings::{Derived, FileName, Setting, Table};

/// The flag and the variable that name the configuration file.
pub const FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_CONFIG" };

/// The Sentinel's table of flags and variables, by which the loader merges its configuration.
pub const SENTINEL: Table = Table { settings: SETTINGS, derived: Derived::None, typing: Typing::Weak };

/// The variable that names the broker's file.
pub const BROKER_FILE: &str = "BROKER_CONFIG_FILE";

/// The variables and flags of the broker's keys, which are in a file of their own or in the Sentinel's. The URL has no
/// flag, because other users of the machine could read its password in the list of processes.
const BROKER_SETTINGS: [Setting; 3] = [
    Setting::variable("broker.type", &["BROKER_TYPE"]),
    Setting::variable("broker.rabbitmq.url", &["BROKER_RABBITMQ_URL"]),
    Setting::text("broker.rabbitmq.exchange_type", "exchange-type", &["BROKER_RABBITMQ_EXCHANGE_TYPE"]),
];

/// The table of the broker's file.
pub const BROKER: Table = Table { settings: &BROKER_SETTINGS, derived: Derived::None, typing: Typing::Weak };

/// Flags and variables. Those of keys that the real Sentinel has are those of the real Sentinel.
const SETTINGS: &[Setting] = &[
    Setting::text("sentinel.name", "name", &["HYPERFLEET_SENTINEL_NAME"]),
    Setting::text("resource_type", "resource-type", &["HYPERFLEET_RESOURCE_TYPE"]),
    Setting::text("poll_interval", "poll-interval", &["HYPERFLEET_POLL_INTERVAL"]),
    Setting::text("max_age_reconciled", "max-age-reconciled", &["HYPERFLEET_MAX_AGE_RECONCILED"]),
    Setting::text("max_age_unreconciled", "max-age-unreconciled", &["HYPERFLEET_MAX_AGE_UNRECONCILED"]),
    Setting::text("clients.hyperfleet_api.base_url", "hyperfleet-api-base-url", &["HYPERFLEET_API_BASE_URL"]),
    Setting::text("clients.hyperfleet_api.timeout", "hyperfleet-api-timeout", &["HYPERFLEET_API_TIMEOUT"]),
    Setting::text("clients.hyperfleet_api.page_size", "hyperfleet-api-page-size", &["HYPERFLEET_API_PAGE_SIZE"]),
    Setting::text(
        "clients.hyperfleet_api.auth.token_path",
        "hyperfleet-api-token-path",
        &["HYPERFLEET_API_AUTH_TOKEN_PATH"],
    ),
    Setting::variable("clients.hyperfleet_api.auth.token_cache_ttl", &["HYPERFLEET_API_AUTH_TOKEN_CACHE_TTL"]),
    Setting::text("clients.broker.topic", "broker-topic", &["HYPERFLEET_BROKER_TOPIC"]),
    BROKER_SETTINGS[0],
    BROKER_SETTINGS[1],
    BROKER_SETTINGS[2],
    Setting::text("log.level", "log-level", &["HYPERFLEET_LOG_LEVEL"]),
    Setting::text("log.format", "log-format", &["HYPERFLEET_LOG_FORMAT"]),
    Setting::text("log.output", "log-output", &["HYPERFLEET_LOG_OUTPUT"]),
    Setting::text("health.listen", "health-server-bindaddress", &["HYPERFLEET_HEALTH_LISTEN"]),
    Setting::text("metrics.listen", "metrics-server-bindaddress", &["HYPERFLEET_METRICS_LISTEN"]),
];
