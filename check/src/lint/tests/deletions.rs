//! Tests of gates that take away an object in the wrong state of the API resource, or fail once something is gone.

use super::cases::{Parts, resource};
use super::lifecycle::written;
use super::lints;

/// What a task makes of the API's answer about the event's resource, by param and by precondition.
const BEFORE: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: fleet, source: {api_call: {method: GET, url: "/fleets/{{ .clusterId }}/policy"}}}
  - {name: isDeleting, source: {expression: cluster.?deleted_time.orValue(null) != null}}
  - {name: lives, source: {expression: "!isDeleting"}}
  - {name: deletedTime, source: cluster.deleted_time, default: none}
  - {name: since, source: {expression: "cluster.?deleted_time.orValue('')"}, default: never}
  - {name: misspelt, source: {expression: cluster.?deletedTime.hasValue()}}
  - {name: enabled, source: cluster.spec.enabled}
preconditions:
  - name: own
    api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}
    capture: [{name: captured, field: deleted_time}, {name: computed, expression: "deleted_time != null"}]
    conditions: [{field: captured, operator: notEquals, value: x}]
"#;

fn task(of_job: &[(&str, &str)], of_other: &[(&str, &str)]) -> String {
    let resources = resource("job", &written(of_job)) + &resource("other", &written(of_other));
    Parts { before: BEFORE, resources, ..Parts::sound() }.text()
}

/// The messages and cures at a gate of the first resource.
fn at(key: &str, expression: &str, more: &[(&str, &str)], of_other: &[(&str, &str)]) -> String {
    let gates = [&[(key, expression)], more].concat();
    let path = match key {
        "when" => "resources[0].when.expression".to_owned(),
        key => format!("resources[0].lifecycle.{key}.when.expression"),
    };
    let found = lints(&task(&gates, of_other));
    let at_gate = found.all().iter().filter(|found| found.path == path);
    at_gate.map(|found| format!("{} | {}\n", found.message, found.help.clone().unwrap_or_default())).collect()
}

fn delete(expression: &str) -> String {
    at("delete", expression, &[], &[])
}

const INVERTED: &str = "holds for an API resource that lives, and not for one that is being deleted";
const NEVER: &str = "holds for none that lives: `job` is never deleted";
const PARTLY: &str = "can hold for an API resource that lives";
const ALWAYS: &str = "always holds for an API resource that lives";

#[test]
fn check_warns_of_a_delete_gate_that_holds_for_the_living() {
    let cases = [
        ("!isDeleting", INVERTED),
        ("lives", INVERTED),
        ("cluster.?deleted_time.orValue(null) == null", INVERTED),
        ("dig(cluster, 'deleted_time') == null", INVERTED),
        ("deletedTime == 'none'", INVERTED),
        ("since == 'never'", INVERTED),
        ("captured == null", INVERTED),
        ("!computed", INVERTED),
        ("lives && enabled == 'no'", INVERTED),
        ("!isDeleting || enabled == 'no'", ALWAYS),
        ("deletedTime != 'x'", ALWAYS),
        ("cluster.?deletedTime.hasValue()", NEVER),
        ("cluster.?deletedTime.orValue(null) != null", NEVER),
        ("has(cluster.deletion_timestamp)", NEVER),
        ("'deletedAt' in cluster && enabled == 'no'", NEVER),
        ("misspelt", NEVER),
        ("cluster.deleted_at != null", NEVER),
    ];
    for (expression, expected) in cases {
        let found = delete(expression);
        assert!(found.contains(expected), "{expression}: {found}");
        assert!(found.contains("`cluster.?deleted_time.orValue(null) != null`"), "{expression}: {found}");
    }
}

#[test]
fn delete_gate_that_follows_the_deletion_gets_no_warning() {
    for expression in [
        "isDeleting",
        "computed",
        "captured != null",
        "since != 'never'",
        "isDeleting && !resources.?other.hasValue()",
        "isDeleting || enabled == 'no'",
        "enabled == 'no'",
        "fleet.?deletedTime.hasValue()",
        "cluster.spec.?deletedTime.hasValue()",
        "cluster.?deleted_by.orValue(null) != null",
        "deletedTime != 'none'",
    ] {
        // `other` goes first, so that the order of the deletion is sound.
        let found = at("delete", expression, &[("create", "!isDeleting")], &[("delete", "isDeleting")]);
        let expected = if expression == "isDeleting || enabled == 'no'" { PARTLY } else { "" };
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{expression}: {found}");
    }
    let kept = at("delete", "lives && enabled == 'no'", &[("orphan", "isDeleting")], &[]);
    assert_eq!(kept, "", "the object is disowned when the API resource goes");
}

