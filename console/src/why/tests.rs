//! Tells stories about a cluster, as a table: what is known, and what the verdict says.

#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-01T12:00:00Z";

/// A cluster of generation 2 that is not reconciled, and which requires the adapters `dns` and `jobs`.
fn cluster() -> Value {
    let condition = |name: &str, status: &str| {
        json!({
            "type": name, "status": status, "reason": "ReconciledMissingAdapters", "message": "Adapters that are not ready: jobs",
            "last_transition_time": "2026-01-01T11:50:00Z",
        })
    };
    json!({
        "id": "c1", "kind": "Cluster", "name": "north", "href": "/api/hyperfleet/v1/clusters/c1", "generation": 2, "created_time": "2026-01-01T11:00:00Z",
        "status": {"conditions": [condition("Reconciled", "False"), condition("DnsSuccessful", "True"), condition("JobsSuccessful", "False")]},
    })
}

fn report(adapter: &str, generation: i64, status: &str) -> Value {
    let conditions = json!([
        {"type": "Available", "status": status, "reason": "JobFailed", "message": "the Job has failed", "last_transition_time": "2026-01-01T11:58:00Z"},
        {"type": "Finalized", "status": "False"},
    ]);
    json!({"adapter": adapter, "observed_generation": generation, "conditions": conditions, "last_report_time": "2026-01-01T11:59:00Z"})
}

fn pass(status: &str, changes: Value) -> Value {
    let mut pass = json!({
        "time": "2026-01-01T11:59:30Z", "status": status, "event": {"resourceId": "c1", "generation": 2},
        "decisions": [{"resource": "job", "decision": "skip", "reason": "SameGeneration", "settled": true, "unwritten": false, "otherwise": "the event has to be about another generation"}],
    });
    pass.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    pass
}

/// What a pass tells of two Jobs that it left on the cluster.
fn two_jobs() -> Value {
    json!([
        {"name": "job", "kind": "Job", "namespace": "n", "resourceName": "provision-1"},
        {"name": "later", "kind": "Job", "namespace": "n", "resourceName": "check"},
    ])
}

/// What is known: the cluster; the reports, and the children, or null if the API does not tell; the last pass of `jobs`, null if it keeps
/// none, none if `jobs` is not configured; whether the pass before that failed; and since when its passes are known.
struct Story {
    resource: Value,
    reports: Value,
    pass: Option<Value>,
    failed_before: bool,
    is_away: bool,
    since: Option<&'static str>,
    stuck: bool,
    children: Value,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            resource: cluster(),
            reports: json!([report("dns", 2, "True"), report("jobs", 2, "False")]),
            pass: None,
            failed_before: false,
            is_away: false,
            since: Some("2026-01-01T11:00:00Z"),
            stuck: false,
            children: json!([]),
        }
    }
}

fn told(story: Story) -> String {
    let read = |value: Value| serde_json::from_value(value).unwrap();
    let resource: Resource = serde_json::from_value(story.resource).unwrap();
    let reports: Option<Vec<Report>> = serde_json::from_value(story.reports).unwrap();
    let children: Option<Vec<Resource>> = serde_json::from_value(story.children).unwrap();
    let children = children.map(|items| List { total: items.len() as u64, items, unreadable: 0 });
    let since = story.since.map(|since| since.parse().unwrap());
    let known = story.pass.map(|pass| Known::Passes { last: read(pass), failed_before: story.failed_before, since });
    let known = if story.is_away { Some(Known::Nothing) } else { known };
    let passes: Vec<(String, Known)> = known.map(|known| ("jobs".to_owned(), known)).into_iter().collect();
    let stuck = Stuck { id: "c1".to_owned(), ..Stuck::default() };
    let facts = Facts {
        resource: &resource,
        reports: reports.as_deref(),
        passes: &passes,
        stuck: story.stuck.then_some(&stuck),
        children: children.as_ref(),
        now: NOW.parse().unwrap(),
    };
    let verdict = judge(&facts);
    let mut text = format!("{:?}, {}: {}\n", verdict.tone, verdict.word, verdict.headline);
    for wait in verdict.waits {
        let whose = if wait.whose.is_empty() { String::new() } else { format!(" [{}]", wait.whose) };
        text.push_str(&format!("- {:?} {}: {}{whose}\n", wait.tone, wait.on, wait.what));
        wait.said.iter().for_each(|said| text.push_str(&format!("  \"{said}\"\n")));
        wait.helps.iter().for_each(|help| text.push_str(&format!("  > {help}\n")));
    }
    text
}

fn with(mut value: Value, changes: Value) -> Value {
    value.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    value
}

