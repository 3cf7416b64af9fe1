//! The conformance program on the adapter of files: every row passes, and each sabotage fails the row that is for it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use promptarena_deploy_conformance::profile::Profile;
use promptarena_deploy_conformance::report::{Report, Verdict};
use promptarena_deploy_conformance::rows::{ROWS, Row};
use serde_json::{Value, json};

/// A pack with these tools, and two agents.
fn pack(tools: &[&str]) -> Value {
    let tools: serde_json::Map<_, _> = tools.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    json!({"id": "p", "version": "1.0.0", "tools": tools, "agents": {"members": {"x": {}, "y": {}}}})
}

/// A profile as an author writes it: the faults are made by a shell.
fn profile(folder: &Path, sabotage: Option<&str>) -> Profile {
    let directory = folder.join("deployed");
    let config = |workspace: &str| json!({"directory": directory, "workspace": workspace});
    let mut full = config("w");
    full["dry_run"] = false.into();
    let mut dry = full.clone();
    dry["dry_run"] = true.into();
    let mut large = pack(&["a", "b"]);
    large["chatter"] = 20_000.into();
    let shell = |script: &str| json!(["sh", "-c", format!("cd {} && {script}", folder.display())]);
    let fault = |name: &str, text: &str| json!({"make": shell(&format!("printf '{text}' >deployed/faults/{name}"))});
    let mut write_fails = fault("write.b", "403 Forbidden");
    write_fails["category"] = "permission".into();
    let environment = sabotage.map(|name| json!({"SABOTAGE": name}));
    let profile = json!({
        "adapter": {
            "command": [env!("CARGO_BIN_EXE_promptarena-deploy-files")],
            "environment": environment.unwrap_or_else(|| json!({})),
        },
        "inputs": {
            "config": full, "other_scope_config": config("elsewhere"), "dry_run_config": dry,
            "pack": pack(&["a", "b"]), "smaller_pack": pack(&["a"]), "large_pack": large,
        },
        "backend": {
            "reset": shell("rm -rf deployed && mkdir -p deployed/faults"),
            "clear": shell("rm -rf deployed/faults && mkdir -p deployed/faults"),
            "list": shell("find deployed -path deployed/faults -prune -o -type f ! -name writes -print | sort"),
            "writes": shell("cat deployed/writes 2>/dev/null | wc -c"),
        },
        "faults": {
            "write-fails": write_fails,
            "delete-fails": fault("delete.b", "500"),
            "delete-refused": fault("delete.x", "403"),
            "gone": {"make": shell("rm deployed/w/agent.y")},
            "check-fails": fault("read.x", "500"),
            "unhealthy": fault("unhealthy.x", ""),
            "never-ready": fault("never-ready", ""),
            "hang-after": fault("hang-after", "{n}"),
        },
    });
    Profile::parse(&profile.to_string()).unwrap()
}

#[test]
fn every_row_is_played_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let report = Report::play(&profile(folder.path(), None), &ROWS.iter().collect::<Vec<_>>());
    let passed = report.rows.iter().filter(|line| line.result == Verdict::Passed).count();
    assert_eq!(passed, ROWS.len(), "\n{}", report.table());
}

#[test]
fn each_sabotage_fails_the_row_that_is_for_it() {
    let cases = [
        ("P1", "accepts unknown keys", "accepts the unknown key"),
        ("P2", "finds no mistakes", "the mistaken configuration"),
        ("P3", "has no summary", "no summary"),
        ("P4", "tells nothing", "events tell of []"),
        ("P5", "swallows failures", "not -32603"),
        ("P6", "answers one status for all", "status: "),
        ("P7", "has other codes", "method not found: get_login_url"),
        ("P8", "dies of garbage", "ended without an answer"),
        ("P9", "has the standard's codes", "-32602"),
        ("P10", "has integers as ids", "the id \"x\" comes back as"),
        ("P11", "lingers", "no exit within 1s"),
        ("P12", "writes long lines", "the client reads 10 MiB at most"),
        ("P13", "writes empty members", "status writes an empty `links`"),
        ("P14", "greets", "an extra line"),
        ("P15", "is always deployed", "status: "),
        ("P16", "takes a broken state for none", "plan answers"),
        ("P17", "plans everything anew", "CREATE tool/a"),
        ("P18", "forgets what left the pack", "not -32603"),
        ("P19", "writes in a dry run", "entries of a dry run"),
        ("P20", "stops at the first failure", "1 of 4 resources exist"),
        ("P21", "tells failed deletions as done", "not -32603"),
        ("P22", "takes what cannot be read for healthy", "status: "),
        ("P23", "takes what cannot be read for gone", "with the fault check-fails"),
        ("P24", "makes new names", "exist, expected 4"),
        ("P25", "uses any state", "warns of nothing"),
        ("P26", "counts from zero", "8 events are streamed"),
        ("P27", "finds nothing by its mark", "over an older state"),
        ("P28", "dies of signals", "ended without an answer"),
    ];
    for (name, sabotage, seen) in cases {
        let folder = tempfile::tempdir().unwrap();
        let row: &'static Row = ROWS.iter().find(|row| row.name == name).unwrap();
        let report = Report::play(&profile(folder.path(), Some(sabotage)), &[row]);
        let line = &report.rows[0];
        assert!(line.result == Verdict::Failed && line.seen.contains(seen), "{sabotage}: {}", report.table());
    }
    let played: Vec<_> = ROWS.iter().filter(|row| cases.iter().any(|(name, _, _)| *name == row.name)).collect();
    assert_eq!(played.len(), ROWS.len(), "every row has a sabotage");
}

#[test]
fn row_that_the_profile_cannot_play_never_passes() {
    let folder = tempfile::tempdir().unwrap();
    let mut profile = profile(folder.path(), None);
    profile.faults.clear();
    profile.inputs.smaller_pack = None;
    profile.inputs.large_pack = None;
    profile.inputs.dry_run_config = None;
    profile.inputs.other_scope_config = None;
    let named = |names: &[&str]| ROWS.iter().filter(|row| names.contains(&row.name)).collect::<Vec<_>>();
    let rows = named(&["P5", "P12", "P18", "P19", "P20", "P21", "P22", "P23", "P24", "P25", "P27", "P28"]);
    let report = Report::play(&profile, &rows);
    assert!(report.rows.iter().all(|line| line.result == Verdict::NotPlayed), "\n{}", report.table());

    profile.backend = promptarena_deploy_conformance::profile::Backend::default();
    let report = Report::play(&profile, &named(&["P4", "P6", "P15", "P17", "P26"]));
    assert!(report.rows.iter().all(|line| line.result == Verdict::NotPlayed), "\n{}", report.table());
    assert!(!report.has_failed());
}
