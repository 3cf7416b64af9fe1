//! Who may read the pages, and how often.
//!
//! In: the address of a connection, and the headers of a request. Out: a [`Viewer`]. Fails: with the answer for a client that may not
//! read: 401 without a right token or an authenticated name, 421 by another name than this machine's if everybody on it may read, 429
//! with too many requests, 503 if the token cannot be read.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, HOST, RETRY_AFTER};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use lifecycle_service::access::{Access, Guarded, problem};
use moka::future::Cache;

use crate::config::AccessConfig;

pub mod open;

/// What a refusal says of the pages.
const PAGES: Guarded = Guarded { path: "the console", realm: "HyperFleet console", cure: "set access.token_file" };
/// The time in which requests are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// The most requests of a viewer in that time. An open page is one request, however often it is brought up to date.
const MOST_REQUESTS: u32 = 200;
/// The most viewers that are counted at once.
const MOST_VIEWERS: u64 = 10_000;
/// The most characters of a name.
const LONGEST_NAME: usize = 200;

/// Somebody who reads the pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Viewer {
    /// A reader whom a proxy has authenticated, by name.
    Named(String),
    /// A reader without a name, by the address of the connection.
    At(IpAddr),
}

/// Lets viewers in.
#[derive(Debug)]
pub struct Door {
    access: AccessConfig,
    /// The requests of readers.
    requests: Counters,
    /// The requests with a wrong token, by the addresses of their connections.
    refusals: Counters,
}

impl Door {
    /// Lets those in whom the configuration allows.
    #[must_use]
    pub fn new(access: AccessConfig) -> Self {
        // The least recently counted viewer makes room for a new one: none is left uncounted.
        let counters = || {
            let lru = moka::policy::EvictionPolicy::lru();
            Cache::builder().max_capacity(MOST_VIEWERS).eviction_policy(lru).time_to_live(WINDOW).build()
        };
        Self { access, requests: counters(), refusals: counters() }
    }

