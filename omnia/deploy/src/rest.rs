//! Reads and writes the objects of a workspace of Omnia.
//!
//! In: where the workspace is, and objects. Out: what the server has of them. Fails: with a [`Failure`], which says
//! what the server said. A request ends after [`TIMEOUT`], and an answer over [`BODY_LIMIT`] is refused.
//!
//! Servers have one of two APIs: [`connect`](Workspace::connect) finds out which. Time passes through [`Pause`], which tests replace.

use std::future::Future;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use lifecycle_api_client::tls;
use lifecycle_api_client::url::segment;
use lifecycle_errors::Chain;
use reqwest::{Response, redirect};
use serde_json::Value;

use crate::config::Token;
use crate::failure::Failure;
use crate::intent;
use crate::kinds::{Kind, Surface};

/// How long a request may take, its answer included.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of an answer: lists carry the texts of packs, and no server may exhaust the memory.
pub const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// How often a write is sent again that met a change of somebody else.
const CONFLICT_RETRIES: u32 = 3;
/// The pause before such a write is sent again.
const CONFLICT_PAUSE: Duration = Duration::from_millis(300);

/// Lets time pass.
pub trait Pause: Sync {
    /// Returns after this time.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The clock of the runtime.
#[derive(Debug, Clone, Copy)]
pub struct Sleep;

impl Pause for Sleep {
    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// Why there can be no client at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The token cannot be in a header.
    #[error("the token has characters that no HTTP header takes")]
    Token,
    /// TLS could not be set up.
    #[error("failed to set up TLS")]
    Tls(#[source] rustls::Error),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Http(#[source] reqwest::Error),
}

/// The requests of one program to one server.
#[derive(Debug)]
struct Server {
    http: reqwest::Client,
    headers: HeaderMap,
}

/// A workspace, whose API is known.
#[derive(Debug)]
pub struct Workspace {
    server: Server,
    base: String,
    surface: Surface,
}

/// An answer, whatever its status.
struct Answer {
    status: StatusCode,
    is_page: bool,
    body: String,
}

impl Workspace {
    /// Finds the workspace, and which API the server has.
    ///
    /// # Errors
    /// The outer error: there can be no client. The inner one: the server refuses the token, is not there, or has neither API; it
    /// says what was asked.
    pub async fn connect(endpoint: &str, name: &str, token: &Token) -> Result<Result<Self, Failure>, SetupError> {
        let server = Server::new(token)?;
        Ok(probe(server, endpoint, name).await)
    }

    /// The API that the server has.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.surface
    }

    /// Lists the objects of a kind with these labels. A kind that the API does not have has no objects.
    ///
    /// # Errors
    /// The request failed, or the answer is no list.
    pub async fn list(&self, kind: Kind, selector: &str) -> Result<Vec<Value>, Failure> {
        let Some(collection) = self.collection(kind) else { return Ok(Vec::new()) };
        self.listed(collection, selector).await
    }

