//! Requests for works to Maestro's REST interface, as a user sends them.
//!
//! In: the URL of that interface. Out: works as Maestro shows them. Fails: with Maestro's answer.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The URL of all works.
pub(crate) fn list(maestro: &str) -> String {
    format!("{maestro}/api/maestro/v1/resource-bundles")
}

/// The work with this name.
pub(crate) async fn find(maestro: &str, name: &str) -> Result<Option<Value>> {
    let search = format!("payload->'metadata'->>'name'='{name}'");
    let url = reqwest::Url::parse_with_params(&list(maestro), [("search", search)]).context("Maestro has no URL")?;
    let response = reqwest::get(url).await.context("Maestro does not answer")?;
    let status = response.status();
    let text = response.text().await.context("Maestro's answer is incomplete")?;
    ensure!(status.is_success(), "Maestro answered {status}: {text}");
    let list = serde_json::from_str(&text);
    let mut list: Value = list.with_context(|| format!("Maestro's answer is no JSON: {text}"))?;
    Ok(list["items"].get_mut(0).map(Value::take))
}
