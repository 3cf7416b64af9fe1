//! Tests of text that the Go adapter parses only when an event needs it: the file loads with a warning, and
//! the event fails.

use jiff::Timestamp;
use lifecycle_config::diagnostics::Severity;
use serde_json::json;

use super::super::compile;
use super::{compiled_task, surroundings};
use crate::condition::evaluate;
use crate::post::{ActionEnd, Reporter};
use crate::precondition::{Evaluator, Verdict};
use crate::report_overlay::Account;
use crate::stage::{Answer, Need, Phase, Progress, Stage};
use crate::task::{Check, DiscoverBy, Manifest, Task};
use lifecycle_language::scope::Scope;

fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("id", json!("c-1"));
    scope
}

#[test]
fn text_that_go_parses_at_an_event_loads_with_a_warning() {
    let resource = |manifest: &str, discovery: &str| {
        format!("resources: [{{name: a, manifest: {manifest}, discovery: {discovery}}}]\n")
    };
    let pod = "{apiVersion: v1, kind: Pod}";
    let cases = [
        ("a log line", "post: {post_actions: [{name: a, log: {message: \"{{ if }}\"}}]}\n".to_owned()),
        (
            "an undefined variable of a log line",
            "post: {post_actions: [{name: a, log: {message: \"{{ .x }}\"}}]}\n".to_owned(),
        ),
        ("a call", "params: [{name: a, source: {api_call: {method: GET, url: \"/{{ if }}\"}}}]\n".to_owned()),
        ("an inline manifest", resource("{apiVersion: v1, kind: Pod, \"{{\": \"{{ if }}\"}", "{by_name: x}")),
        ("a text manifest", resource("\"kind: Pod\\napiVersion: v1\\n{{ end }}\"", "{by_name: x}")),
        ("a name to discover", resource(pod, "{by_name: \"{{ x }}\"}")),
        ("a label to discover", resource(pod, "{by_selectors: {label_selector: {a: \"{{ x }}\"}}}")),
        ("a payload", "post: {payloads: [{name: a, build: {\"{{\": \"{{ x }}\"}}]}\n".to_owned()),
        ("a path of a payload", "post: {payloads: [{name: a, build: {a: {field: \"{.a[\"}}}]}\n".to_owned()),
        (
            "a payload of two sources",
            "post: {payloads: [{name: a, build: {a: {field: x, expression: y}}}]}\n".to_owned(),
        ),
        ("a payload file", "post: {payloads: [{name: a, build_ref: status.yaml}]}\n".to_owned()),
        (
            "a path of a condition",
            "preconditions: [{name: a, conditions: [{field: \"{.a[\", operator: exists}]}]\n".to_owned(),
        ),
    ];
    for (name, text) in cases {
        let compiled = compile("task.yaml", &text, &surroundings());
        assert!(compiled.task.is_some(), "{name}: {}", compiled.diagnostics);
        assert!(compiled.diagnostics.count(Severity::Warning) > 0, "{name}: {}", compiled.diagnostics);
        assert!(compiled.diagnostics.strict().has_errors(), "{name}");
    }
}

#[test]
fn malformed_template_in_a_key_that_go_lacks_is_an_error() {
    let text = "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    \
                lifecycle: {patch: [{when: {expression: 'true'}, document: {spec: \"{{ x }}\"}}]}\n";
    assert!(compile("task.yaml", text, &surroundings()).diagnostics.has_errors());
}

#[test]
fn malformed_templates_of_a_resource_fail_at_rendering() {
    let task = compiled_task(
        "resources:\n  - {name: a, manifest: {apiVersion: v1, kind: Pod, spec: \"{{ if }}\"}, discovery: {by_name: \"{{ x }}\"}}\n  \
         - {name: b, manifest: \"kind: Pod\\napiVersion: v1\\n{{ end }}\", discovery: {by_name: x}}\n",
    );
    let Manifest::Inline(tree) = &task.resources[0].manifest else { panic!("inline") };
    let Manifest::Text(text) = &task.resources[1].manifest else { panic!("text") };
    let DiscoverBy::Name(name) = &task.resources[0].discovery.by else { panic!("by name") };
    let errors = [
        tree.render(&scope()).unwrap_err().to_string(),
        text.render(&scope()).unwrap_err().to_string(),
        name.render(&scope()).unwrap_err().to_string(),
    ];
    assert_eq!(
        errors,
        [
            "failed to render template: spec: template parse error at 1:9: empty command",
            "failed to render template: template parse error: an {{end}} is missing, or there is one too many",
            "failed to render template: template parse error: function \"x\" not defined",
        ]
    );
}

