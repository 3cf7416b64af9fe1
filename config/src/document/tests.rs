#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Document, Path, Position};

fn value(text: &str) -> Value {
    Document::parse("f.yaml", text).unwrap().root().to_value()
}

fn diagnostics(text: &str) -> String {
    Document::parse("f.yaml", text).unwrap_err().to_string()
}

#[test]
fn scalars_have_the_types_of_gos_yaml_library() {
    let cases = [
        ("text", "abc", json!("abc")),
        ("a number", "12", json!(12)),
        ("a signed number", "-12", json!(-12)),
        ("a number with a plus", "+12", json!(12)),
        ("octal with a bare zero", "0644", json!(420)),
        ("octal of YAML 1.2", "0o644", json!(420)),
        ("hexadecimal", "0x1F", json!(31)),
        ("binary", "-0b101", json!(-5)),
        ("digits that no octal has", "089", json!(89.0)),
        ("underscores", "1_000", json!(1000)),
        ("the largest unsigned number", "18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("the smallest signed number", "-9223372036854775808", json!(i64::MIN)),
        ("beyond every integer", "18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("a float", "1.5", json!(1.5)),
        ("an exponent", "1e3", json!(1000.0)),
        ("a float without a whole part", ".5", json!(0.5)),
        ("a float without a fraction", "5.", json!(5.0)),
        ("a version is text", "1.2.3", json!("1.2.3")),
        ("an address is text", "10.0.0.1", json!("10.0.0.1")),
        ("a date is a time", "2024-01-02", json!("2024-01-02T00:00:00Z")),
        ("a time of day is text", "12:30:00", json!("12:30:00")),
        ("yes is text", "yes", json!("yes")),
        ("on is text", "on", json!("on")),
        ("Norway is text", "NO", json!("NO")),
        ("true", "True", json!(true)),
        ("false", "FALSE", json!(false)),
        ("null by a tilde", "~", json!(null)),
        ("null by a word", "NULL", json!(null)),
        ("null by its tag", "!!null x", json!(null)),
        ("quoted", "'12'", json!("12")),
        ("a literal block", "|\n  12\n", json!("12\n")),
        ("a folded block", ">-\n  a\n  b\n", json!("a b")),
        ("text by its tag", "!!str 12", json!("12")),
        ("a number by its tag", "!!int '12'", json!(12)),
        ("an application's tag", "!mine 12", json!("12")),
        ("infinity in a word", "inf", json!("inf")),
        ("dots", "...x", json!("...x")),
    ];
    for (name, text, expected) in cases {
        assert_eq!(value(&format!("k: {text}"))["k"], expected, "{name}");
    }
}

#[test]
fn anchors_and_merge_keys_are_resolved() {
    let text = "base: &b {a: 1, b: 2}\none: *b\ntwo: {<<: *b, b: 3}\nthree: {b: 4, <<: [{b: 5, c: 6}, {c: 7}]}\n";
    assert_eq!(
        value(text),
        json!({"base": {"a": 1, "b": 2}, "one": {"a": 1, "b": 2}, "two": {"a": 1, "b": 3}, "three": {"b": 4, "c": 6}})
    );
}

#[test]
fn locate_returns_the_position_of_a_path() {
    let text = "a:\n  - b: 1\n    \"c.d\": text\n  -\n    e: |\n\n      one\n        two\nf: \"quoted\"\n";
    let document = Document::parse("f.yaml", text).unwrap();
    let at = |line, column| Position { line, column };
    let a = Path::root().key("a");
    let cases = [
        ("a collection is located at its key", a.clone(), "a", at(1, 1)),
        ("an item", a.index(0), "a[0]", at(2, 5)),
        ("a scalar is located at its text", a.index(0).key("b"), "a[0].b", at(2, 8)),
        ("a key with a dot", a.index(0).key("c.d"), "a[0][\"c.d\"]", at(3, 12)),
        ("a missing key is located at its parent", a.index(0).key("x").key("y"), "a[0].x.y", at(2, 5)),
        ("an item that is missing", a.index(7), "a[7]", at(1, 1)),
    ];
    for (name, path, written, position) in cases {
        assert_eq!((path.to_string().as_str(), document.locate(&path)), (written, position), "{name}");
    }
    let block = a.index(1).key("e");
    assert_eq!(document.locate_within(&block, 2, 3), at(8, 9), "a place in a literal block");
    assert_eq!(document.locate_within(&Path::root().key("f"), 1, 3), at(9, 7), "a place in quoted text");
}

#[test]
fn unreadable_text_is_reported_with_its_place() {
    let cases = [
        ("empty", ""),
        ("only a comment", "# nothing\n"),
        ("a tab", "a:\n\tb: 1\n"),
        ("an open bracket", "a: [1, 2\n"),
        ("an unknown alias", "a: *nope\n"),
        ("an alias inside of itself", "a: &x [*x]\n"),
        ("a repeated key, twice", "a: 1\nb: {c: 1, c: 2}\na: 2\n"),
        ("a key that is a list", "? [a]\n: 1\n"),
        ("a merge of a scalar", "a: {<<: 1}\n"),
        ("not a number", "a: .nan\n"),
    ];
    let rendered: Vec<_> = cases.iter().map(|(name, text)| format!("# {name}\n{}\n", diagnostics(text))).collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn missing_quotes_are_suggested() {
    let cases = [
        ("a choice in a flow mapping", "a: {expression: x ? y : z}\n"),
        ("a list in a flow mapping", "a: {expression: x in [\"b\", \"c\"]}\n"),
        ("an index in a flow mapping", "a: {expression: x[\"b\"] == 1}\n"),
        ("a text first", "expression: \"a\" == b\n"),
        ("a choice of texts", "expression: a ? \"b\" : \"c\"\n"),
        ("a list first", "expression: [1, 2].exists(x, x == y)\n"),
        ("a template", "name: {{ .clusterId }}\n"),
        ("a template before text", "name: {{ .clusterId }}-job\n"),
        ("a template in a list", "names: [{{ .a }}-b]\n"),
    ];
    let rendered: Vec<_> = cases.iter().map(|(name, text)| format!("# {name}\n{}\n", diagnostics(text))).collect();
    for rendered in &rendered {
        assert!(rendered.contains("in quotes"), "{rendered}");
    }
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn hostile_text_ends_in_a_diagnostic() {
    let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0},*a{0}]\n", n - 1)).collect();
    let cases = [
        ("aliases that multiply", format!("a0: &a0 [x,x,x,x,x]\n{bomb}"), "after the expansion of aliases"),
        ("brackets without end", "[".repeat(100_000), "not valid YAML"),
        ("mappings without end", "{a: ".repeat(100_000), "not valid YAML"),
        ("dashes without end", "- ".repeat(100_000), "not valid YAML"),
        ("an anchor on every level", "&a [".repeat(5_000), "not valid YAML"),
        ("too many bytes", "x".repeat(3 << 20), "the limit is"),
    ];
    for (name, text, expected) in cases {
        let rendered = diagnostics(&text);
        assert!(rendered.contains(expected) && rendered.len() < 2_000, "{name}: {rendered}");
    }
}

#[test]
fn text_of_a_mebibyte_is_a_value() {
    let text = format!("a: \"{}\"\nb: 1\n", "x".repeat(1 << 20));
    assert_eq!(value(&text)["b"], json!(1));
}

#[test]
fn only_the_first_document_is_read() {
    let document = Document::parse("f.yaml", "---\na: 1\n---\na: 2\n").unwrap();
    assert_eq!(document.root().to_value(), json!({"a": 1}));
    let notes = document.notes().to_string();
    assert!(notes.contains("f.yaml:3:1: warning: only the first document of the file is read"), "{notes}");
}

#[test]
fn every_document_is_read() {
    let roots = |text: &str| {
        let nodes = Document::parse_all_secret("f.yaml", text);
        nodes.map(|nodes| nodes.iter().map(|node| node.to_manifest().unwrap()).collect::<Vec<_>>())
    };
    let cases = [
        ("nothing", " \n", vec![]),
        ("a comment", "# nothing\n", vec![]),
        ("one", "a: 1", vec![json!({ "a": 1 })]),
        (
            "three, with an empty one",
            "a: 1\n---\n---\nb: yes\n",
            vec![json!({ "a": 1 }), json!(null), json!({ "b": true })],
        ),
        ("a separator at either end", "---\na: 1\n---\n", vec![json!({ "a": 1 }), json!(null)]),
        ("a separator in a block", "a: |\n  x\n  ---\n  y\n", vec![json!({ "a": "x\n---\ny\n" })]),
    ];
    for (name, text, expected) in cases {
        assert_eq!(roots(text).unwrap(), expected, "{name}");
    }
    for text in ["a: 1\n---\nb: [\n", "a: 1\n---\nb: 1\nb: 2\n", "a: &x 1\n---\nb: *x\n"] {
        let found = roots(text).unwrap_err();
        assert!(found.has_errors() && found.all().iter().all(|it| it.snippet.is_none()), "{text:?}: {found}");
    }
}

#[test]
fn secret_file_is_never_quoted() {
    let diagnostic = Document::parse_secret("f.yaml", "url: amqp://u:hunter2@h\nurl: x\n").unwrap_err().to_string();
    assert!(diagnostic.contains("f.yaml:2:1") && !diagnostic.contains("hunter2"), "{diagnostic}");
}

/// Random sequences of YAML syntax, which reach more of the parser than random characters.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("- "),
        Just(": "),
        Just("\n"),
        Just("\n  "),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("a"),
        Just("<<"),
        Just("&x "),
        Just("*x"),
        Just("!!int "),
        Just("|\n"),
        Just("'"),
        Just("\""),
        Just("#"),
        Just("? "),
        Just(","),
        Just("0x"),
        Just("-"),
        Just(".5"),
        Just("é"),
        Just("\t"),
        Just("---\n"),
        Just("%YAML 1.1\n"),
        Just("params"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_a_panic(text in prop_oneof![yaml_like(), any::<String>()]) {
        if let Ok(document) = Document::parse("f.yaml", &text) {
            let _ = document.root().to_value();
        }
    }

    #[test]
    fn json_is_read_unchanged(numbers: Vec<i64>, words in proptest::collection::btree_map("[a-z]{1,8}", "\\PC{0,12}", 0..6)) {
        let json = json!({ "numbers": numbers, "words": words });
        prop_assert_eq!(value(&json.to_string()), json);
    }
}
