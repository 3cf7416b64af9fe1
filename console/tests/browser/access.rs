//! Reads the pages as people do who see little, or use no mouse.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::browser::{Key, Look};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::world::{PAGES, World};

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_wrong_in_light_and_dark_pages() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    for path in PAGES {
        let tab = world.open(path).await?;
        for look in [Look::DESK, Look::DESK.dark(), Look::PHONE, Look::PHONE.dark()] {
            tab.look(look).await?;
            tab.run("document.querySelectorAll('details').forEach((it) => { it.open = true; })", vec![]).await?;
            let violations = tab.violations().await?;
            ensure!(violations.is_empty(), "{path}, {look:?}: {violations:#?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_a_picture_without_a_text() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    let tab = world.open("/").await?;
    tab.run("document.querySelector('footer').innerHTML = '<img src=/assets/icon.svg>'", vec![]).await?;
    let violations = tab.violations().await?;
    ensure!(violations.iter().any(|violation| violation.rule == "image-alt"), "{violations:?}");
    Ok(())
}

/// What has the focus: its place among all that can have it, in the order of the page, and whether a reader sees that.
const FOCUSED: &str = "
    const all = [...document.querySelectorAll('a[href], input, select, button, summary, [tabindex=\"0\"]')].filter((it) => it.checkVisibility());
    const it = document.activeElement, style = getComputedStyle(it), place = it.getBoundingClientRect();
    const isInView = place.right > 0 && place.left < innerWidth && place.bottom > 0 && place.top < innerHeight;
    return { place: all.indexOf(it), all: all.length, what: it.outerHTML.slice(0, 200),
        isVisible: isInView && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 }";

#[tokio::test(flavor = "multi_thread")]
async fn tab_reaches_each_link_and_control_in_order_with_a_visible_focus() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    for path in PAGES {
        let tab = world.open(path).await?;
        let mut next = 0;
        loop {
            tab.press(Key::Tab).await?;
            let focused = await_condition("a visible focus", PATIENCE, async || {
                let focused = tab.run(FOCUSED, vec![]).await?;
                ensure!(focused["isVisible"] == true, "{path}: {focused}");
                Ok(focused)
            });
            let focused: Value = focused.await?;
            ensure!(focused["place"] == json!(next), "{path}: not the {next}th: {focused}");
            next += 1;
            if focused["all"] == json!(next) {
                break;
            }
        }
        ensure!(next >= 5, "{path} has {next} links and controls");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_types_while_the_page_is_brought_up_to_date() -> Result<()> {
    let mut world = World::start("an ordinary text").await?;
    let tab = world.open("/").await?;
    tab.run("window.former = document.querySelector('[name=name]'); former.focus()", vec![]).await?;
    tab.write("ac").await?;
    tab.press(Key::Left).await?;
    // The page gets a paragraph before the form.
    world.peers.go_away().await;
    tab.await_shown(&["exporter is away."], PATIENCE).await?;
    tab.write("b").await?;
    tab.await_that("former.isConnected && former.value === 'abc'", PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn first_key_leads_to_the_content() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    let tab = world.open("/sweeper").await?;
    tab.press(Key::Tab).await?;
    tab.press(Key::Enter).await?;
    tab.await_that("document.activeElement.id === 'content'", PATIENCE).await.context("the link to the content")?;
    tab.press(Key::Tab).await?;
    tab.await_that("document.getElementById('content').contains(document.activeElement)", PATIENCE).await
}
