//! Whole plans over a store of a few lines: what a pass does, what its gates see, and what a second pass does.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::decision::WaitReason;
use super::*;
use crate::belonging::satisfies;
use crate::id::Generation;
use crate::task::compile::{Surroundings, compile};
use crate::write::{Executed, WriteError, WriteErrorKind};

/// Objects by kind, namespace and name.
#[derive(Debug, Clone, Default, PartialEq)]
struct Store {
    objects: BTreeMap<(String, String, String), Value>,
    unreadable: Vec<String>,
    refuse: Vec<String>,
    writes: usize,
}

fn key(object: &Value) -> (String, String, String) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

impl Store {
    fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut store = Self::default();
        for object in objects {
            store.put(object);
        }
        store
    }

    fn put(&mut self, mut object: Value) -> Value {
        let uid = format!("uid-{}", key(&object).2);
        object["metadata"]["uid"] = json!(uid);
        self.objects.insert(key(&object), object.clone());
        object
    }

    fn find(&self, query: &Query) -> Observation {
        if self.unreadable.contains(&query.kind.kind) {
            return Observation::Unknown("connection refused".to_owned());
        }
        let found = self.objects.values().filter(|object| object["kind"] == json!(query.kind.kind));
        Observation::Found(found.filter(|object| satisfies(query, object)).cloned().map(Version::new).collect())
    }

    fn delete(&mut self, target: &Target) -> Option<Value> {
        let key = (target.kind.kind.clone(), target.namespace.clone().unwrap_or_default(), target.name.clone());
        let held = self.objects.get(&key).is_some_and(|object| object["metadata"].get("finalizers").is_some());
        if held {
            let object = self.objects.get_mut(&key).unwrap();
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            return Some(object.clone());
        }
        self.objects.remove(&key);
        None
    }

    fn execute(&mut self, command: Command) -> Executed {
        self.writes += 1;
        let refused = |call: &str| WriteError {
            kind: WriteErrorKind::Unavailable,
            call: call.to_owned(),
            status: Some(503),
            message: "the server is down".to_owned(),
        };
        match command {
            Command::Create { desired } if self.refuse.contains(&key(&desired).0) => {
                Executed::Failed(refused("create"))
            }
            Command::Create { desired } => match self.objects.get(&key(&desired)) {
                Some(object) => Executed::NameTaken(Some(object.clone())),
                None => Executed::Created(self.put(desired)),
            },
            Command::Update { desired, .. } => Executed::Updated(self.put(desired)),
            Command::Recreate { desired, targets } => {
                let remaining: Vec<Value> = targets.iter().filter_map(|target| self.delete(target)).collect();
                if remaining.is_empty() {
                    Executed::Recreated(self.put(desired))
                } else {
                    Executed::Deleting(remaining)
                }
            }
            Command::Delete { targets, .. } if targets.iter().any(|target| self.refuse.contains(&target.kind.kind)) => {
                Executed::DeleteFailed { remaining: Vec::new(), failures: vec![refused("delete")] }
            }
            Command::Delete { targets, .. } => {
                let remaining: Vec<Value> = targets.iter().filter_map(|target| self.delete(target)).collect();
                if remaining.is_empty() { Executed::Deleted } else { Executed::Deleting(remaining) }
            }
        }
    }
}

