//! The table as a table, and what must hold for any input.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::observation::Observation;

/// A version as a case describes it.
#[derive(Debug, Clone, Copy)]
struct Live {
    name: &'static str,
    generation: Option<i64>,
    terminating: bool,
    created: &'static str,
}

const LIVE: Live = Live { name: "a", generation: Some(3), terminating: false, created: "2026-01-01T00:00:00Z" };

fn version(live: Live) -> Version {
    let mut object = json!({
        "metadata": { "name": live.name, "uid": format!("uid-{}", live.name), "creationTimestamp": live.created }
    });
    if let Some(generation) = live.generation {
        object["metadata"]["annotations"] = json!({ crate::keys::GENERATION: generation.to_string() });
    }
    if live.terminating {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    Version::new(object)
}

/// What the table is told of an observation in which everything belongs.
fn seen(observation: &Observation) -> Seen<'_> {
    match observation {
        Observation::Unknown(cause) => Seen::Unknown(cause),
        Observation::Found(versions) => Seen::Versions(versions.iter().collect()),
    }
}

fn found(versions: &[Live]) -> Observation {
    Observation::Found(versions.iter().copied().map(version).collect())
}

/// Canned answers; keeps which gates were asked.
#[derive(Debug, Clone)]
struct Canned {
    create: GateAnswer,
    recreate: GateAnswer,
    delete: GateAnswer,
    wanted: Result<Wanted, Failure>,
    failed_earlier: bool,
    asked: Vec<Gate>,
}

impl Default for Canned {
    fn default() -> Self {
        Self {
            create: GateAnswer::Holds,
            recreate: GateAnswer::DoesNotHold,
            delete: GateAnswer::DoesNotHold,
            wanted: Ok(Wanted { generation: Generation(3), name: "a".to_owned() }),
            failed_earlier: false,
            asked: Vec::new(),
        }
    }
}

impl Questions for Canned {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        self.asked.push(gate);
        match gate {
            Gate::Create => self.create.clone(),
            Gate::Recreate => self.recreate.clone(),
            Gate::Delete => self.delete.clone(),
        }
    }

    fn wanted(&mut self) -> Result<Wanted, Failure> {
        self.wanted.clone()
    }

    fn failed_earlier(&self) -> bool {
        self.failed_earlier
    }
}

fn gate_failed() -> GateAnswer {
    GateAnswer::Failed("no such key".to_owned())
}

fn fail(reason: FailReason, message: &str) -> Decision {
    Decision::Fail(Failure::new(reason, message))
}

