//! The parts of the stack, and how they are configured.
//!
//! In: the addresses of the servers. Out: a [`Plan`] of each part. Fails: if no port is free.

use anyhow::Result;
use lifecycle_e2e::free_port;
use lifecycle_e2e::parts::{Cadence, Kind, Parts, Ports};
use lifecycle_e2e::process::Setup;
use serde_json::json;

use crate::part::Plan;

/// The adapter that makes the namespace and the settings.
pub(crate) const FOUNDATION: &str = "foundation";
/// The adapter that provisions, once the other one has reported.
pub(crate) const PROVISIONER: &str = "provisioner";
/// The type of the resources.
pub(crate) const CLUSTERS: &str = "clusters";
/// The namespace of what outlives clusters, and of the sweeper's Lease.
pub(crate) const RECORDS: &str = "records";

const TASKS: [(&str, &str); 2] =
    [(FOUNDATION, include_str!("tasks/foundation.yaml")), (PROVISIONER, include_str!("tasks/provisioner.yaml"))];

/// The kinds of resources that the API serves.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        name: "Cluster".to_owned(),
        plural: CLUSTERS.to_owned(),
        adapters: TASKS.map(|(name, _)| name.to_owned()).to_vec(),
        ..Kind::default()
    }]
}

/// The parts in the order in which they start.
pub(crate) fn plans(parts: &Parts, cadence: Cadence) -> Result<Vec<Plan>> {
    let api = plan("api", |ports| parts.api(ports))?;
    let mut plans = vec![Plan { address: parts.api_url.clone(), ..api }];
    for (name, task) in TASKS {
        // Adapters before the Sentinel: they declare the queues that its first events go to.
        let setup = |ports| parts.adapter(ports, name, CLUSTERS, task).variable("RECORDS_NAMESPACE", RECORDS);
        plans.push(plan(name, setup)?);
    }
    plans.push(plan("sentinel", |ports| parts.sentinel(ports, CLUSTERS, cadence))?);
    // So soon that somebody who watches can wait for it.
    let hasty = json!({
        "dry_run": false, "interval": "3s", "grace": "10s", "min_age": "1s", "limits": { "percent": 100 },
        "kinds": { "cluster_scoped": ["core/Namespace"] },
        "audit": { "file": "audit.jsonl" },
    });
    let adapters = TASKS.map(|(name, _)| name.to_owned());
    plans.push(plan("sweeper", |ports| parts.sweeper(ports, &adapters, RECORDS, &hasty))?);
    let impatient = json!({
        "metrics": { "reconciliation_stuck_threshold": "20s" },
        "details": { "interval": "5s" },
        "stuck": { "anonymous": true },
    });
    plans.push(plan("reconcile-metrics", |ports| parts.exporter(ports, &impatient))?);
    Ok(plans)
}

fn plan(name: &str, setup: impl FnOnce(Ports) -> Setup) -> Result<Plan> {
    let ports = Ports { health: free_port()?, metrics: free_port()? };
    let at = |port: u16, path: &str| format!("http://127.0.0.1:{port}/{path}");
    let metrics = at(ports.metrics, "metrics");
    Ok(Plan {
        name: name.to_owned(),
        setup: setup(ports),
        ready: at(ports.health, "readyz"),
        address: metrics.clone(),
        metrics,
    })
}
