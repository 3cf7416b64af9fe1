//! The set of a pack's objects: how the set engine keeps it, and how its objects are called.
//!
//! In: the wanted objects, the state, and where they are written. Out: what a pass begins with, and the [`Catalog`] of its objects. Fails:
//! if an object cannot be one of a set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_bundle::draft::Draft;
use lifecycle_bundle::member::Rendered;
use lifecycle_bundle::memory::{Memory, Stored};
use lifecycle_bundle::pass::{Beginning, Pass};
use lifecycle_bundle::policy::{Adoption, Delete, Policies, Reconcile, Settings, Update};
use lifecycle_bundle::prepare::{Source, prepare};
use lifecycle_bundle::setting::{Barrier, Setting};
use lifecycle_bundle::table::Intent;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Described as _, Query, QueryBy, Version};
use lifecycle_objects::readiness::Hints;
use lifecycle_objects::write::WriteError;
use lifecycle_transport::Transport;
use promptkit_deploy::account::Account;
use promptkit_deploy::drive::Catalog;
use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::poll::{Probe, Unready, poll};
use promptkit_deploy::protocol::{Action, Link, ResourceStatus};
use promptkit_deploy::state::{Entry, State};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::desired::Object;
use crate::errors::{deploy_error, is_passing};
use crate::kinds::{Kind, Surface};
use crate::labels;
use crate::marks::{Known, Last, PackMarks};
use crate::readiness::{Readiness, generation, readiness};

/// The pause between two looks at an agent that is not ready yet.
const EVERY: Duration = Duration::from_secs(2);
/// How often an agent is looked at.
const PROBES: u32 = 30;
/// The member of an entry's metadata that has the digest of the object as it was last written.
const DIGEST: &str = "digest";
/// The member that has the generation which that write made.
const GENERATION: &str = "generation";
/// Nothing of a deployment counts generations of its own.
const NO_GENERATION: Generation = Generation(0);

/// The set of one pack in one workspace.
#[derive(Debug)]
pub struct Set<'a> {
    /// The pack's id.
    pub pack_id: &'a str,
    /// The workspace, or the namespace.
    pub workspace: &'a str,
    /// Where the objects are written.
    pub surface: Surface,
    /// The base of the pages about agents.
    pub console: Option<&'a str>,
    /// What is deployed, by the stored state.
    pub prior: &'a State,
    /// What is wanted, if anything is.
    pub objects: &'a [Object],
    /// The existing registry that the agents are bound to.
    pub bound: Option<&'a str>,
}