#[test]
fn verdict_says_what_is_wrong_whose_part_it_is_and_what_helps() {
    let failed = |phase: &str| Some(pass("failed", json!({"errors": {phase: "403 Forbidden"}})));
    let refused = |reason: &str| {
        let effect =
            json!({"name": "job", "kind": "Job", "result": "failed", "error": format!("{reason}: the server's words")});
        Some(pass("failed", json!({"errors": {"resources": "the server's words"}, "resources": [effect]})))
    };
    let reports = |generation| json!([report("dns", 2, "True"), report("jobs", generation, "True")]);
    let reconciled = json!({"status": {"conditions": [{"type": "Reconciled", "status": "True", "observed_generation": 1, "last_transition_time": "2026-01-01T11:00:00Z"}]}});
    let deleted = || with(cluster(), json!({"deleted_time": "2026-01-01T11:57:00Z"}));
    let finalized = json!({"conditions": [{"type": "Finalized", "status": "True"}]});
    let unapplied = json!({
        "adapter": "jobs", "observed_generation": 2,
        "conditions": [{"type": "Applied", "status": "False", "reason": "Waiting", "message": "`when` does not hold"}, {"type": "Available", "status": "False"}],
    });
    let unmet = json!({"notMet": "precondition 'dnsReady' not met: status is 'Pending', not 'Ready'", "preconditions": [{"name": "dnsReady", "matched": false}]});
    let stories = [
        ("reconciled", Story { resource: with(cluster(), reconciled.clone()), ..Story::default() }),
        (
            "reconciled after a failure",
            Story {
                resource: with(cluster(), reconciled.clone()),
                pass: Some(pass("failed", json!({"time": "2026-01-01T10:59:00Z"}))),
                ..Story::default()
            },
        ),
        (
            "reconciled, and refused since",
            Story {
                resource: with(cluster(), reconciled),
                pass: refused("Forbidden"),
                failed_before: true,
                ..Story::default()
            },
        ),
        ("no adapters", Story { resource: with(cluster(), json!({"status": {"conditions": []}})), ..Story::default() }),
        ("an adapter at work, with passes unknown", Story::default()),
        ("an adapter at work", Story { pass: Some(pass("success", json!({}))), ..Story::default() }),
        (
            "stuck: the workload fails",
            Story {
                pass: Some(pass(
                    "success",
                    json!({
                        "resources": two_jobs(),
                        "decisions": [{"resource": "later", "decision": "skip", "reason": "WhenFalse", "settled": false, "unwritten": true, "otherwise": "`when` has to hold"}],
                    }),
                )),
                stuck: true,
                ..Story::default()
            },
        ),
        (
            "stuck: the workload of an older adapter fails",
            Story {
                pass: Some(pass(
                    "success",
                    json!({
                        "resources": two_jobs(),
                        "decisions": [
                            {"resource": "job", "decision": "update", "reason": "GenerationChanged", "otherwise": "the event has to be about it"},
                            {"resource": "later", "decision": "skip", "reason": "WhenFalse", "otherwise": "`when` has to hold"},
                        ],
                    }),
                )),
                stuck: true,
                ..Story::default()
            },
        ),
        (
            "an adapter at work, with a gate that does not hold",
            Story {
                pass: Some(pass(
                    "success",
                    json!({
                        "decisions": [
                            {"resource": "job", "settled": true, "unwritten": false, "otherwise": "the event has to be about another generation"},
                            {"resource": "later", "settled": false, "unwritten": true, "otherwise": "`when` has to hold"},
                        ],
                    }),
                )),
                ..Story::default()
            },
        ),
        (
            "stuck: one of two workloads fails",
            Story {
                pass: Some(pass(
                    "success",
                    json!({
                        "resources": two_jobs(),
                    }),
                )),
                stuck: true,
                ..Story::default()
            },
        ),
        ("Kubernetes refuses once", Story { pass: refused("Conflict"), ..Story::default() }),
        ("Kubernetes refuses again", Story { pass: refused("Forbidden"), failed_before: true, ..Story::default() }),
        ("Kubernetes refuses what the task says", Story { pass: refused("Invalid"), stuck: true, ..Story::default() }),
        (
            "Kubernetes refuses for an unknown reason",
            Story { pass: failed("resources"), failed_before: true, ..Story::default() },
        ),
        (
            "the API is away from the adapter",
            Story { pass: failed("param_extraction"), failed_before: true, ..Story::default() },
        ),
        ("the report is refused", Story { pass: failed("post_actions"), failed_before: true, ..Story::default() }),
        ("a precondition", Story { pass: Some(pass("skipped", unmet)), ..Story::default() }),
        (
            "an old report, and a pass",
            Story { reports: reports(1), pass: Some(pass("success", json!({}))), ..Story::default() },
        ),
        ("an old report, and no pass", Story { reports: reports(1), pass: Some(Value::Null), ..Story::default() }),
        (
            "an old report, and an old pass",
            Story {
                reports: reports(1),
                pass: Some(pass("success", json!({"time": "2026-01-01T11:40:00Z"}))),
                ..Story::default()
            },
        ),
        (
            "an old pass that failed",
            Story {
                pass: Some(pass("failed", json!({"errors": {"resources": "403"}, "time": "2026-01-01T11:40:00Z"}))),
                ..Story::default()
            },
        ),
        ("an old report, with passes unknown", Story { reports: reports(1), ..Story::default() }),
        (
            "no report, and a pass",
            Story {
                reports: json!([report("dns", 2, "True")]),
                pass: Some(pass("success", json!({}))),
                ..Story::default()
            },
        ),
        (
            "a stranger's report",
            Story { reports: json!([report("dns", 2, "True"), report("stranger", 1, "False")]), ..Story::default() },
        ),
        (
            "a failure to report beside a refused write",
            Story {
                pass: Some(pass("failed", json!({"errors": {"post_actions": "500", "resources": "403 Forbidden"}}))),
                ..Story::default()
            },
        ),
        (
            "a template without a value",
            Story {
                pass: Some(pass(
                    "failed",
                    json!({
                        "errors": {"resources": "no value"}, "decisions": [{"resource": "job", "decision": "fail", "reason": "RenderFailed", "settled": false, "unwritten": false}],
                    }),
                )),
                failed_before: true,
                ..Story::default()
            },
        ),
        (
            "an old report, and an adapter that is away",
            Story { reports: reports(1), is_away: true, ..Story::default() },
        ),
        (
            "an old report, and a replica that is away",
            Story { reports: reports(1), pass: Some(Value::Null), since: None, ..Story::default() },
        ),
        (
            "an old report, and an adapter that has just started",
            Story {
                reports: reports(1),
                pass: Some(Value::Null),
                since: Some("2026-01-01T11:59:50Z"),
                ..Story::default()
            },
        ),
        (
            "an old report about a cluster that has just changed",
            Story {
                resource: with(cluster(), json!({"updated_time": "2026-01-01T11:59:55Z"})),
                reports: reports(1),
                pass: Some(Value::Null),
                ..Story::default()
            },
        ),
        (
            "stuck: a gate waits",
            Story {
                reports: json!([unapplied]),
                pass: Some(pass("success", json!({}))),
                stuck: true,
                ..Story::default()
            },
        ),
        ("reports unknown", Story { reports: Value::Null, pass: Some(pass("success", json!({}))), ..Story::default() }),
        ("a deletion, with reports unknown", Story { resource: deleted(), reports: Value::Null, ..Story::default() }),
        ("a deletion without reports", Story { resource: deleted(), reports: json!([]), ..Story::default() }),
        ("a deletion that is stuck", Story { resource: deleted(), stuck: true, ..Story::default() }),
        (
            "a deletion about which the API names no adapter",
            Story {
                resource: with(deleted(), json!({"status": {"conditions": []}})),
                reports: json!([report("jobs", 2, "True")]),
                ..Story::default()
            },
        ),
        (
            "a deletion that is over",
            Story {
                resource: deleted(),
                reports: json!([
                    with(report("dns", 2, "True"), finalized.clone()),
                    with(report("jobs", 2, "True"), finalized)
                ]),
                ..Story::default()
            },
        ),
        (
            "a deletion",
            Story {
                resource: deleted(),
                children: json!([{"id": "n1", "kind": "NodePool", "name": "a"}, {"id": "n2", "kind": "NodePool", "name": "b"}]),
                ..Story::default()
            },
        ),
    ];
    let text: String = stories.into_iter().map(|(name, story)| format!("## {name}\n{}\n", told(story))).collect();
    insta::assert_snapshot!(text);
}

#[test]
fn condition_of_an_adapter_has_its_name_in_camel_case() {
    assert_eq!(condition_of("cl-namespace"), "ClNamespaceSuccessful");
    assert_eq!(condition_of("dns"), "DnsSuccessful");
}

#[test]
fn age_has_the_two_largest_units() {
    let cases = [(0, "0s"), (59, "59s"), (61, "1m 1s"), (3_660, "1h 1m"), (90_000, "1d 1h"), (-5, "0s")];
    for (seconds, expected) in cases {
        assert_eq!(age(SignedDuration::from_secs(seconds)), expected);
    }
}
