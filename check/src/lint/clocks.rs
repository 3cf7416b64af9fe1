//! Warns of manifests of a bundle that show the time: each event renders another object, which the bundle writes again.
//!
//! An entry is written once for a generation, so its manifest may hold the time of that write. Its name may not, where discovery
//! looks for it.

use lifecycle_bundle::policy::{Policy as _, Reconcile};
use lifecycle_config::document::Path;
use lifecycle_core::task::{CaptureSource, Manifest, ParamSource, Resource, Task};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::{Part, Template, Tree};

use super::linter::{Linter, resources};
use super::secrets::manifests;

/// How many params a chain of params over params can have.
const MAX_DEPTH: usize = 8;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        if resource.bundle.as_ref().is_none_or(|bundle| bundle.policies.reconcile == Reconcile::Once) {
            continue;
        }
        for (at, manifest) in manifests(&path, resource) {
            let trees = manifest.structures();
            let moving = match manifest {
                Manifest::Text(template) if trees.is_empty() => {
                    let is_certain = !template.source().contains("reconcile-policy") && !decides(template);
                    (is_certain && shows(linter.task, template)).then_some(template)
                }
                Manifest::Text(_) | Manifest::Inline(_) => {
                    let repeated = trees.iter().filter(|tree| !is_once(resource, tree));
                    let mut templates = repeated.flat_map(|tree| tree.templates());
                    templates.find(|template| !decides(template) && shows(linter.task, template))
                }
            };
            if let Some(template) = moving {
                warn(linter, &at, template);
            }
        }
    }
}

fn warn(linter: &mut Linter<'_>, at: &Path, template: &Template) {
    let source = template.source().trim();
    let shown = if source.contains('\n') { String::new() } else { format!(" in `{source}`") };
    let message =
        format!("shows the time{shown}, which each event changes: the bundle writes the object at every event");
    let help = "take a time of the API, such as `cluster.updated_time`, or write the object once, by the policy `reconcile: once`";
    linter.warn(at, message, help.to_owned());
}

/// Whether the annotations of an object say that it is written once.
fn is_once(resource: &Resource, tree: &Tree) -> bool {
    let prefix = resource.bundle.as_ref().map_or("", |bundle| bundle.prefix.as_str());
    match tree.part(&["metadata", "annotations", &format!("{prefix}/reconcile-policy")]) {
        Part::Literal(written) => {
            written.as_str().is_some_and(|word| matches!(Reconcile::parse(word), Ok(Some(Reconcile::Once))))
        }
        Part::Template(_) | Part::Uncertain => true,
        Part::Absent => false,
    }
}

/// Whether the time can be in a condition of the template, rather than in its text.
fn decides(template: &Template) -> bool {
    template.has_branch() && template.reads_clock()
        || template.branches().iter().any(|branch| branch.reads.contains("now"))
}

/// Whether each event that renders a template gets another text, because the text shows the time to the second.
pub(super) fn shows(task: &Task, template: &Template) -> bool {
    let is_time = |path: &String| is_time(task, path, MAX_DEPTH);
    (template.reads_clock() || template.variables().iter().any(is_time)) && !is_coarse(template.source())
}

/// Whether a template prints its times by a layout without seconds.
fn is_coarse(source: &str) -> bool {
    let mut layouts = source.split("date").skip(1).filter_map(|rest| rest.split(['"', '`']).nth(1)).peekable();
    layouts.peek().is_some() && !layouts.any(|layout| layout.contains("05"))
}

/// Whether a variable is the time of the event.
fn is_time(task: &Task, path: &str, depth: usize) -> bool {
    if task.times_set(path) == 0 {
        return path == "now";
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let of = |expression: &Expression| {
        expression.shows_clock() || expression.is_path() && is_time(task, expression.source(), depth)
    };
    let mut params = task.params.iter().filter(|param| param.name == path);
    let captures = task.preconditions.iter().flat_map(|precondition| &precondition.captures);
    params.any(|param| match &param.source {
        ParamSource::Expression(expression) => of(expression),
        ParamSource::Path(source) => task.times_set(source) > 0 && is_time(task, source, depth),
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::ApiCall(_)
        | ParamSource::File { .. } => false,
    }) || captures.filter(|capture| capture.name == path).any(|capture| match &capture.source {
        CaptureSource::Expression(expression) => of(expression),
        CaptureSource::Field(_) => false,
    })
}