impl Set<'_> {
    /// The wanted objects as Kubernetes would have them, by what makes them the objects that they are.
    #[must_use]
    pub fn wanted(&self) -> BTreeMap<Identity, Value> {
        let objects = self.objects.iter().map(|object| {
            let mut value = object.body.clone();
            value["apiVersion"] = json!(object.kind.api_version());
            value["kind"] = json!(object.kind.name());
            value["metadata"]["namespace"] = json!(self.workspace);
            (ObjectRef::of(&value).into(), value)
        });
        objects.collect()
    }

    /// The page of an agent, if there is a console.
    #[must_use]
    pub fn link(&self, entry: &Entry) -> Option<Link> {
        let is_agent = entry.kind == Kind::AgentRuntime.type_name();
        let console = self.console.filter(|_| is_agent)?;
        let url = format!("{console}/agents/{}?workspace={}", entry.name, self.workspace);
        Some(Link { label: "Console".to_owned(), url, rel: "console".to_owned() })
    }

    /// The entries that were written whole.
    fn written(&self) -> BTreeMap<Identity, Last> {
        let entries = self.prior.resources.iter().filter(|entry| entry.status != ResourceStatus::Failed);
        let last = |entry: &Entry| {
            let generation = entry.metadata.get(GENERATION).and_then(|text| text.parse().ok());
            let digest = entry.metadata.get(DIGEST)?.clone();
            Some((self.identity(entry)?, Last { digest, uid: entry.uid.clone(), generation }))
        };
        entries.filter_map(last).collect()
    }

    /// What makes the object of an entry the object that it is; none if it is of a type that this adapter does not write.
    #[must_use]
    pub fn identity(&self, entry: &Entry) -> Option<Identity> {
        let kind = Kind::of_type(&entry.kind)?.group_kind();
        Some(Identity { kind, namespace: Some(self.workspace.to_owned()), name: entry.name.clone() })
    }

    /// Whether an object of this kind is the operator's once it is there.
    #[must_use]
    pub fn is_operators(&self, kind: Kind) -> bool {
        self.once() == Some(kind)
    }

    /// The kind that is the operator's once it is there, on today's API.
    fn once(&self) -> Option<Kind> {
        (self.surface == Surface::Current).then_some(Kind::ToolRegistry)
    }

    /// The marks of the set.
    #[must_use]
    pub fn marks(&self, intent: Intent) -> PackMarks {
        // Versions of a pack that a newer one replaced may still be in use there; they go with everything.
        let superseded = Some(Kind::PromptPack).filter(|_| self.surface == Surface::Current && intent == Intent::Apply);
        let registry = |name: &str| Identity {
            kind: Kind::ToolRegistry.group_kind(),
            namespace: Some(self.workspace.to_owned()),
            name: name.to_owned(),
        };
        PackMarks::new(self.pack_id).knowing(Known {
            written: self.written(),
            wanted: self.wanted(),
            once: self.once().into_iter().collect(),
            kept: self.once().into_iter().chain(superseded).collect(),
            bound: self.bound.map(registry).into_iter().collect(),
        })
    }

    /// Begins a pass; with it comes the catalog of its objects.
    ///
    /// # Errors
    /// An object cannot be one of a set.
    pub fn begin(&self, intent: Intent) -> Result<(Pass<'static>, Names<'_>), DeployError> {
        let refused = |faults: Vec<String>| DeployError::new(Category::Configuration, "build", faults.join("; "));
        let setting = Setting {
            marks: Box::new(self.marks(intent)),
            generation: NO_GENERATION,
            destination: Destination::ThisCluster,
            namespace: self.workspace.to_owned(),
            prefix: "",
            defaults: Policies::default(),
            barrier: Barrier::Attempted,
            creates_namespaces: false,
            managed_types: &[],
            ready: &(),
            now: Timestamp::UNIX_EPOCH,
        };
        let wanted = self.wanted();
        let drafts: Result<Vec<_>, _> =
            wanted.into_iter().map(|(identity, object)| self.draft(&identity, object)).collect();
        let drafts = drafts.map_err(refused)?.into_iter().map(|draft| Source::Drafted(Arc::new(draft)));
        let rendered = prepare(drafts, &setting).map_err(refused)?;
        let names = Names { set: self, digests: digests(&rendered), order: self.order() };
        // Objects of a kind that is not listed are left alone: where a registry is the operator's, no deletion looks for it.
        let kinds = Kind::ALL.into_iter().filter(|kind| intent == Intent::Apply || !self.is_operators(*kind));
        let memory = Memory::of_places(kinds.map(|kind| (kind.version_kind(), true)), []);
        let memory = Some(Stored { memory, generation: Some(NO_GENERATION), is_exact: true });
        Ok((Pass::new(Beginning { setting, intent, rendered, memory, is_last: false }), names))
    }

    fn draft(&self, identity: &Identity, object: Value) -> Result<Draft, Vec<String>> {
        let kind = Kind::of(&identity.kind);
        let is_once = kind.is_some() && kind == self.once();
        let settings = Settings {
            policies: Policies {
                adoption: Adoption::Never,
                reconcile: if is_once { Reconcile::Once } else { Reconcile::OnObjectChange },
                update: Update::Apply,
                delete: Delete::Delete,
                ..Policies::default()
            },
            apply_order: kind.map_or(0, Kind::apply_order),
            delete_order: kind.map_or(0, Kind::delete_order),
            purge_order: None,
            status_hint: None,
        };
        Draft::with(object, settings, Hints::default())
    }

    /// How many objects of each kind there are, and which place each has among them.
    fn order(&self) -> BTreeMap<(Kind, String), (usize, usize)> {
        let mut order = BTreeMap::new();
        for kind in Kind::ALL {
            let of_kind: Vec<_> = self.objects.iter().filter(|object| object.kind == kind).collect();
            let count = of_kind.len();
            order.extend(of_kind.iter().enumerate().map(|(place, it)| ((kind, it.name.clone()), (place, count))));
        }
        order
    }
}

