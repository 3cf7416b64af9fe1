//! Tasks with lifecycle keys and a mistake that a lint finds, each named by its mistake.

use super::cases::{Parts, resource, selected, with_gate};

/// Params that the cases read.
const PARAMS: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: region, source: env.REGION}
  - {name: generation, source: event.generation}
  - {name: phase, source: event.phase}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: isDeleting, source: {expression: cluster.?deleted_time.orValue(null) != null}}
  - {name: handover, source: {expression: isDeleting && phase == 'Handover'}}
"#;

pub(super) fn with_params(resources: String) -> String {
    Parts { before: PARAMS, resources, ..Parts::sound() }.text()
}

/// A task with the resource `job`, which has these gates.
pub(super) fn with_gates(gates: &[(&str, &str)]) -> String {
    with_params(resource("job", &written(gates)))
}

pub(super) fn written(gates: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (key, expression) in gates.iter().filter(|(key, _)| *key == "when") {
        text.push_str(&format!("    {key}: {{expression: \"{expression}\"}}\n"));
    }
    let mut below = gates.iter().filter(|(key, _)| *key != "when").peekable();
    if below.peek().is_some() {
        text.push_str("    lifecycle:\n");
    }
    for (key, expression) in below {
        text.push_str(&match key.strip_prefix("patch ") {
            Some(document) => {
                format!("      patch: [{{when: {{expression: \"{expression}\"}}, document: {document}}}]\n")
            }
            None => format!("      {key}: {{when: {{expression: \"{expression}\"}}}}\n"),
        });
    }
    text
}

pub(super) fn gates() -> Vec<(&'static str, String)> {
    vec![
        ("a when that is false", with_gates(&[("when", "1 > 2")])),
        ("a when whose parts exclude each other", with_gates(&[("when", "phase == 'a' && phase == 'b'")])),
        ("an apply gate that fails", with_gate("apply", "1 / 0 == 1")),
        ("a delete gate that demands its object", with_gates(&[("delete", "isDeleting && resources.?job.hasValue()")])),
        ("an orphan gate that demands its object", with_gates(&[("orphan", "isDeleting && has(resources.job)")])),
        ("an orphan gate that is false", with_gate("orphan", "\"false\"")),
        ("a detach gate that is false", with_gate("detach", "\"false\"")),
        ("a patch gate that is false", with_gates(&[("patch {a: 1}", "false")])),
        ("a when that demands its object", with_gates(&[("when", "has(resources.job) && phase == 'x'")])),
        (
            "a when that demands its object, which a selector finds",
            with_params(selected("job", &written(&[("when", "resources.?job.hasValue()")]))),
        ),
        ("a when that fails without its object", with_gates(&[("when", "resources.job.status.ready == true")])),
        ("an apply gate that demands its object", with_gates(&[("apply", "'job' in resources")])),
        (
            "an apply gate that fails without its object",
            with_gates(&[("apply", "timestamp(resources.job.metadata.creationTimestamp) < timestamp(now())")]),
        ),
        (
            "an apply gate that fails with its object",
            with_gates(&[("apply", "has(resources.job) ? 1 / 0 == 1 : true")]),
        ),
        (
            "an orphan gate that demands that its object is absent",
            with_gates(&[("orphan", "isDeleting && !has(resources.job)")]),
        ),
        ("an orphan gate that fails without its object", with_gates(&[("orphan", "resources.job.disowned == true")])),
        ("a patch gate that demands that its object is absent", with_gates(&[("patch {a: 1}", "!has(resources.job)")])),
        ("a recreate gate that always holds", with_gates(&[("recreate", "resources.?job.hasValue()")])),
    ]
}

