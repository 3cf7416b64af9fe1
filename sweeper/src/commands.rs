//! Runs the commands.
//!
//! In: an invocation and the environment variables. Out: text on standard output, logs on standard error, and an exit
//! code. Fails: with one error, which contains the texts of its causes.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_core::sweep::{Approval, Hold, Strikes};
use lifecycle_kube::rights::Account;
use lifecycle_kube::{Cluster, Fence, Settings};
use lifecycle_objects::keys;
use lifecycle_service::configuration::check;
use lifecycle_service::program::print;
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::{files, shutdown};
use serde_json::{Value, json};

use crate::args::{Grant, Invocation, Output};
use crate::audit;
use crate::config::settings::FILE;
use crate::config::{CONFIGURATION, Config, Environment, Flags};
use crate::metrics::PassResult;
use crate::objects::Objects as _;
use crate::restore::{self, Deleted, Selection};
use crate::rights::{admission, rbac};
use crate::survey::survey;
use crate::{connect, report, run, scenario};

/// The exit code of `plan` if a sweep would delete something, perhaps after a person's approval.
const WOULD_DELETE: u8 = 2;

/// The exit code of `plan` if its look proves nothing, and of `sweep` if the pass was held.
const HELD: u8 = 3;

/// Runs a command.
///
/// # Errors
/// Returns the reason why the command failed.
pub fn run(invocation: Invocation, flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let load = || Ok::<_, anyhow::Error>(load(flags, environment)?.0);
    let load_and_say = async || {
        let config = load()?;
        if let Some(overridden) = config.overridden.first() {
            anyhow::bail!("{overridden}");
        }
        writeln!(std::io::stderr(), "{}", connect::whereabouts(&config).await?)?;
        Ok::<_, anyhow::Error>(config)
    };
    // Passes run on the main thread; the election has the worker, so that no parsing of lists delays a renewal.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.context("failed to start")?.block_on(async {
        match invocation {
            Invocation::Run => {
                let (config, warnings) = self::load(flags, environment)?;
                log_diagnostics(&warnings);
                run::run(config, shutdown::listen().context("failed to listen for signals")?).await?;
                tracing::info!("Stopped");
                Ok(ExitCode::SUCCESS)
            }
            Invocation::Sweep { first_strike, once: _ } => sweep(load_and_say().await?, first_strike.as_deref()).await,
            Invocation::Plan { output } => plan(load_and_say().await?, output).await,
            Invocation::Approve { plan, lasts } => approve(&load_and_say().await?, &plan, lasts).await,
            Invocation::Restore { file, selection, keep_stamps, print: true } => {
                load()?;
                print_manifests(&file, &selection, keep_stamps)
            }
            Invocation::Restore { file, selection, keep_stamps, print: false } => {
                restore(&load_and_say().await?, &file, &selection, keep_stamps).await
            }
            Invocation::Rbac { account, output } => rbac(&load()?, &account, output).await,
            Invocation::AdmissionPolicy { accounts } => print(&admission::manifests(&accounts)),
            Invocation::Demo { scenario } => demo(scenario.as_deref()).await,
            Invocation::Check => check(CONFIGURATION.load(environment, flags)),
        }
    })
}

/// Loads the configuration, and starts the log. Only `run` logs the warnings that `check` prints.
fn load(flags: &Flags, environment: &Environment) -> anyhow::Result<(Config, Diagnostics)> {
    let hint = match FILE.resolve(flags, environment) {
        Some(_) => String::new(),
        None => format!("; no configuration file was given: set --{} or {}", FILE.flag, FILE.variable),
    };
    CONFIGURATION.start(CONFIGURATION.load(environment, flags), &hint)
}

async fn sweep(config: Config, first_strike: Option<&Path>) -> anyhow::Result<ExitCode> {
    let strikes = match first_strike {
        Some(file) => {
            let text = files::read_text(file, files::CONFIGURATION)
                .with_context(|| format!("failed to read {}", file.display()))?;
            let strikes = report::first_strikes(&text, &config, Timestamp::now());
            Some(strikes.map_err(|error| anyhow::anyhow!("{} {error}", file.display()))?)
        }
        None => None,
    };
    let stop = shutdown::listen().context("failed to listen for signals")?;
    Ok(match run::sweep_once(config, strikes, stop).await? {
        PassResult::Done | PassResult::DryRun => ExitCode::SUCCESS,
        PassResult::Held => ExitCode::from(HELD),
        PassResult::Failed => ExitCode::FAILURE,
    })
}

/// Surveys as a sweep does, but with one look: what is gone now is what a sweep would delete after the grace.
async fn plan(config: Config, output: Output) -> anyhow::Result<ExitCode> {
    let (objects, api) = (connect::objects(&config).await?, connect::api(&config.api)?);
    let policy = (&config.policy, &config.filter);
    let found = survey(&objects, &api, policy, &mut Strikes::default(), async || None, Timestamp::now).await;
    // After the last answer, from which the file's grace counts.
    let now = Timestamp::now();
    let found = found.after_grace(now);
    let text = match output {
        Output::Text => report::text(&found, None),
        Output::Json => format!("{:#}\n", report::json(&found, &config, now)),
    };
    print(&text)?;
    let is_proven = found.plan.holds().iter().all(Hold::is_approvable);
    Ok(match found.plan.objects() {
        _ if !is_proven => ExitCode::from(HELD),
        [] => ExitCode::SUCCESS,
        [..] => ExitCode::from(WOULD_DELETE),
    })
}

