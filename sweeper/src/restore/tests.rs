#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_kube::{Discovery, Fence, ServedKind};
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::json;

use super::*;
use crate::audit::{FORMAT, Identity};

fn record(name: &str, uid: &str, action: Action) -> Line {
    Line::Record(Box::new(Record {
        audit: FORMAT.to_owned(),
        time: "2026-03-01T12:00:00Z".parse().unwrap(),
        term: 3,
        plan: format!("plan-of-{uid}"),
        adapter: "dns".to_owned(),
        resource_id: format!("owner-of-{name}"),
        gone_since: None,
        object: Identity {
            consumer: None,
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("team".to_owned()),
            name: name.to_owned(),
            uid: uid.to_owned(),
        },
        action,
    }))
}

fn delete(name: &str, uid: &str) -> Line {
    let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "of": uid },
                           "metadata": { "name": name, "namespace": "team", "uid": uid } });
    record(name, uid, Action::Delete { manifest, omitted: Vec::new() })
}

fn result(name: &str, uid: &str, may_be_deleted: bool) -> Line {
    record(name, uid, Action::Result { outcome: "any".to_owned(), may_be_deleted, message: "any".to_owned() })
}

/// The UIDs of the objects that would be restored.
fn selected(lines: &[Line], selection: &Selection) -> Vec<String> {
    let deleted = Deleted::of(lines.iter().cloned().map(Ok), selection).unwrap();
    deleted.objects.iter().map(|recorded| recorded.manifest["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn objects_that_may_be_deleted_are_restored() {
    let cases: [(&str, Vec<Line>, &[&str]); 6] = [
        ("deleted", vec![delete("a", "1"), result("a", "1", true)], &["1"]),
        ("kept in the end", vec![delete("a", "1"), result("a", "1", false)], &[]),
        ("without a result, as after a crash", vec![delete("a", "1")], &["1"]),
        (
            "perhaps deleted, then found and kept",
            vec![delete("a", "1"), result("a", "1", true), delete("a", "1"), result("a", "1", false)],
            &["1"],
        ),
        (
            "of two namesakes the last",
            vec![delete("a", "2"), result("a", "2", true), delete("a", "1"), result("a", "1", true)],
            &["1"],
        ),
        (
            "a namesake that was kept hides nothing",
            vec![delete("a", "1"), result("a", "1", true), delete("a", "2"), result("a", "2", false)],
            &["1"],
        ),
    ];
    for (name, lines, expected) in cases {
        assert_eq!(selected(&lines, &Selection::default()), expected, "{name}");
    }
}

#[test]
fn selection_names_plan_owner_or_object() {
    let lines = [delete("a", "1"), delete("b", "2"), delete("c", "3")];
    let some = |text: &str| Some(text.to_owned());
    let cases: [(Selection, &[&str]); 5] = [
        (Selection::default(), &["1", "2", "3"]),
        (Selection { plan: some("plan-of-2"), ..Selection::default() }, &["2"]),
        (Selection { resource_id: some("owner-of-c"), ..Selection::default() }, &["3"]),
        (Selection { object: some("ConfigMap team/a"), ..Selection::default() }, &["1"]),
        (Selection { object: some("ConfigMap team/a"), plan: some("plan-of-2"), resource_id: None }, &[]),
    ];
    for (selection, expected) in cases {
        assert_eq!(selected(&lines, &selection), expected, "{selection:?}");
    }
}

#[test]
fn namespaces_and_definitions_come_first() {
    let line = |api_version: &str, kind: &str| {
        let Line::Record(mut record) = delete("a", &format!("{api_version}/{kind}")) else { unreachable!() };
        (record.object.api_version, record.object.kind) = (api_version.to_owned(), kind.to_owned());
        Line::Record(record)
    };
    let lines = [
        line("v1", "Pod"),
        line("v1", "ServiceAccount"),
        line("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        line("v1", "Namespace"),
        line("example.com/v1", "Namespace"),
    ];
    let deleted = Deleted::of(lines.into_iter().map(Ok), &Selection::default()).unwrap();
    let kinds: Vec<_> = deleted.objects.iter().map(|recorded| recorded.object.kind.to_string()).collect();
    assert_eq!(
        kinds,
        [
            "v1, Kind=Namespace",
            "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition",
            "v1, Kind=ServiceAccount",
            "v1, Kind=Pod",
            "example.com/v1, Kind=Namespace",
        ]
    );
}

#[test]
fn manifest_loses_stamps_and_fields_of_the_server() {
    let labels = json!({ "hyperfleet.io/adapter": "dns", "app": "a" });
    let recorded = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1" }, "status": {},
        "metadata": { "name": "a", "namespace": "team", "uid": "u", "resourceVersion": "7", "generation": 2,
                      "creationTimestamp": "2026-03-01T12:00:00Z", "ownerReferences": [], "finalizers": ["a/b"],
                      "labels": labels, "annotations": { "hyperfleet.io/generation": "2" } },
    });
    let mut expected = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1" },
        "metadata": { "name": "a", "namespace": "team", "finalizers": ["a/b"], "labels": { "app": "a" } } });
    assert_eq!(manifest::creatable(&recorded, false), expected);
    expected["metadata"]["labels"] = labels;
    expected["metadata"]["annotations"] = json!({ "hyperfleet.io/generation": "2" });
    assert_eq!(manifest::creatable(&recorded, true), expected);
}

