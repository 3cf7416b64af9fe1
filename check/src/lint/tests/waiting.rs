//! Tasks whose gates wait for an object that never appears or never disappears, and conditions that are no tests.

use super::cases::{Parts, resource, selected, with_gate};
use super::lifecycle::{with_gates, with_params, written};

const DELETE: (&str, &str) = ("delete", "isDeleting");
const PATCH: &str = "patch {metadata: {annotations: {a: b}}}";

/// The resources `job` and `other`, both reported.
fn two(job: String, other: String) -> String {
    let reads = "    - {name: note, log: {message: \"{{ .adapter.outcomes }}\"}}\n";
    with_params(job + &other) + reads
}

/// `job`, whose deletion waits for `other`.
fn waits_for(of_other: &str) -> String {
    waits(&[("delete", "isDeleting && !resources.?other.hasValue()")], of_other)
}

fn waits(of_job: &[(&str, &str)], of_other: &str) -> String {
    two(resource("job", &written(of_job)), resource("other", of_other))
}

pub(super) fn literals() -> Vec<(&'static str, String)> {
    vec![
        ("a delete gate that is true", with_gates(&[("delete", "true")])),
        ("an orphan gate that is true", with_gates(&[("orphan", "true")])),
        ("a recreate gate that is true", with_gates(&[("recreate", "true")])),
        ("an apply gate that is text", with_gates(&[("apply", "'phase'")])),
        ("an apply gate that is an expression in quotes", with_gates(&[("apply", "'isDeleting && phase'")])),
        ("a create gate that is a number", with_gates(&[("create", "0")])),
        ("an apply gate that gives a text", with_gates(&[("apply", "isDeleting ? 'True' : 'False'")])),
        ("a when that gives a text", with_gates(&[("when", "string(isDeleting)")])),
        ("a patch gate that gives a number", with_gates(&[(PATCH, "resources.job.metadata.labels.size()")])),
        ("a patch gate that is text", with_gates(&[(PATCH, "'phase'")])),
        ("a delete gate that is an optional object", with_gates(&[("delete", "resources.?job")])),
        ("a delete gate that is an optional part of its object", with_gates(&[("delete", "resources.job.spec.?gone")])),
        ("a create gate that is an optional value", with_gates(&[("create", "cluster.?spec.?ready")])),
        (
            "a precondition that is text",
            Parts { before: "preconditions:\n  - {name: p, expression: \"'event.ready'\"}\n", ..Parts::sound() }.text(),
        ),
    ]
}

/// `other`, owned by `job`, with the orphan gate; `of_job` are the gates of its owner.
fn disowned_by(orphan: &str, of_job: &str) -> String {
    let owner = "    owner: {resource: job}\n";
    two(resource("job", of_job), resource("other", &format!("{owner}{}", written(&[("orphan", orphan)]))))
}

/// `other`, owned by an object that `job` owns.
fn disowned_below(orphan: &str) -> String {
    let middle = resource("middle", "    owner: {resource: job}\n");
    disowned_by(orphan, &written(&[DELETE]))
        .replace("  - name: other\n", &format!("{middle}  - name: other\n"))
        .replace("owner: {resource: job}\n    lifecycle", "owner: {resource: middle}\n    lifecycle")
}

pub(super) fn waiting_disownings() -> Vec<(&'static str, String)> {
    let gate = "isDeleting && !resources.?job.hasValue()";
    vec![
        ("a disowning that waits for the deletion of its owner", disowned_by(gate, &written(&[DELETE]))),
        ("a disowning that waits for an owner that others delete", disowned_by(gate, "")),
        ("a disowning that waits for the owner of its owner", disowned_below(gate)),
    ]
}

pub(super) fn waiting_deletions() -> Vec<(&'static str, String)> {
    vec![
        ("a deletion that waits for what no gate deletes", waits_for("")),
        ("a deletion that waits for what is created before", waits_for(&written(&[("when", "!isDeleting")]))),
        ("a deletion that waits for what is disowned", waits_for(&written(&[("orphan", "isDeleting")]))),
        ("deletions that wait for each other", waits_for(&written(&[("delete", "isDeleting && !has(resources.job)")]))),
    ]
}

/// The resources `job`, `middle` and `other`, whose delete gates are these.
fn chain(of_job: &str, of_middle: &str, more: &[(&str, &str)]) -> String {
    let gates = |of_delete: &str| written(&[more, &[("delete", of_delete)]].concat());
    let middle = resource("middle", &gates(of_middle));
    two(resource("job", &gates(of_job)) + &middle, resource("other", &gates("isDeleting")))
}

const AFTER_MIDDLE: &str = "isDeleting && !resources.?middle.hasValue()";
const AFTER_OTHER: &str = "isDeleting && !resources.?other.hasValue()";
const NOT_DELETING: [(&str, &str); 1] = [("when", "!isDeleting")];

pub(super) fn deletion_orders() -> Vec<(&'static str, String)> {
    vec![
        ("an object that is created while its neighbour is deleted", chain("isDeleting", AFTER_OTHER, &[])),
        ("an order that a missing object breaks", chain(AFTER_MIDDLE, AFTER_OTHER, &NOT_DELETING)),
    ]
}

