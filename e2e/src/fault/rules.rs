//! Rules that choose a fault for a request, and the record of all requests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use http::HeaderMap;
use http::request::Parts;
use jiff::Timestamp;

use super::gate::Gate;
use crate::await_condition;

/// A request as it arrived, before any fault.
#[derive(Debug, Clone)]
pub struct Request {
    /// The HTTP method of the request, in capitals.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without its question mark; empty if the URL has none.
    pub query: String,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// When the request arrived.
    pub arrived: Timestamp,
}

impl Request {
    pub(super) fn of(parts: &Parts) -> Self {
        Self {
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers.clone(),
            arrived: Timestamp::now(),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.query.is_empty() { Ok(()) } else { write!(f, "?{}", self.query) }
    }
}

type Predicate = Box<dyn Fn(&Request) -> bool + Send + Sync>;

/// Chooses requests: all conditions must match, and the number of the match must be in the chosen range.
///
/// Without [`nth`](Self::nth) or [`first`](Self::first), every matching request is chosen.
pub struct When {
    conditions: Vec<Predicate>,
    from: usize,
    to: usize,
}

impl When {
    /// Chooses every request; narrow it by the other methods.
    #[must_use]
    pub fn any() -> Self {
        Self { conditions: Vec::new(), from: 1, to: usize::MAX }
    }

    /// Chooses requests of one method, given in capitals.
    #[must_use]
    pub fn method(method: &'static str) -> Self {
        Self::any().and(move |request| request.method == method)
    }

    /// Narrows the choice to one path.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.and(move |request| request.path == path)
    }

    /// Narrows the choice to paths with this end: `/configmaps/a` matches in any namespace.
    #[must_use]
    pub fn path_ends(self, end: impl Into<String>) -> Self {
        let end = end.into();
        self.and(move |request| request.path.ends_with(&end))
    }

    /// Narrows the choice to queries that contain a text, such as `dryRun=All`.
    #[must_use]
    pub fn query_contains(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.and(move |request| request.query.contains(&text))
    }

    /// Narrows the choice to requests that satisfy a predicate.
    #[must_use]
    pub fn and(mut self, condition: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push(Box::new(condition));
        self
    }

    /// Chooses only the n-th matching request, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        (self.from, self.to) = (n, n);
        self
    }

    /// Chooses the first n matching requests.
    #[must_use]
    pub fn first(mut self, n: usize) -> Self {
        (self.from, self.to) = (1, n);
        self
    }

    fn matches(&self, request: &Request) -> bool {
        self.conditions.iter().all(|condition| condition(request))
    }
}

/// The fault for a chosen request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The proxy answers with this status, in the upstream's error format, and does not forward the request.
    Status(u16),
    /// The proxy answers this and does not forward the request, as a gateway or another server would.
    Answer {
        /// The HTTP status of the answer.
        status: u16,
        /// The names and values of the answer's headers.
        headers: Vec<(&'static str, String)>,
        /// The answer's body.
        body: String,
    },
    /// The proxy forwards the request, and returns half of the answer's body as if that were all.
    Truncate,
    /// The proxy answers 429 with `Retry-After`, and does not forward the request.
    TooManyRequests {
        /// The value of `Retry-After`, in seconds.
        retry_after: u32,
    },
    /// The proxy resets the connection instead of forwarding the request.
    ResetBefore,
    /// The proxy forwards the request, and resets the connection instead of returning the answer: the client
    /// cannot know whether the request was carried out.
    ResetAfter,
    /// The proxy neither forwards nor answers the request; it ends when the client gives up.
    Silence,
    /// The request waits at the gate, and is then forwarded.
    Hold(Gate),
    /// The proxy forwards the request, and the answer waits at the gate.
    HoldAnswer(Gate),
}

struct Rule {
    when: When,
    fault: Fault,
    matched: usize,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    requests: Vec<Request>,
}

/// The rules and the record of one proxy or local API; clones share them.
#[derive(Clone, Default)]
pub struct Faults {
    state: Arc<Mutex<State>>,
}