fn task(resources: &str) -> Task {
    let text = format!("params: [{{ name: generation, source: event.generation }}]\nresources:\n{resources}");
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

/// One pass of generation `generation` for the cluster `c1`; gives the outcomes and the variables at the end.
fn pass(task: &Task, store: &mut Store, generation: i64, variables: &[(&str, Value)]) -> (Vec<Outcome>, Scope) {
    let mut scope = Scope::new("2026-01-01T00:00:00Z".parse().unwrap());
    scope.set("id", json!("c1"));
    scope.set("generation", json!(generation));
    scope.set("resources", json!({}));
    for (name, value) in variables {
        scope.set(name, value.clone());
    }
    let stamp =
        Stamp { adapter: "tester".to_owned(), resource_id: "c1".to_owned(), generation: Generation(generation) };
    let mut planner = Planner::new(task, stamp);
    loop {
        let wanted = planner.next_queries(&scope);
        if wanted.is_empty() {
            break;
        }
        for Wanted { resource, query } in wanted {
            planner.observe(&mut scope, resource, store.find(&query));
        }
    }
    let mut next = planner.next_step(&mut scope);
    while let Some(step) = next {
        let executed = store.execute(step.command);
        next = planner.record(&mut scope, executed).or_else(|| planner.next_step(&mut scope));
    }
    (planner.into_outcomes(), scope)
}

fn results(outcomes: &[Outcome]) -> Vec<(&str, &str, &str)> {
    outcomes
        .iter()
        .map(|outcome| (outcome.decision.kind(), outcome.decision.reason(), outcome.result.as_str()))
        .collect()
}

fn config_map(name: &str, extra: &str) -> String {
    format!(
        "  - name: {name}\n    manifest:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        \
         name: {name}\n        namespace: team\n    discovery: {{ namespace: team, by_name: {name} }}\n{extra}"
    )
}

fn live(kind: &str, name: &str, labels: Value, generation: Option<i64>) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": { "name": name, "namespace": "team", "labels": labels, "creationTimestamp": "2025-12-01T00:00:00Z" }
    });
    if let Some(generation) = generation {
        object["metadata"]["annotations"] = json!({ keys::GENERATION: generation.to_string() });
    }
    object
}

const DELETE_WHEN_DELETING: &str = "    lifecycle: { delete: { when: { expression: deleting } } }\n";

#[test]
fn an_absent_object_is_created_with_its_stamp_and_left_alone_afterwards() {
    let task = task(&config_map("settings", ""));
    let mut store = Store::default();
    let (outcomes, scope) = pass(&task, &mut store, 3, &[]);
    assert_eq!(results(&outcomes), [("create", "Absent", "created")]);
    let created = scope.get("resources").unwrap().get("settings").unwrap();
    let labels = json!({ keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "settings" });
    assert_eq!(created["metadata"]["labels"], labels);
    assert_eq!(created["metadata"]["annotations"][keys::GENERATION], json!("3"));
    let (again, _) = pass(&task, &mut store, 3, &[]);
    assert_eq!(results(&again), [("skip", "SameGeneration", "skipped")]);
    assert_eq!(store.writes, 1);
}

#[test]
fn what_the_author_wrote_is_not_stamped_over() {
    let text = config_map("settings", "").replace(
        "        namespace: team\n    disc",
        "        namespace: team\n        labels: { hyperfleet.io/adapter: mine }\n        annotations: { hyperfleet.io/generation: \"9\" }\n    disc",
    );
    let mut store = Store::default();
    let (outcomes, scope) = pass(&task(&text), &mut store, 3, &[]);
    assert_eq!(results(&outcomes), [("create", "Absent", "created")]);
    let metadata = &scope.get("resources").unwrap()["settings"]["metadata"];
    assert_eq!(
        (&metadata["labels"][keys::ADAPTER], &metadata["annotations"][keys::GENERATION]),
        (&json!("mine"), &json!("9"))
    );
}

#[test]
fn stamps_that_are_no_valid_values_are_refused_before_anything_is_written() {
    let cases = [
        ("a label value with a slash", "labels: { hyperfleet.io/resource-id: a/b }", "InvalidLabel"),
        ("an empty label value", "labels: { hyperfleet.io/resource-id: \"\" }", "InvalidLabel"),
        ("a generation that is no number", "annotations: { hyperfleet.io/generation: soon }", "InvalidGeneration"),
    ];
    for (name, metadata, reason) in cases {
        let text = config_map("settings", "").replace(
            "        namespace: team\n    disc",
            &format!("        namespace: team\n        {metadata}\n    disc"),
        );
        let mut store = Store::default();
        let (outcomes, _) = pass(&task(&text), &mut store, 3, &[]);
        assert_eq!((outcomes[0].decision.reason(), store.writes), (reason, 0), "{name}");
    }
}

