//! What a pass concludes from its reading as a whole, and what it remembers.

use lifecycle_objects::id::Generation;

use super::*;

const LIVES: OwnerAnswer = OwnerAnswer::Exists(Generation(3));
const GONE: OwnerAnswer = OwnerAnswer::Gone;
const UNKNOWN: OwnerAnswer = OwnerAnswer::Unknown;

/// A world of objects, each of its own API resource, of which the first never goes.
struct World {
    strikes: Strikes,
    policy: Policy,
    candidates: Vec<Candidate>,
    unread: Vec<String>,
    sweeps: &'static str,
    distrust: Option<Hold>,
    contents: Contents,
}

fn id(index: usize) -> String {
    format!("0198c0de-0000-7000-8000-{index:012}")
}

impl World {
    /// With a limit of so many orphans.
    fn new(objects: usize, limit: u64) -> Self {
        let candidate =
            |index| Candidate { resource_id: id(index), ..named(&format!("o{index}"), &format!("u{index}")) };
        Self {
            strikes: Strikes::default(),
            policy: Policy { limits: Limits { objects: limit, share: Share::Percent(100) }, ..policy() },
            candidates: (0..objects).map(candidate).collect(),
            unread: Vec::new(),
            sweeps: "all",
            distrust: None,
            contents: Contents::of(["configmaps.".to_owned()]),
        }
    }

    /// A pass in which the API answers so about the resources from the first on, and `LIVES` about the others.
    fn pass(&mut self, answers: &[OwnerAnswer], hours: u64) -> Judgement {
        let answer = |asked: &str| {
            let index = (0..answers.len()).find(|index| id(*index) == asked);
            index.map_or(LIVES, |index| answers[index])
        };
        let mut census = Census::of([kind("v1", "ConfigMap")]);
        self.candidates.iter().for_each(|candidate| census.add(0, candidate, &self.policy));
        let gone = self.candidates.iter().filter(|candidate| answer(&candidate.resource_id) == GONE);
        let reading = Reading {
            census: &census,
            answer,
            asked: asked(hours * GRACE),
            distrust: self.distrust.clone(),
            candidates: gone.cloned().collect(),
            contents: &self.contents,
            unread: self.unread.clone(),
            sweeps: self.sweeps,
        };
        reading.judge(&mut self.strikes, &self.policy)
    }

    /// The names of what a pass would delete, and the labels of what speaks against it.
    fn plan(&mut self, answers: &[OwnerAnswer], hours: u64) -> (Vec<String>, Vec<&'static str>) {
        let plan = self.pass(answers, hours).plan();
        let names = plan.objects().iter().map(|object| object.object.name.clone()).collect();
        (names, plan.holds().iter().map(Hold::label).collect())
    }
}

fn canary() -> Hold {
    Hold::NoCanary { why: "a proxy answers".to_owned() }
}

