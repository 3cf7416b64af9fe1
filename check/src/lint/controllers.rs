//! Warns of manifests about what Kubernetes' own controllers remove or fill in: a finished Job with a time to live, which the next
//! event, or the agent of another cluster, creates again, and the rules of an aggregated role. A bundle remembers the first, and drops or
//! refuses the second.

use super::linter::Linter;
use crate::api_resource::{Facts, State};
use crate::manifests::{Role, WrittenObject};
use lifecycle_core::task::Task;
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_language::template::Part;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for object in linter.manifests().iter() {
        let (again, writes) = match object.role {
            Role::Member => continue,
            Role::Entry => (entry_runs_again(linter.task, object), "each write of the entry"),
            Role::Nested => (
                Some((
                    "the agent creates it again: a ManifestWork has no memory",
                    "remove the key, and delete the ManifestWork once the Job has served",
                )),
                "each write of the agent",
            ),
        };
        if let Some((effect, help)) = again.filter(|_| is_timed(object)) {
            let message = format!("{}Kubernetes deletes the Job once it has finished, and {effect}", object.subject());
            linter.warn(&object.at(linter.document, &"spec.ttlSecondsAfterFinished".into()), message, help.to_owned());
        }
        if fills_in_rules(object) {
            let message = format!(
                "{}belong to the controller that aggregates them: {writes} takes them away for a moment",
                object.subject()
            );
            let help = "remove `rules` beside `aggregationRule`".to_owned();
            linter.warn(&object.at(linter.document, &"rules".into()), message, help);
        }
    }
}

/// What happens to the Job of an entry, with the cure, if nothing but the Job's absence decides that it is created while the API
/// resource lives.
fn entry_runs_again(task: &Task, object: &WrittenObject<'_>) -> Option<(&'static str, &'static str)> {
    let (living, gates) = (Facts::of(task, State::Living), &object.resource.gates);
    let own = |name: &str| if name == object.resource.name { Presence::Absent } else { Presence::Unknown };
    let holds_back =
        |gate: &Expression| !living.as_ref().is_some_and(|facts| facts.possible(gate, &own).always_holds());
    let is_gated = [&gates.create, &gates.when].into_iter().flatten().any(holds_back);
    (!is_gated).then_some((
        "the next event creates it again: the entry has no memory",
        "give the entry `lifecycle: {create: {when: …}}` with a status of the API that says whether it has served, remove the key, or \
         put the Job into a bundle, which remembers it",
    ))
}

fn is_timed(object: &WrittenObject<'_>) -> bool {
    is(object, "batch", "Job") && has(object, &["spec", "ttlSecondsAfterFinished"])
}

fn fills_in_rules(object: &WrittenObject<'_>) -> bool {
    let is_role = is(object, "rbac.authorization.k8s.io", "ClusterRole");
    is_role && has(object, &["aggregationRule"]) && has(object, &["rules"])
}

fn is(object: &WrittenObject<'_>, group: &str, name: &str) -> bool {
    object.kind.as_ref().is_some_and(|kind| (&*kind.group, &*kind.kind) == (group, name))
}

fn has(object: &WrittenObject<'_>, keys: &[&str]) -> bool {
    !matches!(object.tree.part(keys), Part::Absent)
}
