use lifecycle_objects::id::Generation;

use super::*;

const GONE: OwnerAnswer = OwnerAnswer::Gone;
const EXISTS: OwnerAnswer = OwnerAnswer::Exists(Generation(3));
const UNKNOWN: OwnerAnswer = OwnerAnswer::Unknown;

/// One pass over one object, as a caller does it that judges the objects of every API resource.
fn pass(strikes: &mut Strikes, candidate: &Candidate, answer: OwnerAnswer, now: Timestamp) -> Verdict {
    let verdict = judge(candidate, answer, false, strikes, &policy(), Asked { from: now, until: now });
    strikes.end_pass(
        |id| (id == candidate.resource_id).then_some(answer),
        &BTreeSet::from([candidate.uid.clone()]),
        true,
    );
    verdict
}

#[test]
fn object_goes_at_the_second_strike_when_the_grace_is_over() {
    let waits = Verdict::Keep(Keep::Grace);
    let mut strikes = Strikes::default();
    for (time, expected) in [
        (MIN_AGE, waits),
        (MIN_AGE + 1, waits),
        (MIN_AGE + GRACE - 1, waits),
        (MIN_AGE + GRACE, Verdict::Delete),
        (MIN_AGE + GRACE + 1, Verdict::Delete),
    ] {
        assert_eq!(pass(&mut strikes, &candidate(), GONE, at(time)), expected, "after {time} s");
        assert_eq!((strikes.count(), strikes.oldest()), (1, Some(at(MIN_AGE))));
    }
}

#[test]
fn strike_tells_since_when_the_owner_of_an_object_is_gone() {
    let mut strikes = Strikes::default();
    assert_eq!(strikes.since(&candidate()), None);
    let _ = pass(&mut strikes, &candidate(), GONE, at(GRACE));
    let _ = pass(&mut strikes, &candidate(), GONE, at(GRACE + 1));
    assert_eq!(strikes.since(&candidate()), Some(at(GRACE)));
    assert_eq!(strikes.since(&named("other", "u2")), None);
    assert_eq!(strikes.since(&Candidate { resource_id: OTHER_ID.to_owned(), ..candidate() }), None);
}

#[test]
fn first_strike_is_not_the_second_without_a_grace() {
    let policy = Policy { grace: Duration::ZERO, ..policy() };
    let mut strikes = Strikes::default();
    let mut judged = |time| judge(&candidate(), GONE, false, &mut strikes, &policy, asked(time));
    assert_eq!(judged(GRACE), Verdict::Keep(Keep::Grace));
    assert_eq!(judged(GRACE), Verdict::Keep(Keep::Grace), "twice in the same pass");
    assert_eq!(judged(GRACE + 1), Verdict::Delete);
}

#[test]
fn strike_ends_when_the_owner_comes_back() {
    let mut strikes = Strikes::default();
    let _ = pass(&mut strikes, &candidate(), GONE, at(GRACE));
    assert_eq!(pass(&mut strikes, &candidate(), EXISTS, at(GRACE + 1)), Verdict::Keep(Keep::OwnerExists));
    assert_eq!((strikes.count(), strikes.oldest()), (0, None));
    assert_eq!(pass(&mut strikes, &candidate(), GONE, at(9 * GRACE)), Verdict::Keep(Keep::Grace));
    assert_eq!(strikes.oldest(), Some(at(9 * GRACE)));
}

#[test]
fn strike_ends_when_the_owner_comes_back_in_a_pass_that_never_ends() {
    let mut strikes = Strikes::default();
    let _ = judge(&candidate(), GONE, false, &mut strikes, &policy(), asked(GRACE));
    let _ = judge(&candidate(), EXISTS, false, &mut strikes, &policy(), asked(GRACE + 1));
    assert_eq!(strikes, Strikes::default());
}

#[test]
fn unknown_answer_deletes_nothing_and_keeps_the_strike() {
    let mut strikes = Strikes::default();
    let _ = pass(&mut strikes, &candidate(), GONE, at(GRACE));
    assert_eq!(pass(&mut strikes, &candidate(), UNKNOWN, at(9 * GRACE)), Verdict::Keep(Keep::OwnerUnknown));
    assert_eq!(strikes.oldest(), Some(at(GRACE)));
    assert_eq!(pass(&mut strikes, &candidate(), GONE, at(9 * GRACE)), Verdict::Delete);
}

#[test]
fn unknown_answer_is_no_strike() {
    let mut strikes = Strikes::default();
    let _ = pass(&mut strikes, &candidate(), UNKNOWN, at(GRACE));
    assert_eq!(strikes.count(), 0);
}

#[test]
fn relabelled_object_begins_anew() {
    let relabelled = Candidate { resource_id: OTHER_ID.to_owned(), ..candidate() };
    for answer in [GONE, EXISTS, UNKNOWN] {
        let mut strikes = Strikes::default();
        let _ = judge(&candidate(), GONE, false, &mut strikes, &policy(), asked(GRACE));
        let verdict = judge(&relabelled, answer, false, &mut strikes, &policy(), asked(9 * GRACE));
        assert_ne!(verdict, Verdict::Delete, "{answer:?}");
        assert_eq!(strikes.oldest(), (answer == GONE).then_some(at(9 * GRACE)), "{answer:?}");
        let back = judge(&candidate(), GONE, false, &mut strikes, &policy(), asked(10 * GRACE));
        assert_eq!(back, Verdict::Keep(Keep::Grace), "{answer:?} about the owner in between");
    }
}