fn expected(names: &[&str], holds: &[&'static str]) -> (Vec<String>, Vec<&'static str>) {
    (names.iter().map(|name| (*name).to_owned()).collect(), holds.to_vec())
}

#[test]
fn doubt_outlasts_a_database_that_is_restored_step_by_step() {
    let mut world = World::new(5, 2);
    assert_eq!(world.plan(&[GONE, GONE, GONE], 1), expected(&[], &["too_many_orphans"]));
    assert_eq!(world.plan(&[GONE, GONE], 2), expected(&["o0", "o1"], &["too_many_orphans"]), "below the limit");
    assert!(matches!(world.pass(&[GONE], 3).holds[..], [Hold::Earlier(_)]));
    assert_eq!(world.plan(&[LIVES], 4), expected(&[], &[]), "all is back");
    assert_eq!(world.plan(&[GONE], 5), expected(&[], &[]));
    assert_eq!(world.plan(&[GONE], 6), expected(&["o0"], &[]));
}

#[test]
fn doubt_outlasts_the_term_that_found_it() {
    let mut world = World::new(5, 2);
    assert_eq!(world.plan(&[GONE, GONE, GONE], 1), expected(&[], &["too_many_orphans"]));
    let text = Doubt::write(world.strikes.doubts()).unwrap();
    // Another leader, which knows nothing but the text.
    world.strikes = Strikes::default();
    world.strikes.restore_doubts(Doubt::read(&text));
    assert_eq!(world.plan(&[GONE], 2), expected(&[], &["too_many_orphans"]), "below the limit");
    assert_eq!(world.plan(&[GONE], 3), expected(&["o0"], &["too_many_orphans"]));
    assert_eq!(Doubt::write(world.strikes.doubts()), Some(text), "it does not change by itself");
    assert_eq!(world.plan(&[LIVES], 4), expected(&[], &[]), "all is back");
    assert_eq!(Doubt::write(world.strikes.doubts()), None);
}

/// Makes a pass less than certain.
type Disturb = fn(&mut World);

#[test]
fn doubt_stays_while_a_pass_cannot_show_that_all_is_back() {
    let disturbances: [(&str, Disturb, &[OwnerAnswer]); 5] = [
        ("an unknown answer", |_| {}, &[LIVES, UNKNOWN]),
        ("an incomplete inventory", |world| world.unread.push("Job: forbidden".to_owned()), &[LIVES]),
        ("answers without trust", |world| world.distrust = Some(canary()), &[LIVES]),
        ("a pass that sweeps other kinds", |world| world.sweeps = "less", &[LIVES]),
        ("no object that tells of the API", |world| world.candidates.clear(), &[]),
    ];
    for (name, disturb, answers) in disturbances {
        let mut world = World::new(3, 0);
        assert_eq!(world.plan(&[GONE], 1).1, ["too_many_orphans"]);
        disturb(&mut world);
        assert!(world.plan(answers, 2).1.contains(&"too_many_orphans"), "{name}");
        (world.unread, world.sweeps, world.distrust) = (Vec::new(), "all", None);
        world.candidates = World::new(3, 0).candidates;
        assert_eq!(world.plan(&[GONE], 3).1, ["too_many_orphans"], "{name}");
        world.policy.limits.objects = 9;
        assert_eq!(world.plan(&[GONE], 4).1, ["too_many_orphans"], "{name}");
        world.plan(&[LIVES], 5);
        assert_eq!(world.plan(&[LIVES], 6).1, Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn evidence_that_the_api_went_back_outlasts_the_generation_that_catches_up() {
    let mut world = World::new(3, 9);
    world.plan(&[GONE], 1);
    let older = OwnerAnswer::Exists(Generation(2));
    assert_eq!(world.plan(&[GONE, older], 2), expected(&["o0"], &["api_went_back"]));
    assert_eq!(world.plan(&[GONE, LIVES], 3), expected(&["o0"], &["api_went_back"]));
    let judgement = world.pass(&[GONE, UNKNOWN], 4);
    assert!(matches!(&judgement.holds[..], [Hold::Earlier(doubt)] if doubt.label() == "api_went_back"));
}

#[test]
fn newer_doubt_replaces_the_older_one_of_its_kind() {
    let mut world = World::new(5, 1);
    world.plan(&[GONE, GONE], 1);
    let older = OwnerAnswer::Exists(Generation(2));
    let holds = world.pass(&[GONE, GONE, GONE, older], 2).holds;
    assert!(
        matches!(&holds[..], [Hold::TooManyOrphans { orphans: 3, .. }, Hold::ApiWentBack { count: 1, .. }]),
        "{holds:?}"
    );
    let holds = world.pass(&[GONE], 3).holds;
    let said: Vec<_> = holds.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("an earlier pass found that 3 of 5 objects are orphans"), "{said:?}");
    assert_eq!(holds.iter().map(Hold::label).collect::<Vec<_>>(), ["too_many_orphans", "api_went_back"]);
}

#[test]
fn doubt_is_not_replaced_by_one_of_a_pass_that_sweeps_less() {
    let mut world = World::new(5, 1);
    world.plan(&[GONE, GONE, GONE], 1);
    world.sweeps = "less";
    let holds = world.pass(&[GONE, GONE], 2).holds;
    assert_eq!(holds.iter().map(Hold::label).collect::<Vec<_>>(), ["too_many_orphans", "too_many_orphans"]);
    assert!(holds.iter().any(|hold| hold.to_string().contains("3 of 5 objects")), "{holds:?}");
    assert_eq!(world.plan(&[LIVES], 3).1, ["too_many_orphans"], "that of the pass that swept more");
    world.sweeps = "all";
    assert_eq!(world.plan(&[LIVES], 4).1, Vec::<&str>::new());
}

#[test]
fn approved_plan_ends_the_doubt_and_the_rest_begins_anew() {
    let mut world = World::new(5, 1);
    world.plan(&[GONE, GONE], 1);
    world.policy.limits.objects = 5;
    world.candidates.push(Candidate { resource_id: id(0), ..named("later", "u9") });
    let held = world.pass(&[GONE, GONE], 2).plan();
    assert_eq!(held.objects().len(), 2, "the later object still waits for its grace");
    for (release, count) in [(Release::Held, 3), (Release::Go, 3), (Release::Approved, 2)] {
        world.strikes.end_doubts(&held, release);
        assert_eq!((world.strikes.count(), world.strikes.oldest()), (count, Some(at(GRACE))), "{release:?}");
    }
    world.candidates.retain(|candidate| candidate.uid == "u9");
    assert_eq!(world.plan(&[GONE], 3), expected(&[], &[]));
    assert_eq!(world.plan(&[GONE], 4), expected(&["later"], &[]));
}

#[test]
fn approval_does_not_end_a_doubt_about_what_it_does_not_name() {
    let mut world = World::new(6, 1);
    world.plan(&[GONE, GONE], 1);
    // The person saw two orphans, and the same pass finds four.
    let held = world.pass(&[GONE, GONE, GONE, GONE], 2).plan();
    assert_eq!(held.objects().len(), 2);
    world.strikes.end_doubts(&held, Release::Approved);
    world.candidates.drain(..2);
    assert_eq!(world.plan(&[LIVES, LIVES, GONE], 3), expected(&[], &["too_many_orphans"]), "below the limit");

    // Nothing but the plan is left.
    let mut world = World::new(4, 1);
    world.plan(&[GONE, GONE], 1);
    let held = world.pass(&[GONE, GONE], 2).plan();
    world.strikes.end_doubts(&held, Release::Approved);
    world.candidates.drain(..1);
    assert_eq!(world.plan(&[LIVES, GONE], 3), expected(&["o1"], &[]), "one could not be deleted");
}

#[test]
fn objects_of_unknown_resources_let_every_grace_begin_anew() {
    let mut world = World::new(4, 2);
    world.plan(&[GONE], 1);
    assert_eq!(world.plan(&[GONE, UNKNOWN, UNKNOWN], 2), expected(&["o0"], &["too_many_unknown"]));
    assert_eq!(world.plan(&[GONE, UNKNOWN, LIVES], 2), expected(&[], &[]));
    assert_eq!(world.plan(&[GONE, UNKNOWN, LIVES], 3), expected(&["o0"], &[]));
    assert_eq!(world.plan(&[UNKNOWN, UNKNOWN, LIVES], 4), expected(&[], &[]), "an orphan counts once");
    assert_eq!(world.plan(&[LIVES, UNKNOWN, UNKNOWN, UNKNOWN], 5), expected(&[], &[]));
}

#[test]
fn reading_that_proves_nothing_gives_no_strike_and_only_a_living_resource_takes_one() {
    let mut world = World::new(3, 9);
    world.plan(&[GONE, GONE], 1);
    world.distrust = Some(canary());
    assert_eq!(world.plan(&[LIVES, GONE, GONE], 2), expected(&[], &["no_canary"]));
    world.distrust = None;
    assert_eq!(world.plan(&[GONE, GONE, GONE], 3), expected(&["o1"], &[]));
}

#[test]
fn answers_that_prove_nothing_can_raise_a_doubt() {
    let mut world = World::new(4, 1);
    world.distrust = Some(canary());
    world.plan(&[GONE, GONE], 1);
    world.distrust = None;
    world.plan(&[GONE], 2);
    assert_eq!(world.plan(&[GONE], 3), expected(&["o0"], &["too_many_orphans"]));

    let mut world = World::new(4, 9);
    world.plan(&[GONE], 1);
    world.distrust = Some(canary());
    world.plan(&[GONE, OwnerAnswer::Exists(Generation(2))], 2);
    world.distrust = None;
    assert_eq!(world.plan(&[GONE], 3), expected(&["o0"], &["api_went_back"]));
}

#[test]
fn api_without_any_resource_is_doubted_until_all_is_back() {
    let mut world = World::new(4, 9);
    world.plan(&[GONE], 1);
    world.distrust = Some(Hold::NoResources);
    world.plan(&[UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN], 2);
    world.distrust = None;
    assert_eq!(world.plan(&[GONE, GONE], 3), expected(&["o0"], &["no_resources"]));
    world.plan(&[LIVES], 4);
    world.plan(&[GONE], 5);
    assert_eq!(world.plan(&[GONE], 6), expected(&["o0"], &[]));
}

#[test]
fn what_orphans_own_counts_for_the_limit() {
    let mut world = World::new(4, 2);
    let owned = |uid: &str| Candidate { owners: vec!["u0".to_owned()], resource_id: id(0), ..named("owned", uid) };
    for uid in ["u7", "u8"] {
        world.contents.add(0, &owned(uid), true);
    }
    let holds = world.pass(&[GONE], 1).holds;
    assert!(matches!(holds[..], [Hold::TooManyOrphans { orphans: 3, limit: 2, .. }]), "{holds:?}");
    let mut world = World::new(4, 2);
    world.contents.add(0, &owned("u7"), true);
    assert_eq!(world.plan(&[GONE], 1), expected(&[], &[]));
    let mut world = World::new(4, 0);
    for uid in ["u7", "u8"] {
        world.contents.add(0, &owned(uid), true);
    }
    world.candidates[0].is_terminating = true;
    assert_eq!(world.plan(&[GONE], 1), expected(&[], &[]), "Kubernetes deletes it, and not the sweeper");
}

#[test]
fn limit_in_percent_is_a_share_of_what_orphans_own_as_well() {
    let world = |percent| {
        let mut world = World::new(1, 9);
        world.policy.limits.share = Share::Percent(percent);
        let owned = Candidate { owners: vec!["u0".to_owned()], resource_id: id(0), ..named("owned", "u7") };
        world.contents.add(0, &owned, true);
        world
    };
    assert_eq!(world(100).plan(&[GONE], 1), expected(&[], &[]));
    let holds = world(99).pass(&[GONE], 1).holds;
    assert!(matches!(holds[..], [Hold::TooManyOrphans { orphans: 2, inventory: 2, limit: 1 }]), "{holds:?}");
}

#[test]
fn incomplete_inventory_keeps_the_strikes_of_what_it_lacks() {
    let mut world = World::new(2, 9);
    world.plan(&[GONE], 1);
    let lacking = world.candidates.remove(0);
    world.unread.push("ConfigMap: timeout".to_owned());
    assert_eq!(world.plan(&[GONE], 2), expected(&[], &["incomplete_inventory"]));
    world.candidates.push(lacking);
    world.unread.clear();
    assert_eq!(world.plan(&[GONE], 3), expected(&["o0"], &[]));
}

#[test]
fn grace_is_the_time_from_an_answer_to_the_next_question() {
    let mut strikes = Strikes::default();
    let mut verdict = |from, until| {
        let asked = Asked { from: at(from), until: at(until) };
        judge(&candidate(), GONE, false, &mut strikes, &policy(), asked)
    };
    assert_eq!(verdict(MIN_AGE, MIN_AGE + 60), Verdict::Keep(Keep::Grace));
    assert_eq!(verdict(MIN_AGE + GRACE + 59, 3 * GRACE), Verdict::Keep(Keep::Grace), "asked a second too early");
    assert_eq!(verdict(MIN_AGE + GRACE + 60, 3 * GRACE), Verdict::Delete);
}

#[test]
fn judgement_counts_or_lists_each_object_once() {
    let mut world = World::new(3, 9);
    world.candidates.push(Candidate { adapter: "other".to_owned(), resource_id: id(0), ..named("foreign", "u8") });
    world.candidates.push(Candidate { is_terminating: true, resource_id: id(0), ..named("ending", "u9") });
    let judgement = world.pass(&[GONE, UNKNOWN], 1);
    let kept = |keep| judgement.kept[&(kind("v1", "ConfigMap"), keep)];
    for keep in [Keep::ForeignAdapter, Keep::OwnerUnknown, Keep::OwnerExists] {
        assert_eq!(kept(keep), 1, "{keep}");
    }
    assert_eq!(judgement.kept.len(), 3, "{:?}", judgement.kept);
    let orphans = |judgement: &Judgement| {
        let verdicts = judgement.orphans.iter().map(|(candidate, verdict)| (candidate.object.name.clone(), *verdict));
        verdicts.collect::<Vec<_>>()
    };
    let ending = ("ending".to_owned(), Verdict::Keep(Keep::Terminating));
    assert_eq!(orphans(&judgement), [("o0".to_owned(), Verdict::Keep(Keep::Grace)), ending.clone()]);
    let later = judgement.after_grace();
    assert_eq!(orphans(&later), [("o0".to_owned(), Verdict::Delete), ending]);
    assert_eq!(later.plan().objects().len(), 1);
}
