//! Compares rendered trees with YAML text that Go rendered and parsed.

use jiff::Timestamp;
use lifecycle_config::document::Document;
use proptest::prelude::*;
use serde_json::json;

use crate::scope::Scope;
use crate::template::{Part, Tree};
use crate::value::json;

use super::Value;

/// Per line: a scalar, the value of `x`, and what Go makes of `{k: scalar}` and of `{scalar: 1}`, encoded by
/// yaml.v3, rendered by `text/template` and parsed by sigs.k8s.io/yaml.
const GOLDEN: &str = include_str!("golden.tsv");

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn rendered(tree: &Value, x: &str) -> String {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("x", x.into());
    match Tree::parse(tree) {
        Err(_) => "PARSE".to_owned(),
        Ok(tree) => tree.render(&scope).map_or_else(|_| "FAIL".to_owned(), |value| json::to_string(&value)),
    }
}

#[test]
fn scalars_get_the_same_type_as_through_yaml_text_in_go() -> Outcome {
    for row in GOLDEN.lines() {
        let [scalar, x, as_value, as_key] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (scalar, x): (String, String) = (serde_json::from_str(scalar)?, serde_json::from_str(x)?);
        assert_eq!(rendered(&json!({"k": scalar}), &x), as_value, "{scalar:?} with {x:?}");
        assert_eq!(rendered(&json!({&scalar: 1}), &x), as_key, "key {scalar:?} with {x:?}");
    }
    Ok(())
}