#[test]
fn check_names_the_field_that_a_misspelt_one_is_meant_for() {
    let found = lints(&task(&[("delete", "isDeleting")], &[])).to_string();
    assert!(found.contains("params[7].source.expression: `cluster.deletedTime` never exists"), "{found}");
    assert!(found.contains("the whole test is `cluster.?deleted_time.orValue(null) != null`"), "{found}");
    assert!(delete("cluster.?deletedAt.hasValue()").contains("`cluster.deletedAt` never exists"));
    assert!(!delete("cluster.?created_time.hasValue()").contains("never exists"));
}

#[test]
fn check_warns_of_a_gate_that_reads_the_outcomes() {
    for (key, expression) in [
        ("delete", "isDeleting && adapter.?outcomes.?other.?finalized.orValue(false)"),
        ("delete", "isDeleting && adapter.outcomes.other.finalized"),
        ("when", "adapter.?outcomes.?other.?decision.orValue('') == 'skip'"),
        ("create", "!has(adapter.resourceErrors.other)"),
    ] {
        let found = at(key, expression, &[], &[("delete", "isDeleting")]);
        assert!(found.contains("which is set after all resources were handled"), "{key} {expression}: {found}");
    }
}

#[test]
fn check_warns_of_a_removal_that_fails_once_something_is_gone() {
    let other = [("delete", "isDeleting")];
    let absent = "fails while `resources.other` is absent (`GateFailed`)";
    let label = "fails once `other` has no `labels` with the key `tier` (`GateFailed`)";
    let cases = [
        ("isDeleting && resources.other.status.phase == 'Done'", Some(absent)),
        ("isDeleting && dig(resources.other, 'status.phase') == 'Done'", Some(absent)),
        ("isDeleting && resources.other.?status.?phase.orValue('') == 'Done'", Some(absent)),
        ("isDeleting && resources.other.metadata.labels['tier'] == 'x'", Some(absent)),
        ("isDeleting && has(resources.other) && resources.other.metadata.labels['tier'] == 'x'", Some(label)),
        ("isDeleting && resources.job.status.phase == 'Done'", Some("fails while `resources.job` is absent")),
        ("isDeleting && resources.?other.?status.?phase.orValue('') == 'Done'", None),
        ("isDeleting && resources.?other.?metadata.?labels[?'tier'].orValue('') == 'x'", None),
        ("isDeleting && (!has(resources.other) || resources.other.status.phase == 'Done')", None),
    ];
    for key in ["delete", "orphan"] {
        for (expression, expected) in cases {
            let found = at(key, expression, &[], &other);
            match expected {
                Some(expected) => assert!(found.contains(expected), "{key} {expression}: {found}"),
                None => assert!(!found.contains("GateFailed"), "{key} {expression}: {found}"),
            }
        }
    }
}

#[test]
fn cures_read_nothing_that_may_be_absent() {
    let conflict = at(
        "orphan",
        "resources.job.status.phase == 'Done'",
        &[("delete", "resources.job.status.phase == 'Done'")],
        &[],
    );
    assert!(!conflict.contains("!(resources.job"), "{conflict}");
    let optional = delete("resources.job.?spec");
    assert!(optional.contains("`resources.?job.?spec.hasValue()`"), "{optional}");
}

#[test]
fn check_warns_of_a_precondition_that_ends_deletions() {
    let with = |expression: &str, discover: &str, entry: &str| {
        let before = format!(
            "{discover}{}",
            BEFORE.replace("    conditions: [{field: captured, operator: notEquals, value: x}]\n", "")
        ) + &format!("  - {{name: needed, expression: \"{expression}\"}}\n");
        Parts { before: Box::leak(before.into_boxed_str()), resources: entry.to_owned(), ..Parts::sound() }.text()
    };
    let plain = resource("job", &written(&[("delete", "isDeleting")]));
    let bundle = "  - name: job\n    bundle: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}}]}\n    lifecycle: {delete: {when: {expression: isDeleting}}}\n";
    let told = |text: &str| lints(text).to_string().contains("is not met while the API resource is being deleted");
    for entry in [plain.as_str(), bundle] {
        for discover in ["", "discover: always\n"] {
            assert!(told(&with("!isDeleting", discover, entry)), "{discover}{entry}");
            assert!(told(&with("lives && enabled == 'yes'", discover, entry)), "{discover}{entry}");
            assert!(!told(&with("isDeleting || enabled == 'yes'", discover, entry)), "{discover}{entry}");
            assert!(!told(&with("enabled == 'yes'", discover, entry)), "{discover}{entry}");
        }
    }
    assert!(!told(&with("!isDeleting", "", &resource("job", ""))), "nothing is to be deleted");
    let conditions =
        |written: &str| with("", "", &plain).replace("expression: \"\"}", &format!("conditions: [{written}]}}"));
    for (written, expected) in [
        ("{field: isDeleting, operator: equals, value: false}", true),
        ("{field: isDeleting, operator: notEquals, value: true}", true),
        ("{field: isDeleting, operator: in, values: [false]}", true),
        ("{field: isDeleting, operator: notIn, values: [true]}", true),
        ("{field: deletedTime, operator: equals, value: none}", true),
        ("{field: enabled, operator: equals, value: yes}, {field: lives, operator: equals, value: true}", true),
        ("{field: isDeleting, operator: equals, value: true}", false),
        ("{field: captured, operator: exists}", false),
        ("{field: captured, operator: contains, value: '2027'}", false),
        ("{field: enabled, operator: equals, value: yes}", false),
    ] {
        let found = told(&conditions(written));
        assert_eq!(found, expected, "{written}: {}", lints(&conditions(written)));
    }
}

