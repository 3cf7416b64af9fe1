//! Runs the system for people: shows where its parts are, and how a cluster becomes Reconciled.
//!
//! In: the options. Out: a running system until a signal. Fails: if the system does not start, or the first story fails.

use std::future::pending;

use anyhow::Result;

use crate::args::{Story, Up};
use crate::layout::{self, Design};
use crate::place::{Place, Running};
use crate::system::{System, with_system};
use crate::terminal::{say, step};
use crate::{demo, fake_kubelet, look, works};

/// Starts the system, and returns after a signal has stopped it.
pub(crate) async fn up(place: &Place, options: &Up) -> Result<()> {
    let cadence = options.cadence.cadence();
    let swap = options.swapped.resolve()?;
    let tasks = if options.maestro { &layout::TASKS_OVER_MAESTRO } else { &layout::TASKS };
    let (has_remote, has_node) = (options.maestro, options.node);
    let design = Design { cadence, tasks, has_remote, has_node, is_watched: true, swap };
    with_system(place, &design, async |system: &System| {
        if let Some(console) = &system.running.console {
            step(&format!("Watch it at {console}"));
        }
        let guide = async {
            if !options.no_demo {
                demo::play(&system.running, Story::Create).await?;
            }
            explain(place, &system.running).await;
            pending().await
        };
        if options.node {
            return guide.await;
        }
        tokio::select! {
            told = guide => told,
            () = fake_kubelet::run(system.client.clone()) => Ok(()),
        }
    })
    .await
}

async fn explain(place: &Place, running: &Running) {
    step("Look at it, from another terminal");
    let console = running.console.iter().map(|console| ("console", console.clone()));
    let resources = ("resources", format!("curl {}/api/hyperfleet/v1/clusters", running.api));
    let works = running.maestro.as_ref().map(|maestro| ("works", format!("curl {}", works::list(maestro))));
    let lines = [
        ("objects", look::objects(&running.kubeconfig, "get configmaps,jobs -A", "/api/v1/configmaps")),
        ("metrics", look::prometheus(&running.prometheus, "/targets", "/api/v1/targets").await),
        ("stuck", running.stuck.clone()),
        ("logs", running.logs.clone()),
        ("stories", place.command("demo delete|force-delete|stuck|disown|history|debounce|bundle")),
    ];
    for (what, how) in console.chain([resources]).chain(works).chain(lines) {
        say(&format!("    {what:<10} {how}"));
    }
    say("Control-C stops everything.");
}