pub(super) fn disowning() -> Vec<(&'static str, String)> {
    vec![
        (
            "an orphan gate within the delete gate",
            with_gates(&[("orphan", "isDeleting && phase == 'Handover'"), ("delete", "isDeleting")]),
        ),
        (
            "an orphan gate that reads the deletion signal by another name",
            with_gates(&[("orphan", "handover"), ("delete", "cluster.?deleted_time.orValue(null) != null")]),
        ),
        (
            "the gates of the proposal",
            with_gates(&[
                (
                    "orphan",
                    "isDeleting && resources.?job.hasValue() && 'hyperfleet.io/adapter' in resources.job.metadata.labels",
                ),
                ("delete", "isDeleting"),
            ]),
        ),
        (
            "the orphan gate of the proposal alone",
            with_gates(&[(
                "orphan",
                "isDeleting && resources.?job.hasValue() && 'hyperfleet.io/adapter' in resources.job.metadata.labels",
            )]),
        ),
        ("the same gate twice", with_gates(&[("detach", "isDeleting"), ("delete", "isDeleting")])),
        (
            "a delete gate within the orphan gate",
            with_gates(&[("orphan", "isDeleting"), ("delete", "isDeleting && phase == 'Gone'")]),
        ),
        (
            "one signal, and conditions that do not exclude each other",
            with_gates(&[("orphan", "isDeleting && phase == 'Handover'"), ("delete", "isDeleting && generation > 1")]),
        ),
        (
            "an orphan gate of several lines",
            with_params(resource(
                "job",
                "    lifecycle:\n      orphan:\n        when:\n          expression: |\n            isDeleting\n              && phase == 'x'\n      delete: {when: {expression: isDeleting}}\n",
            )),
        ),
    ]
}

pub(super) fn patches() -> Vec<(&'static str, String)> {
    let annotation = "patch {metadata: {annotations: {example.io/tier: gold}}}";
    vec![
        ("a patch that is always sent", with_gates(&[(annotation, "resources.?job.hasValue()")])),
        ("a patch that does not look at the object", with_gates(&[(annotation, "phase == 'Ready'")])),
        (
            "a patch that only looks whether there is an object",
            with_gates(&[(annotation, "resources.?job.hasValue() && phase == 'Ready'")]),
        ),
        (
            "a patch that looks at another key",
            with_gates(&[(annotation, "dig(resources.job.metadata.annotations, 'example.io/teir') != phase")]),
        ),
        (
            "a patch of what is old",
            with_gates(&[(
                annotation,
                "timestamp(resources.job.metadata.creationTimestamp) < timestamp(now()) - duration('1h')",
            )]),
        ),
    ]
}

const VERSIONS: &str = "    retention: {historyLimit: 3}\n";

/// The resource `job` with versions, found by labels and named as given.
fn versions_named(name: &str, labels: &str, more: &str) -> String {
    with_params(format!(
        "  - name: job\n    manifest: {{apiVersion: example.io/v1, kind: Task, metadata: {{name: \"{name}\", labels: {labels}}}}}\n    \
         discovery: {{by_selectors: {{label_selector: {labels}}}}}\n{VERSIONS}{more}"
    ))
}

const OF_CLUSTER: &str = "{cluster: \"{{ .clusterId }}\"}";

pub(super) fn versions() -> Vec<(&'static str, String)> {
    let recreate = written(&[("recreate", "resources.job.status.failed > 3")]);
    let one_for_each = |more: &str| {
        with_params(selected("job", more).replace("metadata: {name: job", "metadata: {name: \"{{ .clusterId }}\""))
    };
    let one_for_all = |more: &str| with_params(selected("job", more));
    let on_change = "    recreate_on_change: true\n";
    vec![
        ("a selector of others' objects, with a delete gate", one_for_all(&written(&[("delete", "isDeleting")]))),
        ("a selector of others' objects, with an orphan gate", one_for_all(&written(&[("orphan", "isDeleting")]))),
        ("a selector of others' objects, with a recreate gate", one_for_all(&recreate)),
        ("a selector of others' objects that are recreated on change", one_for_all(on_change)),
        ("a selector of every cluster's objects that are recreated on change", one_for_each(on_change)),
        (
            "a selector of others' objects in the namespace of a cluster",
            one_for_all(&written(&[("delete", "isDeleting")]))
                .replace("metadata: {name: job", "metadata: {namespace: \"{{ .clusterId }}\", name: job")
                .replace("by_selectors:", "namespace: \"{{ .clusterId }}\", by_selectors:"),
        ),
        ("a selector of every cluster's objects, with a delete gate", one_for_each(&written(&[("delete", "isDeleting")]))),
        ("a selector of every cluster's objects, with an orphan gate", one_for_each(&written(&[("orphan", "isDeleting")]))),
        ("a fixed name with a recreate gate", versions_named("job", OF_CLUSTER, &recreate)),
        ("a name by the cluster", versions_named("job-{{ .clusterId }}-{{ .adapter.name }}", OF_CLUSTER, "")),
        ("a name by the kind", versions_named("{{ .event.kind | lower }}", OF_CLUSTER, "    recreate_on_change: true\n")),
        (
            "a fixed name in a text",
            with_params(
                "  - name: job\n    manifest: |\n      apiVersion: example.io/v1\n      kind: Task\n      metadata: {name: \"x-{{ .clusterId }}\"}\n    discovery: {by_selectors: {label_selector: {a: \"{{ .clusterId }}\"}}}\n    retention: {ttl: 1h}\n"
                    .to_owned(),
            ),
        ),
        ("a selector of every cluster's objects", versions_named("job-{{ .generation }}", "{app: job}", "")),
        (
            "a selector of every cluster's objects in a region",
            versions_named("job-{{ .generation }}", "{app: \"{{ .adapter.name }}\", region: \"{{ .region }}\"}", ""),
        ),
    ]
}

