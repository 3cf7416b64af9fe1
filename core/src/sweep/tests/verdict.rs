use lifecycle_objects::id::Generation;

use super::*;

/// What [`judge`] is given, beside the strikes.
struct Situation {
    candidate: Candidate,
    owner: OwnerAnswer,
    takes_others: bool,
    policy: Policy,
    is_signed: bool,
    struck: Timestamp,
}

const NOW: u64 = 10 * GRACE;

impl Situation {
    /// Nothing keeps the object.
    fn due() -> Self {
        Self {
            candidate: candidate(),
            owner: OwnerAnswer::Gone,
            takes_others: false,
            policy: Policy { signers: vec![Signer::new(&[7; 32]).unwrap()], ..policy() },
            is_signed: true,
            struck: at(NOW - GRACE),
        }
    }

    fn verdict(mut self) -> Verdict {
        let signer = self.policy.signers[0].clone();
        self.candidate.proof = self.is_signed.then(|| signer.sign(&self.candidate.claim()));
        let mut strikes = Strikes::default();
        strikes.restore(self.candidate.uid.clone(), self.candidate.resource_id.clone(), self.struck);
        judge(&self.candidate, self.owner, self.takes_others, &mut strikes, &self.policy, asked(NOW))
    }
}

/// Makes a reason apply.
type Setting = fn(&mut Situation);

/// Each reason for which [`judge`] keeps an object, in the order of their precedence, and what makes it apply.
const REASONS: [(Keep, Setting); 14] = [
    (Keep::ForeignAdapter, |it| it.candidate.adapter = "other".to_owned()),
    (Keep::Disowned, |it| it.candidate.is_disowned = true),
    (Keep::NoIdentity, |it| it.candidate.uid.clear()),
    (Keep::NoResourceId, |it| it.candidate.resource_id.clear()),
    (Keep::OddResourceId, |it| it.candidate.resource_id = "my-cluster".to_owned()),
    (Keep::OwnerExists, |it| it.owner = OwnerAnswer::Exists(Generation(3))),
    (Keep::OwnerUnknown, |it| it.owner = OwnerAnswer::Unknown),
    (Keep::Terminating, |it| it.candidate.is_terminating = true),
    (Keep::HasOwner, |it| it.candidate.owners = vec!["owner".to_owned()]),
    (Keep::Forged, |it| it.is_signed = false),
    (Keep::ClusterScoped, |it| it.candidate.object.namespace = None),
    (Keep::TooYoung, |it| it.candidate.created = Some(at(NOW - MIN_AGE + 1))),
    (Keep::NotEmpty, |it| it.takes_others = true),
    (Keep::Grace, |it| it.struck = at(NOW - GRACE + 1)),
];

#[test]
fn first_reason_that_applies_keeps_the_object() {
    // Whichever the other reasons are, two show which of them comes first.
    for mask in (0_u32..1 << REASONS.len()).filter(|mask| mask.count_ones() <= 2) {
        let applies = REASONS.iter().enumerate().filter(|(index, _)| mask & (1 << index) != 0);
        let applies: Vec<_> = applies.map(|(_, reason)| reason).collect();
        let mut situation = Situation::due();
        // An earlier reason overwrites a later one that needs another value of the same field.
        for (_, make) in applies.iter().rev() {
            make(&mut situation);
        }
        let expected = applies.first().map_or(Verdict::Delete, |(keep, _)| Verdict::Keep(*keep));
        assert_eq!(situation.verdict(), expected, "{applies:?}");
    }
}

#[test]
fn reasons_are_listed_in_the_order_of_their_precedence() {
    let judged: Vec<_> = REASONS.iter().map(|(keep, _)| *keep).collect();
    assert_eq!(Keep::ALL, [&judged[..], &[Keep::Replaced, Keep::Changed]].concat());
    assert!(Keep::ALL.is_sorted());
    let labels: BTreeSet<_> = Keep::ALL.iter().map(|keep| keep.label()).collect();
    assert_eq!(labels.len(), Keep::ALL.len());
    assert_eq!((Keep::OwnerUnknown.label(), Verdict::Keep(Keep::Grace).label()), ("owner_unknown", "grace"));
    assert_eq!(Verdict::Delete.label(), "delete");
    for keep in Keep::ALL {
        assert_eq!(keep.to_string(), keep.sentence());
    }
    assert_eq!(Keep::Terminating.to_string(), "it is being deleted already");
}

#[test]
fn object_without_adapter_is_foreign_whatever_is_configured() {
    let mut situation = Situation::due();
    situation.candidate.adapter.clear();
    situation.policy.adapters.insert(String::new());
    assert_eq!(situation.verdict(), Verdict::Keep(Keep::ForeignAdapter));
}