    /// Finds out who asks, and counts the request.
    ///
    /// # Errors
    /// The client may not read the pages, or asks too often.
    pub async fn admit(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Viewer, Response> {
        // Refusals count apart: a stranger behind the same address as readers does not use up their requests.
        match self.check(peer, headers).await {
            Ok(viewer) => count(&self.requests, &viewer).await.map(|()| viewer),
            // A browser asks without a token first, and asks its reader for one only after 401.
            Err(refusal) if !headers.contains_key(AUTHORIZATION) => Err(refusal),
            Err(refusal) => {
                count(&self.refusals, &Viewer::At(peer)).await?;
                Err(refusal)
            }
        }
    }

    /// Finds out who asks.
    ///
    /// # Errors
    /// The client may not read the pages.
    pub async fn check(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Viewer, Response> {
        if let Some(name) = self.named(peer, headers) {
            return Ok(Viewer::Named(name));
        }
        let viewer = Viewer::At(peer);
        if self.access.anonymous {
            return if is_of_this_machine(headers) { Ok(viewer) } else { Err(elsewhere()) };
        }
        match &self.access.token_file {
            Some(file) => Access::Token(file.clone()).admit(PAGES, headers).await.map(|()| viewer),
            None => {
                let message =
                    "the console is read through a proxy that says who you are; this request did not come from one";
                Err(problem(StatusCode::UNAUTHORIZED, message))
            }
        }
    }

    /// The name that a proxy gives, if the connection comes from one.
    fn named(&self, peer: IpAddr, headers: &HeaderMap) -> Option<String> {
        let header = self.access.user_header.as_ref()?;
        let is_proxy = self.access.proxies.iter().any(|network| network.contains(&peer));
        let mut given = headers.get_all(header).iter();
        let name = given.next()?.to_str().ok()?.trim();
        // A second value may be what the client sent, and the proxy has only added its own.
        let is_one = given.next().is_none() && !name.is_empty() && name.len() <= LONGEST_NAME;
        (is_proxy && is_one).then(|| name.to_owned())
    }
}

type Counters = Cache<Viewer, Arc<AtomicU32>>;

async fn count(counters: &Counters, viewer: &Viewer) -> Result<(), Response> {
    let counter = counters.get_with(viewer.clone(), async { Arc::default() }).await;
    if counter.fetch_add(1, Ordering::Relaxed) < MOST_REQUESTS {
        return Ok(());
    }
    let message = format!("more than {MOST_REQUESTS} requests in {} s; wait a little", WINDOW.as_secs());
    let wait = [(RETRY_AFTER, WINDOW.as_secs().to_string())];
    Err((wait, problem(StatusCode::TOO_MANY_REQUESTS, &message)).into_response())
}

/// Headers of proxies, behind which clients of other machines may be.
const PROXIED: [&str; 3] = ["forwarded", "x-forwarded-for", "via"];

/// Whether the client is of this machine, and knows the console by a name that only this machine has. A page of another site, whose name
/// somebody made lead to this machine, could otherwise read the console in the browser of whoever visits that site (DNS rebinding).
fn is_of_this_machine(headers: &HeaderMap) -> bool {
    if PROXIED.iter().any(|header| headers.contains_key(*header)) {
        return false;
    }
    let Some(host) = headers.get(HOST) else { return true };
    let Some(authority) = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()) else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || name == "localhost" || name.ends_with(".localhost")
}

fn elsewhere() -> Response {
    let message = "without `access` the console is for this machine alone: open it as http://localhost:PORT/, without a proxy, or \
                   set access.token_file or access.user_header";
    problem(StatusCode::MISDIRECTED_REQUEST, message)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;

    use axum::http::HeaderValue;
    use axum::http::header::WWW_AUTHENTICATE;

    use super::*;

    const PROXY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));
    const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 7));

    /// The headers of a request.
    type Given<'a> = &'a [(&'static str, &'a str)];

    fn behind_a_proxy() -> AccessConfig {
        let proxies = vec!["10.0.0.0/24".parse().unwrap()];
        AccessConfig { user_header: Some("x-forwarded-user".parse().unwrap()), proxies, ..AccessConfig::default() }
    }

    async fn status(access: &AccessConfig, peer: IpAddr, given: Given<'_>) -> Result<Viewer, u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        Door::new(access.clone()).admit(peer, &headers).await.map_err(|refusal| refusal.status().as_u16())
    }

    #[tokio::test]
    async fn header_names_a_viewer_if_a_proxy_sends_it_once() {
        let access = behind_a_proxy();
        let named = |name: &str| Ok(Viewer::Named(name.to_owned()));
        let cases: [(&str, IpAddr, Given<'_>, Result<Viewer, u16>); 5] = [
            ("a proxy", PROXY, &[("x-forwarded-user", "ann")], named("ann")),
            ("a stranger with a name", STRANGER, &[("x-forwarded-user", "ann")], Err(401)),
            ("a proxy without a name", PROXY, &[], Err(401)),
            ("an empty name", PROXY, &[("x-forwarded-user", " ")], Err(401)),
            ("two names", PROXY, &[("x-forwarded-user", "eve"), ("x-forwarded-user", "ann")], Err(401)),
        ];
        for (name, peer, given, expected) in cases {
            assert_eq!(status(&access, peer, given).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn token_or_name_is_enough_if_both_are_configured() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "s3cret").unwrap();
        let access = AccessConfig { token_file: Some(file.path().to_owned()), ..behind_a_proxy() };
        assert_eq!(status(&access, STRANGER, &[("authorization", "Bearer s3cret")]).await, Ok(Viewer::At(STRANGER)));
        assert_eq!(status(&access, STRANGER, &[("authorization", "Bearer x")]).await, Err(401));
        assert!(status(&access, PROXY, &[("x-forwarded-user", "ann")]).await.is_ok());
    }

    #[tokio::test]
    async fn page_of_another_site_cannot_read_a_console_without_access() {
        let access = AccessConfig { anonymous: true, ..AccessConfig::default() };
        let here = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        for (host, is_read) in [
            ("127.0.0.1:8000", true),
            ("[::1]:8000", true),
            ("localhost", true),
            ("Console.LocalHost:8000", true),
            ("evil.example.com:8000", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("10.0.0.7:8000", false),
            ("", false),
        ] {
            let found = status(&access, here, &[("host", host)]).await;
            assert_eq!(found, if is_read { Ok(Viewer::At(here)) } else { Err(421) }, "{host}");
        }
        let proxied = status(&access, here, &[("host", "127.0.0.1"), ("x-forwarded-for", "10.0.0.7")]).await;
        assert_eq!(proxied, Err(421), "a proxy on this machine has clients elsewhere");
    }

    #[tokio::test]
    async fn viewer_who_asks_too_often_is_told_to_wait() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "s3cret").unwrap();
        let door = Door::new(AccessConfig { token_file: Some(file.path().to_owned()), ..AccessConfig::default() });
        let wrong = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer x"))]);
        for _ in 0..MOST_REQUESTS {
            assert_eq!(door.admit(STRANGER, &wrong).await.unwrap_err().status(), 401);
        }
        let right = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"))]);
        assert!(door.admit(STRANGER, &right).await.is_ok(), "a reader behind the same address is let in");
        let refused = door.admit(STRANGER, &wrong).await.unwrap_err();
        assert_eq!(refused.status(), 429);
        assert!(refused.headers().contains_key(RETRY_AFTER));
        let asked = door.admit(STRANGER, &HeaderMap::new()).await.unwrap_err();
        assert_eq!(asked.status(), 401, "a new browser behind the same address is asked for the token");
        assert!(asked.headers().contains_key(WWW_AUTHENTICATE));
        assert_eq!(door.admit(PROXY, &wrong).await.unwrap_err().status(), 401, "each viewer is counted alone");
    }
}
