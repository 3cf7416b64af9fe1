//! Warns of members of the built-in variables that never exist.
//!
//! In: a path of keys that an expression, template or `field` reads. Out: a warning and its cure, if no event
//! can have that member, as in `adapter.nme`. Never judges `config` and `env`, which differ by deployment,
//! and judges `event` only by likeness, because an event may have more members than the API promises.

use lifecycle_config::decode::suggest;

use super::names::Known;

/// The members of the task variable `adapter`.
const ADAPTER: [&str; 10] = [
    "errorMessage",
    "errorReason",
    "executionError",
    "executionStatus",
    "name",
    "outcomes",
    "resourceErrors",
    "resourcesSkipped",
    "skipReason",
    "version",
];
/// The members of `adapter.executionError` and of each error in `adapter.resourceErrors`.
const FAILURE: [&str; 3] = ["message", "phase", "step"];
/// The members of a resource's outcome.
const OUTCOME: [&str; 3] = ["decision", "finalized", "reason"];
/// The members of every event.
const EVENT: [&str; 5] = ["generation", "href", "id", "kind", "owner_references"];
const OWNER: [&str; 3] = ["href", "id", "kind"];

/// The warning for a member that does not exist, with its cure.
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) help: String,
}

/// Returns the warning for a path of keys, if it reads a member that never exists.
pub(super) fn unknown(path: &[&str], known: &Known) -> Option<Unknown> {
    match path {
        ["adapter", member, ..] if !ADAPTER.contains(member) => Some(never("adapter", member, &ADAPTER)),
        ["adapter", "executionError", member, ..] => among("adapter.executionError", member, &FAILURE),
        ["adapter", of @ ("outcomes" | "resourceErrors"), entry, ..] if !known.has_entry(entry) => {
            let entries = known.entries();
            Some(Unknown {
                message: format!("`adapter.{of}.{entry}` never exists: no resource has that name"),
                help: suggestion(entry, &entries),
            })
        }
        ["adapter", "outcomes", entry, member, ..] => among(&format!("adapter.outcomes.{entry}"), member, &OUTCOME),
        ["adapter", "resourceErrors", entry, member, ..] => {
            among(&format!("adapter.resourceErrors.{entry}"), member, &FAILURE)
        }
        ["event", "owner_references", member, ..] => among("event.owner_references", member, &OWNER),
        // Events may have more members, so warn only of one that resembles a known member.
        ["event", member, ..] if !EVENT.contains(member) => suggest(member, &EVENT).map(|similar| Unknown {
            message: format!("`event.{member}` is no member of an event of the API"),
            help: format!("write `event.{similar}`"),
        }),
        _ => None,
    }
}

fn among(object: &str, member: &str, members: &[&str]) -> Option<Unknown> {
    (!members.contains(&member)).then(|| never(object, member, members))
}

fn never(object: &str, member: &str, members: &[&str]) -> Unknown {
    Unknown { message: format!("`{object}.{member}` never exists"), help: suggestion(member, members) }
}

fn suggestion(written: &str, known: &[&str]) -> String {
    match suggest(written, known) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None if known.is_empty() => "the task has no resource".to_owned(),
        None => {
            let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("write one of {}", known.join(", "))
        }
    }
}
