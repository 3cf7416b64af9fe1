//! Asks again, right before objects go, for what their plan rests on: the API's word about the owner, and a person's
//! approval.
//!
//! In: the API, a plan, and whether the plan still is released. Out: for each object nothing, or why it stays
//! ([`Withdrawn`]). Fails: never; what is not confirmed stays.
//!
//! A pass with many objects lasts for minutes, in which the API may be repaired, or a person may think again. An answer
//! counts for [`FRESH`], so an owner is asked for once in that time, however many objects it has. The first answer that
//! does not confirm the plan ends all deletions of the pass: an API that contradicts itself about one resource has no
//! word about the others either.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::Duration;

use lifecycle_api_client::Lookup;
use lifecycle_core::sweep::{Candidate, SweepPlan};
use lifecycle_errors::Chain;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::api::Api;

/// How long an answer counts, from when it was asked for. Deletions that a later answer forbids were sent within this
/// time.
pub const FRESH: Duration = Duration::from_secs(1);

/// Why the pass deletes nothing more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Withdrawn {
    /// The API has the resource.
    #[error("the API says by now that the resource {0} exists")]
    Exists(String),
    /// The API's answer proves nothing any more.
    #[error("the API does not say any more that the resource {id} is gone: {why}")]
    Unknown {
        /// The resource.
        id: String,
        /// Why the answer proves nothing.
        why: String,
    },
    /// The plan is not approved any more.
    #[error("the approval of the plan was taken back, or has expired")]
    Approval,
}

/// Confirms that an object may go.
#[expect(async_fn_in_trait, reason = "a pass runs on one thread, so its futures need not be Send")]
pub trait Evidence {
    /// Confirms what the verdict about the object rests on.
    ///
    /// # Errors
    ///
    /// Neither this object nor any other may go in this pass.
    async fn confirm(&self, object: &Candidate) -> Result<(), Withdrawn>;
}

/// Confirms everything, where nothing can change meanwhile.
impl Evidence for () {
    async fn confirm(&self, _: &Candidate) -> Result<(), Withdrawn> {
        Ok(())
    }
}

/// The evidence for one plan.
pub struct PlanEvidence<'a, A, R> {
    api: &'a A,
    /// Whether the plan may be deleted, as far as a person decides that.
    is_released: R,
    released: Asked,
    owners: BTreeMap<&'a str, Asked>,
    withdrawn: OnceCell<Withdrawn>,
}

/// When an answer that confirms the plan was last asked for. The lock is held while the question is under way, so that
/// objects of one owner share the answer.
type Asked = Mutex<Option<Instant>>;

impl<'a, A: Api, R: AsyncFn() -> bool> PlanEvidence<'a, A, R> {
    /// Prepares the questions about a plan; asks none.
    pub fn new(api: &'a A, plan: &'a SweepPlan, is_released: R) -> Self {
        let owners = plan.objects().iter().map(|object| (object.resource_id.as_str(), Asked::default())).collect();
        Self { api, is_released, released: Asked::default(), owners, withdrawn: OnceCell::new() }
    }

    /// Why the pass deletes nothing more, if something spoke against its plan.
    pub fn withdrawn(&self) -> Option<&Withdrawn> {
        self.withdrawn.get()
    }

    async fn ask_owner(&self, id: &str) -> Result<(), Withdrawn> {
        let unknown = |why: String| Withdrawn::Unknown { id: id.to_owned(), why };
        let Some(asked) = self.owners.get(id) else { return Err(unknown("the plan does not name it".to_owned())) };
        unless_fresh(asked, async || match self.api.look_up(id).await {
            Lookup::NotFound => Ok(()),
            Lookup::Found(_) => Err(Withdrawn::Exists(id.to_owned())),
            Lookup::Unknown(reason) => Err(unknown(Chain(&reason).to_string())),
        })
        .await
    }

    async fn ask_release(&self) -> Result<(), Withdrawn> {
        let ask = async || if (self.is_released)().await { Ok(()) } else { Err(Withdrawn::Approval) };
        unless_fresh(&self.released, ask).await
    }
}

impl<A: Api, R: AsyncFn() -> bool> Evidence for PlanEvidence<'_, A, R> {
    async fn confirm(&self, object: &Candidate) -> Result<(), Withdrawn> {
        if self.withdrawn.get().is_none() {
            // Both at once, so that neither answer grows old while the other one is under way.
            let (owner, release) = futures::join!(self.ask_owner(&object.resource_id), self.ask_release());
            if let Err(withdrawn) = owner.and(release) {
                self.withdrawn.get_or_init(|| {
                    tracing::warn!("Nothing more is deleted in this pass: {withdrawn}");
                    withdrawn
                });
            }
        }
        // Another object's answer may have ended the deletions meanwhile.
        self.withdrawn.get().cloned().map_or(Ok(()), Err)
    }
}

async fn unless_fresh(last: &Asked, ask: impl AsyncFnOnce() -> Result<(), Withdrawn>) -> Result<(), Withdrawn> {
    let mut last = last.lock().await;
    if last.is_some_and(|asked| asked.elapsed() < FRESH) {
        return Ok(());
    }
    let asked = Instant::now();
    ask().await?;
    *last = Some(asked);
    Ok(())
}

#[cfg(test)]
mod tests;
