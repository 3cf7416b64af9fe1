use lifecycle_objects::id::Generation;

use super::*;
use crate::sweep::census::Newer;
use crate::sweep::release::too_many;

fn newer() -> Newer {
    Newer { resource_id: ID.to_owned(), owner: Generation(2), object: candidate().object, generation: Generation(3) }
}

fn holds() -> [Hold; 7] {
    [
        Hold::IncompleteInventory { unread: vec!["Job: forbidden".to_owned(), "Secret: timeout".to_owned()] },
        Hold::NothingSelected { why: vec!["`Jobs` selects no kind".to_owned(), "no object is of `dnss`".to_owned()] },
        Hold::NoCanary { why: "it has no resource at all".to_owned() },
        Hold::NoResources,
        Hold::TooManyOrphans { orphans: 7, inventory: 10, limit: 5 },
        Hold::TooManyUnknown { orphans: 3, unknown: 4, limit: 5 },
        Hold::ApiWentBack { count: 2, example: newer() },
    ]
}

#[test]
fn lower_limit_holds_a_pass() {
    // Objects, percent, inventory, the most orphans.
    let cases = [
        ("both equal", 10, 10, 100, 10),
        ("the number is lower", 9, 10, 100, 9),
        ("the share is lower", 11, 10, 100, 10),
        ("a share is rounded down", 10, 10, 99, 9),
        ("a share below one object", 10, 10, 9, 0),
        ("an empty inventory", 10, 10, 0, 0),
        ("no objects", 0, 100, 100, 0),
        ("no percent", 10, 0, 100, 0),
        ("more than all", 10, 300, 2, 6),
        ("an inventory of absurd size", 10, 100, u64::MAX, 10),
    ];
    for (name, objects, percent, inventory, limit) in cases {
        let limits = Limits { objects, share: Share::Percent(percent) };
        assert_eq!(limits.of(inventory), limit, "{name}");
        assert_eq!(too_many(&limits, limit, 0, inventory), None, "{name}");
        let orphans = limit + 1;
        let hold = Hold::TooManyOrphans { orphans, inventory, limit };
        assert_eq!(too_many(&limits, orphans, 0, inventory), Some(hold), "{name}");
    }
}

#[test]
fn usual_share_lets_a_few_objects_of_a_small_fleet_go() {
    // Inventory, the most orphans.
    let cases = [
        ("nothing", 0, 0),
        ("a fleet of three objects", 3, 0),
        ("one of four", 4, 1),
        ("a quarter, rounded down", 19, 4),
        ("one of four clusters of ten objects", 40, 10),
        ("no more than ten", 199, 10),
        ("five percent are ten", 200, 10),
        ("five percent, rounded down", 259, 12),
        ("the other limit", 100_000, 50),
        ("an inventory of absurd size", u64::MAX, 50),
    ];
    for (name, inventory, limit) in cases {
        let limits = Limits { objects: 50, share: Share::Usual };
        assert_eq!(limits.of(inventory), limit, "{name}");
        assert!(inventory == 0 || too_many(&limits, inventory, 0, inventory).is_some(), "{name}: all is never few");
    }
    assert_eq!(Limits { objects: 0, share: Share::Usual }.of(100), 0, "the other limit holds");
}

#[test]
fn unknown_resources_count_beside_an_orphan() {
    // Orphans, unknown, whether that holds a pass; the limit is 5 of 10.
    let limits = Limits { objects: 5, share: Share::Percent(100) };
    for (orphans, unknown, is_held) in
        [(0, 10, false), (1, 4, false), (1, 5, true), (5, 0, false), (5, 1, true), (1, u64::MAX, true)]
    {
        let hold = Hold::TooManyUnknown { orphans, unknown, limit: 5 };
        assert_eq!(too_many(&limits, orphans, unknown, 10), is_held.then_some(hold), "{orphans} and {unknown}");
    }
    assert_eq!(too_many(&limits, 6, 1, 10).map(|hold| hold.label()), Some("too_many_orphans"));
}

#[test]
fn pass_without_holds_goes_without_approval() {
    assert_eq!(release(&plan(vec![candidate()]), None, at(0)), Release::Go);
}

#[test]
fn approval_releases_exactly_its_plan_until_it_expires() {
    let [.., too_many, _, went_back] = holds();
    let holds = vec![too_many.clone(), went_back];
    let plan = |objects: &[Candidate], holds: &[Hold]| SweepPlan::new(objects.to_vec(), holds.to_vec());
    let both = [named("a", "u1"), named("b", "u2")];
    let held = plan(&both, &holds);
    let approved = |hash: &str, now| {
        let approval = Approval { hash: hash.to_owned(), expires: at(100) };
        release(&held, Some(&approval), at(now)) == Release::Approved
    };
    assert!(approved(held.hash(), 0) && approved(held.hash(), 99));
    assert!(!approved(held.hash(), 100), "at its expiry");
    assert!(!approved(held.hash(), 101), "after its expiry");
    for (name, objects) in [
        ("a part of the plan", vec![named("a", "u1")]),
        ("a longer plan", vec![named("a", "u1"), named("b", "u2"), named("c", "u3")]),
        ("a plan with a recreated namesake", vec![named("a", "u1"), named("b", "u3")]),
        ("an empty plan", Vec::new()),
    ] {
        assert!(!approved(plan(&objects, &holds).hash(), 0), "{name}");
    }
    assert!(!approved(plan(&both, &[too_many]).hash(), 0), "the same list, when less spoke against it");
    for hash in ["", &held.hash()[..31], &held.hash().to_uppercase(), &format!("{} ", held.hash())] {
        assert!(!approved(hash, 0), "`{hash}`");
    }
    assert_eq!(release(&held, None, at(0)), Release::Held);
}

