//! Resolves `clients.maestro`, and matches it with the task.
//!
//! In: the block of the deployment file, and the task's transports. Out: the client's settings. Warns of what
//! the Go adapter refuses when it builds its client; of a task that needs Maestro without the block; and of a block that no
//! resource needs.

use std::time::Duration;

use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::Resolver;
use lifecycle_core::task::{Task, TransportKind};
use lifecycle_maestro::Settings;
use lifecycle_maestro::config::spec::MaestroSpec;
use lifecycle_maestro::config::{self, Place};

use super::AdapterConfig;

/// The client of Maestro.
#[derive(Debug)]
pub struct MaestroConfig {
    /// The client's settings, as far as the block has them.
    pub settings: Settings,
    /// Why `serve` cannot build the client. Only warnings: a dry run needs no Maestro, and variables of a deployment often
    /// complete the block.
    pub faults: Vec<String>,
    /// How long an agent may leave a write unobserved before it is sent again; none: for ever.
    pub resend_after: Option<Duration>,
}

/// How long an agent may leave a write unobserved, unless the block says it: an agent reports within seconds, and Maestro's
/// own broker reconnects within a minute.
const RESEND_AFTER: Duration = Duration::from_secs(120);

/// Where the block stands. Its faults are warnings.
const PLACE: Place =
    Place { key: "clients.maestro", severity: Severity::Warning, consequence: ": `serve` does not start" };

/// Fills in the defaults.
pub(super) fn resolve(r: &mut Resolver<'_>, spec: &MaestroSpec) -> MaestroConfig {
    let (settings, faults) = config::resolve(r, PLACE, spec);
    MaestroConfig { settings, faults, resend_after: resend_after(r, spec.resend_after.as_deref()) }
}

fn resend_after(r: &mut Resolver<'_>, text: Option<&str>) -> Option<Duration> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Some(RESEND_AFTER) };
    let parsed = parse_nanoseconds(text, Units::Go).ok().and_then(|parsed| u64::try_from(parsed).ok());
    let Some(nanoseconds) = parsed else {
        let message = format!("\"{text}\" is no duration");
        r.report(
            Severity::Error,
            "clients.maestro.resend_after",
            message,
            Some("write it as in `2m`; `0s` turns it off"),
        );
        return Some(RESEND_AFTER);
    };
    (nanoseconds > 0).then_some(Duration::from_nanos(nanoseconds))
}

/// How long the task's works may stay unobserved.
pub(super) fn resend_after_of(adapter: &AdapterConfig) -> Option<Duration> {
    adapter.maestro.as_ref().map_or(Some(RESEND_AFTER), |maestro| maestro.resend_after)
}

/// Compares what the deployment file has with what the task needs.
pub(super) fn match_with_task(adapter: &AdapterConfig, task: &Task, file: &str, diagnostics: &mut Diagnostics) {
    let mut remote = task.resources.iter().filter(|it| matches!(it.transport, TransportKind::Maestro { .. }));
    let (message, help) = match (&adapter.maestro, remote.next()) {
        (Some(_), Some(_)) | (None, None) => return,
        (None, Some(resource)) => (
            format!("is missing, and resource `{}` uses the maestro transport: `serve` does not start", resource.name),
            "add it with `grpc_server_address`, `http_server_address` and `source_id`",
        ),
        (Some(_), None) => (
            "is not used: no resource of the task has `transport.client: maestro`".to_owned(),
            "the Go adapter would send every resource to Maestro: set the transport of those that it means, or remove the block",
        ),
    };
    let found = Diagnostic::outside(file, "clients.maestro", message, Some(help.to_owned()));
    diagnostics.push(found.as_severity(Severity::Warning));
}
