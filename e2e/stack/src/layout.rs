//! The parts of the stack, and how they are configured.
//!
//! In: the addresses of the servers. Out: a [`Plan`] of each part. Fails: if no port is free.

use anyhow::Result;
use lifecycle_e2e::free_port;
use lifecycle_e2e::parts::{Cadence, Kind, Parts, Ports, TOKEN};
use lifecycle_e2e::process::Setup;
use serde_json::{Value, json};

use crate::part::Plan;
use crate::remote;
use crate::swap::Swap;

/// The adapter that makes the namespace and the settings.
pub(crate) const FOUNDATION: &str = "foundation";
/// The adapter that provisions, once the other one has reported.
pub(crate) const PROVISIONER: &str = "provisioner";
/// The type of the resources.
pub(crate) const CLUSTERS: &str = "clusters";
/// The namespace of what outlives clusters, and of the sweeper's Lease.
pub(crate) const RECORDS: &str = "records";

/// The key by which adapters sign their objects, so that the sweeper may delete a namespace. It protects nothing: the
/// stack is on one machine, and its parts are thrown away.
pub(crate) const SIGNING_KEY: &str = "the stack is on one machine, and thrown away";

/// The token by which the console reads the pages of adapters and of the sweeper. It protects as little as the signing key.
const PAGES_TOKEN: &str = "the token of the stack";

/// The name of the console's part.
pub(crate) const CONSOLE: &str = "console";

/// An adapter's name, and its task file.
pub(crate) type Task = (&'static str, &'static str);

/// The adapters that the stories are about.
pub(crate) const TASKS: [Task; 2] =
    [(FOUNDATION, include_str!("tasks/foundation.yaml")), (PROVISIONER, include_str!("tasks/provisioner.yaml"))];

/// The same adapters, with a foundation on a remote cluster.
pub(crate) const TASKS_OVER_MAESTRO: [Task; 2] = [
    (FOUNDATION, include_str!("tasks/foundation-maestro.yaml")),
    (PROVISIONER, include_str!("tasks/provisioner.yaml")),
];

/// The adapters of measurements: the second one waits for the first one's report.
pub(crate) const FLEET: [Task; 2] =
    [("first", include_str!("tasks/fleet.yaml")), ("second", include_str!("tasks/fleet.yaml"))];

/// What differs between systems.
pub(crate) struct Design {
    /// How often the Sentinel looks.
    pub(crate) cadence: Cadence,
    /// The adapters, in the order in which they start.
    pub(crate) tasks: &'static [Task],
    /// Whether there is a remote cluster behind Maestro, for the adapter [`FOUNDATION`].
    pub(crate) has_remote: bool,
    /// Whether Kubernetes has a node that runs Pods.
    pub(crate) has_node: bool,
    /// Whether somebody watches: then the sweeper, the exporter and Prometheus look every few seconds, and adapters log
    /// each step. Otherwise all of them keep to their defaults.
    pub(crate) is_watched: bool,
    /// Other programs in the place of parts.
    pub(crate) swap: Swap,
}

/// The kinds of resources that the API serves.
pub(crate) fn kinds(tasks: &[Task]) -> Vec<Kind> {
    vec![Kind { name: "Cluster".to_owned(), plural: CLUSTERS.to_owned(), adapters: names(tasks), ..Kind::default() }]
}

