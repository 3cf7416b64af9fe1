//! The golden table: expressions and what the Go adapter's engine, or where we leave it ours, makes of them.

use serde_json::json;

use super::Expected::{Absent, Fails, Is, Missing, Undeclared};
use super::*;

#[test]
fn expressions_of_the_proposal_evaluate() {
    let debounce = r#"!resources.?job.hasValue()
        || timestamp(resources.job.metadata.creationTimestamp) < timestamp(now()) - duration("10m")"#;
    let completed = r#"resources.job.status.conditions.exists(c, c.type == "Complete" && c.status == "True")"#;
    let orphan =
        r#"is_deleting && resources.?job.hasValue() && "hyperfleet.io/adapter" in resources.job.metadata.labels"#;
    let patch =
        r#"resources.?ns.hasValue() && dig(resources.ns.metadata.annotations, "example.io/status") != clusterStatus"#;
    let report =
        r#"resources.?job.?status.?conditions.orValue([]).filter(c, c.type == "Complete").size() > 0 ? "a" : "b""#;
    let rotated =
        r#"resources.?ns.hasValue() && dig(resources.ns.metadata.annotations, "example.io/rotated-at") < now()"#;
    check(
        &scope(),
        vec![
            (debounce, Is(json!(true))),
            (completed, Is(json!(true))),
            (orphan, Is(json!(true))),
            (patch, Is(json!(true))),
            (report, Is(json!("a"))),
            (rotated, Fails("found no matching overload for '_<_' applied to '(null_type, string)'")),
        ],
    );
    check(
        &scope_without_resources(),
        vec![
            (debounce, Is(json!(true))),
            (completed, Missing(&["resources", "job"])),
            (orphan, Is(json!(false))),
            (patch, Is(json!(false))),
            (report, Is(json!("b"))),
            (rotated, Is(json!(false))),
        ],
    );
}

#[test]
fn values_keep_their_types() {
    check(
        &scope(),
        vec![
            ("", Is(json!(true))),
            ("  \n ", Is(json!(true))),
            ("true // comment", Is(json!(true))),
            ("generation", Is(json!(7))),
            ("-generation", Is(json!(-7))),
            ("generation + 1", Is(json!(8))),
            ("generation % 2 == 1", Is(json!(true))),
            ("ratio", Is(json!(0.5))),
            ("whole", Is(json!(3.0))),
            ("1.0", Is(json!(1.0))),
            ("2u", Is(json!(2))),
            ("0x10", Is(json!(16))),
            ("huge", Is(json!(u64::MAX))),
            ("type(generation) == int", Is(json!(true))),
            ("type(whole) == double", Is(json!(true))),
            ("type(huge) == uint", Is(json!(true))),
            ("type(nothing)", Is(json!("null_type"))),
            ("type(labels) == map && type(tags) == list", Is(json!(true))),
            ("nothing", Is(json!(null))),
            ("null", Is(json!(null))),
            ("tags", Is(json!(["b", "a", "b"]))),
            ("labels", Is(json!({"app": "x", "example.io/tier": "gold"}))),
            ("{1: 'a', true: 2, 'k': null, 3u: [1.5]}", Is(json!({"1": "a", "true": 2, "k": null, "3": [1.5]}))),
            ("{'a': 1, 'a': 2}", Is(json!({"a": 2}))),
            ("b'hi'", Is(json!("aGk="))),
            ("[optional.none(), optional.of(1)]", Is(json!([null, 1]))),
            ("resources.job.metadata.labels", Is(json!({"hyperfleet.io/adapter": "x"}))),
            ("1.0 / 0.0", Fails("not finite")),
        ],
    );
}

#[test]
fn numbers_compare_across_types_and_compute_within_one() {
    check(
        &scope(),
        vec![
            ("generation == 7.0", Is(json!(true))),
            ("whole == 3", Is(json!(true))),
            ("generation > 6.5", Is(json!(true))),
            ("3u <= whole", Is(json!(true))),
            ("3 in [1.0, 3.0]", Is(json!(true))),
            ("generation + 1.0", Fails("found no matching overload for 'add' applied to '(int, double)'")),
            ("double(generation) + 1.0", Is(json!(8.0))),
            ("int(whole) + 1", Is(json!(4))),
            ("1 == '1'", Is(json!(false))),
            ("1 / 0", Fails("division by zero")),
            ("1 % 0", Fails("modulus by zero")),
            ("9223372036854775807 + 1", Fails("integer overflow")),
            ("1 < 'a'", Fails("'_<_' applied to '(int, string)'")),
            ("!generation", Fails("'!_' applied to '(int)'")),
        ],
    );
}

