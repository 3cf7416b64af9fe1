#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;

use super::*;

#[test]
fn live_objects_are_read_from_every_yaml_document_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let object = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\n");
    fs::write(folder.path().join("b.yaml"), object("third")).unwrap();
    fs::write(folder.path().join("a.yml"), format!("{}---\n---\n{}", object("first"), object("second"))).unwrap();
    fs::write(folder.path().join("notes.txt"), "not: an object").unwrap();
    let objects = read_objects(folder.path()).unwrap();
    let names: Vec<_> = objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "second", "third"]);
}

#[test]
fn missing_folder_holds_no_objects() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read_objects(&folder.path().join("live")).unwrap(), Vec::<Value>::new());
}

#[test]
fn override_takes_its_name_from_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("discovery.json");
    fs::write(&file, r#"{"a": {"apiVersion": "v1", "kind": "Pod"}, "b": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}}}"#)
        .unwrap();
    let overrides = read_overrides(&file).unwrap();
    assert_eq!(overrides["a"]["metadata"]["name"], "a");
    assert_eq!(overrides["b"]["metadata"]["name"], "c");
}

#[test]
fn input_errors_name_file_place_and_cure() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let live = |name: &str, text: &str| write(&format!("{name}/object.yaml"), text).parent().unwrap().to_owned();
    let cases = [
        ("a file without an end", read(std::path::Path::new("/dev/zero")).map(drop), "it has more than 16777216 bytes"),
        (
            "an event without an end",
            read_event(std::path::Path::new("/dev/zero")).map(drop),
            "failed to read /dev/zero",
        ),
        ("no file", read(&folder.path().join("gone.json")).map(drop), "gone.json"),
        (
            "no JSON",
            read_answers(&write("a.json", "{\n  \"responses\": [\n}")).map(drop),
            "a.json: not the JSON that is expected here; write {\"responses\"",
        ),
        ("the place in it", read_answers(&write("b.json", "{\n  \"responses\": [\n}")).map(drop), "line 3 column 1"),
        ("another form", read_answers(&write("c.json", r#"{"responses": [{}]}"#)).map(drop), "missing field `match`"),
        (
            "an answer that is none",
            read_answers(&write("d.json", r#"{"responses": [{"match": {"urlPattern": "/"}}]}"#)).map(drop),
            "d.json: not usable as API answers: responses[0] has no answers",
        ),
        (
            "no CloudEvent",
            read_event(&write("e.json", r#"{"specversion": "1.0"}"#)).map(drop),
            "e.json: not a CloudEvent: CloudEvent attribute `id` is missing",
        ),
        (
            "an object without kind",
            read_overrides(&write("f.json", r#"{"a": {"apiVersion": "v1"}}"#)).map(drop),
            "f.json: the object of \"a\" has no `kind`",
        ),
        (
            "a document without name",
            read_objects(&live("g", "apiVersion: v1\nkind: Pod\n")).map(drop),
            "object.yaml: document 1 has no `metadata.name`",
        ),
        ("no YAML", read_objects(&live("h", "a: [\n")).map(drop), "object.yaml: not the YAML of Kubernetes objects"),
        (
            "an environment of numbers",
            read_environment(&write("i.json", r#"{"A": 1}"#)).map(drop),
            "write {\"NAME\": \"text\"",
        ),
    ];
    for (name, result, expected) in cases {
        let text = format!("{:#}", anyhow::Error::from(result.expect_err(name)));
        assert!(text.contains(expected), "{name}: {text}");
    }
}
