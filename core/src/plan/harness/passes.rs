//! Builds small tasks, and runs passes over a [`Store`].
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_bundle::guard::Guard;
use lifecycle_bundle::need::{Request, Response};
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::Generation;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::keys;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::store::Store;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::plan::{Next, Planner, Read, Write};
use crate::task::Task;
use crate::task::compile::{Surroundings, compile};

/// The variables that gates and manifests of tests may read, with their values unless a test sets others.
const VARIABLES: [(&str, bool); 5] =
    [("deleting", false), ("disowning", false), ("replacing", false), ("writing", true), ("creating", true)];

/// Returns the value of a gate's key with this expression.
pub fn when(expression: &str) -> Value {
    json!({ "when": { "expression": expression } })
}

/// An entry for a ConfigMap in the namespace `team`, discovered by its name.
pub fn config_map(name: &str) -> Value {
    json!({
        "name": name,
        "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "team" } },
        "discovery": { "namespace": "team", "by_name": name },
    })
}

/// An entry for `ConfigMap`s with the generation in their names, discovered by the label `app`.
pub fn selecting(name: &str) -> Value {
    let metadata = json!({
        "name": format!("{name}-{{{{ .generation }}}}"), "namespace": "team", "labels": { "app": "demo" }
    });
    json!({
        "name": name,
        "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata },
        "discovery": { "namespace": "team", "by_selectors": { "label_selector": { "app": "demo" } } },
    })
}

/// Merges `more` into an entry: sets the given keys, at every depth.
pub fn with(mut entry: Value, more: Value) -> Value {
    fn set(value: &mut Value, more: Value) {
        match (value, more) {
            (Value::Object(fields), Value::Object(more)) => {
                for (key, more) in more {
                    set(fields.entry(key).or_insert(Value::Null), more);
                }
            }
            (value, more) => *value = more,
        }
    }
    set(&mut entry, more);
    entry
}

/// Adds a gate below `lifecycle` to an entry.
pub fn gated(entry: Value, gate: &str, expression: &str) -> Value {
    with(entry, json!({ "lifecycle": { gate: when(expression) } }))
}

#[track_caller]
pub fn task(resources: &[Value]) -> Task {
    let names = VARIABLES.into_iter().map(|(name, _)| name).chain(["generation", "stage", "unset"]);
    let params: Vec<Value> = names.map(|name| json!({ "name": name, "source": format!("event.{name}") })).collect();
    let text = json!({ "params": params, "resources": resources }).to_string();
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

/// The stamp of the adapter `tester` for the cluster `c1`.
pub fn stamp(generation: i64) -> Stamp {
    Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c1".to_owned(),
        resource_id_fault: None,
        generation: Generation(generation),
        signer: None,
    }
}

/// Returns the scope of an event before any object is read.
pub fn scope(store: &Store, generation: i64, variables: &[(&str, Value)]) -> Scope {
    let mut scope = Scope::new(store.now);
    scope.set("generation", json!(generation));
    scope.set("stage", json!("one"));
    scope.set("resources", json!({}));
    for (name, value) in VARIABLES {
        scope.set(name, json!(value));
    }
    for (name, value) in variables {
        scope.set(name, value.clone());
    }
    scope
}

/// The result of one pass.
#[derive(Debug)]
pub struct Pass {
    pub outcomes: Vec<Outcome>,
    /// The variables at the end of the pass.
    pub scope: Scope,
    /// The writes, each with the name of the resource.
    pub calls: Vec<(String, String)>,
}

impl Pass {
    /// Returns for each resource: decision, reason, result, and number of the row.
    pub fn results(&self) -> Vec<(&str, &str, &str, &str)> {
        let row_of = |outcome: &'_ Outcome| {
            let reason = outcome.failure().map_or_else(|| outcome.decision.reason(), |failure| failure.reason.as_str());
            (outcome.decision.kind().as_str(), reason, outcome.result.as_str(), outcome.row.number())
        };
        self.outcomes.iter().map(row_of).collect()
    }

    /// Returns those of the only resource.
    #[track_caller]
    pub fn result(&self) -> (&str, &str, &str, &str) {
        let [result] = self.results()[..] else { panic!("{:?}", self.results()) };
        result
    }

    /// Returns what expressions see of a resource at the end of the pass.
    pub fn visible(&self, name: &str) -> Option<&Value> {
        self.scope.get("resources")?.get(name)
    }

    /// Returns the reasons of all warnings.
    pub fn warnings(&self) -> Vec<&str> {
        let warnings = self.outcomes.iter().flat_map(|outcome| &outcome.warnings);
        warnings.map(|warning| warning.reason.as_str()).collect()
    }
}

