//! Deletions that leave something or never end, statuses that say too much, and fields that the API spells otherwise.

use lifecycle_config::diagnostics::Severity;

use super::lints;

const BEFORE: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: isDeleting, source: {expression: cluster.?deleted_time.orValue(null) != null}}
"#;

/// The messages and cures of a task that contain a text.
fn about(text: &str, part: &str) -> String {
    let found = lints(text);
    let lines = found.all().iter().map(|it| format!("{} | {}\n", it.message, it.help.clone().unwrap_or_default()));
    lines.filter(|line| line.contains(part)).collect()
}

fn assert_all(part: &str, cases: &[(&str, String, &str)]) {
    for (name, text, expected) in cases {
        let found = about(text, part);
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}\n{text}");
    }
}

const DELETE: &str = "    lifecycle: {delete: {when: {expression: isDeleting}}}\n";
const FINALIZED: &str = "isDeleting && adapter.outcomes.?x.?finalized.orValue(false)";

fn entry(name: &str, version: &str, kind: &str, spec: &str, more: &str) -> String {
    format!(
        "  - name: {name}\n    manifest: {{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}, namespace: n}}{spec}}}\n    \
         discovery: {{by_name: {name}, namespace: n}}\n{more}"
    )
}

/// A status with a condition of this type, whose status is an expression.
fn status(kind: &str, expression: &str, when: &str) -> String {
    format!(
        "post:\n  payloads:\n    - name: status\n{when}      build:\n        adapter: '{{{{ .adapter.name }}}}'\n        conditions:\n          - \
         {{type: {kind}, status: {{expression: \"{expression}\"}}}}\n  post_actions:\n    - {{name: report, api_call: {{method: PUT, url: \
         \"/clusters/{{{{ .clusterId }}}}/statuses\", body: '{{{{ .status }}}}'}}}}\n"
    )
}

fn finalized(condition: &str, when: &str) -> String {
    status("Finalized", &format!("{condition} ? 'True' : 'False'"), when)
}

#[test]
fn check_warns_of_a_finalized_that_is_never_true_in_a_deletion() {
    let task = |condition: &str| {
        format!("{BEFORE}resources:\n{}{}", entry("x", "v1", "ConfigMap", "", DELETE), finalized(condition, ""))
    };
    assert_all(
        "is never True while",
        &[
            ("an inverted test", task(&format!("!{FINALIZED}")), "`isDeleting && …`"),
            ("a sound one", task(FINALIZED), ""),
            ("one without a test", task("adapter.outcomes.?x.?finalized.orValue(false)"), ""),
        ],
    );
}

#[test]
fn check_warns_of_a_status_that_is_not_sent_in_a_deletion() {
    let task = |gate: &str, when: &str, more: &str| {
        format!("{BEFORE}resources:\n{}{}{more}", entry("x", "v1", "ConfigMap", "", gate), finalized(FINALIZED, when))
    };
    let living = "      when: {expression: \"!isDeleting\"}\n";
    let second = "    - {name: again, api_call: {method: PUT, url: \"/clusters/{{ .clusterId }}/statuses\", body: '{{ .status }}'}}\n";
    let of_action = |text: String, when: &str| text.replace("{name: report, ", &format!("{{name: report, {when}, "));
    let not_deleting = "when: {expression: \"!isDeleting\"}";
    let other = |body: &str| format!("    - {{name: gone, api_call: {{method: PUT, url: /x, body: '{body}'}}}}\n");
    let of_payload = |conditions: &str| {
        let payload = format!("  payloads:\n    - name: gone\n      build: {{adapter: a, conditions: {conditions}}}\n");
        task(DELETE, living, &other("{{ .gone }}")).replace("  payloads:\n", &payload)
    };
    assert_all(
        "no other report has `Finalized`",
        &[
            ("a payload", task(DELETE, living, ""), "does not hold while the API resource is being deleted"),
            ("an action", of_action(task(DELETE, "", ""), not_deleting), "does not hold while"),
            ("an action beside another one", of_action(task(DELETE, "", second), not_deleting), ""),
            ("a task that deletes nothing", task("", living, ""), ""),
            ("a note beside it", task(DELETE, living, &other("a note on {{ .status }}")), "does not hold while"),
            ("a body of its own", task(DELETE, living, &other("{{ toJson .cluster }}")), ""),
            ("one that writes it", task(DELETE, living, &other("[{\"type\": \"Finalized\"}]")), ""),
            ("conditions of the task", of_payload("[{type: Applied, status: \"True\"}]"), "does not hold while"),
            ("conditions of a bundle", of_payload("{expression: adapter.conditions.x}"), "does not hold while"),
            ("conditions of a param", of_payload("{expression: cluster.conditions}"), ""),
            ("a type of a param", of_payload("[{type: \"{{ .cluster.a }}\", status: \"True\"}]"), ""),
            ("another condition", task(DELETE, "      when: {expression: cluster.spec.a}\n", ""), ""),
        ],
    );
}

