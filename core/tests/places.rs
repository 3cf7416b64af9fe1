//! Tests what happens when an expression fails or has no value, for each key that can have an expression.
//! `docs/cel.md` documents the same behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use jiff::Timestamp;
use lifecycle_core::host::Host;
use lifecycle_core::id::Generation;
use lifecycle_core::manifest::Stamp;
use lifecycle_core::observation::{Observation, Version};
use lifecycle_core::overlay::Account;
use lifecycle_core::params::{Resolver, Unresolved};
use lifecycle_core::plan::{Next, Planner, Purpose};
use lifecycle_core::post::Reporter;
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::stage::{Answer, CallError, Progress, ReadError, Stage};
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::scope::Scope;
use serde_json::{Value, json};

/// An expression that fails: it reads a key that does not exist.
const FAILS: &str = "event.nope == 'x'";
const ABSENT: &str = "event.?nope";
const NULL: &str = "null";

fn task(spec: &Value) -> Task {
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &spec.to_string(), &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

fn scope() -> Scope {
    let mut scope = Scope::new("2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap());
    scope.set("event", json!({"id": "c-1"}));
    scope.set("resources", json!({}));
    scope
}

#[test]
fn times_keep_their_type_from_one_expression_to_the_next() {
    let expression = |name: &str, expression: &str| json!({"name": name, "source": {"expression": expression}});
    let value = |expression: &str| json!({"expression": expression});
    let task = task(&json!({
        "params": [
            expression("since", "timestamp('2026-03-01T13:50:00.5+02:00')"),
            expression("grace", "duration('5m')"),
            expression("day", "duration('24h')"),
            {"name": "copy", "source": "since"},
            expression("window", "{'start': since, 'spans': [grace, day], 'raw': b'hi', 'count': 2u}"),
            {"name": "start", "source": "window.start"},
            expression("held", "{'inner': window}"),
            expression("nothing", "b''"),
        ],
        "preconditions": [
            {"name": "age", "expression": "timestamp(now()) - since > grace && grace < day"},
            {"name": "copied", "expression": "copy == since && start == since && timestamp(since) == since"},
            {
                "name": "nested",
                "expression": "window.start + window.spans[0] < timestamp(now()) && window.raw == b'hi' && window.count + 1u == 3u",
            },
            {"name": "whole", "expression": "held.inner.start == since && window.spans == [grace, day]"},
            {"name": "bytes", "expression": "nothing"},
            {
                "name": "cluster",
                "api_call": {"method": "GET", "url": "/clusters/c-1"},
                "capture": [{"name": "at", "expression": "timestamp(now())"}],
                "expression": "at > since",
            },
        ],
        "post": {"payloads": [{"name": "one", "build": {
            "grace": value("grace"),
            "age": value("timestamp(now()) - since"),
            "window": value("window"),
            "field": {"field": "since"},
            "text": "{{ .grace }} since {{ .since }}, {{ .window.raw }} {{ .window.count }} {{ index .window.spans 1 }}",
        }}]},
    }));
    let mut scope = scope();
    drive(Resolver::new(&task, &Host::default()), &mut scope).0.unwrap();
    assert_eq!(drive(Evaluator::new(&task), &mut scope).0, Verdict::Met);
    assert_eq!(
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope)
            .0
            .error,
        None
    );
    let since = "2026-03-01T11:50:00.500Z";
    let expected = json!({
        "grace": "300s",
        "age": "599.500s",
        "window": {"start": since, "spans": ["300s", "86400s"], "raw": "aGk=", "count": 2},
        "field": since,
        "text": "5m0s since 2026-03-01 11:50:00.5 +0000 UTC, [104 105] 2 24h0m0s",
    });
    let payload: Value = serde_json::from_str(scope.get("one").unwrap().as_str().unwrap()).unwrap();
    assert_eq!(payload, expected);
}

/// Runs a stage; every API call returns the same cluster.
fn drive<S: Stage>(mut stage: S, scope: &mut Scope) -> (S::Done, S) {
    let mut answer = None;
    loop {
        match stage.resume(scope, answer.take()) {
            Progress::Needs(_) => answer = Some(Answer::Called(Ok(r#"{"kind": "Cluster"}"#.to_owned()))),
            Progress::Done(done) => return (done, stage),
        }
    }
}

#[test]
fn each_phase_reads_the_variables_of_earlier_phases() {
    let expression = |name: &str, expression: &str| json!({"name": name, "source": {"expression": expression}});
    let value = |expression: &str| json!({"expression": expression, "default": "not yet"});
    let call = |method: &str, body: &str| json!({"method": method, "url": "/clusters/c-1", "body": body});
    let mut task = task(&json!({
        "params": [
            expression("first", "event.id"),
            expression("before", "second"),
            expression("second", "first + '/' + now() + '/' + string(resources == {})"),
        ],
        "preconditions": [
            {"name": "early", "expression": "cluster.kind == 'Cluster'"},
            {
                "name": "cluster",
                "api_call": call("GET", ""),
                "capture": [{"name": "kind", "field": "kind"}],
                "expression": "second.startsWith('c-1/') && cluster.kind == kind",
            },
        ],
        "post": {
            "payloads": [
                {"name": "one", "build": {"two": value("two"), "kind": value("kind"), "resources": value("resources")}},
                {"name": "two", "build": {"one": value("one")}, "when": {"expression": "one != ''"}},
            ],
            "post_actions": [{"name": "send", "api_call": call("PUT", "{{ .two }}"), "when": {"expression": "two != ''"}}],
        },
    }));
    let mut scope = scope();
    drive(Resolver::new(&task, &Host::default()), &mut scope).0.unwrap();
    assert_eq!(scope.get("before"), None, "a param cannot read a later one");
    assert_eq!(scope.get("second"), Some(&json!("c-1/2026-03-01T12:00:00Z/true")));

    let (verdict, _) = drive(Evaluator::new(&task), &mut scope);
    assert!(matches!(verdict, Verdict::NotMet(reason) if reason.contains("undeclared reference to 'cluster'")));
    task.preconditions.remove(0);
    assert_eq!(drive(Evaluator::new(&task), &mut scope).0, Verdict::Met);

    scope.set("resources", json!({"job": {}}));
    let (report, _) =
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope);
    assert_eq!(report.error, None);
    let one = r#"{"kind":"Cluster","resources":{"job":{}},"two":"not yet"}"#;
    assert_eq!(scope.get("one"), Some(&json!(one)));
    assert_eq!(scope.get("two"), Some(&json!(json!({"one": one}).to_string())));
    assert_eq!(format!("{:?}", report.actions[0].end), "Executed");
}

#[test]
fn param_without_a_value_gets_its_default() {
    let param = |expression: &str, more: Value| resolved(json!({"expression": expression}), more, None);
    for expression in [FAILS, ABSENT, NULL] {
        assert_eq!(param(expression, json!({})), Ok((None, vec![])), "{expression}");
        assert_eq!(param(expression, json!({"default": 5})), Ok((Some(json!(5)), vec![])), "{expression}");
    }
    let error = param(FAILS, json!({"required": true, "default": 5})).unwrap_err();
    assert!(error.ends_with("no such key: event.nope"), "{error}");
    for undeclared in ["nope.text", "nope.?text", "nope == 'x' ? 1 : 2", "frobnicate(1)"] {
        assert_eq!(param(undeclared, json!({"default": 5})), Ok((Some(json!(5)), vec![])), "{undeclared}");
        assert_eq!(param(undeclared, json!({})), Ok((None, vec![])), "{undeclared}");
        let error = param(undeclared, json!({"required": true, "default": 5})).unwrap_err();
        assert!(error.contains("undeclared reference to"), "{error}");
    }
    for expression in [ABSENT, NULL] {
        let error = param(expression, json!({"required": true})).unwrap_err();
        assert!(error.contains("failed to extract required parameter 'value'"), "{error}");
        assert!(error.ends_with("it has no value"), "{error}");
        let default = param(expression, json!({"required": true, "default": 5}));
        assert_eq!(default, Ok((Some(json!(5)), vec![])), "{expression}");
    }
    let value = param("event.id", json!({"required": true}));
    assert_eq!(value, Ok((Some(json!("c-1")), vec![])));
}

#[test]
fn failed_param_fails_the_event_unless_the_author_wants_its_default() {
    let call = || json!({"api_call": {"method": "GET", "url": "/clusters/c-2"}});
    let file = || json!({"file": {"path": "/etc/tier"}});
    let expression = |source: &str| json!({"expression": source});
    let called = |result: Result<&str, CallError>| Some(Answer::Called(result.map(str::to_owned)));
    let unread = |error: fn(String) -> ReadError| Some(Answer::Read(Err(error("it says no".to_owned()))));
    let failed = [
        ("a call that fails", call(), json!({}), called(Err(CallError::Failed("503".to_owned()))), "503"),
        (
            "a page",
            call(),
            json!({}),
            called(Ok("<html>")),
            "the response is not JSON: expected value at line 1 column 1",
        ),
        ("a list", call(), json!({}), called(Ok("[]")), "the response is not a JSON object"),
        ("a file that cannot be read", file(), json!({}), unread(ReadError::Failed), "it says no"),
        ("an evaluation", expression("event.id - 1"), json!({}), None, "applied to '(string, int)'"),
        ("a conversion", json!("event.id"), json!({"type": "int"}), None, "failed to convert parameter 'value'"),
    ];
    for (name, source, more, answer, cause) in failed {
        let with = |key: &str, value: Value| {
            let mut more = more.clone();
            more["default"] = json!(5);
            more[key] = value;
            more
        };
        for more in [more.clone(), with("on_error", json!("fail"))] {
            let error = resolved(source.clone(), more.clone(), answer.clone()).unwrap_err();
            assert!(error.contains(cause), "{name}: {more}: {error}");
        }
        let (value, replaced) = resolved(source, with("on_error", json!("default")), answer).unwrap();
        assert_eq!(value, Some(json!(5)), "{name}");
        assert!(matches!(replaced.as_slice(), [error] if error.contains(cause)), "{name}: {replaced:?}");
    }
    let absent = [
        ("another resource", call(), called(Err(CallError::ResourceNotFound("404".to_owned())))),
        ("a missing file", file(), unread(ReadError::Missing)),
        ("a missing variable", json!("env.NOPE"), None),
        ("a missing member", json!("event.nope"), None),
    ];
    for (name, source, answer) in absent {
        let value = resolved(source, json!({"default": 5}), answer);
        assert_eq!(value, Ok((Some(json!(5)), vec![])), "{name}");
    }
}

#[test]
fn expression_that_reads_a_param_without_a_value_says_which_and_why() {
    let expression = |name: &str, text: &str| json!({"name": name, "source": {"expression": text}});
    for (first, why) in [
        (json!({"name": "first", "source": "env.NOPE"}), "environment variable NOPE is not set"),
        (json!({"name": "first", "source": {"expression": "event.nope"}}), "no such key: event.nope"),
        (json!({"name": "first", "source": {"expression": "null"}}), "its value is null"),
    ] {
        let reason = |read: &str| {
            let task = task(&json!({
                "params": [first, expression("second", "first + 'x'")],
                "preconditions": [{"name": "ready", "expression": format!("{read} == 'x'")}],
            }));
            let mut scope = scope();
            drive(Resolver::new(&task, &Host::default()), &mut scope).0.unwrap();
            match drive(Evaluator::new(&task), &mut scope).0 {
                Verdict::NotMet(reason) => reason,
                verdict @ (Verdict::Met | Verdict::Failed(_) | Verdict::ResourceNotFound(_)) => panic!("{verdict:?}"),
            }
        };
        let (of_first, of_second) = (reason("first"), reason("second"));
        assert!(of_first.contains("`first` has no value: ") && of_first.contains(why), "{of_first}");
        assert!(of_second.contains("`second` has no value: ") && of_second.contains(why), "{of_second}");
        assert!(!of_first.contains("undeclared") && !of_second.contains("undeclared"), "{of_second}");
    }
}

/// Resolves one param with an answer for its source: its value, and the failures that its default replaced.
fn resolved(source: Value, more: Value, answer: Option<Answer>) -> Result<(Option<Value>, Vec<String>), String> {
    let mut param = json!({"name": "value", "source": source});
    param.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let task = task(&json!({"params": [param]}));
    let mut scope = scope();
    let host = Host::default();
    let mut resolver = Resolver::new(&task, &host);
    let end = match resolver.resume(&mut scope, None) {
        Progress::Needs(_) => resolver.resume(&mut scope, answer),
        done @ Progress::Done(_) => done,
    };
    let Progress::Done(end) = end else { panic!("one need") };
    end.map_err(|error| error.to_string())?;
    let replaced = resolver.into_replaced().iter().map(ToString::to_string).collect();
    Ok((scope.get("value").cloned(), replaced))
}

#[test]
fn required_param_fails_for_null_but_not_for_empty_text() {
    let param = |value: Value, more: Value| {
        let mut param = json!({"name": "value", "source": "event.value", "required": true});
        param.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = task(&json!({"params": [param]}));
        let mut scope = scope();
        scope.set("event", json!({"value": value}));
        let (end, _) = drive(Resolver::new(&task, &Host::default()), &mut scope);
        end.map(|()| scope.get("value").cloned()).map_err(|error| error.to_string())
    };
    for more in [json!({}), json!({"type": "int"}), json!({"type": "string"}), json!({"default": null})] {
        let error = param(Value::Null, more).unwrap_err();
        assert!(error.ends_with("from source 'event.value': it has no value"), "{error}");
    }
    assert_eq!(param(Value::Null, json!({"default": 5})), Ok(Some(json!(5))));
    assert_eq!(param(json!(""), json!({})), Ok(Some(json!(""))));
    assert_eq!(param(json!(""), json!({"default": "a"})), Ok(Some(json!("a"))));
    let error = param(json!(""), json!({"type": "int"})).unwrap_err();
    assert!(error.contains("failed to convert parameter 'value'"), "{error}");
}

#[test]
fn precondition_that_fails_is_not_met() {
    let verdict = |expression: &str| {
        let task = task(&json!({"preconditions": [{"name": "ready", "expression": expression}]}));
        drive(Evaluator::new(&task), &mut scope()).0
    };
    let unmet = |details: &str| Verdict::NotMet(format!("precondition 'ready' not met: {details}"));
    let error = format!("CEL error: CEL evaluation error for expression \"{FAILS}\": no such key: event.nope");
    assert_eq!(verdict(FAILS), unmet(&error));
    assert_eq!(verdict(NULL), unmet("expression null is false"));
    assert_eq!(verdict("event.id == 'c-2'"), unmet("expression event.id == 'c-2' is false"));
    assert_eq!(verdict("event.id == 'c-1'"), Verdict::Met);
    // An absent optional counts as true in a precondition, as in the Go adapter.
    assert_eq!(verdict(ABSENT), Verdict::Met);
}

#[test]
fn capture_reads_only_the_response_and_is_null_if_it_fails() {
    let capture = |expression: &str| {
        let call = json!({"method": "GET", "url": "/clusters/c-1"});
        let capture = json!([{"name": "value", "expression": expression}]);
        let task = task(&json!({"preconditions": [{"name": "cluster", "api_call": call, "capture": capture}]}));
        let mut scope = scope();
        let (verdict, evaluator) = drive(Evaluator::new(&task), &mut scope);
        assert_eq!(verdict, Verdict::Met, "{expression}");
        (scope.get("value").cloned(), evaluator.into_results()[0].warnings.clone())
    };
    assert_eq!(capture("kind + cluster.kind"), (Some(json!("ClusterCluster")), vec![]));
    assert_eq!(capture("cluster.?nope"), (Some(json!(null)), vec![]));
    for (expression, cause) in
        [("cluster.nope", "no such key: cluster.nope"), ("event.id", "undeclared reference to 'event'")]
    {
        let (value, warnings) = capture(expression);
        assert_eq!(value, Some(json!(null)), "{expression}");
        assert!(warnings.len() == 1 && warnings[0].ends_with(cause), "{warnings:?}");
    }
}

#[test]
fn precondition_fails_on_a_response_that_is_no_object() {
    let verdict = |body: &str, more: Value| {
        let mut precondition = json!({"name": "cluster", "api_call": {"method": "GET", "url": "/clusters/c-1"}});
        precondition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = task(&json!({"preconditions": [precondition]}));
        let mut evaluator = Evaluator::new(&task);
        let mut scope = scope();
        assert!(matches!(evaluator.resume(&mut scope, None), Progress::Needs(_)));
        match evaluator.resume(&mut scope, Some(Answer::Called(Ok(body.to_owned())))) {
            Progress::Done(verdict) => verdict,
            Progress::Needs(need) => panic!("{need:?}"),
        }
    };
    for more in [json!({}), json!({"expression": "true"})] {
        for body in ["[]", "[{}]", r#""ready""#, "5", "true", "null", "", "{} {}"] {
            assert!(matches!(verdict(body, more.clone()), Verdict::Failed(_)), "{body:?}");
        }
        assert_eq!(verdict("{}", more), Verdict::Met);
    }
}

#[test]
fn missing_api_resource_of_the_event_ends_the_params() {
    let call = json!({"api_call": {"method": "GET", "url": "/clusters/c-1"}});
    for more in [json!({}), json!({"required": true}), json!({"default": {"spec": 1}})] {
        let mut param = json!({"name": "cluster", "source": call});
        param.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = task(&json!({"params": [param]}));
        let host = Host::default();
        let end = |error: CallError| {
            let mut scope = scope();
            let mut resolver = Resolver::new(&task, &host);
            assert!(matches!(resolver.resume(&mut scope, None), Progress::Needs(_)));
            match resolver.resume(&mut scope, Some(Answer::Called(Err(error)))) {
                Progress::Done(end) => end,
                Progress::Needs(need) => panic!("{need:?}"),
            }
        };
        assert_eq!(end(CallError::Gone("404".to_owned())), Err(Unresolved::Gone("404".to_owned())), "{more}");
        let other = end(CallError::ResourceNotFound("404".to_owned()));
        assert_eq!(
            other.is_err(),
            more["required"] == json!(true),
            "for another resource the param is just absent: {more}"
        );
    }
}

/// Returns the planner's decision for a ConfigMap with the keys `entry`, while the object `live` exists, if
/// given.
fn decision(entry: &Value, live: Option<Value>) -> String {
    let mut resource = json!({
        "name": "map",
        "transport": {"client": "kubernetes"},
        "discovery": {"by_name": "map", "namespace": "team"},
        "manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map", "namespace": "team"}},
    });
    resource.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let task = task(&json!({"resources": [resource]}));
    let generation = Generation(2);
    let stamp = Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c-1".to_owned(),
        resource_id_fault: None,
        generation,
        signer: None,
    };
    let mut scope = scope();
    let mut planner = Planner::new(&task, stamp);
    let step = loop {
        match planner.next(&mut scope) {
            Next::Read(wanted) => {
                for wanted in wanted {
                    let versions = live.clone().map(Version::new).into_iter().collect();
                    planner.observe(&mut scope, wanted.resource, Observation::Found(versions));
                }
            }
            Next::Write(step) => break Some(step),
            Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
            Next::Done => break None,
        }
    };
    match step.map(|step| step.purpose) {
        Some(Purpose::Decided(decision)) => decision.kind().to_owned(),
        Some(Purpose::Prune) => "prune".to_owned(),
        None => match planner.outcomes()[0].failure() {
            Some(failure) => format!("{}: {}", failure.reason.as_str(), failure.message),
            None => format!("skip {}", planner.outcomes()[0].decision.reason()),
        },
    }
}

