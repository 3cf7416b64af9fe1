//! A policy of the API server that protects the labels which the sweeper trusts.
//!
//! In: the service accounts of the adapters and of the sweeper. Out: a `ValidatingAdmissionPolicy`, and its binding.
//!
//! Whoever may label an object could otherwise have the sweeper delete it. The policy lets these accounts alone set,
//! change or remove the ownership labels. Kubernetes' own controllers are excepted, because they copy labels from one
//! object to another: a Service's to its Endpoints. Everybody may remove `hyperfleet.io/disowned`, as its documentation
//! tells people to.
//!
//! The policy does not look into templates: the Pods of a person's Deployment may have the labels, and the volume claims
//! of a `StatefulSet`. A person can so lose objects of their own to the sweeper, but label no existing object.

use std::fmt::Display;

use lifecycle_kube::rights::{Account, object, stream};
use lifecycle_objects::keys;
use serde_json::{Value, json};

/// The name of the policy and of its binding.
const NAME: &str = "hyperfleet-ownership-labels";

/// The name of the user who sends a request, in CEL.
const USER: &str = "request.userInfo.username";

/// Prints the policy and its binding.
#[must_use]
pub fn manifests(accounts: &[Account]) -> String {
    let users: Vec<_> = accounts.iter().map(Account::user).collect();
    let names: Vec<_> = accounts.iter().map(Account::to_string).collect();
    let comment = format!(
        "Only {} set, change or remove the labels by which the sweeper finds objects.\n\
         Kubernetes' own controllers, which copy labels, are excepted; add the account of any other controller that\n\
         copies them. Everybody may remove {}.\n\
         A cluster has one such policy, so it names the accounts of every installation.",
        names.join(", "),
        keys::DISOWNED
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
        &format!("!('{disowned}' in variables.new) ||\nvariables.new[?'{disowned}'] == variables.old[?'{disowned}']"),
        "set or change",
    ));
    // After an apply that removes every label, a custom resource has `labels: null`.
    let labels = |object: &str| {
        format!(
            "{object} != null && has({object}.metadata) &&\n\
             has({object}.metadata.labels) && {object}.metadata.labels != null\n\
             ? {object}.metadata.labels : {{}}"
        )
    };
    // Every subresource, because some store labels: `namespaces/finalize`, `pods/status`, `pods/binding`.
    let requests =
        json!({ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*/*"] });
    json!({ "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": { "resourceRules": [requests] },
        "matchConditions": [
            { "name": "other-accounts", "expression": format!("!({USER} in {})", list(users)) },
            {
                "name": "not-kubernetes-itself",
                "expression": format!(
                    "!({USER} in {}) &&\n!{USER}.startsWith('system:serviceaccount:kube-system:')",
                    list(&["system:apiserver", "system:kube-controller-manager"])
                ),
            },
        ],
        "variables": [
            { "name": "new", "expression": labels("object") },
            { "name": "old", "expression": labels("oldObject") },
        ],
        "validations": validations,
    }})
}

/// A list of CEL, one item a line. No user name contains a quotation mark.
fn list(users: &[impl Display]) -> String {
    let items: Vec<_> = users.iter().map(|user| format!("  '{user}'")).collect();
    format!("[\n{}\n]", items.join(",\n"))
}

fn validation(label: &str, expression: &str, verbs: &str) -> Value {
    let message = format!("only the adapters and the sweeper of HyperFleet {verbs} the label {label}");
    json!({ "expression": expression, "message": message, "reason": "Forbidden" })
}

#[cfg(test)]
mod tests;
