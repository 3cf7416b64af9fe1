#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod planner;

use super::*;
use lifecycle_core::task::compile::{Surroundings, compile};

fn task(text: &str) -> Task {
    let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
    let compiled = compile("task.yaml", text, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics))
}

const PARAMS: &str = "params:\n  - {name: x, source: event.x}\n  - {name: y, source: event.y}\n";
const EARLIER: &str =
    "  - {name: earlier, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: n}}, discovery: {by_name: n}}\n";
const BY_NAME: &str = "by_name: a, namespace: n";
const BY_LABELS: &str = "by_selectors: {label_selector: {app: a}}";

fn text(earlier: &str, discovery: &str, more: &str) -> String {
    format!(
        "{PARAMS}resources:\n{earlier}  - name: job\n    manifest: {{apiVersion: batch/v1, kind: Job, metadata: {{name: a, namespace: n, labels: {{app: a}}}}}}\n    discovery: {{{discovery}}}\n{more}"
    )
}

/// The numbers of the rows that the last resource can reach; those after `|` end in failures only.
fn rows(text: &str) -> String {
    let task = task(text);
    let reached = reach(&task).pop().unwrap().rows;
    let only_fails = |reached: &Reached| reached.decisions.iter().all(|(decision, _)| *decision == "fail");
    let numbers = |of: &dyn Fn(&Reached) -> bool| {
        let numbers = reached.iter().filter(|reached| of(reached)).map(|reached| reached.row.number());
        numbers.collect::<Vec<_>>().join(" ")
    };
    numbers(&|reached| !only_fails(reached)) + " | " + &numbers(&only_fails)
}

