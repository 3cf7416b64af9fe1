//! The program: its arguments, its output, its exit code.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_promptarena-deploy-conformance")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An adapter that answers each line with a parse error is right about garbage alone.
const PROFILE: &str = r#"
adapter:
  command: [sh, -c, 'while read -r line; do echo "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error: no\"}}"; done']
  answers_within: 5
inputs: {config: {}, pack: {}}
"#;

#[test]
fn help_version_and_list_are_printed() {
    let cases =
        [(["--help"], "--row <NAME>"), (["--version"], "0.0.0-dev"), (["--list"], "P28  SIGTERM ends a waiting apply")];
    for (arguments, expected) in cases {
        let output = run(&arguments);
        assert!(output.status.success() && text(&output.stdout).contains(expected), "{output:?}");
    }
}

#[test]
fn wrong_arguments_and_profiles_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.yaml");
    let path = path.to_str().unwrap();
    let missing = run(&[path]);
    assert!(text(&missing.stderr).starts_with(&format!("Error: failed to read {path}: ")), "{missing:?}");
    fs::write(path, PROFILE.replace("inputs:", "input:")).unwrap();
    let unknown = run(&[path]);
    assert!(
        text(&unknown.stderr).contains("docs/deployers.md") && text(&unknown.stderr).contains("input"),
        "{unknown:?}"
    );
    fs::write(path, PROFILE).unwrap();
    let no_row = run(&[path, "--row", "P99"]);
    assert!(text(&no_row.stderr).contains("there is no row `P99`"), "{no_row:?}");
    for output in [missing, unknown, no_row, run(&[])] {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}

#[test]
fn adapter_that_reads_nothing_is_one_that_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.yaml");
    fs::write(&path, "{adapter: {command: [sleep, '20'], answers_within: 1}, inputs: {config: {}, pack: {}}}").unwrap();
    // Its request of 12 MiB is longer than any pipe holds.
    let output = run(&[path.to_str().unwrap(), "--row", "P12"]);
    assert!(text(&output.stdout).contains("FAILED      no answer within 1s\n"), "{output:?}");
}

#[test]
fn one_row_is_played_and_its_failure_is_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.yaml");
    fs::write(&path, PROFILE).unwrap();
    let path = path.to_str().unwrap();
    let failed = run(&[path, "--row", "p8", "--json"]);
    let report: Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!((&report["rows"][0]["row"], &report["rows"][0]["result"]), (&"P8".into(), &"failed".into()));
    assert_eq!((report["rows"].as_array().unwrap().len(), failed.status.code()), (1, Some(1)));
    let not_played = run(&[path, "--row", "P17"]);
    assert_eq!(not_played.status.code(), Some(0));
    let expected = "not played  the profile has no command `backend.reset`\n\n0 passed, 0 failed, 1 not played\n";
    assert!(text(&not_played.stdout).ends_with(expected), "{not_played:?}");
}
