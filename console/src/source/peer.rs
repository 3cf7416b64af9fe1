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
use moka::future::Cache;
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, AUTHORIZATION, HOST};
use serde::de::DeserializeOwned;
use tokio::net::lookup_host;
use tokio::time::{sleep, timeout};

use super::{Answers, Away, FRESH, decode};
use crate::config::PeerConfig;

/// The most bytes of an answer: twice what an adapter keeps of its passes by default, and twice its longest pass if it keeps 64 MiB.
const LIMIT: usize = 16 * 1024 * 1024;
/// The reason why a longer answer is none.
pub(super) const TOO_LONG: &str = "its answer has more than 16 MiB";
/// How long a replica may take to accept a connection: the address of one that has died answers nothing at all.
const CONNECT: Duration = Duration::from_secs(1);
/// How often a program that serves one reader at a time is asked again while another one reads, and after how long.
const RETRIES: usize = 3;
const TURN: Duration = Duration::from_millis(200);
/// The most replicas of one program that are asked.
const MOST_REPLICAS: usize = 32;

/// What the exporter says while it serves another reader.
const ANOTHER_READS: &str = "another client is reading";
/// The most names whose addresses are kept.
const MOST_NAMES: u64 = 1_000;
/// The most characters of a program's own words about why it does not answer.
const MOST_WORDS: usize = 1_000;

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
    /// The addresses of each name, or why it has none.
    addresses: Cache<(String, u16), Result<BTreeSet<SocketAddr>, String>>,
}

impl Peers {
    pub(super) fn new(timeout: Duration, answers: Answers) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .user_agent(format!("hyperfleet-console/{}", THIS.number))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .connect_timeout(CONNECT)
            .no_proxy()
            .build()?;
        let addresses = Cache::builder().max_capacity(MOST_NAMES).time_to_live(FRESH).build();
        Ok(Self { client, timeout, answers, addresses })
    }

    /// The addresses of a program, or why it has none.
    async fn addresses(&self, peer: &PeerConfig) -> Result<BTreeSet<SocketAddr>, String> {
        let (host, port) = (peer.host.clone(), peer.port);
        let find = async {
            match timeout(self.timeout, lookup_host((host.as_str(), port))).await {
                Ok(Ok(addresses)) => Ok(of_one_family(addresses.collect())),
                Ok(Err(error)) => Err(format!("the name `{host}` has no address: {error}")),
                Err(_) => Err(format!("the address of `{host}` is not known in time")),
            }
        };
        let found = self.addresses.get_with((host.clone(), port), find).await?;
        match found.len() {
            0 => Err(format!("the name `{host}` has no address")),
            count if count > MOST_REPLICAS => {
                Err(format!("the name `{host}` has {count} addresses; at most {MOST_REPLICAS} replicas are asked"))
            }
            _ => Ok(found),
        }
    }

    /// The answer of each replica, in the order of their addresses.
    pub(super) async fn all<T: DeserializeOwned>(&self, name: &str, peer: &PeerConfig, path: &str) -> Vec<Replica<T>> {
        let addresses = match self.addresses(peer).await {
            Ok(addresses) => addresses,
            Err(reason) => {
                let answer = Err(Away { source_name: name.to_owned(), reason });
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
        let mut away = None;
        for replica in self.all(name, peer, path).await {
            match replica.answer {
                Ok(answer) => return Ok(answer),
                Err(error) => away = away.or(Some(error)),
            }
        }
        let silent = || Away { source_name: name.to_owned(), reason: "it has no replica".to_owned() };
        Err(away.unwrap_or_else(silent))
    }

    async fn ask(
        &self,
        name: &str,
        peer: &PeerConfig,
        address: SocketAddr,
        path: &str,
    ) -> Result<std::sync::Arc<str>, Away> {
        let away = |reason: String| Away { source_name: name.to_owned(), reason };
        let once = async || {
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
                    return Err(away(TOO_LONG.to_owned()));
                }
                body.extend_from_slice(&chunk);
            }
            Ok((status, String::from_utf8(body).map_err(|_| away("its answer is no text".to_owned()))?))
        };
        let ask = async {
            let (mut status, mut text) = once().await?;
            for _ in 0..RETRIES {
                if status != StatusCode::SERVICE_UNAVAILABLE || !text.contains(ANOTHER_READS) {
                    break;
                }
                sleep(TURN).await;
                (status, text) = once().await?;
            }
            if status.is_success() { Ok(text) } else { Err(away(refusal(status, &text))) }
        };
        // Two programs may share an address behind a proxy that tells them apart by their names.
        self.answers.of(format!("{name} {}:{} {address}{path}", peer.host, peer.port), ask).await
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
fn refusal(status: StatusCode, body: &str) -> String {
    let message = serde_json::from_str::<serde_json::Value>(body).ok();
    let message = message.as_ref().and_then(|body| body.get("message")?.as_str());
    match message {
        Some(message) => format!("it answered {status}: {}", message.chars().take(MOST_WORDS).collect::<String>()),
        None => format!("it answered {status}"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn peer(host: &str) -> PeerConfig {
        PeerConfig { host: host.to_owned(), port: 80, token_file: None }
    }

    #[tokio::test]
    async fn name_is_looked_up_once_while_its_addresses_count() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let answers = Answers::new();
        let limited = Peers::new(Duration::from_millis(1), answers).unwrap();
        assert_eq!(limited.addresses.policy().time_to_live(), Some(FRESH));
        // Without the end of a second, as the test may last longer.
        let peers = Peers { addresses: Cache::new(10), ..limited };
        // Nobody has names that end so (RFC 2606): what is known of this one was not looked up.
        let known = BTreeSet::from(["10.0.0.7:80".parse().unwrap()]);
        peers.addresses.insert(("known.invalid".to_owned(), 80), Ok(known.clone())).await;
        assert_eq!(peers.addresses(&peer("known.invalid")).await, Ok(known));
        let away = peers.addresses(&peer("unknown.invalid")).await.unwrap_err();
        let kept = peers.addresses.get(&("unknown.invalid".to_owned(), 80)).await;
        assert_eq!(kept, Some(Err(away)), "a name without an address is looked up again for each reader");
    }
}