/// A namespace, and a secret that it owns.
fn owned(of_owner: &str, of_secret: &str) -> String {
    let owner = "  - name: job\n    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: job}}\n    discovery: {by_name: job}\n";
    let secret = "  - name: secret\n    manifest: {apiVersion: v1, kind: Secret, metadata: {name: x, namespace: job}}\n    discovery: {by_name: x, namespace: job}\n    owner: {resource: job}\n";
    let reads = "    - {name: note, log: {message: \"{{ .adapter.outcomes.secret.decision }}\"}}\n";
    let sound = Parts::sound();
    let actions = sound.actions.clone() + reads;
    Parts { before: PARAMS, resources: format!("{owner}{of_owner}{secret}{of_secret}"), actions, ..sound }.text()
}

pub(super) fn owners() -> Vec<(&'static str, String)> {
    let delete = written(&[("delete", "isDeleting")]);
    vec![
        ("an owner with a recreate gate", owned(&written(&[("recreate", "phase == 'New'")]), "")),
        ("an owner that is recreated on change", owned("    recreate_on_change: true\n", "")),
        ("an owner that is deleted, of an object without a gate", owned(&delete, "")),
        (
            "an owner that is deleted, of an object that is only patched",
            owned(&delete, &written(&[("patch {data: {a: x}}", "resources.secret.data.a != phase")])),
        ),
        (
            "an object that is disowned in a namespace that is deleted",
            owned(&delete, &written(&[("orphan", "isDeleting")])),
        ),
    ]
}

fn with_nested(more: &str) -> String {
    with_params(resource(
        "job",
        &format!("    nested_discoveries: [{{name: inner, discovery: {{by_name: x}}}}]\n{more}"),
    ))
}

pub(super) fn nested() -> Vec<(&'static str, String)> {
    let delete = |expression: &str| with_nested(&written(&[("delete", expression)]));
    vec![
        ("a deletion that waits for what is inside", delete("isDeleting && !resources.?inner.hasValue()")),
        ("a deletion that waits for what is inside, with `has`", delete("isDeleting && !has(resources.inner)")),
    ]
}

/// Two entries that select by labels, with names that vary.
fn side_by_side(of_one: (&str, &str), of_other: (&str, &str), more: &str) -> String {
    let sound = Parts::sound();
    let entry = |name: &str, (written, selected): (&str, &str), more: &str| {
        format!(
            "  - name: {name}\n    manifest: {{apiVersion: example.io/v1, kind: ConfigMap, metadata: {{name: \"{name}-{{{{ .generation }}}}\", labels: \
             {{{written}}}}}}}\n    discovery: {{by_selectors: {{label_selector: {{{selected}}}}}}}\n{more}"
        )
    };
    let actions = sound.actions.clone() + "    - {name: note, log: {message: \"{{ .adapter.outcomes }}\"}}\n";
    let resources = entry("job", of_one, more) + &entry("other", of_other, "");
    Parts { before: PARAMS, resources, actions, ..sound }.text()
}

pub(super) fn selectors() -> Vec<(&'static str, String)> {
    let shared = ("app: \"{{ .clusterId }}\"", "app: \"{{ .clusterId }}\"");
    let within = ("app: \"{{ .clusterId }}\", side: left", "app: \"{{ .clusterId }}\", side: left");
    let delete = written(&[("delete", "isDeleting")]);
    vec![
        ("one selector for two entries", side_by_side(shared, shared, &delete)),
        ("a selector within another one", side_by_side(within, shared, &written(&[("orphan", "isDeleting")]))),
        (
            "one selector for two entries, one with retention",
            side_by_side(shared, shared, "    retention: {historyLimit: 1}\n"),
        ),
    ]
}

