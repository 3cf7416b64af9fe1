//! Tasks with a mistake that a lint finds, each named by its mistake.

/// The parts of a sound task; a case replaces one of them.
pub(super) struct Parts {
    pub(super) before: &'static str,
    pub(super) resources: String,
    pub(super) payloads: String,
    pub(super) actions: String,
}

const STATUS: &str = r#"    - name: status
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: {expression: event.generation}
        observed_time: "{{ .now }}"
        conditions:
          - {type: Applied, status: {expression: "resources.?job.hasValue() ? 'True' : 'False'"}}
          - {type: Available, status: "True"}
          - {type: Health, status: "True"}
          - {type: Finalized, status: {expression: "resources.?job.?gone.orValue(false) ? 'True' : 'False'"}}
"#;
const ACTION: &str =
    "    - name: report\n      api_call: {method: PUT, url: /clusters/x/statuses, body: \"{{ .status }}\"}\n";

impl Parts {
    pub(super) fn sound() -> Self {
        Self { before: "", resources: resource("job", ""), payloads: STATUS.to_owned(), actions: ACTION.to_owned() }
    }

    pub(super) fn text(&self) -> String {
        let Self { before, resources, payloads, actions } = self;
        let section = |name: &str, body: &str| if body.is_empty() { String::new() } else { format!("{name}:\n{body}") };
        let post = section("  payloads", payloads) + &section("  post_actions", actions);
        format!("{before}{}{}", section("resources", resources), section("post", &post))
    }
}

/// An entry of `resources`, found by name.
pub(super) fn resource(name: &str, more: &str) -> String {
    format!(
        "  - name: {name}\n    manifest: {{apiVersion: example.io/v1, kind: Task, metadata: {{name: {name}}}}}\n    discovery: {{by_name: {name}}}\n{more}"
    )
}

pub(super) fn selected(name: &str, more: &str) -> String {
    resource(name, more)
        .replace(&format!("name: {name}}}}}"), &format!("name: {name}, labels: {{app: x}}}}}}"))
        .replace(&format!("by_name: {name}"), "by_selectors: {label_selector: {app: x}}")
}

pub(super) fn lifecycle(key: &str, expression: &str) -> String {
    format!("    lifecycle:\n      {key}:\n        when:\n          expression: {expression}\n")
}

pub(super) fn with_resources(resources: String) -> String {
    Parts { resources, ..Parts::sound() }.text()
}

pub(super) fn with_preconditions(before: &str) -> String {
    format!("{before}{}", Parts::sound().text())
}

fn with_payloads(payloads: &str) -> String {
    Parts { payloads: payloads.to_owned(), ..Parts::sound() }.text()
}

fn with_actions(actions: &str) -> String {
    Parts { actions: actions.to_owned(), ..Parts::sound() }.text()
}

pub(super) fn with_gate(key: &str, expression: &str) -> String {
    with_resources(resource("job", &lifecycle(key, expression)))
}

pub(super) fn gates() -> Vec<(&'static str, String)> {
    vec![
        ("a create gate that is false", with_gate("create", "\"false\"")),
        ("a create gate whose constants differ", with_gate("create", "event.kind == 'Cluster' && 1 > 2")),
        ("a create gate that fails on constants", with_gate("create", "1 / 0 == 1")),
        ("a create gate that demands its own resource", with_gate("create", "has(resources.job)")),
        (
            "a create gate that reads the status of its own resource",
            with_gate("create", "resources.job.status.succeeded == 1"),
        ),
        (
            "a create gate that looks for a condition of its own resource",
            with_gate(
                "create",
                "|\n            resources.?job.?status.?conditions.orValue([])\n              .exists(c, c.type == 'Failed')",
            ),
        ),
        (
            "a create gate that demands its own resource, which a selector finds",
            with_resources(selected("job", &lifecycle("create", "resources.?job.hasValue()"))),
        ),
        ("a recreate gate that is false", with_gate("recreate", "\"false\"")),
        (
            "a recreate gate that demands that its resource is absent",
            with_gate("recreate", "\"!('job' in resources)\""),
        ),
        (
            "a delete gate that demands that its resource is absent",
            with_gate("delete", "event.kind == 'Cluster' && !resources.?job.hasValue()"),
        ),
        (
            "a delete gate that fails while its resource is absent",
            with_gate("delete", "resources.job.status.failed > 3"),
        ),
        ("a delete gate that is false", with_gate("delete", "size('') > 0")),
    ]
}

