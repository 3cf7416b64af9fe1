//! A namespace in memory with controllers and faults, and the state that a client keeps between two calls.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use lifecycle_bundle::guard::Members;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteErrorKind};
use lifecycle_transport::memory::MemoryTransport;
use promptkit_deploy::protocol::{Change, ResourceHealth};
use promptkit_deploy::state::State;
use serde_json::json;
use tokio::sync::Notify;

use super::super::*;
use crate::config;
use crate::labels::{self, Claim};

/// A write that does not go as it should.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The writes to this object, such as `AgentRuntime a`, are refused.
    Refuse(String),
    /// The program dies after so many writes.
    Crash(usize),
    /// The objects of this kind cannot be listed; of one, not even by name.
    Unlisted(&'static str, Option<&'static str>),
}

impl Fault {
    pub(super) fn refuse(object: &str) -> Self {
        Self::Refuse(object.to_owned())
    }
}

/// The cluster of a world.
pub(super) struct Cluster {
    memory: MemoryTransport,
    fault: Option<Fault>,
    status: Value,
    log: Mutex<Vec<String>>,
    crashed: Arc<Notify>,
}

impl Cluster {
    /// Lets a write pass, and notes it; or refuses it.
    fn write(&self, verb: &str, object: String) -> Result<(), WriteError> {
        if matches!(&self.fault, Some(Fault::Refuse(refused)) if *refused == object) {
            return Err(refusal(verb));
        }
        let verb = if verb == "delete" { "delete " } else { "" };
        self.log.lock().unwrap().push(format!("{verb}{object}"));
        Ok(())
    }

    /// Never returns once the program is dead.
    async fn survive(&self) {
        if matches!(self.fault, Some(Fault::Crash(after)) if self.log.lock().unwrap().len() > after) {
            self.crashed.notify_one();
            pending::<()>().await;
        }
    }

    /// What the controller of agents does: it writes a status.
    fn control(&self, object: Value) -> Value {
        if object["kind"] == "AgentRuntime" {
            let mut status = self.status.clone();
            status["observedGeneration"] = object["metadata"]["generation"].clone();
            self.memory.patch_outside(&ObjectRef::of(&object), &json!({ "status": status })).unwrap();
        }
        object
    }
}

fn refusal(verb: &str) -> WriteError {
    let message = "no right".to_owned();
    WriteError { kind: WriteErrorKind::Forbidden, call: verb.to_owned(), status: Some(403), message }
}

fn named(object: &Value) -> String {
    format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

impl Transport for Cluster {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        if let Some(Fault::Unlisted(kind, name)) = &self.fault
            && query.kind.kind == *kind
        {
            let is_read = match &query.by {
                QueryBy::Name(of) => name.is_none_or(|name| name != of),
                QueryBy::Labels(_) => false,
            };
            if !is_read {
                return Err(refusal("list"));
            }
        }
        self.memory.find(query).await
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.memory.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.write("create", named(desired))?;
        let object = self.control(self.memory.create(desired, destination).await?);
        self.survive().await;
        Ok(object)
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.memory.dry_run_create(desired, destination).await
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.write("update", named(desired))?;
        let object = self.control(self.memory.update(desired, target, live, mode).await?);
        self.survive().await;
        Ok(object)
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.memory.patch(document, target).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.write("delete", format!("{} {}", target.kind.kind, target.name))?;
        let deletion = self.memory.delete(target, propagation).await;
        self.survive().await;
        deletion
    }
}

/// A pack with these agents and tools.
pub(super) fn pack(agents: &[&str], tools: &[&str], version: &str) -> Value {
    let members: serde_json::Map<String, Value> = agents.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let tools: serde_json::Map<String, Value> =
        tools.iter().map(|name| ((*name).to_owned(), json!({ "parameters": { "type": "object" } }))).collect();
    json!({
        "id": "p", "version": version, "tools": tools, "prompts": {},
        "agents": { "entry": agents.first(), "members": members },
    })
}

/// A namespace, the pack that is deployed to it, and what the client has.
pub(super) struct World {
    pub(super) pack: Value,
    pub(super) fault: Option<Fault>,
    /// What controllers write as the status of agents.
    pub(super) status: Value,
    pub(super) state: State,
    pub(super) surface: Surface,
    /// Whether the client keeps its old state where a call fails, as today's does.
    pub(super) is_forgetful: bool,
    /// The existing registry that the configuration names.
    pub(super) registry: Option<&'static str>,
    memory: Option<MemoryTransport>,
    log: Vec<String>,
    config: Config,
}

