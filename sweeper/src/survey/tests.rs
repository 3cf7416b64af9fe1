//! Tests of surveys over a world in memory: what each disturbance does to the verdicts of a pass.

#![expect(clippy::unwrap_used, reason = "tests")]

mod selection;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures::executor::block_on;
use lifecycle_api_client::Lookup;
use lifecycle_api_client::lookup::Unknown;
use lifecycle_core::sweep::{Hold, Keep, KindPattern, Limits, Share, Verdict};
use lifecycle_kube::{Discovery, Fence, ServedKind, UnreadGroup};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::proof::Signer;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::{CONFIGURATION, Config, Environment, Flags};
use crate::inventory::KindFilter;
use crate::objects::Choice;
use crate::world::World;

const CONFIG: &str =
    "adapters: [a]\ngrace: 30m\nmin_age: 1m\napi: {base_url: 'http://api'}\nlimits: {objects: 100, percent: 100}\n";

/// The id of the n-th API resource.
fn id(n: u64) -> String {
    format!("0197a000-0000-7000-8000-{n:012x}")
}

struct Setup {
    world: World,
    config: Config,
    strikes: Strikes,
}

impl Setup {
    /// A world whose API has the resources `living`, and one object of each of `owners`, made for generation 1.
    fn new(living: &[u64], owners: &[u64]) -> Self {
        let world = World::default();
        let config = CONFIGURATION.parse("test", CONFIG, &Environment::new(), &Flags::new()).unwrap().0;
        for owner in owners {
            world.add(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": format!("of-{owner}"), "namespace": "team",
                    "labels": { "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": id(*owner) },
                    "annotations": { "hyperfleet.io/generation": "1" },
                },
            }));
        }
        let setup = Self { world, config, strikes: Strikes::default() };
        setup.live(living);
        setup
    }

    fn live(&self, living: &[u64]) {
        self.world.set_resources(living.iter().map(|owner| (id(*owner), Generation(1))).collect());
    }

    fn answer(&self, answers: &[(u64, u16)]) {
        self.world.set_answers(answers.iter().map(|(owner, status)| (id(*owner), *status)).collect());
    }

    /// A survey so many minutes after midday.
    fn at(&mut self, minutes: u64, approval: Option<&Approval>) -> Survey {
        let now: Timestamp = "2026-02-01T12:00:00Z".parse().unwrap();
        let now = now + std::time::Duration::from_secs(60 * minutes);
        let policy = (&self.config.policy, &self.config.filter);
        block_on(survey(&self.world, &self.world, policy, &mut self.strikes, async || approval.cloned(), || now))
    }
}

fn verdicts(survey: &Survey) -> BTreeMap<String, Verdict> {
    survey.orphans.iter().map(|(candidate, verdict)| (candidate.object.name.clone(), *verdict)).collect()
}

fn names(plan: &SweepPlan) -> Vec<&str> {
    plan.objects().iter().map(|candidate| candidate.object.name.as_str()).collect()
}

#[test]
fn orphan_is_due_in_the_second_pass_after_the_grace() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    let first = setup.at(0, None);
    assert_eq!(verdicts(&first), [("of-2".to_owned(), Verdict::Keep(Keep::Grace))].into());
    assert_eq!((first.inventory, first.owners, names(&first.plan)), (2, 2, vec![]));
    assert!(names(&setup.at(29, None).plan).is_empty());
    let last = setup.at(30, None);
    assert_eq!((names(&last.plan), last.release), (vec!["of-2"], Release::Go));
}

#[test]
fn answer_of_a_proxy_gives_no_strike_and_takes_none() {
    for status in [404, 401, 403, 410, 500, 503, 200, 302] {
        let mut setup = Setup::new(&[1], &[1, 2]);
        setup.answer(&[(2, status)]);
        assert!(setup.at(0, None).orphans.is_empty(), "{status}");
        assert_eq!(setup.strikes.count(), 0, "{status}");
        setup.answer(&[]);
        setup.at(10, None);
        setup.answer(&[(2, status)]);
        let unknown = setup.at(50, None);
        assert!(unknown.plan.objects().is_empty(), "{status}");
        assert_eq!(unknown.unknown.values().sum::<u64>(), 1, "{status}");
        setup.answer(&[]);
        assert_eq!(names(&setup.at(60, None).plan), ["of-2"], "{status}: the strike of minute 10 still counts");
    }
}