pub(super) fn conditions() -> Vec<(&'static str, String)> {
    vec![
        (
            "a precondition that is false",
            Parts { before: "preconditions:\n  - {name: never, expression: \"1 > 2\"}\n", ..Parts::sound() }.text(),
        ),
        (
            "a payload that is never built",
            with_payloads(&STATUS.replace("status\n", "status\n      when: {expression: \"'' == 'x'\"}\n")),
        ),
        (
            "an action that never runs",
            with_actions(
                &ACTION.replace("report\n", "report\n      when: {expression: \"false && event.id == 'x'\"}\n"),
            ),
        ),
    ]
}

pub(super) fn unreported() -> Vec<(&'static str, String)> {
    vec![
        ("a task without a post action", with_actions("")),
        ("a task that only logs", with_actions("    - {name: note, log: {message: \"{{ .status }}\"}}\n")),
        ("a task without post", Parts { payloads: String::new(), actions: String::new(), ..Parts::sound() }.text()),
    ]
}

pub(super) fn statuses() -> Vec<(&'static str, String)> {
    let without = |line: &str| {
        let lines = STATUS.lines().filter(|kept| !kept.contains(line));
        with_payloads(&lines.map(|line| format!("{line}\n")).collect::<String>())
    };
    vec![
        ("no Available", without("type: Available")),
        ("no Health", without("type: Health")),
        ("no observed_generation", without("observed_generation")),
        ("no observed_time", without("observed_time")),
        (
            "observed_generation as text",
            with_payloads(&STATUS.replace("{expression: event.generation}", "\"{{ .event.generation }}\"")),
        ),
        (
            "no conditions at all",
            Parts {
                resources: resource("job", &lifecycle("delete", "event.deleted")),
                payloads:
                    "    - {name: status, build: {adapter: x, observed_generation: 1, observed_time: \"{{ .now }}\", conditions: []}}\n    - {name: b, build: {a: {expression: resources.job}}}\n"
                        .to_owned(),
                actions: ACTION.replace("/clusters/x/statuses", "\"/x/{{ .b }}\""),
                ..Parts::sound()
            }
            .text(),
        ),
        (
            "a status in a file of its own",
            Parts {
                resources: String::new(),
                payloads: "    - {name: status, build_ref: status.yaml}\n".to_owned(),
                ..Parts::sound()
            }
            .text(),
        ),
        (
            "no Finalized with a delete gate",
            Parts {
                resources: resource("job", &lifecycle("delete", "event.deleted")),
                payloads: STATUS.lines().filter(|line| !line.contains("Finalized")).map(|line| format!("{line}\n")).collect(),
                ..Parts::sound()
            }
            .text(),
        ),
        ("the conditions of a bundle without Finalized", of_bundle("adapter.conditions.job")),
        ("more conditions than those of a bundle, without Finalized", of_bundle("[] + adapter.conditions['job']")),
    ]
}

/// A task that deletes a bundle, and reports these conditions.
fn of_bundle(conditions: &str) -> String {
    let bundle = "  - name: job\n    bundle: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}]}\n";
    let (before, _) = STATUS.split_once("          - {type").unwrap_or_default();
    Parts {
        resources: bundle.to_owned() + &lifecycle("delete", "event.deleted"),
        payloads: format!("{before}          expression: \"{conditions}\"\n"),
        ..Parts::sound()
    }
    .text()
}