#[test]
fn check_warns_of_a_gate_that_needs_what_goes_in_the_same_deletion() {
    let gated = |expression: &str| format!("    lifecycle: {{delete: {{when: {{expression: \"{expression}\"}}}}}}\n");
    let task = |gate: &str, of_other: &str| {
        format!(
            "{BEFORE}resources:\n{}{}",
            entry("x", "v1", "ConfigMap", "", &gated(gate)),
            entry("y", "v1", "Secret", "", of_other)
        )
    };
    let cleaned = "isDeleting && resources.?y.?status.?succeeded.orValue(0) > 0";
    let waits_for = |name: &str| gated(&format!("isDeleting && !resources.?{name}.hasValue()"));
    let chain = task(cleaned, &waits_for("z")) + &entry("z", "v1", "Secret", "", &waits_for("x"));
    assert_all(
        "holds only while `y` is there",
        &[
            (
                "the wrong way around",
                task("isDeleting && resources.?y.hasValue()", DELETE),
                "write `!resources.?y.hasValue()`",
            ),
            ("the right way", task("isDeleting && !resources.?y.hasValue()", DELETE), ""),
            ("an object that stays", task("isDeleting && resources.?y.hasValue()", ""), ""),
            ("either way", task("isDeleting || resources.?y.hasValue()", DELETE), ""),
            ("a clean-up that waits for it", task(cleaned, &waits_for("x")), ""),
            ("one that waits for another one that does", chain, ""),
            ("one that waits for nothing", task(cleaned, DELETE), "nothing deletes `x`"),
        ],
    );
}

#[test]
fn check_warns_of_what_a_deletion_leaves_behind() {
    let gate = |policy: &str| {
        format!("    lifecycle: {{delete: {{when: {{expression: isDeleting}}, propagationPolicy: {policy}}}}}\n")
    };
    let here = |kind: (&str, &str), policy: &str, report: &str| {
        format!("{BEFORE}resources:\n{}{report}", entry("x", kind.0, kind.1, "", &gate(policy)))
    };
    let work = |policy: &str, gate: &str| {
        let spec = format!(", spec: {{deleteOption: {{propagationPolicy: {policy}}}}}");
        let work = entry("x", "work.open-cluster-management.io/v1", "ManifestWork", &spec, gate);
        let remote =
            work.replace("name: x\n", "name: x\n    transport: {client: maestro, maestro: {target_cluster: c}}\n");
        format!("{BEFORE}resources:\n{remote}{}", finalized(FINALIZED, ""))
    };
    let report = finalized(FINALIZED, "");
    let deployment = ("apps/v1", "Deployment");
    assert_all(
        "`Finalized` says that nothing is left",
        &[
            ("Pods", here(deployment, "Orphan", &report), "keeps the Pods of `x` running"),
            ("Pods that go", here(deployment, "Foreground", &report), ""),
            ("no report", here(deployment, "Orphan", ""), ""),
            ("what has no dependents", here(("v1", "ConfigMap"), "Orphan", &report), ""),
            ("a work", work("Orphan", DELETE), "leaves all objects of the work on their cluster"),
            ("a work that is kept", work("Orphan", ""), ""),
            ("a part of a work", work("SelectivelyOrphan", DELETE), ""),
        ],
    );
    let severities = |text: &str| {
        let found = lints(text);
        let mut about = found.all().iter().filter(|it| it.message.contains("`Finalized` says that nothing is left"));
        (about.next().map(|it| it.severity), about.count())
    };
    for (gate, severity) in [
        ("isDeleting", Severity::Warning),
        ("isDeleting || cluster.?spec.?handover.orValue(false)", Severity::Note),
        ("cluster.?spec.?handover.orValue(false)", Severity::Note),
    ] {
        for text in [here(deployment, "Orphan", &report), work("Orphan", DELETE)] {
            let text = text.replace("expression: isDeleting", &format!("expression: \"{gate}\""));
            assert_eq!(severities(&text), (Some(severity), 0), "{text}");
        }
    }
    assert!(about(&work("Orphans", DELETE), "no propagation policy").contains("write one of `Foreground`, `Orphan`"));
    assert_eq!(about(&work("Foreground", DELETE), "no propagation policy"), "");
}

