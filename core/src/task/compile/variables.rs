//! Warns of members of the built-in variables that never exist.
//!
//! In: a path of keys that an expression, template or `field` reads. Out: a warning and its cure, if no event
//! can have that member, as in `adapter.nme`. Never judges `env`, which differs by deployment, and judges
//! `event` only by likeness, because an event may have more members than the API promises.

use lifecycle_config::decode::suggest;

use super::names::Known;

/// The members of the task variable `adapter`.
const ADAPTER: [&str; 12] = [
    "conditions",
    "errorMessage",
    "errorReason",
    "executionError",
    "executionStatus",
    "name",
    "outcomes",
    "paramErrors",
    "resourceErrors",
    "resourcesSkipped",
    "skipReason",
    "version",
];
/// The members of `adapter.executionError` and of each error in `adapter.paramErrors` and
/// `adapter.resourceErrors`.
const FAILURE: [&str; 3] = ["message", "phase", "step"];
/// The members of a resource's outcome.
const OUTCOME: [&str; 3] = ["decision", "finalized", "reason"];
/// The members of every event.
pub(super) const EVENT: [&str; 5] = ["generation", "href", "id", "kind", "owner_references"];
const OWNER: [&str; 3] = ["href", "id", "kind"];
/// The members of `config`, the deployment file, for each of its mappings that has fixed keys; the first is the
/// file itself. A test of the adapter compares them with the file's schema.
pub const CONFIG: [(&str, &[&str]); 15] = [
    (
        "",
        &[
            "adapter",
            "clients",
            "debug_config",
            "event_deadline",
            "health",
            "inputs",
            "log",
            "metrics",
            "passes",
            "shutdown_grace",
            "signing",
            "stamp",
            "workers",
        ],
    ),
    ("adapter", &["name", "version"]),
    ("clients", &["broker", "hyperfleet_api", "kubernetes", "maestro"]),
    ("clients.broker", &["subscription_id", "topic"]),
    (
        "clients.hyperfleet_api",
        &[
            "auth",
            "base_delay",
            "base_url",
            "default_headers",
            "max_delay",
            "retry_attempts",
            "retry_backoff",
            "timeout",
            "version",
        ],
    ),
    ("clients.hyperfleet_api.auth", &["scheme", "token_cache_ttl", "token_path"]),
    ("clients.kubernetes", &["api_version", "burst", "kube_config_path", "qps"]),
    ("health", &["listen"]),
    ("inputs", &["http"]),
    ("inputs.http", &["listen"]),
    ("log", &["format", "level", "output"]),
    ("metrics", &["listen"]),
    ("passes", &["anonymous", "keep", "max_bytes", "token_file"]),
    ("signing", &["key_file"]),
    ("stamp", &["resource_id"]),
];

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
        ["adapter", "conditions", entry, ..] if !known.bundles().contains(entry) => Some(Unknown {
            message: format!("`adapter.conditions.{entry}` never exists: no bundle has that name"),
            help: match known.bundles().as_slice() {
                [] => "only an entry with `bundle` has conditions of its own".to_owned(),
                bundles => suggestion(entry, bundles),
            },
        }),
        ["adapter", "outcomes", entry, member, ..] => among(&format!("adapter.outcomes.{entry}"), member, &OUTCOME),
        ["adapter", of @ ("paramErrors" | "resourceErrors"), entry, member, ..] => {
            among(&format!("adapter.{of}.{entry}"), member, &FAILURE)
        }
        ["config", keys @ ..] => config(keys),
        ["event", "owner_references", member, ..] => among("event.owner_references", member, &OWNER),
        // Events may have more members, so warn only of one that resembles a known member.
        ["event", member, ..] if !EVENT.contains(member) => suggest(member, &EVENT).map(|similar| Unknown {
            message: format!("`event.{member}` is no member of an event of the API"),
            help: format!("write `event.{similar}`"),
        }),
        _ => None,
    }
}

/// The warning for the first key that no deployment file can have.
fn config(keys: &[&str]) -> Option<Unknown> {
    (0..keys.len()).find_map(|end| {
        let path = keys.get(..end)?.join(".");
        let (_, members) = CONFIG.iter().find(|(mapping, _)| *mapping == path)?;
        let object = ["config"].iter().chain(keys.get(..end)?).copied().collect::<Vec<_>>().join(".");
        among(&object, keys.get(end)?, members)
    })
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