pub(super) fn discovery() -> Vec<(&'static str, String)> {
    let object = |metadata: &str, discovery: &str| {
        with_params(format!(
            "  - name: job\n    manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}\n    discovery: {discovery}\n"
        ))
    };
    let by_label =
        |metadata: &str, label: &str| object(metadata, &format!("{{by_selectors: {{label_selector: {{{label}}}}}}}"));
    let two = |one: String, other: String| {
        let sound = Parts::sound();
        let reads = "    - {name: note, log: {message: \"{{ .adapter.outcomes }}\"}}\n";
        Parts { before: PARAMS, resources: one + &other, actions: sound.actions.clone() + reads, ..sound }.text()
    };
    let again = |text: String| text.replacen("name: job", "name: other", 1);
    vec![
        (
            "a name that is looked for in no namespace",
            object("{name: a, namespace: \"{{ .clusterId }}\"}", "{by_name: a}"),
        ),
        (
            "a name of an unknown kind that is looked for in no namespace",
            object("{name: a, namespace: n}", "{by_name: a}").replace("apiVersion: v1", "apiVersion: example.io/v1"),
        ),
        ("a name of a namespaced kind that is looked for in no namespace", object("{name: a}", "{by_name: a}")),
        ("another name", object("{name: x}", "{by_name: y}")),
        ("another namespace", object("{name: x, namespace: a}", "{by_name: x, namespace: b}")),
        ("a label that is not there", by_label("{name: x, labels: {b: c}}", "a: \"{{ .clusterId }}\"")),
        ("another label", by_label("{name: x, labels: {a: c}}", "a: b")),
        ("no labels", by_label("{name: x}", "a: b")),
        ("the name of another entry", by_label("{name: x}", "hyperfleet.io/resource: other")),
        ("the label of another entry", by_label("{name: x, labels: {hyperfleet.io/resource: other, a: b}}", "a: b")),
        ("a name with the time in it", object("{name: \"{{ .now }}\"}", "{by_name: \"x-{{ now | date `150405` }}\"}")),
        ("a name that is the time", object("{name: \"{{ .now }}\"}", "{by_name: \"{{ .now }}\"}")),
        ("the same object twice, by name", two(resource("job", ""), again(resource("job", "")))),
        (
            "the same object twice, by label",
            two(selected("job", ""), again(selected("job", &written(&[("when", "phase == 'x'")])))),
        ),
    ]
}

