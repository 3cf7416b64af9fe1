//! A transport that has each write judged before it is sent, by what is on the server at that moment.
//!
//! In: what the life demands of each object. Out: the calls, and the invariants that they broke. The calls have to come one at a
//! time, as [`Breaking`](crate::breaking::Breaking) makes them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError};
use lifecycle_transport::Transport;
use lifecycle_transport::kubernetes::KubernetesTransport;
use serde_json::Value;

use super::cluster::{Cluster, Site, is_member};
use super::judge::{Demand, Write, judge};
use crate::world::{ENTRY, text};

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
    site: Site,
    record: Arc<Mutex<Record>>,
}

impl Witness {
    pub(crate) fn new(wire: KubernetesTransport, client: Client, site: Site) -> Self {
        Self { wire, client, site, record: Arc::default() }
    }

    pub(crate) async fn cluster(&self) -> Result<Cluster> {
        Cluster::read(&self.client, &self.site).await
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
            let cluster = self.cluster().await?;
            let demand = self.record().demand.clone().context("no demand")?;
            judge(write, name, &cluster, &demand)
        };
        let verdict = verdict.await.err().map(|error| format!("{write:?} of {name}: {error:#}"));
        self.record().violations.extend(verdict);
    }

    fn note<T>(&self, verb: &str, name: &str, answer: &Result<T, WriteError>) {
        let refused = answer.as_ref().err().map(|error| format!(": {error}")).unwrap_or_default();
        self.record().calls.push(format!("{verb} {name}{refused}"));
    }
}

impl Transport for Witness {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        self.wire.find(query).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.wire.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        let name = text(desired, "/metadata/name");
        self.judge(Write::Create(text(desired, "/kind")), name).await;
        let answer = self.wire.create(desired, destination).await;
        self.note("create", name, &answer);
        // An answer may be lost on its way.
        if name != ENTRY
            && let Ok(cluster) = self.cluster().await
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
        let is_disowning = document.pointer("/metadata/labels").is_some();
        self.judge(if is_disowning { Write::Disown } else { Write::Depart }, &target.name).await;
        let answer = self.wire.patch(document, target).await;
        self.note("patch", &target.name, &answer);
        // Only the policy has an object disowned, as the judge made sure.
        if is_disowning {
            self.record().created.remove(&target.uid);
        }
        answer
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.judge(Write::Delete, &target.name).await;
        let answer = self.wire.delete(target, propagation).await;
        self.note("delete", &target.name, &answer);
        answer
    }
}
