//! Starts a whole system, does something with it, and stops everything.
//!
//! In: a design, and what to do. Out: its result, after everything has stopped; a signal ends it
//! early. Fails: if a server or a part does not start; what had been started is stopped all the same.

use std::time::Instant;

use anyhow::{Context as _, Result};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_e2e::parts::Parts;
use lifecycle_e2e::postgres::{Database, Server};
use lifecycle_e2e::rabbitmq::Broker;
use lifecycle_e2e::{free_port, keep_servers_in, stop_servers};
use lifecycle_service::shutdown;

use crate::layout::{self, Design};
use crate::part::{Part, Plan};
use crate::place::{Claim, Place, Running};
use crate::prometheus;
use crate::remote::Remote;
use crate::terminal::{good, say, step};

/// The prefix of the topics.
const TOPICS: &str = "stack";

/// A system that runs.
pub(crate) struct System {
    pub(crate) running: Running,
    pub(crate) client: kube::Client,
    pub(crate) control_plane: ControlPlane,
    pub(crate) broker: Broker,
    pub(crate) database: Database,
    /// The topic of the events about clusters.
    pub(crate) topic: String,
    /// The process ids of the parts, by their names; a part that ends gets another one.
    pub(crate) processes: Vec<(String, u32)>,
}

/// What is to be stopped besides the servers.
#[derive(Default)]
struct Started {
    /// Ends after the parts, which write to it.
    remote: Option<Remote>,
    parts: Vec<Part>,
}

/// Starts a system, does the work, and returns after everything has stopped: at the work's end, or at a signal.
pub(crate) async fn with_system(
    place: &Place,
    design: &Design,
    work: impl AsyncFnOnce(&System) -> Result<()>,
) -> Result<()> {
    let claim = place.claim()?;
    let stop = shutdown::listen().context("failed to listen for signals")?;
    keep_servers_in(claim.directory.join("servers"))?;
    let mut started = Started::default();
    let run = async {
        let system = start(&claim, design, &mut started).await?;
        tokio::select! {
            done = work(&system) => done,
            _ = join_all(started.parts.iter_mut().map(Part::keep)) => Ok(()),
        }
    };
    let ended = tokio::select! {
        ended = run => ended,
        () = stop.cancelled() => Ok(()),
    };
    step("Stopping: what was started last first");
    for part in started.parts.iter_mut().rev() {
        part.stop().await?;
    }
    drop(started.remote);
    stop_servers().await?;
    say("Stopped. The logs of the parts stay until the next start.");
    ended
}

async fn start(claim: &Claim, design: &Design, started: &mut Started) -> Result<System> {
    step("Starting the servers");
    let begin = Instant::now();
    let control_plane = async {
        let start = if design.has_node { ControlPlane::with_node().await } else { ControlPlane::shared().await };
        let control_plane = start?;
        up_line("Kubernetes API server", control_plane.url());
        anyhow::Ok(control_plane)
    };
    let broker = async {
        let broker = Broker::shared().await?;
        up_line("RabbitMQ", broker.url());
        anyhow::Ok(broker)
    };
    let database = async {
        let database = Server::shared().await?.database().await?;
        up_line("PostgreSQL", &database.url());
        anyhow::Ok(database)
    };
    let (control_plane, broker, database) = tokio::try_join!(control_plane, broker, database)?;
    let client = control_plane.client().await?;
    make_namespace(&client, layout::RECORDS).await?;
    if design.has_remote {
        let remote = Remote::start(client.clone()).await?;
        up_line("Maestro", &format!("{} (REST), {} (gRPC)", remote.rest_url(), remote.grpc_address()));
        started.remote = Some(remote);
    }

    step("Starting the parts");
    let api_port = free_port()?;
    let parts = Parts {
        api_port,
        api_url: format!("http://127.0.0.1:{api_port}"),
        broker_url: broker.url().to_owned(),
        topic_prefix: TOPICS.to_owned(),
        database_url: database.url().parse().context("the database has no URL")?,
        kubeconfig: control_plane.kubeconfig_path().to_owned(),
        kinds: layout::kinds(design.tasks),
        signing_key: Some(layout::SIGNING_KEY.to_owned()),
        maestro: started.remote.as_ref().map(Remote::block),
    };
    let plans = layout::plans(&parts, design)?;
    let interval = if design.is_watched { "2s" } else { "30s" };
    let prometheus = prometheus::plan(free_port()?, interval, plans.iter());
    let running = Running {
        api: parts.api_url.clone(),
        kubeconfig: parts.kubeconfig.clone(),
        maestro: started.remote.as_ref().map(|remote| remote.rest_url().to_owned()),
        records_namespace: layout::RECORDS.to_owned(),
        prometheus: prometheus.address.clone(),
        stuck: stuck_page(&plans),
        console: plans.iter().find(|plan| plan.name == layout::CONSOLE).map(|plan| plan.address.clone()),
        metrics: plans.iter().map(|plan| (plan.name.clone(), plan.metrics.clone())).collect(),
        logs: claim.directory.join("<part>/<part>.log").display().to_string(),
        audit: claim.directory.join("sweeper/audit.jsonl").display().to_string(),
        has_other_task: design.swap.task.is_some(),
    };
    for plan in plans.into_iter().chain([prometheus]) {
        let part = Part::start(plan, &claim.directory).await?;
        up_line(&part.plan().name, &part.plan().address);
        started.parts.push(part);
    }
    claim.publish(&running)?;
    say(&format!("Everything is up after {:.1} s.\n", begin.elapsed().as_secs_f32()));
    let processes = started.parts.iter().filter_map(|part| Some((part.plan().name.clone(), part.id()?))).collect();
    let topic = parts.topic(layout::CLUSTERS);
    Ok(System { running, client, control_plane, broker, database, topic, processes })
}

fn up_line(name: &str, address: &str) {
    say(&format!("    {} {name:<22} {address}", good("up")));
}

async fn make_namespace(client: &kube::Client, name: &str) -> Result<()> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &namespace).await.context("failed to create a namespace")?;
    Ok(())
}

/// The exporter's page of stuck resources, which is on its health port.
fn stuck_page(plans: &[Plan]) -> String {
    let exporter = plans.iter().find(|plan| plan.name == "reconcile-metrics");
    exporter.map(|plan| plan.ready.replace("/readyz", "/stuck")).unwrap_or_default()
}
