//! A transport that judges each write before it is sent, by what is on the server at that moment.
//!
//! In: what the life demands of each object. Out: the calls, and the invariants that they broke. The calls have to come one at a
//! time, as [`Breaking`](crate::breaking::Breaking) makes them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use hyperfleet_adapter::transport::kubernetes::KubernetesTransport;
use hyperfleet_adapter::transport::{Deletion, Transport};
use kube::Client;
use kube::api::ListParams;
use lifecycle_core::bundle::session::{Inspection, Members};
use lifecycle_core::destination::Destination;
use lifecycle_core::observation::{Query, Version};
use lifecycle_core::task::PropagationPolicy;
use lifecycle_core::write::{Target, UpdateMode, WriteError};
use serde_json::{Value, json};

use super::life::Shape;
use crate::world::{ADAPTER, ENTRY, SUITE, api, text};

pub(crate) const OWNER: &str = "hyperfleet.io/adapter";
pub(crate) const PART_OF: &str = "applyset.kubernetes.io/part-of";
const DISOWNED: &str = "hyperfleet.io/disowned";
/// The labels of a member.
pub(crate) const LABELS: [&str; 4] = [OWNER, "hyperfleet.io/resource-id", "hyperfleet.io/resource", PART_OF];

/// The name of the object at a place of the life.
pub(crate) fn name(place: usize) -> String {
    format!("o{place}")
}

pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str)
}

pub(crate) fn is_member(object: &Value) -> bool {
    LABELS.iter().all(|key| label(object, key).is_some()) && label(object, OWNER) == Some(ADAPTER)
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// Whether the status of an object says that it works.
fn is_ready(object: &Value) -> bool {
    let is_observed = || {
        object["status"]["observedGeneration"] == object["metadata"]["generation"]
            && object.pointer("/status/conditions/0/status") == Some(&json!("True"))
    };
    !is_terminating(object) && (object["kind"] != "Foo" || is_observed())
}

/// What the life demands.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) is_wanted: Vec<bool>,
    pub(crate) is_deleting: bool,
}

/// What is on the server.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The objects of the life by their names.
    pub(crate) objects: BTreeMap<String, Value>,
    pub(crate) parent: Option<Value>,
}

impl Cluster {
    /// Reads all objects of a namespace.
    pub(crate) async fn read(client: &Client, namespace: &str) -> Result<Self> {
        let foos = format!("{SUITE}/v1");
        let lists = [("v1", "ConfigMap"), ("v1", "Secret"), (foos.as_str(), "Foo")].map(async |(version, kind)| {
            let like = json!({ "apiVersion": version, "kind": kind, "metadata": { "namespace": namespace } });
            let list = api(client, &like).list(&ListParams::default()).await?;
            anyhow::Ok(list.into_iter().map(move |object| (kind, object)))
        });
        let mut objects = BTreeMap::new();
        for (kind, object) in try_join_all(lists).await?.into_iter().flatten() {
            let mut object = serde_json::to_value(object)?;
            // The items of a list do not say their kind.
            object["kind"] = json!(kind);
            objects.insert(text(&object, "/metadata/name").to_owned(), object);
        }
        objects.remove("kube-root-ca.crt");
        let parent = objects.remove(ENTRY);
        Ok(Self { objects, parent })
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.iter().filter(|(_, object)| is_member(object))
    }

    /// Whether the parent remembers that an object has served.
    pub(crate) fn has_served(&self, name: &str) -> bool {
        let memory = self.parent.as_ref().map(|parent| text(parent, "/data/memory")).unwrap_or_default();
        let memory: Value = serde_json::from_str(memory).unwrap_or_default();
        let end = format!("/{name}");
        memory["completed"].as_object().is_some_and(|completed| completed.keys().any(|key| key.ends_with(&end)))
    }

    /// Whether the parent names a kind to all who look for members.
    fn names(&self, kind: &str) -> bool {
        let annotations = self.parent.as_ref().and_then(|parent| parent.pointer("/metadata/annotations"));
        let kinds = annotations.and_then(|it| it["applyset.kubernetes.io/contains-group-kinds"].as_str());
        kinds.is_some_and(|kinds| kinds.split(',').any(|it| it.split('.').next() == Some(kind)))
    }