#[test]
fn string_prints_values_as_in_go() {
    check(
        &scope(),
        vec![
            ("string(whole)", Is(json!("3"))),
            ("string(5.0)", Is(json!("5"))),
            ("string(million)", Is(json!("1e+06"))),
            ("string(1234567.0)", Is(json!("1.234567e+06"))),
            ("string(999999.0)", Is(json!("999999"))),
            ("string(0.00001)", Is(json!("1e-05"))),
            ("string(generation)", Is(json!("7"))),
            ("string(1000000)", Is(json!("1000000"))),
            ("string(2u)", Is(json!("2"))),
            ("string(true)", Is(json!("true"))),
            ("string(name)", Is(json!("héé"))),
            ("string(b'hi')", Is(json!("hi"))),
            (r"string(b'\xff')", Fails("string: invalid utf-8")),
            ("string(timestamp('2026-03-01T12:00:00.5+02:00'))", Is(json!("2026-03-01T10:00:00.5Z"))),
            ("string(duration('1h30m'))", Is(json!("5400s"))),
            ("string(tags)", Fails("'string' applied to '(list)'")),
            ("string(nothing)", Fails("'string' applied to '(null_type)'")),
            (
                "toJson(event)",
                Is(json!(r#"{"deleted_time":null,"html":"\u003ca\u0026b\u003e","id":"c-1","numbers":{"1":"one"}}"#)),
            ),
            ("toJson({'b': 1, 'a': [5.0, 1e21]})", Is(json!(r#"{"a":[5,1e+21],"b":1}"#))),
            ("toJson(null)", Is(json!("null"))),
            ("int('12') + 1", Is(json!(13))),
            ("int('x')", Fails("int")),
            ("double('1.5')", Is(json!(1.5))),
            ("bool('true')", Is(json!(true))),
        ],
    );
}

#[test]
fn missing_key_error_names_its_path() {
    check(
        &scope(),
        vec![
            ("labels.nope", Missing(&["labels", "nope"])),
            ("labels['nope']", Missing(&["labels", "nope"])),
            ("resources.nope.status", Missing(&["resources", "nope"])),
            ("resources.ns.status.phase", Missing(&["resources", "ns", "status"])),
            (
                "resources['job'].status.conditions[1].reason",
                Missing(&["resources", "job", "status", "conditions", "1", "reason"]),
            ),
            (
                "resources.job.status.conditions.exists(c, c.reason == 'x')",
                Missing(&["resources", "job", "status", "conditions", "1", "reason"]),
            ),
            (
                "resources.job.status.conditions.filter(c, c.status == 'True').map(c, c.reason)",
                Missing(&["resources", "job", "status", "conditions", "1", "reason"]),
            ),
            ("[event].map(e, e.nope)", Missing(&["event", "nope"])),
            ("{'a': 1}.b", Missing(&["b"])),
            ("labels.nope == 'x' || true", Is(json!(true))),
            ("labels.nope == 'x' && false", Is(json!(false))),
            ("labels.nope == 'x' || false", Missing(&["labels", "nope"])),
            ("labels.?gone.orValue('') == '' && event.nope", Missing(&["event", "nope"])),
            ("nothing.a", Fails("'_._' applied to '(null_type, string)'")),
            ("name.a", Fails("'_._' applied to '(string, string)'")),
            ("tags[9]", Fails("index out of bounds")),
            ("tags['a']", Fails("'_[_]' applied to '(list, string)'")),
            ("nope.a.b", Undeclared("nope")),
            ("nope == 1", Undeclared("nope")),
            (".nope", Undeclared("nope")),
            ("frobnicate(1)", Undeclared("frobnicate")),
            ("name.frobnicate()", Undeclared("frobnicate")),
        ],
    );
}

#[test]
fn has_and_in_test_presence() {
    check(
        &scope(),
        vec![
            ("has(labels.app)", Is(json!(true))),
            ("has(labels.nope)", Is(json!(false))),
            ("has(event.deleted_time)", Is(json!(true))),
            ("has(event.nope.deeper)", Missing(&["event", "nope"])),
            ("'app' in labels", Is(json!(true))),
            ("'nope' in labels", Is(json!(false))),
            ("1 in {1: 2}", Is(json!(true))),
            ("'a' in tags && !('z' in tags)", Is(json!(true))),
            ("labels.`example.io/tier`", Is(json!("gold"))),
            ("labels['example.io/tier']", Is(json!("gold"))),
            ("event.numbers['1']", Is(json!("one"))),
            ("labels[1]", Missing(&["1"])),
        ],
    );
}

#[test]
fn optional_values_chain_and_default() {
    check(
        &scope(),
        vec![
            ("labels.?app", Is(json!("x"))),
            ("labels.?nope", Absent),
            ("labels[?'nope']", Absent),
            ("tags[?0]", Is(json!("b"))),
            ("tags[?9]", Absent),
            ("event.?deleted_time.hasValue()", Is(json!(true))),
            ("event.?deleted_time", Is(json!(null))),
            ("event.?deleted_time.?deeper.hasValue()", Is(json!(false))),
            ("name.?a", Absent),
            ("name.?a.?b.orValue('d')", Is(json!("d"))),
            ("adapter.?executionError.?phase.orValue('none')", Is(json!("none"))),
            ("resources.?job.?metadata.?generation.orValue(0)", Is(json!(3))),
            ("resources.?job.metadata.labels", Is(json!({"hyperfleet.io/adapter": "x"}))),
            ("resources.?job.metadata.nope", Absent),
            ("resources.?nope.metadata.nope", Absent),
            ("resources.?job.?metadata['generation']", Is(json!(3))),
            ("has(resources.?job.metadata)", Is(json!(true))),
            ("optional.none()", Absent),
            ("optional.of(1)", Is(json!(1))),
            ("optional.of(optional.none())", Absent),
            ("optional.ofNonZeroValue('')", Absent),
            ("optional.ofNonZeroValue(labels)", Is(json!({"app": "x", "example.io/tier": "gold"}))),
            ("optional.ofNonZeroValue(nested[2])", Absent),
            ("labels.?nope.or(labels.?app).value()", Is(json!("x"))),
            ("labels.?nope.value()", Fails("optional.none()")),
            ("labels.?app.optMap(v, v + '!')", Is(json!("x!"))),
            ("labels.?nope.optMap(v, v + '!')", Absent),
            ("labels.?app.optFlatMap(v, labels.?nope)", Absent),
            ("{'a': 1, ?'b': labels.?nope, ?'c': labels.?app}", Is(json!({"a": 1, "c": "x"}))),
            ("[1, ?labels.?nope, ?tags[?1]]", Is(json!([1, "a"]))),
            ("tags.first()", Is(json!("b"))),
            ("tags.last().value()", Is(json!("b"))),
            ("nested[2].first()", Absent),
            ("nested[2].last().hasValue()", Is(json!(false))),
            ("optional.unwrap([optional.of(1), optional.none(), optional.of(3)])", Is(json!([1, 3]))),
            ("[labels.?app, labels.?nope].unwrapOpt()", Is(json!(["x"]))),
            ("nope.?a", Undeclared("nope")),
        ],
    );
}

#[test]
fn list_and_map_functions_evaluate() {
    check(
        &scope(),
        vec![
            ("tags.size() + size(labels)", Is(json!(5))),
            ("tags + ['c']", Is(json!(["b", "a", "b", "c"]))),
            ("['c'] + tags", Is(json!(["c", "b", "a", "b"]))),
            ("tags == ['b', 'a', 'b'] && ['b', 'a', 'b'] == tags", Is(json!(true))),
            ("labels == {'app': 'x', 'example.io/tier': 'gold'}", Is(json!(true))),
            ("{'app': 'x', 'example.io/tier': 'gold'} == labels", Is(json!(true))),
            ("labels != {'app': 'y'}", Is(json!(true))),
            ("[labels] == [{'app': 'x', 'example.io/tier': 'gold'}]", Is(json!(true))),
            ("{'type': 'Complete', 'status': 'True'} in resources.job.status.conditions", Is(json!(true))),
            ("tags.distinct()", Is(json!(["b", "a"]))),
            ("tags.sort()", Is(json!(["a", "b", "b"]))),
            ("tags.reverse()", Is(json!(["b", "a", "b"]))),
            ("tags.slice(1, 3)", Is(json!(["a", "b"]))),
            ("tags.slice(1, 9)", Fails("slice")),
            ("nested.flatten()", Is(json!([1, 2, 3, [4]]))),
            ("nested.flatten(2)", Is(json!([1, 2, 3, 4]))),
            ("lists.range(3)", Is(json!([0, 1, 2]))),
            ("tags + labels", Fails("'add' applied to '(list, map)'")),
            ("lists.range(1000000000)", Fails("more than 100000 iterations")),
            ("conditions.sortBy(c, c.type).map(c, c.type)", Is(json!(["Ahead", "Odd", "Old", "Ready"]))),
            ("labels.map(k, k)", Is(json!(["app", "example.io/tier"]))),
            ("labels.exists(k, labels[k] == 'gold')", Is(json!(true))),
            ("labels.all(k, k != 'nope')", Is(json!(true))),
            ("tags.exists_one(t, t == 'a')", Is(json!(true))),
            ("tags.map(t, t != 'a', t + '1')", Is(json!(["b1", "b1"]))),
            ("nested.map(l, l.size())", Is(json!([2, 2, 0]))),
            ("tags.all(t, t == 'b' || nope)", Undeclared("nope")),
            ("tags.exists(t, t == 'a' || nope)", Is(json!(true))),
            ("[1, 2, 3].filter(x, x > generation - 6)", Is(json!([2, 3]))),
            ("tags[1.0]", Is(json!("a"))),
            ("tags[-1]", Fails("index out of bounds")),
            ("'x' in name", Fails("'@in' applied to '(string, string)'")),
            ("generation.map(x, x)", Fails("iterable")),
        ],
    );
}

#[test]
fn string_functions_evaluate() {
    check(
        &scope(),
        vec![
            ("name.size()", Is(json!(3))),
            ("name + '!'", Is(json!("héé!"))),
            ("name.startsWith('h') && name.endsWith('é') && name.contains('éé')", Is(json!(true))),
            ("'cluster-12'.matches('^[a-z]+-[0-9]+$')", Is(json!(true))),
            ("'a,b'.split(',')", Is(json!(["a", "b"]))),
            ("tags.join('-')", Is(json!("b-a-b"))),
            ("tags.join()", Is(json!("bab"))),
            ("[].join('-')", Is(json!(""))),
            ("labels.join()", Fails("'join' applied to '(map)'")),
            ("[1].join()", Fails("join: not a list of strings")),
            ("tags.join(1)", Fails("'join' applied to '(list, int)'")),
            ("'hello'.replace('', '-', 2)", Is(json!("-h-ello"))),
            ("'hello'.replace('l', '', -1)", Is(json!("heo"))),
            ("'hello'.replace('l', 'L', 0)", Is(json!("hello"))),
            ("'hello'.replace('l', 1)", Fails("'replace' applied to '(string, string, int)'")),
            ("'AbC'.lowerAscii() + 'AbC'.upperAscii()", Is(json!("abcABC"))),
            ("' x '.trim()", Is(json!("x"))),
            ("'hello'.replace('l', 'L', 1)", Is(json!("heLlo"))),
            ("'hello'.substring(1, 3)", Is(json!("el"))),
            ("'hello'.charAt(1)", Is(json!("e"))),
            ("'hello'.indexOf('l') + 'hello'.lastIndexOf('l')", Is(json!(5))),
            ("'abc'.reverse()", Is(json!("cba"))),
            ("'%s has %d'.format(['x', 3])", Is(json!("x has 3"))),
            ("'%s'.format([{'b': 1, 'a': [true, null]}])", Is(json!("{a: [true, null], b: 1}"))),
            ("'%s'.format([{'b': {'d': 2.0, 'c': 'x'}}])", Is(json!("{b: {c: x, d: 2}}"))),
            (r#"strings.quote("a\"b")"#, Is(json!(r#""a\"b""#))),
            ("base64.encode(b'hi')", Is(json!("aGk="))),
            ("base64.encode('héllo')", Is(json!("aMOpbGxv"))),
            ("base64.encode(7)", Fails("'base64.encode' applied to '(int)'")),
            ("string(base64.decode('aGk='))", Is(json!("hi"))),
            ("string(base64.decode('aGk'))", Is(json!("hi"))),
            ("base64.decode('aGk=') == b'hi'", Is(json!(true))),
            ("base64.decode('secret!')", Fails("base64.decode: not base64 text, such as \"aGk=\"")),
            ("string(base64.decode('//4='))", Fails("string")),
            ("base64.decode(b'hi')", Fails("'base64.decode' applied to '(bytes)'")),
            ("size", Is(json!("a function's name"))),
            ("size(size) > 3", Is(json!(true))),
            ("is_deleting ? 'yes' : 'no'", Is(json!("yes"))),
            ("generation ? 'yes' : 'no'", Fails("bool")),
        ],
    );
}

#[test]
fn dig_tries_the_whole_key_before_it_splits() {
    check(
        &scope(),
        vec![
            ("dig(resources, 'job.metadata.generation')", Is(json!(3))),
            ("dig(labels, 'example.io/tier')", Is(json!("gold"))),
            ("dig(resources, 'job.metadata.annotations.example.io/status')", Is(json!("installing"))),
            ("dig(resources, 'job.spec.data.a.b')", Is(json!({"c": 1}))),
            ("dig({'a.b': 1, 'a': {'b': 2}}, 'a.b')", Is(json!(1))),
            ("dig({'a': {'b': 2, 'b.c': 3}}, 'a.b.c')", Is(json!(3))),
            ("dig({'literal.key/with.dots': 1}, 'literal.key/with.dots')", Is(json!(1))),
            // All that is left, or up to the next dot, and nothing in between.
            ("dig({'a.b': {'c': 1}}, 'a.b.c')", Is(json!(null))),
            ("dig(resources, 'job.status.conditions.1.type')", Is(json!("Complete"))),
            ("dig(resources, ' job . metadata .. generation ')", Is(json!(3))),
            ("dig(labels, '')", Is(json!({"app": "x", "example.io/tier": "gold"}))),
            ("dig(labels, ' . ')", Is(json!({"app": "x", "example.io/tier": "gold"}))),
            ("dig(resources, 'job.nope.deeper')", Is(json!(null))),
            ("dig(resources, 'job.metadata.generation.deeper')", Is(json!(null))),
            ("dig(tags, '9')", Is(json!(null))),
            ("dig(tags, '-1')", Is(json!(null))),
            ("dig(event, 'numbers.1')", Is(json!("one"))),
            ("dig(nothing, 'a')", Is(json!(null))),
            ("dig({'a': [{'b': 1}]}, 'a.0.b')", Is(json!(1))),
            ("dig(resources, 'job.status.conditions').filter(c, c.type == 'Complete').size()", Is(json!(1))),
            ("dig(dig(resources, 'job'), 'metadata').generation", Is(json!(3))),
            ("dig(labels, 1)", Fails("'dig' applied to '(map, int)'")),
        ],
    );
}

#[test]
fn condition_functions_evaluate() {
    check(
        &scope(),
        vec![
            ("conditionStatus(conditions, 'Ready')", Is(json!("True"))),
            ("conditionStatus(conditions, 'Nope')", Is(json!("Unknown"))),
            ("conditionStatus(conditions, 'Odd')", Is(json!("Unknown"))),
            ("conditionStatus(nothing, 'Ready')", Fails("conditions must be a list")),
            ("conditionStatus(labels, 'Ready')", Fails("conditions must be a list")),
            ("conditionStatus(conditions.filter(c, c.type != 'Ready'), 'Ready')", Is(json!("Unknown"))),
            ("conditionStatus([{'type': 'A', 'status': 'False'}], 'A')", Is(json!("False"))),
            ("conditionStatus([1, null], 'A')", Is(json!("Unknown"))),
            (
                "conditionStatus([{'type': null}, {'type': 'A', 'status': 'True', 'reason': null, 'message': null}], 'A')",
                Is(json!("True")),
            ),
            ("conditionStatus([{'type': 'A', 'status': null}], 'A')", Is(json!("Unknown"))),
            ("conditionAge([{'type': 'A', 'last_transition_time': null}], 'A')", Is(json!(-1))),
            ("[{'type': 'A', 'reason': null}].exists(c, c.type == 'A' && c.reason == 'x')", Is(json!(false))),
            ("[{'type': 'A', 'message': null}].filter(c, c.message == null).size()", Is(json!(1))),
            ("conditionAge(conditions, 'Ready')", Is(json!(600))),
            ("conditionAge(conditions, 'Old')", Is(json!(86400))),
            ("conditionAge(conditions, 'Odd')", Is(json!(-1))),
            ("conditionAge(conditions, 'Nope')", Is(json!(-1))),
            ("conditionAge(conditions, 'Ahead')", Is(json!(-5))),
            ("conditionAge(conditions.filter(c, c.type == 'Ready'), 'Ready')", Is(json!(600))),
            ("conditionAge('x', 'Ready')", Fails("conditionAge: conditions must be a list")),
            ("stableFor(conditions, 'Ready', 600)", Is(json!(true))),
            ("stableFor(conditions, 'Ready', 601)", Is(json!(false))),
            ("stableFor(conditions, 'Old', 1)", Is(json!(false))),
            ("stableFor(conditions, 'Nope', 1)", Is(json!(false))),
            ("stableFor(conditions, 'Ready', '1')", Fails("'stableFor'")),
            ("statusFeedbackValue(feedback, 'phase')", Is(json!("Active"))),
            ("statusFeedbackValue(feedback, 'nope')", Is(json!(""))),
            ("statusFeedbackValue(nothing, 'phase')", Is(json!(""))),
            ("statusFeedbackValue({'values': [{'name': 'a', 'fieldValue': {'string': 's'}}]}, 'a')", Is(json!("s"))),
            ("triState(true, true)", Is(json!("True"))),
            ("triState(false, true)", Is(json!("False"))),
            ("triState(false, false)", Is(json!("Unknown"))),
            ("triState(1, false)", Fails("'triState' applied to '(int, bool)'")),
        ],
    );
}

#[test]
fn truthiness_follows_the_go_adapter() {
    let cases = [
        ("true", true),
        ("false", false),
        ("null", false),
        ("''", false),
        ("'false'", true),
        ("[]", false),
        ("[0]", true),
        ("{}", false),
        ("{'a': 0}", true),
        ("0", true),
        ("0.0", true),
        ("optional.none()", true),
        ("optional.of(false)", false),
        ("optional.of('')", false),
        ("nothing", false),
        ("event.?deleted_time", false),
        ("event.?nope", true),
    ];
    for (source, expected) in cases {
        assert_eq!(Expression::parse(source).unwrap().matches(&scope()).unwrap(), expected, "{source}");
    }
}

#[test]
fn error_names_the_expression_but_no_value() {
    let mut scope = scope();
    scope.set("secret", json!({"password": "hunter2"}));
    for source in [
        "secret + 1",
        "secret < 1",
        "secret.password[0]",
        "-secret",
        "secret.nope",
        "[1][secret.password]",
        "{secret: 1}",
        "secret[secret.password]",
        "{'a': 1}[secret.password]",
        "timestamp(secret.password)",
        "duration(secret.password)",
        "timestamp(now()).getHours(secret.password)",
        "'a'.matches('(' + secret.password)",
    ] {
        let error = evaluate(&scope, source).expect_err(source).to_string();
        assert!(error.starts_with(&format!("CEL evaluation error for expression \"{source}\": ")), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn missing_key_is_matched_by_its_path() {
    let below = |source: &str, path: &[&str]| evaluate(&scope(), source).expect_err(source).is_missing_below(path);
    let status = ["resources", "ns", "status"];
    assert!(below("resources.ns.status.conditions", &status));
    assert!(!below("resources.ns.metadata.labels", &status));
    assert!(!below("resources.nope.status", &status));
    assert!(!below("resources.ns.nope", &status));
    assert!(!below("nope", &status));
    let status = ["resources", "job", "status"];
    assert!(below("resources.job.status.succeeded > 0", &status));
    assert!(below("resources.job.status.conditions.all(c, c.reason == 'x')", &status));
}
