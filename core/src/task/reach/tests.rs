#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cel::{Answer, Expression, ResourceReads};
use crate::id::Generation;
use crate::keys;
use crate::observation::Version;
use crate::plan::decide::{Decided, Gate, GateAnswer, Questions, Seen, Wanted, decide};
use crate::plan::decision::Failure;
use crate::scope::Scope;
use crate::task::Recreate;
use crate::task::compile::{Surroundings, compile};

fn task(text: &str) -> Task {
    let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
    let compiled = compile("task.yaml", text, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{text}\n{}", compiled.diagnostics))
}

const PARAMS: &str = "params:\n  - {name: x, source: event.x}\n  - {name: y, source: event.y}\n";
const EARLIER: &str =
    "  - {name: earlier, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: n}}, discovery: {by_name: n}}\n";
const BY_NAME: &str = "by_name: a, namespace: n";
const BY_LABELS: &str = "by_selectors: {label_selector: {app: a}}";

fn text(earlier: &str, discovery: &str, more: &str) -> String {
    format!(
        "{PARAMS}resources:\n{earlier}  - name: job\n    manifest: {{apiVersion: batch/v1, kind: Job, metadata: {{name: a, namespace: n, labels: {{app: a}}}}}}\n    discovery: {{{discovery}}}\n{more}"
    )
}

/// The rows of the last resource that can match, and, after a stroke, those that can only fail.
fn rows(text: &str) -> String {
    let task = task(text);
    let reached = reach(&task).pop().unwrap().rows();
    let numbers = |of: &dyn Fn(&Reached) -> bool| {
        let numbers = reached.iter().filter(|reached| of(reached)).map(|reached| reached.row.number());
        numbers.collect::<Vec<_>>().join(" ")
    };
    let only_fail = numbers(&|reached| reached.decisions.is_empty());
    numbers(&|reached| !reached.decisions.is_empty()) + " | " + &only_fail
}

#[test]
fn only_rows_that_can_be_reached_are_told() {
    let gate =
        |key: &str, expression: &str| format!("    lifecycle: {{{key}: {{when: {{expression: \"{expression}\"}}}}}}\n");
    let cases = [
        ("nothing configured", text("", BY_NAME, ""), "2 9 12 13 17 19 | 1"),
        ("found by labels", text("", BY_LABELS, ""), "2 9 12 13 17 18 19 | 1"),
        ("found by another name", text("", "by_name: b, namespace: n", ""), "2 9 12 13 17 18 19 | 1"),
        ("found by name in any namespace", text("", "by_name: a", ""), "2 9 12 13 17 18 19 | 1"),
        (
            "found by name where an event says",
            text("", "by_name: a, namespace: \"{{ .x }}\"", ""),
            "2 9 12 13 17 18 19 | 1",
        ),
        (
            "found by name where an event must say",
            {
                text("", "by_name: a, namespace: \"{{ .x }}\"", "")
                    .replace("source: event.x", "source: event.x, required: true")
                    .replace("name: a, namespace: n,", "name: a, namespace: \"{{ .x }}\",")
            },
            "2 9 12 13 17 19 | 1",
        ),
        (
            "found by name in a namespace with a prefix",
            {
                text("", "by_name: a, namespace: \"n-{{ .x }}\"", "")
                    .replace("name: a, namespace: n,", "name: a, namespace: \"n-{{ .x }}\",")
            },
            "2 9 12 13 17 19 | 1",
        ),
        ("after another resource", text(EARLIER, BY_NAME, ""), "2 7a 9 12 13 17 19 | 1"),
        ("a delete gate", text("", BY_NAME, &gate("delete", "x")), "2 5 6 7 9 12 13 17 19 | 1"),
        ("a delete gate that always holds", text("", BY_NAME, &gate("delete", "true")), "2 5 6 7 | 1"),
        (
            "a delete gate that never holds, or fails",
            text("", BY_NAME, &gate("delete", "x && false && y")),
            "2 9 12 13 17 19 | 1",
        ),
        ("a delete gate that never holds", text("", BY_NAME, &gate("delete", "false")), "2 9 12 13 17 19 | 1"),
        ("an orphan gate", text("", BY_NAME, &gate("orphan", "x")), "2 3 4 9 12 13 17 19 | 1"),
        ("an orphan gate of what is there", text("", BY_NAME, &gate("orphan", "has(resources.job)")), "2 3 9 12 | 1"),
        (
            "an orphan gate of what is there, perhaps another one's",
            text("", BY_LABELS, &gate("orphan", "has(resources.job)")),
            "2 3 4 9 12 | 1",
        ),
        ("a when", text("", BY_NAME, "    when: {expression: x}\n"), "2 8 9 12 13 17 19 | 1"),
        (
            "a when that creates only",
            text("", BY_NAME, "    when: {expression: \"!has(resources.job)\"}\n"),
            "2 8 12 | 1",
        ),
        ("a when that fails", text("", BY_NAME, "    when: {expression: 1 / 0 == 1}\n"), "2 | 1 8"),
        ("a create gate", text("", BY_NAME, &gate("create", "x")), "2 9 10 12 13 17 19 | 1"),
        ("an apply gate", text("", BY_NAME, &gate("apply", "x")), "2 9 11 12 13 16 17 19 | 1"),
        (
            "an apply gate that creates only",
            text("", BY_NAME, &gate("apply", "!has(resources.job)")),
            "2 9 12 13 16 | 1",
        ),
        ("a recreate gate", text("", BY_NAME, &gate("recreate", "x")), "2 9 12 13 14 17 19 | 1"),
        ("recreate_on_change", text("", BY_NAME, "    recreate_on_change: true\n"), "2 9 12 13 14 17 19 | 1"),
        (
            "a patch",
            text("", BY_NAME, "    lifecycle: {patch: [{when: {expression: x}, document: {a: 1}}]}\n"),
            "2 9 12 13 15 17 19 | 1",
        ),
        (
            "a patch that is always sent, after one that may be",
            text(
                "",
                BY_NAME,
                "    lifecycle: {patch: [{when: {expression: x}, document: {a: 1}}, {when: {expression: \"true\"}, document: {a: 1}}]}\n",
            ),
            "2 9 12 13 15 | 1",
        ),
        (
            "parts that exclude each other",
            text("", BY_NAME, &gate("recreate", "x == 'a' && x == 'b'")),
            "2 9 12 13 17 19 | 1 14",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(rows(&text), expected, "{name}\n{text}");
    }
}

#[test]
fn decisions_of_a_row_are_told_with_their_reasons() {
    let of = |text: &str, row: Row| {
        let task = task(text);
        let reached = reach(&task).pop().unwrap().rows().into_iter().find(|reached| reached.row == row).unwrap();
        let decisions = reached.decisions.iter().map(|(decision, reason)| format!("{decision} {reason}"));
        let failures = reached.failures.iter().map(|reason| format!("fail {}", reason.as_str()));
        decisions.chain(failures).collect::<Vec<_>>().join(", ")
    };
    let recreate = "    lifecycle: {recreate: {when: {expression: x}}, create: {when: {expression: y}}}\n";
    let retained = format!("    retention: {{historyLimit: 1}}\n{recreate}");
    let owned = "    owner: {resource: earlier}\n";
    let cases = [
        (
            text("", BY_NAME, recreate),
            Row::Recreate,
            "skip CreateGateFalse, recreate RecreateGateHolds, fail GateFailed",
        ),
        (
            text("", BY_LABELS, recreate),
            Row::Recreate,
            "skip CreateGateFalse, wait Terminating, recreate RecreateGateHolds, fail GateFailed",
        ),
        (
            text("", BY_LABELS, &retained),
            Row::Recreate,
            "fail VersionNameTaken, create_version RecreateGateHolds, fail GateFailed",
        ),
        (text(EARLIER, BY_NAME, owned), Row::SameGeneration, "skip SameGeneration, fail OwnerUnavailable"),
        (text(EARLIER, BY_NAME, owned), Row::Update, "update OwnerChanged, update GenerationChanged"),
        (text("", BY_NAME, ""), Row::Update, "update GenerationChanged"),
        (text("", BY_NAME, ""), Row::Disowned, "skip Disowned"),
        (text("", BY_LABELS, ""), Row::Disowned, "orphan Disowned, skip Disowned"),
        (
            text("", BY_NAME, ""),
            Row::Absent,
            "create Absent, fail RenderFailed, fail InvalidLabel, fail InvalidGeneration",
        ),
    ];
    for (text, row, expected) in cases {
        assert_eq!(of(&text, row), expected, "{row}\n{text}");
    }
}

#[test]
fn an_owner_may_have_to_wait_for_a_release_at_any_depth() {
    let entry = |name: &str, more: &str| {
        format!(
            "  - {{name: {name}, manifest: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: n}}}}, discovery: {{by_name: {name}, namespace: n}}{more}}}\n"
        )
    };
    let waits = |middle: &str, last: &str| {
        let top = entry("top", ", lifecycle: {delete: {when: {expression: x}}}");
        let task = task(&format!("{PARAMS}resources:\n{top}{}{}", entry("middle", middle), entry("last", last)));
        let top = reach(&task).remove(0).rows().into_iter().find(|reached| reached.row == Row::Delete).unwrap();
        top.decisions.contains(&("wait", "ReleasePending"))
    };
    let orphan = ", lifecycle: {orphan: {when: {expression: y}}}";
    assert!(waits(", owner: {resource: top}", &format!(", owner: {{resource: middle}}{orphan}")));
    assert!(waits("", &format!(", owner: {{resource: top}}{orphan}")));
    assert!(!waits("", &format!(", owner: {{resource: middle}}{orphan}")));
    assert!(!waits(", owner: {resource: top}", ", owner: {resource: middle}"));
}

/// What a gate may say; each is asked of random values.
fn expression() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "true",
        "false",
        "x",
        "x == 'a' && x == 'b'",
        "x == 'a'",
        "1 / 0 == 1",
        "has(resources.job)",
        "!has(resources.job)",
        "resources.job.status.ready == true",
        "resources.?job.?status.?ready.orValue(false)",
        "resources.job.metadata.name == y",
        "has(resources.earlier) || true",
        "x && false",
        "y || !resources.?job.hasValue()",
    ])
}

