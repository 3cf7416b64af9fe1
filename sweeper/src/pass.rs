//! One pass of a leader: survey, report, and deletion of what is due.
//!
//! In: the cluster, the API, the configuration, the strikes of the term, the claim to lead, and the notes of the Lease.
//! Out: a [`PassResult`], log lines and metrics. Fails: never; what could not be deleted is judged again by the next pass.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use lifecycle_core::sweep::{Hold, Release, Strikes, release};
use tokio::time::Instant;

use crate::act::{Deleter, Outcome, Outcomes, Refused};
use crate::api::Api;
use crate::approval::{approval_of, approve_command};
use crate::audit::Audit;
use crate::config::Config;
use crate::leader::Claim;
use crate::lease_notes::Notes;
use crate::metrics::{Metrics, PassResult};
use crate::objects::Objects;
use crate::plan_page::{Ended, PlanPage};
use crate::recheck::PlanEvidence;
use crate::survey::{Survey, survey};

/// A clock that no correction of the system's clock disturbs, so that a grace is never cut short.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall: Timestamp,
    began: Instant,
}

impl Clock {
    /// Starts from the system's clock.
    #[must_use]
    pub fn start() -> Self {
        Self { wall: Timestamp::now(), began: Instant::now() }
    }

    /// The time by the system's clock at the start, plus what has passed since.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall + self.began.elapsed()
    }
}

/// What all passes of a process share.
pub struct Sweeper<O, A> {
    /// The cluster.
    pub objects: O,
    /// The API.
    pub api: A,
    /// The configuration.
    pub config: Config,
    /// The record of deletions.
    pub audit: Audit,
    /// The objects whose deletion was refused in the pass before.
    pub refused: Refused,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// What the page `/plan` tells.
    pub page: PlanPage,
    /// The time.
    pub clock: Clock,
}

/// The result of a pass, and what it found unless its term ended before.
#[derive(Debug)]
pub struct Passed {
    /// What the pass found.
    pub survey: Option<Survey>,
    /// The result.
    pub result: PassResult,
    /// What became of the objects of the plan; empty if the pass was held or only reported.
    pub outcomes: Outcomes,
}

impl<O: Objects, A: Api> Sweeper<O, A> {
    /// Surveys the cluster, and deletes what is due if that is released. Each log line of a pass has the field `term`.
    #[tracing::instrument(level = "error", skip_all, fields(term = claim.term()))]
    pub async fn pass(&self, strikes: &mut Strikes, claim: &Claim, notes: &impl Notes) -> Passed {
        let began = Instant::now();
        let policy = (&self.config.policy, &self.config.filter);
        let survey =
            survey(&self.objects, &self.api, policy, strikes, async || notes.approval().await, || self.clock.now());
        let survey = claim.over().run_until_cancelled(survey).await;
        let time = self.clock.now();
        let (result, outcomes) = match &survey {
            None => (PassResult::Failed, Outcomes::new()),
            Some(survey) => {
                self.metrics.surveyed(survey, time);
                // Before anything else: the program may end at any time.
                notes.keep(strikes.doubts(), approval_of(survey)).await;
                self.act(survey, strikes, claim, notes).await
            }
        };
        let duration = began.elapsed();
        self.metrics.passed(result, duration, self.clock.now());
        log(survey.as_ref(), result, duration);
        if let Some(survey) = &survey {
            let ended = Ended { survey, time, result, outcomes: &outcomes, strikes };
            self.page.passed(&ended, &self.config);
        }
        // Otherwise some objects of the plan did not have their turn.
        let is_finished = !outcomes.values().any(Outcome::is_end_of_pass);
        if let Some(survey) = survey.as_ref().filter(|_| is_finished && !self.config.dry_run) {
            strikes.end_doubts(&survey.plan, survey.release);
            notes.keep(strikes.doubts(), approval_of(survey)).await;
        }
        Passed { survey, result, outcomes }
    }

    /// Deletes what is due, unless the pass is held or only reports.
    async fn act(
        &self,
        survey: &Survey,
        strikes: &Strikes,
        claim: &Claim,
        notes: &impl Notes,
    ) -> (PassResult, Outcomes) {
        let mut outcomes = Outcomes::new();
        if survey.release == Release::Held {
            return (PassResult::Held, outcomes);
        }
        if survey.plan.objects().is_empty() {
            return (PassResult::Done, outcomes);
        }
        if self.config.dry_run {
            return (PassResult::DryRun, outcomes);
        }
        let evidence = PlanEvidence::new(&self.api, &survey.plan, async || match survey.release {
            Release::Approved => {
                release(&survey.plan, notes.approval().await.as_ref(), self.clock.now()) == Release::Approved
            }
            Release::Go | Release::Held => true,
        });
        let deleter = Deleter {
            objects: &self.objects,
            evidence: &evidence,
            permit: || claim.permit(),
            call_limit: self.config.lease.margin(),
            refused: &self.refused,
            audit: &self.audit,
            policy: &self.config.policy,
            concurrency: self.config.deletions_at_once,
            term: claim.term(),
            clock: Timestamp::now,
        };
        let mut result = PassResult::Done;
        {
            let mut attempts = std::pin::pin!(deleter.delete_all(&survey.plan, strikes));
            while let Some(attempt) = attempts.next().await {
                self.metrics.attempted(&attempt);
                self.page.attempted(&attempt, Timestamp::now());
                if !attempt.outcome.is_settled() {
                    result = PassResult::Failed;
                }
                outcomes.insert(attempt.object.uid.clone(), attempt.outcome);
            }
        }
        (result, outcomes)
    }
}

fn log(survey: Option<&Survey>, result: PassResult, duration: Duration) {
    let duration_seconds = duration.as_secs_f64();
    let Some(survey) = survey else {
        tracing::warn!(duration_seconds, "The term ended during the pass");
        return;
    };
    let (due, plan) = (survey.plan.objects().len(), survey.plan.hash());
    tracing::info!(
        duration_seconds,
        result = result.label(),
        inventory = survey.inventory,
        owners = survey.owners,
        orphans = survey.orphans.len(),
        due,
        "Pass ended"
    );
    for (candidate, verdict) in &survey.orphans {
        let (object, resource_id) = (&candidate.object, &candidate.resource_id);
        tracing::debug!(%object, resource_id, ?verdict, "Orphan");
    }
    let holds = survey.plan.holds();
    for hold in holds {
        let reason = hold.label();
        if survey.release == Release::Approved {
            tracing::info!(reason, due, "A person's approval of the plan overrides: {hold}");
        } else {
            tracing::error!(reason, due, "Nothing is deleted: {hold}");
        }
    }
    if result == PassResult::Held && due > 0 && holds.iter().all(Hold::is_approvable) {
        tracing::error!(plan, due, "To delete these objects all the same: {}", approve_command(plan));
    }
}

#[cfg(test)]
mod tests;
