//! Passes version, commit and date of the build to `version.rs`: the variables of a release, or else defaults, and git's
//! commit in a release build.
//!
//! A development build has no commit: with one, each commit would build every program anew.

use std::path::Path;
use std::process::Command;

fn main() {
    let number = given("HYPERFLEET_VERSION").unwrap_or_else(|| "0.0.0-dev".to_owned());
    let commit = given("HYPERFLEET_COMMIT").or_else(of_git).unwrap_or_else(|| "none".to_owned());
    let date = given("HYPERFLEET_BUILD_DATE").unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=HYPERFLEET_VERSION_LINE={number} (commit {commit})");
    println!("cargo::rustc-env=HYPERFLEET_VERSION={number}");
    println!("cargo::rustc-env=HYPERFLEET_COMMIT={commit}");
    println!("cargo::rustc-env=HYPERFLEET_BUILD_DATE={date}");
}

/// A variable of the build that is set and not empty.
fn given(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The commit of a release build, if git knows it.
fn of_git() -> Option<String> {
    if std::env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return None;
    }
    // The log of HEAD grows with each commit and each change of the branch.
    let log = "../.git/logs/HEAD";
    if Path::new(log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    let question = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"];
    let described = Command::new("git").args(question).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&described.stdout).trim().to_owned())
}