#[test]
fn rendered_text_never_breaks_the_structure() {
    // Go fails in each case, or gives another structure.
    let cases = [
        ("a quoted scalar stays one", "{{ .x }}", "\": [", r#"{"k":"\": ["}"#),
        ("a single quote", "{{ .x }}", "it's", r#"{"k":"it's"}"#),
        ("a line break", "a {{ .x }}", "b\nc: d", r#"{"k":"a b\nc: d"}"#),
        ("a colon", "a{{ .x }}", ": b", r#"{"k":"a: b"}"#),
        ("a comment", "a{{ .x }}", " #b", r#"{"k":"a #b"}"#),
        ("a comment behind a number", "1{{ .x }}", " #b", r#"{"k":"1 #b"}"#),
        ("a list item", "-{{ .x }}", " a", r#"{"k":"- a"}"#),
        ("a number on two lines is text", "1{{ .x }}", "\n", r#"{"k":"1\n"}"#),
        ("a trim marker does not eat the next line", "a {{ .x -}} ", "b", r#"{"k":"a b"}"#),
        ("a last line break", "1\n{{ .x }}", "", r#"{"k":"1\n"}"#),
    ];
    for (name, scalar, x, expected) in cases {
        assert_eq!(rendered(&json!({"k": scalar}), x), expected, "{name}");
    }
}

#[test]
fn rendering_keeps_the_structure_of_a_tree() -> Outcome {
    let tree = Tree::parse(&json!({
        "metadata": {"name": "job-{{ .id }}", "labels": {"{{ .key }}/owner": "{{ .n }}"}},
        "spec": {"replicas": "1{{ .n }}", "list": [1, "{{ .n }}", {"deep": "{{ .id }}"}], "none": null, "on": true},
        "data": {"big": 18_446_744_073_709_551_615_u64, "whole": 5.0, "fraction": 5.5, "text": "5"},
    }))
    .map_err(|mistakes| format!("{mistakes:?}"))?;
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("id", json!("c-1"));
    scope.set("key", json!("example.io"));
    scope.set("n", json!(3));
    let expected = json!({
        "metadata": {"name": "job-c-1", "labels": {"example.io/owner": "3"}},
        "spec": {"replicas": 13, "list": [1, "3", {"deep": "c-1"}], "none": null, "on": true},
        "data": {"big": 18_446_744_073_709_551_615_u64, "whole": 5, "fraction": 5.5, "text": "5"},
    });
    assert_eq!(tree.render(&scope)?, expected);
    assert_eq!(tree.render(&scope)?, expected, "rendering again gives the same value");
    Ok(())
}

#[test]
fn parse_reports_every_mistake_with_its_path() {
    let tree = json!({"a": {"b": ["ok", "{{ if }}"]}, "{{ nope }}": 1, "c": "{{ .x"});
    let mistakes = Tree::parse(&tree).err().unwrap_or_default();
    let mut places: Vec<&str> = mistakes.iter().map(|(place, _)| place.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["a.b[1]", "c", "{{ nope }}"]);
}

#[test]
fn variables_lists_each_path_with_the_template_that_reads_it() -> Outcome {
    let tree = json!({"a": ["{{ .x.y }}"], "{{ .key }}": {"b": "{{ if .z }}{{ .x.y }}{{ end }}"}, "plain": "text"});
    let tree = Tree::parse(&tree).map_err(|mistakes| format!("{mistakes:?}"))?;
    let mut variables = tree.variables();
    variables.sort_unstable();
    let expected = [("key", "{{ .key }}"), ("x.y", "a[0]"), ("x.y", "{{ .key }}.b"), ("z", "{{ .key }}.b")];
    assert_eq!(variables, expected.map(|(path, place)| (path.to_owned(), place.to_owned())));
    Ok(())
}

#[test]
fn render_error_names_the_path_in_the_tree() -> Outcome {
    let cases = [
        (json!({"a": [1, {"b": "{{ .nope }}"}]}), "a[1].b: map has no entry for key \"nope\""),
        (json!({"n": ".{{ .inf }}"}), "n: .inf is a number that JSON cannot carry"),
        (json!({"m": {"~{{ .empty }}": 1}}), "m.~{{ .empty }}: ~ cannot be a key"),
        (json!("{{ .nope }}"), "map has no entry for key \"nope\""),
    ];
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("x", json!("b"));
    scope.set("inf", json!("inf"));
    scope.set("empty", json!(""));
    for (tree, expected) in cases {
        let tree = Tree::parse(&tree).map_err(|mistakes| format!("{mistakes:?}"))?;
        let message = tree.render(&scope).err().map(|error| error.message).unwrap_or_default();
        assert_eq!(message, expected);
    }
    Ok(())
}

#[test]
fn two_keys_that_render_to_the_same_text_fail() {
    for tree in [json!({"a{{ .x }}": 1, "ab": 2}), json!({"1{{ .x }}": 1, "{{ `1b` }}": 2})] {
        assert_eq!(rendered(&tree, "b"), "FAIL", "{tree}");
        assert_ne!(rendered(&tree, "c"), "FAIL", "{tree}");
    }
}

/// Generates values without templates, and without doubles that are integers.
fn template_free() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) + 0.5)),
        "[^{]*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^{]*", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn tree_without_templates_renders_to_itself(value in template_free()) {
        let tree = Tree::parse(&value).map_err(|mistakes| TestCaseError::fail(format!("{mistakes:?}")))?;
        let rendered = tree.render(&Scope::new(Timestamp::UNIX_EPOCH));
        prop_assert_eq!(rendered.ok(), Some(value));
        prop_assert!(tree.variables().is_empty());
    }

    #[test]
    fn quoted_scalar_renders_to_text(x in any::<String>()) {
        let expected = json::to_string(&json!({"k": format!("{x}!")}));
        prop_assert_eq!(rendered(&json!({"k": "{{ .x }}!"}), &x), expected);
    }

    #[test]
    fn plain_scalar_always_renders_to_a_scalar(head in "[0-9a-z.~+-]{1,3}", x in any::<String>()) {
        let text = rendered(&json!({"k": format!("{head}{{{{ .x }}}}")}), &x);
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let scalar = value.as_ref().and_then(|value| value.get("k")).is_some_and(|value| !value.is_object() && !value.is_array());
        prop_assert!(scalar || text == "FAIL", "{text}");
    }
}

#[test]
fn part_describes_a_value_before_rendering() -> Outcome {
    let tree = Tree::parse(&json!({
        "metadata": {"name": "{{ .name }}", "labels": {"a": "b", "{{ .key }}": "c"}, "annotations": {"x": null}},
        "spec": {"args": ["{{ .name }}"], "replicas": 2},
    }))
    .map_err(|faults| format!("{faults:?}"))?;
    let part = |path: &[&str]| match tree.part(path) {
        Part::Absent => "absent".to_owned(),
        Part::Literal(value) => value.to_string(),
        Part::Template(template) => template.source().to_owned(),
        Part::Uncertain => "uncertain".to_owned(),
    };
    let cases: [(&[&str], &str); 12] = [
        (&["metadata", "name"], "{{ .name }}"),
        (&["metadata", "namespace"], "absent"),
        (&["metadata", "labels", "a"], "\"b\""),
        (&["metadata", "labels", "z"], "uncertain"),
        (&["metadata", "labels"], "uncertain"),
        (&["metadata", "annotations"], "{\"x\":null}"),
        (&["metadata", "annotations", "x"], "null"),
        (&["metadata", "annotations", "y"], "absent"),
        (&["metadata", "name", "x"], "absent"),
        (&["spec", "args"], "uncertain"),
        (&["spec", "args", "0"], "absent"),
        (&["spec", "replicas"], "2"),
    ];
    for (path, expected) in cases {
        assert_eq!(part(path), expected, "{path:?}");
    }
    Ok(())
}

#[test]
fn elements_and_specimen_keep_what_the_author_wrote() -> Outcome {
    let written = json!({
        "spec": {"list": [{"a": "{{ .a }}"}, {"b": 1}], "literal": [1, "x"], "text": "{{ .list }}", "{{ .key }}": []},
    });
    let tree = Tree::parse(&written).map_err(|faults| format!("{faults:?}"))?;
    assert_eq!(tree.specimen(), written);
    let elements = |path: &[&str]| Some(tree.elements(path)?.iter().map(Tree::specimen).collect::<Vec<_>>());
    assert_eq!(elements(&["spec", "list"]), Some(vec![json!({"a": "{{ .a }}"}), json!({"b": 1})]));
    assert_eq!(elements(&["spec", "literal"]), Some(vec![json!(1), json!("x")]));
    for path in [&["spec", "text"][..], &["spec"], &["spec", "list", "0"], &["spec", "absent"]] {
        assert_eq!(elements(path), None, "{path:?}");
    }
    let document = Document::parse("task.yaml", "a: !!int \"{{ .a }}\"\nb: !!bool \"{{ .b }}\"\nc: \"{{ .c }}\"\n")
        .map_err(|faults| faults.to_string())?;
    let tagged = Tree::parse_lenient(&document.root().to_value()).tagged(document.root());
    assert_eq!(tagged.specimen(), json!({"a": 1, "b": true, "c": "{{ .c }}"}));
    Ok(())
}
