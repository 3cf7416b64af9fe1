//! Applies defaults, parses units, and checks rules that the JSON Schema cannot express.

use std::time::Duration;

use lifecycle_config::settings::Resolver;
use lifecycle_service::logging::Output;
use lifecycle_service::settings;

use super::spec::ExporterSpec;
use super::{Config, DetailsConfig, Environment};

mod database;
mod kinds;

use database::database;
use kinds::kinds;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// The bounds of the age histogram, in seconds, from one minute to one week.
pub const AGE_BUCKETS: [f64; 10] = [60.0, 300.0, 600.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0, 86400.0, 604_800.0];
const MAX_RESOURCES: u32 = 10_000;
/// The longest `metrics.scrape_timeout`: a statement that runs longer would load the database without limit.
const LONGEST_SCRAPE: Duration = Duration::from_secs(3600);

/// Checks the values and applies the defaults; `None` if the database's address is invalid.
pub(super) fn resolve(spec: ExporterSpec, mut resolver: Resolver<'_>, environment: &Environment) -> Option<Config> {
    let r = &mut resolver;
    let stuck_after = r.duration(
        "metrics.reconciliation_stuck_threshold",
        spec.metrics.reconciliation_stuck_threshold.as_deref(),
        10 * MINUTE,
    );
    let stuck_access = settings::access(r, "stuck", spec.stuck.token_file.as_deref(), spec.stuck.anonymous);
    let log = settings::log(r, &spec.log, Output::Stderr);
    let kinds = kinds(r, &spec, stuck_after);
    let (health, metrics, details) = (&spec.health, &spec.metrics, &spec.details);
    let health_listen = settings::health_listen(r, health.listen.as_deref());
    let metrics_listen = settings::metrics_listen(r, metrics.listen.as_deref());
    let scrape_timeout = r.duration("metrics.scrape_timeout", metrics.scrape_timeout.as_deref(), 8 * SECOND);
    if scrape_timeout > LONGEST_SCRAPE {
        r.error("metrics.scrape_timeout", "is longer than an hour", "write a duration such as 8s");
    }
    let details = DetailsConfig {
        interval: r.duration("details.interval", details.interval.as_deref(), 2 * MINUTE),
        max_resources: r.within("details.max_resources", details.max_resources, 2000, &(1..=MAX_RESOURCES)),
    };
    if details.interval < SECOND {
        r.error("details.interval", "is too short", "write at least 1s");
    }
    // Last, because `?` returns here, and the other diagnostics must be collected before.
    let database = database(r, &spec.database, scrape_timeout, environment)?;
    Some(Config { log, database, health_listen, metrics_listen, scrape_timeout, details, stuck_access, kinds })
}

/// Converts a choice to lower case: users may write `INFO` or `info`.
fn lower(text: &Option<String>) -> Option<String> {
    text.as_deref().map(str::to_lowercase)
}
