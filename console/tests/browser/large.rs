//! A fleet of 100,000 clusters, on the local API.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::browser::{Browser, Key, Tab};
use serde_json::json;

use crate::world::Console;

/// The most bytes of a page.
const MOST: u64 = 100_000;

/// The clusters of the fleet.
const CLUSTERS: i32 = 100_000;

/// Of all clusters, the first 100 are being deleted, the next 200 are pending, and the rest is reconciled.
async fn fill(api: &LocalApi) -> Result<()> {
    api.put_fleet(CLUSTERS).await?;
    let change = async |number: u32| {
        let id = format!("cluster-{number:06}");
        api.put_reconciled(&id, "False", Timestamp::now()).await?;
        if number < 100 {
            api.delete(&id).await?;
        }
        anyhow::Ok(())
    };
    stream::iter((0..300).map(change)).buffer_unordered(4).try_collect().await
}

/// Fails if the open page is larger than it may be.
async fn ensure_small(tab: &Tab) -> Result<()> {
    let size = tab.run("return performance.getEntriesByType('navigation')[0].decodedBodySize", vec![]).await?;
    let size = size.as_u64().context("no size")?;
    ensure!((1000..MOST).contains(&size), "the page has {size} bytes");
    Ok(())
}

async fn names(tab: &Tab) -> Result<Vec<String>> {
    let rows = "return [...document.querySelectorAll('tbody th a')].map((it) => it.textContent)";
    Ok(serde_json::from_value(tab.run(rows, vec![]).await?)?)
}

async fn click(tab: &Tab, selector: &str) -> Result<()> {
    tab.run("document.querySelector(arguments[0]).click()", vec![json!(selector)]).await?;
    Ok(())
}

/// Replaces the text in a field of the filter, and shows what it asks for.
async fn ask(tab: &Tab, field: &str, text: &str) -> Result<()> {
    tab.run("document.querySelector(arguments[0]).select()", vec![json!(format!("[name={field}]"))]).await?;
    tab.write(text).await?;
    tab.press(Key::Enter).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fleet_of_a_hundred_thousand_clusters_is_counted_paged_and_searched() -> Result<()> {
    let api = LocalApi::start().await?;
    fill(&api).await?;
    let console = Console::start(&format!("api: {{base_url: '{}', kinds: [Cluster]}}", api.url())).await?;
    let browser = Browser::start().await?;
    let tab = browser.open(&console.url).await?;

    tab.await_shown(&["all reconciled pending deleting stuck Cluster 100000 99700 200 100 ?"], PATIENCE).await?;
    let mut seen = BTreeSet::new();
    for page in 1..=3 {
        tab.await_shown(&[&format!("100000 resources, the newest first; page {page} of 2000")], PATIENCE).await?;
        ensure_small(&tab).await?;
        let names = names(&tab).await?;
        ensure!(names.len() == 50, "{names:?}");
        seen.extend(names);
        click(&tab, "[rel=next]").await?;
    }
    ensure!(seen.len() == 150, "{} clusters on 3 pages", seen.len());
    tab.go(&format!("{}/?page=2000", console.url)).await?;
    tab.await_shown(&["page 2000 of 2000"], PATIENCE).await?;
    ensure!(names(&tab).await?.iter().all(|name| !seen.contains(name)), "the last page shows what the first ones do");
    click(&tab, "[rel=prev]").await?;
    tab.await_shown(&["page 1999 of 2000"], PATIENCE).await?;

    click(&tab, "td a[href*='state=pending']").await?;
    tab.await_shown(&["200 resources, the newest first; page 1 of 4"], PATIENCE).await?;
    ask(&tab, "name", "cluster-00020").await?;
    tab.await_shown(&["10 resources, the newest first; page 1 of 1"], PATIENCE).await?;
    ensure!(names(&tab).await?.iter().all(|name| name.starts_with("cluster-00020")), "others than asked for");
    ensure_small(&tab).await?;
    ask(&tab, "name", "cluster-000234").await?;
    tab.await_shown(&["1 resource, the newest first; page 1 of 1"], PATIENCE).await?;
    ensure!(names(&tab).await? == ["cluster-000234"], "{:?}", names(&tab).await?);
    ask(&tab, "name", "none").await?;
    tab.await_shown(&["No resource matches."], PATIENCE).await?;

    tab.go(&console.url).await?;
    tab.await_shown(&["page 1 of 2000"], PATIENCE).await?;
    ask(&tab, "label", "region=r7").await?;
    tab.await_shown(&["1000 resources, the newest first; page 1 of 20"], PATIENCE).await?;
    ensure!(names(&tab).await?.iter().all(|name| name.starts_with("cluster-007")), "others than of the region");
    ask(&tab, "label", "region").await?;
    tab.await_shown(&["Write a label as key=value."], PATIENCE).await
}