#[test]
fn the_first_row_that_matches_wins() {
    use GateAnswer::{DoesNotHold, Holds};
    let dying = Live { terminating: true, ..LIVE };
    let unrenderable = || Err(Failure::new(FailReason::RenderFailed, "no entry for key"));
    let default = Canned::default;
    let cases: Vec<(&str, Observation, Canned, Decision)> = vec![
        (
            "what could not be read is neither created nor deleted",
            Observation::Unknown("connection refused".to_owned()),
            Canned { delete: Holds, ..default() },
            fail(FailReason::DiscoveryFailed, "connection refused"),
        ),
        (
            "a live object whose delete gate holds is deleted",
            found(&[LIVE]),
            Canned { delete: Holds, ..default() },
            Decision::Delete,
        ),
        (
            "one that is on its way out is waited for",
            found(&[dying]),
            Canned { delete: Holds, ..default() },
            Decision::Wait(WaitReason::Deleting),
        ),
        (
            "one that is gone is let go",
            found(&[]),
            Canned { delete: Holds, ..default() },
            Decision::Skip(SkipReason::AlreadyAbsent),
        ),
        (
            "deletion needs no manifest that renders",
            found(&[LIVE]),
            Canned { delete: Holds, wanted: unrenderable(), ..default() },
            Decision::Delete,
        ),
        (
            "deletion goes on after an earlier failure",
            found(&[LIVE]),
            Canned { delete: Holds, failed_earlier: true, ..default() },
            Decision::Delete,
        ),
        (
            "deletion comes before the create gate",
            found(&[]),
            Canned { delete: Holds, create: DoesNotHold, ..default() },
            Decision::Skip(SkipReason::AlreadyAbsent),
        ),
        (
            "a delete gate without an answer deletes nothing and applies nothing",
            found(&[LIVE]),
            Canned { delete: gate_failed(), ..default() },
            fail(FailReason::GateFailed, "no such key"),
        ),
        (
            "after an earlier failure nothing is applied",
            found(&[]),
            Canned { failed_earlier: true, ..default() },
            Decision::Skip(SkipReason::EarlierFailure),
        ),
        (
            "nothing is created beside an object on its way out",
            found(&[dying]),
            default(),
            Decision::Wait(WaitReason::Terminating),
        ),
        ("an absent object is created", found(&[]), default(), Decision::Create),
        (
            "an absent object whose create gate does not hold is not",
            found(&[]),
            Canned { create: DoesNotHold, ..default() },
            Decision::Skip(SkipReason::CreateGateFalse),
        ),
        (
            "a create gate without an answer creates nothing",
            found(&[]),
            Canned { create: gate_failed(), ..default() },
            fail(FailReason::GateFailed, "no such key"),
        ),
        (
            "a live object's create gate is not asked",
            found(&[LIVE]),
            Canned { create: gate_failed(), ..default() },
            Decision::Skip(SkipReason::SameGeneration(Generation(3))),
        ),
        (
            "an absent object is not created from a manifest that does not render",
            found(&[]),
            Canned { wanted: unrenderable(), ..default() },
            fail(FailReason::RenderFailed, "no entry for key"),
        ),
        (
            "an event about an older generation changes nothing",
            found(&[Live { generation: Some(4), ..LIVE }]),
            Canned { recreate: Holds, ..default() },
            Decision::Skip(SkipReason::StaleEvent { live: Generation(4), desired: Generation(3) }),
        ),
        (
            "even where the newer version is on its way out",
            found(&[LIVE, Live { name: "b", generation: Some(4), terminating: true, ..LIVE }]),
            Canned { recreate: Holds, ..default() },
            Decision::Skip(SkipReason::StaleEvent { live: Generation(4), desired: Generation(3) }),
        ),
        (
            "an object whose recreate gate holds is recreated",
            found(&[LIVE]),
            Canned { recreate: Holds, ..default() },
            Decision::Recreate { from: Some(Generation(3)) },
        ),
        (
            "what may not be created is not deleted for it",
            found(&[LIVE]),
            Canned { recreate: Holds, create: DoesNotHold, ..default() },
            Decision::Skip(SkipReason::CreateGateFalse),
        ),
        (
            "a recreate gate without an answer deletes nothing",
            found(&[LIVE]),
            Canned { recreate: gate_failed(), ..default() },
            fail(FailReason::GateFailed, "no such key"),
        ),
        (
            "an object of the same generation is left alone",
            found(&[LIVE]),
            default(),
            Decision::Skip(SkipReason::SameGeneration(Generation(3))),
        ),
        (
            "an object of an older generation is updated",
            found(&[Live { generation: Some(2), ..LIVE }]),
            default(),
            Decision::Update { from: Some(Generation(2)) },
        ),
        (
            "an object without a generation is updated",
            found(&[Live { generation: None, ..LIVE }]),
            default(),
            Decision::Update { from: None },
        ),
        (
            "a new name makes a new version",
            found(&[Live { name: "old", generation: Some(2), ..LIVE }]),
            default(),
            Decision::CreateVersion,
        ),
        (
            "a version of the rendered name that is on its way out is waited for",
            found(&[
                Live { name: "old", generation: Some(2), ..LIVE },
                Live { generation: Some(2), terminating: true, ..LIVE },
            ]),
            default(),
            Decision::Wait(WaitReason::Terminating),
        ),
    ];
    for (name, observation, mut canned, expected) in cases {
        assert_eq!(decide(&seen(&observation), &mut canned), expected, "{name}");
        let mut once = canned.asked.clone();
        once.dedup();
        assert_eq!(once, canned.asked, "{name}: no gate is asked twice");
    }
}

