//! Chromium, which reads pages as people do.
//!
//! In: the addresses of pages. Out: a [`Browser`] of one test, and its [`Tab`]s: what a page has shown so far, what it shows now, how it
//! looks, and what its keys do. Fails: if Chromium cannot be started, or with what a page showed instead.
//!
//! Each tab keeps every text that its page has shown ([`Tab::await_told`]), so that a test misses nothing between two looks.

mod axe;
mod driver;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fantoccini::Client;
use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::wd::WindowHandle;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::await_condition;
use crate::run::Private;
use driver::Devtools;

pub use axe::Violation;
pub use fantoccini::key::Key;

/// Keeps what a page shows, from its beginning.
const READER: &str = include_str!("browser/reader.js");

/// A browser of one test; it ends when the last of its handles is dropped.
#[derive(Clone)]
pub struct Browser {
    session: Arc<Session>,
}

/// An open page.
pub struct Tab {
    session: Arc<Session>,
    window: WindowHandle,
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The width of the window in pixels.
    pub width: u32,
    /// The height of the window in pixels.
    pub height: u32,
    /// Whether the reader prefers dark pages.
    pub is_dark: bool,
}

impl Look {
    /// A window on a desk.
    pub const DESK: Self = Self { width: 1200, height: 900, is_dark: false };
    /// A telephone.
    pub const PHONE: Self = Self { width: 390, height: 844, is_dark: false };

    /// The same window, of a reader who prefers dark pages.
    #[must_use]
    pub const fn dark(self) -> Self {
        Self { is_dark: true, ..self }
    }
}

/// What all tabs share.
struct Session {
    client: Client,
    /// The empty tab that Chromium starts with: without a chosen tab, the driver opens none.
    first: WindowHandle,
    /// The driver talks to the tab that was chosen last, so one tab at a time has its turn.
    turn: Mutex<()>,
    _driver: Private,
}

impl Browser {
    /// Starts Chromium, without a window on a screen.
    pub async fn start() -> Result<Self> {
        let (driver, client) = driver::start().await?;
        let first = client.window().await?;
        Ok(Self { session: Arc::new(Session { client, first, turn: Mutex::default(), _driver: driver }) })
    }

    /// Opens a page of a server at 127.0.0.1 in a tab that somebody always looks at, as if each tab had a screen of its own.
    ///
    /// Each of these tabs has another name for the server, as Chromium keeps six connections for a name, and an open page may take one.
    pub async fn open(&self, url: &str) -> Result<Tab> {
        let tab = self.new_tab().await?;
        tab.devtools("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await?;
        let name = crate::unique("tab");
        tab.begin(&url.replacen("//127.0.0.1:", &format!("//{name}.localhost:"), 1)).await?;
        Ok(tab)
    }

    /// Opens a page in one more tab of the same window: only the tab that was opened or [brought to the front](Tab::bring_to_front) last
    /// is visible.
    pub async fn open_beside(&self, url: &str) -> Result<Tab> {
        let tab = self.new_tab().await?;
        tab.bring_to_front().await?;
        tab.begin(url).await?;
        Ok(tab)
    }

    async fn new_tab(&self) -> Result<Tab> {
        let turn = self.session.turn.lock().await;
        let window = self.session.client.new_window(true).await.context("no new tab")?.handle;
        drop(turn);
        let tab = Tab { session: self.session.clone(), window };
        tab.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": READER })).await?;
        tab.look(Look::DESK).await?;
        Ok(tab)
    }
}

impl Tab {
    /// Chooses this tab until the guard is dropped.
    async fn turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.session.turn.lock().await;
        self.session.client.switch_to_window(self.window.clone()).await.context("the tab is closed")?;
        Ok(turn)
    }

    /// Opens the first page.
    async fn begin(&self, url: &str) -> Result<()> {
        let turn = self.turn().await?;
        self.session.client.goto(url).await.with_context(|| format!("{url} cannot be opened"))?;
        drop(turn);
        self.run("window.reader.isFirst = true", vec![]).await?;
        Ok(())
    }

    /// Makes this tab the visible one of those that were opened beside each other.
    pub async fn bring_to_front(&self) -> Result<()> {
        self.devtools("Page.bringToFront", json!({})).await
    }

    /// Closes the page.
    pub async fn close(self) -> Result<()> {
        let _turn = self.turn().await?;
        let Session { client, first, .. } = &*self.session;
        client.close_window().await?;
        Ok(client.switch_to_window(first.clone()).await?)
    }

