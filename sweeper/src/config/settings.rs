//! The flags and environment variables that set keys of the configuration file.

use lifecycle_config::decode::Typing;
use lifecycle_config::settings::{Derived, FileName, Setting, Table};

/// The flag and the variable that name the configuration file.
pub const FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_SWEEPER_CONFIG" };

/// The sweeper's table of flags and variables, by which the loader merges its configuration.
pub const SWEEPER: Table = Table { settings: SETTINGS, derived: Derived::None, typing: Typing::Strict };

/// Flags and variables. Those that the other programs also have, have the same names there.
const SETTINGS: &[Setting] = &[
    Setting::switch("dry_run", "dry-run", &["HYPERFLEET_SWEEPER_DRY_RUN"]),
    Setting::text("interval", "interval", &["HYPERFLEET_SWEEPER_INTERVAL"]),
    Setting::text("grace", "grace", &["HYPERFLEET_SWEEPER_GRACE"]),
    Setting::text("min_age", "min-age", &["HYPERFLEET_SWEEPER_MIN_AGE"]),
    Setting::text("limits.objects", "limit-objects", &["HYPERFLEET_SWEEPER_LIMIT_OBJECTS"]),
    Setting::text("limits.percent", "limit-percent", &["HYPERFLEET_SWEEPER_LIMIT_PERCENT"]),
    Setting::text("api.base_url", "hyperfleet-api-base-url", &["HYPERFLEET_API_BASE_URL"]),
    Setting::text("api.token_file", "hyperfleet-api-token-file", &["HYPERFLEET_API_TOKEN_FILE"]),
    Setting::text("api.auth_scheme", "hyperfleet-api-auth-scheme", &["HYPERFLEET_API_AUTH_SCHEME"]),
    Setting::text("kubernetes.kubeconfig", "kubeconfig", &["KUBECONFIG"]),
    Setting::text("lease.namespace", "lease-namespace", &["HYPERFLEET_SWEEPER_LEASE_NAMESPACE"]),
    Setting::text("lease.name", "lease-name", &["HYPERFLEET_SWEEPER_LEASE_NAME"]),
    Setting::text("audit.file", "audit-file", &["HYPERFLEET_SWEEPER_AUDIT_FILE"]),
    Setting::text("plan.token_file", "plan-token-file", &["HYPERFLEET_SWEEPER_PLAN_TOKEN_FILE"]),
    Setting::text("log.level", "log-level", &["HYPERFLEET_LOG_LEVEL"]),
    Setting::text("log.format", "log-format", &["HYPERFLEET_LOG_FORMAT"]),
    Setting::text("log.output", "log-output", &["HYPERFLEET_LOG_OUTPUT"]),
    Setting::text("health.listen", "health-listen", &["HYPERFLEET_HEALTH_LISTEN"]),
    Setting::text("metrics.listen", "metrics-listen", &["HYPERFLEET_METRICS_LISTEN"]),
];