#[test]
fn the_current_version_is_the_newest_of_the_desired_generation() {
    let at = |name, generation, terminating, created| Live { name, generation, terminating, created };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let cases = [
        ("none", vec![], None),
        (
            "the desired generation beats a newer object",
            vec![at("a", Some(3), false, early), at("b", Some(2), false, late)],
            Some("a"),
        ),
        (
            "the newest of the desired generation",
            vec![at("a", Some(3), false, early), at("b", Some(3), false, late)],
            Some("b"),
        ),
        (
            "the name decides between twins",
            vec![at("b", Some(3), false, early), at("a", Some(3), false, early)],
            Some("b"),
        ),
        ("else the newest", vec![at("a", Some(1), false, late), at("b", Some(2), false, early)], Some("a")),
        (
            "one that stays beats one that goes",
            vec![at("a", Some(3), true, late), at("b", None, false, early)],
            Some("b"),
        ),
        (
            "else the newest of those that go",
            vec![at("a", Some(1), true, early), at("b", Some(3), true, late)],
            Some("b"),
        ),
    ];
    for (name, versions, expected) in cases {
        let versions: Vec<Version> = versions.into_iter().map(version).collect();
        assert_eq!(current(&versions, Generation(3)).map(Version::name), expected, "{name}");
    }
}

fn answers() -> impl Strategy<Value = GateAnswer> {
    prop_oneof![Just(GateAnswer::Holds), Just(GateAnswer::DoesNotHold), Just(gate_failed())]
}

fn observations() -> impl Strategy<Value = Observation> {
    let live = (prop_oneof![Just("a"), Just("b"), Just("c")], prop::option::of(0_i64..6), any::<bool>(), 1..9_u32);
    let versions = prop::collection::vec(live, 0..4).prop_map(|versions| {
        let version = |(name, generation, terminating, day): (&str, Option<i64>, bool, u32)| {
            let mut object =
                json!({ "metadata": { "name": name, "creationTimestamp": format!("2026-01-0{day}T00:00:00Z") } });
            if let Some(generation) = generation {
                object["metadata"]["annotations"] = json!({ crate::keys::GENERATION: generation.to_string() });
            }
            if terminating {
                object["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
            }
            Version::new(object)
        };
        Observation::Found(versions.into_iter().map(version).collect())
    });
    prop_oneof![1 => Just(Observation::Unknown("unread".to_owned())), 9 => versions]
}

proptest! {
    #[test]
    fn only_definite_answers_write(
        observation in observations(),
        create in answers(),
        recreate in answers(),
        delete in answers(),
        generation in 0_i64..6,
        failed_earlier in any::<bool>(),
    ) {
        let wanted = Ok(Wanted { generation: Generation(generation), name: "a".to_owned() });
        let mut canned = Canned {
            create: create.clone(), recreate: recreate.clone(), delete: delete.clone(), wanted, failed_earlier, asked: Vec::new(),
        };
        let decision = decide(&seen(&observation), &mut canned);
        let (versions, known) = match &observation {
            Observation::Unknown(_) => (&[][..], false),
            Observation::Found(versions) => (versions.as_slice(), true),
        };
        let live = versions.iter().filter(|version| !version.is_terminating()).count();
        match decision {
            Decision::Delete => prop_assert!(known && live > 0 && delete == GateAnswer::Holds),
            Decision::Recreate { .. } => {
                prop_assert!(known && live > 0 && recreate == GateAnswer::Holds && create == GateAnswer::Holds);
                prop_assert!(delete == GateAnswer::DoesNotHold && !failed_earlier);
            }
            Decision::Create => prop_assert!(known && versions.is_empty() && create == GateAnswer::Holds && !failed_earlier),
            Decision::CreateVersion | Decision::Update { .. } => {
                prop_assert!(known && live > 0 && !failed_earlier);
                prop_assert!(versions.iter().all(|version| version.generation() <= Some(Generation(generation))));
                let current = current(versions, Generation(generation)).and_then(Version::generation);
                prop_assert_ne!(current, Some(Generation(generation)));
            }
            Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => {}
        }
    }

    #[test]
    fn a_second_run_writes_nothing(generation in 0_i64..6, before in prop::option::of(0_i64..6)) {
        let wanted = Wanted { generation: Generation(generation), name: "a".to_owned() };
        let mut canned = Canned { wanted: Ok(wanted), ..Canned::default() };
        let observation = match before {
            None => found(&[]),
            Some(before) => found(&[Live { generation: Some(before), ..LIVE }]),
        };
        let wrote = matches!(decide(&seen(&observation), &mut canned), Decision::Create | Decision::Update { .. });
        let after = if wrote { found(&[Live { generation: Some(generation), ..LIVE }]) } else { observation };
        let second = decide(&seen(&after), &mut canned);
        prop_assert!(matches!(second, Decision::Skip(_)), "{second:?}");
    }
}