    /// Calls a function of the developer tools.
    async fn devtools(&self, command: &'static str, parameters: Value) -> Result<()> {
        let _turn = self.turn().await?;
        self.session.devtools(command, parameters).await
    }

    /// Runs the body of a function in the page; the page's content security policy does not apply to it.
    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Result<Value> {
        let _turn = self.turn().await?;
        Ok(self.session.client.execute(script, arguments).await?)
    }

    /// As [`run`](Self::run), with a promise of the result.
    async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Result<Value> {
        let _turn = self.turn().await?;
        Ok(self.session.client.execute_async(script, arguments).await?)
    }

    /// Changes how the page is looked at.
    pub async fn look(&self, look: Look) -> Result<()> {
        let _turn = self.turn().await?;
        self.session.look(look).await
    }

    /// Follows a link, or goes to another address, in this tab.
    pub async fn go(&self, url: &str) -> Result<()> {
        let _turn = self.turn().await?;
        Ok(self.session.client.goto(url).await?)
    }

    /// The text that the page shows now, with one space between words.
    pub async fn text(&self) -> Result<String> {
        let text = self.run("return window.reader.text()", vec![]).await?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the page shows all of these texts at once.
    pub async fn await_shown(&self, parts: &[&str], limit: Duration) -> Result<()> {
        await_condition(&format!("{parts:?} on the page"), limit, async || {
            let text = self.text().await?;
            let missing = parts.iter().find(|part| !text.contains(**part));
            missing.map_or(Ok(()), |missing| bail!("no `{missing}` in: {text}"))
        })
        .await
    }

    /// Waits until the page, which was opened once, has shown these texts, each at the same time as the one before it or later.
    pub async fn await_told(&self, parts: &[&str], limit: Duration) -> Result<()> {
        await_condition("the story on the page", limit, async || {
            let answer = self.run("return window.reader.missing(arguments[0])", vec![json!(parts)]).await?;
            ensure!(answer["isFirst"] == true, "the page was loaded again");
            let Some(missing) = answer["missing"].as_str() else { return Ok(()) };
            bail!("no `{missing}` yet; the page shows: {}", answer["text"].as_str().unwrap_or_default())
        })
        .await
    }

    /// What went wrong in the page: errors of scripts, and what its content security policy forbade.
    pub async fn faults(&self) -> Result<Vec<String>> {
        Ok(serde_json::from_value(self.run("return window.reader.faults", vec![]).await?)?)
    }

    /// Waits until a condition in JavaScript holds in the page.
    pub async fn await_that(&self, condition: &str, limit: Duration) -> Result<()> {
        await_condition(condition, limit, async || {
            let holds = self.run(&format!("return Boolean({condition})"), vec![]).await?;
            ensure!(holds == true, "it does not hold: {}", self.text().await?);
            Ok(())
        })
        .await
    }

    /// Presses a key, and releases it.
    pub async fn press(&self, key: Key) -> Result<()> {
        self.write(&char::from(key).to_string()).await
    }

    /// Presses the keys of a text one after the other.
    pub async fn write(&self, text: &str) -> Result<()> {
        let press = |keys: KeyActions, value| keys.then(KeyAction::Down { value }).then(KeyAction::Up { value });
        let keys = text.chars().fold(KeyActions::new("keyboard".to_owned()), press);
        let _turn = self.turn().await?;
        Ok(self.session.client.perform_actions(keys).await?)
    }

    /// The page as a PNG file: as wide as the look says, and at most as high. Then the page is looked at as before.
    pub async fn picture(&self, look: Look, before: Look) -> Result<Vec<u8>> {
        let _turn = self.turn().await?;
        let session = &self.session;
        session.look(Look { height: 200, ..look }).await?;
        let full =
            session.client.execute("scrollTo(0, 0); return document.documentElement.scrollHeight", vec![]).await?;
        let full = u32::try_from(full.as_u64().context("the page has no height")?)?;
        session.look(Look { height: full.min(look.height), ..look }).await?;
        let picture = session.client.screenshot().await?;
        session.look(before).await?;
        Ok(picture)
    }
}

/// Commands for the tab that was chosen last.
impl Session {
    async fn devtools(&self, command: &'static str, parameters: Value) -> Result<()> {
        let answer = self.client.issue_cmd(Devtools { command, parameters }).await;
        answer.with_context(|| format!("{command} failed"))?;
        Ok(())
    }

    async fn look(&self, look: Look) -> Result<()> {
        let size = json!({ "width": look.width, "height": look.height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await?;
        let scheme = if look.is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await
    }
}