#[test]
fn resource_that_comes_back_begins_anew() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    setup.at(0, None);
    setup.live(&[1, 2]);
    setup.at(20, None);
    setup.live(&[1]);
    assert!(names(&setup.at(40, None).plan).is_empty());
    assert_eq!(names(&setup.at(70, None).plan), ["of-2"]);
}

/// The API of a world, which gives one wrong answer to the questions by which a pass tests it.
struct WrongOnce<'a> {
    world: &'a World,
    asked: Cell<usize>,
    wrong: usize,
}

impl WrongOnce<'_> {
    fn is_wrong(&self) -> bool {
        self.asked.replace(self.asked.get() + 1) == self.wrong
    }
}

impl Api for WrongOnce<'_> {
    async fn look_up(&self, id: &str) -> Lookup {
        // Resource 2 is the one that the pass itself looks up.
        if id != self::id(2) && self.is_wrong() {
            return Lookup::Unknown(Unknown::NoProblem);
        }
        self.world.look_up(id).await
    }

    async fn search(&self, ids: &[&str]) -> Result<BTreeMap<String, Generation>, String> {
        self.world.search(ids).await
    }

    async fn any(&self) -> Result<Option<String>, String> {
        if self.is_wrong() { Err("HTTP status 502".to_owned()) } else { self.world.any().await }
    }
}

#[test]
fn api_must_answer_each_canary_before_and_after_the_other_questions() {
    // The list of one resource, that resource, and one that does not exist; then the same again.
    for wrong in 0..=6 {
        let mut setup = Setup::new(&[0, 1], &[1, 2]);
        setup.at(0, None);
        let api = WrongOnce { world: &setup.world, asked: Cell::new(0), wrong };
        let now: Timestamp = "2026-02-01T13:00:00Z".parse().unwrap();
        let policy = (&setup.config.policy, &setup.config.filter);
        let found = block_on(survey(&setup.world, &api, policy, &mut setup.strikes, async || None, || now));
        let is_held = matches!(found.plan.holds(), [Hold::NoCanary { .. }]);
        let expected = if wrong < 6 { (vec![], true) } else { (vec!["of-2"], false) };
        assert_eq!((names(&found.plan), is_held), expected, "question {wrong}: {:?}", found.plan.holds());
    }
}

#[test]
fn api_without_resources_cannot_be_trusted() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    setup.at(0, None);
    setup.live(&[]);
    let survey = setup.at(60, None);
    assert!(survey.plan.objects().is_empty());
    assert_eq!(survey.plan.holds(), [Hold::NoResources]);
    setup.live(&[1]);
    let after = setup.at(61, None);
    assert_eq!(
        (names(&after.plan), after.release),
        (vec!["of-2"], Release::Held),
        "the strike stands, and so does the doubt"
    );
}

#[test]
fn api_that_lost_its_data_is_held_until_a_person_approves() {
    let mut setup = Setup::new(&[1, 2, 3, 4], &[1, 2, 3, 4]);
    setup.config.policy.limits = Limits { objects: 100, share: Share::Percent(50) };
    setup.at(0, None);
    setup.live(&[1]);
    let early = setup.at(10, None);
    assert!(
        matches!(early.plan.holds(), [Hold::TooManyOrphans { orphans: 3, inventory: 4, limit: 2 }]),
        "{:?}",
        early.plan.holds()
    );
    let held = setup.at(60, None);
    assert_eq!(held.release, Release::Held);
    let expires = "2026-02-02T00:00:00Z".parse().unwrap();
    let approval = Approval { hash: held.plan.hash().to_owned(), expires };
    assert_eq!(setup.at(61, Some(&approval)).release, Release::Approved);
    setup.live(&[1, 2]);
    let fewer = setup.at(62, None);
    assert_eq!((names(&fewer.plan), fewer.release), (vec!["of-3", "of-4"], Release::Held), "within the limits again");
    assert!(matches!(fewer.plan.holds(), [Hold::Earlier(_)]), "{:?}", fewer.plan.holds());
    setup.live(&[1, 2, 3, 4]);
    assert_eq!(setup.at(63, None).release, Release::Go, "all is back");
    setup.live(&[1, 2, 3]);
    setup.at(64, None);
    let again = setup.at(94, None);
    assert_eq!((names(&again.plan), again.release), (vec!["of-4"], Release::Go));
}

