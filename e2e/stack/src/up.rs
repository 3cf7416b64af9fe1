//! Starts the system, shows where its parts are and how a cluster becomes Reconciled, and stops everything at a signal.
//!
//! In: the options. Out: a running system until a signal. Fails: if a server or a part does not start; what had been
//! started is stopped all the same.

use std::time::Instant;

use anyhow::{Context as _, Result};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_e2e::parts::Parts;
use lifecycle_e2e::postgres::Server;
use lifecycle_e2e::rabbitmq::Broker;
use lifecycle_e2e::{free_port, keep_servers_in, stop_servers};
use lifecycle_service::shutdown;

use crate::args::{Story, Up};
use crate::part::Part;
use crate::place::{Claim, Place, Running};
use crate::terminal::{good, say, step};
use crate::{demo, fake_kubelet, layout, prometheus};

/// Starts the system, and returns after a signal has stopped it.
pub(crate) async fn up(place: &Place, options: &Up) -> Result<()> {
    let claim = place.claim()?;
    let stop = shutdown::listen().context("failed to listen for signals")?;
    keep_servers_in(claim.directory.join("servers"))?;
    let mut parts = Vec::new();
    let ended = tokio::select! {
        ended = run(&claim, options, &mut parts) => ended,
        () = stop.cancelled() => Ok(()),
    };
    step("Stopping: what was started last first");
    for part in parts.iter_mut().rev() {
        part.stop().await?;
    }
    stop_servers().await?;
    say("Stopped. The logs of the parts stay until the next start.");
    ended
}

async fn run(claim: &Claim, options: &Up, started: &mut Vec<Part>) -> Result<()> {
    step("Starting the servers");
    let begin = Instant::now();
    let control_plane = async {
        let control_plane = ControlPlane::shared().await?;
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

    step("Starting the parts");
    let api_port = free_port()?;
    let parts = Parts {
        api_port,
        api_url: format!("http://127.0.0.1:{api_port}"),
        broker_url: broker.url().to_owned(),
        topic_prefix: "stack".to_owned(),
        database_url: database.url(),
        kubeconfig: control_plane.kubeconfig_path().to_owned(),
        kinds: layout::kinds(),
    };
    let plans = layout::plans(&parts, options.cadence.cadence())?;
    let prometheus = prometheus::plan(free_port()?, plans.iter());
    let running = Running {
        api: parts.api_url.clone(),
        kubeconfig: parts.kubeconfig.clone(),
        records_namespace: layout::RECORDS.to_owned(),
        prometheus: prometheus.address.clone(),
        metrics: plans.iter().map(|plan| (plan.name.clone(), plan.metrics.clone())).collect(),
        logs: claim.directory.clone(),
    };
    for plan in plans.into_iter().chain([prometheus]) {
        let part = Part::start(plan, &claim.directory).await?;
        up_line(&part.plan().name, &part.plan().address);
        started.push(part);
    }
    claim.publish(&running)?;
    say(&format!("Everything is up after {:.1} s.\n", begin.elapsed().as_secs_f32()));

    let guide = async {
        if !options.no_demo {
            demo::play(&running, Story::Create).await?;
        }
        explain(&running);
        anyhow::Ok(())
    };
    let guide = async { (guide.await, std::future::pending::<()>().await).0 };
    tokio::select! {
        told = guide => told,
        _ = join_all(started.iter_mut().map(Part::keep)) => Ok(()),
        () = fake_kubelet::run(client) => Ok(()),
    }
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

fn explain(running: &Running) {
    step("Look at it, from another terminal");
    let lines = [
        ("resources", format!("curl {}/api/hyperfleet/v1/clusters", running.api)),
        ("objects", format!("kubectl --kubeconfig {} get all,configmaps -A", running.kubeconfig.display())),
        ("metrics", format!("{}/targets", running.prometheus)),
        ("logs", format!("{}/<part>/<part>.log", running.logs.display())),
        ("stories", "cargo run --bin stack -- demo delete|force-delete|stuck|disown|history|debounce".to_owned()),
    ];
    for (what, how) in lines {
        say(&format!("    {what:<10} {how}"));
    }
    say("Control-C stops everything.");
}
