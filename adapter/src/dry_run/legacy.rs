//! The Go adapter's dry-run flags of `serve`.
//!
//! In: the flags, and the configuration that `serve` would load. Out: a [`World`]. Only the event is required:
//! the API responds `200 {}` to every call without a canned answer, and without discovery objects the store is
//! empty.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_service::version::Version;

use super::canned_api::{Answers, Unmatched};
use super::fakes::{Setting, World, configure};
use super::{DryRunError, input};
use crate::args::LegacyDryRun;
use crate::config::{Environment, Flags, Paths};

/// The dry-run flags, and the configuration of `serve`.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The values of the flags `--dry-run-event`, `--dry-run-api-responses` and the like.
    pub flags: &'a LegacyDryRun,
    /// The paths of the configuration files.
    pub paths: &'a Paths,
    /// The environment variables of the process, which the configuration and the task's params read.
    pub environment: &'a Environment,
    /// The flags that set configuration keys.
    pub config_flags: &'a Flags,
    /// The version of this program.
    pub version: &'a Version,
    /// The clock for an event without a time.
    pub now: Timestamp,
}

/// Builds the world that the flags describe.
///
/// # Errors
/// The configuration has errors, the flags name no event, or a file cannot be used.
pub fn load(request: &Request<'_>) -> Result<World, DryRunError> {
    let Request { flags, environment, version, .. } = request;
    let configured = configure(request.paths, environment, request.config_flags, version)?;
    let event_path = flags.event.clone().ok_or(DryRunError::NoEvent)?;
    let setting = Setting {
        event: input::read_event(&event_path)?,
        event_path,
        answers: flags.api_responses.as_deref().map_or_else(|| Ok(Answers::default()), input::read_answers)?,
        unmatched: Unmatched::AsTheGoAdapter,
        live: Vec::new(),
        overrides: flags.discovery.as_deref().map_or_else(|| Ok(BTreeMap::new()), input::read_overrides)?,
    };
    World::build(configured, environment, setting, request.now)
}
