//! Finds out whether a template renders to the same text for every event, every API resource or every deployment.

use std::collections::BTreeSet;

use lifecycle_core::task::ParamSource;
use lifecycle_core::task::Task;
use lifecycle_language::template::Template;

/// A reason for which a template can render to another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variation {
    /// Another deployment: the adapter's configuration and environment.
    Deployment,
    /// Another API resource, whose id or other fields the template reads.
    Resource,
    /// Another event: its data, the time, and answers of the API and the cluster.
    Event,
}

/// How many params a chain of params over params can have; a longer one counts as different on every event.
const MAX_DEPTH: usize = 8;

/// The reasons for which a template can render to another text; none if the text is always the same.
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
        // One adapter runs a task, for one kind of API resource.
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

/// Whether only params set a variable.
fn is_param_only(task: &Task, name: &str) -> bool {
    let params = task.params.iter().filter(|param| param.name == name).count();
    params > 0 && params == task.times_set(name) && !task.payloads.iter().any(|payload| payload.name == name)
}