#[test]
fn check_warns_of_comparisons_that_are_always_false() {
    let cases = [
        ("isDeleting == 'true'", Some("write `isDeleting`")),
        ("isDeleting != 'True'", Some("write `!isDeleting`")),
        ("isDeleting == 'false'", Some("write `!isDeleting`")),
        ("isDeleting == 1", Some("compare values of one type")),
        ("isDeleting == true", None),
        ("since == 'true'", None),
    ];
    for (expression, cure) in cases {
        let found = at("when", expression, &[], &[]);
        assert_eq!(found.contains("values of different types are not equal"), cure.is_some(), "{expression}: {found}");
        assert!(found.contains(cure.unwrap_or_default()), "{expression}: {found}");
    }
}

#[test]
fn check_warns_of_a_report_that_does_not_arrive() {
    let sound = || task(&[], &[]);
    let told = |from: &str, to: &str| {
        assert!(sound().contains(from), "{from}");
        lints(&sound().replace(from, to)).to_string()
    };
    assert!(told("x/statuses", "x/status").contains("write `/clusters/x/statuses`"));
    assert!(told("        adapter: \"{{ .adapter.name }}\"\n", "").contains("has no `adapter`: the API refuses it"));
    let lower = told(
        "{type: Health, status: \"True\"}",
        "{type: Health, status: {expression: \"isDeleting ? 'true' : 'False'\"}}",
    );
    assert!(
        lower.contains("the condition `Health` is reported as `Unknown` where its expression gives `true`"),
        "{lower}"
    );
    let sound = lints(&sound()).to_string();
    assert!(!sound.contains("/statuses") && !sound.contains("`adapter`") && !sound.contains("gives `"), "{sound}");
}

#[test]
fn check_notes_a_delete_gate_that_can_hold_for_the_living() {
    for (expression, is_noted) in [
        ("isDeleting || !resources.?other.hasValue()", true),
        ("isDeleting && enabled == 'a' || enabled == 'b'", true),
        ("isDeleting && (enabled == 'a' || enabled == 'b')", false),
    ] {
        let found = at("delete", expression, &[("create", "!isDeleting")], &[]);
        assert_eq!(found.contains(PARTLY) && found.contains("`isDeleting && (…)`"), is_noted, "{expression}: {found}");
    }
}

#[test]
fn check_warns_of_an_orphan_gate_that_disowns_for_the_living() {
    for (expression, is_warned) in [
        ("!isDeleting", true),
        ("lives || enabled == 'a'", true),
        ("isDeleting", false),
        ("lives && enabled == 'a'", false),
        ("enabled == 'a'", false),
    ] {
        let found = at("orphan", expression, &[], &[]);
        assert_eq!(found.contains("every event that finds `job` disowns it"), is_warned, "{expression}: {found}");
    }
}

#[test]
fn creation_beside_a_deletion_of_the_living_is_no_fault_of_what_waits() {
    let gates = |when: &'static str| [("create", when), ("delete", "isDeleting && !resources.?other.hasValue()")];
    let said = |when: &'static str, other: &str| {
        let found = lints(&task(&gates(when), &[("delete", other)]));
        let about = found.all().iter().find(|found| found.message.contains("is created for an API resource"));
        about.map(|found| found.help.clone().unwrap_or_default())
    };
    let cure = said("enabled == 'a'", "isDeleting").unwrap_or_default();
    assert!(cure.contains("`when: {expression: \"!isDeleting\"}`"), "{cure}");
    assert_eq!(said("!isDeleting", "isDeleting || enabled == 'no'"), None);
}
