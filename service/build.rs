//! Passes the commit of a release build to `version.rs`, if the variable `HYPERFLEET_COMMIT` does not.
//!
//! A development build has no commit: with one, each commit would build every program anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=HYPERFLEET_COMMIT");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || std::env::var_os("HYPERFLEET_COMMIT").is_some() {
        return;
    }
    // The log of HEAD grows with each commit and each change of the branch.
    let log = "../.git/logs/HEAD";
    if Path::new(log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    let described =
        Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]).output();
    if let Some(commit) = described.ok().filter(|output| output.status.success()) {
        println!("cargo::rustc-env=HYPERFLEET_COMMIT={}", String::from_utf8_lossy(&commit.stdout).trim());
    }
}
