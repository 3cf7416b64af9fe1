//! Says of a failed pass whose part it is, and what helps. Without I/O.
//!
//! In: a failed [`Pass`]. Out: a [`Failure`]. Cannot fail: of a reason that it does not know, it says what its phase tells.

use crate::model::Pass;

/// The phases of a pass, in order.
pub(super) const PHASES: [&str; 4] = ["param_extraction", "preconditions", "resources", "post_actions"];

/// What made a pass fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    /// What the adapter did when it failed; empty if that is not known.
    pub(super) phase: &'static str,
    /// Whose part it is, as a sentence.
    pub(super) whose: &'static str,
    /// What helps, as a sentence.
    pub(super) help: &'static str,
}

const TASK: &str = "Whoever wrote the task.";
const CLUSTER: &str = "Whoever runs the cluster of the objects.";
const IN_THE_WAY: &str = "Whoever wrote the task, or owns the object that is in the way.";
const ASKED: &str = "Whoever wrote the task, or runs the API that it asks.";

/// Finds out what made a pass fail.
pub(super) fn of(pass: &Pass) -> Failure {
    let phase = PHASES.into_iter().find(|phase| pass.errors.contains_key(*phase)).unwrap_or_default();
    let (phase, whose, help) = match phase {
        "param_extraction" => (
            " while reading its params",
            ASKED,
            "The message names the param: correct it in the task, or repair what it reads.",
        ),
        "preconditions" => (
            " while evaluating its preconditions",
            ASKED,
            "The message names the precondition: correct it in the task, or repair what it reads.",
        ),
        "resources" => match reason(pass) {
            Some((reason, (whose, help))) if is_decided(reason) => (" while deciding about its objects", whose, help),
            Some((_, (whose, help))) => (" while writing its objects", whose, help),
            None => (
                " while writing its objects",
                "Whoever wrote the task, or runs the cluster of the objects.",
                "Look at the message, and at the adapter's log.",
            ),
        },
        "post_actions" => (
            " while reporting",
            "Whoever runs the API, or wrote the task's report.",
            "The message has the API's answer: correct the report in the task, or look at the API.",
        ),
        _ => ("", "Whoever runs the adapter.", "Look at the adapter's log."),
    };
    Failure { phase, whose, help }
}

/// The reason of the first entry that failed, if it is known here, and what it means. An entry's error begins with the reason; one
/// that failed before a write has it as its decision's reason, too.
fn reason(pass: &Pass) -> Option<(&str, (&'static str, &'static str))> {
    let of_writes = pass.resources.iter().filter_map(|effect| effect.error.as_deref()?.split(':').next());
    let of_decisions = pass.decisions.iter().filter(|it| it.decision == "fail").map(|it| it.reason.as_str());
    of_writes.chain(of_decisions).find_map(|reason| Some((reason, cure(reason)?)))
}

/// Whether the adapter fails for this reason before it writes.
fn is_decided(reason: &str) -> bool {
    matches!(
        reason,
        "DiscoveryFailed" | "GateFailed" | "RenderFailed" | "SelectorMismatch" | "InvalidLabel" | "InvalidGeneration"
    ) || matches!(reason, "NameTaken" | "NotOurs" | "VersionNameTaken" | "OwnerUnavailable" | "NestedNameTaken")
}

/// Whose part a failure is, and what helps, by its reason: docs/operations.md, "Failures", in short.
fn cure(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "DiscoveryFailed" => (
            "Whoever runs the cluster of the objects, or gave the adapter its rights.",
            "See the message: a right or the kind is missing, or the API server is away.",
        ),
        "GateFailed" => (
            TASK,
            "The message quotes the expression: read a key that may be missing with `?`, or repair the object that the gate reads.",
        ),
        "RenderFailed" => {
            (TASK, "The message names the variable, the function or the key; try the task with `dry-run`.")
        }
        "SelectorMismatch" => (TASK, "Give the entry's manifest and discovery the same labels, namespace and name."),
        "InvalidLabel" => {
            (TASK, "Write a `stamp.resource_id` of at most 63 letters, digits, `-`, `_` and `.` into the task.")
        }
        "InvalidGeneration" => {
            (TASK, "Remove `hyperfleet.io/generation` from the manifest, or give its param `type: int`.")
        }
        "NestedNameTaken" => (TASK, "Rename the nested discovery."),
        "VersionNameTaken" => (TASK, "Make the object's name vary, such as by `{{ .generation }}`."),
        "NameTaken" => (IN_THE_WAY, "Rename the object in the task, or delete the one that is in the way."),
        "NotOurs" => (
            IN_THE_WAY,
            "To take the object over, write `adopt: true` in the entry; else rename the manifest or narrow the selector.",
        ),
        "OwnerUnavailable" => (
            "Whoever wrote the task, or removes the owner of the object.",
            "Look at the owner's decision: it has to exist, in the same namespace, and not to be on its way out.",
        ),
        "Conflict" => (
            "Whoever else writes the object.",
            "Find out who: `kubectl get --show-managed-fields -o yaml` names each writer.",
        ),
        "Invalid" => (
            "Whoever wrote the task, or installed the definition of the object's kind.",
            "The message names the field: correct it in the task, or install the version of the definition that has it.",
        ),
        "Denied" => (
            "Whoever wrote the task, or set the rule that denies the object.",
            "The message names the policy, the quota or the namespace: write an object that meets the rule, or ask for an exception.",
        ),
        "Forbidden" => (
            "Whoever gave the adapter its rights.",
            "Give its account the roles that `hyperfleet-adapter rbac` prints for the task; if it has them, look at its token.",
        ),
        "NotFound" => (
            "Whoever wrote the task, or runs the cluster of the objects.",
            "Install the definition of the kind, or create the namespace with an earlier entry of the task.",
        ),
        "TooManyRequests" => (
            "Whoever runs the adapter or the API server.",
            "Set `clients.kubernetes.qps`, lower `parallelism`, or change the server's flow control.",
        ),
        "Unavailable" => (CLUSTER, "Look at the API server, its webhooks, and proxies in front of it."),
        "Unreachable" => (CLUSTER, "Look at the network between adapter and API server, at DNS and at certificates."),
        "DeadlineExceeded" => {
            ("Whoever runs the adapter.", "Its metric `api_request_duration_seconds` shows which server was slow.")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn each_documented_failure_has_an_owner_and_a_cure() {
        let page = include_str!("../../../docs/operations.md");
        let table = page.split("\n## Failures\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let reasons: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        assert!(reasons.len() >= 20, "{reasons:?}");
        for reason in reasons {
            assert!(cure(reason).is_some(), "{reason}");
        }
        assert_eq!(cure("Failure"), None);
    }
}
