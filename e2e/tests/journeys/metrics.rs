//! The figures that programs export.

use anyhow::Result;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::series::total;

/// The sum of the series of this name whose labels contain a text; 0 without a series.
pub(crate) async fn sum(process: &Process, name: &str, label: &str) -> Result<f64> {
    Ok(total(&text(process).await?, name, label))
}

/// All that a program exports.
pub(crate) async fn text(process: &Process) -> Result<String> {
    Ok(reqwest::get(format!("{}/metrics", process.url("metrics").await?)).await?.text().await?)
}