#[test]
fn grace_counts_from_an_answer_to_the_next_question() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    let start: Timestamp = "2026-02-01T12:00:00Z".parse().unwrap();
    // Each look at the clock is a minute later, so a pass takes some minutes from its first question to its last answer.
    let minutes = std::cell::Cell::new(0_u64);
    let mut pass = |from| {
        minutes.set(from);
        let now = || start + std::time::Duration::from_secs(60 * minutes.replace(minutes.get() + 5));
        let policy = (&setup.config.policy, &setup.config.filter);
        let found = block_on(survey(&setup.world, &setup.world, policy, &mut setup.strikes, async || None, now));
        names(&found.plan).len()
    };
    assert_eq!(pass(0), 0, "the answer came in minute 5");
    assert_eq!(pass(34), 0, "asked in minute 34, answered in minute 39");
    assert_eq!(pass(35), 1);
}

#[test]
fn approval_that_a_person_took_back_does_not_count() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    setup.config.policy.limits = Limits { objects: 0, share: Share::Percent(0) };
    setup.at(0, None);
    let held = setup.at(30, None);
    let approval = Approval { hash: held.plan.hash().to_owned(), expires: "2026-02-02T00:00:00Z".parse().unwrap() };
    // The annotation goes while the API is asked.
    let asked = std::cell::Cell::new(0);
    let now: Timestamp = "2026-02-01T13:00:00Z".parse().unwrap();
    let clock = || {
        asked.set(asked.get() + 1);
        now
    };
    let annotation = async || (asked.get() == 0).then(|| approval.clone());
    let policy = (&setup.config.policy, &setup.config.filter);
    let found = block_on(survey(&setup.world, &setup.world, policy, &mut setup.strikes, annotation, clock));
    assert_eq!((found.plan.hash(), found.release), (held.plan.hash(), Release::Held));
}

#[test]
fn orphan_that_a_living_resources_object_names_as_owner_stays() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    // The world numbers its objects.
    let owned_by_orphan = |name: &str, owner: u64| {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": name, "namespace": "team", "ownerReferences": [{ "uid": "uid-2" }],
                "labels": { "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": id(owner) },
            },
        })
    };
    setup.world.add(owned_by_orphan("orphan-too", 2));
    setup.at(0, None);
    assert_eq!(names(&setup.at(30, None).plan), ["of-2"], "Kubernetes deletes what belongs to the orphan");
    setup.world.add(owned_by_orphan("living", 1));
    assert_eq!(verdicts(&setup.at(31, None))["of-2"], Verdict::Keep(Keep::NotEmpty));
}

/// Adds a namespace whose API resource is 2, with a valid proof.
fn add_namespace(setup: &mut Setup, name: &str) {
    let signer = Signer::new(&[7; 32]).unwrap();
    setup.config.policy.cluster_scoped = vec!["core/Namespace".parse().unwrap()];
    setup.config.policy.signers = vec![signer.clone()];
    let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": id(2) });
    let mut namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
    let proof = signer.sign(&Candidate::of(&namespace, Destination::ThisCluster).claim());
    namespace["metadata"]["annotations"] = json!({ "hyperfleet.io/ownership-proof": proof });
    setup.world.add(namespace);
}

fn config_map(namespace: &str, name: &str, labels: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "namespace": namespace, "name": name, "labels": labels } })
}

#[test]
fn namespace_stays_while_anything_but_its_defaults_lives_in_it() {
    let disowned = json!({ "hyperfleet.io/disowned": id(2) });
    let foreign = json!({ "hyperfleet.io/adapter": "other", "hyperfleet.io/resource-id": id(9) });
    let shop = json!({ "app": "shop" });
    let cases = [
        ("a disowned object", "content", &disowned, "", Verdict::Keep(Keep::NotEmpty)),
        ("another adapter's object", "content", &foreign, "core/ConfigMap", Verdict::Keep(Keep::NotEmpty)),
        ("a person's object", "content", &shop, "", Verdict::Keep(Keep::NotEmpty)),
        (
            "a person's object of another kind than is named",
            "content",
            &shop,
            "core/Secret",
            Verdict::Keep(Keep::NotEmpty),
        ),
        ("a person's object of a kind that is named", "content", &shop, "core/ConfigMap", Verdict::Delete),
        ("what Kubernetes puts there", "kube-root-ca.crt", &Value::Null, "", Verdict::Delete),
    ];
    // Whatever is swept, and however many namespaces are looked into.
    for (name, content, labels, goes_along, expected) in cases {
        for (include, others) in [("", 0), ("core/Namespace", 0), ("core/Namespace", 11)] {
            let mut setup = Setup::new(&[1], &[]);
            setup.config.policy.goes_along = goes_along.parse().into_iter().collect();
            setup.config.filter.include = include.parse().into_iter().collect();
            add_namespace(&mut setup, "team-b");
            (0..others).for_each(|other| add_namespace(&mut setup, &format!("other-{other}")));
            setup.world.add(config_map("team-b", content, labels));
            setup.at(0, None);
            let found = setup.at(30, None);
            assert_eq!(verdicts(&found)["team-b"], expected, "{name}: {include} {others}");
            let others = verdicts(&found).into_iter().filter(|(name, _)| name.starts_with("other"));
            assert!(others.into_iter().all(|(_, verdict)| verdict == Verdict::Delete), "{name}: an empty one goes");
        }
    }
}