/// A live ConfigMap of an earlier generation.
fn live() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "map", "namespace": "team", "uid": "u-1", "creationTimestamp": "2026-03-01T11:00:00Z",
            "annotations": {"hyperfleet.io/generation": "1"},
        },
    })
}

fn gated(gate: &str, expression: &str) -> Value {
    let when = json!({"expression": expression});
    match gate {
        "when" => json!({"when": when}),
        "patch" => json!({"lifecycle": {"patch": [{"when": when, "document": {"data": {"a": "b"}}}]}}),
        gate => json!({"lifecycle": {gate: {"when": when}}}),
    }
}

/// Each gate, and whether the planner asks it while the object is live.
const GATES: [(&str, bool); 7] = [
    ("orphan", true),
    ("delete", true),
    ("when", true),
    ("create", false),
    ("apply", true),
    ("recreate", true),
    ("patch", true),
];

#[test]
fn gate_that_fails_or_has_no_value_fails_its_resource() {
    let mistakes = [
        (FAILS, "no such key: event.nope"),
        ("nope", "undeclared reference to 'nope'"),
        ("1 < 'a'", "found no matching overload for '_<_' applied to '(int, string)'"),
        ("dig(event, 'nope') < now()", "found no matching overload for '_<_' applied to '(null_type, string)'"),
        (ABSENT, "`event.?nope` gave no value"),
    ];
    for (gate, is_live) in GATES {
        for (expression, cause) in mistakes {
            // `create` and `delete` exist in the Go adapter too; in other keys, an undeclared name does not
            // load.
            if expression == "nope" && !["create", "delete"].contains(&gate) {
                continue;
            }
            let found = decision(&gated(gate, expression), is_live.then(live));
            assert!(found.starts_with("GateFailed: ") && found.ends_with(cause), "{gate} {expression}: {found}");
        }
    }
}

