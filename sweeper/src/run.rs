//! Sweeps as the leader: in passes for as long as the term lasts, or once.
//!
//! In: a configuration, and a token that ends the program. Out: passes, probes and metrics. Fails: if an address cannot be
//! bound, a client cannot be built, or the Lease has no namespace. Strikes belong to a term: a new leader begins anew,
//! which the log says, because it cannot know what its predecessor saw. Its predecessors' doubts it reads from the Lease.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lifecycle_core::sweep::{Approval, Strikes};
use lifecycle_kube::{Cluster, Settings};
use lifecycle_objects::keys;
use lifecycle_service::logging::Identity;
use lifecycle_service::servers::{serve_health, serve_metrics};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::connect::{self, RealSweeper};
use crate::leader::{Claim, Elector, Leadership, identity};
use crate::lease_notes::{LeaseNotes, Notebook, parse_approval};
use crate::metrics::PassResult;
use crate::plan_page::{self, Source};
use crate::readiness::{self, Status};
use crate::report;

/// How often the leader looks whether the plan that it holds was approved. The election reads the Lease as often.
const APPROVAL_CHECK: Duration = Duration::from_secs(2);

/// The time until a replica that does not lead looks again, if it could not read the cluster or the API.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The field manager of the Lease's annotations.
const FIELD_MANAGER: &str = "hyperfleet-sweeper";

/// How long a shutdown waits for running scrapes.
const DRAIN: Duration = Duration::from_secs(5);

/// Takes part in the election, and sweeps in passes while this replica leads.
///
/// # Errors
///
/// The sweeper cannot start.
pub async fn run(config: Config, stop: CancellationToken) -> anyhow::Result<()> {
    let (health, metrics) = (config.health_listen, config.metrics_listen);
    let sweeper = connect::sweeper(config).await?;
    let exposed = Arc::clone(&sweeper.metrics);
    let host = Identity::of("sweeper");
    let holder = identity(&host.hostname);
    let (elector, leadership, notebook) = elector(&sweeper.config, holder.clone()).await?;
    let status = Status::default();
    let readiness = {
        let (status, leadership) = (status.clone(), leadership.clone());
        move || status.readiness(leadership.trouble())
    };
    let page = plan_page::served(Source {
        page: sweeper.page.clone(),
        access: sweeper.config.plan_access.clone(),
        leadership: leadership.clone(),
        identity: host,
        holder,
        config: sweeper.config.clone(),
    });
    let health = serve_health("sweeper", health, stop.clone(), readiness, [page]).await?;
    let metrics = serve_metrics("sweeper", metrics, move |format| std::future::ready(exposed.expose(format))).await?;
    let election = tokio::spawn(elector.run(stop.clone()));
    let leading = async {
        while let Some(Some(claim)) = stop.run_until_cancelled(leadership.claim()).await {
            sweeper.metrics.lead(Some(claim.term()));
            status.other_installation(None);
            lead(&sweeper, &claim, &leadership, &notebook, &status).await;
            sweeper.metrics.lead(None);
            status.term_ended();
            sweeper.page.term_ended();
        }
    };
    tokio::select! {
        () = leading => {}
        never = stand_by(&sweeper, &leadership, &notebook, &status) => never,
    }
    election.await.context("the election panicked")?;
    metrics.stop(DRAIN).await;
    health.stop(DRAIN).await;
    Ok(())
}

/// Sweeps in passes until the term is over. Each log line has the field `term`.
#[tracing::instrument(level = "error", skip_all, fields(term = claim.term()))]
async fn lead(sweeper: &RealSweeper, claim: &Claim, leadership: &Leadership, notebook: &Notebook, status: &Status) {
    let grace = sweeper.config.policy.grace;
    tracing::info!(
        grace_seconds = grace.as_secs_f64(),
        "No object is deleted before this term has lasted for the grace"
    );
    let (began, mut strikes) = (Instant::now(), Strikes::default());
    let Some(notes) = notes_of(notebook, claim, sweeper.config.lease.retry).await else { return };
    strikes.restore_doubts(notes.doubts());
    while !claim.over().is_cancelled() {
        let approval = noticed_approval(leadership);
        let passed = sweeper.pass(&mut strikes, claim, &notes).await;
        if let Some(survey) = &passed.survey {
            status.passed(&survey.plan);
        }
        if began.elapsed() >= grace {
            sweeper.metrics.outlasted_grace(claim.term());
        }
        let held =
            passed.survey.filter(|_| passed.result == PassResult::Held).map(|survey| survey.plan.hash().to_owned());
        let is_approved = async {
            while held.is_none() || noticed_approval(leadership).map(|approval| approval.hash) != held {
                sleep(APPROVAL_CHECK).await;
            }
        };
        // An approval that did not help must not start the next pass at once.
        let has_new_approval = approval.map(|approval| approval.hash) != held;
        tokio::select! {
            () = claim.over().cancelled() => {}
            () = sleep(sweeper.config.interval) => {}
            () = is_approved, if has_new_approval => {}
        }
    }
}