#[test]
fn plan_counts_what_a_namespace_takes_along() {
    let mut setup = Setup::new(&[1], &[1]);
    setup.config.policy.goes_along = vec!["core/ConfigMap".parse().unwrap()];
    add_namespace(&mut setup, "team-b");
    for name in ["one", "two", "kube-root-ca.crt"] {
        setup.world.add(config_map("team-b", name, &Value::Null));
    }
    setup.at(0, None);
    let found = setup.at(30, None);
    let text = crate::report::text(&found, None);
    let why = "its API resource is gone; in it: 2 core/ConfigMap";
    assert!(text.lines().any(|line| line.starts_with("delete") && line.ends_with(why)), "{text}");
    let json = crate::report::json(&found, &setup.config, Timestamp::UNIX_EPOCH);
    assert_eq!(json["objects"][0]["in_it"], json!({ "core/ConfigMap": 2 }), "{json}");
}

#[test]
fn owner_of_an_object_of_a_kind_that_is_not_swept_stays() {
    for (include, exclude) in [("core/ConfigMap", ""), ("", "core/Secret")] {
        let mut setup = Setup::new(&[1], &[1, 2]);
        setup.config.filter.include = include.parse().into_iter().collect();
        setup.config.filter.exclude = exclude.parse().into_iter().collect();
        setup.at(0, None);
        assert_eq!(names(&setup.at(30, None).plan), ["of-2"], "{include} {exclude}");
        setup.world.add(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "living", "namespace": "team", "ownerReferences": [{ "uid": "uid-2" }],
                "labels": { "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": id(1) },
            },
        }));
        let found = setup.at(31, None);
        assert_eq!(
            verdicts(&found),
            [("of-2".to_owned(), Verdict::Keep(Keep::NotEmpty))].into(),
            "{include} {exclude}"
        );
        assert_eq!(found.inventory, 2, "Secrets are not swept");
    }
}

/// A world some of whose kinds and groups cannot be read.
struct Unreadable<'a> {
    world: &'a World,
    kinds: &'a [&'a str],
    group: Option<&'a str>,
}

fn unavailable(call: &str) -> WriteError {
    WriteError {
        kind: WriteErrorKind::Unavailable,
        call: call.to_owned(),
        status: Some(503),
        message: "injected".to_owned(),
    }
}

impl Objects for Unreadable<'_> {
    async fn discover(&self) -> Result<Discovery, WriteError> {
        let unread = self.group.map(|group| UnreadGroup { group: group.to_owned(), error: unavailable(group) });
        Ok(Discovery { unread: unread.into_iter().collect(), ..self.world.discover().await? })
    }

    async fn list(
        &self,
        kind: &ServedKind,
        choice: Choice<'_>,
        each: &mut dyn FnMut(Candidate),
    ) -> Result<(), WriteError> {
        if self.kinds.contains(&kind.kind.kind.as_str()) {
            return Err(unavailable(&format!("list {}", kind.kind.kind)));
        }
        self.world.list(kind, choice, each).await
    }

    async fn read(&self, at: &Destination, object: &ObjectRef) -> Result<Option<Value>, WriteError> {
        self.world.read(at, object).await
    }

    async fn create(&self, at: &Destination, object: &Value) -> Result<Value, WriteError> {
        self.world.create(at, object).await
    }

    async fn delete(&self, at: &Destination, object: &ObjectRef, fence: Fence<'_>) -> Result<Deletion, WriteError> {
        self.world.delete(at, object, fence).await
    }
}

