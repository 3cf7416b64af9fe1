use std::collections::BTreeMap;

use lifecycle_objects::id::Generation;

use super::*;
use crate::sweep::census::Newer;

const GONE: OwnerAnswer = OwnerAnswer::Gone;
const UNKNOWN: OwnerAnswer = OwnerAnswer::Unknown;

fn exists(generation: i64) -> OwnerAnswer {
    OwnerAnswer::Exists(Generation(generation))
}

/// A census of `ConfigMap`s, which knows Secrets too.
fn census(candidates: &[Candidate]) -> Census {
    let mut census = Census::of([kind("v1", "ConfigMap"), kind("v1", "Secret")]);
    for candidate in candidates {
        census.add(0, candidate, &policy());
    }
    census
}

fn of(id: &str, generation: i64) -> Candidate {
    Candidate { resource_id: id.to_owned(), generation: Generation(generation), ..candidate() }
}

#[test]
fn inventory_counts_the_objects_of_this_installation() {
    let adapter = |adapter: &str| Candidate { adapter: adapter.to_owned(), ..candidate() };
    let census = census(&[
        candidate(),
        adapter("dns"),
        adapter("other"),
        of(OTHER_ID, 1),
        of("my-cluster", 1),
        Candidate { is_disowned: true, ..candidate() },
    ]);
    assert_eq!(census.inventory(), 5);
    assert_eq!(
        census.kinds().collect::<Vec<_>>(),
        [(&kind("v1", "ConfigMap"), 6), (&kind("v1", "Secret"), 0)],
        "of any adapter"
    );
    assert_eq!(census.owners().collect::<Vec<_>>(), [ID, OTHER_ID], "each id is asked once, an odd one never");
    assert!(census.names(ID) && census.names(OTHER_ID) && !census.names("my-cluster"));
}

#[test]
fn share_of_orphans_is_of_objects_that_could_be_orphans() {
    let claims: [fn(&mut Candidate); 6] = [
        |it| it.adapter = "other".to_owned(),
        |it| it.is_disowned = true,
        |it| it.resource_id = "my-cluster".to_owned(),
        |it| it.is_terminating = true,
        |it| it.owners = vec!["owner".to_owned()],
        |it| it.object.namespace = None,
    ];
    let mut candidates = vec![named("a", "u1"), named("b", "u2")];
    for claim in claims {
        candidates.push(named("claimed", &format!("u{}", candidates.len() + 1)));
        candidates.last_mut().map(claim).unwrap();
    }
    let census = census(&candidates);
    assert_eq!((census.inventory(), census.sweepable()), (7, 2));

    // An API that lost everything reaches the limit, however many objects others claim.
    let mut strikes = Strikes::default();
    for candidate in &candidates {
        let _ = judge(candidate, GONE, false, &mut strikes, &policy(), asked(0));
    }
    assert_eq!(strikes.count(), census.sweepable());
}

#[test]
fn api_that_went_back_in_time_is_noticed() {
    let cases = [
        ("the owner is older", exists(4), &[5][..], true),
        ("the owner is as old", exists(5), &[5], false),
        ("the owner is newer", exists(6), &[5], false),
        ("one object of three is newer", exists(4), &[4, 5, 3], true),
        ("the owner is unknown", UNKNOWN, &[5], false),
        ("the owner is gone", GONE, &[5], false),
        ("the object has no generation", exists(1), &[0], false),
    ];
    for (name, answer, generations, is_newer) in cases {
        let candidates: Vec<_> = generations.iter().map(|generation| of(ID, *generation)).collect();
        let found = census(&candidates).newer_than_owner(|_| answer);
        assert_eq!(!found.is_empty(), is_newer, "{name}");
    }
    let newest = Candidate { generation: Generation(5), ..named("newest", "u2") };
    let as_new = Candidate { generation: Generation(5), ..named("as-new", "u4") };
    let found = census(&[of(ID, 4), newest.clone(), as_new, named("same", "u3"), of(OTHER_ID, 9)])
        .newer_than_owner(|id| exists(if id == ID { 2 } else { 9 }));
    let expected =
        Newer { resource_id: ID.to_owned(), owner: Generation(2), object: newest.object, generation: Generation(5) };
    assert_eq!(found, [expected], "the first of the newest objects is the example");
}

#[test]
fn foreign_or_disowned_objects_show_nothing_about_the_api() {
    let foreign = Candidate { adapter: "other".to_owned(), ..of(ID, 9) };
    let disowned = Candidate { is_disowned: true, ..of(ID, 9) };
    assert_eq!(census(&[foreign, disowned, of(ID, 1)]).newer_than_owner(|_| exists(1)), []);
}

#[test]
fn sweepable_objects_are_counted_by_their_resource() {
    let claimed = Candidate { is_terminating: true, ..of(ID, 1) };
    let census = census(&[of(ID, 1), of(ID, 2), claimed, of(OTHER_ID, 1), of("my-cluster", 1)]);
    assert_eq!(census.sweepable_of(|_| false), 0);
    assert_eq!(census.sweepable_of(|id| id == ID), 2, "what something else claims goes in no case");
    assert_eq!(census.sweepable_of(|_| true), census.sweepable());
}

#[test]
fn census_counts_kept_objects_by_kind_and_reason() {
    let mut census = census(&[
        candidate(),
        candidate(),
        of(OTHER_ID, 1),
        of("my-cluster", 1),
        Candidate { adapter: "other".to_owned(), ..candidate() },
    ]);
    census.add(1, &of(OTHER_ID, 1), &policy());
    census.add(1, &of("my-cluster", 1), &policy());
    let kept = |answers: [OwnerAnswer; 2]| {
        let kept = census.kept(|id| answers[usize::from(id == OTHER_ID)]);
        kept.into_iter().map(|((kind, keep), count)| ((kind.kind, keep), count)).collect::<BTreeMap<_, _>>()
    };
    let labels = [(("ConfigMap", Keep::ForeignAdapter), 1), (("ConfigMap", Keep::OddResourceId), 1)];
    let labels = || labels.into_iter().chain([(("Secret", Keep::OddResourceId), 1)]);
    let expected = |owners: Vec<((&str, Keep), u64)>| {
        labels().chain(owners).map(|((kind, keep), count)| ((kind.to_owned(), keep), count)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(kept([GONE, GONE]), expected(Vec::new()));
    let found = vec![
        (("ConfigMap", Keep::OwnerExists), 2),
        (("ConfigMap", Keep::OwnerUnknown), 1),
        (("Secret", Keep::OwnerUnknown), 1),
    ];
    assert_eq!(kept([exists(3), UNKNOWN]), expected(found));
    let all = census.kept(|_| exists(3));
    assert_eq!(all[&(kind("v1", "ConfigMap"), Keep::OwnerExists)], 3);
}