#[test]
fn check_warns_of_an_operator_that_goes_before_its_instance() {
    let object = |version: &str, kind: &str, name: &str, order: &str, more: &str| {
        format!(
            "        - {{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}, annotations: {{hyperfleet.io/delete-order: \"{order}\"}}}}{more}}}\n"
        )
    };
    let definition = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "foos.example.io",
        "0",
        ", spec: {group: example.io, names: {kind: Foo, plural: foos}}",
    );
    let bundle = |operator: &str, instance: &str, more: &str, gate: &str| {
        let operator = object("apps/v1", "Deployment", "operator", operator, "");
        let instance = object("example.io/v1", "Foo", "foo", instance, "");
        format!(
            "{BEFORE}resources:\n  - name: x\n    bundle:\n      manifests:\n{definition}{operator}{instance}{more}{gate}"
        )
    };
    let second = object("apps/v1", "Deployment", "other", "5", "");
    assert_all(
        "nothing removes it",
        &[
            ("an operator before", bundle("-1", "0", "", DELETE), "remove `delete-order` from both"),
            ("one after", bundle("1", "0", "", DELETE), ""),
            ("one in the same wave", bundle("0", "0", "", DELETE), ""),
            ("another workload after", bundle("-1", "0", &second, DELETE), ""),
            ("a bundle that stays", bundle("-1", "0", "", ""), ""),
        ],
    );
    let found = lints(&bundle("-1", "0", "", DELETE));
    let severity = found.all().iter().find(|it| it.message.contains("nothing removes it")).map(|it| it.severity);
    assert_eq!(severity, Some(Severity::Note), "another workload can be the operator: {found}");
}

#[test]
fn what_is_wrong_with_an_object_of_a_text_is_said_at_its_document() {
    let claim = "apiVersion: v1\n          kind: PersistentVolumeClaim\n          metadata: {name: b, namespace: n}";
    let text = format!(
        "resources:\n  - name: x\n    bundle:\n      policies: {{update: recreate}}\n      manifests:\n        - {{apiVersion: v1, kind: ConfigMap, \
         metadata: {{name: a}}}}\n        - |\n          apiVersion: v1\n          kind: Secret\n          metadata: {{name: c}}\n          ---\n          {claim}\n"
    );
    let found = lints(&text);
    let found =
        found.all().iter().find(|it| it.message.contains("and its data with it")).map(|it| (it.path.as_str(), it.line));
    assert_eq!(found, Some(("resources[0].bundle.manifests[1]", Some(12))), "{text}");
}

