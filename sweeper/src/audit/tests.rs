#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;

use serde_json::json;

use super::*;

fn record(action: Action) -> Record {
    Record {
        audit: FORMAT.to_owned(),
        time: "2026-03-01T12:00:00Z".parse().unwrap(),
        term: 3,
        plan: "2f0c".to_owned(),
        adapter: "dns".to_owned(),
        resource_id: "id".to_owned(),
        gone_since: None,
        object: Identity {
            consumer: None,
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: "a".to_owned(),
            uid: "u".to_owned(),
        },
        action,
    }
}

fn delete() -> Record {
    record(Action::Delete { manifest: json!({ "data": { "line": "a\nb" } }), omitted: Vec::new() })
}

fn lines(text: &[u8]) -> Vec<Line> {
    read(text).map(Result::unwrap).collect()
}

#[tokio::test]
async fn record_is_one_line_that_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let ended = record(Action::Result { outcome: "deleted".into(), may_be_deleted: true, message: "gone".into() });
    for record in [delete(), ended.clone()] {
        // Opened anew, as after a restart.
        Audit::to_file(&file, false).unwrap().write(&record).await.unwrap();
    }
    let text = fs::read(&file).unwrap();
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!(lines(&text), [Line::Record(Box::new(delete())), Line::Record(Box::new(ended))]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn torn_last_line_spoils_no_other_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let whole = serde_json::to_vec(&delete()).unwrap();
    for torn in 1..whole.len() {
        let before = [&whole, b"\n".as_slice(), &whole[..torn]].concat();
        fs::write(&file, &before).unwrap();
        Audit::to_file(&file, false).unwrap().write(&delete()).await.unwrap();
        let text = fs::read(&file).unwrap();
        assert!(text.starts_with(&before), "nothing that was written is lost");
        let lines = lines(&text);
        assert!(matches!(&lines[..], [Line::Record(_), Line::Unreadable { number: 2, .. }, Line::Record(_)]), "{torn}");
    }
}

#[test]
fn reader_leaves_log_lines_out_and_reports_other_formats() {
    let text = b"{\"level\":\"info\",\"message\":\"a\"}\n\n7\n{\"audit\":\"v2\"}\n{\"audit\":\"hyperfleet.io/sweep-audit/v1\"}\n";
    let lines = lines(text);
    assert!(
        matches!(&lines[..], [Line::Unreadable { number: 4, why }, Line::Unreadable { number: 5, .. }]
            if why.contains("its format is \"v2\"")),
        "{lines:?}"
    );
}

#[test]
fn secrets_are_recorded_only_on_request() {
    let annotations = json!({ "kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b" });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "a": "c2VjcmV0" },
                         "metadata": { "annotations": annotations, "managedFields": [] } });
    let (manifest, omitted) = record::manifest(&secret, false);
    assert_eq!(
        manifest,
        json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": { "annotations": { "a": "b" } } })
    );
    let last_applied = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]";
    assert_eq!(omitted, ["metadata.managedFields", "data", last_applied]);

    let (manifest, omitted) = record::manifest(&secret, true);
    assert_eq!((&manifest["data"], omitted), (&secret["data"], vec!["metadata.managedFields".to_owned()]));

    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": {}, "metadata": { "annotations": annotations } });
    assert_eq!(record::manifest(&map, false), (map, Vec::new()), "only Secrets are confidential");
}

#[test]
fn secrets_in_a_work_are_recorded_only_on_request() {
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration";
    let annotated = json!({ "annotations": { last_applied: "{}" } });
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": "secret" }, "metadata": annotated });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" } });
    let work = json!({ "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
                       "metadata": annotated, "spec": { "workload": { "manifests": [map, secret] } } });
    let (manifest, omitted) = record::manifest(&work, false);
    assert_eq!(manifest["spec"]["workload"]["manifests"][0], map);
    assert_eq!(
        manifest["spec"]["workload"]["manifests"][1],
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "annotations": {} } })
    );
    assert_eq!(
        omitted,
        [
            "spec.workload.manifests[1].stringData".to_owned(),
            format!("spec.workload.manifests[1].metadata.annotations[{last_applied}]"),
            format!("metadata.annotations[{last_applied}]"),
        ]
    );
    assert_eq!(record::manifest(&work, true), (work, Vec::new()));
}

/// Writes only once it is allowed to.
struct Blocked(mpsc::Receiver<()>);

impl Sink for Blocked {
    fn append(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        self.0.recv().map_err(io::Error::other)
    }
}