/// The gates that take away an object or its ownership.
const STRICT: [&str; 3] = ["orphan", "delete", "recreate"];

#[test]
fn gate_that_takes_an_object_away_takes_a_boolean_alone() {
    // Only an event knows the types of these values.
    let values = [
        ("[null][0]", "null", false),
        ("['True'][0]", "a text", true),
        ("['false'][0]", "a text", true),
        ("[''][0]", "a text", false),
        ("[1][0]", "a number", true),
        ("[0u][0]", "a number", true),
        ("[1.5][0]", "a number", true),
        ("[['a']][0]", "a list", true),
        ("[[]][0]", "a list", false),
        ("[{'a': true}][0]", "a mapping", true),
        ("[timestamp(now())][0]", "a timestamp", true),
        ("[duration('1s')][0]", "a duration", true),
        ("[b''][0]", "bytes", true),
        ("optional.of(['True'][0])", "a text", true),
    ];
    for (gate, is_live) in GATES {
        let decide = |expression: &str| decision(&gated(gate, expression), is_live.then(live));
        for (expression, kind, is_truthy) in values {
            let found = decide(expression);
            if STRICT.contains(&gate) {
                let cause = format!(
                    "GateFailed: failed to evaluate the {gate} gate: `{expression}` gave {kind}, and this gate takes `true` or \
                     `false` alone: write a test, such as `"
                );
                assert!(found.starts_with(&cause), "{gate} {expression}: {found}");
                // The value may be secret: the message has nothing that is not in the expression.
                assert!(!found.contains("True\"`") || kind == "a text", "{gate} {expression}: {found}");
            } else {
                assert_eq!(
                    found,
                    decide(if is_truthy { "true" } else { "false" }).replace("true", expression),
                    "{gate} {expression}"
                );
            }
        }
        for (expression, same) in [("[true][0]", "true"), ("[false][0]", "false"), ("optional.of([true][0])", "true")] {
            assert_eq!(decide(expression), decide(same), "{gate} {expression}");
        }
    }
}

