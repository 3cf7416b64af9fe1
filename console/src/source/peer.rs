//! Asks the programs of the fleet, by their health ports.
//!
//! In: the address of a program, and a path. Out: the answer of one replica, or of each. Fails: with [`Away`], for the program if its
//! name has no address, else for each replica by itself.
//!
//! A name with several addresses, as a headless Service has, stands for that many replicas.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use lifecycle_errors::Chain;
use lifecycle_service::files;
use lifecycle_service::version::THIS;
use reqwest::header::{ACCEPT, AUTHORIZATION, HOST};
use serde::de::DeserializeOwned;
use tokio::net::lookup_host;
use tokio::time::timeout;

use super::{Answers, Away, decode};
use crate::config::PeerConfig;

/// The most bytes of an answer: twice what an adapter keeps of its passes by default.
const LIMIT: usize = 16 * 1024 * 1024;
/// The most replicas of one program that are asked.
const MOST_REPLICAS: usize = 32;

/// The answer of one replica.
#[derive(Debug, Clone)]
pub struct Replica<T> {
    /// Its address; none if the program's name has none.
    pub address: Option<SocketAddr>,
    /// Its answer.
    pub answer: Result<T, Away>,
}

/// The programs of the fleet.
#[derive(Debug)]
pub(super) struct Peers {
    client: reqwest::Client,
    timeout: Duration,
    answers: Answers,
}

impl Peers {
    pub(super) fn new(timeout: Duration, answers: Answers) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .user_agent(format!("hyperfleet-console/{}", THIS.number))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .no_proxy()
            .build()?;
        Ok(Self { client, timeout, answers })
    }

    /// The answer of each replica, in the order of their addresses.
    pub(super) async fn all<T: DeserializeOwned>(&self, name: &str, peer: &PeerConfig, path: &str) -> Vec<Replica<T>> {
        let away = |reason: String| Away { source_name: name.to_owned(), reason };
        let found = timeout(self.timeout, lookup_host((peer.host.as_str(), peer.port))).await;
        let addresses: BTreeSet<SocketAddr> = match found {
            Ok(Ok(addresses)) => of_one_family(addresses.collect()).into_iter().take(MOST_REPLICAS).collect(),
            Ok(Err(error)) => {
                let answer = Err(away(format!("the name `{}` has no address: {error}", peer.host)));
                return vec![Replica { address: None, answer }];
            }
            Err(_) => {
                let answer = Err(away(format!("the address of `{}` is not known in time", peer.host)));
                return vec![Replica { address: None, answer }];
            }
        };
        let ask = async |address| {
            let answer = self.ask(name, peer, address, path).await.and_then(|text| decode(name, &text));
            Replica { address: Some(address), answer }
        };
        join_all(addresses.into_iter().map(ask)).await
    }

    /// The answer of the first replica that has one: for questions to which all have the same answer.
    pub(super) async fn any<T: DeserializeOwned>(&self, name: &str, peer: &PeerConfig, path: &str) -> Result<T, Away> {
        let mut replicas = self.all(name, peer, path).await;
        let answered = replicas.iter().position(|replica| replica.answer.is_ok()).unwrap_or_default();
        replicas.swap_remove(answered).answer
    }

    async fn ask(
        &self,
        name: &str,
        peer: &PeerConfig,
        address: SocketAddr,
        path: &str,
    ) -> Result<std::sync::Arc<str>, Away> {
        let away = |reason: String| Away { source_name: name.to_owned(), reason };
        let ask = async {
            let request = self.client.get(format!("http://{address}{path}"));
            let mut request =
                request.header(HOST, format!("{}:{}", peer.host, peer.port)).header(ACCEPT, "application/json");
            if let Some(file) = &peer.token_file {
                let token = files::read_text_aside(file, files::SECRET).await;
                let token = token.map_err(|error| away(format!("its token cannot be read: {error}")))?;
                request = request.header(AUTHORIZATION, format!("Bearer {}", token.trim()));
            }
            let mut response = request.send().await.map_err(|error| away(Chain(&error.without_url()).to_string()))?;
            let status = response.status();
            let mut body = Vec::new();
            while let Some(chunk) =
                response.chunk().await.map_err(|error| away(Chain(&error.without_url()).to_string()))?
            {
                if body.len() + chunk.len() > LIMIT {
                    return Err(away(format!("its answer has more than {LIMIT} bytes")));
                }
                body.extend_from_slice(&chunk);
            }
            let text = String::from_utf8(body).map_err(|_| away("its answer is no text".to_owned()))?;
            if !status.is_success() {
                return Err(away(refusal(status, &text)));
            }
            Ok(text)
        };
        self.answers.of(format!("{address}{path}"), ask).await
    }
}

/// Leaves out the addresses of IPv6 if there are some of IPv4: a replica may have one of each.
fn of_one_family(mut addresses: BTreeSet<SocketAddr>) -> BTreeSet<SocketAddr> {
    if addresses.iter().any(SocketAddr::is_ipv4) {
        addresses.retain(SocketAddr::is_ipv4);
    }
    addresses
}

/// Why a program did not answer a question, in its own words if it has some.
fn refusal(status: reqwest::StatusCode, body: &str) -> String {
    let message = serde_json::from_str::<serde_json::Value>(body).ok();
    let message = message.as_ref().and_then(|body| body.get("message")?.as_str());
    match message {
        Some(message) => format!("it answered {status}: {message}"),
        None => format!("it answered {status}"),
    }
}