#[test]
fn check_warns_of_an_available_that_no_status_supports() {
    let task = |version: &str, kind: &str, expression: &str| {
        let status = status("Available", &format!("{expression} ? 'True' : 'False'"), "");
        format!("{BEFORE}resources:\n{}{status}", entry("x", version, kind, "", ""))
    };
    let conditions = "resources.?x.?status.?conditions.orValue([])";
    let all = format!("{conditions}.all(c, c.status == 'True')");
    let exists = format!("{conditions}.exists(c, c.type == 'Available' && c.status == 'True')");
    assert_all(
        "is True as soon as",
        &[
            (
                "a stored work",
                task("work.open-cluster-management.io/v1", "ManifestWork", "resources.?x.hasValue()"),
                "c.type == 'Available'",
            ),
            ("an object that is there", task("apps/v1", "Deployment", "resources.?x.hasValue()"), ""),
            ("all of none", task("batch/v1", "Job", &all), "c.type == 'Complete'"),
            ("a condition", task("apps/v1", "Deployment", &exists), ""),
            ("what needs no status", task("v1", "ConfigMap", "resources.?x.hasValue()"), ""),
            (
                "a default of the server",
                task(
                    "apps/v1",
                    "Deployment",
                    "resources.?x.?status.?readyReplicas.orValue(0) == resources.?x.?spec.?replicas.orValue(0)",
                ),
                "",
            ),
            ("another variable", task("apps/v1", "Deployment", "resources.?x.hasValue() && cluster.spec.a"), ""),
        ],
    );
}

#[test]
fn check_warns_of_two_conditions_of_one_type() {
    let one = format!("{BEFORE}resources:\n{}{}", entry("x", "v1", "ConfigMap", "", DELETE), finalized(FINALIZED, ""));
    let two = one.replace("conditions:\n", "conditions:\n          - {type: Finalized, status: \"False\"}\n");
    assert_all("two conditions `Finalized`", &[("two", two, "remove one of them"), ("one", one, "")]);
}

#[test]
fn check_warns_of_fields_that_the_api_spells_otherwise() {
    let param = |source: &str| format!("{BEFORE}  - {{name: tier, source: {source}}}\nresources: []\n");
    let manifest = |variable: &str| {
        let data = format!(", data: {{a: '{{{{ .{variable} }}}}'}}");
        format!("{BEFORE}resources:\n{}", entry("x", "v1", "ConfigMap", &data, ""))
    };
    let answer = |url: &str| {
        let answer = format!("  - {{name: own, source: {{api_call: {{method: GET, url: \"{url}\"}}}}}}\n");
        format!("{BEFORE}{answer}  - {{name: tier, source: own.Spec.tier, default: a}}\nresources: []\n")
    };
    assert_all(
        "never exists: the API's answer has",
        &[
            ("below another one", answer("/clusters/{{ .cluster.id }}/nodepools/{{ .clusterId }}"), "write `spec`"),
            ("a path from the root", answer("/api/hyperfleet/v1/clusters/{{ .clusterId }}/"), "write `spec`"),
            ("the event's `href`", answer("{{ .event.href }}"), "write `spec`"),
            ("another host", answer("https://inventory.example.com/clusters/{{ .clusterId }}"), ""),
            ("a host of an event", answer("{{ .event.base }}/clusters/{{ .clusterId }}"), ""),
            ("another path", answer("/inventory/v1/items/{{ .clusterId }}"), ""),
            ("a path of two parts more", answer("/api/inventory/v1/{{ .clusterId }}"), ""),
            ("a path", param("cluster.Spec.tier, default: a"), "write `spec`"),
            ("an expression", param("{expression: cluster.?updatedTime.orValue('')}"), "write `updated_time`"),
            ("a manifest", manifest("cluster.Labels.a"), "write `labels`"),
            ("the API's own", param("cluster.spec.Tier"), ""),
            ("an unknown one", param("cluster.other"), ""),
            ("another answer", param("event.Spec"), ""),
        ],
    );
}

#[test]
fn check_warns_of_a_ready_rule_that_gives_no_boolean() {
    let bundle = |expression: &str| {
        format!(
            "{BEFORE}resources:\n  - name: x\n    bundle:\n      ready: [{{kind: ConfigMap, expression: \"{expression}\"}}]\n      manifests: \
             [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}]\n"
        )
    };
    assert_all(
        "only `true` says that an object is ready",
        &[
            ("a text", bundle("string(object.status.phase)"), "gives a text"),
            ("a test", bundle("object.status.phase == 'Running'"), ""),
            ("a field of any type", bundle("object.status.ready"), ""),
        ],
    );
}