pub(super) fn in_order() -> Vec<(&'static str, String)> {
    vec![
        ("a sound task", Parts::sound().text()),
        ("an empty task", "{}".to_owned()),
        ("a create gate that waits for another resource", {
            with_resources(
                resource("secret", "") + &resource("job", &lifecycle("create", "resources.?secret.hasValue()")),
            )
        }),
        ("a create gate that demands that its resource is absent", with_gate("create", "\"!has(resources.job)\"")),
        ("a delete gate that reads its resource", with_gate("delete", "resources.?job.?stale.orValue(false)")),
        ("a delete gate that may fail", with_gate("delete", "event.deleted && resources.?job.?done.orValue(false)")),
        ("a recreate gate that reads its resource", with_gate("recreate", "resources.job.status.failed > 3")),
        (
            "a create gate whose name is also a nested object's",
            with_resources(
                resource("job", &lifecycle("create", "has(resources.job)"))
                    + &resource("outer", "    nested_discoveries: [{name: job, discovery: {by_name: x}}]\n"),
            ),
        ),
        (
            "conditions that an expression makes",
            with_payloads(
                "    - {name: status, build: {adapter: \"{{ .adapter.name }}\", observed_generation: {expression: event.generation}, observed_time: a, conditions: {expression: toJson(resources)}}}\n",
            ),
        ),
        (
            "a condition whose type is a template",
            with_payloads(
                "    - {name: status, build: {adapter: \"{{ .adapter.name }}\", observed_generation: {expression: event.generation}, observed_time: a, conditions: [{type: \"{{ .event.kind }}\", status: \"True\"}], b: {expression: resources}}}\n",
            ),
        ),
        (
            "a body that is a status of its own making",
            Parts {
                payloads: "    - {name: part, build: {a: {expression: resources}}}\n".to_owned(),
                actions: ACTION.replace("{{ .status }}", "{adapter: x, conditions: {{ .part | toJson }}}"),
                ..Parts::sound()
            }
            .text(),
        ),
    ]
}

/// A task whose condition `Available` is this expression, and whose resource `job` is of this kind.
fn available(kind: &str, more: &str, expression: &str) -> String {
    let payloads = STATUS.replace(
        "{type: Available, status: \"True\"}",
        &format!("{{type: Available, status: {{expression: \"{expression} ? 'True' : 'False'\"}}}}"),
    );
    let resources = resource("job", more)
        .replace(
            "apiVersion: example.io/v1, kind: Task, metadata: {name: job}",
            &format!("{kind}, metadata: {{name: job, namespace: n}}"),
        )
        .replace("{by_name: job}", "{by_name: job, namespace: n}");
    Parts { payloads, resources, ..Parts::sound() }.text()
}

const DEPLOYMENT: &str = "apiVersion: apps/v1, kind: Deployment";
const CUSTOM: &str = "apiVersion: example.com/v1, kind: Widget";
const JOB: &str = "apiVersion: batch/v1, kind: Job";
const REPLICAS: &str = "resources.?job.?status.?readyReplicas.orValue(0) == 3";
const COMPLETE: &str = "resources.?job.?status.?conditions.orValue([]).exists(c, c.type == 'Complete')";
const REPLACED: &str = "    recreate_on_change: true\n";

pub(super) fn last_generations() -> Vec<(&'static str, String)> {
    vec![
        ("the replicas of a Deployment", available(DEPLOYMENT, "", REPLICAS)),
        ("the conditions of a custom resource", available(CUSTOM, "", COMPLETE)),
        (
            "the conditions of a ManifestWork of this cluster",
            available("apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork", "", COMPLETE),
        ),
        ("the conditions of a Job that is replaced", available(JOB, REPLACED, COMPLETE)),
    ]
}

/// Conditions `Available` that are about the present generation, or whose object is never written again.
pub(super) fn present_generations() -> Vec<String> {
    let and = |term: &str| format!("{term} && {REPLICAS}");
    let observed =
        "resources.?job.?status.?observedGeneration.orValue(0) >= resources.?job.?metadata.?generation.orValue(1)";
    vec![
        available(DEPLOYMENT, "", &and(observed)),
        available(CUSTOM, "", &and("adapter.outcomes.?job.?decision.orValue('') == 'skip'")),
        available(DEPLOYMENT, &lifecycle("apply", "\"!resources.?job.hasValue()\""), REPLICAS),
        available(JOB, "", COMPLETE),
        available(
            "apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork",
            "    transport: {client: maestro, maestro: {target_cluster: c}}\n",
            COMPLETE,
        ),
        available("apiVersion: v1, kind: ConfigMap", "", REPLICAS),
    ]
}
