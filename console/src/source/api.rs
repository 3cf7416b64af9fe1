//! Asks the HyperFleet API.
//!
//! In: ids and filters. Out: resources, reports, numbers. Fails: with [`Away`] if the API has no answer, or if something else answered
//! in its place. A resource counts as absent only if the API itself says so.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use lifecycle_api_client::client::{Answer, Client, Request};
use lifecycle_api_client::lookup::check_source;
use lifecycle_api_client::problem::Problem;
use lifecycle_api_client::{DelayGrowth, Lookup, RetryPolicy, Settings, TokenSettings};
use lifecycle_errors::Chain;
use lifecycle_service::version::THIS;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Answers, Away, decode};
use crate::config::ApiConfig;
use crate::model::{List, Report, Resource};

/// The name of the source.
const API: &str = "API";
/// The most items that the API puts on a page.
const LARGEST_PAGE: u32 = 100;
/// What a list asks for of each resource: without specs, of which a page may be larger than the longest answer.
const SHOWN: &str = "kind,name,generation,created_time,updated_time,deleted_time,status";
/// How long a token is used before its file is checked for a change.
const TOKEN_CACHE: Duration = Duration::from_secs(30);

/// The state of resources to list or to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// All resources, also those that are being deleted.
    #[default]
    All,
    /// Not reconciled, and not being deleted.
    Pending,
    /// Reconciled, and not being deleted.
    Reconciled,
    /// Being deleted.
    Deleting,
}

impl State {
    /// All states, in the order in which pages show them.
    pub const EACH: [Self; 4] = [Self::All, Self::Reconciled, Self::Pending, Self::Deleting];

    /// The word for the state, also in URLs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Pending => "pending",
            Self::Reconciled => "reconciled",
            Self::Deleting => "deleting",
        }
    }

    fn search(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Pending => Some("status.conditions.Reconciled='False' and deleted_time is null"),
            Self::Reconciled => Some("status.conditions.Reconciled='True' and deleted_time is null"),
            Self::Deleting => Some("deleted_time is not null"),
        }
    }
}

/// How many resources match a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub number: u64,
    /// When the API was asked for it.
    pub asked: Timestamp,
}

/// Which resources to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Of this kind.
    pub kind: Option<String>,
    /// In this state.
    pub state: State,
    /// With a name that contains this text.
    pub name: Option<String>,
    /// With a label: its key and its value.
    pub label: Option<(String, String)>,
    /// That are part of the resource of this id.
    pub owner: Option<String>,
}

impl Filter {
    /// Writes the filter as a search of the API.
    ///
    /// # Errors
    /// A text has a character that would end its quotes, or a key that the API cannot search.
    pub fn search(&self) -> Result<String, String> {
        let mut parts = Vec::new();
        let mut add = |what: &str, marks: &str, before: &str, text: &str, after: &str| {
            // No name, id, kind or value of a label has other characters; a quote would end the text.
            let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c));
            if !is_plain {
                return Err(format!("{what} has letters, digits and `{marks}` only"));
            }
            parts.push(format!("{before}{text}{after}"));
            Ok(())
        };
        if let Some(kind) = &self.kind {
            add("a kind", "-_.", "kind='", kind, "'")?;
        }
        if let Some(name) = &self.name {
            // `_` would stand for any character, and no name has one.
            add("a name", "-.", "name like '%", name, "%'")?;
        }
        if let Some(owner) = &self.owner {
            add("an id", "-_.", "owner_id='", owner, "'")?;
        }
        if let Some((key, value)) = &self.label {
            let is_searchable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if key.is_empty() || !key.chars().all(is_searchable) {
                return Err("the API can search labels whose key has small letters, digits and `_` only".to_owned());
            }
            add("the value of a label", "-_.", &format!("labels.{key}='"), value, "'")?;
        }
        parts.extend(self.state.search().map(str::to_owned));
        Ok(parts.join(" and "))
    }
}

/// Writes a text as a part of a query.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The HyperFleet API.
#[derive(Debug)]
pub struct Api {
    client: Client,
    answers: Answers,
}

