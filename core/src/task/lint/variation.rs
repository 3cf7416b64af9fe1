//! What a template's text can depend on, as far as the task tells.

use std::collections::BTreeSet;

use super::Task;
use crate::task::ParamSource;
use crate::template::Template;

/// What can make two renderings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variation {
    /// How the adapter is deployed: its configuration and environment.
    Deployment,
    /// Which API resource the event is about.
    Resource,
    /// Anything else: the event, the time, what the API or the cluster says.
    Event,
}

/// How deep params may be taken from params.
const MAX_DEPTH: usize = 8;

/// What can make two renderings of a template differ; nothing, if it is the same text each time.
pub(super) fn variations(task: &Task, template: &Template) -> BTreeSet<Variation> {
    if template.reads_root() || template.reads_clock() {
        return BTreeSet::from([Variation::Event]);
    }
    let paths = template.variables().iter();
    paths.flat_map(|path| of_path(task, path, MAX_DEPTH)).collect()
}

fn of_path(task: &Task, path: &str, depth: usize) -> BTreeSet<Variation> {
    let segments: Vec<&str> = path.split('.').filter(|segment| !segment.is_empty()).collect();
    let one = |variation| BTreeSet::from([variation]);
    match segments.as_slice() {
        // A task is written for one kind, by one adapter.
        ["event", "kind"] | ["adapter", "name"] => BTreeSet::new(),
        ["event", "id"] => one(Variation::Resource),
        ["config" | "env", ..] | ["adapter", "version"] => one(Variation::Deployment),
        [name, ..] if depth > 0 && is_param_only(task, name) => {
            let sources = task.params.iter().filter(|param| param.name == *name).map(|param| &param.source);
            sources.flat_map(|source| of_source(task, source, depth - 1)).collect()
        }
        _ => one(Variation::Event),
    }
}

fn of_source(task: &Task, source: &ParamSource, depth: usize) -> BTreeSet<Variation> {
    match source {
        ParamSource::Environment(_) | ParamSource::Config(_) => BTreeSet::from([Variation::Deployment]),
        ParamSource::Event(path) => of_path(task, &format!("event.{path}"), depth),
        ParamSource::Path(path) => {
            let first = path.split('.').next().unwrap_or_default();
            let is_param = task.params.iter().any(|param| param.name == first);
            if is_param { of_path(task, path, depth) } else { of_path(task, &format!("event.{path}"), depth) }
        }
        ParamSource::ApiCall(_) | ParamSource::Expression(_) | ParamSource::File { .. } => {
            BTreeSet::from([Variation::Event])
        }
    }
}

/// Whether a variable is set by params and by nothing else.
fn is_param_only(task: &Task, name: &str) -> bool {
    let elsewhere = task.preconditions.iter().any(|precondition| {
        precondition.name == name || precondition.captures.iter().any(|capture| capture.name == name)
    });
    !elsewhere
        && task.params.iter().any(|param| param.name == name)
        && !task.payloads.iter().any(|payload| payload.name == name)
}