/// Looks at the cluster and the API while another replica leads, until a look could read everything; and warns as often as
/// a pass begins if that replica is another installation's.
async fn stand_by(sweeper: &RealSweeper, leadership: &Leadership, notebook: &Notebook, status: &Status) -> ! {
    let Config { interval, filter, policy, .. } = &sweeper.config;
    loop {
        let Some(lease) = leadership.other_holder().await else { std::future::pending().await };
        let other = notebook.other_installation(&lease);
        if let Some(other) = &other {
            tracing::warn!(lease = %lease.object, holder = lease.other_holder, "This replica sweeps nothing: {other}");
        }
        status.other_installation(other);
        if !status.has_read() {
            let looked = readiness::look(&sweeper.objects, &sweeper.api, filter, policy).await;
            if let Err(error) = &looked {
                tracing::warn!(error, "This replica could not take over: a pass would be held");
            }
            status.looked(looked);
        }
        sleep(if status.has_read() { *interval } else { LOOK_AGAIN }).await;
    }
}

/// Sweeps once, and prints what each look found and what became of it. Returns the result of the last look. `first_look` has the strikes of an
/// earlier `plan`, which takes the place of the first look.
///
/// # Errors
///
/// The sweeper cannot start, or its term ended.
pub async fn sweep_once(
    config: Config,
    first_look: Option<Strikes>,
    stop: CancellationToken,
) -> anyhow::Result<PassResult> {
    let sweeper = connect::sweeper(config).await?;
    let holder = identity(&Identity::of("sweeper").hostname);
    let (elector, leadership, notebook) = elector(&sweeper.config, holder).await?;
    let election = tokio::spawn(elector.run(stop.clone()));
    // A signal ends the term, and thereby the sweep: a sweep that is dropped leaves deletions without their record.
    let swept = look_twice(&sweeper, &leadership, &notebook, first_look).await;
    let is_interrupted = stop.is_cancelled();
    stop.cancel();
    election.await.context("the election panicked")?;
    if is_interrupted { swept.context("interrupted") } else { swept }
}

async fn look_twice(
    sweeper: &RealSweeper,
    leadership: &Leadership,
    notebook: &Notebook,
    first_look: Option<Strikes>,
) -> anyhow::Result<PassResult> {
    let claim = leadership.claim().await.context("the election ended")?;
    let notes = notes_of(notebook, &claim, sweeper.config.lease.retry).await.context("the term ended")?;
    let (mut strikes, looked) = match first_look {
        Some(mut strikes) => {
            strikes.restore_doubts(notes.doubts());
            let looked = strikes.oldest();
            (strikes, looked)
        }
        None => {
            let mut strikes = Strikes::default();
            strikes.restore_doubts(notes.doubts());
            let result = look(sweeper, &claim, &notes, &mut strikes).await?;
            if strikes.count() == 0 {
                return Ok(result);
            }
            (strikes, Some(sweeper.clock.now()))
        }
    };
    let passed = looked.and_then(|looked| Duration::try_from(sweeper.clock.now().duration_since(looked)).ok());
    let left = passed.map_or(Duration::ZERO, |passed| sweeper.config.policy.grace.saturating_sub(passed));
    if !left.is_zero() {
        tracing::info!(term = claim.term(), wait_seconds = left.as_secs_f64(), "Looking again after the grace");
        anyhow::ensure!(
            claim.over().run_until_cancelled(sleep(left)).await.is_some(),
            "the term ended during the grace"
        );
    }
    look(sweeper, &claim, &notes, &mut strikes).await
}

async fn look(
    sweeper: &RealSweeper,
    claim: &Claim,
    notes: &LeaseNotes<'_>,
    strikes: &mut Strikes,
) -> anyhow::Result<PassResult> {
    let passed = sweeper.pass(strikes, claim, notes).await;
    let survey = passed
        .survey
        .context("the term ended during the pass: another replica leads, or the API server is unreachable")?;
    let outcomes = Some(&passed.outcomes).filter(|_| !sweeper.config.dry_run);
    lifecycle_service::program::print(&report::text(&survey, outcomes))?;
    Ok(passed.result)
}

/// What a person approved, as the election last saw it.
fn noticed_approval(leadership: &Leadership) -> Option<Approval> {
    let lease = leadership.lease()?;
    parse_approval(&lease.object, lease.annotations.get(keys::SWEEP_APPROVAL)?)
}

/// Reads what earlier terms left in the Lease, until that succeeds or the term ends.
async fn notes_of<'a>(notebook: &'a Notebook, claim: &Claim, retry: Duration) -> Option<LeaseNotes<'a>> {
    let begin = async {
        loop {
            match notebook.begin(claim.term()).await {
                Ok(notes) => return notes,
                Err(error) => {
                    tracing::warn!(error, "Nothing is swept before the Lease has said what earlier terms doubted");
                    sleep(retry).await;
                }
            }
        }
    };
    claim.over().run_until_cancelled(begin).await
}

/// Prepares the election of a replica that the Lease is to name `holder`.
async fn elector(config: &Config, holder: String) -> anyhow::Result<(Elector, Leadership, Notebook)> {
    // A connection of its own: no list or deletion can delay a renewal.
    let client = connect::kubernetes(config).await?;
    let cluster = Cluster::new(client.clone(), FIELD_MANAGER, Settings::default());
    let notebook = Notebook::new(cluster, config.lease.object()?, &config.policy.adapters);
    let (elector, leadership) = Elector::new(client, config.lease.clone(), holder)?;
    Ok((elector, leadership, notebook))
}
