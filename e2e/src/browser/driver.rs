//! Starts Debian's `chromedriver`, which starts Chromium.
//!
//! In: nothing. Out: the supervised driver, and a client of its session. Fails: if Chromium or its driver is not installed, or does not
//! start.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};

use crate::run::{Instance, Private, free_port};

const DRIVER: &str = "/usr/bin/chromedriver";
/// Where the driver is not told to, it starts Chromium so that nobody ends it if the driver is killed. The kernel does.
const CHROMIUM: &str = "#!/bin/sh\nexec setpriv --pdeathsig KILL -- /usr/bin/chromium \"$@\"\n";

pub(super) async fn start() -> Result<(Private, Client)> {
    ensure!(
        Path::new(DRIVER).exists() && Path::new("/usr/bin/chromium").exists(),
        "Chromium is not installed; run `./test --setup` once, it installs the packages chromium and chromium-driver"
    );
    let directory = Private::directory().await?;
    let (driver, (url, data)) = Private::start(directory, launch).await?;
    let flags = [
        "--headless=new",
        // Containers and root have none of what the sandbox needs; the pages are the tests' own.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        &format!("--user-data-dir={data}/profile"),
    ];
    let options = json!({ "binary": format!("{data}/chromium"), "args": flags });
    // A page that is brought up to date is never loaded to its end.
    let capabilities = json!({
        "goog:chromeOptions": options,
        "pageLoadStrategy": "eager",
        "timeouts": { "pageLoad": 60_000, "script": 60_000 },
    });
    let capabilities = capabilities.as_object().cloned().unwrap_or_default();
    let mut builder = ClientBuilder::new(HttpConnector::new());
    let client = builder.capabilities(capabilities).connect(&url).await;
    let client = client.with_context(|| format!("Chromium does not start: {}", driver.instance().log_tails()))?;
    Ok((driver, client))
}

/// Starts the driver. Returns its URL, and the directory of what Chromium writes.
async fn launch(instance: &mut Instance) -> Result<(String, String)> {
    let port = free_port()?;
    let data = instance.data("chromium-home")?;
    let chromium = data.join("chromium");
    fs::write(&chromium, CHROMIUM)?;
    fs::set_permissions(&chromium, Permissions::from_mode(0o755))?;
    let data = data.display().to_string();
    let environment = [("HOME", data.clone()), ("TMPDIR", data.clone())];
    instance.spawn("chromedriver", &environment, &[DRIVER.to_owned(), format!("--port={port}")])?;
    instance.await_port("chromedriver to listen", port).await?;
    Ok((format!("http://127.0.0.1:{port}"), data))
}

/// A command of Chromium's developer tools.
#[derive(Debug)]
pub(super) struct Devtools {
    pub(super) command: &'static str,
    pub(super) parameters: Value,
}

impl WebDriverCompatibleCommand for Devtools {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}
