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
const ADAPTER: &str = "Whoever runs the adapter.";
const CLUSTER: &str = "Whoever runs the cluster of the objects.";
const TASK_OR_CLUSTER: &str = "Whoever wrote the task, or runs the cluster of the objects.";
const TASK_OR_API: &str = "Whoever wrote the task, or runs the API that it asks.";
const IN_THE_WAY: &str = "Whoever wrote the task, or owns the object that is in the way.";
const RIGHTS: &str = "Whoever gave the adapter its rights.";
const RULE: &str = "Whoever wrote the task, or set the rule that denies the object.";

/// Finds out what made a pass fail.
pub(super) fn of(pass: &Pass) -> Failure {
    let phase = PHASES.into_iter().find(|phase| pass.errors.contains_key(*phase)).unwrap_or_default();
    let (phase, whose, help) = match phase {
        "param_extraction" => (" while reading its params", TASK_OR_API, "Repair the param that the message names."),
        "preconditions" => (
            " while evaluating its preconditions",
            TASK_OR_API,
            "Repair the precondition that the message names, or what it reads.",
        ),
        "resources" => {
            let (whose, help) =
                of_entry(pass).unwrap_or((TASK_OR_CLUSTER, "Look at the message, and at the adapter's log."));
            let is_decided = pass.decisions.iter().any(|it| it.decision == "fail");
            (if is_decided { " while deciding about its objects" } else { " while writing its objects" }, whose, help)
        }
        "post_actions" => (" while reporting", TASK_OR_API, "Look at the API's answer, which is in the message."),
        _ => ("", ADAPTER, "Look at the adapter's log."),
    };
    Failure { phase, whose, help }
}

/// What the first entry that failed for a known reason means. Its error begins with the reason; if it failed before a write, its decision
/// has the reason, too.
fn of_entry(pass: &Pass) -> Option<(&'static str, &'static str)> {
    let of_writes = pass.resources.iter().filter_map(|effect| effect.error.as_deref()?.split(':').next());
    let of_decisions = pass.decisions.iter().filter(|it| it.decision == "fail").map(|it| it.reason.as_str());
    of_writes.chain(of_decisions).find_map(cure)
}

/// Whose part a failure is, and what helps, by its reason: docs/operations.md, "Failures", in short.
fn cure(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "DiscoveryFailed" => (CLUSTER, "See the message: a right or the kind is missing, or the API server is away."),
        "GateFailed" => (TASK, "Read a key that may be missing with `?`, or repair what the gate reads."),
        "RenderFailed" => (TASK, "Correct the variable, function or key that the message names; `dry-run` helps."),
        "SelectorMismatch" => (TASK, "Give manifest and discovery the same labels, namespace and name."),
        "InvalidLabel" => (TASK, "Write a `stamp.resource_id` of at most 63 letters, digits, `-`, `_` and `.`."),
        "InvalidGeneration" => (TASK, "Remove `hyperfleet.io/generation` from the manifest, or make it an integer."),
        "NestedNameTaken" => (TASK, "Rename the nested discovery."),
        "VersionNameTaken" => (TASK, "Make the object's name vary, such as by `{{ .generation }}`."),
        "NameTaken" => (IN_THE_WAY, "Rename the object in the task, or delete the one that is in the way."),
        "NotOurs" => (IN_THE_WAY, "Write `adopt: true` to take it over; else rename it or narrow the selector."),
        "OwnerUnavailable" => (TASK, "Look at the owner's decision: it is absent, failed or on its way out."),
        "Conflict" => ("Whoever else writes the object.", "See who: `kubectl get -o yaml --show-managed-fields`."),
        "Invalid" => (TASK, "Correct the field that the message names, or install a definition that has it."),
        "Denied" => (RULE, "Meet the policy or quota that the message names, or ask for an exception."),
        "Forbidden" => (RIGHTS, "Grant what `hyperfleet-adapter rbac` prints for the task; else look at the token."),
        "NotFound" => {
            (TASK_OR_CLUSTER, "Install the kind's definition, or create the namespace with an earlier entry.")
        }
        "TooManyRequests" => (ADAPTER, "Set `clients.kubernetes.qps`, lower `parallelism`, or change flow control."),
        "Unavailable" => (CLUSTER, "Look at the API server, its webhooks, and proxies in front of it."),
        "Unreachable" => (CLUSTER, "Look at network, DNS and certificates between adapter and API server."),
        "DeadlineExceeded" => (ADAPTER, "Its metric `api_request_duration_seconds` shows which server was slow."),
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