#[test]
fn a_failed_write_stops_later_applies_but_not_deletions() {
    let text = config_map("first", "").replace("kind: ConfigMap", "kind: Secret")
        + &config_map("second", "")
        + &config_map("third", DELETE_WHEN_DELETING);
    let mut store = Store::with([live("ConfigMap", "third", json!({}), Some(1))]);
    store.refuse = vec!["Secret".to_owned()];
    let (outcomes, _) = pass(&task(&text), &mut store, 3, &[("deleting", json!(true))]);
    assert_eq!(
        results(&outcomes),
        [
            ("create", "Absent", "failed"),
            ("skip", "EarlierFailure", "skipped"),
            ("delete", "DeleteGateHolds", "deleted")
        ]
    );
    assert_eq!(outcomes[0].failure().unwrap().message, "failed to create: the server is down (HTTP 503)");
}

#[test]
fn a_failed_deletion_stands_in_nobodys_way_and_its_object_does_not_look_gone() {
    let child = config_map("child", DELETE_WHEN_DELETING).replace("kind: ConfigMap", "kind: Secret");
    let parent = config_map(
        "parent",
        "    lifecycle: { delete: { when: { expression: \"deleting && !resources.?child.hasValue()\" } } }\n",
    );
    let mut store =
        Store::with([live("Secret", "child", json!({}), Some(3)), live("ConfigMap", "parent", json!({}), Some(3))]);
    store.refuse = vec!["Secret".to_owned()];
    let (outcomes, scope) = pass(&task(&(child + &parent)), &mut store, 3, &[("deleting", json!(true))]);
    assert_eq!(results(&outcomes), [("delete", "DeleteGateHolds", "failed"), ("skip", "SameGeneration", "skipped")]);
    assert!(scope.get("resources").unwrap().get("child").is_some());
}

#[test]
fn a_child_that_is_gone_lets_its_parent_go_in_the_same_pass() {
    let text = config_map("child", DELETE_WHEN_DELETING)
        + &config_map(
            "parent",
            "    lifecycle: { delete: { when: { expression: \"deleting && !resources.?child.hasValue()\" } } }\n",
        );
    let task = task(&text);
    let objects = [live("ConfigMap", "child", json!({}), Some(3)), live("ConfigMap", "parent", json!({}), Some(3))];
    let deleting = [("deleting", json!(true))];

    let mut store = Store::with(objects.clone());
    let (outcomes, _) = pass(&task, &mut store, 3, &deleting);
    assert_eq!(
        results(&outcomes),
        [("delete", "DeleteGateHolds", "deleted"), ("delete", "DeleteGateHolds", "deleted")]
    );
    let (again, _) = pass(&task, &mut store, 3, &deleting);
    assert_eq!(results(&again), [("skip", "AlreadyAbsent", "skipped"), ("skip", "AlreadyAbsent", "skipped")]);
    assert!(again.iter().all(|outcome| outcome.finalized));

    let mut store = Store::with(objects);
    let held = store.objects.get_mut(&("ConfigMap".to_owned(), "team".to_owned(), "child".to_owned())).unwrap();
    held["metadata"]["finalizers"] = json!(["example.io/hold"]);
    let (outcomes, scope) = pass(&task, &mut store, 3, &deleting);
    assert_eq!(results(&outcomes), [("delete", "DeleteGateHolds", "deleting"), ("skip", "SameGeneration", "skipped")]);
    let child = &scope.get("resources").unwrap()["child"]["metadata"];
    assert!(child.get("deletionTimestamp").is_some(), "the dying child is seen as dying");
    let (again, _) = pass(&task, &mut store, 3, &deleting);
    assert_eq!(again[0].decision, Decision::Wait(WaitReason::Deleting));
}

#[test]
fn a_gate_that_can_read_what_could_not_be_read_has_no_answer() {
    for gate in
        ["!resources.?other.hasValue()", "!has(resources.other)", "resources.size() == 1", "!(\"other\" in resources)"]
    {
        let text = config_map("other", "").replace("kind: ConfigMap", "kind: Secret")
            + &config_map("mine", &format!("    lifecycle: {{ delete: {{ when: {{ expression: '{gate}' }} }} }}\n"));
        let mut store = Store::with([live("ConfigMap", "mine", json!({}), Some(3))]);
        store.unreadable = vec!["Secret".to_owned()];
        let (outcomes, _) = pass(&task(&text), &mut store, 3, &[]);
        assert_eq!(
            results(&outcomes),
            [("fail", "DiscoveryFailed", "failed"), ("fail", "GateFailed", "failed")],
            "{gate}"
        );
        assert_eq!(store.writes, 0, "{gate}");
    }
}

