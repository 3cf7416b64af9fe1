//! Patches and disowns.

use super::*;

#[tokio::test(start_paused = true)]
async fn patches_are_a_chain() {
    check(vec![
        (
            "patches go out in order, each onto the version before",
            Scripted::new([job("a", "u1")]),
            patch(Target { resource_version: "1".to_owned(), ..target("a", "u1") }, &[suspend(true), suspend(false)]),
            "patched \"3\"",
            &["patch a", "patch a"],
        ),
        (
            "a patch that changes nothing leaves the version as it is",
            Scripted::new([job("a", "u1")]),
            patch(target("a", "u1"), &[suspend(true), suspend(true)]),
            "patched \"2\"",
            &["patch a", "patch a"],
        ),
        (
            "the first failure ends it, and what came before is kept",
            Scripted::new([job("a", "u1")]),
            patch(target("a", "u1"), &[suspend(true), json!([]), suspend(false)]),
            "patched \"2\"; failed Invalid (patch Job team-a/a)",
            &["patch a", "patch a"],
        ),
        (
            "a patch of what changed since",
            Scripted::new([job("a", "u1")]),
            patch(outdated("a", "u1"), &[suspend(true)]),
            "patched null; failed Conflict (patch Job team-a/a)",
            &["patch a"],
        ),
        (
            "a patch of a vanished object",
            Scripted::new([]),
            patch(target("a", "u1"), &[suspend(true)]),
            "patched null; failed NotFound (patch Job team-a/a)",
            &["patch a"],
        ),
        (
            "no patch at all is no success",
            Scripted::new([job("a", "u1")]),
            patch(target("a", "u1"), &[]),
            "patched null; failed Invalid (patch Job team-a/a)",
            &[],
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_last_object_is_released_when_all_others_are() {
    use WriteErrorKind as Kind;
    check(vec![
        (
            "the former ones are disowned before the last",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]),
            release(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "disowned u1 u2 u3",
            &["patch a", "patch b", "patch c"],
        ),
        (
            "the only one is the last",
            Scripted::new([job("a", "u1")]),
            release(vec![], target("a", "u1")),
            "disowned u1",
            &["patch a"],
        ),
        (
            "what is gone needs no release",
            Scripted::new([job("b", "u2")]),
            release(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "disowned u2",
            &["patch a", "patch b", "patch c"],
        ),
        (
            "while a former one is not disowned, the last one is kept",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]).refusing("patch a", Kind::Forbidden),
            release(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "failed Forbidden (patch a)",
            &["patch a", "patch b"],
        ),
        (
            "a missing kind is no missing object",
            Scripted::new([job("c", "u3")]).refusing("patch a", Kind::NotFound),
            release(vec![target("a", "u1")], target("c", "u3")),
            "failed NotFound (patch a)",
            &["patch a"],
        ),
        (
            "a namesake is not disowned",
            Scripted::new([job("a", "u2")]),
            release(vec![], target("a", "u1")),
            "failed Conflict (patch Job team-a/a)",
            &["patch a"],
        ),
    ])
    .await;
}