#[derive(Debug, Clone)]
struct Shape {
    has_earlier: bool,
    discovery: &'static str,
    has_owner: bool,
    is_retained: bool,
    recreates_on_change: bool,
    gates: Vec<Option<&'static str>>,
    patches: Vec<&'static str>,
}

fn shape() -> impl Strategy<Value = Shape> {
    let discoveries = prop::sample::select(vec![BY_NAME, BY_LABELS, "by_name: a", "by_name: b, namespace: n"]);
    let gates = prop::collection::vec(prop::option::of(expression()), 6);
    let patches = prop::collection::vec(expression(), 0..3);
    (any::<[bool; 4]>(), discoveries, gates, patches).prop_map(|(flags, discovery, gates, patches)| Shape {
        has_earlier: flags[0],
        discovery,
        has_owner: flags[0] && flags[1],
        is_retained: flags[2] && discovery == BY_LABELS,
        recreates_on_change: flags[3] && gates[3].is_none(),
        gates,
        patches,
    })
}

impl Shape {
    fn text(&self) -> String {
        let mut more = String::new();
        if self.has_owner {
            more += "    owner: {resource: earlier}\n";
        }
        if self.is_retained {
            more += "    retention: {historyLimit: 1}\n";
        }
        if self.recreates_on_change {
            more += "    recreate_on_change: true\n";
        }
        if let Some(when) = self.gates[0] {
            more += &format!("    when: {{expression: \"{when}\"}}\n");
        }
        more += "    lifecycle:\n      patch: [";
        let entry = |when: &&str| format!("{{when: {{expression: \"{when}\"}}, document: {{a: 1}}}}");
        more += &(self.patches.iter().map(entry).collect::<Vec<_>>().join(", ") + "]\n");
        for (key, gate) in ["create", "apply", "recreate", "orphan", "delete"].iter().zip(&self.gates[1..]) {
            if let Some(gate) = gate {
                more += &format!("      {key}: {{when: {{expression: \"{gate}\"}}}}\n");
            }
        }
        text(if self.has_earlier { EARLIER } else { "" }, self.discovery, &more)
    }
}

