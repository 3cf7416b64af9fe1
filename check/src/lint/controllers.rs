//! Warns of manifests about what Kubernetes' own controllers remove or fill in: a finished Job with a time to live, which the next
//! event creates again, and the rules of an aggregated role. A bundle remembers the first, and drops or refuses the second.

use super::{Linter, resources};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::task::Resource;
use lifecycle_language::template::Part;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let entries = resources(linter.task).filter(|(_, resource)| resource.bundle.is_none());
    for (path, resource) in entries.collect::<Vec<_>>() {
        let manifest = path.key("manifest");
        if runs_again(resource) {
            let place = linter.place_or(manifest.key("spec").key("ttlSecondsAfterFinished"), &manifest);
            let message = "Kubernetes deletes the Job once it has finished, and the next event creates it again: the entry has no memory"
                .to_owned();
            let help = "give the entry `lifecycle: {create: {when: …}}` with a status of the API that says whether it has served, remove \
                        the key, or put the Job into a bundle, which remembers it";
            linter.warn(&place, message, help.to_owned());
        }
        if fills_in_rules(resource) {
            let place = linter.place_or(manifest.key("rules"), &manifest);
            let message =
                "belong to the controller that aggregates them: each write of the entry takes them away for a moment";
            linter.warn(&place, message.to_owned(), "remove `rules` beside `aggregationRule`".to_owned());
        }
    }
}

fn is(kind: &GroupVersionKind, group: &str, name: &str) -> bool {
    (&*kind.group, &*kind.kind) == (group, name)
}

fn has(resource: &Resource, keys: &[&str]) -> bool {
    resource.manifest.structure().is_some_and(|manifest| !matches!(manifest.part(keys), Part::Absent))
}

/// Whether nothing but the Job's absence decides that it is created.
fn runs_again(resource: &Resource) -> bool {
    let is_gated = resource.gates.create.is_some() || resource.gates.when.is_some();
    is(&resource.kind, "batch", "Job") && !is_gated && has(resource, &["spec", "ttlSecondsAfterFinished"])
}

fn fills_in_rules(resource: &Resource) -> bool {
    let is_role = is(&resource.kind, "rbac.authorization.k8s.io", "ClusterRole");
    is_role && has(resource, &["aggregationRule"]) && has(resource, &["rules"])
}
