use std::collections::BTreeMap;

use super::*;
use crate::id::Generation;
use crate::object_ref::ObjectRef;
use crate::sweep::census::Newer;

const GONE: OwnerAnswer = OwnerAnswer::Gone;
const UNKNOWN: OwnerAnswer = OwnerAnswer::Unknown;

fn exists(generation: i64) -> OwnerAnswer {
    OwnerAnswer::Exists(Generation(generation))
}

/// A census of `ConfigMap`s.
fn census(candidates: &[Candidate]) -> Census {
    let mut census = Census::default();
    let index = census.add_kind(kind("v1", "ConfigMap"), "configmaps".to_owned());
    for candidate in candidates {
        census.add(index, candidate, &policy());
    }
    census
}

fn of(id: &str, generation: i64) -> Candidate {
    Candidate { resource_id: id.to_owned(), generation: Generation(generation), ..candidate() }
}

/// An object without a namespace.
fn cluster_scoped(api_version: &str, kind_name: &str, name: &str) -> Candidate {
    let object = ObjectRef { kind: kind(api_version, kind_name), namespace: None, name: name.to_owned() };
    Candidate { object, ..candidate() }
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
    assert_eq!(census.kinds().collect::<Vec<_>>(), [(&kind("v1", "ConfigMap"), 6)], "of any adapter");
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
        |it| it.has_owner = true,
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
        let _ = judge(candidate, GONE, false, &mut strikes, &policy(), at(0));
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
    let found = census(&[of(ID, 4), newest.clone(), named("same", "u3"), of(OTHER_ID, 9)])
        .newer_than_owner(|id| exists(if id == ID { 2 } else { 9 }));
    let expected =
        Newer { resource_id: ID.to_owned(), owner: Generation(2), object: newest.object, generation: Generation(5) };
    assert_eq!(found, [expected], "the newest object is the example");
}

#[test]
fn foreign_or_disowned_objects_show_nothing_about_the_api() {
    let foreign = Candidate { adapter: "other".to_owned(), ..of(ID, 9) };
    let disowned = Candidate { is_disowned: true, ..of(ID, 9) };
    assert_eq!(census(&[foreign, disowned, of(ID, 1)]).newer_than_owner(|_| exists(1)), []);
}

#[test]
fn evidence_stands_until_the_api_disproves_it() {
    // What the API said in the next pass, `None` if no object names the resource; whether the inventory is complete.
    let cases = [
        ("the answer is unknown", Some(UNKNOWN), true, true),
        ("the resource is gone as well", Some(GONE), true, true),
        ("the resource is as new as its objects", Some(exists(5)), true, false),
        ("its objects are gone", None, true, false),
        ("its objects were perhaps not listed", None, false, true),
    ];
    for (name, answer, is_complete, stands) in cases {
        let census = census(&[of(ID, 5)]);
        let mut strikes = Strikes::default();
        strikes.end_pass(|_| Some(exists(4)), &BTreeSet::new(), true);
        assert_eq!(strikes.newer(census.newer_than_owner(|_| exists(4))).len(), 1, "{name}");

        strikes.end_pass(|id| answer.filter(|_| id == ID), &BTreeSet::new(), is_complete);
        let found = census.newer_than_owner(|_| answer.unwrap_or(UNKNOWN));
        assert_eq!(strikes.newer(found).len(), usize::from(stands), "{name}");
    }
}

#[test]
fn evidence_of_two_passes_adds_up() {
    let census = census(&[of(ID, 5), of(OTHER_ID, 5)]);
    let only = |old: &'static str| move |id: &str| if id == old { exists(4) } else { UNKNOWN };
    let mut strikes = Strikes::default();
    let _ = strikes.newer(census.newer_than_owner(only(OTHER_ID)));
    strikes.end_pass(|id| Some(only(ID)(id)), &BTreeSet::new(), true);
    let all = strikes.newer(census.newer_than_owner(only(ID)));
    assert_eq!(all.iter().map(|newer| newer.resource_id.as_str()).collect::<Vec<_>>(), [ID, OTHER_ID]);
}

#[test]
fn namespace_contains_labelled_objects_of_any_adapter() {
    let foreign = Candidate { adapter: "other".to_owned(), ..candidate() };
    let disowned = Candidate { adapter: String::new(), is_disowned: true, ..candidate() };
    let team = cluster_scoped("v1", "Namespace", "team");
    for (name, candidates, contains) in [
        ("an object of this installation", vec![candidate()], true),
        ("an object of another", vec![foreign], true),
        ("a disowned object", vec![disowned], true),
        ("nothing", Vec::new(), false),
        ("itself", vec![team.clone()], false),
    ] {
        let census = census(&candidates);
        assert_eq!(census.contains(&team), contains, "{name}");
        assert!(!census.contains(&cluster_scoped("v1", "Namespace", "other")), "{name}");
        assert!(!census.contains(&cluster_scoped("v1", "Node", "team")), "{name}");
        assert!(!census.contains(&cluster_scoped("x.io/v1", "Namespace", "team")), "{name}");
    }
}

#[test]
fn custom_kind_contains_its_objects_or_was_not_listed() {
    let definition = |name: &str| cluster_scoped("apiextensions.k8s.io/v1", "CustomResourceDefinition", name);
    let mut census = Census::default();
    let plurals = ["gadgets", "widgets", "widgets", "gizmos"];
    let indexes: Vec<_> = ["v1", "v1", "v2", "v1"]
        .into_iter()
        .zip(plurals)
        .map(|(version, plural)| census.add_kind(kind(&format!("x.io/{version}"), plural), plural.to_owned()))
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
    census.add(2, &candidate(), &policy());
    let cases = [
        ("objects of a second version", "widgets.x.io", true),
        ("no objects", "gadgets.x.io", false),
        ("a kind that was not listed", "doodads.x.io", true),
        ("a kind of another group", "gadgets.y.io", true),
    ];
    for (name, definition_name, contains) in cases {
        assert_eq!(census.contains(&definition(definition_name)), contains, "{name}");
    }
    assert!(!census.contains(&cluster_scoped("x.io/v1", "CustomResourceDefinition", "widgets.x.io")));
    assert!(!census.contains(&cluster_scoped("apiextensions.k8s.io/v1", "Other", "widgets.x.io")));
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
    let secret = census.add_kind(kind("v1", "Secret"), "secrets".to_owned());
    census.add(secret, &of(OTHER_ID, 1), &policy());
    census.add(secret, &of("my-cluster", 1), &policy());
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

#[test]
fn census_names_the_kinds_of_some_owners() {
    let mut census = census(&[of(ID, 1)]);
    let secret = census.add_kind(kind("v1", "Secret"), "secrets".to_owned());
    census.add(secret, &of(OTHER_ID, 1), &policy());
    census.add(secret, &of(ID, 1), &policy());
    let kinds = |owners: &[&str]| census.kinds_of(&owners.iter().copied().collect());
    assert_eq!(kinds(&[ID]), [kind("v1", "ConfigMap"), kind("v1", "Secret")]);
    assert_eq!(kinds(&[OTHER_ID]), [kind("v1", "Secret")]);
    assert_eq!(kinds(&["unheard-of"]), []);
}