/// Runs phase 4 after a pass without outcomes; every API call succeeds.
fn report(task: &Task) -> crate::post::PostReport {
    let mut scope = scope();
    let mut reporter = Reporter::new(task, Account { outcomes: &[], unread: None, is_deleting: Some(true) });
    let mut answer = None;
    loop {
        match reporter.resume(&mut scope, answer.take()) {
            Progress::Done(report) => return report,
            Progress::Needs(Need::Call(_)) => answer = Some(Answer::Called(Ok("{}".to_owned()))),
            Progress::Needs(_) => answer = Some(Answer::Logged),
        }
    }
}

#[test]
fn payload_with_malformed_content_is_never_sent() {
    for (build, expected) in [
        ("build: {a: \"{{ x }}\"}", "function \"x\" not defined"),
        (
            "build: {a: {field: \"{.a[\", default: 1}}",
            "JSONPath parse error: a path that begins with `{` ends with `}`",
        ),
        ("build: {a: {field: x, expression: y}}", "'field' and 'expression' are mutually exclusive"),
    ] {
        let task = compiled_task(&format!(
            "post:\n  payloads: [{{name: status, {build}}}]\n  post_actions: [{{name: report, api_call: {{method: PUT, url: /x, body: \"{{{{ .status }}}}\"}}}}]\n"
        ));
        let report = report(&task);
        let message = report.error.map(|error| error.message).unwrap_or_default();
        assert!(
            message.contains("failed to build payload 'status'") && message.contains(expected),
            "{build}: {message}"
        );
        assert!(matches!(report.actions[0].end, ActionEnd::Failed(_)), "{build}: nothing is sent");
    }
}

#[test]
fn report_is_sent_although_a_condition_status_is_malformed() {
    let task = compiled_task(
        "post:\n  payloads: [{name: status, build_ref: status.yaml}]\n  \
         post_actions: [{name: report, api_call: {method: PUT, url: /x, body: \"{{ .status }}\"}}]\n",
    );
    let report = report(&task);
    assert_eq!((report.error, report.actions.len()), (None, 1));
    assert!(report.warnings.iter().any(|warning| warning.contains("CEL parse error")), "{:?}", report.warnings);
}

#[test]
fn malformed_log_line_does_not_stop_actions() {
    let task = compiled_task(
        "post: {post_actions: [{name: a, log: {message: \"{{ if }}\"}}, {name: b, api_call: {method: PUT, url: /x}}]}\n",
    );
    let report = report(&task);
    assert_eq!((report.error, report.actions.len()), (None, 2));
}

#[test]
fn action_with_malformed_body_counts_as_reading_every_payload() {
    let task = compiled_task(
        "post:\n  payloads: [{name: p, build: {}, when: {expression: 'false'}}]\n  \
         post_actions: [{name: report, api_call: {method: PUT, url: /x, body: \"{{ if }}\"}}]\n",
    );
    assert_eq!(task.actions[0].body_payloads, ["p"]);
}

#[test]
fn malformed_json_path_fails_its_precondition() {
    let task = compiled_task("preconditions: [{name: a, conditions: [{field: \"{.a[\", operator: exists}]}]\n");
    let Check::Conditions(conditions) = &task.preconditions[0].check else { panic!("conditions") };
    let message = evaluate(&conditions[0], &scope()).unwrap_err().to_string();
    assert_eq!(message, "`{.a[`: JSONPath parse error: a path that begins with `{` ends with `}`");

    let task = compiled_task(
        "preconditions: [{name: a, api_call: {method: GET, url: /x}, capture: [{name: c, field: \"{.a[\", default: 1}]}]\n",
    );
    let mut evaluator = Evaluator::new(&task);
    let mut scope = scope();
    assert!(matches!(evaluator.resume(&mut scope, None), Progress::Needs(Need::Call(_))));
    let Progress::Done(Verdict::Failed(error)) =
        evaluator.resume(&mut scope, Some(Answer::Called(Ok("{}".to_owned()))))
    else {
        panic!("the precondition fails")
    };
    assert_eq!(error.phase, Phase::Preconditions);
    assert_eq!(error.message, "capture c: JSONPath parse error: a path that begins with `{` ends with `}`");
}