/// Annotates the Lease, where the leader looks for approvals: RBAC on the Lease says who may approve.
async fn approve(config: &Config, plan: &str, lasts: Duration) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        plan.len() == 32 && plan.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')),
        "{plan:?} is no plan: copy the 32 hexadecimal digits that the leader logs"
    );
    let object = config.lease.object()?;
    let cluster = Cluster::new(connect::kubernetes(config).await?, "hyperfleet-sweeper", Settings::default());
    let lease = cluster.get(&object).await?.with_context(|| format!("there is no {object}: does a sweeper run?"))?;
    let held = lease.pointer("/metadata/annotations").and_then(|annotations| annotations.get(keys::SWEEP_HELD));
    match held.and_then(|held| held.as_str()) {
        Some(held) if held == plan => {}
        Some(held) => {
            anyhow::bail!("the leader does not hold {plan}, but {held}: look at that one before you approve it")
        }
        None => anyhow::bail!("the leader holds no plan: approve the one that it names when a pass is held"),
    }
    let approval = Approval { hash: plan.to_owned(), expires: Timestamp::now() + lasts };
    let patch = json!({ "metadata": { "annotations": { keys::SWEEP_APPROVAL: approval.to_string() } } });
    // The leader renews the Lease every few seconds, so only the UID is fenced.
    let uid = lease.pointer("/metadata/uid").and_then(|uid| uid.as_str()).unwrap_or_default();
    cluster
        .merge_patch(&patch, &object, Fence::new(uid, ""))
        .await?
        .with_context(|| format!("{object} was deleted"))?;
    print(&approved(&approval, &lease))
}

/// What an approval leads to. A sweep that ended, or a Deployment without replicas, has given the Lease back.
fn approved(approval: &Approval, lease: &Value) -> String {
    let Approval { hash, expires } = approval;
    let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
    let who = if holder.is_empty() {
        "no sweeper leads now. Unless `dry_run` is set, the next one that leads until then deletes these objects"
    } else {
        "unless `dry_run` is set, the leader deletes these objects"
    };
    format!("approved {hash} until {expires}: {who} in the next pass that finds exactly this plan\n")
}

async fn restore(config: &Config, file: &Path, selection: &Selection, keep_stamps: bool) -> anyhow::Result<ExitCode> {
    let (deleted, objects) = (deleted(file, selection)?, connect::objects(config).await?);
    Ok(code(restore::restore(&objects, &deleted, keep_stamps, &mut std::io::stderr()).await?))
}

/// Prints the manifests of deleted objects. Whoever reads them may stop reading, as `head` does.
fn print_manifests(file: &Path, selection: &Selection, keep_stamps: bool) -> anyhow::Result<ExitCode> {
    let deleted = deleted(file, selection)?;
    match restore::print(&deleted, keep_stamps, &mut std::io::stdout(), &mut std::io::stderr()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        printed => Ok(code(printed?)),
    }
}

fn deleted(file: &Path, selection: &Selection) -> anyhow::Result<Deleted> {
    let name = file.display();
    let lines = BufReader::new(File::open(file).with_context(|| format!("failed to open {name}"))?);
    Deleted::of(audit::read(lines), selection).with_context(|| format!("failed to read {name}"))
}

fn code(is_complete: bool) -> ExitCode {
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn rbac(config: &Config, account: &Account, output: Grant) -> anyhow::Result<ExitCode> {
    let served = connect::cluster(config).await?.discover().await?;
    for warning in rbac::warnings(&config.filter, &served.unread) {
        writeln!(std::io::stderr(), "{warning}")?;
    }
    print(&match output {
        Grant::Manifests => rbac::manifests(&config.filter, &config.policy, &config.lease, &served.kinds, account),
        Grant::Values => rbac::values(&config.filter, &config.policy, &served.kinds),
    })
}

async fn demo(scenario: Option<&Path>) -> anyhow::Result<ExitCode> {
    let Some(file) = scenario else {
        return print(&scenario::play("the built-in scenario", scenario::DEMO).await?);
    };
    let name = file.display().to_string();
    let text = files::read_text(file, files::CONFIGURATION).with_context(|| format!("failed to read {name}"))?;
    print(&scenario::play(&name, &text).await?)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn approval_says_whether_a_sweeper_leads() {
        let approval = Approval { hash: "2f0c".to_owned(), expires: "2026-03-01T12:00:00Z".parse().unwrap() };
        let led = json!({ "spec": { "holderIdentity": "pod-0" } });
        let said = approved(&approval, &led);
        assert!(
            said.starts_with("approved 2f0c until 2026-03-01T12:00:00Z: unless `dry_run` is set, the leader"),
            "{said}"
        );
        for given_back in [json!({ "spec": { "holderIdentity": "" } }), json!({ "spec": {} })] {
            let said = approved(&approval, &given_back);
            assert!(
                said.contains(": no sweeper leads now. Unless `dry_run` is set, the next one that leads"),
                "{said}"
            );
        }
    }
}