/// Orders of deletion that a missing object does not break.
pub(super) fn sound_deletion_orders() -> [String; 2] {
    let namespaced = |text: String| text.replace("{by_name: other}", "{by_name: other, namespace: job}");
    let kept = namespaced(waits_for(&written(&[DELETE])))
        .replacen("apiVersion: example.io/v1, kind: Task", "apiVersion: v1, kind: Namespace", 1)
        .replace("metadata: {name: other}", "metadata: {name: other, namespace: job}");
    [chain(&format!("{AFTER_MIDDLE} && !resources.?other.hasValue()"), AFTER_OTHER, &NOT_DELETING), kept]
}

/// `job` and `other`, discovered as given.
fn discovered(by_job: &str, of_job: &str, by_other: &str, of_other: &str) -> String {
    let entry = |name: &str, by: &str, more: &str| {
        resource(name, more)
            .replace(&format!("{{by_name: {name}}}"), &format!("{{by_name: \"{by}\"}}"))
            .replace(&format!("metadata: {{name: {name}}}"), &format!("metadata: {{name: \"{by}\"}}"))
    };
    two(entry("job", by_job, of_job), entry("other", by_other, of_other))
}

const OF_JOB: &str = "{{ .resources.job.status.child }}";
const OF_OTHER: &str = "{{ .resources.other.status.child }}";

fn inside(nested: &str) -> String {
    with_params(resource("job", &format!("    nested_discoveries: [{nested}]\n")))
}

pub(super) fn discoveries() -> Vec<(&'static str, String)> {
    let delete = written(&[DELETE]);
    let orphan = written(&[("orphan", "isDeleting")]);
    vec![
        ("a discovery that reads its own object", discovered(OF_JOB, "", "other", "")),
        ("discoveries that read each other", discovered(OF_OTHER, "", OF_JOB, "")),
        ("a discovery that reads a later object", discovered(OF_OTHER, "", "other", "")),
        ("a discovery that reads what is deleted", discovered("job", &delete, OF_JOB, &delete)),
        ("a discovery of what is disowned that reads what is deleted", discovered("job", &delete, OF_JOB, &orphan)),
        (
            "a discovery that reads what is inside of an object that is deleted",
            discovered(
                "job",
                &format!("    nested_discoveries: [{{name: inner, discovery: {{by_name: x}}}}]\n{delete}"),
                "{{ .resources.inner.metadata.uid }}",
                &delete,
            ),
        ),
        ("a discovery of what has no gate that reads what is deleted", discovered("job", &delete, OF_JOB, "")),
        (
            "a discovery that reads what is inside of its own object",
            discovered(
                "{{ .resources.inner.metadata.name }}",
                "    nested_discoveries: [{name: inner, discovery: {by_name: x}}]\n",
                "other",
                "",
            ),
        ),
    ]
}

pub(super) fn in_order() -> Vec<(&'static str, String)> {
    let delete = written(&[DELETE]);
    vec![
        ("a resource that is to go for good", with_gates(&[("create", "false"), ("delete", "true")])),
        ("a resource that is to be disowned for good", with_gates(&[("apply", "false"), ("orphan", "true")])),
        ("an optional with a default", with_gate("create", "event.?ready.orValue(false)")),
        ("a text that is compared", with_gates(&[("delete", "'Gone' == phase || phase == 'gone'")])),
        (
            "a deletion that waits for what is deleted",
            waits(&[("create", "!isDeleting"), ("delete", AFTER_OTHER)], &delete),
        ),
        (
            "a deletion that waits for what others create",
            waits_for(&written(&[
                ("apply", "false"),
                (PATCH, "dig(resources.other, 'metadata.annotations.a') != 'b'"),
            ])),
        ),
        (
            "a deletion that waits for a Job that ends",
            waits_for("")
                .replace("metadata: {name: other}", "metadata: {name: other}, spec: {ttlSecondsAfterFinished: 60}"),
        ),
        (
            "a deletion that waits for what a selector finds",
            two(
                resource("job", &written(&[("delete", "isDeleting && !resources.?other.hasValue()")])),
                selected("other", ""),
            ),
        ),
        (
            "a deletion that waits, or does not",
            waits(&[("delete", "isDeleting && (phase == 'x' || !resources.?other.hasValue())")], ""),
        ),
        ("a discovery that reads what stays", discovered("job", "", OF_JOB, &delete)),
        (
            "a disowning that waits for an object that does not own it",
            two(
                resource("job", &delete),
                resource("other", &written(&[("orphan", "isDeleting && !resources.?job.hasValue()")])),
            ),
        ),
        ("a disowning that does not wait for its owner", disowned_by("isDeleting", &delete)),
        (
            "a discovery that may pass over what it reads",
            discovered("{{ if .phase }}{{ .resources.other.a }}{{ end }}", "", "other", ""),
        ),
        (
            "a discovery that reads a later object of others",
            discovered(
                OF_OTHER,
                "",
                "other",
                &written(&[("apply", "false"), (PATCH, "dig(resources.other, 'metadata.annotations.a') != 'b'")]),
            ),
        ),
        (
            "nested discoveries that read the one before and their parent",
            inside(
                "{name: one, discovery: {by_name: \"{{ .resources.job.status.a }}\"}}, {name: two, discovery: {by_name: \"{{ .resources.one.a }}\"}}",
            ),
        ),
    ]
}
