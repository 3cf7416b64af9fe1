#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::{SignedDuration, Timestamp};
use lifecycle_bundle::policy::Policies;
use lifecycle_language::template::{Template, Tree};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bundle::ready::Rules;

fn text(text: &str) -> Manifest {
    Manifest::Text(Template::parse(text).unwrap())
}

fn inline(object: &Value) -> Manifest {
    Manifest::Inline(Tree::parse(object).unwrap())
}

/// Renders manifests; the variable `x` has this value.
fn rendered(manifests: Vec<Manifest>, x: &str) -> Result<Vec<Value>, Vec<String>> {
    let bundle = Bundle {
        manifests,
        drafts: Vec::new(),
        namespace: Template::parse("default").unwrap(),
        policies: Policies { reapply: SignedDuration::ZERO, ..Policies::default() },
        creates_namespaces: true,
        managed_types: Vec::new(),
        ready: Rules(Vec::new()),
        known: Vec::new(),
        has_others: false,
        prefix: "hyperfleet.io".to_owned(),
    };
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("x", json!(x));
    let objects = render(&bundle, &scope)?;
    let value = |object| match object {
        Source::Rendered(object) => object,
        Source::Drafted(draft) => draft.object.clone(),
    };
    Ok(objects.into_iter().map(value).collect())
}

fn pod(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name } })
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n";

#[test]
fn manifests_render_to_their_objects_in_order() {
    let named = |name: &str| POD.replace("NAME", name);
    let list = |items: Value| json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let cases = [
        ("no manifest", vec![], vec![]),
        ("a mapping", vec![inline(&pod("{{ .x }}"))], vec![pod("c-1")]),
        ("a text", vec![text(&named("{{ .x }}"))], vec![pod("c-1")]),
        ("several documents", vec![text(&(named("a") + "---\n" + &named("{{ .x }}")))], vec![pod("a"), pod("c-1")]),
        (
            "empty documents",
            vec![text(&format!(
                "---\n# a\n---\n{}---\n{{{{ if false }}}}\na: 1\n{{{{ end }}}}\n---\n{{}}\n",
                named("a")
            ))],
            vec![pod("a")],
        ),
        (
            "a text that renders to nothing",
            vec![text("{{ if false }}a: 1{{ end }}"), inline(&pod("a"))],
            vec![pod("a")],
        ),
        (
            "a list in a list",
            vec![
                inline(&list(json!([pod("a"), null, list(json!([pod("{{ .x }}")])), list(Value::Null)]))),
                text(&named("b")),
            ],
            vec![pod("a"), pod("c-1"), pod("b")],
        ),
        (
            "a list of another group",
            vec![inline(&json!({ "apiVersion": "todo.io/v1", "kind": "List", "items": 7 }))],
            vec![json!({ "apiVersion": "todo.io/v1", "kind": "List", "items": 7 })],
        ),
        (
            "a list of one kind, whose items need not say it",
            vec![inline(&json!({
                "apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [{ "metadata": { "name": "a" } }, pod("b")],
            }))],
            vec![pod("a"), pod("b")],
        ),
        (
            "an object whose kind ends as a list's does",
            vec![inline(
                &json!({ "apiVersion": "a.io/v1", "kind": "AllowList", "metadata": { "name": "a" }, "items": [] }),
            )],
            vec![json!({ "apiVersion": "a.io/v1", "kind": "AllowList", "metadata": { "name": "a" }, "items": [] })],
        ),
        (
            "scalars as Kubernetes reads them",
            vec![text("{apiVersion: v1, kind: ConfigMap, a: yes, b: 0644}")],
            vec![json!({ "apiVersion": "v1", "kind": "ConfigMap", "a": true, "b": 420 })],
        ),
    ];
    for (name, manifests, expected) in cases {
        assert_eq!(rendered(manifests, "c-1"), Ok(expected), "{name}");
    }
}

#[test]
fn mistakes_name_their_manifests_and_quote_nothing() {
    let manifests = vec![
        text("kind: Secret\nstringData:\n  password: hunter2: x\n"),
        text(&(POD.to_owned() + "---\n- hunter2\n---\nkind: Pod\nmetadata: {generateName: hunter2}\n")),
        inline(&json!({ "apiVersion": "v1", "kind": "List", "items": [pod("a"), { "apiVersion": "v1" }, "hunter2"] })),
        inline(&json!({ "apiVersion": "v1", "kind": "List", "items": { "a": "hunter2" } })),
        inline(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { "{{ .x }}": "hunter2" } } })),
        text("a: {{ .nowhere }}"),
    ];
    let faults = rendered(manifests, keys::DISOWNED).unwrap_err();
    assert!(faults.iter().all(|fault| !fault.contains("hunter2")), "{faults:#?}");
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn value_that_becomes_a_document_or_another_structure_fails() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  note: {{ .x }}\n";
    let documents = format!("{POD}---\n{secret}");
    let manifests = || vec![text(secret), text(&documents)];
    let kept = rendered(manifests(), "it's (fine), really").unwrap();
    assert_eq!((kept.len(), &kept[2]["stringData"]["note"]), (3, &json!("it's (fine), really")));
    let cases = [
        ("a document", "hunter2\n---\napiVersion: v1\nkind: Pod"),
        ("an empty document", "hunter2\n---\n"),
        ("the end of the document", "hunter2\n...\n"),
        ("a document in place of the rest", "hunter2\n--- {apiVersion: v1, kind: Pod}\n"),
        ("a key", "hunter2\n  more: hunter2"),
        ("a key at the top", "hunter2\nimmutable: true"),
        ("a list", "[hunter2]"),
        ("a comment", "hunter2 # more"),
        ("an anchor", "&hunter2 x"),
    ];
    for (name, value) in cases {
        let faults = rendered(manifests(), value).unwrap_err();
        assert_eq!(faults.len(), 2, "{name}: {faults:?}");
        for (index, fault) in faults.iter().enumerate() {
            assert!(fault.starts_with(&format!("manifests[{index}]: ")), "{name}: {fault}");
            assert!(!fault.contains("hunter2"), "{name}: {fault}");
        }
    }
    let in_block = "apiVersion: v1\nkind: Secret\nstringData:\n  note: |\n    {{ .x }}\n";
    let objects = rendered(vec![text(in_block)], "--- kind: [Pod").unwrap();
    assert_eq!(objects[0]["stringData"]["note"], "--- kind: [Pod\n");
}

proptest! {
    #[test]
    fn value_never_changes_the_number_of_objects(x in "(\\PC|\n|---|: |kind){0,12}") {
        let manifest = format!("{POD}---\napiVersion: v1\nkind: Secret\nstringData:\n  note: {{{{ .x }}}}\n");
        if let Ok(objects) = rendered(vec![text(&manifest)], &x) {
            prop_assert_eq!(objects.len(), 2);
            prop_assert_eq!(objects[1].as_object().map(serde_json::Map::len), Some(3));
        }
    }
}