#[test]
fn reach_lists_only_rows_that_an_event_can_reach() {
    let gate =
        |key: &str, expression: &str| format!("    lifecycle: {{{key}: {{when: {{expression: \"{expression}\"}}}}}}\n");
    let cases = [
        ("nothing configured", text("", BY_NAME, ""), "2 9 12 13 17 19 | 1"),
        ("found by labels", text("", BY_LABELS, ""), "2 9 12 13 17 18 19 | 1"),
        ("found by another name", text("", "by_name: b, namespace: n", ""), "2 9 12 13 17 18 19 | 1"),
        ("found by name in any namespace", text("", "by_name: a", ""), "2 9 12 13 17 18 19 | 1"),
        (
            "found by name where an event says",
            text("", "by_name: a, namespace: \"{{ .x }}\"", ""),
            "2 9 12 13 17 18 19 | 1",
        ),
        (
            "found by name where an event must say",
            {
                text("", "by_name: a, namespace: \"{{ .x }}\"", "")
                    .replace("source: event.x", "source: event.x, required: true")
                    .replace("name: a, namespace: n,", "name: a, namespace: \"{{ .x }}\",")
            },
            "2 9 12 13 17 19 | 1",
        ),
        (
            "found by name in a namespace with a prefix",
            {
                text("", "by_name: a, namespace: \"n-{{ .x }}\"", "")
                    .replace("name: a, namespace: n,", "name: a, namespace: \"n-{{ .x }}\",")
            },
            "2 9 12 13 17 19 | 1",
        ),
        ("after another resource", text(EARLIER, BY_NAME, ""), "2 7a 9 12 13 17 19 | 1"),
        ("a delete gate", text("", BY_NAME, &gate("delete", "x")), "2 5 6 7 9 12 13 17 19 | 1"),
        ("a delete gate that always holds", text("", BY_NAME, &gate("delete", "true")), "2 5 6 7 | 1"),
        (
            "a delete gate that never holds, or fails",
            text("", BY_NAME, &gate("delete", "x && false && y")),
            "2 9 12 13 17 19 | 1",
        ),
        ("a delete gate that never holds", text("", BY_NAME, &gate("delete", "false")), "2 9 12 13 17 19 | 1"),
        ("an orphan gate", text("", BY_NAME, &gate("orphan", "x")), "2 3 4 9 12 13 17 19 | 1"),
        ("an orphan gate of what is there", text("", BY_NAME, &gate("orphan", "has(resources.job)")), "2 3 9 12 | 1"),
        (
            "an orphan gate of what is there, perhaps another one's",
            text("", BY_LABELS, &gate("orphan", "has(resources.job)")),
            "2 3 4 9 12 | 1",
        ),
        (
            "an orphan gate of what is not there, and of an event",
            text("", BY_NAME, &gate("orphan", "x || !has(resources.job)")),
            "2 3 4 6 9 13 17 19 | 1",
        ),
        (
            "an orphan gate of another resource",
            text(EARLIER, BY_NAME, &gate("orphan", "!has(resources.earlier)")),
            "2 3 4 6 7a 9 12 13 17 19 | 1",
        ),
        ("a when", text("", BY_NAME, "    when: {expression: x}\n"), "2 8 9 12 13 17 19 | 1"),
        (
            "a when that creates only",
            text("", BY_NAME, "    when: {expression: \"!has(resources.job)\"}\n"),
            "2 8 12 | 1",
        ),
        ("a when that fails", text("", BY_NAME, "    when: {expression: 1 / 0 == 1}\n"), "2 | 1 8"),
        ("a create gate", text("", BY_NAME, &gate("create", "x")), "2 9 10 12 13 17 19 | 1"),
        ("an apply gate", text("", BY_NAME, &gate("apply", "x")), "2 9 11 12 13 16 17 19 | 1"),
        (
            "an apply gate that creates only",
            text("", BY_NAME, &gate("apply", "!has(resources.job)")),
            "2 9 12 13 16 | 1",
        ),
        ("a recreate gate", text("", BY_NAME, &gate("recreate", "x")), "2 9 12 13 14 17 19 | 1"),
        ("recreate_on_change", text("", BY_NAME, "    recreate_on_change: true\n"), "2 9 12 13 14 17 19 | 1"),
        (
            "a patch",
            text("", BY_NAME, "    lifecycle: {patch: [{when: {expression: x}, document: {a: 1}}]}\n"),
            "2 9 12 13 15 17 19 | 1",
        ),
        (
            "a patch that is always sent, after one that may be",
            text(
                "",
                BY_NAME,
                "    lifecycle: {patch: [{when: {expression: x}, document: {a: 1}}, {when: {expression: \"true\"}, document: {a: 1}}]}\n",
            ),
            "2 9 12 13 15 | 1",
        ),
        (
            "parts that exclude each other",
            text("", BY_NAME, &gate("recreate", "x == 'a' && x == 'b'")),
            "2 9 12 13 17 19 | 1 14",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(rows(&text), expected, "{name}\n{text}");
    }
}

#[test]
fn each_row_lists_its_decisions_with_their_reasons() {
    let of = |text: &str, row: Row| {
        let task = task(text);
        let reached = reach(&task).pop().unwrap().rows.into_iter().find(|reached| reached.row == row).unwrap();
        let decisions = reached.decisions.iter().map(|(decision, reason)| format!("{decision} {reason}"));
        decisions.collect::<Vec<_>>().join(", ")
    };
    let recreate = "    lifecycle: {recreate: {when: {expression: x}}, create: {when: {expression: y}}}\n";
    let retained = format!("    retention: {{historyLimit: 1}}\n{recreate}");
    let owned = "    owner: {resource: earlier}\n";
    let cases = [
        (
            text("", BY_NAME, recreate),
            Row::Recreate,
            "recreate RecreateGateHolds, skip CreateGateFalse, fail GateFailed, fail NotOurs",
        ),
        (
            text("", BY_LABELS, recreate),
            Row::Recreate,
            "recreate RecreateGateHolds, skip CreateGateFalse, wait Terminating, fail GateFailed, fail NotOurs",
        ),
        (
            text("", BY_LABELS, &retained),
            Row::Recreate,
            "create_version RecreateGateHolds, fail VersionNameTaken, fail GateFailed, fail NotOurs",
        ),
        (text(EARLIER, BY_NAME, owned), Row::SameGeneration, "skip SameGeneration, fail OwnerUnavailable"),
        (
            text(EARLIER, BY_NAME, owned),
            Row::Update,
            "update GenerationChanged, update OwnerChanged, fail OwnerUnavailable, fail NotOurs",
        ),
        (
            text(EARLIER, BY_NAME, owned),
            Row::Absent,
            "create Absent, fail OwnerUnavailable, fail RenderFailed, fail InvalidLabel, fail InvalidGeneration",
        ),
        (
            text("", "by_selectors: {label_selector: {app: \"{{ .x }}\"}}", ""),
            Row::NewName,
            "create_version NewName, fail SelectorMismatch, fail NotOurs",
        ),
        (text("", BY_NAME, ""), Row::Update, "update GenerationChanged, fail NotOurs"),
        (text("", BY_NAME, ""), Row::AlreadyDisowned, "skip Disowned"),
        (text("", BY_LABELS, ""), Row::AlreadyDisowned, "disown Disowned, skip Disowned"),
        (
            text("", BY_NAME, ""),
            Row::Absent,
            "create Absent, fail RenderFailed, fail InvalidLabel, fail InvalidGeneration",
        ),
    ];
    for (text, row, expected) in cases {
        assert_eq!(of(&text, row), expected, "{row}\n{text}");
    }
}

#[test]
fn decisions_about_versions_at_former_places_are_listed() {
    let waits = |delete: &str| {
        let gates = format!(
            "    lifecycle: {{delete: {{when: {{expression: \"{delete}\"}}}}, recreate: {{when: {{expression: x}}}}}}\n"
        );
        let task = task(&text("", BY_NAME, &gates));
        let recreated = reach(&task).remove(0).rows.into_iter().find(|reached| reached.row == Row::Recreate).unwrap();
        recreated.decisions.contains(&("wait", "Terminating"))
    };
    assert!(waits("!has(resources.job)"), "two versions, of which one goes, are found only by the search");
    assert!(!waits("x == 'gone'"), "what is found by then goes, too");
}

#[test]
fn owner_may_wait_where_another_resource_can_be_disowned() {
    let entry = |name: &str, more: &str| {
        format!(
            "  - {{name: {name}, manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: n}}}}, discovery: {{by_name: {name}, namespace: n}}{more}}}\n"
        )
    };
    let waits = |middle: &str, last: &str| {
        let top = entry("top", ", lifecycle: {delete: {when: {expression: x}}}");
        let task = task(&format!("{PARAMS}resources:\n{top}{}{}", entry("middle", middle), entry("last", last)));
        let top = reach(&task).remove(0).rows.into_iter().find(|reached| reached.row == Row::Delete).unwrap();
        top.decisions.contains(&("wait", "DisownPending"))
    };
    let orphan = ", lifecycle: {orphan: {when: {expression: y}}}";
    assert!(waits(", owner: {resource: top}", &format!(", owner: {{resource: middle}}{orphan}")));
    assert!(waits("", orphan), "its manifest, or a person, may have written the reference");
    assert!(!waits(", owner: {resource: top}", ", owner: {resource: middle}"));
}

/// Collects every decision below a step.
fn ends(step: &Step, found: &mut Vec<End>) {
    match step {
        Step::End(end) => found.push(*end),
        Step::Question(question) => {
            found.extend(&question.unanswered);
            question.answers.iter().for_each(|(_, step)| ends(step, found));
        }
    }
}

#[test]
fn question_tree_ends_in_every_decision_of_the_rows() {
    let gates = "    when: {expression: x}\n    lifecycle: {create: {when: {expression: x}}, apply: {when: {expression: x}}, orphan: {when: {expression: x}}, delete: {when: {expression: y}}, patch: [{when: {expression: x}, document: {a: 1}}]";
    let cases = [
        text("", BY_NAME, ""),
        text("", BY_LABELS, ""),
        text(
            EARLIER,
            BY_LABELS,
            &format!("    owner: {{resource: earlier}}\n{gates}, recreate: {{when: {{expression: x}}}}}}\n"),
        ),
        text(EARLIER, BY_LABELS, &format!("    retention: {{ttl: 1h}}\n    recreate_on_change: true\n{gates}}}\n")),
    ];
    for text in cases {
        let task = task(&text);
        for reach in reach(&task) {
            let mut found = Vec::new();
            ends(&reach.root, &mut found);
            let ends = |end: &End| (end.row, (end.decision, end.reason));
            let in_tree: std::collections::BTreeSet<_> = found.iter().map(ends).collect();
            let in_rows: std::collections::BTreeSet<_> = reach
                .rows
                .iter()
                .flat_map(|reached| reached.decisions.iter().map(|decision| (reached.row, *decision)))
                .collect();
            assert_eq!(in_tree, in_rows, "a decision of the rows has no question that leads there\n{text}");
        }
    }
}
