//! Tests which of several versions is the current one.

use lifecycle_objects::id::Generation;
use lifecycle_objects::observation::Version;

use super::situation::{LIVE, Live};
use crate::plan::decide::current;

#[track_caller]
fn check(versions: &[Live], expected: Option<&str>) {
    let versions: Vec<Version> = versions.iter().map(Live::version).collect();
    let mut reversed = versions.clone();
    reversed.reverse();
    for versions in [versions, reversed] {
        assert_eq!(current(&versions, Generation(3)).map(Version::name), expected);
    }
}

#[test]
fn no_version_is_current_without_versions() {
    check(&[], None);
}

#[test]
fn version_of_the_desired_generation_wins_over_a_newer_one() {
    check(&[LIVE, LIVE.named("b").generation(2).created_on(9)], Some("a"));
    check(&[LIVE, LIVE.named("b").generation(4).created_on(9)], Some("a"));
}

#[test]
fn newest_version_of_the_desired_generation_is_current() {
    check(&[LIVE.created_on(2), LIVE.named("b").created_on(1)], Some("a"));
}

#[test]
fn name_decides_between_versions_of_equal_age() {
    check(&[LIVE, LIVE.named("b")], Some("b"));
    check(&[LIVE.generation(1), LIVE.named("b").generation(1)], Some("b"));
}

#[test]
fn newest_version_is_current_without_the_desired_generation() {
    check(&[LIVE.generation(1).created_on(2), LIVE.named("b").generation(2)], Some("a"));
    check(&[Live { generation: None, ..LIVE.created_on(2) }, LIVE.named("b").generation(2)], Some("a"));
}

#[test]
fn live_version_wins_over_a_terminating_one() {
    check(&[LIVE.created_on(9).terminating(), LIVE.named("b").generation(1)], Some("b"));
}

#[test]
fn newest_of_terminating_versions_is_current() {
    check(&[LIVE.terminating(), LIVE.named("b").generation(1).created_on(2).terminating()], Some("b"));
}