    async fn listed(&self, collection: &str, selector: &str) -> Result<Vec<Value>, Failure> {
        let selector = segment(selector).map(|selector| format!("?labelSelector={selector}")).unwrap_or_default();
        let url = format!("{}{selector}", self.url(collection));
        match self.server.call(Method::GET, &url, None).await?.accepted()? {
            Value::Array(objects) => Ok(objects),
            Value::Null => Ok(Vec::new()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                Err(Failure::Unexpected(format!("the server answered no list of {collection}")))
            }
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// The request failed; [`Failure::is_missing`] if there is no such object.
    pub async fn get(&self, kind: Kind, name: &str) -> Result<Value, Failure> {
        self.server.call(Method::GET, &self.item(kind, name)?, None).await?.accepted()
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The request failed; [`Failure::is_existing`] if there is an object of its name.
    pub async fn create(&self, kind: Kind, body: &Value) -> Result<Value, Failure> {
        let url = self.url(self.collection(kind).ok_or_else(|| unknown(kind))?);
        self.server.call(Method::POST, &url, Some(body)).await?.accepted()
    }

    /// Replaces an object. Sends the request again if somebody else changed the object at the same time.
    ///
    /// # Errors
    /// The request failed, or it met a change of somebody else each time.
    pub async fn update(&self, kind: Kind, name: &str, body: &Value, clock: &impl Pause) -> Result<Value, Failure> {
        let url = self.item(kind, name)?;
        let mut retries = 0;
        loop {
            let outcome = self.server.call(Method::PUT, &url, Some(body)).await?.accepted();
            match outcome {
                Err(failure) if failure.is_modified() && retries < CONFLICT_RETRIES => {
                    retries += 1;
                    clock.pause(CONFLICT_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Deletes an object. Returns whether there was one.
    ///
    /// # Errors
    /// The request failed, and the object may still be there.
    pub async fn delete(&self, kind: Kind, name: &str) -> Result<bool, Failure> {
        match self.server.call(Method::DELETE, &self.item(kind, name)?, None).await?.accepted() {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_missing() => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Lists the providers of the workspace.
    ///
    /// # Errors
    /// The request failed, or the answer is no list.
    pub async fn providers(&self) -> Result<Vec<Value>, Failure> {
        self.listed("providers", "").await
    }

    /// Reads a provider of the workspace.
    ///
    /// # Errors
    /// The request failed; [`Failure::is_missing`] if there is no such provider.
    pub async fn provider(&self, name: &str) -> Result<Value, Failure> {
        self.server.call(Method::GET, &self.below("providers", name)?, None).await?.accepted()
    }

    /// Reads a skill source of the workspace.
    ///
    /// # Errors
    /// The request failed; [`Failure::is_missing`] if there is no such source.
    pub async fn skill_source(&self, name: &str) -> Result<Value, Failure> {
        self.server.call(Method::GET, &self.below("skills", name)?, None).await?.accepted()
    }

    /// Whether the server takes a deployment in [one request](intent). A server that has no profile takes none.
    ///
    /// # Errors
    /// The request failed.
    pub async fn takes_one_request(&self) -> Result<bool, Failure> {
        if self.surface != Surface::Current {
            return Ok(false);
        }
        match self.server.call(Method::GET, &self.url("deploy-profile"), None).await?.accepted() {
            Ok(profile) => Ok(intent::is_supported(&profile)),
            Err(failure) if intent::is_unknown(&failure) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Makes a deployment by one request. Returns what was done with each object; `None` if the server does not know the request.
    ///
    /// # Errors
    /// The request failed, and the server may have done it or a part of it.
    pub async fn deploy(&self, request: &Value) -> Result<Option<Vec<intent::Done>>, Failure> {
        match self.server.call(Method::POST, &self.url("deployments"), Some(request)).await?.accepted() {
            Ok(answer) => Ok(Some(intent::results(&answer))),
            Err(failure) if intent::is_unknown(&failure) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Whether the API has objects of a kind.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        self.collection(kind).is_some()
    }

    fn collection(&self, kind: Kind) -> Option<&'static str> {
        match (self.surface, kind) {
            (Surface::Current, Kind::ConfigMap) => None,
            (Surface::Current, Kind::AgentRuntime) => Some("agents"),
            (Surface::Versioned | Surface::Cluster, Kind::ConfigMap) => Some("configmaps"),
            (_, Kind::PromptPack) => Some("promptpacks"),
            (_, Kind::ToolRegistry) => Some("toolregistries"),
            (_, Kind::AgentPolicy) => Some("agentpolicies"),
            (Surface::Versioned | Surface::Cluster, Kind::AgentRuntime) => Some("agentruntimes"),
        }
    }

    fn url(&self, collection: &str) -> String {
        format!("{}/{collection}", self.base)
    }

    fn item(&self, kind: Kind, name: &str) -> Result<String, Failure> {
        self.below(self.collection(kind).ok_or_else(|| unknown(kind))?, name)
    }

    fn below(&self, collection: &str, name: &str) -> Result<String, Failure> {
        // `..` as a name would be the workspace itself.
        let name = segment(name).ok_or_else(|| Failure::Unexpected(format!("`{name}` is no name of an object")))?;
        Ok(format!("{}/{name}", self.url(collection)))
    }
}

fn unknown(kind: Kind) -> Failure {
    Failure::Unexpected(format!("the workspace API has no {}", kind.name()))
}

/// Asks for the health of each API, the designed one first. A page is no answer: consoles serve one under every path.
async fn probe(server: Server, endpoint: &str, name: &str) -> Result<Workspace, Failure> {
    let name = segment(name).unwrap_or_default();
    let versioned = format!("{endpoint}/api/v1/workspaces/{name}");
    let current = format!("{endpoint}/api/workspaces/{name}");
    let healths = [
        (Surface::Versioned, format!("{versioned}/health"), versioned),
        (Surface::Current, format!("{endpoint}/api/health"), current),
    ];
    let mut asked = Vec::new();
    for (surface, health, base) in healths {
        let answer = server.call(Method::GET, &health, None).await?;
        if answer.status.is_success() && !answer.is_page {
            return Ok(Workspace { server, base, surface });
        }
        let is_another_api = answer.status.is_success() || matches!(answer.status.as_u16(), 404 | 405);
        if !is_another_api {
            return Err(answer.refusal());
        }
        let what = if answer.status.is_success() { "a page".to_owned() } else { answer.status.as_u16().to_string() };
        asked.push(format!("{} answered {what}", health.trim_start_matches(endpoint)));
    }
    Err(Failure::Unexpected(format!(
        "the server has neither of Omnia's APIs: {}; check api_endpoint",
        asked.join(", ")
    )))
}

/// Sends what a person who has no token yet got from the server.
///
/// # Errors
/// The outer error: there can be no client. The inner one: the request failed, or was refused.
pub async fn exchange(url: &str, body: &Value) -> Result<Result<Value, Failure>, SetupError> {
    let server = Server::anonymous()?;
    Ok(server.call(Method::POST, url, Some(body)).await.and_then(Answer::accepted))
}

impl Server {
    fn new(token: &Token) -> Result<Self, SetupError> {
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.reveal())).map_err(|_| SetupError::Token)?;
        bearer.set_sensitive(true);
        let mut server = Self::anonymous()?;
        server.headers.insert(AUTHORIZATION, bearer);
        Ok(server)
    }

    fn anonymous() -> Result<Self, SetupError> {
        let agent = HeaderValue::from_static(concat!("promptarena-deploy-omnia/", env!("CARGO_PKG_VERSION")));
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client_config().map_err(SetupError::Tls)?)
            // Another URL's answer is not the server's, and must not get the token.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(SetupError::Http)?;
        Ok(Self { http, headers: HeaderMap::from_iter([(USER_AGENT, agent)]) })
    }

    async fn call(&self, method: Method, url: &str, body: Option<&Value>) -> Result<Answer, Failure> {
        let request = self.http.request(method, url).headers(self.headers.clone());
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request,
        };
        let answer = async {
            let response = request.send().await.map_err(unreachable)?;
            let status = response.status();
            let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            let is_page = kind.starts_with("text/html");
            Ok(Answer { status, is_page, body: read(response).await? })
        };
        tokio::time::timeout(TIMEOUT, answer).await.unwrap_or(Err(Failure::TimedOut(TIMEOUT)))
    }
}

fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unreachable(Chain(&error.without_url()).to_string())
}

async fn read(mut response: Response) -> Result<String, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > BODY_LIMIT {
            return Err(Failure::Unexpected(format!("the answer has more than {BODY_LIMIT} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

impl Answer {
    fn refusal(&self) -> Failure {
        Failure::refused(self.status.as_u16(), &self.body)
    }

    /// The value of an answer that is a success; null if it has no body.
    fn accepted(self) -> Result<Value, Failure> {
        if !self.status.is_success() {
            return Err(self.refusal());
        }
        if self.body.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&self.body).map_err(|_| Failure::Unexpected("the server answered no JSON".to_owned()))
    }
}

#[cfg(test)]
mod tests;
