//! Tests how the executor deletes objects.

use super::*;

#[tokio::test(start_paused = true)]
async fn executor_deletes_once_and_reads_the_object_after_a_conflict() {
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
            Scripted::new([job_with_finalizer("a", "u1"), job("b", "u2")]),
            delete(vec![target("a", "u1"), target("b", "u2")]),
            "deleting u1",
            &["delete a", "delete b"],
        ),
        (
            "one that fails stops no other",
            Scripted::new([job("a", "u1"), job_with_finalizer("b", "u2"), job("c", "u3")])
                .refusing("delete a", Kind::Forbidden),
            delete(vec![target("a", "u1"), target("b", "u2"), target("c", "u3")]),
            "deleting u2; failed Forbidden (delete a)",
            &["delete a", "delete b", "delete c"],
        ),
        ("nothing to delete", Scripted::new([]), delete(vec![]), "deleted", &[]),
        (
            "what changed since is not deleted",
            Scripted::new([job("a", "u1"), job("b", "u2")]),
            delete(vec![outdated_target("a", "u1"), target("b", "u2")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["delete a", "delete b", "get a"],
        ),
        (
            "an object that another client deleted meanwhile is terminating, whatever its version",
            Scripted::new([terminating_job("a", "u1")]),
            delete(vec![outdated_target("a", "u1")]),
            "deleting u1",
            &["delete a", "get a"],
        ),
        (
            "an object that does not exist after a conflict counts as deleted",
            Scripted::new([]).refusing("delete a", Kind::Conflict),
            delete(vec![target("a", "u1")]),
            "deleted",
            &["delete a", "get a"],
        ),
        (
            "a conflict that cannot be looked into stays one",
            Scripted::new([terminating_job("a", "u1")]).refusing("get a", Kind::Unreachable),
            delete(vec![outdated_target("a", "u1")]),
            "deleting ; failed Conflict (delete Job team-a/a)",
            &["delete a", "get a"],
        ),
    ])
    .await;
}