impl Api {
    pub(super) fn new(config: &ApiConfig, answers: Answers) -> anyhow::Result<Self> {
        let token = config.token_file.clone().map(|path| TokenSettings {
            path,
            cache_ttl: TOKEN_CACHE,
            scheme: config.auth_scheme,
        });
        // A page that is open asks again soon.
        let retry = RetryPolicy {
            attempts: 1,
            backoff: DelayGrowth::Constant,
            base_delay: Duration::from_millis(100),
            max_delay: Duration::from_millis(100),
        };
        let client = Client::new(Settings {
            base_url: config.base_url.clone(),
            version: config.version.clone(),
            timeout: config.timeout,
            retry,
            default_headers: http::HeaderMap::new(),
            token,
            user_agent: format!("hyperfleet-console/{}", THIS.number).parse()?,
        })?;
        Ok(Self { client, answers })
    }

    /// The resource of an id; none if the API says that it has none.
    ///
    /// # Errors
    /// The API has no answer.
    pub async fn resource(&self, id: &str) -> Result<Option<Resource>, Away> {
        let ask = async {
            match self.client.look_up("resources", id, None, &()).await {
                Lookup::Found(resource) => Ok(resource.to_string()),
                Lookup::NotFound => Ok("null".to_owned()),
                Lookup::Unknown(unknown) => Err(away(Chain(&unknown).to_string())),
            }
        };
        decode(API, &self.answers.of(format!("api resource {id}"), ask).await?)
    }

    /// The last report of each adapter about a resource.
    ///
    /// # Errors
    /// The API has no answer.
    pub async fn reports(&self, id: &str) -> Result<Vec<Report>, Away> {
        let mut reports = Vec::new();
        for page in 1.. {
            let path = format!("resources/{}/statuses?page={page}&size={LARGEST_PAGE}", encoded(id));
            let list: List<Report> = self.get(&path).await?;
            let is_last = list.items.is_empty() || list.total <= u64::from(page * LARGEST_PAGE);
            reports.extend(list.items);
            if is_last {
                break;
            }
        }
        Ok(reports)
    }

    /// A page of the resources that match a filter, the newest first, and when the API was asked: a list takes the API as long as its
    /// number of items takes to count. Pages begin at 1.
    ///
    /// # Errors
    /// The API has no answer, or refuses the filter.
    pub async fn list(&self, filter: &Filter, page: u32, size: u32) -> Result<(List<Resource>, Timestamp), Away> {
        self.slow(&format!("resources?page={page}&size={size}&fields={SHOWN}{}", Self::query(filter)?)).await
    }

    /// The first resources that are part of another one.
    ///
    /// # Errors
    /// The API has no answer.
    pub async fn children(&self, id: &str) -> Result<List<Resource>, Away> {
        let filter = Filter { owner: Some(id.to_owned()), ..Filter::default() };
        self.get(&format!("resources?page=1&size={LARGEST_PAGE}&fields=kind,name{}", Self::query(&filter)?)).await
    }

    /// The number of resources that match a filter. It is older than other answers if the API takes long to count.
    ///
    /// # Errors
    /// The API has no answer, or refuses the filter.
    pub async fn count(&self, filter: &Filter) -> Result<Count, Away> {
        let path = format!("resources?page=1&size=1&fields=id{}", Self::query(filter)?);
        let (list, asked): (List<serde_json::Value>, _) = self.slow(&path).await?;
        Ok(Count { number: list.total, asked })
    }

    fn query(filter: &Filter) -> Result<String, Away> {
        let search = filter.search().map_err(away)?;
        Ok(if search.is_empty() { search } else { format!("&search={}", encoded(&search)) })
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, Away> {
        decode(API, &self.answers.of(format!("api {path}"), self.ask(path)).await?)
    }

    /// The answer to a question that may take the API long, and when it was asked.
    async fn slow<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<(T, Timestamp), Away> {
        let (answer, asked) = self.answers.of_slow(format!("api {path}"), self.ask(path)).await;
        Ok((decode(API, &answer?)?, asked))
    }

    async fn ask(&self, path: &str) -> Result<String, Away> {
        let answer = self.client.call(&Request::get(path), None, &()).await;
        read(&answer.map_err(|failure| away(Chain(&failure.error).to_string()))?)
    }
}

fn away(reason: String) -> Away {
    Away { source_name: API.to_owned(), reason }
}

fn read(answer: &Answer) -> Result<String, Away> {
    check_source(answer).map_err(|unknown| away(unknown.to_string()))?;
    if answer.status != StatusCode::OK {
        let detail = Problem::parse(&answer.body).map(|problem| format!(": {}", problem.detail)).unwrap_or_default();
        return Err(away(format!("it answered {}{detail}", answer.status)));
    }
    if !answer.is_of_type("application/json") {
        return Err(away("something else than the API answered: the answer is no JSON".to_owned()));
    }
    Ok(answer.body.clone())
}
