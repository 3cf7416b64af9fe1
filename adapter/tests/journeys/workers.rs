//! A task computes for long: health and metrics go on answering.

use std::fmt::Write as _;

use anyhow::Result;
use lifecycle_e2e::fault::When;

use crate::task::{SETTINGS, task};
use crate::world::World;

/// The number of params, each of which makes nearly as many iterations as an expression may.
const PARAMS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn long_expressions_do_not_delay_health_and_metrics() -> Result<()> {
    let world = World::new().await?;
    let mut params = "params:\n".to_owned();
    for number in 0..PARAMS {
        let loops = "lists.range(200).all(a, lists.range(200).all(b, a + b >= 0))";
        writeln!(params, "  - {{name: long{number}, source: {{expression: '{loops}'}}}}")?;
    }
    let adapter = world.adapter(task(SETTINGS).replace("params:\n", &params))?.start().await?;
    world.announce("c1", 1).await?;
    adapter.await_metric("hyperfleet_broker_messages_consumed_total", &[], 1.0).await?;
    // Until the adapter reads the cluster, the only worker evaluates the params.
    let read = When::method("GET").path_ends("/clusters/c1");
    let mut rounds = 0;
    for _ in 0..10 {
        assert_eq!(adapter.get("health", "/healthz").await?.0, 200);
        assert_eq!(adapter.get("health", "/readyz").await?.0, 200);
        assert_eq!(adapter.get("metrics", "/metrics").await?.0, 200);
        if world.api.count(&read) > 0 {
            break;
        }
        rounds += 1;
    }
    assert!(rounds > 0, "the params took no time, or delayed the answers");
    assert_eq!(world.report("c1", 1).await?.status("Applied"), "True");
    Ok(())
}
