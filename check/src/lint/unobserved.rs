//! Warns of a condition `Available` that is True as soon as the adapter has written an object, before any controller or agent has
//! said anything about it.

use jiff::Timestamp;
use lifecycle_config::document::Path;
use lifecycle_core::task::Resource;
use lifecycle_language::cel::{Answer, Expression};
use lifecycle_language::scope::Scope;
use lifecycle_objects::keys;
use serde_json::{Map, Value, json};

use super::linter::Linter;

/// The kinds whose objects do nothing before their status says so.
const KINDS: [(&str, &str); 6] = [
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("work.open-cluster-management.io", "ManifestWork"),
];

/// Checks the expression of the status of a condition `Available`.
pub(super) fn lint(linter: &mut Linter<'_>, place: &Path, expression: &Expression) {
    let task = linter.task;
    let paths = expression.member_paths();
    // What other variables say, and what a server makes of the rest of an object, is not known before an event.
    let is_known =
        |path: &Vec<&str>| path.first() == Some(&"resources") && path.get(2).is_none_or(|field| *field == "status");
    if !paths.iter().all(is_known) {
        return;
    }
    let is_read = |resource: &&Resource| {
        let kind = (resource.kind.group.as_str(), resource.kind.kind.as_str());
        let mut reads = paths.iter().filter(|path| path.get(1) == Some(&resource.name.as_str()));
        // A task may call an object available that is there; a work that is stored is on no cluster yet.
        KINDS.contains(&kind) && reads.any(|path| kind.1 == "ManifestWork" || path.get(2) == Some(&"status"))
    };
    let Some(read) = task.resources.iter().find(is_read) else { return };
    let written: Map<String, Value> = task.resources.iter().map(|it| (it.name.clone(), written(it))).collect();
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("resources", Value::Object(written));
    if matches!(expression.evaluate(&scope), Ok(Answer::Value(value)) if value == "True") {
        let message = format!(
            "`Available` is True as soon as `{}` is written, before its `status` says anything: an `all` over no condition holds, too",
            read.name
        );
        let of_job = read.kind.kind == "Job";
        let help = format!(
            "ask for a condition that is True, such as `resources.?{}.?status.?conditions.orValue([]).exists(c, c.type == '{}' && \
             c.status == 'True')`",
            read.name,
            if of_job { "Complete" } else { "Available" }
        );
        linter.warn(place, message, help);
    }
}

/// An object as the API server returns it from its creation.
fn written(resource: &Resource) -> Value {
    json!({
        "apiVersion": resource.kind.api_version(),
        "kind": resource.kind.kind,
        "metadata": {
            "name": resource.name, "uid": "0", "generation": 1, "labels": {}, "annotations": { keys::GENERATION: "1" },
        },
        "spec": {},
    })
}