#[test]
fn a_fresh_object_has_no_status_and_is_not_recreated_for_it() {
    let gate = |expression: &str| {
        config_map("job", &format!("    lifecycle: {{ recreate: {{ when: {{ expression: '{expression}' }} }} }}\n"))
    };
    let own = task(&gate("resources.job.status.conditions.exists(c, c.type == \"Complete\")"));
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(3))]);
    let (outcomes, _) = pass(&own, &mut store, 3, &[]);
    assert_eq!(results(&outcomes), [("skip", "SameGeneration", "skipped")]);
    assert_eq!(outcomes[0].warnings.len(), 1, "the author is told: {:?}", outcomes[0].warnings);

    let elsewhere = task(&gate("resources.job.spec.done"));
    let (outcomes, _) = pass(&elsewhere, &mut store, 3, &[]);
    assert_eq!(results(&outcomes), [("fail", "GateFailed", "failed")]);
}

#[test]
fn recreate_on_change_needs_a_generation_that_is_lower() {
    let task = task(&config_map("job", "    recreate_on_change: true\n"));
    for (name, generation, expected) in [
        ("lower", Some(2), ("recreate", "RecreateGateHolds", "recreated")),
        ("equal", Some(3), ("skip", "SameGeneration", "skipped")),
        ("higher", Some(4), ("skip", "StaleEvent", "skipped")),
        ("none", None, ("update", "GenerationChanged", "updated")),
    ] {
        let mut store = Store::with([live("ConfigMap", "job", json!({}), generation)]);
        let (outcomes, _) = pass(&task, &mut store, 3, &[]);
        assert_eq!(results(&outcomes), [expected], "{name}");
    }
}

fn selecting(name: &str, extra: &str) -> String {
    format!(
        "  - name: {name}\n    manifest:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        \
         name: \"{name}-{{{{ .generation }}}}\"\n        namespace: team\n        labels: {{ app: demo }}\n    \
         discovery: {{ namespace: team, by_selectors: {{ label_selector: {{ app: demo }} }} }}\n{extra}"
    )
}

#[test]
fn two_resources_of_one_selector_never_touch_each_others_objects() {
    let text = selecting("left", DELETE_WHEN_DELETING) + &selecting("right", "");
    let task = task(&text);
    let mut store = Store::default();
    let (outcomes, _) = pass(&task, &mut store, 3, &[("deleting", json!(false))]);
    assert_eq!(results(&outcomes), [("create", "Absent", "created"), ("create", "Absent", "created")]);
    let (outcomes, _) = pass(&task, &mut store, 3, &[("deleting", json!(true))]);
    assert_eq!(results(&outcomes), [("delete", "DeleteGateHolds", "deleted"), ("skip", "SameGeneration", "skipped")]);
    let names: Vec<&str> = store.objects.keys().map(|(_, _, name)| name.as_str()).collect();
    assert_eq!(names, ["right-3"]);
}

#[test]
fn what_a_selector_finds_belongs_by_its_labels_or_as_an_older_adapters_object() {
    let ours = json!({ "app": "demo", keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "left" });
    let foreign = json!({ "app": "demo", keys::ADAPTER: "somebody", keys::RESOURCE_ID: "c1", keys::RESOURCE: "left" });
    let another = json!({ "app": "demo", keys::ADAPTER: "tester", keys::RESOURCE_ID: "c2", keys::RESOURCE: "left" });
    let older = json!({ "app": "demo" });
    let alone = selecting("left", DELETE_WHEN_DELETING);
    let beside = alone.clone() + &selecting("right", "");
    for (name, text, object, deleted) in [
        ("ours", &alone, live("ConfigMap", "left-1", ours, Some(1)), true),
        ("another adapter's", &alone, live("ConfigMap", "left-1", foreign, Some(1)), false),
        ("another cluster's", &alone, live("ConfigMap", "left-1", another, Some(1)), false),
        ("an older adapter's", &alone, live("ConfigMap", "left-1", older.clone(), Some(1)), true),
        (
            "an older adapter's, of the rendered name",
            &beside,
            live("ConfigMap", "left-3", older.clone(), Some(1)),
            true,
        ),
        ("an older adapter's, of either resource", &beside, live("ConfigMap", "left-1", older, Some(1)), false),
    ] {
        let mut store = Store::with([object]);
        let (outcomes, _) = pass(&task(text), &mut store, 3, &[("deleting", json!(true))]);
        assert_eq!(outcomes[0].result == OutcomeResult::Deleted, deleted, "{name}: {outcomes:?}");
    }
}