/// The parts in the order in which they start.
pub(crate) fn plans(parts: &Parts, design: &Design) -> Result<Vec<Plan>> {
    let swap = &design.swap;
    let (program, ports) = (swap.api.as_deref(), free_ports()?);
    let (api, before) = (parts.api(ports).by(program), parts.migrate(ports).by(program));
    let api = Plan { address: parts.api_url.clone(), before: Some(before), ..plan_at(ports, "api", api) };
    let mut plans = vec![api];
    let level = if design.is_watched { "debug" } else { "info" };
    for &(name, task) in design.tasks {
        // Adapters before the Sentinel: they declare the queues that its first events go to.
        let task = swap.task.as_deref().filter(|_| name == PROVISIONER).unwrap_or(task);
        // An adapter whose task uses no Maestro warns of one.
        let parts = Parts { maestro: parts.maestro.clone().filter(|_| name == FOUNDATION), ..parts.clone() };
        let setup = |parts: &Parts, ports| {
            let adapter = parts.adapter(ports, name, CLUSTERS, task);
            let adapter = adapter.variable("RECORDS_NAMESPACE", RECORDS).variable("CONSUMER", remote::CONSUMER);
            let adapter = adapter.variable("LOG_LEVEL", level);
            // A measurement is that of an adapter with its defaults.
            if design.is_watched {
                adapter.file_of_variable("HYPERFLEET_PASSES_TOKEN_FILE", TOKEN, PAGES_TOKEN)
            } else {
                adapter
            }
        };
        plans.push(match &swap.adapter {
            Some((program, ports)) if name == PROVISIONER => {
                // A Go adapter knows no signing key.
                let parts = Parts { signing_key: None, ..parts };
                plan_at(*ports, name, setup(&parts, *ports).by(Some(program)))
            }
            _ => plan(name, |ports| setup(&parts, ports))?,
        });
    }
    let sentinel = |ports| parts.sentinel(ports, CLUSTERS, design.cadence).by(swap.sentinel.as_deref());
    plans.push(plan("sentinel", sentinel)?);
    let (sweeper, exporter) =
        if design.is_watched { (hasty_sweeper(swap), hasty_exporter()) } else { (json!({}), json!({})) };
    plans.push(plan("sweeper", |ports| {
        parts.sweeper(ports, &names(design.tasks), RECORDS, &sweeper).with_file(TOKEN, PAGES_TOKEN)
    })?);
    plans.push(plan("reconcile-metrics", |ports| parts.exporter(ports, &exporter))?);
    if design.is_watched {
        plans.push(console(parts, design, &plans)?);
    }
    Ok(plans)
}

/// The console, which asks the parts of these plans.
fn console(parts: &Parts, design: &Design, plans: &[Plan]) -> Result<Plan> {
    let url = |name: &str| {
        let plan = plans.iter().find(|plan| plan.name == name);
        plan.map(|plan| plan.ready.trim_end_matches("/readyz").to_owned()).unwrap_or_default()
    };
    let guarded = |name: &str| json!({ "url": url(name), "token_file": TOKEN });
    let adapter = |&(name, _): &Task| json!({ "name": name, "url": url(name), "token_file": TOKEN });
    let sources = json!({
        "exporter": { "url": url("reconcile-metrics") },
        "sweeper": guarded("sweeper"),
        "adapters": design.tasks.iter().map(adapter).collect::<Vec<_>>(),
    });
    let port = free_port()?;
    let plan = plan(CONSOLE, |ports| parts.console(ports, port, PAGES_TOKEN, &sources))?;
    Ok(Plan { address: format!("http://127.0.0.1:{port}"), ..plan })
}

/// A sweeper so quick that somebody who watches can wait for it.
fn hasty_sweeper(swap: &Swap) -> Value {
    // A Go adapter does not label its Job, which then only goes with its namespace.
    let goes_along: &[&str] = if swap.adapter.is_some() { &["batch/Job", "core/Pod"] } else { &[] };
    json!({
        "dry_run": false, "interval": "3s", "grace": "10s", "min_age": "1s", "limits": { "percent": 100 },
        "kinds": { "cluster_scoped": ["core/Namespace"], "goes_along": goes_along },
        "audit": { "file": "audit.jsonl" },
        "plan": { "token_file": TOKEN },
    })
}

/// An exporter that calls a resource stuck after seconds.
fn hasty_exporter() -> Value {
    json!({
        "metrics": { "reconciliation_stuck_threshold": "20s" },
        "details": { "interval": "5s" },
        "stuck": { "anonymous": true },
    })
}

fn names(tasks: &[Task]) -> Vec<String> {
    tasks.iter().map(|&(name, _)| name.to_owned()).collect()
}

fn plan(name: &str, setup: impl FnOnce(Ports) -> Setup) -> Result<Plan> {
    let ports = free_ports()?;
    Ok(plan_at(ports, name, setup(ports)))
}

fn free_ports() -> Result<Ports> {
    Ok(Ports { health: free_port()?, metrics: free_port()? })
}

fn plan_at(ports: Ports, name: &str, setup: Setup) -> Plan {
    let at = |port: u16, path: &str| format!("http://127.0.0.1:{port}/{path}");
    let metrics = at(ports.metrics, "metrics");
    let (name, ready, address) = (name.to_owned(), at(ports.health, "readyz"), metrics.clone());
    Plan { name, before: None, setup, ready, address, metrics }
}
