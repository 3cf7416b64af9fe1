//! The Go adapter's dry-run flags of `serve`.
//!
//! In: the flags, and the configuration as `serve` finds it. Out: the world that they describe. Nothing is
//! required beyond the event: without answers the API says `200 {}` to everything, without discovery the store is empty.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_service::version::Version;

use super::canned_api::Answers;
use super::world::{Setting, World, configure};
use super::{DryRunError, input};
use crate::args::LegacyDryRun;
use crate::config::{Environment, Flags, Paths};

/// The flags, and what `serve` knows beside them.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The dry-run flags.
    pub flags: &'a LegacyDryRun,
    /// The configuration files.
    pub paths: &'a Paths,
    /// The environment of the process.
    pub environment: &'a Environment,
    /// The flags that set configuration keys.
    pub config_flags: &'a Flags,
    /// This build.
    pub version: &'a Version,
    /// The clock, for an event that has no time.
    pub now: Timestamp,
}

/// Makes the world that the flags describe.
///
/// # Errors
/// The configuration is refused, there is no event, or a file cannot be used.
pub fn load(request: &Request<'_>) -> Result<World, DryRunError> {
    let Request { flags, environment, version, .. } = request;
    let configured = configure(request.paths, environment, request.config_flags, version)?;
    let event_path = flags.event.clone().ok_or(DryRunError::NoEvent)?;
    let setting = Setting {
        event: input::read_event(&event_path)?,
        event_path,
        answers: flags.api_responses.as_deref().map_or_else(|| Ok(Answers::default()), input::read_answers)?,
        live: Vec::new(),
        overrides: flags.discovery.as_deref().map_or_else(|| Ok(BTreeMap::new()), input::read_overrides)?,
    };
    World::build(configured, environment, setting, request.now)
}