    /// A wanted object of an earlier wave, or of any without one, that neither is ready nor has served.
    fn unready(&self, demand: &Demand, before: Option<i16>) -> Option<String> {
        let wanted = (0..demand.shapes.len()).filter(|place| demand.is_wanted[*place]);
        let mut earlier =
            wanted.filter(|it| before.is_none_or(|order| demand.shapes[*it].settings.apply_order < order));
        let unready = earlier.find(|place| {
            let live = self.objects.get(&name(*place));
            !live.is_some_and(|object| is_member(object) && is_ready(object)) && !self.has_served(&name(*place))
        });
        unready.map(name)
    }
}

/// The delete policy and the delete order with which a member was written last.
fn departure(object: &Value) -> Result<(&str, i16)> {
    let annotations = &object["metadata"]["annotations"];
    let said = annotations["hyperfleet.io/deletion"].as_str().context("no annotation `deletion`")?;
    let (policy, rest) = said.split_once(',').context("no order")?;
    Ok((policy, rest.split(',').next().unwrap_or_default().parse()?))
}

/// What is known about the calls.
#[derive(Debug, Default)]
struct Record {
    calls: Vec<String>,
    violations: Vec<String>,
    /// The UIDs of objects that the adapter created.
    created: BTreeSet<String>,
    demand: Option<Demand>,
}

/// A transport that judges what it is told to write.
#[derive(Clone)]
pub(crate) struct Witness {
    wire: KubernetesTransport,
    client: Client,
    namespace: String,
    record: Arc<Mutex<Record>>,
}

/// A write of an object of the life, or of the parent.
#[derive(Debug, Clone, Copy)]
enum Write<'a> {
    Create(&'a str),
    Update,
    Patch,
    Delete,
}

