//! The figures that programs export.

use anyhow::{Context as _, Result};
use lifecycle_e2e::process::Process;

/// The sum of the series of this name whose labels contain a text; 0 without a series.
pub(crate) async fn sum(process: &Process, name: &str, label: &str) -> Result<f64> {
    let mut sum = 0.0;
    for line in lines(process, name).await? {
        let (series, value) = line.rsplit_once(' ').with_context(|| format!("no value: {line}"))?;
        if series.split('{').next() == Some(name) && series.contains(label) {
            sum += value.parse::<f64>()?;
        }
    }
    Ok(sum)
}

/// The series whose names begin with a text, with their values.
pub(crate) async fn lines(process: &Process, prefix: &str) -> Result<Vec<String>> {
    let text = reqwest::get(format!("{}/metrics", process.url("metrics").await?)).await?.text().await?;
    Ok(text.lines().filter(|line| line.starts_with(prefix)).map(str::to_owned).collect())
}
