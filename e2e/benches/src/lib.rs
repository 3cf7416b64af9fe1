//! Benchmarks that need real servers. Each measures a program of this workspace as a process:
//!
//! | benchmark | measures |
//! | --- | --- |
//! | `bundle` | a bundle of 1,000 objects, for the adapter |
//! | `events` | an event, for the adapter |
//! | `pages` | the pages of the console in front of a large fleet |
//! | `pass` | a pass of the sweeper, and the deletion of orphans |
//! | `scrape` | a scrape of `reconcile-metrics`, and the cost of its indexes for the API |
//!
//! They stand above the programs and [`lifecycle_e2e`], so that no program depends on servers to be measured. This library
//! has what they share. `language/benches` and `core/benches` measure code that needs no server.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{cargo, program};

/// Builds a program of this workspace, with the optimisation of the benchmark, and returns its path.
///
/// Cargo builds no program of another package for a benchmark, which would then measure an old one unnoticed.
pub fn build(name: &str) -> Result<PathBuf> {
    // `cargo bench` puts what it builds into the directory of the profile `release`.
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Without `--package`, as the features of dependencies are then those of the other builds of the workspace.
    let status = cargo().args(["build", "--locked", "--bin", name, "--profile", profile]).current_dir(root).status();
    let status = status.context("failed to start cargo")?;
    ensure!(status.success(), "failed to build {name}: the lines above say why");
    program(name)
}
