//! Which of several versions is the current one.

use super::situation::{LIVE, Live};
use crate::id::Generation;
use crate::observation::Version;
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
fn of_nothing_nothing_is_current() {
    check(&[], None);
}

#[test]
fn the_desired_generation_beats_a_newer_object() {
    check(&[LIVE, LIVE.named("b").generation(2).created_on(9)], Some("a"));
    check(&[LIVE, LIVE.named("b").generation(4).created_on(9)], Some("a"));
}

#[test]
fn of_the_desired_generation_the_newest_is_current() {
    check(&[LIVE.created_on(2), LIVE.named("b").created_on(1)], Some("a"));
}

#[test]
fn between_twins_the_name_decides() {
    check(&[LIVE, LIVE.named("b")], Some("b"));
    check(&[LIVE.generation(1), LIVE.named("b").generation(1)], Some("b"));
}

#[test]
fn without_the_desired_generation_the_newest_is_current() {
    check(&[LIVE.generation(1).created_on(2), LIVE.named("b").generation(2)], Some("a"));
    check(&[Live { generation: None, ..LIVE.created_on(2) }, LIVE.named("b").generation(2)], Some("a"));
}

#[test]
fn what_stays_beats_what_goes() {
    check(&[LIVE.created_on(9).terminating(), LIVE.named("b").generation(1)], Some("b"));
}

#[test]
fn of_those_that_go_the_newest_is_current_whatever_its_generation() {
    check(&[LIVE.terminating(), LIVE.named("b").generation(1).created_on(2).terminating()], Some("b"));
}
