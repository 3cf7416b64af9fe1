//! A bundle of 100 objects of ten kinds: the CPU time of a pass that changes nothing, with the answers of the API server parsed, as
//! the adapter parses them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use jiff::Timestamp;
use lifecycle_bundle::need::{Request, Response};
use lifecycle_core::plan::{Next, Planner};
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::scope::Scope;
use lifecycle_objects::id::Generation;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Version};
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::{Command, Executed};
use serde_json::{Value, json};

use super::timing::time;
use super::{as_served, load_error};

/// The target for the CPU time of a pass over 100 objects.
const PASS: Duration = Duration::from_millis(5);

const KINDS: [(&str, &str); 10] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Service"),
    ("v1", "PodTemplate"),
    ("v1", "LimitRange"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
];

/// Times the pass for manifests that are written as mappings, as text, and as text with a template.
pub(super) fn time_all() -> anyhow::Result<()> {
    let objects: Vec<Value> = (0..100).map(object).collect();
    let text = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    let templated = format!("{text}\n---\n{{{{ if .absent }}}}kind: Pod{{{{ end }}}}\n");
    for (name, manifests) in
        [("mappings", json!(objects)), ("a text", json!([text])), ("a text with a template", json!([templated]))]
    {
        let world = World::new(&manifests)?;
        time(&format!("bundle: steady state of 100 objects, {name}"), PASS, || world.pass().is_ok());
    }
    Ok(())
}

/// An object of some size: its specification has 20 values.
fn object(number: usize) -> Value {
    let (api_version, kind) = KINDS[number % KINDS.len()];
    let values: serde_json::Map<_, _> =
        (0..20).map(|key| (format!("key-{key}"), json!(format!("value {key}")))).collect();
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": { "name": format!("object-{number}"), "namespace": "team" },
        "spec": values,
    })
}

struct World {
    task: Task,
    parent: String,
    /// The lists of the API server, by kind.
    lists: BTreeMap<String, String>,
}

impl World {
    fn new(manifests: &Value) -> anyhow::Result<Self> {
        let entry =
            json!({ "name": "set", "bundle": { "name": "parent", "namespace": "team", "manifests": manifests } });
        let params = json!([{ "name": "absent", "source": "event.absent" }]);
        let text = json!({ "params": params, "resources": [entry] }).to_string();
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", &text, &surroundings);
        let task = compiled.task.ok_or_else(|| load_error(&compiled.diagnostics))?;
        let mut parent = String::new();
        let mut created: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut planner = Planner::new(&task, stamp());
        let mut scope = scope();
        loop {
            match planner.next(&mut scope) {
                Next::Read(reads) => {
                    reads
                        .iter()
                        .for_each(|it| planner.observe(&mut scope, it.resource, Observation::Found(Vec::new())));
                }
                Next::Bundle(Request::Read(queries)) => {
                    planner.answer(Response::Read(queries.iter().map(|_| Observation::Found(Vec::new())).collect()));
                }
                Next::Bundle(Request::Write(commands)) => {
                    let mut answers = Vec::new();
                    for command in commands {
                        let Command::Create { desired, .. } = command else { bail!("unexpected {command:?}") };
                        let object = as_served(desired);
                        if ObjectRef::of(&object).name == "parent" {
                            parent = object.to_string();
                        } else {
                            created.entry(object["kind"].to_string()).or_default().push(object.clone());
                        }
                        answers.push(Executed::Created(object));
                    }
                    planner.answer(Response::Written(answers));
                }
                Next::Done => break,
                Next::Bundle(step) => bail!("unexpected {step:?}"),
                Next::Write(step) => bail!("unexpected {step:?}"),
            }
        }
        drop(planner);
        let lists = created.into_iter().map(|(kind, objects)| (kind, json!(objects).to_string())).collect();
        let world = Self { task, parent, lists };
        ensure!(world.lists.len() == KINDS.len(), "{} kinds were created", world.lists.len());
        world.pass()?;
        Ok(world)
    }

    /// One pass, which writes nothing.
    fn pass(&self) -> anyhow::Result<()> {
        let mut planner = Planner::new(&self.task, stamp());
        let mut scope = scope();
        loop {
            match planner.next(&mut scope) {
                Next::Read(reads) => {
                    for read in reads {
                        let parent = Version::new(serde_json::from_str(&self.parent)?);
                        planner.observe(&mut scope, read.resource, Observation::Found(vec![parent]));
                    }
                }
                Next::Bundle(Request::Read(queries)) => {
                    let answers: anyhow::Result<Vec<_>> = queries
                        .iter()
                        .map(|query| {
                            let kind = json!(query.kind.kind).to_string();
                            let list: Vec<Value> =
                                serde_json::from_str(self.lists.get(&kind).ok_or_else(|| anyhow!("no {kind}"))?)?;
                            Ok(Observation::Found(list.into_iter().map(Version::new).collect()))
                        })
                        .collect();
                    planner.answer(Response::Read(answers?));
                }
                Next::Done => return Ok(()),
                Next::Bundle(step) => bail!("a second pass wants {step:?}"),
                Next::Write(step) => bail!("a second pass wants {step:?}"),
            }
        }
    }
}

fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set("absent", json!(false));
    scope.set("resources", json!({}));
    scope
}

fn stamp() -> Stamp {
    Stamp {
        adapter: "bench".to_owned(),
        resource_id: "c1".to_owned(),
        resource_id_fault: None,
        generation: Generation(1),
        signer: None,
    }
}