#[test]
fn an_object_that_its_own_discovery_would_not_find_is_not_created() {
    let text = selecting("left", "").replace("label_selector: { app: demo }", "label_selector: { app: other }");
    let mut store = Store::default();
    let (outcomes, _) = pass(&task(&text), &mut store, 3, &[]);
    assert_eq!((results(&outcomes)[0].1, store.writes), ("SelectorMismatch", 0));
    let text = config_map("settings", "").replace("by_name: settings", "by_name: elsewhere");
    let (outcomes, _) = pass(&task(&text), &mut store, 3, &[]);
    assert_eq!((results(&outcomes)[0].1, store.writes), ("SelectorMismatch", 0));
}

/// Plans up to the first step, and answers it with `executed`.
fn answered(text: &str, executed: Executed) -> (Vec<Outcome>, Option<Step>) {
    let task = task(text);
    let mut scope = Scope::new("2026-01-01T00:00:00Z".parse().unwrap());
    scope.set("generation", json!(3));
    let stamp = Stamp { adapter: "tester".to_owned(), resource_id: "c1".to_owned(), generation: Generation(3) };
    let mut planner = Planner::new(&task, stamp);
    for Wanted { resource, .. } in planner.next_queries(&scope) {
        planner.observe(&mut scope, resource, Observation::Found(Vec::new()));
    }
    assert!(matches!(planner.next_step(&mut scope), Some(Step { command: Command::Create { .. }, .. })));
    let next = planner.record(&mut scope, executed);
    (planner.outcomes().to_vec(), next)
}

#[test]
fn a_creation_that_meets_its_own_object_is_decided_again_once() {
    let ours = json!({ "app": "demo", keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "left" });
    let text = selecting("left", "");
    let same = Executed::NameTaken(Some(live("ConfigMap", "left-3", ours.clone(), Some(3))));
    let (outcomes, next) = answered(&text, same);
    assert_eq!(
        (results(&outcomes).as_slice(), next.is_none()),
        ([("skip", "SameGeneration", "skipped")].as_slice(), true)
    );

    let older = Executed::NameTaken(Some(live("ConfigMap", "left-3", ours, Some(2))));
    let (_, next) = answered(&text, older);
    assert!(matches!(next, Some(Step { command: Command::Update { .. }, .. })));

    let foreign = Executed::NameTaken(Some(live("ConfigMap", "left-3", json!({}), Some(3))));
    let (outcomes, _) = answered(&text, foreign);
    assert_eq!(outcomes[0].failure().map(|failure| failure.reason), Some(FailReason::NameTaken));

    let (outcomes, _) = answered(&text, Executed::NameTaken(None));
    assert_eq!(outcomes[0].failure().map(|failure| failure.reason), Some(FailReason::Conflict));
}

#[test]
fn without_lifecycle_keys_a_resource_is_visible_from_its_turn_on() {
    let text = config_map("first", "") + &config_map("second", "");
    let with_gate = config_map("first", "    lifecycle: { create: { when: { expression: \"true\" } } }\n")
        + &config_map("second", "");
    let objects = [live("ConfigMap", "second", json!({}), Some(3))];
    for (name, text, visible) in [("without", text, false), ("with", with_gate, true)] {
        let task = task(&text);
        let store = Store::with(objects.clone());
        let mut scope = Scope::new("2026-01-01T00:00:00Z".parse().unwrap());
        scope.set("resources", json!({}));
        let stamp = Stamp { adapter: "tester".to_owned(), resource_id: "c1".to_owned(), generation: Generation(3) };
        let mut planner = Planner::new(&task, stamp);
        for Wanted { resource, query } in planner.next_queries(&scope) {
            planner.observe(&mut scope, resource, store.find(&query));
        }
        assert!(planner.next_step(&mut scope).is_some(), "{name}");
        assert_eq!(scope.get("resources").unwrap().get("second").is_some(), visible, "{name}");
    }
}

