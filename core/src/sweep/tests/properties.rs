//! Random sequences of passes, beside a memory of what the API truly answered.

use lifecycle_objects::id::Generation;
use proptest::prelude::*;

use super::*;

const IDS: [&str; 2] = [ID, OTHER_ID];
const OBJECTS: usize = 4;

/// One object in one pass.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Objects of a kind that cannot be read are not seen.
    is_read: bool,
    /// The index of the API resource that the labels name.
    owner: usize,
    /// A recreated object has another UID.
    incarnation: u8,
    /// Whether something else claims the object.
    is_claimed: bool,
}

#[derive(Debug, Clone)]
struct Pass {
    /// The time since the last pass, in parts of the grace.
    quarters: u64,
    answers: [OwnerAnswer; 2],
    objects: [Seen; OBJECTS],
}

fn answer() -> impl Strategy<Value = OwnerAnswer> {
    prop_oneof![
        4 => Just(OwnerAnswer::Gone),
        1 => Just(OwnerAnswer::Unknown),
        1 => Just(OwnerAnswer::Exists(Generation(3))),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    let rarely = || prop::bool::weighted(0.1);
    (rarely(), rarely(), rarely(), rarely()).prop_map(|(is_unread, owner, incarnation, is_claimed)| Seen {
        is_read: !is_unread,
        owner: usize::from(owner),
        incarnation: u8::from(incarnation),
        is_claimed,
    })
}

fn passes() -> impl Strategy<Value = Vec<Pass>> {
    let pass = (0_u64..4, [answer(), answer()], [seen(), seen(), seen(), seen()])
        .prop_map(|(quarters, answers, objects)| Pass { quarters, answers, objects });
    prop::collection::vec(pass, 1..10)
}

fn candidate_of(index: usize, seen: Seen) -> Candidate {
    Candidate {
        resource_id: IDS[seen.owner].to_owned(),
        owners: seen.is_claimed.then(|| "owner".to_owned()).into_iter().collect(),
        ..named(&format!("o{index}"), &format!("u{index}-{}", seen.incarnation))
    }
}

/// The UIDs that are due in a pass.
fn run(pass: &Pass, strikes: &mut Strikes, policy: &Policy, now: Timestamp) -> BTreeSet<String> {
    let mut census = Census::of([kind("v1", "ConfigMap")]);
    let mut contents = Contents::of(["configmaps.".to_owned()]);
    let listed = pass.objects.iter().enumerate().filter(|(_, seen)| seen.is_read);
    let mut candidates: Vec<_> = listed.map(|(index, seen)| candidate_of(index, *seen)).collect();
    for candidate in &candidates {
        census.add(0, candidate, policy);
        contents.add(0, candidate, true);
    }
    let answer = |id: &str| pass.answers[usize::from(id == OTHER_ID)];
    candidates.retain(|candidate| answer(&candidate.resource_id) == OwnerAnswer::Gone);
    let unread = if pass.objects.iter().all(|seen| seen.is_read) { vec![] } else { vec!["a kind".to_owned()] };
    let asked = Asked { from: now, until: now };
    let reading = Reading {
        census: &census,
        answer,
        asked,
        distrust: None,
        candidates,
        contents: &contents,
        unread,
        sweeps: "all",
    };
    let plan = reading.judge(strikes, policy).plan();
    plan.objects().iter().map(|candidate| candidate.uid.clone()).collect()
}

/// A policy that judges objects of every age.
fn ageless() -> Policy {
    Policy { min_age: Duration::ZERO, ..policy() }
}

/// The time of each pass.
fn times(passes: &[Pass]) -> Vec<Timestamp> {
    let quarters = passes.iter().scan(0, |sum, pass| {
        *sum += pass.quarters;
        Some(*sum)
    });
    // A second for each pass, so that no two passes have the same time.
    quarters.zip(1..).map(|(quarters, second)| at(quarters * GRACE / 4 + second)).collect()
}

proptest! {
    #[test]
    fn deleted_object_had_two_strikes_and_none_disproved(passes in passes()) {
        let (policy, mut strikes) = (ageless(), Strikes::default());
        let times = times(&passes);
        for (last, (pass, now)) in passes.iter().zip(&times).enumerate() {
            let deleted = run(pass, &mut strikes, &policy, *now);
            prop_assert!(strikes.count() >= deleted.len() as u64);
            for (index, seen) in pass.objects.iter().enumerate() {
                let candidate = candidate_of(index, *seen);
                if !deleted.contains(&candidate.uid) {
                    continue;
                }
                prop_assert!(seen.is_read && !seen.is_claimed && pass.answers[seen.owner] == OwnerAnswer::Gone);
                let is_struck = |earlier: usize| {
                    let then = candidate_of(index, passes[earlier].objects[index]);
                    passes[earlier].objects[index].is_read
                        && then == candidate
                        && passes[earlier].answers[seen.owner] == OwnerAnswer::Gone
                        && now.duration_since(times[earlier]).as_secs() >= i64::try_from(GRACE).unwrap()
                };
                // In no pass between the strikes did the API have the resource, or the object another owner.
                let stands = |pass: &Pass| {
                    let then = pass.objects[index];
                    let is_asked = pass.objects.iter().any(|other| other.is_read && other.owner == seen.owner);
                    let is_found = matches!(pass.answers[seen.owner], OwnerAnswer::Exists(_)) && is_asked;
                    let was_gone = pass.answers[then.owner] == OwnerAnswer::Gone;
                    let is_other = then.is_read && was_gone && candidate_of(index, then) != candidate
                        && candidate_of(index, then).uid == candidate.uid;
                    !is_found && !is_other
                };
                let first = (0..last).rev().take_while(|earlier| stands(&passes[*earlier])).any(is_struck);
                prop_assert!(first, "{} was deleted in pass {last}", candidate.uid);
            }
        }
    }

    #[test]
    fn orphan_goes_in_the_end(passes in passes(), index in 0..OBJECTS) {
        let (policy, mut strikes) = (ageless(), Strikes::default());
        let mut passes = passes;
        let orphan = Seen { is_read: true, owner: 0, incarnation: 0, is_claimed: false };
        // Whatever happened before, two passes at least the grace apart are enough.
        for quarters in [1, 4] {
            passes.push(Pass { quarters, answers: [OwnerAnswer::Gone; 2], objects: [orphan; OBJECTS] });
        }
        let deleted = passes.iter().zip(times(&passes)).map(|(pass, now)| run(pass, &mut strikes, &policy, now)).last();
        prop_assert!(deleted.unwrap().contains(&candidate_of(index, orphan).uid));
    }

    #[test]
    fn unknown_answer_or_unread_object_deletes_nothing_more(
        passes in passes(),
        unknown in prop::array::uniform2(any::<bool>()),
        unread in prop::array::uniform4(any::<bool>()),
    ) {
        let (policy, mut strikes) = (ageless(), Strikes::default());
        let times = times(&passes);
        let (last, earlier) = passes.split_last().unwrap();
        for (pass, now) in earlier.iter().zip(&times) {
            run(pass, &mut strikes, &policy, *now);
        }
        let now = *times.last().unwrap();
        let mut less = last.clone();
        for (answer, _) in less.answers.iter_mut().zip(unknown).filter(|(_, unknown)| *unknown) {
            *answer = OwnerAnswer::Unknown;
        }
        for (object, _) in less.objects.iter_mut().zip(unread).filter(|(_, unread)| *unread) {
            object.is_read = false;
        }
        let mut other = strikes.clone();
        let deleted = run(last, &mut strikes, &policy, now);
        let deleted_less = run(&less, &mut other, &policy, now);
        prop_assert!(deleted_less.is_subset(&deleted), "{deleted_less:?} of {deleted:?}");
    }

    #[test]
    fn hash_names_a_set_of_objects(
        one in prop::collection::vec(("[a-c1:,]{0,3}", "[a-c1:,]{0,3}"), 0..4),
        other in prop::collection::vec(("[a-c1:,]{0,3}", "[a-c1:,]{0,3}"), 0..4),
    ) {
        let hash = |names: &[(String, String)]| {
            plan(names.iter().map(|(name, uid)| named(name, uid)).collect()).hash().to_owned()
        };
        let sorted = |names: &[(String, String)]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names
        };
        prop_assert_eq!(hash(&one) == hash(&other), sorted(&one) == sorted(&other));
        prop_assert_eq!(hash(&one), hash(&sorted(&one)));
    }
}
