use super::*;

fn hash(objects: &[Candidate]) -> String {
    plan(objects.to_vec()).hash().to_owned()
}

#[test]
fn hash_is_stable() {
    // Computed by Python's `hashlib`. A person approves a hash that one
    // version printed, and another version may act on.
    assert_eq!(hash(&[]), "8fa3cc915c8ca230e1dad1b542aa7b25");
    assert_eq!(hash(&[candidate()]), "02b3d13c966ac1ca7dd8bc50a485a226");
}

#[test]
fn hash_and_order_do_not_depend_on_the_order_of_the_lists() {
    let [a, b, c] = [named("a", "u1"), named("b", "u2"), named("c", "u3")];
    let one = plan(vec![a.clone(), b.clone(), c.clone()]);
    let other = plan(vec![c.clone(), a.clone(), b.clone()]);
    assert_eq!(one, other);
    assert_eq!(one.objects(), [a, b, c]);
}

#[test]
fn hash_depends_on_every_field_of_the_identity() {
    let changes: [(&str, Change); 8] = [
        ("destination", |it| it.destination = Destination::Consumer("east".to_owned())),
        ("another destination", |it| it.destination = Destination::Consumer("west".to_owned())),
        ("group", |it| it.object.kind.group = "batch".to_owned()),
        ("kind", |it| it.object.kind.kind = "Secret".to_owned()),
        ("namespace", |it| it.object.namespace = None),
        ("name", |it| it.object.name = "other".to_owned()),
        ("UID", |it| it.uid = "u2".to_owned()),
        ("API resource", |it| it.resource_id = OTHER_ID.to_owned()),
    ];
    let mut hashes = BTreeSet::from([hash(&[candidate()])]);
    for (name, change) in changes {
        let mut changed = candidate();
        change(&mut changed);
        assert!(hashes.insert(hash(&[changed])), "{name}");
    }
}

#[test]
fn hash_does_not_depend_on_what_a_living_object_changes() {
    let changes: [fn(&mut Candidate); 3] = [
        |it| it.object.kind.version = "v2".to_owned(),
        |it| it.proof = Some("2f0c".to_owned()),
        |it| it.created = None,
    ];
    for change in changes {
        let mut changed = candidate();
        change(&mut changed);
        assert_eq!(hash(&[changed]), hash(&[candidate()]));
    }
}

#[test]
fn no_two_lists_share_a_hash_by_concatenation() {
    let lists: [&[Candidate]; 8] = [
        &[],
        &[named("ab", "c")],
        &[named("a", "bc")],
        &[named("a", "b"), named("c", "d")],
        &[named("a", "b1:c,1:d")],
        &[named("a", "b")],
        &[named("a", "b"), named("a", "b")],
        &[named("c", "d")],
    ];
    let hashes: BTreeSet<_> = lists.iter().map(|list| hash(list)).collect();
    assert_eq!(hashes.len(), lists.len());
    assert!(hashes.iter().all(|hash| hash.len() == 32 && hash.chars().all(|c| c.is_ascii_hexdigit())));
}

#[test]
fn hash_depends_on_the_reasons_and_not_on_their_figures() {
    let many = |orphans| Hold::TooManyOrphans { orphans, inventory: 9, limit: 1 };
    let canary = || Hold::NoCanary { why: "x".to_owned() };
    let hash = |holds: Vec<Hold>| SweepPlan::new(vec![candidate()], holds).hash().to_owned();
    assert_eq!(hash(vec![many(2), canary()]), hash(vec![canary(), many(3)]));
    assert_eq!(
        hash(vec![many(2)]),
        hash(vec![Hold::Earlier(Doubt::of(&many(2), "all").unwrap())]),
        "in whichever pass it arose"
    );
    let distinct =
        BTreeSet::from([hash(vec![]), hash(vec![many(2)]), hash(vec![canary()]), hash(vec![many(2), canary()])]);
    assert_eq!(distinct.len(), 4);
}