impl World {
    pub(super) fn new() -> Self {
        let provider = json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "Provider",
            "metadata": { "name": "claude", "namespace": "team" }, "status": { "phase": "Ready" },
        });
        let config = json!({ "kubeconfig": "in-cluster", "workspace": "team", "providers": { "default": "claude" } });
        Self {
            pack: pack(&[], &[], "1.0.0"),
            fault: None,
            status: json!({ "phase": "Running" }),
            state: State::default(),
            surface: Surface::Cluster,
            is_forgetful: false,
            registry: None,
            memory: Some(MemoryTransport::new(Timestamp::UNIX_EPOCH).with_objects([provider]).unwrap()),
            log: Vec::new(),
            config: config::check(&config, &BTreeMap::new()).0.unwrap(),
        }
    }

    fn memory(&self) -> &MemoryTransport {
        self.memory.as_ref().unwrap()
    }

    /// Runs a call, for which no time passes.
    fn run<R>(&mut self, call: impl AsyncFnOnce(&Site<Cluster>, &Call<'_, Config>) -> R) -> Option<R> {
        let crashed = Arc::new(Notify::new());
        let cluster = Cluster {
            memory: self.memory.take().unwrap(),
            fault: self.fault.clone(),
            status: self.status.clone(),
            log: Mutex::default(),
            crashed: Arc::clone(&crashed),
        };
        let site = Site { transport: cluster, surface: self.surface };
        let (stop, pack, prior) = (CancellationToken::new(), self.pack.to_string(), self.state.clone());
        let config = Config { tool_registry_ref: self.registry.map(str::to_owned), ..self.config.clone() };
        let config = &config;
        let of_call = Call { config, pack: &pack, arena_config: "", environment: "", prior: &prior, stop: &stop };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let end = runtime.block_on(async {
            tokio::select! {
                end = call(&site, &of_call) => Some(end),
                () = crashed.notified() => None,
            }
        });
        self.log.extend(site.transport.log.into_inner().unwrap());
        self.memory = Some(site.transport.memory);
        end
    }

    fn keep(&mut self, account: &Account) {
        if !self.is_forgetful || account.errors().is_empty() {
            self.state = account.state();
        }
    }

    /// What ended an apply before its first write.
    pub(super) fn refused(&mut self) -> DeployError {
        let account = Account::new(self.state.clone());
        self.run(async |site, call| site.apply(call, &account).await).unwrap().unwrap_err()
    }

    /// Applies; a crash loses the account, as it loses the answer.
    pub(super) fn try_apply(&mut self) -> Option<Account> {
        let account = Account::new(self.state.clone());
        self.run(async |site, call| site.apply(call, &account).await)?.unwrap();
        self.keep(&account);
        Some(account)
    }

    pub(super) fn apply(&mut self) -> Account {
        self.try_apply().unwrap()
    }

    pub(super) fn try_destroy(&mut self) -> Option<Account> {
        let account = Account::new(self.state.clone());
        self.run(async |site, call| site.destroy(call, &account).await)?.unwrap();
        self.keep(&account);
        Some(account)
    }

    pub(super) fn destroy(&mut self) -> Account {
        self.try_destroy().unwrap()
    }

    /// The plan, as `ACTION type.name`, and the fields that differ.
    pub(super) fn plan(&mut self) -> Vec<String> {
        let plan = self.run(async |site, call| site.plan(call).await).unwrap().unwrap();
        let line = |change: Change| {
            let action = serde_json::to_value(change.action).unwrap();
            let detail = if change.detail.contains(':') { format!(" ({})", change.detail) } else { String::new() };
            format!("{} {}.{}{detail}", action.as_str().unwrap(), change.kind, change.name)
        };
        plan.changes.into_iter().map(line).collect()
    }

    pub(super) fn health(&mut self) -> Vec<ResourceHealth> {
        self.run(async |site, call| site.status(call).await).unwrap().resources
    }

    /// What was written since this was asked last.
    pub(super) fn written(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// The objects of the pack, sorted.
    pub(super) fn ours(&self) -> Vec<String> {
        let objects = self.objects();
        let is_ours = |object: &&Value| labels::claim(&labels::read(object), "p") == Claim::Ours;
        let mut ours: Vec<_> = objects.iter().filter(is_ours).map(named).collect();
        ours.sort();
        ours
    }

    pub(super) fn exists(&self, object: &str) -> bool {
        self.objects().iter().any(|it| named(it) == object)
    }

    pub(super) fn objects(&self) -> Vec<Value> {
        self.memory().objects()
    }

    /// A registry of the pack with these tools exists.
    pub(super) fn bind(&mut self, name: &str, tools: &[&str]) {
        let handlers: Vec<_> =
            tools.iter().map(|tool| json!({ "tool": { "name": tool, "inputSchema": { "type": "object" } } })).collect();
        self.put(json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "ToolRegistry",
            "metadata": {
                "name": name, "namespace": "team",
                "labels": { labels::MANAGED_BY: labels::MANAGER, labels::PACK_ID: "p" },
            },
            "spec": { "handlers": handlers },
        }));
    }

    pub(super) fn put(&mut self, object: Value) {
        self.memory = self.memory.take().map(|memory| memory.with_objects([object]).unwrap());
    }

    fn reference(kind: &str, name: &str) -> ObjectRef {
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind).unwrap();
        ObjectRef { kind: kind.version_kind(), namespace: Some("team".to_owned()), name: name.to_owned() }
    }

    pub(super) fn patch(&self, kind: &str, name: &str, document: &Value) {
        self.memory().patch_outside(&Self::reference(kind, name), document).unwrap();
    }

    pub(super) fn remove(&self, kind: &str, name: &str) {
        self.memory().delete_outside(&Self::reference(kind, name));
    }
}