#[tokio::test(flavor = "current_thread")]
async fn slow_disk_delays_no_other_task() {
    let (allow, allowed) = mpsc::channel();
    let audit = Audit::new("test".to_owned(), Blocked(allowed), false);
    let record = delete();
    let (written, allowed) = tokio::join!(audit.write(&record), async { allow.send(()) });
    assert!(written.is_ok() && allowed.is_ok(), "{written:?}");
}

#[test]
fn file_that_cannot_be_opened_is_named() {
    let error = Audit::to_file(Path::new("/nowhere/audit"), false).err().unwrap();
    assert_eq!(error.to_string(), "failed to write the audit record to /nowhere/audit");
}

#[tokio::test]
async fn file_that_could_block_a_pass_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [fifo, file] = ["fifo", "audit"].map(|name| folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (path, what) in [(fifo.as_path(), "a FIFO"), (folder.path(), "a directory")] {
        let error = Audit::to_file(path, false).err().unwrap();
        let said = lifecycle_errors::Chain(&error).to_string();
        assert!(said.contains(&format!("it is {what}, which cannot keep records")), "{said}");
        assert!(said.contains("name a regular file, or none for standard output"), "{said}");
    }
    // The file is replaced while the sweeper runs.
    let audit = Audit::to_file(&file, false).unwrap();
    audit.write(&delete()).await.unwrap();
    fs::rename(&fifo, &file).unwrap();
    assert!(audit.write(&delete()).await.is_err());
}

/// Tells of each line whether it must outlast a crash of the machine.
struct Synced(mpsc::Sender<bool>);

impl Sink for Synced {
    fn append(&mut self, _: &[u8], is_synced: bool) -> io::Result<()> {
        self.0.send(is_synced).map_err(io::Error::other)
    }
}

#[tokio::test]
async fn record_before_a_deletion_must_reach_the_disk() {
    let (sender, synced) = mpsc::channel();
    let audit = Audit::new("test".to_owned(), Synced(sender), false);
    let ended = Action::Result { outcome: "deleted".into(), may_be_deleted: true, message: "gone".into() };
    for record in [delete(), record(ended)] {
        audit.write(&record).await.unwrap();
    }
    assert_eq!(synced.try_iter().collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn file_that_is_removed_or_moved_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, moved) = (folder.path().join("audit"), folder.path().join("moved"));
    let audit = Audit::to_file(&file, false).unwrap();
    audit.write(&delete()).await.unwrap();
    fs::rename(&file, &moved).unwrap();
    audit.write(&delete()).await.unwrap();
    for file in [&moved, &file] {
        assert_eq!(lines(&fs::read(file).unwrap()), [Line::Record(Box::new(delete()))], "{}", file.display());
    }
    fs::remove_file(&file).unwrap();
    audit.write(&delete()).await.unwrap();
    assert_eq!(lines(&fs::read(&file).unwrap()).len(), 1);
    // Another file of the same name, which a person put there.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "torn").unwrap();
    audit.write(&delete()).await.unwrap();
    assert!(matches!(lines(&fs::read(&file).unwrap())[..], [Line::Unreadable { .. }, Line::Record(_)]));
}

#[tokio::test]
async fn nothing_is_recorded_where_no_file_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("volume");
    fs::create_dir(&place).unwrap();
    let audit = Audit::to_file(&place.join("audit"), false).unwrap();
    fs::remove_dir_all(&place).unwrap();
    audit.begin_pass();
    let error = audit.write(&delete()).await.unwrap_err();
    assert!(error.to_string().contains("volume/audit"), "{error}");
    assert!(audit.has_failed(), "the pass deletes nothing more");
    fs::create_dir(&place).unwrap();
    audit.begin_pass();
    audit.write(&delete()).await.unwrap();
    assert!(!audit.has_failed(), "the volume is back");
}

#[tokio::test]
async fn secrets_are_not_recorded_in_a_file_that_others_may_read_or_write() {
    for (mode, is_open) in [(0o600, false), (0o660, false), (0o640, false), (0o604, true), (0o602, true), (0o666, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit");
        fs::write(&file, "").unwrap();
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        set(mode);
        assert!(Audit::to_file(&file, false).is_ok(), "{mode:o}: without Secrets");
        let opened = Audit::to_file(&file, true);
        let said = opened.err().map(|error| lifecycle_errors::Chain(&error).to_string()).unwrap_or_default();
        assert_eq!(said.contains("chmod o-rw"), is_open, "{mode:o}: {said}");
        set(0o600);
        let audit = Audit::to_file(&file, true).unwrap();
        set(mode);
        assert_eq!(audit.write(&delete()).await.is_err(), is_open, "{mode:o}: opened to others later");
    }
}