fn digests(rendered: &[Rendered]) -> BTreeMap<Identity, String> {
    rendered.iter().map(|rendered| (rendered.identity.clone(), rendered.digest.clone())).collect()
}

/// How the objects of a set are called.
#[derive(Debug)]
pub struct Names<'a> {
    set: &'a Set<'a>,
    /// The digests of the wanted objects.
    digests: BTreeMap<Identity, String>,
    order: BTreeMap<(Kind, String), (usize, usize)>,
}

impl Names<'_> {
    /// The objects that somebody changed since they were written as they are wanted now.
    #[must_use]
    pub fn drifted(&self, found: &[Version]) -> BTreeSet<Identity> {
        let (written, marks) = (self.set.written(), self.set.marks(Intent::Apply));
        let changed = found.iter().filter(|version| marks.has_drifted(version));
        let changed = changed.map(|version| Identity::from(ObjectRef::of(version.object())));
        changed.filter(|it| written.get(it).is_some_and(|last| self.digests.get(it) == Some(&last.digest))).collect()
    }

    /// What the state knows of the objects that a read would find.
    #[must_use]
    pub fn remembered(&self, query: &Query) -> Vec<Value> {
        let set = self.set;
        let of_kind = set.prior.resources.iter().filter(|entry| {
            set.identity(entry).is_some_and(|it| it.kind == GroupKind::new(&query.kind.group, &query.kind.kind))
        });
        let label = labels::of_pack(set.pack_id);
        let object = |entry: &Entry| {
            json!({
                "apiVersion": query.kind.api_version(), "kind": query.kind.kind,
                "metadata": {
                    "name": entry.name, "namespace": set.workspace, "uid": entry.uid,
                    "labels": { labels::MANAGED_BY: labels::MANAGER, labels::PACK_ID: label },
                },
            })
        };
        of_kind.map(object).collect()
    }

    /// The entry of an object that the server returned.
    fn entry(&self, object: &Value, status: ResourceStatus) -> Entry {
        let identity = Identity::from(ObjectRef::of(object));
        let mut entry = Entry::new(self.kind(&identity.kind), &identity.name, status);
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        (entry.uid, entry.resource_version) = (text("uid"), text("resourceVersion"));
        entry.metadata.extend(self.digests.get(&identity).map(|digest| (DIGEST.to_owned(), digest.clone())));
        entry.metadata.extend(generation(object).map(|written| (GENERATION.to_owned(), written.to_string())));
        entry
    }

    fn kind<'k>(&self, kind: &'k GroupKind) -> &'k str {
        match Kind::of(kind) {
            Some(known) => known.type_name(),
            None => &kind.kind,
        }
    }
}

/// What drives a pass knows of the set's objects, and waits for agents.
#[derive(Debug)]
pub struct Deployment<'a, T> {
    /// The names.
    pub names: Names<'a>,
    /// Where agents are looked at until they are ready.
    pub transport: &'a T,
}