#[test]
fn kind_that_is_not_swept_and_cannot_be_read_holds_a_pass_with_an_orphan() {
    let cases: [(&str, &[&str], Option<&str>, usize); 6] = [
        ("all can be read", &[], None, 0),
        ("a kind that could own or live somewhere", &["Secret"], None, 1),
        ("two kinds, each of which is asked for several times", &["Secret", "Service"], None, 2),
        ("Events, with which nothing is lost", &["Event"], None, 0),
        ("a group", &[], Some("example.com"), 1),
        ("measurements", &[], Some("metrics.k8s.io"), 0),
    ];
    for (name, kinds, group, expected) in cases {
        let mut setup = Setup::new(&[1], &[1, 2]);
        setup.config.filter.include = vec!["core/ConfigMap".parse().unwrap()];
        for kind in ["Secret", "Service", "Event"] {
            setup
                .world
                .add(json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "a", "namespace": "team" } }));
        }
        setup.at(0, None);
        let now: Timestamp = "2026-02-01T13:00:00Z".parse().unwrap();
        let objects = Unreadable { world: &setup.world, kinds, group };
        let policy = (&setup.config.policy, &setup.config.filter);
        let found = block_on(survey(&objects, &setup.world, policy, &mut setup.strikes, async || None, || now));
        let unread = match found.plan.holds() {
            [] => 0,
            [Hold::IncompleteInventory { unread }] => unread.len(),
            holds => panic!("{name}: {holds:?}"),
        };
        assert_eq!(unread, expected, "{name}");
    }
    // Without an orphan, nothing could go along.
    let mut setup = Setup::new(&[1, 2], &[1, 2]);
    setup.config.filter.include = vec!["core/ConfigMap".parse().unwrap()];
    let objects = Unreadable { world: &setup.world, kinds: &["Secret"], group: Some("example.com") };
    let policy = (&setup.config.policy, &setup.config.filter);
    let found = block_on(survey(&objects, &setup.world, policy, &mut setup.strikes, async || None, Timestamp::now));
    assert_eq!(found.release, Release::Go);
}

#[test]
fn older_generation_at_the_api_holds_the_pass() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    setup.at(0, None);
    setup.world.set_resources([(id(1), Generation(0))].into());
    let survey = setup.at(60, None);
    assert_eq!(names(&survey.plan), ["of-2"]);
    assert!(matches!(survey.plan.holds(), [Hold::ApiWentBack { count: 1, .. }]), "{:?}", survey.plan.holds());
    assert_eq!(survey.release, Release::Held);
}

#[test]
fn objects_of_other_kinds_than_the_filter_selects_are_not_listed() {
    let mut setup = Setup::new(&[1], &[1, 2]);
    setup.config.filter.exclude = vec!["core/ConfigMap".parse().unwrap()];
    assert_eq!(setup.at(0, None).inventory, 0);
    setup.config.filter.exclude.clear();
    setup.config.filter.include = vec!["Job".parse().unwrap()];
    assert_eq!(setup.at(0, None).inventory, 0);
}

/// One pass of a random run: which of five resources exist, and about which a proxy answers 404.
#[derive(Debug, Clone)]
struct Step {
    minutes: u64,
    living: Vec<u64>,
    proxied: Vec<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    (
        1_u64..40,
        proptest::sample::subsequence(vec![1_u64, 2, 3, 4, 5], 0..=5),
        proptest::sample::subsequence(vec![1_u64, 2, 3, 4, 5], 0..=2),
    )
        .prop_map(|(minutes, living, proxied)| Step { minutes, living, proxied })
}

proptest! {
    #[test]
    fn only_what_was_gone_for_the_grace_is_ever_due(steps in prop::collection::vec(step(), 1..12)) {
        let mut setup = Setup::new(&[], &[1, 2, 3, 4, 5]);
        let mut minute = 0;
        // For each resource: when the API itself first said that it is gone, without having it since.
        let mut gone_since: BTreeMap<u64, u64> = BTreeMap::new();
        for Step { minutes, living, proxied } in steps {
            minute += minutes;
            // Resource 0 always exists and is listed first, so that the canary finds it.
            setup.live(&[living.as_slice(), &[0]].concat());
            setup.answer(&proxied.iter().map(|owner| (*owner, 404)).collect::<Vec<_>>());
            let survey = setup.at(minute, None);
            for owner in 1..=5 {
                if proxied.contains(&owner) {
                    continue;
                } else if living.contains(&owner) {
                    gone_since.remove(&owner);
                } else {
                    gone_since.entry(owner).or_insert(minute);
                }
            }
            let due = names(&survey.plan);
            for owner in 1..=5 {
                let is_due = !proxied.contains(&owner) && gone_since.get(&owner).is_some_and(|since| minute - since >= 30);
                prop_assert_eq!(due.contains(&format!("of-{owner}").as_str()), is_due, "resource {} in minute {}", owner, minute);
            }
        }
    }
}
