//! Runs the commands.
//!
//! In: an invocation. Out: text on standard output, and an exit code. Fails: with one error, which contains the texts of
//! its causes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::args::Invocation;
use crate::place::Place;
use crate::{bench, demo, fake_kubelet, prepare, up};

/// Runs a command. `directory` is that of the stack.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(directory: Option<PathBuf>, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    lifecycle_e2e::init();
    let place = directory.map_or_else(Place::of_this_checkout, Place::at)?;
    match invocation {
        Invocation::Up(options) if !options.no_build => prepare::prepare(options.node)?,
        Invocation::Bench(options) if !options.no_build => prepare::prepare(false)?,
        _ => {}
    }
    // One thread only: a part ends when the thread that started it does (see `part`).
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    runtime.block_on(async {
        match invocation {
            Invocation::Up(options) => up::up(&place, options).await,
            Invocation::Bench(options) => bench::bench(&place, options).await,
            Invocation::Demo(story) => demo::play(&place.running()?, *story).await,
            Invocation::Kubelet(listen) => fake_kubelet::serve(&place.running()?.kubeconfig, *listen).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