#[test]
fn recreate_and_patch_gates_tolerate_a_missing_own_status() {
    for (gate, is_live) in GATES.into_iter().filter(|(_, is_live)| *is_live) {
        let is_lenient = ["recreate", "patch"].contains(&gate);
        for (expression, may_be_missing) in [
            ("resources.map.status.phase == 'Done'", true),
            ("resources.map.status.conditions.exists(c, c.status == 'True')", true),
            ("resources.map.spec.phase == 'Done'", false),
            ("resources.map.metadata.labels.app == 'a'", false),
            ("dig(resources.map, 'status.phase') < 'a'", false),
            ("has(resources.map.status) && resources.map.status.phase == 'Done'", true),
        ] {
            let found = decision(&gated(gate, expression), is_live.then(live));
            let does_not_fail = may_be_missing && is_lenient || expression.starts_with("has(");
            assert_eq!(!found.starts_with("GateFailed"), does_not_fail, "{gate} {expression}: {found}");
        }
    }
    // The recreate gate does not hold while the status is missing, so the object is updated.
    assert_eq!(decision(&gated("recreate", "resources.map.status.phase == 'Done'"), Some(live())), "update");
}

/// Runs phase 4 with one payload and one action that sends it; returns the payload, the warnings and the
/// action's end.
fn run_post(payload: Value, when: &str) -> (Option<Value>, Vec<String>, String) {
    let mut built = json!({"name": "status", "build": {"id": "c-1"}});
    built.as_object_mut().unwrap().extend(payload.as_object().unwrap().clone());
    let call = json!({"method": "PUT", "url": "/statuses", "body": "{{ .status }}"});
    let action = json!({"name": "send", "api_call": call, "when": {"expression": when}});
    let task = task(&json!({"post": {"payloads": [built], "post_actions": [action]}}));
    let mut scope = scope();
    let (report, _) =
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope);
    let payload = scope.get("status").map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap());
    let end = match (report.error, report.actions.first()) {
        (Some(error), _) => error.message,
        (None, action) => format!("{:?}", action.unwrap().end),
    };
    (payload, report.warnings, end)
}