#[test]
fn object_needs_uid_kind_and_name_to_be_deleted() {
    let parts: [fn(&mut Candidate) -> &mut String; 3] =
        [|it| &mut it.uid, |it| &mut it.object.kind.kind, |it| &mut it.object.name];
    for part in parts {
        let mut situation = Situation::due();
        part(&mut situation.candidate).clear();
        assert_eq!(situation.verdict(), Verdict::Keep(Keep::NoIdentity));
    }
}

#[test]
fn resource_id_must_match_the_pattern_as_a_whole() {
    let cases = [
        ("anchored", "^[0-9a-f-]+$", true),
        ("not anchored", "[0-9a-f-]+", true),
        ("matches the beginning", "[0-9a-f]+", false),
        ("matches the end", "[0-9]+$", false),
        ("matches nothing", "x", false),
        ("matches the empty text", "", false),
        ("matches an alternative that ends early", "[0-9]+|[0-9a-f-]+", false),
        ("matches an anchored alternative", "^(?:[0-9]+|[0-9a-f-]+)$", true),
    ];
    for (name, pattern, is_due) in cases {
        let mut situation = Situation::due();
        situation.policy.resource_id = Regex::new(pattern).unwrap();
        let expected = if is_due { Verdict::Delete } else { Verdict::Keep(Keep::OddResourceId) };
        assert_eq!(situation.verdict(), expected, "{name}");
    }
}

#[test]
fn proof_is_valid_for_the_labels_and_name_that_it_signs() {
    let signer = Signer::new(&[7; 32]).unwrap();
    let policy = Policy { signers: vec![Signer::new(&[9; 32]).unwrap(), signer.clone()], ..policy() };
    let signed = Candidate { proof: Some(signer.sign(&candidate().claim())), ..candidate() };
    let judged = |candidate: &Candidate| {
        let mut strikes = Strikes::default();
        strikes.restore(candidate.uid.clone(), candidate.resource_id.clone(), at(0));
        judge(candidate, OwnerAnswer::Gone, false, &mut strikes, &policy, asked(GRACE))
    };
    assert_eq!(judged(&signed), Verdict::Delete);
    let changes: [(&str, Change); 6] = [
        ("another adapter", |it| it.adapter = "dns".to_owned()),
        ("another API resource", |it| it.resource_id = OTHER_ID.to_owned()),
        ("another kind", |it| it.object.kind.kind = "Secret".to_owned()),
        ("another namespace", |it| it.object.namespace = Some("other".to_owned())),
        ("another name", |it| it.object.name = "other".to_owned()),
        ("another key", |it| {
            it.proof = Some(Signer::new(&[8; 32]).unwrap().sign(&it.claim()));
        }),
    ];
    for (name, change) in changes {
        let mut forged = signed.clone();
        change(&mut forged);
        assert_eq!(judged(&forged), Verdict::Keep(Keep::Forged), "{name}");
    }
}

#[test]
fn cluster_scoped_object_needs_a_pattern_of_its_kind() {
    let cases = [
        ("no pattern", &[][..], false),
        ("its kind", &["core/Namespace"], true),
        ("its kind in any group", &["Namespace"], true),
        ("its group", &["core/*"], true),
        ("the second of two", &["batch/*", "Namespace"], true),
        ("another kind", &["core/Node"], false),
        ("its kind in another group", &["batch/Namespace"], false),
    ];
    for (name, texts, is_due) in cases {
        let mut situation = Situation::due();
        situation.candidate.object.kind = kind("v1", "Namespace");
        situation.candidate.object.namespace = None;
        situation.policy.cluster_scoped = patterns(texts);
        let expected = if is_due { Verdict::Delete } else { Verdict::Keep(Keep::ClusterScoped) };
        assert_eq!(situation.verdict(), expected, "{name}");
    }
}

#[test]
fn object_goes_at_exactly_its_least_age() {
    let cases = [
        ("a second too young", Some(at(NOW - MIN_AGE + 1)), false),
        ("exactly old enough", Some(at(NOW - MIN_AGE)), true),
        ("created later, by another clock", Some(at(NOW + 1)), false),
        ("created at an unknown time", None, false),
    ];
    for (name, created, is_due) in cases {
        let mut situation = Situation::due();
        situation.candidate.created = created;
        let expected = if is_due { Verdict::Delete } else { Verdict::Keep(Keep::TooYoung) };
        assert_eq!(situation.verdict(), expected, "{name}");
    }
    let mut situation = Situation::due();
    situation.policy.min_age = Duration::ZERO;
    situation.candidate.created = Some(at(NOW + 1));
    assert_eq!(situation.verdict(), Verdict::Keep(Keep::TooYoung), "no least age, but the clocks differ");
}
