//! The tables of flags and environment variables that set configuration keys.

use lifecycle_config::decode::Typing;
use lifecycle_config::settings::{Derived, FileName, Setting, Table};

/// The flag and the variable that name the deployment file.
pub const ADAPTER_FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_ADAPTER_CONFIG" };
/// The flag and the variable that name the task file.
pub const TASK_FILE: FileName = FileName { flag: "task-config", short: 't', variable: "HYPERFLEET_TASK_CONFIG" };

/// Sets keys of the deployment file by flag or variable.
pub const DEPLOYMENT: Table = Table {
    settings: SETTINGS,
    // A variable such as `HYPERFLEET_CLIENTS_BROKER_TOPIC` overrides a key that the file contains, because the
    // Go adapter's configuration library does the same.
    derived: Derived::OfKeysInFile("HYPERFLEET"),
    typing: Typing::Weak,
};

/// Sets keys of the broker's file by variables that are named after the key, such as `BROKER_TYPE`.
pub const BROKER: Table = Table { settings: &[], derived: Derived::OfEveryKey, typing: Typing::Weak };

/// The Go adapter's flags and variables.
const SETTINGS: &[Setting] = &[
    Setting::switch("debug_config", "debug-config", &["HYPERFLEET_DEBUG_CONFIG"]),
    Setting::text("log.level", "log-level", &["LOG_LEVEL"]).lower_case(),
    Setting::text("log.format", "log-format", &["LOG_FORMAT"]).lower_case(),
    Setting::text("log.output", "log-output", &["LOG_OUTPUT"]),
    Setting::text(
        "clients.maestro.grpc_server_address",
        "maestro-grpc-server-address",
        &["HYPERFLEET_MAESTRO_GRPC_SERVER_ADDRESS"],
    ),
    Setting::text(
        "clients.maestro.http_server_address",
        "maestro-http-server-address",
        &["HYPERFLEET_MAESTRO_HTTP_SERVER_ADDRESS"],
    ),
    Setting::text("clients.maestro.source_id", "maestro-source-id", &["HYPERFLEET_MAESTRO_SOURCE_ID"]),
    Setting::text("clients.maestro.client_id", "maestro-client-id", &["HYPERFLEET_MAESTRO_CLIENT_ID"]),
    Setting::text("clients.maestro.auth.type", "maestro-auth-type", &["HYPERFLEET_MAESTRO_AUTH_TYPE"]),
    Setting::text("clients.maestro.auth.tls_config.ca_file", "maestro-ca-file", &["HYPERFLEET_MAESTRO_CA_FILE"]),
    Setting::text("clients.maestro.auth.tls_config.cert_file", "maestro-cert-file", &["HYPERFLEET_MAESTRO_CERT_FILE"]),
    Setting::text("clients.maestro.auth.tls_config.key_file", "maestro-key-file", &["HYPERFLEET_MAESTRO_KEY_FILE"]),
    Setting::text(
        "clients.maestro.auth.tls_config.http_ca_file",
        "maestro-http-ca-file",
        &["HYPERFLEET_MAESTRO_HTTP_CA_FILE"],
    ),
    Setting::text("clients.maestro.auth.token_file", "maestro-token-file", &["HYPERFLEET_MAESTRO_TOKEN_FILE"]),
    Setting::text("clients.maestro.timeout", "maestro-timeout", &["HYPERFLEET_MAESTRO_TIMEOUT"]),
    Setting::text("clients.maestro.resend_after", "maestro-resend-after", &["HYPERFLEET_MAESTRO_RESEND_AFTER"]),
    Setting::text(
        "clients.maestro.server_healthiness_timeout",
        "maestro-server-healthiness-timeout",
        &["HYPERFLEET_MAESTRO_SERVER_HEALTHINESS_TIMEOUT"],
    ),
    Setting::text("clients.maestro.retry_attempts", "maestro-retry-attempts", &["HYPERFLEET_MAESTRO_RETRY_ATTEMPTS"]),
    Setting::text("clients.maestro.keepalive.time", "maestro-keepalive-time", &["HYPERFLEET_MAESTRO_KEEPALIVE_TIME"]),
    Setting::text(
        "clients.maestro.keepalive.timeout",
        "maestro-keepalive-timeout",
        &["HYPERFLEET_MAESTRO_KEEPALIVE_TIMEOUT"],
    ),
    Setting::switch("clients.maestro.insecure", "maestro-insecure", &["HYPERFLEET_MAESTRO_INSECURE"]),
    Setting::text("clients.hyperfleet_api.base_url", "hyperfleet-api-base-url", &["HYPERFLEET_API_BASE_URL"]),
    Setting::text("clients.hyperfleet_api.version", "hyperfleet-api-version", &["HYPERFLEET_API_VERSION"]),
    Setting::text("clients.hyperfleet_api.timeout", "hyperfleet-api-timeout", &["HYPERFLEET_API_TIMEOUT"]),
    Setting::text("clients.hyperfleet_api.retry_attempts", "hyperfleet-api-retry", &["HYPERFLEET_API_RETRY_ATTEMPTS"]),
    Setting::text(
        "clients.hyperfleet_api.retry_backoff",
        "hyperfleet-api-retry-backoff",
        &["HYPERFLEET_API_RETRY_BACKOFF"],
    ),
    Setting::text("clients.hyperfleet_api.base_delay", "hyperfleet-api-base-delay", &["HYPERFLEET_API_BASE_DELAY"]),
    Setting::text("clients.hyperfleet_api.max_delay", "hyperfleet-api-max-delay", &["HYPERFLEET_API_MAX_DELAY"]),
    Setting::variable("clients.hyperfleet_api.auth.token_path", &["HYPERFLEET_API_AUTH_TOKEN_PATH"]),
    Setting::variable("clients.hyperfleet_api.auth.token_cache_ttl", &["HYPERFLEET_API_AUTH_TOKEN_CACHE_TTL"]),
    Setting::variable("clients.hyperfleet_api.auth.scheme", &["HYPERFLEET_API_AUTH_SCHEME"]),
    Setting::text(
        "clients.broker.subscription_id",
        "broker-subscription-id",
        &["HYPERFLEET_BROKER_SUBSCRIPTION_ID", "BROKER_SUBSCRIPTION_ID"],
    ),
    Setting::text("clients.broker.topic", "broker-topic", &["HYPERFLEET_BROKER_TOPIC", "BROKER_TOPIC"]),
    Setting::text(
        "clients.kubernetes.kube_config_path",
        "kubernetes-kube-config-path",
        &["HYPERFLEET_KUBERNETES_KUBE_CONFIG_PATH"],
    ),
    Setting::text("clients.kubernetes.api_version", "kubernetes-api-version", &["HYPERFLEET_KUBERNETES_API_VERSION"]),
    Setting::text("clients.kubernetes.qps", "kubernetes-qps", &["HYPERFLEET_KUBERNETES_QPS"]),
    Setting::text("clients.kubernetes.burst", "kubernetes-burst", &["HYPERFLEET_KUBERNETES_BURST"]),
    // Keys of this adapter only. The variables are those of the other programs, and no variable of the Go adapter.
    Setting::variable("signing.key_file", &["HYPERFLEET_SIGNING_KEY_FILE"]),
    Setting::variable("passes.token_file", &["HYPERFLEET_PASSES_TOKEN_FILE"]),
    Setting::text("workers", "workers", &["HYPERFLEET_WORKERS"]),
    Setting::text("health.listen", "health-listen", &["HYPERFLEET_HEALTH_LISTEN"]),
    Setting::text("metrics.listen", "metrics-listen", &["HYPERFLEET_METRICS_LISTEN"]),
];
