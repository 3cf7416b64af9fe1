//! Where the interpreter differs from the Go adapter's engine, and expressions follow the engine.

use serde_json::json;

use super::Expected::{Absent, Fails, Is, Missing};
use super::*;

#[test]
fn has_is_false_for_values_without_fields() {
    let mut scope = scope();
    scope.set("list_of_texts", json!(["a"]));
    check(
        &scope,
        vec![
            ("has(name.a)", Is(json!(false))),
            ("has(generation.a)", Is(json!(false))),
            ("has(ratio.a)", Is(json!(false))),
            ("has(is_deleting.a)", Is(json!(false))),
            ("has(nothing.a)", Is(json!(false))),
            ("has(event.deleted_time.a)", Is(json!(false))),
            ("has(timestamp(now()).a)", Is(json!(false))),
            ("has(labels.?app.a)", Is(json!(false))),
            ("has(labels.?nope.a)", Is(json!(false))),
            ("has({'a': 1}.a)", Is(json!(true))),
            ("has({'a': 1}.b)", Is(json!(false))),
            ("has(labels.app) && !has(labels.nope)", Is(json!(true))),
            ("has(tags.a)", Fails("'has' applied to '(list, string)'")),
            ("has(event.nope.deeper)", Missing(&["event", "nope"])),
            ("has(nope.a)", Expected::Undeclared("nope")),
            ("nested.filter(n, has(n.a))", Fails("'has' applied to '(list, string)'")),
            ("list_of_texts.filter(t, has(t.a))", Is(json!([]))),
        ],
    );
}

#[test]
fn index_of_beyond_the_end_is_minus_one() {
    check(
        &scope(),
        vec![
            ("'hello'.indexOf('l', 2)", Is(json!(2))),
            ("'hello'.indexOf('l', 3)", Is(json!(3))),
            ("'hello'.indexOf('l', 4)", Is(json!(-1))),
            ("'hello'.indexOf('l', 5)", Is(json!(-1))),
            ("'hello'.indexOf('l', 99)", Is(json!(-1))),
            ("'hello'.lastIndexOf('l', 99)", Is(json!(-1))),
            ("'hello'.lastIndexOf('l', 2)", Is(json!(2))),
            ("'hello'.lastIndexOf('l', 4)", Is(json!(3))),
            ("'hello'.lastIndexOf('h', 0)", Is(json!(0))),
            ("'hello'.lastIndexOf('e', 0)", Is(json!(-1))),
            ("'bananananana'.lastIndexOf('nana', 7)", Is(json!(6))),
            ("'ta©o©αT'.indexOf('©', 3)", Is(json!(4))),
            ("'ta©o©αT'.indexOf('©α', 5)", Is(json!(-1))),
            ("'ta©o©αT'.lastIndexOf('©', 3)", Is(json!(2))),
            ("'hello mellow'.lastIndexOf('ello', 6)", Is(json!(1))),
            ("name.indexOf('é', 2)", Is(json!(2))),
            ("'abc'.indexOf('', 2)", Is(json!(2))),
            ("'abc'.indexOf('l', -1)", Fails("indexOf: the index is negative")),
            ("'abc'.lastIndexOf('l', -1)", Fails("lastIndexOf: the index is negative")),
            ("'abc'.indexOf('l', '1')", Fails("'indexOf' applied to '(string, string, string)'")),
            ("generation.indexOf('l', 1)", Fails("'indexOf' applied to '(int, string, int)'")),
        ],
    );
}

#[test]
fn optional_elements_and_entries_need_an_optional() {
    check(
        &scope(),
        vec![
            ("[?1]", Fails("`?` before an element or entry needs an optional value, not int")),
            ("[1, ?labels.app]", Fails("needs an optional value, not string")),
            ("{?'a': 1}", Fails("needs an optional value, not int")),
            ("{'a': 1, ?'b': labels.?nope}", Is(json!({"a": 1}))),
            ("[?optional.of(1), ?labels.?nope, ?labels.?app]", Is(json!([1, "x"]))),
            ("{?'a': optional.of(null)}", Is(json!({"a": null}))),
        ],
    );
}

#[test]
fn failed_left_operand_is_reported_if_the_right_one_fails_too() {
    check(
        &scope(),
        vec![
            ("labels.left || labels.right", Missing(&["labels", "left"])),
            ("labels.left && labels.right", Missing(&["labels", "left"])),
            ("false || labels.left || labels.right", Missing(&["labels", "left"])),
            ("labels.left || labels.middle || labels.right", Missing(&["labels", "left"])),
            ("(true && labels.left) || labels.right", Missing(&["labels", "left"])),
            ("false || (labels.left && labels.right)", Missing(&["labels", "left"])),
            ("labels.left == '' || (event.nope && 1 / 0 == 1)", Missing(&["labels", "left"])),
            ("false || labels.right", Missing(&["labels", "right"])),
            ("labels && labels.right", Missing(&["labels", "right"])),
            ("labels.left || true", Is(json!(true))),
            ("labels.left || false", Missing(&["labels", "left"])),
            ("true && (false || 1 / 0 == 1 || labels.right)", Fails("division by zero")),
        ],
    );
}

