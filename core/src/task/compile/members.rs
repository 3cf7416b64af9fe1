//! The members of the variables that every event has.
//!
//! In goes a path of keys, out comes what is wrong with it: `adapter.nme` reads what never exists, and fails when it is asked.
//! Only members that no event could bring are told: `config` and `env` differ by deployment, and an event may carry more than
//! its sender promises.

use lifecycle_config::decode::suggest;

use super::names::Known;

/// The members of `adapter`.
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
/// What is known of a failure.
const FAILURE: [&str; 3] = ["message", "phase", "step"];
/// What is known of what became of a resource.
const OUTCOME: [&str; 3] = ["decision", "finalized", "reason"];
/// What every event says.
const EVENT: [&str; 5] = ["generation", "href", "id", "kind", "owner_references"];
const OWNER: [&str; 3] = ["href", "id", "kind"];

/// A member that does not exist, and what to write instead.
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) help: String,
}

/// What is wrong with a path of keys, if anything.
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
        // The event may carry more than every event does: what is told resembles one of those members.
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
