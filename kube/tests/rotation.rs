//! A client whose kubeconfig names a CA file, which is rotated while the client runs.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::await_condition;
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_kube::{Cluster, Settings, connect};
use serde_json::json;

/// The client reads the file again about once a minute.
const ROTATION: Duration = Duration::from_secs(90);

#[tokio::test]
async fn rotated_ca_file_of_a_kubeconfig_is_read_again() -> Result<()> {
    let control_plane = ControlPlane::shared().await?;
    // Each proxy has an authority of its own.
    let (before, after) = (control_plane.proxy().await?, control_plane.proxy().await?);
    let directory = tempfile::tempdir()?;
    let authority = directory.path().join("ca.crt");
    let trust = |rotated: &std::path::Path| fs::copy(rotated, &authority).context("failed to rotate");
    trust(&before.access()?.certificate_authority)?;
    let kubeconfig = directory.path().join("kubeconfig");
    let server = after.access()?;
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "x", "cluster": {"server": server.url, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "x", "user": {"token": server.token}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    });
    fs::write(&kubeconfig, document.to_string())?;
    let cluster = Cluster::new(connect(Some(&kubeconfig), "lifecycle-test/1").await?, "test", Settings::default());
    let error = cluster.probe().await.err().context("the server's new authority is not trusted yet")?;
    assert!(error.contains("certificate"), "{error}");

    trust(&server.certificate_authority)?;
    await_condition("the new authority to be trusted", ROTATION, async || {
        let status = cluster.probe().await.map_err(anyhow::Error::msg)?;
        ensure!(status == 200, "HTTP status {status}");
        Ok(())
    })
    .await
}