impl Faults {
    /// Adds a rule, which counts its matches from now on. If several rules choose a request, the oldest applies.
    pub fn inject(&self, when: When, fault: Fault) {
        self.state().rules.push(Rule { when, fault, matched: 0 });
    }

    /// Adds a rule that holds the chosen requests back, and returns the gate that releases them.
    #[must_use]
    pub fn hold(&self, when: When) -> Gate {
        let gate = Gate::closed();
        self.inject(when, Fault::Hold(gate.clone()));
        gate
    }

    /// Adds a rule that forwards the chosen requests, and returns the gate that holds their answers back.
    #[must_use]
    pub fn hold_answer(&self, when: When) -> Gate {
        let gate = Gate::closed();
        self.inject(when, Fault::HoldAnswer(gate.clone()));
        gate
    }

    /// Removes all rules. Requests that wait at a gate stay there until the gate is released.
    pub fn heal(&self) {
        self.state().rules.clear();
    }

    /// Returns all requests that the proxy received so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The number of requests so far that match the conditions of `when`; its range of matches is ignored.
    #[must_use]
    pub fn count(&self, when: &When) -> usize {
        self.state().requests.iter().filter(|request| when.matches(request)).count()
    }

    /// Waits until at least `wanted` requests have matched.
    pub async fn await_count(&self, when: &When, wanted: usize, limit: Duration) -> anyhow::Result<()> {
        await_condition(&format!("{wanted} matching requests"), limit, async || {
            let count = self.count(when);
            ensure!(count >= wanted, "{count} among {:?}", self.lines());
            Ok(())
        })
        .await
    }

    /// Formats all requests that the proxy received so far, one per line, for error texts.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.state().requests.iter().map(Request::to_string).collect()
    }

    /// Records a request, and returns the fault to apply to it.
    pub(super) fn admit(&self, request: Request) -> Option<Fault> {
        let mut state = self.state();
        let mut decided = None;
        for rule in &mut state.rules {
            if !rule.when.matches(&request) {
                continue;
            }
            rule.matched += 1;
            let chosen = (rule.when.from..=rule.when.to).contains(&rule.matched);
            if chosen && decided.is_none() {
                decided = Some(rule.fault.clone());
            }
        }
        state.requests.push(request);
        decided
    }

    /// Locks the state. Ignores poisoning: a panic of another test leaves the state consistent.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            arrived: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn rule_counts_matching_requests_and_chooses_by_number() {
        let get = || When::method("GET");
        let cases = [
            ("every match without a count", get(), vec![1, 3, 4]),
            ("the second match", get().nth(2), vec![3]),
            ("the first two matches", get().first(2), vec![1, 3]),
            ("by exact path", get().path("/a/b"), vec![1]),
            ("by the path's end", When::any().path_ends("/b"), vec![1, 2]),
            ("by the query", When::any().query_contains("dryRun=All"), vec![4]),
            ("by a predicate", When::any().and(|request| request.path.len() == 2), vec![3, 4]),
            ("nothing matches", When::method("PUT"), vec![]),
        ];
        let traffic =
            [request("GET", "/a/b"), request("POST", "/x/b"), request("GET", "/c"), request("GET", "/d?dryRun=All")];
        for (name, when, expected) in cases {
            let faults = Faults::default();
            faults.inject(when, Fault::Status(500));
            let hit: Vec<usize> = (1..)
                .zip(traffic.clone())
                .filter_map(|(number, request)| faults.admit(request).map(|_| number))
                .collect();
            assert_eq!(hit, expected, "{name}");
            assert_eq!(faults.requests().len(), traffic.len(), "{name}: every request is recorded");
        }
    }

    #[test]
    fn oldest_matching_rule_applies_and_all_rules_count() {
        let faults = Faults::default();
        faults.inject(When::any().nth(1), Fault::Status(500));
        faults.inject(When::any().nth(2), Fault::Status(409));
        let first = faults.admit(request("GET", "/"));
        assert!(matches!(first, Some(Fault::Status(500))), "{first:?}");
        let second = faults.admit(request("GET", "/"));
        assert!(matches!(second, Some(Fault::Status(409))), "{second:?}");
        assert!(faults.admit(request("GET", "/")).is_none());
    }
}