#[test]
fn manifest_loses_only_what_a_new_object_cannot_have() {
    let kind = |api_version: &str, kind: &str, annotations: Value, spec: Value| {
        json!({ "apiVersion": api_version, "kind": kind, "spec": spec,
                "metadata": { "name": "a", "annotations": annotations } })
    };
    let labels = |labels: Value| json!({ "metadata": { "labels": labels } });
    let selector = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } });
    let note = json!({ "note": "kept" });
    let bound = json!({ "note": "kept", "pv.kubernetes.io/bind-completed": "yes",
                        "pv.kubernetes.io/bound-by-controller": "yes" });
    let job = |spec| kind("batch/v1", "Job", note.clone(), spec);
    let pod = |spec| kind("v1", "Pod", note.clone(), spec);
    let claim = |annotations| kind("v1", "PersistentVolumeClaim", annotations, json!({ "volumeName": "v" }));
    let service = kind("v1", "Service", note.clone(), json!({ "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"] }));
    let manual = job(json!({ "manualSelector": true, "selector": selector }));
    let cases = [
        (
            "a Job's selector and the label that it selects",
            job(json!({ "selector": selector, "template": labels(json!({ "controller-uid": "u", "app": "a" })) })),
            job(json!({ "template": labels(json!({ "app": "a" })) })),
        ),
        ("a Job's own selector stays", manual.clone(), manual),
        (
            "a Pod's node and ephemeral containers",
            pod(json!({ "nodeName": "n", "ephemeralContainers": [{}], "containers": [] })),
            pod(json!({ "containers": [] })),
        ),
        ("a claim's binding, and not its volume", claim(bound), claim(note.clone())),
        ("a Service's address stays", service.clone(), service),
    ];
    for (name, recorded, expected) in cases {
        assert_eq!(manifest::creatable(&recorded, false), expected, "{name}");
    }
}

/// A cluster whose creations have this answer, and whose objects are terminating or not.
struct Fake {
    answer: Option<WriteErrorKind>,
    live: Option<Value>,
}

