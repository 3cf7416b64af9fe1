//! Serves `/plan`: what the last pass of this replica found, and what became of the objects that it tried to delete.
//!
//! In: each pass of the leader, and each attempt to delete an object. Out: JSON, for clients that may read it. Fails: 403 if the
//! page is off, 401 without the right token. It has no manifest, and so no data of a Secret. The page reads nothing from the cluster
//! or the API, and lets nobody approve a plan.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use jiff::Timestamp;
use lifecycle_api_client::without_password;
use lifecycle_core::sweep::{Candidate, Strikes, Verdict};
use lifecycle_service::access::{Access, Guarded, json_body};
use lifecycle_service::logging::Identity;
use lifecycle_service::servers::Page;
use serde_json::{Value, json};

use crate::act::{Attempt, Outcomes};
use crate::approval::{approval_of, approve_command};
use crate::audit;
use crate::config::Config;
use crate::leader::Leadership;
use crate::metrics::PassResult;
use crate::report;
use crate::survey::Survey;

const THIS_PAGE: Guarded = Guarded {
    path: "/plan",
    realm: "plan of the sweeper",
    cure: "set plan.token_file, or plan.anonymous to open it to all",
};

/// The most objects of a pass, and the most attempts, on the page: what a person reads, and about half a megabyte.
const MOST: usize = 500;

/// The most characters of a server's message.
const LONGEST_MESSAGE: usize = 1000;

/// What the page tells; clones share it. It keeps nothing if the page is off.
#[derive(Debug, Clone, Default)]
pub struct PlanPage(Option<Arc<Mutex<Known>>>);

#[derive(Debug)]
struct Known {
    /// The last pass of the present term.
    pass: Option<Value>,
    /// The command that approves the plan of that pass, if it is held.
    approve: Option<String>,
    since: Timestamp,
    /// The attempts to delete an object, the newest first.
    history: VecDeque<Value>,
}

/// What a pass that ended found and did.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// What the pass found.
    pub survey: &'a Survey,
    /// When the pass had found it.
    pub time: Timestamp,
    /// The result of the pass.
    pub result: PassResult,
    /// What became of the objects of the plan.
    pub outcomes: &'a Outcomes,
    /// Since when the API says that the owner of each object is gone.
    pub strikes: &'a Strikes,
}

impl PlanPage {
    /// Keeps what the page tells from `now` on, if any client may read the page.
    #[must_use]
    pub fn new(access: &Access, now: Timestamp) -> Self {
        let known = || Known { pass: None, approve: None, since: now, history: VecDeque::new() };
        Self((*access != Access::Off).then(|| Arc::new(Mutex::new(known()))))
    }

    fn known(&self) -> Option<MutexGuard<'_, Known>> {
        self.0.as_ref().map(|known| known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a pass in place of the one before.
    pub fn passed(&self, ended: &Ended<'_>, config: &Config) {
        let Some(mut known) = self.known() else { return };
        known.pass = Some(pass(ended, config));
        known.approve = approval_of(ended.survey).map(approve_command);
    }

    /// Notes what became of an object.
    pub fn attempted(&self, attempt: &Attempt<'_>, now: Timestamp) {
        let Some(mut known) = self.known() else { return };
        let message: String = attempt.outcome.to_string().chars().take(LONGEST_MESSAGE).collect();
        let mut entry = json!(audit::Identity::of(attempt.object));
        entry["time"] = json!(now);
        entry["adapter"] = json!(attempt.object.adapter);
        entry["resource_id"] = json!(attempt.object.resource_id);
        entry["result"] = json!(attempt.outcome.label());
        entry["message"] = json!(message);
        known.history.push_front(entry);
        known.history.truncate(MOST);
    }

    /// Notes the end of a term: another replica knows better by now, and the plan can no longer be approved here.
    pub fn term_ended(&self) {
        let Some(mut known) = self.known() else { return };
        known.pass = None;
        known.approve = None;
    }
}

/// The pass as `sweeper plan --output json` prints it, with the oldest strikes first, and no more objects than the page shows.
fn pass(ended: &Ended<'_>, config: &Config) -> Value {
    let Ended { survey, time, result, outcomes, strikes } = *ended;
    let mut orphans: Vec<&(Candidate, Verdict)> = survey.orphans.iter().collect();
    // Those without a strike, which no pass deletes, come last.
    orphans.sort_by_key(|(candidate, _)| strikes.since(candidate).map_or((1, Timestamp::MAX), |since| (0, since)));
    let shown = orphans.iter().take(MOST);
    let objects = shown.map(|orphan| {
        let (candidate, _) = orphan;
        let mut object = report::object(survey, orphan);
        if let Some(since) = strikes.since(candidate) {
            object["first_strike"] = json!(since);
        }
        if let Some(outcome) = outcomes.get(&candidate.uid) {
            object["outcome"] = json!(outcome.label());
        }
        object
    });
    let objects: Vec<_> = objects.collect();
    let mut pass = report::without_objects(survey, config, time);
    pass["api"] = json!(without_password(&config.api.base_url));
    pass["objects"] = json!(objects);
    pass["objects_total"] = json!(survey.orphans.len());
    pass["result"] = json!(result.label());
    pass
}

/// What the answer is made of.
pub struct Source {
    /// What the passes told.
    pub page: PlanPage,
    /// The clients that may read the page.
    pub access: Access,
    /// The election.
    pub leadership: Leadership,
    /// The program and the host.
    pub identity: Identity,
    /// The name of this replica in the Lease.
    pub holder: String,
    /// The configuration.
    pub config: Config,
}

/// The page `/plan`.
#[must_use]
pub fn served(source: Source) -> Page {
    Page {
        path: THIS_PAGE.path,
        about: "what the last pass found, and what was deleted",
        methods: get(answer).with_state(Arc::new(source)),
    }
}

async fn answer(State(source): State<Arc<Source>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = source.access.admit(THIS_PAGE, &headers).await {
        return refusal;
    }
    let mut response = json_body(StatusCode::OK, &source.body(Timestamp::now()));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Source {
    fn body(&self, now: Timestamp) -> Value {
        let Self { page, leadership, identity, holder, config, .. } = self;
        let term = leadership.term();
        let other = leadership.lease().and_then(|lease| lease.other_holder);
        let mut body = json!({
            "version": identity.version,
            "replica": identity.hostname,
            "now": now,
            "leads": term.is_some(),
            "term": term,
            "holder": if term.is_some() { Some(holder) } else { other.as_ref() },
            "trouble": leadership.trouble(),
            "dry_run": config.dry_run,
            "interval_seconds": config.interval.as_secs_f64(),
            "grace_seconds": config.policy.grace.as_secs_f64(),
        });
        if let Some(known) = page.known() {
            body["pass"] = json!(known.pass);
            body["approve"] = json!(known.approve);
            body["history"] = json!(known.history);
            body["history_since"] = json!(known.since);
        }
        body
    }
}

#[cfg(test)]
mod tests;