/// A version as discovery would find it.
#[derive(Debug, Clone)]
struct Live {
    name: &'static str,
    generation: Option<i64>,
    terminating: bool,
    disowned: bool,
}

fn live() -> impl Strategy<Value = Live> {
    let names = prop::sample::select(vec!["a", "b", "c"]);
    (names, prop::option::of(1..4_i64), any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(name, generation, terminating, disowned)| Live { name, generation, terminating, disowned })
}

fn version(live: &Live, name: &str) -> Version {
    let mut metadata = json!({"name": name, "namespace": "n", "uid": name, "labels": {}, "annotations": {}});
    if let Some(generation) = live.generation {
        metadata["annotations"][keys::GENERATION] = json!(generation.to_string());
    }
    if live.terminating {
        metadata["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    if live.disowned {
        metadata["labels"][keys::DISOWNED] = json!("x");
    }
    Version::new(json!({ "metadata": metadata }))
}

/// What an event brings.
#[derive(Debug, Clone)]
struct World {
    versions: Vec<Live>,
    is_read: bool,
    /// What expressions see of it where none belongs, if a selector found another one's.
    foreign: bool,
    x: Value,
    y: Value,
    ready: Option<bool>,
    earlier_is_read: bool,
    failed_earlier: bool,
    generation: i64,
    failure: Option<FailReason>,
    owner: Option<bool>,
}

fn world() -> impl Strategy<Value = World> {
    let values = || prop::sample::select(vec![json!(true), json!(false), json!("a"), json!("")]);
    let failures = prop::option::weighted(
        0.1,
        prop::sample::select(vec![FailReason::RenderFailed, FailReason::InvalidLabel, FailReason::InvalidGeneration]),
    );
    let flags = (prop::bool::weighted(0.95), any::<bool>(), prop::bool::weighted(0.8), prop::bool::weighted(0.2));
    let rest = (prop::option::of(any::<bool>()), 1..4_i64, failures, prop::option::weighted(0.9, any::<bool>()));
    (prop::collection::vec(live(), 0..3), flags, (values(), values()), rest).prop_map(
        |(
            versions,
            (is_read, foreign, earlier_is_read, failed_earlier),
            (x, y),
            (ready, generation, failure, owner),
        )| World {
            versions,
            is_read,
            foreign,
            x,
            y,
            ready,
            earlier_is_read,
            failed_earlier,
            generation,
            failure,
            owner,
        },
    )
}

/// Answers as an event would: gates are evaluated.
struct Event<'a> {
    resource: &'a Resource,
    world: &'a World,
    versions: &'a [Version],
    scope: Scope,
}

