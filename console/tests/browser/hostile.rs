//! Shows texts that strangers wrote: markup, scripts, quotes, marks that turn the direction of text around, endless words.

use anyhow::{Result, ensure};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::browser::Look;
use serde_json::json;

use crate::world::{PAGES, World};

/// Each sets the variable `executed` if a browser takes it for more than text.
const MARKUP: &str = "<script>executed = 1</script>\"'><img src=x onerror=executed=2><svg onload=executed=3>\
     </td></table></main><a href=\"javascript:executed=4\">\\u003cscript>&lt;b&gt;&#x202e;";
/// Shows what follows it from right to left.
const OVERRIDE: char = '\u{202e}';

#[tokio::test(flavor = "multi_thread")]
async fn text_of_strangers_stays_text_and_within_the_page() -> Result<()> {
    let endless = "x".repeat(10_000);
    for (text, sign) in [(MARKUP.to_owned(), "<script>executed = 1</script>"), (endless, "xxxxxxxx")] {
        let world = World::start(&text).await?;
        for path in PAGES {
            let tab = world.open(path).await?;
            tab.look(Look::PHONE).await?;
            // All that is closed at first is looked at, too.
            tab.run("document.querySelectorAll('details').forEach((it) => { it.open = true; })", vec![]).await?;
            let shown = tab.text().await?;
            ensure!(shown.contains(sign) || path == "/adapters", "{path} does not show the text: {shown}");
            let found = tab
                .run(
                    "return { executed: String(window.executed),
                        strangers: document.querySelectorAll('img, iframe, main script, main a[href^=javascript], main svg:not(.graph)').length,
                        parts: document.querySelectorAll('body > header, body > main, body > footer').length,
                        room: innerWidth - document.documentElement.scrollWidth }",
                    vec![],
                )
                .await?;
            let expected = json!({ "executed": "undefined", "strangers": 0, "parts": 3, "room": 0 });
            ensure!(found == expected, "{path}: {found}");
            let faults = tab.faults().await?;
            ensure!(faults.is_empty(), "{path}: {faults:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_strangers_does_not_turn_the_text_after_it_around() -> Result<()> {
    let world = World::start(&format!("turned{OVERRIDE}dnuora")).await?;
    for path in PAGES {
        let tab = world.open(path).await?;
        let shown = tab.text().await?;
        ensure!(!shown.contains(OVERRIDE), "{path} shows the mark: {shown}");
        ensure!(
            shown.contains("turned\u{fffd}dnuora") || path == "/adapters",
            "{path} does not show the text: {shown}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn page_reports_a_script_that_its_policy_forbids() -> Result<()> {
    let world = World::start("an ordinary text").await?;
    let tab = world.open("/").await?;
    // What the other tests here look for is seen if it is there.
    tab.run("document.body.insertAdjacentHTML('beforeend', '<img src=/x onerror=executed=1>')", vec![]).await?;
    tab.await_that("window.reader.faults.some((fault) => fault.includes('script-src-attr'))", PATIENCE).await
}
