//! Checks the exposition with `promtool`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::world::{Exporter, KINDS, World};

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

#[tokio::test]
async fn exposition_passes_promtool_check_metrics() {
    let mut world = World::migrated().await;
    world.resource("c1", "Cluster", Some("False"), "1 hour").await;
    let config = world.config(KINDS);
    let exporter = Exporter::start(config).await;
    exporter.scraper.renew_details().await;
    let (_, text) = exporter.metrics_as("text/plain").await;
    let mut promtool = Command::new("promtool");
    let promtool =
        promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool.spawn().expect("promtool is not installed; run `./test --setup` once");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{text}");
}
