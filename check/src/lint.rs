//! Lints: warnings of `check` about a task that compiles and probably does not do what its author means.
//!
//! In: a compiled [`Task`], and the [`Document`] that it was compiled from, for places. Out: diagnostics, each
//! with its cure, such as gates that cannot hold, objects that their own discovery does not find, names that
//! Kubernetes rejects, and statuses that the API rejects. A lint warns only if no event can prove the warning
//! wrong. A report that the API rejects on every event is an error. Fails: nothing; `serve` loads the task
//! whatever the lints find.

mod adoption;
mod answer_fields;
mod api_away;
mod bare_objects;
mod clocks;
mod cluster_scoped_namespaces;
mod comparisons;
mod conditional_members;
mod controllers;
mod credentials;
mod defaulted_names;
mod deletion_order;
mod deletions;
mod dependents;
mod discovery;
mod discovery_reads;
mod disowning;
mod ended_deletions;
mod ended_reports;
mod gate;
mod gates;
mod gone_first;
mod kept_objects;
mod known_kinds;
mod labels;
mod linter;
mod literals;
mod lost_data;
mod names;
mod namespaces;
mod nested;
mod objects_gone;
mod operators;
mod outlives;
mod owners;
mod patches;
mod quantities;
mod readiness;
mod ready_rules;
mod reported;
mod reports;
mod secrets;
mod selectors;
mod server_set;
mod set_twice;
mod status;
mod success_only;
mod unguarded;
mod unobserved;
mod unread_policies;
mod variation;
mod versions;
mod waits_for_nothing;

pub use comparisons::mismatches;

use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_core::task::Task;

use linter::Linter;

/// The lints of every task.
const LINTS: [fn(&mut Linter<'_>); 39] = [
    gates::lint,
    deletions::lint,
    ended_deletions::lint,
    gone_first::lint,
    comparisons::lint,
    answer_fields::lint,
    quantities::lint,
    server_set::lint,
    adoption::lint,
    disowning::lint,
    patches::lint,
    bare_objects::lint,
    waits_for_nothing::lint,
    discovery::lint,
    discovery_reads::lint,
    names::lint,
    namespaces::lint,
    labels::lint,
    known_kinds::lint,
    controllers::lint,
    versions::lint,
    owners::lint,
    nested::lint,
    kept_objects::lint,
    operators::lint,
    dependents::lint,
    outlives::lint,
    cluster_scoped_namespaces::lint,
    ready_rules::lint,
    selectors::lint,
    secrets::lint,
    credentials::lint,
    api_away::lint,
    set_twice::lint,
    lost_data::lint,
    unread_policies::lint,
    defaulted_names::lint,
    conditional_members::lint,
    clocks::lint,
];

/// The lints of a task that sends something.
const OF_REPORTS: [fn(&mut Linter<'_>); 6] =
    [reports::lint_unmet, status::lint, objects_gone::lint, ended_reports::lint, success_only::lint, unguarded::lint];

/// Runs every lint on a task; `document` is the file that the task was compiled from.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut linter = Linter::new(task, document);
    LINTS.iter().for_each(|lint| lint(&mut linter));
    if reports::anything_is_sent(&mut linter) {
        OF_REPORTS.iter().for_each(|lint| lint(&mut linter));
    }
    linter.diagnostics.sort();
    linter.diagnostics
}

#[cfg(test)]
mod tests;
