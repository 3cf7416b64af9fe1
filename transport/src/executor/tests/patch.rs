//! Tests of patches and of disowning.

use super::*;

#[tokio::test(start_paused = true)]
async fn each_patch_is_fenced_by_the_result_of_the_previous_one() {
    check(vec![
        (
            "patches go out in order, each onto the version before",
            Scripted::new([job("a", "u1")]),
            patch(
                Target { resource_version: "1".to_owned(), ..target("a", "u1") },
                &[suspend_patch(true), suspend_patch(false)],
            ),
            "patched \"3\"",
            &["patch a", "patch a"],
        ),
        (
            "a patch that changes nothing leaves the version as it is",
            Scripted::new([job("a", "u1")]),
            patch(target("a", "u1"), &[suspend_patch(true), suspend_patch(true)]),
            "patched \"2\"",
            &["patch a", "patch a"],
        ),
        (
            "the first failure ends it, and what came before is kept",
            Scripted::new([job("a", "u1")]),
            patch(target("a", "u1"), &[suspend_patch(true), json!([]), suspend_patch(false)]),
            "patched \"2\"; failed Invalid (patch Job team-a/a)",
            &["patch a", "patch a"],
        ),
        (
            "a patch of what changed since",
            Scripted::new([job("a", "u1")]),
            patch(outdated_target("a", "u1"), &[suspend_patch(true)]),
            "patched null; failed Conflict (patch Job team-a/a)",
            &["patch a"],
        ),
        (
            "a patch of a vanished object",
            Scripted::new([]),
            patch(target("a", "u1"), &[suspend_patch(true)]),
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
async fn current_version_is_disowned_after_all_former_versions() {
    use WriteErrorKind as Kind;
    check(vec![
        (
            "the former ones are disowned before the last",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]),
            disown_command(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "disowned u1 u2 u3",
            &["patch a", "patch b", "patch c"],
        ),
        (
            "the only one is the last",
            Scripted::new([job("a", "u1")]),
            disown_command(vec![], target("a", "u1")),
            "disowned u1",
            &["patch a"],
        ),
        (
            "disowning an object that does not exist succeeds",
            Scripted::new([job("b", "u2")]),
            disown_command(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "disowned u2",
            &["patch a", "patch b", "patch c"],
        ),
        (
            "while a former one is not disowned, the last one is kept",
            Scripted::new([job("a", "u1"), job("b", "u2"), job("c", "u3")]).refusing("patch a", Kind::Forbidden),
            disown_command(vec![target("a", "u1"), target("b", "u2")], target("c", "u3")),
            "failed Forbidden (patch a)",
            &["patch a", "patch b"],
        ),
        (
            "a missing kind is no missing object",
            Scripted::new([job("c", "u3")]).refusing("patch a", Kind::NotFound),
            disown_command(vec![target("a", "u1")], target("c", "u3")),
            "failed NotFound (patch a)",
            &["patch a"],
        ),
        (
            "a namesake is not disowned",
            Scripted::new([job("a", "u2")]),
            disown_command(vec![], target("a", "u1")),
            "failed Conflict (patch Job team-a/a)",
            &["patch a"],
        ),
    ])
    .await;
}
