//! Deletions.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_deletion_is_asked_for_once_and_a_conflict_looked_into() {
    use WriteErrorKind as Kind;
    check(vec![
        (
            "all of several are deleted; one that is gone counts as deleted",
            Scripted::new([job("a", "u1"), job("b", "u2")]),
            delete(vec![target("a", "u1"), target("b", "u2"), target("c", "u3")]),
            "deleted",
            &["delete a", "delete b", "delete c"],
        ),
        (
            "one that stays is in the answer, and is not read again",
            Scripted::new([held("a", "u1"), job("b", "u2")]),
            delete(vec![target("a", "u1"), target("b", "u2")]),
            "deleting u1",
            &["delete a", "delete b"],
        ),
        (
            "one that fails stops no other",
            Scripted::new([job("a", "u1"), held("b", "u2"), job("c", "u3")]).refusing("delete a", Kind::Forbidden),
            delete(vec![target("a", "u1"), target("b", "u2"), target("c", "u3")]),
            "deleting u2; failed Forbidden (delete a)",
            &["delete a", "delete b", "delete c"],
        ),
        ("nothing to delete", Scripted::new([]), delete(vec![]), "deleted", &[]),
        (
            "what changed since is not deleted",
            Scripted::new([job("a", "u1"), job("b", "u2")]),
            delete(vec![outdated("a", "u1"), target("b", "u2")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["delete a", "delete b", "get a"],
        ),
        (
            "what somebody else deleted meanwhile is on its way out, whatever its version",
            Scripted::new([ending("a", "u1")]),
            delete(vec![outdated("a", "u1")]),
            "deleting u1",
            &["delete a", "get a"],
        ),
        (
            "what is gone after a conflict is gone",
            Scripted::new([]).refusing("delete a", Kind::Conflict),
            delete(vec![target("a", "u1")]),
            "deleted",
            &["delete a", "get a"],
        ),
        (
            "a conflict that cannot be looked into stays one",
            Scripted::new([ending("a", "u1")]).refusing("get a", Kind::Unreachable),
            delete(vec![outdated("a", "u1")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["delete a", "get a"],
        ),
    ])
    .await;
}
