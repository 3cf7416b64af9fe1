//! Runs the model on a real API server, with faults injected by a proxy.
//!
//! An arena is a namespace with two proxies of the server, one for each replica. The proxies inject refusals and
//! broken connections. As in memory, the watching transport injects crashes and pauses, because a proxy cannot end
//! or pause a pass.
//!
//! There are two differences to the model in memory. No call stays unanswered, because the deadline would
//! take real time. The server's clock cannot be set, so after [`Act::Wait`](crate::sequence::Act::Wait) all
//! objects seem that much older. Controllers run: the model waits between two passes until they have
//! processed Jobs and dependents of deleted owners.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use hyperfleet_adapter::dependency::kubernetes::FORMER_MANAGERS;
use jiff::Timestamp;
use lifecycle_e2e::fault::{self, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Settings as Client, connect};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::{PropagationPolicy, Target, WriteErrorKind};
use lifecycle_transport::Transport;
use lifecycle_transport::kubernetes::KubernetesTransport;
use serde_json::{Value, json};

use crate::arena::{self, explore};
use crate::drive::{Coverage, Failure, Settings, run};
use crate::generate::Profile;
use crate::ground::{Ground, HOLD};
use crate::journal::Journal;
use crate::memory::setting;
use crate::object::{is_terminating, kind, owners, uid};
use crate::people::target;
use crate::sequence::{Fault, Refusal, Sequence};
use crate::shape::{ADAPTER, Kind, TaskShape};

/// The number of sequences by default.
const SEQUENCES: u32 = 200;
/// The number of sequences that run concurrently.
const ARENAS: usize = 8;

/// A namespace and proxies, for one sequence after another.
struct Arena {
    namespace: TestNamespace,
    group: String,
    store: Arc<KubernetesTransport>,
    replicas: [(Proxy, Arc<KubernetesTransport>); 2],
}

/// An arena during one sequence.
struct Server {
    arena: Arc<Arena>,
    /// For each replica: its number of requests at the beginning of the pass, and the numbers of the calls
    /// with faults.
    injected: [Mutex<(usize, Vec<usize>)>; 2],
}

impl Arena {
    async fn new(control_plane: &ControlPlane, group: &str) -> Result<Arc<Self>> {
        let store = Arc::new(transport(control_plane.kubeconfig_path(), "somebody").await?);
        let replica = async || {
            let proxy = control_plane.proxy().await?;
            let transport = transport(&proxy.access()?.kubeconfig, ADAPTER).await?;
            anyhow::Ok((proxy, Arc::new(transport)))
        };
        let replicas = [replica().await?, replica().await?];
        let namespace = control_plane.namespace().await?;
        Ok(Arc::new(Self { namespace, group: group.to_owned(), store, replicas }))
    }

    /// Matches the requests about objects in the arena's namespace.
    fn requests(&self) -> When {
        let part = format!("/namespaces/{}/", self.namespace.name());
        When::any().and(move |request| request.path.contains(&part))
    }

    fn server(self: &Arc<Self>) -> Server {
        Server { arena: Arc::clone(self), injected: Default::default() }
    }
}

impl arena::Arena for Arc<Arena> {
    const PROFILE: Profile = Profile::Server;

    async fn check(&self, sequence: &Sequence, settings: Settings) -> Result<Coverage, Failure> {
        let start = Timestamp::from_second(Timestamp::now().as_second())?;
        let (disturbed, calm) = (unique("d"), unique("c"));
        run(sequence, (self.server(), &disturbed), (self.server(), &calm), start, settings).await
    }
}

async fn transport(kubeconfig: &std::path::Path, manager: &str) -> Result<KubernetesTransport> {
    let settings = Client { look_again_after: Duration::ZERO, former_managers: &FORMER_MANAGERS, ..Client::default() };
    let client = connect(Some(kubeconfig), "lifecycle-model/1").await?;
    Ok(KubernetesTransport::new(Cluster::new(client, manager, settings)))
}

impl Ground for Server {
    type Transport = KubernetesTransport;

    fn store(&self) -> Arc<KubernetesTransport> {
        Arc::clone(&self.arena.store)
    }

    fn wire(&self, replica: usize) -> Arc<KubernetesTransport> {
        Arc::clone(&self.arena.replicas[replica].1)
    }

    fn namespace(&self) -> &str {
        self.arena.namespace.name()
    }

    fn group(&self) -> &str {
        &self.arena.group
    }

    fn set_now(&self, _: Timestamp) {}