#[test]
fn payload_value_that_fails_or_is_absent_gets_its_default() {
    let value = |expression: &str, default: Value| {
        let mut value = json!({"expression": expression});
        if !default.is_null() {
            value["default"] = default;
        }
        let (payload, warnings, _) = run_post(json!({"build": {"value": value}}), "true");
        (payload.unwrap()["value"].clone(), warnings.len())
    };
    for expression in [FAILS, ABSENT] {
        assert_eq!(value(expression, json!("none")), (json!("none"), 0), "{expression}");
        assert_eq!(value(expression, json!(null)), (json!(null), 1), "{expression}");
    }
    assert_eq!(value(NULL, json!("none")), (json!(null), 0));
    assert_eq!(value("event.id", json!("none")), (json!("c-1"), 0));
}

#[test]
fn failing_when_ends_the_phase_or_fails_readers_of_the_payload() {
    let cause = "no such key: event.nope";
    let (payload, _, end) = run_post(json!({"when": {"expression": FAILS}}), "true");
    assert!(payload.is_none() && end.starts_with("failed to build payload 'status'") && end.ends_with(cause), "{end}");
    let (payload, _, end) = run_post(json!({}), FAILS);
    assert!(payload.is_some() && end.ends_with(cause), "{end}");

    assert_eq!(run_post(json!({}), "true").2, "Executed");
    assert_eq!(run_post(json!({}), ABSENT).2, "Executed", "as in the Go adapter");
    assert_eq!(run_post(json!({}), NULL).2, "Skipped(\"when condition evaluated to false: null\")");
    let (payload, _, end) = run_post(json!({"when": {"expression": NULL}}), "true");
    assert_eq!((payload, end.as_str()), (None, "Skipped(\"referenced payload 'status' was skipped\")"));
}
