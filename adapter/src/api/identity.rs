//! Notices that something else than the HyperFleet API answers at `base_url`.
//!
//! In: the answers to calls of the API. Out: readiness, and one log line at the beginning and at the end. After
//! three answers in a row that are not the API's own, the adapter is not ready, until one is. An adapter that is
//! not ready may get no events by HTTP, so it asks again by itself. Nothing here changes what an answer means for
//! its pass.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lifecycle_api_client::{Client, Request};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::Answer;
use super::origin::{Origin, is_api_path, origin};
use crate::readiness::Readiness;

/// How many foreign answers in a row make the adapter not ready: a single one may be a proxy's mishap.
const LIMIT: u32 = 3;

/// The time limit of a question to the API.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Counts the answers in a row that are not the API's own.
#[derive(Debug, Default)]
pub struct Identity {
    readiness: Readiness,
    strange: watch::Sender<Strange>,
}

#[derive(Debug, Default)]
struct Strange {
    in_a_row: u32,
    /// The URL of the last foreign answer.
    url: String,
}

impl Identity {
    /// Reports to this readiness.
    #[must_use]
    pub fn new(readiness: Readiness) -> Self {
        Self { readiness, strange: watch::Sender::default() }
    }

    /// Takes the answer to a call into account; `resolved` is the URL as the client resolved it.
    pub(super) fn note(&self, resolved: &str, answer: &Answer) {
        if !is_api_path(resolved) {
            return;
        }
        let mut before = 0;
        match origin(resolved, answer) {
            Origin::Unclear => {}
            Origin::Api => {
                let is_known = |strange: &mut Strange| {
                    before = std::mem::take(&mut strange.in_a_row);
                    before > 0
                };
                if self.strange.send_if_modified(is_known) && before >= LIMIT {
                    self.readiness.set_stranger(None);
                    tracing::info!("the HyperFleet API answers again at `base_url`");
                }
            }
            Origin::Other(instead) => {
                let path = resolved.split('?').next().unwrap_or_default();
                self.strange.send_modify(|strange| {
                    before = strange.in_a_row;
                    strange.in_a_row = before.saturating_add(1);
                    path.clone_into(&mut strange.url);
                });
                if before.saturating_add(1) == LIMIT {
                    let reason = format!("this does not look like the HyperFleet API: {path} answers {instead}");
                    tracing::error!("{reason}; check `clients.hyperfleet_api.base_url` and the proxies before it");
                    self.readiness.set_stranger(Some(&reason));
                }
            }
        }
    }

    /// While the adapter is not ready, reads the URL of the last foreign answer again, `every` so often. Never
    /// returns.
    pub(super) fn ask_again(
        self: &Arc<Self>,
        client: Arc<Client>,
        every: Duration,
    ) -> impl Future<Output = ()> + use<> {
        let identity = Arc::clone(self);
        async move {
            let mut strange = identity.strange.subscribe();
            // The sender lives in `identity`, so the channel cannot be closed.
            while let Ok(url) = strange.wait_for(|strange| strange.in_a_row >= LIMIT).await.map(|it| it.url.clone()) {
                sleep(every).await;
                let question = Request { attempts: Some(1), ..Request::get(url.as_str()) };
                if let Ok(answer) = client.call(&question, Some(Instant::now() + QUESTION_TIMEOUT), &()).await {
                    identity.note(&url, &answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::origin::tests::{PATH, answer, problem};
    use super::*;

    /// Notes answers, and returns whether the adapter has a problem after each.
    fn problems(answers: &[(&str, Answer)]) -> Vec<bool> {
        let identity = Identity::default();
        let note = |(url, answer): &(&str, Answer)| {
            identity.note(url, answer);
            identity.readiness.stranger().is_some()
        };
        answers.iter().map(note).collect()
    }

    #[test]
    fn three_foreign_answers_in_a_row_are_a_problem_until_the_api_answers() {
        let page = || (PATH, answer(404, "text/html", "<html>"));
        let own = || (PATH, problem(404, "HYPERFLEET-NTF-001", PATH));
        let unclear = || (PATH, answer(503, "text/html", "<html>"));
        let elsewhere = || ("https://else.example/x", answer(200, "text/html", "<html>"));
        let cases = [
            ("in a row", vec![page(), page(), page(), page()], vec![false, false, true, true]),
            ("interrupted", vec![page(), page(), own(), page(), page()], vec![false; 5]),
            ("healed", vec![page(), page(), page(), own(), page()], vec![false, false, true, false, false]),
            (
                "a gateway's error says nothing",
                vec![page(), page(), unclear(), page()],
                vec![false, false, false, true],
            ),
            ("another host says nothing", vec![elsewhere(), elsewhere(), elsewhere()], vec![false; 3]),
        ];
        for (name, answers, expected) in cases {
            assert_eq!(problems(&answers), expected, "{name}");
        }
    }
}
