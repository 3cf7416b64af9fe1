//! A policy of the API server that protects the labels which the sweeper trusts.
//!
//! In: the service accounts of the adapters and of the sweeper. Out: a `ValidatingAdmissionPolicy`, and its binding.
//!
//! Whoever may label an object could otherwise have the sweeper delete it. The policy lets these accounts alone set,
//! change or remove the ownership labels. Kubernetes' own controllers are excepted, because they copy labels from one
//! object to another. Everybody may remove `hyperfleet.io/disowned`, as its documentation tells people to.

use lifecycle_core::keys;
use serde_json::{Value, json};

use super::rbac::object;
use super::{Account, stream};

/// The name of the policy and of its binding.
const NAME: &str = "hyperfleet-ownership-labels";

/// Prints the policy and its binding.
#[must_use]
pub fn manifests(accounts: &[Account]) -> String {
    let users: Vec<_> = accounts.iter().map(Account::user).collect();
    let names: Vec<_> = accounts.iter().map(Account::to_string).collect();
    let comment = format!(
        "Only {} set, change or remove the labels by which the sweeper finds objects.\n\
         Kubernetes' own controllers, which copy labels, are excepted.",
        names.join(", ")
    );
    let policy = object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", None, NAME, policy(&users));
    let binding = json!({ "spec": { "policyName": NAME, "validationActions": ["Deny"] } });
    let binding = object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", None, NAME, binding);
    stream(&[(comment, policy), ("Enforces the policy in the whole cluster.".to_owned(), binding)])
}

fn policy(users: &[String]) -> Value {
    let mut validations: Vec<_> = keys::OWNERSHIP_LABELS
        .iter()
        .map(|label| {
            validation(
                label,
                &format!("variables.new[?'{label}'] == variables.old[?'{label}']"),
                "set, change or remove",
            )
        })
        .collect();
    let disowned = keys::DISOWNED;
    validations.push(validation(
        disowned,
        &format!("!('{disowned}' in variables.new) || variables.new[?'{disowned}'] == variables.old[?'{disowned}']"),
        "set or change",
    ));
    let labels = |object: &str| {
        format!(
            "{object} != null && has({object}.metadata) && has({object}.metadata.labels) ? {object}.metadata.labels : {{}}"
        )
    };
    json!({ "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*", "*/status"],
        }]},
        "matchConditions": [
            { "name": "other-accounts", "expression": format!("!(request.userInfo.username in {})", json!(users)) },
            {
                "name": "not-kubernetes-itself",
                "expression": "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:') && \
                               !(request.userInfo.username in ['system:kube-controller-manager', 'system:apiserver'])",
            },
        ],
        "variables": [
            { "name": "new", "expression": labels("object") },
            { "name": "old", "expression": labels("oldObject") },
        ],
        "validations": validations,
    }})
}

fn validation(label: &str, expression: &str, verbs: &str) -> Value {
    let message = format!("only the adapters and the sweeper of HyperFleet {verbs} the label {label}");
    json!({ "expression": expression, "message": message, "reason": "Forbidden" })
}
