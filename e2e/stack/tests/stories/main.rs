//! The program as its users meet it: the system comes up, with other programs too, every story comes true and is told by the
//! console, dashboards and rules have data, a fleet is measured, and nothing is left behind.

mod console;
mod page;
mod queries;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use lifecycle_e2e::browser::Browser;
use lifecycle_e2e::process::{Process, Setup, processes_of};
use lifecycle_e2e::{await_condition, free_port, program};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

/// Limits the start of the system, and each story.
const LIMIT: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread")]
async fn stories_come_true_and_nothing_is_left_behind() -> Result<()> {
    let home = home()?;
    let directory = home.path().join("stack");
    let path = directory.to_str().context("the directory is no text")?;
    let arguments = ["--no-build", "--directory", path];
    let mut stack = start(&arguments).await?;

    let second = run(&arguments).await;
    ensure!(second.is_err_and(|error| error.to_string().contains("runs already")), "two stacks in one directory");
    let browser = Browser::start().await?;
    let play = async |story: &page::Story| page::play(story, &directory, &browser).await.context(story.name);
    play(&page::CREATE).await?;
    try_join_all(page::STORIES.iter().map(&play)).await?;
    console::ensure_pages(&directory, &browser).await?;
    drop(browser);
    queries::ensure_data(&directory).await?;

    stack.signal("INT").await?;
    let status = stack.exit().await?;
    ensure!(status.code() == Some(0), "{status}");
    ensure_nothing_is_left(&directory)?;
    let none = run(&["demo", "create", "--directory", path]).await;
    ensure!(none.is_err_and(|error| error.to_string().contains("no stack runs")), "a story without a stack");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_measures_a_small_fleet_and_leaves_nothing_behind() -> Result<()> {
    let home = home()?;
    let directory = home.path().join("stack");
    let path = directory.to_str().context("the directory is no text")?;
    let few = ["bench", "--clusters", "5", "--cadence", "fast", "--steady", "2"];
    let told = run(&[&few[..], &["--no-build", "--directory", path]].concat()).await?;
    for part in ["first", "second", "sentinel", "api", "postgres", "rabbitmq", "kube-apiserver", "etcd"] {
        ensure!(told.lines().any(|line| line.starts_with(part)), "{part} is missing in {told}");
    }
    for expected in ["5 clusters, 2 adapters", "(0 failed)", "The next bottleneck is", "What 100000 clusters need"] {
        ensure!(told.contains(expected), "{expected} is missing in {told}");
    }
    ensure_nothing_is_left(&directory)
}

#[tokio::test(flavor = "multi_thread")]
async fn swapped_programs_start_with_the_files_and_flags_of_the_go_programs() -> Result<()> {
    let home = home()?;
    let directory = home.path().join("stack");
    let path = directory.to_str().context("the directory is no text")?;
    let programs = ["local-api", "local-sentinel", "hyperfleet-adapter"].map(program);
    let [api, sentinel, adapter] = programs.map(|path| path.map(|path| path.display().to_string()));
    // The fixed ports of a Go adapter may be in use here.
    let ports = format!("{},{}", free_port()?, free_port()?);
    let arguments = [
        ["--api-program", &api?],
        ["--sentinel-program", &sentinel?],
        ["--adapter-program", &adapter?],
        ["--adapter-ports", &ports],
        ["--directory", path],
    ];
    let mut stack = start(&[&["--no-build"], arguments.as_flattened()].concat()).await?;
    for story in ["history", "debounce", "bundle"] {
        let told = run(&["demo", story, "--directory", path]).await;
        ensure!(told.is_err_and(|error| error.to_string().contains("lacks `retention`")), "{story} without its task");
    }
    stack.signal("INT").await?;
    let status = stack.exit().await?;
    ensure!(status.code() == Some(0), "{status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn works_on_a_remote_cluster_go_with_their_cluster() -> Result<()> {
    let home = home()?;
    let directory = home.path().join("stack");
    let path = directory.to_str().context("the directory is no text")?;
    let mut stack = start(&["--no-build", "--maestro", "--directory", path]).await?;
    let tells = |lines: &[String], what: &str| lines.iter().any(|line| line.contains(what));
    let lines = stack.lines();
    for shown in ["up Maestro", "ManifestWork remote/cluster-<id> is applied by its agent, version 1"] {
        ensure!(tells(&lines, shown), "{shown} is missing in {lines:?}");
    }

    let play = async |story: &str| run(&["demo", story, "--directory", path]).await.context(story.to_owned());
    let (deleted, forced) = tokio::try_join!(play("delete"), play("force-delete"))?;
    let at = |what: &str| deleted.find(what).with_context(|| format!("{what} is missing in {deleted}"));
    let (job, work) = (at("Job provision-1 is gone")?, at("ManifestWork remote/cluster-<id> is being deleted")?);
    ensure!(job < work, "the work went before the Job: {deleted}");
    let swept = r#"kind="work.open-cluster-management.io/ManifestWork",outcome="terminating"} 1"#;
    ensure!(forced.contains(swept), "the sweeper deleted no work: {forced}");

    stack.signal("INT").await?;
    let status = stack.exit().await?;
    ensure!(status.code() == Some(0), "{status}");
    ensure_nothing_is_left(&directory)
}

/// A temporary directory that the database server's user can enter.
fn home() -> Result<TempDir> {
    let home = TempDir::new()?;
    fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(home)
}

fn ensure_nothing_is_left(directory: &Path) -> Result<()> {
    let left = processes_of(directory)?;
    ensure!(left.is_empty(), "processes are left: {left:?}");
    for server in fs::read_dir(directory.join("servers"))? {
        let data = server?.path().join("data");
        ensure!(!data.exists(), "{} is left", data.display());
    }
    Ok(())
}

/// Starts the program, and waits for the first cluster.
async fn start(arguments: &[&str]) -> Result<Process> {
    let mut stack = Setup::new("stack").arguments(arguments);
    for name in ["PATH", "HOME"] {
        stack = stack.variable(name, &std::env::var(name).unwrap_or_default());
    }
    let stack = stack.start()?;
    await_condition("the first cluster to be reconciled", LIMIT, async || {
        let is_up = stack.lines().iter().any(|line| line.contains("The cluster is Reconciled"));
        ensure!(is_up, "{:?}", stack.lines().last());
        Ok(())
    })
    .await?;
    Ok(stack)
}

/// Runs the program to its end. Returns what it told.
async fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new(program("stack")?).args(arguments).kill_on_drop(true).output();
    let output = timeout(LIMIT, output).await.context("it does not end")??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    Ok(text(&output.stdout))
}