impl<'a> Event<'a> {
    fn new(resource: &'a Resource, world: &'a World, versions: &'a [Version]) -> Self {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("x", world.x.clone());
        scope.set("y", world.y.clone());
        scope.set("resources", json!({}));
        let by_name = matches!(resource.discovery.by, crate::task::DiscoverBy::Name(_));
        if !versions.is_empty() || world.foreign && !by_name {
            let mut object = json!({"metadata": {"name": "a"}});
            if let Some(ready) = world.ready {
                object["status"] = json!({ "ready": ready });
            }
            scope.set_member("resources", "job", Some(object));
        }
        Self { resource, world, versions, scope }
    }

    fn ask(&self, expression: &Expression, is_lenient: bool) -> GateAnswer {
        let reads_earlier = match expression.resource_reads() {
            ResourceReads::Any => true,
            ResourceReads::Only(names) => names.contains("earlier"),
        };
        if reads_earlier && !self.world.earlier_is_read {
            return GateAnswer::Failed("unread".to_owned());
        }
        match expression.evaluate(&self.scope) {
            Ok(Answer::Absent) => GateAnswer::Failed("no value".to_owned()),
            Ok(answer) if answer.is_truthy() => GateAnswer::Holds,
            Ok(_) => GateAnswer::DoesNotHold,
            Err(error) if is_lenient && error.is_missing_below(&["resources", "job", "status"]) => {
                GateAnswer::DoesNotHold
            }
            Err(error) => GateAnswer::Failed(error.to_string()),
        }
    }
}

