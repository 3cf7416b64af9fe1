//! Stops sources, and the console itself, while pages are open.

use anyhow::{Result, ensure};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::browser::Tab;
use lifecycle_e2e::fault::TcpProxy;

use crate::world::{PAGES, World};

/// Waits until each page says that this source is away, and then, that it is back.
async fn ensure_told(tabs: &[Tab], away: &str, known: &[&str]) -> Result<()> {
    for (tab, known) in tabs.iter().zip(known) {
        tab.await_told(&[known, away, known], PATIENCE).await?;
        tab.await_that("!document.querySelector('.away')", PATIENCE).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn open_page_says_that_a_source_is_away_and_that_it_is_back() -> Result<()> {
    let mut world = World::start("an ordinary text").await?;
    let mut tabs = Vec::new();
    for path in PAGES {
        tabs.push(world.open(path).await?);
    }

    world.peers.go_away().await;
    let away = [
        "exporter is away.",
        "adapter jobs is away.",
        "adapter jobs is away.",
        "adapter jobs is away.",
        "sweeper is away.",
    ];
    for (tab, away) in tabs.iter().zip(away) {
        tab.await_shown(&[away, "What it knows is missing here."], PATIENCE).await?;
    }
    world.peers.come_back().await?;
    let known = ["1 is stuck", "Row 17 of the decision table", "jobs-0", "jobs-0", "Objects it finds"];
    for ((tab, away), known) in tabs.iter().zip(away).zip(known) {
        ensure_told(std::slice::from_ref(tab), away, &[known]).await?;
    }

    world.api.go_away().await;
    for tab in &tabs[..2] {
        tab.await_shown(&["API is away"], PATIENCE).await?;
    }
    world.api.come_back().await?;
    ensure_told(&tabs[..2], "API is away", &["1 resource, the newest first", "What the adapters reported"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_pages_can_be_open_and_the_visible_one_is_up_to_date() -> Result<()> {
    let mut world = World::start("an ordinary text").await?;
    let mut tabs = Vec::new();
    // A browser keeps six connections to a server.
    for _ in 0..8 {
        let tab = world.browser.open_beside(&format!("{}/sweeper", world.console.url)).await?;
        tab.await_shown(&["Live", "Objects it finds"], PATIENCE).await?;
        tabs.push(tab);
    }
    world.peers.go_away().await;
    tabs[7].await_shown(&["sweeper is away."], PATIENCE).await?;
    ensure!(tabs[0].text().await?.contains("Objects it finds"), "the page behind is brought up to date, too");
    tabs[0].bring_to_front().await?;
    tabs[0].await_told(&["Objects it finds", "sweeper is away."], PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn open_page_says_that_the_console_is_away_and_that_it_is_back() -> Result<()> {
    let World { console, browser, api: _api, peers: _peers } = World::start("an ordinary text").await?;
    let tab = browser.open(&console.url).await?;
    tab.await_shown(&["Sweeper Live Fleet"], PATIENCE).await?;
    let again = console.stop().await;
    tab.await_shown(&["Not live: the console does not answer. This is what it said last.", "1 is stuck"], PATIENCE)
        .await?;
    let _console = again.await?;
    tab.await_told(&["Sweeper Live Fleet", "Not live: the console", "Sweeper Live Fleet"], PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn open_page_says_that_nothing_is_heard_and_connects_again() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    let proxy = TcpProxy::before(world.console.url.trim_start_matches("http://")).await?;
    let tab = world.browser.open(&format!("http://{}/", proxy.address())).await?;
    tab.await_shown(&["Sweeper Live Fleet"], PATIENCE).await?;
    proxy.mute();
    tab.await_told(&["Sweeper Live Fleet", "Not live: nothing was heard", "Sweeper Live Fleet"], PATIENCE).await
}
