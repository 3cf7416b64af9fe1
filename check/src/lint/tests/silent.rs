//! Tasks with mistakes that a plain rule over kinds, fields or reports finds, each named by its mistake.

use super::cases::{Parts, lifecycle, resource, with_preconditions, with_resources};
use super::lifecycle::{with_gates, with_params, written};

const DELETE: (&str, &str) = ("delete", "isDeleting");

/// A task whose only object is `manifest`, found in the namespace `n`.
fn object(manifest: &str) -> String {
    with_resources(format!(
        "  - name: job\n    manifest: {{{manifest}}}\n    discovery: {{by_name: job, namespace: n}}\n"
    ))
}

fn of_kind(api_version: &str, kind: &str) -> String {
    object(&format!("apiVersion: {api_version}, kind: {kind}, metadata: {{name: job, namespace: n}}"))
}

pub(super) fn kinds() -> Vec<(&'static str, String)> {
    vec![
        ("a kind of another group", of_kind("v1", "Deployment")),
        ("a version that is no longer served", of_kind("batch/v1beta1", "CronJob")),
        ("a misspelt kind", of_kind("apps/v1", "Deploymnet")),
        ("a kind in lower case", of_kind("v1", "configmap")),
        ("a misspelt group", of_kind("app/v1", "Deployment")),
    ]
}

/// A task whose status has another part.
fn status(from: &str, to: &str, gates: &[(&str, &str)]) -> String {
    let sound = Parts::sound();
    assert!(sound.payloads.contains(from), "{from}");
    let task = with_gates(gates);
    task.replace(from, to)
}

const ADAPTER: &str = "adapter: \"{{ .adapter.name }}\"";
const GENERATION: &str = "observed_generation: {expression: event.generation}";
const FINALIZED: &str = "{expression: \"resources.?job.?gone.orValue(false) ? 'True' : 'False'\"}";

pub(super) fn constants() -> Vec<(&'static str, String)> {
    vec![
        ("a constant name of the adapter", status(ADAPTER, "adapter: dns", &[])),
        ("a constant generation", status(GENERATION, "observed_generation: 1", &[])),
    ]
}

fn finalized(status_of: &str, gates: &[(&str, &str)]) -> String {
    status(FINALIZED, &format!("{{expression: \"{status_of} ? 'True' : 'False'\"}}"), gates)
}

pub(super) fn finalization() -> Vec<(&'static str, String)> {
    let two = |finalized: &str| {
        let resources = resource("job", &written(&[DELETE])) + &resource("other", "");
        with_params(resources).replace(FINALIZED, &format!("{{expression: \"{finalized} ? 'True' : 'False'\"}}"))
    };
    vec![
        ("a Finalized that looks at no object", finalized("isDeleting", &[DELETE])),
        ("a Finalized that is a constant", status(FINALIZED, "\"True\"", &[DELETE])),
        (
            "a Finalized that waits for an outcome without a delete gate",
            finalized("isDeleting && adapter.outcomes.?job.?finalized.orValue(false)", &[]),
        ),
        (
            "a Finalized that waits for an object without a delete gate",
            two("isDeleting && !resources.?job.hasValue() && !resources.?other.hasValue()"),
        ),
    ]
}

pub(super) fn senders() -> Vec<(&'static str, String)> {
    let action = |when: &str| {
        let sound = Parts::sound();
        let actions = sound.actions.replace("report\n", &format!("report\n      when: {{expression: '{when}'}}\n"));
        Parts { actions, ..sound }.text()
    };
    let sound = Parts::sound();
    vec![
        ("a report after success only", action("adapter.executionStatus == \"success\"")),
        ("a report without a failure only", action("adapter.executionStatus != \"failed\" && event.generation > 1")),
        (
            "a status that is built after success only",
            Parts {
                payloads: sound.payloads.replace(
                    "- name: status\n",
                    "- name: status\n      when: {expression: \"adapter.executionStatus == 'success'\"}\n",
                ),
                ..Parts::sound()
            }
            .text(),
        ),
    ]
}