#[test]
fn bool_parses_text_as_in_go() {
    for text in ["1", "t", "T", "TRUE", "true", "True"] {
        check(&scope(), vec![(&format!("bool('{text}')"), Is(json!(true)))]);
    }
    for text in ["0", "f", "F", "FALSE", "false", "False"] {
        check(&scope(), vec![(&format!("bool('{text}')"), Is(json!(false)))]);
    }
    check(
        &scope(),
        vec![
            ("bool(true) && !bool(false)", Is(json!(true))),
            ("bool('tRUE')", Fails("bool: not a boolean")),
            ("bool('yes')", Fails("bool: not a boolean")),
            ("bool('')", Fails("bool: not a boolean")),
            ("bool(' true')", Fails("bool: not a boolean")),
            ("bool(1)", Fails("'bool' applied to '(int)'")),
            ("bool(nothing)", Fails("'bool' applied to '(null_type)'")),
        ],
    );
}

#[test]
fn empty_bytes_count_as_true() {
    for (source, expected) in [("b''", true), ("b'a'", true), ("optional.of(b'')", true), ("''", false)] {
        assert_eq!(Expression::parse(source).unwrap().matches(&scope()).unwrap(), expected, "{source}");
    }
}

#[test]
fn patterns_mean_what_they_mean_in_go() {
    check(
        &scope(),
        vec![
            (r"'é'.matches('^\\w$') || '٣'.matches('^\\d$') || '\u00a0'.matches('^\\s$')", Is(json!(false))),
            (r"matches('a{', r'a\{')", Is(json!(true))),
            (r"name.matches('^h\\W+$')", Is(json!(true))),
            ("'x' + name == 'xhéé' && name.matches('^' + 'h')", Is(json!(true))),
            ("'a'.matches('(')", Fails("matches: `(` in the pattern: unclosed group")),
            (r"'aa'.matches('(a)\\1')", Fails("matches: `\\1` in the pattern: backreferences are not supported")),
            ("'a'.matches(name + '(')", Fails("matches: not a regular expression")),
            ("'a'.matches(1)", Fails("'matches' applied to '(string, int)'")),
            ("generation.matches('a')", Fails("'matches' applied to '(int, string)'")),
            ("matches('a')", Fails("'matches' applied to '(string)'")),
            ("labels.?nope.matches('a')", Fails("'matches' applied to '(optional_type, string)'")),
            ("labels.?nope", Absent),
        ],
    );
}

/// Patterns as people write them: for fifty values, in one expression.
#[test]
fn patterns_with_many_counts_work_on_fifty_values() {
    let octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
    let cases = [
        (
            "a UUID",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$".to_owned(),
            "123e4567-e89b-12d3-a456-426614174000",
        ),
        ("a DNS label", format!("^{label}$"), "a-label-of-dns"),
        ("a DNS name", format!(r"^{label}(\\.{label}){{0,8}}$"), "api.example.com"),
        ("an IPv4 address", format!(r"^({octet}\\.){{3}}{octet}$"), "192.168.255.1"),
        ("an address in short", r"^([0-9]{1,3}\\.){3}[0-9]{1,3}$".to_owned(), "10.0.0.1"),
        ("a CIDR", r"^([0-9]{1,3}\\.){3}[0-9]{1,3}/([0-9]|[12][0-9]|3[0-2])$".to_owned(), "10.0.0.0/16"),
        (
            "a date",
            r"^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})$".to_owned(),
            "2026-03-01T12:00:00.5+01:00",
        ),
        (
            "an image digest",
            r"^[\\w./-]{1,200}@sha256:[0-9a-f]{64}$".to_owned(),
            "quay.io/a/b@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ),
        ("a GCP project", "^[a-z][a-z0-9-]{4,28}[a-z0-9]$".to_owned(), "my-project-12"),
        (
            "an ARN",
            r"^arn:(aws|aws-cn|aws-us-gov):iam::\\d{12}:role/[\\w+=,.@/-]{1,512}$".to_owned(),
            "arn:aws:iam::123456789012:role/path/my-role",
        ),
        ("a MAC address", "^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$".to_owned(), "00:1A:2b:3c:4D:5e"),
    ];
    for (name, pattern, example) in &cases {
        let mut scope = scope();
        scope.set("values", json!(vec![example; 50]));
        scope.set("pattern", json!(pattern.replace(r"\\", r"\")));
        for source in [format!("values.all(v, v.matches('{pattern}'))"), "values.all(v, v.matches(pattern))".to_owned()]
        {
            assert_eq!(evaluate(&scope, &source).unwrap(), Answer::Value(json!(true)), "{name}: {source}");
        }
        let source = format!("values.exists(v, (v + '!!').matches('{pattern}'))");
        assert_eq!(evaluate(&scope, &source).unwrap(), Answer::Value(json!(false)), "{name}");
    }
    let mut scope = scope();
    let mut all = Vec::new();
    for (index, (_, pattern, example)) in cases.iter().enumerate() {
        scope.set(&format!("v{index}"), json!(vec![example; 50]));
        all.push(format!("v{index}.all(v, v.matches('{pattern}'))"));
    }
    assert_eq!(evaluate(&scope, &all.join(" && ")).unwrap(), Answer::Value(json!(true)), "all in one expression");
}
