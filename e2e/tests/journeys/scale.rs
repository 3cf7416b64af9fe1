//! Many clusters at once, with the cadence of production. `JOURNEY_CLUSTERS=1000` sets their number; with `--nocapture`
//! the test prints how long they took. `stack bench` measures each part.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use lifecycle_e2e::await_condition;
use lifecycle_e2e::parts::Cadence;
use serde_json::{Value, json};

use crate::metrics;
use crate::system::{Adapter, Servers, System};

/// How many clusters there are, if the environment does not say: few enough for every run of the tests.
const CLUSTERS: usize = 100;
/// How many users create clusters at the same time.
const USERS: usize = 16;
/// A poll, two rounds of the adapters, and the work on a slow machine; the thousand clusters get it as well.
const LIMIT: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "a measurement for whoever asks for it")]
async fn many_clusters_are_reconciled_at_once() -> Result<()> {
    let number = std::env::var("JOURNEY_CLUSTERS").map_or(Ok(CLUSTERS), |number| number.parse())?;
    let mut system = System::without_sentinel(Servers::shared().await?).await?;
    system.start_sentinel(Cadence::PRODUCTION)?;
    let (first, second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    let sentinel = system.sentinel.as_ref().context("no Sentinel")?;

    let began = Instant::now();
    let spec = json!({ "region": "north" });
    let creations = (0..number).map(|cluster| {
        let (system, spec) = (&system, &spec);
        async move { system.create_cluster(&format!("c{cluster}"), spec).await }
    });
    futures::stream::iter(creations).buffer_unordered(USERS).try_for_each(|_| async { Ok(()) }).await?;
    println!("{number} clusters were created in {:?}", began.elapsed());
    await_condition("every cluster to be reconciled", LIMIT, async || {
        let list = "clusters?size=1&search=status.conditions.Reconciled%3D%27True%27";
        let total = system.send("GET", list, &Value::Null, 200).await?["total"].clone();
        ensure!(total == number, "{total} of {number}");
        Ok(())
    })
    .await?;
    println!("{number} clusters were reconciled after {:?}", began.elapsed());

    let published = metrics::sum(sentinel, "hyperfleet_broker_messages_published_total", "").await?;
    println!("{published} events");
    for (name, adapter) in [("first", &first), ("second", &second)] {
        let passes = metrics::sum(adapter, "hyperfleet_adapter_events_processed_total", "").await?;
        let failed = metrics::sum(adapter, "hyperfleet_adapter_events_processed_total", r#"status="failed""#).await?;
        println!("{passes} passes of the {name} adapter");
        ensure!(failed < 0.5, "{failed} passes of the {name} adapter failed");
    }
    // Most clusters need an event for each adapter's turn; who needs many more is asked again while the adapters work.
    ensure!(published < 6.0 * f64::from(u32::try_from(number)?), "{published} events about {number} clusters");
    system.check_invariants().await
}
