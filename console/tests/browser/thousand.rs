//! A fleet of a thousand clusters, on the local API.

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

/// Of a thousand clusters, the first 100 are being deleted, the next 200 are pending, and the rest is reconciled.
async fn fill(api: &LocalApi) -> Result<()> {
    let put = async |number: u32| {
        let id = format!("cluster-{number:04}");
        api.put_cluster(&id, 1).await?;
        let status = if number < 300 { "False" } else { "True" };
        api.put_reconciled(&id, status, Timestamp::now()).await?;
        if number < 100 {
            api.delete(&id).await?;
        }
        anyhow::Ok(())
    };
    stream::iter((0..1000).map(put)).buffer_unordered(4).try_collect().await
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
async fn fleet_of_a_thousand_clusters_is_counted_paged_and_searched() -> Result<()> {
    let api = LocalApi::start().await?;
    fill(&api).await?;
    let console = Console::start(&format!("api: {{base_url: '{}', kinds: [Cluster]}}", api.url())).await?;
    let browser = Browser::start().await?;
    let tab = browser.open(&console.url).await?;

    tab.await_shown(&["all reconciled pending deleting stuck Cluster 1000 700 200 100 ?"], PATIENCE).await?;
    let mut seen = BTreeSet::new();
    for page in 1..=20 {
        tab.await_shown(&[&format!("1000 resources, the newest first; page {page} of 20")], PATIENCE).await?;
        ensure_small(&tab).await?;
        let names = names(&tab).await?;
        ensure!(names.len() == 50, "{names:?}");
        seen.extend(names);
        if page < 20 {
            click(&tab, "[rel=next]").await?;
        }
    }
    ensure!(seen.len() == 1000, "{} clusters on 20 pages", seen.len());
    click(&tab, "[rel=prev]").await?;
    tab.await_shown(&["page 19 of 20"], PATIENCE).await?;

    click(&tab, "td a[href*='state=pending']").await?;
    tab.await_shown(&["200 resources, the newest first; page 1 of 4"], PATIENCE).await?;
    ask(&tab, "name", "cluster-01").await?;
    tab.await_shown(&["100 resources, the newest first; page 1 of 2"], PATIENCE).await?;
    ensure!(names(&tab).await?.iter().all(|name| name.starts_with("cluster-01")), "others than asked for");
    ensure_small(&tab).await?;
    ask(&tab, "name", "cluster-0123").await?;
    tab.await_shown(&["1 resource, the newest first; page 1 of 1"], PATIENCE).await?;
    ensure!(names(&tab).await? == ["cluster-0123"], "{:?}", names(&tab).await?);
    ask(&tab, "name", "none").await?;
    tab.await_shown(&["No resource matches."], PATIENCE).await
}