#[test]
fn a_discovery_that_reads_an_earlier_resource_waits_for_it() {
    let text = config_map("first", "")
        + &config_map("second", "    lifecycle: { create: { when: { expression: \"true\" } } }\n")
            .replace("by_name: second", "by_name: \"{{ .resources.first.data.next }}\"");
    let task = task(&text);
    let mut first = live("ConfigMap", "first", json!({}), Some(3));
    first["data"] = json!({ "next": "second" });
    let mut store = Store::with([first, live("ConfigMap", "second", json!({}), Some(3))]);
    let (outcomes, _) = pass(&task, &mut store, 3, &[]);
    assert_eq!(results(&outcomes), [("skip", "SameGeneration", "skipped"), ("skip", "SameGeneration", "skipped")]);
}

/// A resource of the generated tasks: how it is found and gated.
fn resources() -> impl Strategy<Value = String> {
    let one = |index: usize| {
        let name = format!("r{index}");
        prop_oneof![
            Just(config_map(&name, "")),
            Just(config_map(&name, DELETE_WHEN_DELETING)),
            Just(config_map(&name, "    recreate_on_change: true\n")),
            Just(config_map(&name, "    lifecycle: { create: { when: { expression: creating } } }\n")),
            Just(selecting(&name, "")),
            Just(selecting(&name, DELETE_WHEN_DELETING)),
        ]
    };
    (one(0), one(1), one(2)).prop_map(|(a, b, c)| a + &b + &c)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_was_there_a_second_identical_event_writes_nothing(
        text in resources(),
        generations in prop::collection::vec(prop::option::of(0_i64..5), 3),
        deleting in any::<bool>(),
        creating in any::<bool>(),
    ) {
        let task = task(&text);
        let mut store = Store::default();
        for (index, generation) in generations.iter().enumerate() {
            if let Some(generation) = generation {
                store.put(live("ConfigMap", &format!("r{index}"), json!({}), Some(*generation)));
            }
        }
        let variables = [("deleting", json!(deleting)), ("creating", json!(creating))];
        let (first, _) = pass(&task, &mut store, 3, &variables);
        prop_assert!(first.iter().all(|outcome| outcome.failure().is_none()), "{first:?}");
        let (writes, objects) = (store.writes, store.objects.clone());
        let (second, _) = pass(&task, &mut store, 3, &variables);
        prop_assert_eq!(store.writes, writes, "{:?} then {:?}", first, second);
        prop_assert_eq!(&store.objects, &objects);
    }

    #[test]
    fn what_is_planned_is_what_is_written(text in resources(), deleting in any::<bool>()) {
        let task = task(&text);
        let mut store = Store::default();
        let (outcomes, _) = pass(&task, &mut store, 3, &[("deleting", json!(deleting)), ("creating", json!(true))]);
        for outcome in outcomes {
            let key = (outcome.kind.kind.clone(), outcome.namespace.clone(), outcome.name.clone());
            let created = outcome.result == OutcomeResult::Created;
            prop_assert_eq!(store.objects.contains_key(&key), created, "{:?}", outcome);
        }
    }

    #[test]
    fn nothing_is_written_for_a_resource_that_could_not_be_read(text in resources(), deleting in any::<bool>()) {
        let task = task(&text);
        let mut store = Store::with((0..3).map(|index| live("ConfigMap", &format!("r{index}"), json!({}), Some(1))));
        store.unreadable = vec!["ConfigMap".to_owned()];
        let (outcomes, _) = pass(&task, &mut store, 3, &[("deleting", json!(deleting)), ("creating", json!(true))]);
        prop_assert_eq!(store.writes, 0);
        prop_assert!(outcomes.iter().all(|outcome| outcome.decision.reason() == "DiscoveryFailed"));
    }
}