    fn inject(&self, replica: usize, faults: BTreeMap<usize, Fault>) -> BTreeMap<usize, Fault> {
        let proxy = &self.arena.replicas[replica].0;
        let (mut numbers, mut left) = (Vec::new(), BTreeMap::new());
        for (number, fault) in faults {
            match of_the_proxy(fault) {
                Some(fault) => {
                    proxy.inject(self.arena.requests().nth(number), fault);
                    numbers.push(number);
                }
                None => {
                    left.insert(number, fault);
                }
            }
        }
        *self.injected(replica) = (proxy.count(&self.arena.requests()), numbers);
        left
    }

    fn heal(&self, replica: usize) -> usize {
        let proxy = &self.arena.replicas[replica].0;
        proxy.heal();
        let (before, numbers) = &*self.injected(replica);
        let made = proxy.count(&self.arena.requests()) - before;
        numbers.iter().filter(|number| **number <= made).count()
    }

    async fn settle(&self, journal: &Journal<KubernetesTransport>) -> Result<()> {
        await_condition("controllers to finish", PATIENCE, async || {
            let objects = journal.objects().await?;
            for object in &objects {
                ensure!(!awaits_controller(object, &objects), "{} is not done", crate::object::line(object));
            }
            Ok(())
        })
        .await
    }

    fn is_busy(&self, task: &TaskShape) -> bool {
        task.resources.iter().any(|resource| {
            let waits = resource.delete.is_some() && resource.propagation != PropagationPolicy::Background;
            resource.owner.is_some() || resource.kind == Kind::Job || waits
        })
    }
}

impl Server {
    fn injected(&self, replica: usize) -> MutexGuard<'_, (usize, Vec<usize>)> {
        self.injected[replica].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxy's fault for a fault of the model; `None` if the proxy cannot inject it.
fn of_the_proxy(fault: Fault) -> Option<fault::Fault> {
    Some(match fault {
        Fault::LostRequest => fault::Fault::ResetBefore,
        Fault::LostAnswer => fault::Fault::ResetAfter,
        Fault::Refused(Refusal::Conflict) => fault::Fault::Status(409),
        Fault::Refused(Refusal::Invalid) => fault::Fault::Status(422),
        Fault::Refused(Refusal::Forbidden) => fault::Fault::Status(403),
        Fault::Refused(Refusal::TooManyRequests) => fault::Fault::TooManyRequests { retry_after: 1 },
        Fault::Refused(Refusal::Unavailable) => fault::Fault::Status(503),
        Fault::Silence { .. } | Fault::Crash { .. } => return None,
    })
}

/// Whether a controller will still change the object.
fn awaits_controller(object: &Value, objects: &[Value]) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let is_held = finalizers.is_some_and(|held| held.iter().any(|by| by == HOLD));
    if is_terminating(object) {
        return !is_held;
    }
    let left_behind = !owners(object).is_empty()
        && owners(object).iter().all(|owner| objects.iter().all(|object| uid(object) != *owner));
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is_new = kind(object) == "Job" && conditions.is_none_or(Vec::is_empty);
    left_behind || is_new
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_sequences_keep_all_invariants_on_a_real_server() -> Result<()> {
    let (count, seed) = (setting("LIFECYCLE_MODEL_SERVER_SEQUENCES", SEQUENCES), setting("LIFECYCLE_MODEL_SEED", 0));
    let control_plane = ControlPlane::shared().await?;
    let group = format!("{}.example.com", unique("model"));
    let admin = transport(control_plane.kubeconfig_path(), "somebody").await?;
    let definition = admin.create(&widgets(&group), &Destination::ThisCluster).await?;
    let kind = Kind::Widget.gvk(&group);
    let any = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": "any", "namespace": "default" },
    });
    let query = Query {
        destination: Destination::ThisCluster,
        kind,
        namespace: Some("default".to_owned()),
        by: QueryBy::Labels([("any".to_owned(), "any".to_owned())].into()),
    };
    await_condition("the custom kind to be served", PATIENCE, async || {
        // A kind that is not served has no objects to find, and none can be created.
        let refused = admin.dry_run_create(&any, &Destination::ThisCluster).await.err();
        ensure!(refused.as_ref().is_none_or(|error| error.kind != WriteErrorKind::NotFound), "{refused:?}");
        Ok(admin.find(&query).await?)
    })
    .await?;

    let arenas = try_join_all((0..ARENAS).map(async |_| Arena::new(&control_plane, &group).await)).await?;
    let outcome = explore(&arenas, count, seed).await;
    let definition = Target { resource_version: String::new(), ..target(&definition) };
    admin.delete(&definition, PropagationPolicy::Background).await?;
    outcome.map(drop)
}