impl Objects for Fake {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        unreachable!("a restore discovers no kinds")
    }

    async fn list(
        &self,
        _: &ServedKind,
        _: crate::objects::Choice<'_>,
        _: &mut dyn FnMut(lifecycle_core::sweep::Candidate),
    ) -> Result<(), WriteError> {
        unreachable!("a restore lists nothing")
    }

    async fn read(&self, _: &Destination, _: &ObjectRef) -> Result<Option<Value>, WriteError> {
        Ok(self.live.clone())
    }

    async fn create(&self, _: &Destination, object: &Value) -> Result<Value, WriteError> {
        match self.answer {
            None => Ok(object.clone()),
            Some(kind) => {
                Err(WriteError { kind, call: "create".to_owned(), status: None, message: "refused".to_owned() })
            }
        }
    }

    async fn delete(&self, _: &Destination, _: &ObjectRef, _: Fence<'_>) -> Result<Deletion, WriteError> {
        unreachable!("a restore deletes nothing")
    }
}

/// Restores the objects of these lines; returns whether all exist, and what was printed.
async fn restored(fake: &Fake, lines: &[Line], keep_stamps: bool) -> (bool, String) {
    let deleted = Deleted::of(lines.iter().cloned().map(Ok), &Selection::default()).unwrap();
    let mut printed = Vec::new();
    let is_complete = restore(fake, &deleted, keep_stamps, &mut printed).await.unwrap();
    (is_complete, String::from_utf8(printed).unwrap())
}

#[tokio::test]
async fn each_object_has_a_line_and_failures_count() {
    let terminating = json!({ "metadata": { "deletionTimestamp": "2026-03-01T12:00:00Z" } });
    let taken = Some(WriteErrorKind::Invalid);
    let cases = [
        (None, None, true, "created ConfigMap team/a\n"),
        (taken, Some(json!({})), true, "exists ConfigMap team/a: left alone\n"),
        (
            taken,
            Some(terminating),
            false,
            "failed ConfigMap team/a: it is still being deleted; restore it once it is gone\n",
        ),
        (Some(WriteErrorKind::Forbidden), None, false, "failed ConfigMap team/a: refused\n"),
    ];
    for (answer, live, is_complete, line) in cases {
        assert_eq!(restored(&Fake { answer, live }, &[delete("a", "1")], false).await, (is_complete, line.to_owned()));
    }
}

#[tokio::test]
async fn secret_without_its_data_is_not_created() {
    let fake = Fake { answer: None, live: None };
    for field in ["data", "spec.workload.manifests[1].stringData"] {
        let omitted = vec!["metadata.managedFields".to_owned(), field.to_owned()];
        let lines = [record("a", "1", Action::Delete { manifest: json!({}), omitted })];
        let (is_complete, text) = restored(&fake, &lines, false).await;
        assert!(!is_complete && text.contains("its data were not recorded"), "{field}: {text}");
    }
}

#[tokio::test]
async fn restore_warns_about_stamps_torn_lines_and_an_empty_selection() {
    let fake = Fake { answer: None, live: None };
    let torn = Line::Unreadable { number: 2, why: "torn".to_owned() };
    let (is_complete, text) = restored(&fake, &[delete("a", "1"), torn.clone()], true).await;
    assert!(is_complete, "a torn record belongs to an object that was not deleted");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "warning: line 2 is no whole record: torn");
    assert!(lines[1].contains("the sweeper deletes them again once `grace` has passed"), "{text}");
    assert_eq!(lines[2..], ["created ConfigMap team/a"]);

    let (is_complete, text) = restored(&fake, &[result("a", "1", true)], true).await;
    assert_eq!((is_complete, text.as_str()), (false, "no record of a deleted object matches\n"));
}

#[test]
fn dry_run_prints_manifests_and_creates_nothing() {
    let secret = record("b", "2", Action::Delete { manifest: json!({}), omitted: vec!["data".to_owned()] });
    let lines = [delete("a", "1"), secret].map(Ok);
    let deleted = Deleted::of(lines.into_iter(), &Selection::default()).unwrap();
    let (mut out, mut said) = (Vec::new(), Vec::new());
    assert!(!print(&deleted, false, &mut out, &mut said).unwrap(), "the Secret cannot be created");
    let printed: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(printed["metadata"], json!({ "name": "a", "namespace": "team" }));
    assert!(String::from_utf8(said).unwrap().starts_with("failed ConfigMap team/b"));
}