#[test]
fn namesake_with_another_uid_begins_anew() {
    let mut strikes = Strikes::default();
    let _ = pass(&mut strikes, &candidate(), GONE, at(GRACE));
    let recreated = named("settings", "u2");
    assert_eq!(pass(&mut strikes, &recreated, GONE, at(9 * GRACE)), Verdict::Keep(Keep::Grace));
    assert_eq!((strikes.count(), strikes.oldest()), (1, Some(at(9 * GRACE))));
}

#[test]
fn object_that_something_claimed_in_between_begins_anew() {
    let claims: [(&str, Change); 5] = [
        ("a foreign adapter", |it| it.adapter = "other".to_owned()),
        ("disowned", |it| it.is_disowned = true),
        ("an odd id", |it| it.resource_id = "my-cluster".to_owned()),
        ("terminating", |it| it.is_terminating = true),
        ("another owner", |it| it.owners = vec!["owner".to_owned()]),
    ];
    for (name, claim) in claims {
        let mut strikes = Strikes::default();
        let _ = judge(&candidate(), GONE, false, &mut strikes, &policy(), asked(GRACE));
        let mut claimed = candidate();
        claim(&mut claimed);
        let _ = judge(&claimed, GONE, false, &mut strikes, &policy(), asked(2 * GRACE));
        assert_eq!(strikes.count(), 0, "{name}");
    }
}

#[test]
fn young_or_full_object_has_a_strike_while_it_waits() {
    let mut strikes = Strikes::default();
    let mut judged = |contains, time| judge(&candidate(), GONE, contains, &mut strikes, &policy(), asked(time));
    assert_eq!(judged(true, 0), Verdict::Keep(Keep::TooYoung));
    assert_eq!(judged(true, GRACE), Verdict::Keep(Keep::NotEmpty));
    assert_eq!(judged(false, GRACE), Verdict::Delete);
}

#[test]
fn strike_in_the_future_waits() {
    let mut strikes = Strikes::default();
    strikes.restore("u1".to_owned(), ID.to_owned(), at(9 * GRACE));
    assert_eq!(pass(&mut strikes, &candidate(), GONE, at(GRACE)), Verdict::Keep(Keep::Grace));
    assert_eq!(pass(&mut strikes, &candidate(), GONE, at(9 * GRACE + GRACE)), Verdict::Delete);
}

#[test]
fn restored_strike_counts_as_the_first() {
    let restored = |uid: &str, id: &str, since| {
        let mut strikes = Strikes::default();
        strikes.restore(uid.to_owned(), id.to_owned(), since);
        pass(&mut strikes, &candidate(), GONE, at(2 * GRACE))
    };
    assert_eq!(restored("u1", ID, at(GRACE)), Verdict::Delete);
    assert_eq!(restored("u1", ID, at(GRACE + 1)), Verdict::Keep(Keep::Grace));
    assert_eq!(restored("u2", ID, at(GRACE)), Verdict::Keep(Keep::Grace), "another object");
    assert_eq!(restored("u1", OTHER_ID, at(GRACE)), Verdict::Keep(Keep::Grace), "another API resource");
}

#[test]
fn pass_ends_the_strikes_that_it_disproved() {
    // What the API said about the resource, whether the object was judged, whether the inventory is complete.
    let cases = [
        ("the owner exists, the object was not judged", Some(EXISTS), false, false, false),
        ("the owner exists", Some(EXISTS), true, true, false),
        ("the answer is unknown", Some(UNKNOWN), false, true, true),
        ("the owner is gone, and the object there", Some(GONE), true, true, true),
        ("the owner is gone, and the object too", Some(GONE), false, true, false),
        ("the owner is gone, and the object perhaps", Some(GONE), false, false, true),
        ("no object names the owner", None, false, true, false),
        ("no object that was listed names the owner", None, false, false, true),
    ];
    for (name, answer, is_judged, is_complete, stays) in cases {
        let mut strikes = Strikes::default();
        strikes.restore("u1".to_owned(), ID.to_owned(), at(0));
        let judged = if is_judged { BTreeSet::from(["u1".to_owned()]) } else { BTreeSet::new() };
        strikes.end_pass(|id| answer.filter(|_| id == ID), &judged, is_complete);
        assert_eq!(strikes.count(), u64::from(stays), "{name}");
    }
}

#[test]
fn oldest_strike_is_the_least_of_all() {
    let mut strikes = Strikes::default();
    assert_eq!(strikes.oldest(), None);
    for (uid, since) in [("u1", 2), ("u2", 1), ("u3", 3)] {
        strikes.restore(uid.to_owned(), ID.to_owned(), at(since));
    }
    assert_eq!((strikes.count(), strikes.oldest()), (3, Some(at(1))));
}
