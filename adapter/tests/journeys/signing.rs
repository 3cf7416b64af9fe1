//! Ownership proofs: each object has a signature of its labels, which a new key renews at the next write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lifecycle_objects::proof::{Claim, Signer};
use serde_json::Value;

use crate::task::{SETTINGS, task};
use crate::world::World;

const FIRST_KEY: &str = "the first key of this test, for nobody else";
const SECOND_KEY: &str = "the second key of this test, just as secret";

fn write_key(path: &Path, key: &str) -> Result<()> {
    fs::write(path, key)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o440))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn new_key_renews_the_ownership_proof_at_the_next_write() -> Result<()> {
    let world = World::new().await?;
    let folder = tempfile::tempdir()?;
    let key_file = folder.path().join("key");
    let place = key_file.to_str().context("no text")?;
    let claim = Claim {
        adapter: world.name(),
        resource_id: "c1",
        group: "",
        kind: "ConfigMap",
        namespace: world.namespace.name(),
        name: "c1",
    };
    let is_proven = |object: &Value, key: &str| -> Result<bool> {
        let proof = object["metadata"]["annotations"]["hyperfleet.io/ownership-proof"].as_str().context("a proof")?;
        Ok(Signer::new(key.as_bytes())?.verify(&claim, proof))
    };

    write_key(&key_file, FIRST_KEY)?;
    let adapter = world.adapter(task(SETTINGS))?.with("signing.key_file", place).start().await?;
    world.reconcile("c1", 1).await?;
    let object = world.object("ConfigMap", "c1").await?;
    ensure!(is_proven(&object, FIRST_KEY)?, "{object}");
    let printed = adapter.lines().join("\n");
    ensure!(!printed.contains(FIRST_KEY), "{printed}");
    drop(adapter);

    write_key(&key_file, SECOND_KEY)?;
    let _adapter = world.adapter(task(SETTINGS))?.with("signing.key_file", place).start().await?;
    world.reconcile_again("c1").await?;
    let object = world.object("ConfigMap", "c1").await?;
    ensure!(is_proven(&object, FIRST_KEY)?, "nothing was written: {object}");
    world.reconcile("c1", 2).await?;
    let object = world.object("ConfigMap", "c1").await?;
    ensure!(is_proven(&object, SECOND_KEY)? && !is_proven(&object, FIRST_KEY)?, "{object}");
    Ok(())
}