pub(super) fn in_order() -> Vec<(&'static str, String)> {
    let annotation = "patch {metadata: {annotations: {example.io/tier: '{{ .phase }}'}}}";
    let recreate = written(&[("recreate", "resources.job.status.failed > 3")]);
    let delete = written(&[("delete", "isDeleting")]);
    let two = |one: String, other: String| {
        let sound = Parts::sound();
        let reads = "    - {name: note, log: {message: \"{{ .adapter.outcomes }}\"}}\n";
        Parts { before: PARAMS, resources: one + &other, actions: sound.actions.clone() + reads, ..sound }.text()
    };
    let again = |text: String| text.replacen("name: job", "name: other", 1);
    let own = |side: &str| format!("app: \"{{{{ .clusterId }}}}\", side: {side}");
    let (left, right) = (own("left"), own("right"));
    let named = "app: \"{{ .clusterId }}\", hyperfleet.io/resource: job";
    let shared = "app: \"{{ .clusterId }}\"";
    let by_mark = |key: &str, value: &str| {
        with_params(selected("job", &delete))
            .replace("label_selector: {app: x}", &format!("label_selector: {{app: x, {key}: {value}}}"))
    };
    vec![
        ("a selector of this entry's objects", by_mark("hyperfleet.io/resource", "job")),
        ("a selector of this adapter's objects", by_mark("hyperfleet.io/adapter", "x")),
        ("selectors that find no object of each other", side_by_side((&left, &left), (&right, &right), &delete)),
        ("selectors that share a label, and each names its entry", side_by_side((shared, named), (shared, shared), &delete)),
        ("one selector for two entries that let go of nothing", side_by_side((shared, shared), (shared, shared), "")),
        (
            "a deletion that waits for what is inside of another one",
            with_params(
                resource("job", &delete)
                    + &resource("secret", "    nested_discoveries: [{name: inner, discovery: {by_name: x}}]\n"),
            )
            .replace("expression: \"isDeleting\"", "expression: \"isDeleting && !resources.?inner.hasValue()\"")
            .replace("resources.?job.hasValue()", "has(resources.secret) && has(resources.job)"),
        ),
        ("a deletion that asks what is inside", with_nested(&written(&[("delete", "isDeleting && resources.?inner.?status.?ready.orValue(true)")]))),
        (
            "an orphan gate that waits for a label that somebody else sets",
            with_gates(&[(
                "orphan",
                "isDeleting && resources.?job.hasValue() && 'example.io/done' in resources.job.metadata.labels",
            )]),
        ),
        (
            "a delete gate that demands its object, which a when holds back",
            with_gates(&[("when", "!isDeleting"), ("delete", "isDeleting && resources.?job.hasValue()")]),
        ),
        (
            "an orphan gate that demands its object, beside a delete gate that does not",
            with_gates(&[("orphan", "handover && has(resources.job)"), ("delete", "isDeleting && !handover")]),
        ),
        (
            "a when that waits for the object to be older",
            with_gates(&[(
                "when",
                "!resources.?job.hasValue() || timestamp(resources.job.metadata.creationTimestamp) < timestamp(now()) - duration('10m')",
            )]),
        ),
        ("an apply gate that creates only", with_gates(&[("apply", "!resources.?job.hasValue()")])),
        ("a when that creates only", with_gates(&[("when", "!resources.?job.hasValue()")])),
        (
            "an apply gate that creates only, with patches and recreation",
            with_gates(&[
                ("apply", "!resources.?job.hasValue()"),
                ("recreate", "resources.job.status.failed > 3"),
                (annotation, "dig(resources.job.metadata.annotations, 'example.io/tier') != phase"),
            ]),
        ),
        ("a gate that reads its object as an optional", with_gates(&[("when", "resources.?job.?status.?ready.orValue(true)")])),
        ("a debounced recreation", with_gates(&[("when", "!has(resources.job) || phase == 'x'"), ("recreate", "true")])),
        (
            "disowning and deletion by policy",
            with_gates(&[("orphan", "isDeleting && phase == 'Retain'"), ("delete", "isDeleting && phase != 'Retain'")]),
        ),
        (
            "disowning and deletion by different policies",
            with_gates(&[("orphan", "isDeleting && phase == 'Retain'"), ("delete", "isDeleting && phase == 'Delete'")]),
        ),
        ("disowning and deletion by a param", with_gates(&[("orphan", "handover"), ("delete", "isDeleting && !handover")])),
        (
            "disowning and deletion by what is and what is not a deletion",
            with_gates(&[("detach", "!isDeleting && phase == 'Handover'"), ("delete", "isDeleting")]),
        ),
        (
            "disowning and deletion of which nothing is known",
            with_gates(&[("orphan", "phase == 'Handover'"), ("delete", "isDeleting")]),
        ),
        ("an orphan gate alone", with_gates(&[("orphan", "isDeleting")])),
        (
            "a patch that compares",
            with_gates(&[(
                annotation,
                "resources.?job.hasValue() && dig(resources.job.metadata.annotations, 'example.io/tier') != phase",
            )]),
        ),
        (
            "a patch that compares an optional entry",
            with_gates(&[(annotation, "resources.?job.?metadata.?annotations[?'example.io/tier'].orValue('') != phase")]),
        ),
        (
            "a patch that looks for a key",
            with_gates(&[(annotation, "!('example.io/tier' in resources.job.metadata.annotations)")]),
        ),
        (
            "a patch that compares what is deeper",
            with_gates(&[("patch {spec: {suspend: true}}", "dig(resources.job, 'spec.suspend') != true")]),
        ),
        (
            "a patch that compares a key with dots, by its whole path",
            with_gates(&[(annotation, "dig(resources.job, 'metadata.annotations.example.io/tier') != phase")]),
        ),
        (
            "a patch that compares what is around",
            with_gates(&[("patch {spec: {suspend: true}}", "toJson(resources.job.spec) != phase")]),
        ),
        ("a patch that follows a status", with_gates(&[(annotation, "resources.job.status.phase == 'Paused'")])),
        ("a patch that reads everything", with_gates(&[(annotation, "size(resources) > 1")])),
        (
            "a patch of a Secret's text, which the server encodes",
            with_gates(&[("patch {stringData: {mode: \"{{ .phase }}\"}}", "dig(resources.job.data, 'mode') != base64.encode(bytes(phase))")])
                .replace("example.io/v1, kind: Task, metadata: {name: job}", "v1, kind: Secret, metadata: {name: job, namespace: n}")
                .replace("{by_name: job}", "{by_name: job, namespace: n}"),
        ),
        (
            "a patch with a key that is a template",
            with_gates(&[(
                "patch {metadata: {labels: {'{{ .phase }}': x}}}",
                "resources.job.metadata.labels.tier == 'a'",
            )]),
        ),
        (
            "a patch of what is found inside",
            with_params(resource(
                "job",
                &format!(
                    "    nested_discoveries: [{{name: inner, discovery: {{by_name: x}}}}]\n{}",
                    written(&[(annotation, "resources.?inner.?ready.orValue(false)")])
                ),
            )),
        ),
        ("a name by the generation", versions_named("job-{{ .generation }}", OF_CLUSTER, &recreate)),
        ("a name by the time", versions_named("job-{{ now | date `150405` }}", OF_CLUSTER, &recreate)),
        ("a name by the deployment", versions_named("job-{{ .region }}", OF_CLUSTER, &recreate)),
        (
            "a name by what a precondition captures",
            versions_named("job-{{ .clusterId }}", OF_CLUSTER, &recreate).replace(
                "resources:\n",
                "preconditions: [{name: p, api_call: {method: GET, url: /x}, capture: [{name: clusterId, field: id}]}]\nresources:\n",
            ),
        ),
        ("an owner that stays", owned("", "")),
        ("an owner that is never recreated", owned(&written(&[("create", "!isDeleting")]), "")),
        ("an owner that is deleted with its object", owned(&delete, &delete)),
        ("an owner that is deleted, of an object that heeds it", owned(&delete, &written(&[("when", "!isDeleting")]))),
        ("an owner that is deleted, of an object that is created before", owned(&delete, &written(&[("create", "!isDeleting")]))),
        ("an owner of an object whose namespace is not looked for", owned("", "").replace("{by_name: x, namespace: job}", "{by_selectors: {label_selector: {app: x}}}").replace("{name: x, namespace: job}", "{name: x, namespace: job, labels: {app: x}}")),
        (
            "no namespace, of a kind that may be in none",
            with_params(
                "  - name: job\n    manifest: {apiVersion: example.io/v1, kind: Task, metadata: {name: x}}\n    discovery: {by_name: x, namespace: y}\n"
                    .to_owned(),
            ),
        ),
        (
            "labels that are stamped",
            with_params(
                "  - name: job\n    manifest: {apiVersion: example.io/v1, kind: ConfigMap, metadata: {name: x}}\n    discovery: {by_selectors: {label_selector: {hyperfleet.io/adapter: a, hyperfleet.io/resource-id: \"{{ .clusterId }}\", hyperfleet.io/resource: job}}}\n"
                    .to_owned(),
            ),
        ),
        (
            "labels that only an event reveals",
            with_params(
                "  - name: job\n    manifest: {apiVersion: example.io/v1, kind: ConfigMap, metadata: {name: \"{{ .clusterId }}\", labels: {a: \"{{ .clusterId }}\", b: c}}}\n    discovery: {by_selectors: {label_selector: {a: x, b: \"{{ .phase }}\", \"{{ .region }}\": x}}}\n"
                    .to_owned(),
            ),
        ),
        (
            "the same object twice, by turns",
            two(
                resource("job", &written(&[("when", "phase == 'x'")])),
                again(resource("job", &written(&[("create", "phase != 'x'")]))),
            ),
        ),
        (
            "the same name in two namespaces",
            two(
                resource("job", "").replace("metadata: {name: job", "metadata: {namespace: a, name: job").replace("{by_name: job}", "{by_name: job, namespace: a}"),
                again(resource("job", "").replace("metadata: {name: job", "metadata: {namespace: b, name: job").replace("{by_name: job}", "{by_name: job, namespace: b}")),
            ),
        ),
        (
            "the same labels and different names",
            two(selected("job", ""), again(selected("job", "").replace("metadata: {name: job", "metadata: {name: x"))),
        ),
    ]
}

/// A sound task of many resources that read each other.
pub(super) fn many(entries: usize) -> String {
    let resource = |index: usize| {
        let name = format!("r{index}");
        let next = (index + 1) % entries;
        let claim = if index.is_multiple_of(2) { "" } else { ".?claim" };
        let delete = format!("isDeleting && !resources.?r{next}{claim}.hasValue()");
        let gates = [("create", "!isDeleting".to_owned()), ("delete", delete)];
        resource(&name, &written(&gates.each_ref().map(|(key, gate)| (*key, gate.as_str()))))
    };
    with_params((0..entries).map(resource).collect())
}