impl Witness {
    pub(crate) fn new(wire: KubernetesTransport, client: Client, namespace: &str) -> Self {
        Self { wire, client, namespace: namespace.to_owned(), record: Arc::default() }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what the life demands from now on.
    pub(crate) fn expect(&self, demand: Demand) {
        self.record().demand = Some(demand);
    }

    /// The writing calls since this was asked last. Fails if one of them broke an invariant.
    pub(crate) fn calls(&self) -> Result<Vec<String>> {
        let mut record = self.record();
        let calls = std::mem::take(&mut record.calls);
        ensure!(record.violations.is_empty(), "{}\nafter these calls: {calls:#?}", record.violations.join("\n"));
        Ok(calls)
    }

    /// Whether the adapter created this object, and has to delete it in the end.
    pub(crate) fn has_created(&self, object: &Value) -> bool {
        self.record().created.contains(text(object, "/metadata/uid"))
    }

    /// Takes an object for nobody's from now on.
    pub(crate) fn give_away(&self, object: &Value) {
        self.record().created.remove(text(object, "/metadata/uid"));
    }

    async fn judge(&self, write: Write<'_>, name: &str) {
        let verdict = async {
            let cluster = Cluster::read(&self.client, &self.namespace).await?;
            let demand = self.record().demand.clone().context("no demand")?;
            if name == ENTRY { judge_parent(write, &cluster) } else { judge(write, name, &cluster, &demand) }
        };
        let verdict = verdict.await.err().map(|error| format!("{write:?} of {name}: {error:#}"));
        self.record().violations.extend(verdict);
    }

    fn note<T>(&self, verb: &str, name: &str, answer: &Result<T, WriteError>) {
        let refused = answer.as_ref().err().map(|error| format!(": {error}")).unwrap_or_default();
        self.record().calls.push(format!("{verb} {name}{refused}"));
    }
}

fn judge_parent(write: Write<'_>, cluster: &Cluster) -> Result<()> {
    if matches!(write, Write::Delete) {
        let left: Vec<_> = cluster.members().map(|(name, _)| name).collect();
        ensure!(left.is_empty(), "{left:?} are still members");
    }
    Ok(())
}

fn judge(write: Write<'_>, name: &str, cluster: &Cluster, demand: &Demand) -> Result<()> {
    let place: usize = name[1..].parse()?;
    let settings = &demand.shapes[place].settings;
    let is_wanted = demand.is_wanted[place] && !demand.is_deleting;
    let live = cluster.objects.get(name);
    let in_turn = || {
        let unready = cluster.unready(demand, Some(settings.apply_order));
        ensure!(unready.is_none(), "it is of wave {}, and {unready:?} is not ready", settings.apply_order);
        Ok(())
    };
    match write {
        // The server refuses it.
        Write::Create(_) if live.is_some() => {}
        Write::Create(kind) => {
            ensure!(is_wanted, "it is not wanted");
            ensure!(cluster.names(kind), "the parent does not name the kind {kind}: {:?}", cluster.parent);
            in_turn()?;
        }
        Write::Update => {
            ensure!(is_wanted, "it is not wanted");
            let live = live.context("there is no such object")?;
            ensure!(!is_terminating(live), "it is terminating");
            if !is_member(live) {
                ensure!(label(live, DISOWNED).is_none(), "it was disowned");
                let set = label(cluster.parent.as_ref().context("no parent")?, "applyset.kubernetes.io/id");
                let is_anothers = label(live, OWNER).is_some_and(|owner| owner != ADAPTER)
                    || label(live, PART_OF).is_some_and(|part| Some(part) != set);
                let may_adopt = match settings.adoption {
                    "always" => true,
                    "if-unowned" => !is_anothers,
                    _ => false,
                };
                ensure!(may_adopt, "it is somebody else's, and its policy is {}: {live}", settings.adoption);
            }
            in_turn()?;
        }
        Write::Patch | Write::Delete => {
            let live = live.context("there is no such object")?;
            ensure!(is_member(live), "it is no member: {live}");
            if is_wanted {
                ensure!(matches!(write, Write::Delete), "it is wanted");
                if let Some(purge) = settings.purge_order.filter(|_| cluster.has_served(name)) {
                    let unready = cluster.unready(demand, Some(purge.max(settings.apply_order) + 1));
                    ensure!(unready.is_none(), "it is purged before {unready:?} is ready");
                    return Ok(());
                }
                ensure!(settings.update == "recreate", "it is wanted, and has not served");
                return in_turn();
            }
            let (policy, order) = departure(live)?;
            let is_kept =
                policy == "orphan" || policy == if demand.is_deleting { "orphan-on-delete" } else { "orphan-on-apply" };
            ensure!(is_kept == matches!(write, Write::Patch), "its policy is {policy}");
            if !demand.is_deleting {
                let unready = cluster.unready(demand, None);
                ensure!(unready.is_none(), "something leaves before {unready:?} is ready");
            }
            for (other, object) in cluster.members() {
                let is_to_go = demand.is_deleting || !other[1..].parse().is_ok_and(|it: usize| demand.is_wanted[it]);
                let (_, theirs) = departure(object)?;
                ensure!(!is_to_go || theirs >= order, "it goes in wave {order}, and {other} of wave {theirs} is there");
            }
        }
    }
    Ok(())
}

impl Transport for Witness {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.wire.find(query).await
    }

    async fn find_in_any_version(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.wire.find_in_any_version(query).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<String>, WriteError> {
        self.wire.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        let name = text(desired, "/metadata/name");
        self.judge(Write::Create(text(desired, "/kind")), name).await;
        let answer = self.wire.create(desired, destination).await;
        self.note("create", name, &answer);
        // An answer may be lost on its way.
        if name != ENTRY
            && let Ok(cluster) = Cluster::read(&self.client, &self.namespace).await
            && let Some(object) = cluster.objects.get(name).filter(|object| is_member(object))
        {
            self.record().created.insert(text(object, "/metadata/uid").to_owned());
        }
        answer
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.wire.dry_run_create(desired, destination).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.judge(Write::Update, &target.name).await;
        let answer = self.wire.update(desired, target, live, mode).await;
        self.note("update", &target.name, &answer);
        answer
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.judge(Write::Patch, &target.name).await;
        let answer = self.wire.patch(document, target).await;
        self.note("patch", &target.name, &answer);
        // Only the policy has an object disowned, as the judge made sure.
        self.record().created.remove(&target.uid);
        answer
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.judge(Write::Delete, &target.name).await;
        let answer = self.wire.delete(target, propagation).await;
        self.note("delete", &target.name, &answer);
        answer
    }
}