/// A namespace that waits for what is inside of it.
fn inside(of_inner: &str) -> String {
    with_params(format!(
        "  - name: job\n    manifest: {{apiVersion: v1, kind: Namespace, metadata: {{name: n}}}}\n    discovery: {{by_name: n}}\n{}  - name: inner\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: n}}}}\n    discovery: {{by_name: x, namespace: n}}\n{of_inner}",
        written(&[("delete", "isDeleting && !resources.?inner.hasValue()")])
    ))
}

pub(super) fn namespaces() -> Vec<(&'static str, String)> {
    vec![
        ("a namespace that waits for an object without a delete gate", inside("")),
        ("a namespace that waits for an object that it owns", inside("    owner: {resource: job}\n")),
        (
            "a namespace and an object inside that wait for each other",
            inside(&written(&[("delete", "isDeleting && !resources.?job.hasValue()")])),
        ),
    ]
}

pub(super) fn unguarded() -> Vec<(&'static str, String)> {
    let reading = |part: &str| {
        status(
            "{type: Available, status: \"True\"}",
            &format!("{{type: Available, status: \"True\", {part}}}"),
            &[DELETE],
        )
    };
    let bare = |gate: &str| with_gates(&[("apply", "false"), ("patch {metadata: {labels: {a: b}}}", gate)]);
    vec![
        ("an expression that reads a deleted object", reading("message: {expression: resources.job.status.phase}")),
        ("a template that reads a deleted object", reading("message: \"{{ .resources.job.status.phase }}\"")),
        ("a patch gate that needs labels", bare("resources.job.metadata.labels['a'] != 'b'")),
        (
            "a patch gate that needs annotations",
            bare("dig(resources.job.metadata.annotations, 'a') != resources.job.metadata.?labels[?'a'].orValue('')"),
        ),
    ]
}

pub(super) fn in_order() -> Vec<(&'static str, String)> {
    let sound = Parts::sound();
    vec![
        ("a namespace that waits for an object with a delete gate", inside(&written(&[DELETE]))),
        ("a Finalized by the outcome", finalized("adapter.outcomes.?job.?finalized.orValue(false)", &[DELETE])),
        ("a Finalized by the objects", finalized("isDeleting && !resources.?job.hasValue()", &[DELETE])),
        (
            "a Finalized by the outcomes as a whole",
            finalized("adapter.outcomes.all(name, adapter.outcomes[name].finalized)", &[DELETE]),
        ),
        ("a Finalized in a task that deletes nothing", finalized("isDeleting", &[])),
        (
            "a report after success, and one after a failure",
            Parts {
                actions: sound.actions.replace(
                    "report\n",
                    "report\n      when: {expression: \"adapter.executionStatus == 'success'\"}\n",
                ) + &sound.actions.replace(
                    "report\n",
                    "failure\n      when: {expression: \"adapter.executionStatus != 'success'\"}\n",
                ),
                ..Parts::sound()
            }
            .text(),
        ),
        (
            "a message with a guard",
            status(
                "{type: Available, status: \"True\"}",
                "{type: Available, status: \"True\", reason: {expression: resources.job.status.phase, default: Gone}, message: {expression: resources.?job.?status.?phase.orValue('')}}",
                &[DELETE],
            ),
        ),
        (
            "a patch that asks for labels as an optional",
            with_gates(&[
                ("apply", "false"),
                (
                    "patch {metadata: {labels: {a: b}}}",
                    "resources.job.metadata.?labels.orValue({})[?'a'].orValue('') != 'b'",
                ),
            ]),
        ),
        (
            "a patch that asks whether there are labels",
            with_gates(&[
                ("apply", "false"),
                (
                    "patch {metadata: {labels: {a: b}}}",
                    "!has(resources.job.metadata.labels) || resources.job.metadata.labels[?'a'].orValue('') != 'b'",
                ),
            ]),
        ),
        (
            "an entry with patches alone that is never created",
            with_gates(&[
                ("create", "false"),
                ("apply", "false"),
                (
                    "patch {metadata: {labels: {a: b}}}",
                    "resources.job.metadata.?labels.orValue({})[?'a'].orValue('') != 'b'",
                ),
            ]),
        ),
        (
            "a precondition beside it",
            with_preconditions("discover: always\npreconditions: [{name: p, expression: event.ready}]\n"),
        ),
        ("a create gate", with_resources(resource("job", &lifecycle("create", "event.ready")))),
    ]
}
