//! Tests of the readings that explain a decision.

use super::*;
use crate::cel::summary::MAX_CHARACTERS;

/// A sentence, an expression, and what it reads: paths and values.
type Case<'c> = (&'c str, &'c str, &'c [(&'c str, &'c str)]);

fn readings(scope: &Scope, source: &str) -> Vec<(String, String)> {
    let readings = Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}")).readings(scope);
    readings.into_iter().map(|reading| (reading.path.to_string(), reading.value)).collect()
}

fn explain(scope: &Scope, name: &str, source: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    assert_eq!(readings(scope, source), expected, "{name}");
}

#[test]
fn a_reading_is_the_longest_path_and_its_value() {
    let cases: &[Case] = &[
        ("a variable", "is_deleting", &[("is_deleting", "true")]),
        ("nothing", "1 + 2 == 3", &[]),
        ("no expression", "", &[]),
        (
            "the longest chain only",
            "resources.job.metadata.generation > 1",
            &[("resources.job.metadata.generation", "3")],
        ),
        ("a value that is missing", "resources.job.status.phase == 'a'", &[("resources.job.status.phase", "absent")]),
        ("an object that is missing", "resources.pod.status.phase", &[("resources.pod.status.phase", "absent")]),
        ("a variable that is missing", "nope", &[("nope", "absent")]),
        ("a value that is null", "event.deleted_time == null", &[("event.deleted_time", "null")]),
        ("below null", "event.deleted_time.zone", &[("event.deleted_time.zone", "absent")]),
        ("below a string", "name.first", &[("name.first", "absent")]),
        ("text is quoted", "clusterStatus", &[("clusterStatus", r#""installed""#)]),
        ("a presence test", "has(event.id)", &[("event.id", r#""c-1""#)]),
        ("a presence test that fails", "has(event.nope)", &[("event.nope", "absent")]),
        ("optional selects", "resources.?job.?metadata.generation", &[("resources.?job.?metadata.generation", "3")]),
        ("a chain ends where a method is called", "name.size() > 2", &[("name", r#""héé""#)]),
        ("an index by a constant", "labels['example.io/tier']", &[(r#"labels["example.io/tier"]"#, r#""gold""#)]),
        ("an optional index", "labels[?'nope']", &[(r#"labels[?"nope"]"#, "absent")]),
        ("an element", "conditions[0].status", &[("conditions[0].status", r#""True""#)]),
        ("an optional element", "tags[?9]", &[("tags[?9]", "absent")]),
        ("an element before the first", "tags[-1]", &[("tags[-1]", "absent")]),
        (
            "an escaped field",
            "labels.`example.io/tier` + labels.?`my-tier`",
            &[("labels.`example.io/tier`", r#""gold""#), ("labels.?`my-tier`", "absent")],
        ),
        (
            "an index that is computed ends a path",
            "tags[generation]",
            &[("tags", r#"["b","a","b"]"#), ("generation", "7")],
        ),
        ("membership", "'app' in labels", &[("labels", r#"{"app":"x","example.io/tier":"gold"}"#)]),
        ("each once", "generation > 1 && generation < 9", &[("generation", "7")]),
        (
            "each once, however it is selected",
            "resources.?job.?metadata.generation == 3 && resources.job.metadata['generation'] == 3",
            &[("resources.?job.?metadata.generation", "3")],
        ),
        (
            "a path and a longer one are two",
            "has(event.numbers) && event.numbers['1'] == 'one'",
            &[("event.numbers", r#"{"1":"one"}"#), (r#"event.numbers["1"]"#, r#""one""#)],
        ),
        (
            "in the order of appearance",
            "ratio > 1.0 ? [whole, million] : {empty: [generation]}",
            &[("ratio", "0.5"), ("whole", "3.0"), ("million", "1000000.0"), ("empty", r#""""#), ("generation", "7")],
        ),
        (
            "what is passed over counts too",
            "false && is_deleting ? ratio : whole",
            &[("is_deleting", "true"), ("ratio", "0.5"), ("whole", "3.0")],
        ),
        (
            "what a dig finds",
            "dig(resources, 'job.metadata.annotations.example.io/status') == 'x' && dig(labels, 'nope') == null",
            &[
                (r#"dig(resources, "job.metadata.annotations.example.io/status")"#, r#""installing""#),
                (r#"dig(labels, "nope")"#, "absent"),
            ],
        ),
        (
            "below and within a dig",
            "dig(dig(resources.job, 'metadata'), 'labels').app",
            &[(r#"dig(dig(resources.job, "metadata"), "labels").app"#, "absent")],
        ),
        (
            "a dig by what is computed",
            "dig(labels, name)",
            &[("labels", r#"{"app":"x","example.io/tier":"gold"}"#), ("name", r#""héé""#)],
        ),
        ("the clock", "now() > '2026'", &[("now()", r#""2026-03-01T12:00:00Z""#)]),
        (
            "functions that read the clock",
            "stableFor([event], 'a', 1)",
            &[("event", EVENT), ("now()", r#""2026-03-01T12:00:00Z""#)],
        ),
        ("an absolute name", ".generation", &[(".generation", "7")]),
        (
            "names of types are no paths",
            "type(generation) == int && type(1) != google.protobuf.Timestamp",
            &[("generation", "7")],
        ),
        ("namespaces are no paths", "optional.of(strings.quote(name))", &[("name", r#""héé""#)]),
    ];
    for (name, source, expected) in cases {
        explain(&scope(), name, source, expected);
    }
}

const EVENT: &str = r#"{"deleted_time":null,"html":"<a&b>","id":"c-1","numbers":{"1":"one"}}"#;

#[test]
fn loop_variables_are_no_readings() {
    let cases: &[Case] = &[
        ("the range is read", "tags.exists(t, t == 'a')", &[("tags", r#"["b","a","b"]"#)]),
        ("members of the variable", "[event].all(e, e.id == 'x')", &[("event", EVENT)]),
        (
            "other names within the loop",
            "tags.filter(t, t == clusterStatus).map(t, t + empty)",
            &[("tags", r#"["b","a","b"]"#), ("clusterStatus", r#""installed""#), ("empty", r#""""#)],
        ),
        ("the same name outside of it", "[1].exists(ratio, ratio > 1) || ratio > 1.0", &[("ratio", "0.5")]),
        ("an absolute name within", "[1].exists(ratio, .ratio > 1.0)", &[(".ratio", "0.5")]),
        ("exists_one", "tags.exists_one(t, t == name)", &[("tags", r#"["b","a","b"]"#), ("name", r#""héé""#)]),
        (
            "a map with a condition",
            "tags.map(t, t != name, ratio)",
            &[("tags", r#"["b","a","b"]"#), ("name", r#""héé""#), ("ratio", "0.5")],
        ),
        ("sortBy", "tags.sortBy(t, t + name)", &[("tags", r#"["b","a","b"]"#), ("name", r#""héé""#)]),
        ("optMap", "labels.?app.optMap(v, v + name)", &[("labels.?app", r#""x""#), ("name", r#""héé""#)]),
        (
            "optFlatMap",
            "labels.?app.optFlatMap(v, labels.?nope)",
            &[("labels.?app", r#""x""#), ("labels.?nope", "absent")],
        ),
        (
            "a dig of the variable",
            "tags.exists(t, dig(t, 'a') == dig(event, 'id'))",
            &[("tags", r#"["b","a","b"]"#), (r#"dig(event, "id")"#, r#""c-1""#)],
        ),
    ];
    for (name, source, expected) in cases {
        explain(&scope(), name, source, expected);
    }
}

#[test]
fn debounce_of_the_proposal_lists_its_readings() {
    let debounce = r#"!resources.?job.hasValue()
        || timestamp(resources.job.metadata.creationTimestamp) < timestamp(now()) - duration("10m")"#;
    let now = ("now()", r#""2026-03-01T12:00:00Z""#);
    let created = "resources.job.metadata.creationTimestamp";
    let job = scope().get("resources").unwrap()["job"].to_string();
    let job = format!("{}…", &job[..MAX_CHARACTERS]);
    explain(&scope(), "a job", debounce, &[("resources.?job", &job), (created, r#""2026-03-01T11:49:59Z""#), now]);
    explain(&scope_without_resources(), "none", debounce, &[("resources.?job", "absent"), (created, "absent"), now]);
}

/// Operators who read logs need not have access to Secrets.
#[test]
fn secrets_and_the_environment_are_redacted() {
    let applied = "kubectl.kubernetes.io/last-applied-configuration";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "s", "annotations": {applied: "hunter2", "plain": "p"}},
        "data": {"password": "hunter2", "list": ["hunter2"]},
        "stringData": {"password": "hunter2"},
    });
    let mut scope = scope();
    scope.set("env", json!({"TOKEN": "hunter2", "NAMESPACE": "hyperfleet"}));
    scope.conceal(&["env", "TOKEN"], true);
    let long = "abc".repeat(100);
    scope.set("answer", json!({"spec": {"pull": long, "pin": 4711.0, "region": "eu"}}));
    scope.conceal(&["answer", "spec", "pull"], true);
    scope.conceal(&["answer", "spec", "pin"], true);
    scope.set("work", json!({"spec": {"workload": {"manifests": [secret]}}}));
    scope.set("map", json!({"kind": "ConfigMap", "data": {"a": 1}, "metadata": {"annotations": {applied: "plain"}}}));
    scope.set("resources", json!({"s": secret}));
    scope.set("pod", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "for-hunter2"}}));
    let redacted = "[redacted]";
    let whole =
        r#"{"apiVersion":"v1","data":"[redacted]","kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io"#;
    let cut = |text: String| format!("{}…", &text[..MAX_CHARACTERS]);
    let cases: &[(&str, &str, &str, &str)] = &[
        ("a key", "resources.s.data.password", "resources.s.data.password", redacted),
        ("a key that is missing", "resources.s.data.nope", "resources.s.data.nope", "absent"),
        ("deeper", "resources.s.data.list[0]", "resources.s.data.list[0]", redacted),
        ("the data", "has(resources.s.data)", "resources.s.data", redacted),
        ("the text", "resources.s.stringData", "resources.s.stringData", redacted),
        (
            "a copy of all",
            &format!("resources.s.metadata.annotations['{applied}']"),
            r#"resources.s.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]"#,
            redacted,
        ),
        ("a dig", "dig(resources, 's.data.password')", r#"dig(resources, "s.data.password")"#, redacted),
        ("the whole", "resources.s", "resources.s", "Secret s"),
        ("more than the whole", "resources", "resources", &cut(format!(r#"{{"s":{whole}"#))),
        (
            "its annotations",
            "resources.s.metadata.annotations",
            "resources.s.metadata.annotations",
            r#"{"kubectl.kubernetes.io/last-applied-configuration":"[redacted]","plain":"p"}"#,
        ),
        ("a name that quotes a secret", "pod", "pod", "Pod for-[redacted]"),
        ("what is no secret of it", "resources.s.type", "resources.s.type", r#""Opaque""#),
        (
            "another annotation",
            "resources.s.metadata.annotations.plain",
            "resources.s.metadata.annotations.plain",
            r#""p""#,
        ),
        (
            "within other objects",
            "work.spec.workload.manifests[0].data",
            "work.spec.workload.manifests[0].data",
            redacted,
        ),
        (
            "a list of objects",
            "work.spec.workload.manifests",
            "work.spec.workload.manifests",
            &cut(format!("[{whole}")),
        ),
        ("data of another kind", "map.data", "map.data", r#"{"a":1}"#),
        (
            "the annotation of another kind",
            &format!("map.metadata.annotations['{applied}']"),
            r#"map.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]"#,
            r#""plain""#,
        ),
        ("the environment", "env", "env", r#"{"NAMESPACE":"hyperfleet","TOKEN":"[redacted]"}"#),
        ("what is no secret of it", "env.NAMESPACE", "env.NAMESPACE", r#""hyperfleet""#),
        ("a secret part of an answer", "answer.spec.pull", "answer.spec.pull", redacted),
        ("a dig for one", "dig(answer, 'spec.pull')", r#"dig(answer, "spec.pull")"#, redacted),
        ("the answer", "answer", "answer", r#"{"spec":{"pin":"[redacted]","pull":"[redacted]","region":"eu"}}"#),
        ("another part of it", "answer.spec.region", "answer.spec.region", r#""eu""#),
        ("a variable of it", "env.TOKEN", "env.TOKEN", redacted),
        ("by an index", "env[?'TOKEN']", r#"env[?"TOKEN"]"#, redacted),
        ("one that is missing", "env.?HOME", "env.?HOME", "absent"),
    ];
    for (name, source, path, value) in cases {
        explain(&scope, name, source, &[(path, value)]);
    }
}

#[test]
fn kubernetes_object_is_printed_as_kind_and_name() {
    let job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "team"}, "spec": {}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("resources", json!({"job": job, "namespace": namespace}));
    scope.set("kinds", json!({"kind": "Job", "metadata": {"name": "a"}}));
    let cases = [
        ("resources.?job.hasValue()", "resources.?job", "Job team/a"),
        ("!has(resources.namespace)", "resources.namespace", "Namespace team"),
        ("resources.job.metadata.size() > 1", "resources.job.metadata", r#"{"name":"a","namespace":"team"}"#),
        ("kinds.size() > 1", "kinds", r#"{"kind":"Job","metadata":{"name":"a"}}"#),
    ];
    for (source, path, value) in cases {
        explain(&scope, source, source, &[(path, value)]);
    }
}

#[test]
fn long_value_is_cut_after_a_number_of_characters() {
    let text = |length: usize| "é".repeat(length);
    let list = |length: usize| vec![1; length];
    let cases = [
        ("text that fits", json!(text(98)), format!("\"{}\"", text(98))),
        ("text one longer", json!(text(99)), format!("\"{}…", text(99))),
        ("long text", json!(text(100_000)), format!("\"{}…", text(99))),
        ("four bytes a character", json!("😀".repeat(200)), format!("\"{}…", "😀".repeat(99))),
        ("a list that fits", json!(list(49)), format!("[{}]", vec!["1"; 49].join(","))),
        ("a longer one", json!(list(50)), format!("[{}…", &vec!["1"; 51].join(",")[..99])),
        ("a long one", json!(list(100_000)), format!("[{}…", &vec!["1"; 51].join(",")[..99])),
        ("keys", json!({text(200): 1, "b": 1}), r#"{"b":1,""#.to_owned() + &text(92) + "…"),
        ("escapes are characters", json!("\n".repeat(60)), format!("\"{}\\…", "\\n".repeat(49))),
    ];
    for (name, value, expected) in cases {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("value", value);
        let found = readings(&scope, "value");
        assert_eq!(found, [("value".to_owned(), expected)], "{name}");
        assert!(found[0].1.chars().count() <= MAX_CHARACTERS + 1, "{name}");
    }
}

#[test]
fn readings_follow_the_scope() {
    let expression = Expression::parse("generation > 1").unwrap();
    let mut scope = scope();
    let value = |scope: &Scope| expression.readings(scope)[0].value.clone();
    assert_eq!(value(&scope), "7");
    scope.set("generation", json!(8));
    assert_eq!(value(&scope), "8");
    scope.unset("generation");
    assert_eq!(value(&scope), "absent");
    scope.set("int", json!(3));
    let shadowed = Expression::parse("int").unwrap();
    assert_eq!(shadowed.evaluate(&scope).unwrap(), Answer::Value(json!(3)));
    assert_eq!(shadowed.readings(&scope), [Reading { path: "int".into(), value: "3".to_owned() }]);
}