#[test]
fn empty_plan_cannot_be_approved() {
    let [_, _, _, too_many, ..] = holds();
    for hold in [too_many.clone(), Hold::Earlier(Doubt::of(&too_many, "all").unwrap())] {
        let plan = SweepPlan::new(Vec::new(), vec![hold]);
        let approval = Approval { hash: plan.hash().to_owned(), expires: at(100) };
        assert_eq!(release(&plan, Some(&approval), at(0)), Release::Held);
    }
}

#[test]
fn approval_does_not_release_what_the_pass_did_not_see() {
    let [_, _, _, _, other, ..] = holds();
    let earlier = Hold::Earlier(Doubt::of(&other, "all").unwrap());
    for (hold, is_approvable) in
        holds().into_iter().chain([earlier]).zip([false, false, false, false, true, false, true, true])
    {
        assert_eq!(hold.is_approvable(), is_approvable, "{hold}");
        for holds in [vec![hold.clone()], vec![other.clone(), hold.clone()], vec![hold.clone(), other.clone()]] {
            let plan = SweepPlan::new(vec![candidate()], holds);
            let approval = Approval { hash: plan.hash().to_owned(), expires: at(100) };
            let expected = if is_approvable { Release::Approved } else { Release::Held };
            assert_eq!(release(&plan, Some(&approval), at(0)), expected, "{:?}", plan.holds());
        }
    }
}

#[test]
fn approval_is_printed_as_it_is_read() {
    let approval = Approval { hash: "2f0c".to_owned(), expires: at(0) };
    assert_eq!(approval.to_string(), "2f0c 2026-03-01T12:00:00Z");
    assert_eq!(approval.to_string().parse(), Ok(approval));
    for text in ["", "2f0c", "2f0c ", "2f0c tomorrow", "2f0c  2026-03-01T12:00:00Z", "2f0c 2026-03-01T12:00:00Z now"] {
        let refused = text.parse::<Approval>().unwrap_err();
        assert!(refused.to_string().starts_with("is no approval"), "{text}");
    }
}

#[test]
fn holds_are_printed_with_their_figures() {
    assert_eq!(holds().map(|hold| hold.label()), Hold::LABELS[..7]);
    assert_eq!(
        holds().map(|hold| hold.to_string()),
        [
            "2 list(s) of objects could not be read, the first: Job: forbidden".to_owned(),
            "`Jobs` selects no kind; no object is of `dnss`".to_owned(),
            "the API cannot be trusted: it has no resource at all".to_owned(),
            "the API has no resource at all, so nothing shows that it is the API of these objects".to_owned(),
            "7 of 10 objects are orphans, and the limit is 5".to_owned(),
            "3 objects are orphans and 4 more may be, as the API did not speak about their resources; the limit is 5"
                .to_owned(),
            format!(
                "2 API resource(s) are older than their objects, as after a restored backup; {ID} has generation 2, \
                 and ConfigMap team/settings was made for generation 3"
            ),
        ]
    );
    let [_, _, _, _, doubt, ..] = holds();
    let earlier = Hold::Earlier(Doubt::of(&doubt, "all").unwrap());
    assert_eq!(earlier.label(), doubt.label());
    assert_eq!(
        earlier.to_string(),
        format!("an earlier pass found that {doubt}; orphans are left, and no plan was approved since")
    );
    assert_eq!(holds().map(|hold| hold.is_doubt()), [false, false, false, true, true, false, true]);
}

#[test]
fn doubts_are_read_as_they_were_written() {
    let doubts: Vec<_> = holds().iter().filter_map(|hold| Doubt::of(hold, "all")).collect();
    assert_eq!(
        doubts.iter().map(Doubt::label).collect::<Vec<_>>(),
        ["no_resources", "too_many_orphans", "api_went_back"]
    );
    let text = Doubt::write(&doubts).unwrap();
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(Doubt::read(&text), doubts);
    assert_eq!(Doubt::write(&[]), None);
}

#[test]
fn doubt_that_cannot_be_read_is_a_doubt() {
    let newer = r#"[{"reason":"clock_went_back","why":"a newer version knows why"}]"#;
    for text in ["", "null", "{}", "too many", r#"[{"reason":"no_resources"}]"#, newer] {
        let doubts = Doubt::read(text);
        let hold = Hold::Earlier(doubts[0].clone());
        assert_eq!((doubts.len(), hold.label(), hold.is_approvable()), (1, Doubt::UNREADABLE, true), "{text}: {hold}");
    }
    assert_eq!(Doubt::read("[]"), []);
}
