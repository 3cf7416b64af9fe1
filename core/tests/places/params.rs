//! Params whose source fails or has no value.

use lifecycle_core::params::{Resolver, Unresolved};
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::process_variables::Host;
use lifecycle_core::stage::{Answer, CallError, Progress, ReadError, Stage};
use serde_json::{Value, json};

use crate::world::{ABSENT, FAILS, NULL, drive, scope, task};

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