impl<T: Transport> Catalog for Deployment<'_, T> {
    fn kind<'k>(&'k self, kind: &'k GroupKind) -> &'k str {
        self.names.kind(kind)
    }

    /// Each kind is a fifth; the agents share the last one.
    fn fraction(&self, identity: &Identity) -> f64 {
        let Some(kind) = Kind::of(&identity.kind) else { return 0.0 };
        let step = 1.0 / Kind::ALL.len() as f64;
        let (place, count) = self.names.order.get(&(kind, identity.name.clone())).copied().unwrap_or_default();
        f64::from(kind.apply_order()) * step + place as f64 / (count + 1) as f64 * step
    }

    fn entry(&self, object: &Value, status: ResourceStatus) -> Entry {
        self.names.entry(object, status)
    }

    fn remembered(&self, query: &Query) -> Vec<Value> {
        self.names.remembered(query)
    }

    /// On today's API an agent does not name the policy with the tools that it must not call: it would run without.
    fn obstacle(&self, identity: &Identity, account: &Account) -> Option<DeployError> {
        let is_current = self.names.set.surface == Surface::Current;
        let is_agent = is_current && Kind::of(&identity.kind) == Some(Kind::AgentRuntime);
        let mut objects = self.names.set.objects.iter();
        let policy = objects.find(|object| is_agent && object.kind == Kind::AgentPolicy)?;
        let entry = account.entry(policy.kind.type_name(), &policy.name);
        let is_missing = entry.is_none_or(|entry| entry.status == ResourceStatus::Failed);
        let message =
            format!("the policy `{}` was not written, and the agent would run without its blocklist", policy.name);
        is_missing.then(|| DeployError::new(Category::Configuration, "Creating", message))
    }

    fn excused(&self, identity: &Identity, error: &WriteError) -> Option<String> {
        let is_operators = Kind::of(&identity.kind).is_some_and(|kind| self.names.set.is_operators(kind));
        let is_forbidden = matches!(error.status, Some(401 | 403));
        (is_operators && is_forbidden).then(|| format!("it is the operator's, and was not written: {}", error.message))
    }

    fn links(&self, entry: &Entry) -> Vec<Link> {
        self.names.set.link(entry).into_iter().collect()
    }

    fn operation(&self, action: Action) -> &'static str {
        match action {
            Action::Create => "Creating",
            Action::Update | Action::NoChange | Action::Drift => "Updating",
            Action::Delete => "delete",
        }
    }

    fn error(&self, operation: &'static str, error: &WriteError) -> DeployError {
        deploy_error(operation, error)
    }

    async fn settle(&self, object: Value, stop: &CancellationToken) -> Result<(), DeployError> {
        let identity = Identity::from(ObjectRef::of(&object));
        if Kind::of(&identity.kind) != Some(Kind::AgentRuntime) || self.names.set.surface == Surface::Versioned {
            return Ok(());
        }
        let written = generation(&object);
        let query = Query {
            destination: Destination::ThisCluster,
            kind: Kind::AgentRuntime.version_kind(),
            namespace: Some(object.namespace().to_owned()),
            by: QueryBy::Name(identity.name),
        };
        let probe = || async {
            match self.transport.find(&query).await.map(|found| found.into_iter().next()) {
                Ok(Some(object)) => match readiness(&object, written) {
                    Readiness::Ready => Probe::Ready(()),
                    Readiness::Pending => Probe::Pending,
                    Readiness::Failed(why) => {
                        let message = format!("resource reconciled into a failed state: {why}");
                        Probe::Failed(DeployError::new(Category::Resource, "reconcile", message))
                    }
                },
                Ok(None) => Probe::Failed(DeployError::new(Category::NotFound, "reconcile", "it is gone")),
                Err(error) if is_passing(&error) => Probe::Pending,
                Err(error) => Probe::Failed(deploy_error("reconcile", &error)),
            }
        };
        poll(EVERY, PROBES, stop, probe).await.map_err(|unready| match unready {
            Unready::Failed(error) => error,
            Unready::Interrupted => DeployError::interrupted("reconcile"),
            Unready::Exhausted => {
                let message = format!("created but did not reach Ready within {PROBES} polls");
                let hint = "it may still become ready: look at its status, or run the command again";
                DeployError::new(Category::Timeout, "reconcile", message).hint(hint)
            }
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