/// Runs a pass of an event of this generation.
#[track_caller]
pub fn pass(task: &Task, store: &mut Store, generation: i64, variables: &[(&str, Value)]) -> Pass {
    pass_of(task, store, stamp(generation), variables)
}

/// Runs a pass with another stamp.
#[track_caller]
pub fn pass_of(task: &Task, store: &mut Store, stamp: Stamp, variables: &[(&str, Value)]) -> Pass {
    let mut scope = scope(store, stamp.generation.0, variables);
    let mut planner = Planner::new(task, stamp);
    let mut calls = Vec::new();
    loop {
        let before = store.log.len();
        let resource = match planner.next(&mut scope) {
            Next::Read(reads) => {
                observe(&mut planner, store, &mut scope, reads);
                continue;
            }
            Next::Write(step) => {
                let executed = store.execute(step.command);
                planner.record(&mut scope, executed);
                step.resource
            }
            Next::Bundle(step) => {
                planner.answer(answer(store, step));
                "members".to_owned()
            }
            Next::Done => break,
        };
        calls.extend(store.log[before..].iter().map(|call| (resource.clone(), call.clone())));
    }
    Pass { outcomes: planner.into_outcomes(), scope, calls }
}

fn observe(planner: &mut Planner<'_>, store: &Store, scope: &mut Scope, reads: Vec<Read>) {
    for Read { resource, query } in reads {
        planner.observe(scope, resource, store.find(&query));
    }
}

/// Carries out a step for the members of a bundle. Inspections find what is no member.
pub fn answer(store: &mut Store, step: Request) -> Response {
    match step {
        Request::Read(queries) => Response::Read(queries.iter().map(|query| store.find(query)).collect()),
        Request::Write(commands) => {
            Response::Written(commands.into_iter().map(|command| store.execute(command)).collect())
        }
        Request::Inspect(inspections, members) => {
            let objects = store.objects();
            let found = |inspection: &Inspection| {
                store.permit(match inspection {
                    Inspection::Instances(types) => format!("inspect {types}"),
                    Inspection::Namespace(name) => format!("inspect {name}"),
                })?;
                let mut guard = Guard::new(inspection, &members);
                Ok(objects.iter().find_map(|object| guard.look_at(object)).or_else(|| guard.finish()))
            };
            Response::Inspected(inspections.iter().map(found).collect())
        }
    }
}

/// Returns a live object for a store, with these labels and this generation annotation.
pub fn live(kind: &str, name: &str, labels: Value, generation: Option<i64>) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": { "name": name, "namespace": "team", "labels": labels, "creationTimestamp": "2025-12-01T00:00:00Z" }
    });
    if let Some(generation) = generation {
        object["metadata"]["annotations"] = json!({ keys::GENERATION: generation.to_string() });
    }
    object
}

/// Returns the labels of an object that a resource of [`selecting`] wrote.
pub fn labels(resource: &str) -> Value {
    json!({ "app": "demo", keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: resource })
}

/// Returns a version that a resource of [`selecting`] wrote on a day of December.
pub fn version(resource: &str, name: &str, generation: i64, day: u32) -> Value {
    let created = json!({ "metadata": { "creationTimestamp": format!("2025-12-{day:02}T00:00:00Z") } });
    with(live("ConfigMap", name, labels(resource), Some(generation)), created)
}

/// Sets a variable to true.
pub fn yes(name: &str) -> [(&str, Value); 1] {
    [(name, json!(true))]
}

/// Asserts that another pass of the same event writes nothing.
#[track_caller]
pub fn assert_settled(task: &Task, store: &mut Store, generation: i64, variables: &[(&str, Value)]) {
    let (log, before) = (store.log.clone(), store.objects());
    let again = pass(task, store, generation, variables);
    assert_eq!(store.log, log, "a second pass wrote: {:?}", again.results());
    assert_eq!(store.objects(), before);
}

/// Returns the first write of a pass over this store.
#[track_caller]
pub fn first_step<'t>(task: &'t Task, store: &Store, scope: &mut Scope) -> (Planner<'t>, Write) {
    let generation = scope.get("generation").and_then(Value::as_i64).unwrap();
    let mut planner = Planner::new(task, stamp(generation));
    let step = next_step(&mut planner, store, scope).unwrap();
    (planner, step)
}

/// Returns the planner's next write, after answering its reads from the store.
pub fn next_step(planner: &mut Planner<'_>, store: &Store, scope: &mut Scope) -> Option<Write> {
    loop {
        match planner.next(scope) {
            Next::Read(reads) => observe(planner, store, scope, reads),
            Next::Write(step) => return Some(*step),
            Next::Bundle(step) => panic!("the members of a bundle are written by a whole pass: {step:?}"),
            Next::Done => return None,
        }
    }
}
