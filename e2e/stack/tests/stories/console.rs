//! Reads the console of a stack after its stories.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::browser::{Browser, Look};
use serde_json::Value;

/// Fails if a page of the console is not there, if a source is away, if a page does not show what the stories left, or if something keeps
/// people from using it.
pub(crate) async fn ensure_pages(stack: &Path, browser: &Browser) -> Result<()> {
    lifecycle_e2e::init();
    let addresses: Value = serde_json::from_slice(&fs::read(stack.join("addresses.json"))?)?;
    let console = addresses["console"].as_str().context("the stack has no console")?;
    let read = async |path: &str| {
        let page = reqwest::get(format!("{console}{path}")).await?.error_for_status()?.text().await?;
        ensure!(!page.contains("class=\"away\""), "{path} misses a source: {page}");
        anyhow::Ok(page)
    };
    let fleet = read("/?state=reconciled").await?;
    let cluster = fleet.split("/resources/").nth(1).and_then(|rest| rest.split('"').next());
    let cluster = format!("/resources/{}", cluster.context("no cluster is reconciled")?);
    let pages = [
        (cluster.as_str(), "is reconciled at generation"),
        (cluster.as_str(), "Decisions of provisioner"),
        ("/adapters", "foundation"),
        ("/adapters/provisioner", "addon"),
        ("/sweeper", "deleted"),
    ];
    for (path, shown) in pages {
        let page = read(path).await?;
        ensure!(page.contains(shown), "{path} does not show `{shown}`: {page}");
    }
    for path in ["/", &cluster, "/adapters", "/adapters/provisioner", "/sweeper"] {
        let tab = browser.open(&format!("{console}{path}")).await?;
        for look in [Look::DESK, Look::DESK.dark()] {
            tab.look(look).await?;
            let violations = tab.violations().await?;
            ensure!(violations.is_empty(), "{path}, {look:?}: {violations:#?}");
        }
        tab.close().await?;
    }
    Ok(())
}