impl Questions for Event<'_> {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        let gates = &self.resource.gates;
        let (expression, otherwise) = match gate {
            Gate::Orphan => (gates.orphan.as_ref(), GateAnswer::DoesNotHold),
            Gate::Delete => (gates.delete.as_ref().map(|gate| &gate.when), GateAnswer::DoesNotHold),
            Gate::When => (gates.when.as_ref(), GateAnswer::Holds),
            Gate::Create => (gates.create.as_ref(), GateAnswer::Holds),
            Gate::Apply => (gates.apply.as_ref(), GateAnswer::Holds),
            Gate::Recreate => match &gates.recreate {
                Some(Recreate::When(when)) => (Some(when), GateAnswer::DoesNotHold),
                Some(Recreate::OnChange) => {
                    let is_behind = |version: &Version| {
                        version.generation().is_some_and(|live| live < Generation(self.world.generation))
                    };
                    let holds = self.versions.iter().any(is_behind);
                    return if holds { GateAnswer::Holds } else { GateAnswer::DoesNotHold };
                }
                None => (None, GateAnswer::DoesNotHold),
            },
        };
        expression.map_or(otherwise, |expression| self.ask(expression, gate == Gate::Recreate))
    }

    fn patches(&mut self) -> Result<Vec<usize>, Failure> {
        let mut holding = Vec::new();
        for (place, patch) in self.resource.gates.patches.iter().enumerate() {
            match self.ask(&patch.when, true) {
                GateAnswer::Holds => holding.push(place),
                GateAnswer::DoesNotHold => {}
                GateAnswer::Failed(cause) => return Err(Failure::new(FailReason::GateFailed, cause)),
            }
        }
        Ok(holding)
    }

    fn wanted(&mut self) -> Result<Wanted, Failure> {
        match self.world.failure {
            Some(reason) => Err(Failure::new(reason, "")),
            None => Ok(Wanted {
                generation: Generation(self.world.generation),
                name: "a".to_owned(),
                namespace: "n".to_owned(),
            }),
        }
    }

    fn has_its_owner(&mut self, _: &Version) -> Result<bool, Failure> {
        match (self.resource.owner, self.world.owner) {
            (None, _) => Ok(true),
            (Some(_), Some(owned)) => Ok(owned),
            (Some(_), None) => Err(Failure::new(FailReason::OwnerUnavailable, "")),
        }
    }

    fn owns_what_is_to_be_released(&self) -> bool {
        false
    }

    fn retains_versions(&self) -> bool {
        self.resource.retention.is_some()
    }

    fn failed_earlier(&self) -> bool {
        self.world.failed_earlier
    }

    fn note_conflict(&mut self, _: GateAnswer) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_event_leads_elsewhere(shape in shape(), world in world()) {
        let text = shape.text();
        let task = task(&text);
        let reach = reach(&task).pop().unwrap();
        let mut world = world;
        world.failed_earlier &= shape.has_earlier;
        // Discovery by name finds that name, and in one namespace only one object.
        let name = match shape.discovery {
            BY_LABELS => None,
            discovery => Some(if discovery.contains("by_name: b") { "b" } else { "a" }),
        };
        if shape.discovery.contains("by_name") && shape.discovery.contains("namespace") {
            world.versions.truncate(1);
        }
        let versions: Vec<Version> = world.versions.iter().map(|live| version(live, name.unwrap_or(live.name))).collect();
        let seen = match world.is_read {
            true => Seen::Versions(versions.iter().collect()),
            false => Seen::Unknown("not read"),
        };
        let Decided { row, decision } = decide(&seen, &mut Event::new(reach.resource, &world, &versions));
        let reached = reach.rows().into_iter().find(|reached| reached.row == row);
        let Some(reached) = reached else { return Err(TestCaseError::fail(format!("{row} is not reached\n{text}"))) };
        let label = (decision.kind(), decision.reason());
        let is_told = reached.decisions.contains(&label)
            || reached.failures.iter().any(|reason| label == ("fail", reason.as_str()));
        prop_assert!(is_told, "{row}: {label:?} is not among {reached:?}\n{text}");
    }
}
