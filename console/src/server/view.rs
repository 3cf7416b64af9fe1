//! What a page is about, from its address to its content.
//!
//! In: a path and a query. Out: a [`View`], and its [`Page`] from the sources, which are asked at once. Fails: with a sentence, if a
//! parameter of the query is wrong. A source that does not answer is no failure: the page shows it as away.

use axum::extract::Query;
use axum::http::{StatusCode, Uri};
use futures::future::{join, join_all, join3};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::config::Config;
use crate::model::{List, Resource};
use crate::page::adapter::{self, Adapter};
use crate::page::fleet::{Counts, Fleet, PAGE_SIZE};
use crate::page::resource::Details;
use crate::page::{Moment, Page, Part, missing, sweeper, unknown};
use crate::source::{Away, Filter, Sources, State};

/// The passes of an adapter on its page, and about a resource on that resource's page: those of a bundle have some 100 kB each.
const PASSES: u32 = 50;
const PASSES_OF_ONE: u32 = 10;
/// The stuck resources that are asked for: the most that the exporter puts on a page.
const STUCK: u32 = 500;
/// The highest page of a list.
const LAST_PAGE: u32 = 100_000;
/// The most bytes of an address, which its page repeats: names have 63 characters at most.
const LONGEST: usize = 1000;

/// What a page is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum View {
    Fleet(Filter, u32),
    Resource(String),
    Adapters,
    Adapter(String),
    Sweeper,
}

/// The query of the fleet's page. A form also sends empty fields, which count as absent.
#[derive(Debug, Default, Deserialize)]
struct FleetQuery {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    label: String,
    page: Option<u32>,
}

impl View {
    /// Reads an address; none if there is no such page.
    pub(super) fn parse(uri: &Uri) -> Result<Option<Self>, String> {
        if uri.to_string().len() > LONGEST {
            return Err(format!("It has more than {LONGEST} characters."));
        }
        let segments: Option<Vec<String>> = uri.path().trim_matches('/').split('/').map(decoded).collect();
        let Some(segments) = segments else { return Ok(None) };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        Ok(match segments.as_slice() {
            [""] => Some(fleet(uri)?),
            ["resources", id] => Some(Self::Resource((*id).to_owned())),
            ["adapters"] => Some(Self::Adapters),
            ["adapters", name] => Some(Self::Adapter((*name).to_owned())),
            ["sweeper"] => Some(Self::Sweeper),
            _ => None,
        })
    }

    /// Asks the sources, and makes the page of their answers.
    pub(super) async fn page(&self, config: &Config, sources: &Sources) -> Page {
        self.answer(config, sources).await.1
    }

    /// Asks the sources, and makes the page of their answers, with its status. A page that needs the API is unavailable without it.
    pub(super) async fn answer(&self, config: &Config, sources: &Sources) -> (StatusCode, Page) {
        match self.ask(config, sources).await {
            Ok(page) if page.exists => (StatusCode::OK, page),
            Ok(page) => (StatusCode::NOT_FOUND, page),
            Err(page) => (StatusCode::SERVICE_UNAVAILABLE, page),
        }
    }

    /// Asks the sources; the error is the page without the API's answer.
    async fn ask(&self, config: &Config, sources: &Sources) -> Result<Page, Page> {
        Ok(match self {
            Self::Fleet(filter, page) => fleet_page(filter, *page, config, sources).await?,
            Self::Resource(id) => resource_page(id, config, sources).await?,
            Self::Adapters => {
                let ask = async |name: &str| {
                    let replicas = sources.passes(name, None, 1).await.unwrap_or_default();
                    (name.to_owned(), replicas)
                };
                let adapters = join_all(sources.adapters().map(ask)).await;
                adapter::overview(&adapters, moment())
            }
            Self::Adapter(name) => {
                let (replicas, task) = join(sources.passes(name, None, PASSES), sources.task(name)).await;
                match (replicas, task) {
                    (Some(replicas), Some(task)) => Adapter { name: name.clone(), replicas, task }.page(moment()),
                    _ => missing(
                        Part::Adapters,
                        "This adapter is not configured",
                        &format!("Add `{name}` to `adapters` in this console's configuration to see its passes."),
                    ),
                }
            }
            Self::Sweeper => sweeper::page(sources.plan().await.as_deref(), moment()),
        })
    }
}

/// The moment after the last answer.
fn moment() -> Moment {
    Moment { now: Timestamp::now() }
}

fn decoded(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(|text| text.into_owned())
}

fn fleet(uri: &Uri) -> Result<View, String> {
    let Query(query) = Query::<FleetQuery>::try_from_uri(uri).map_err(|rejection| rejection.body_text())?;
    let page = query.page.unwrap_or(1);
    if !(1..=LAST_PAGE).contains(&page) {
        return Err(format!("A page has a number from 1 to {LAST_PAGE}."));
    }
    let given = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let state = match query.state.as_str() {
        "" => State::All,
        word => State::EACH
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| format!("There is no state `{word}`."))?,
    };
    let label = match given(query.label) {
        None => None,
        Some(text) => match text.split_once('=') {
            Some((key, value)) => Some((key.trim().to_owned(), value.trim().to_owned())),
            None => return Err("Write a label as `key=value`.".to_owned()),
        },
    };
    let filter = Filter { kind: given(query.kind), state, name: given(query.name), label, owner: None };
    // The API would be asked for nothing else.
    filter.search().map_err(|fault| format!("{}.", crate::page::capital(&fault)))?;
    match filter.name.as_deref().filter(|name| is_id(name)) {
        Some(id) => Ok(View::Resource(id.to_owned())),
        None => Ok(View::Fleet(filter, page)),
    }
}

/// Whether a text is an id as the API makes them, a UUID: no name of a resource is that long and has hyphens in these places.
fn is_id(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

async fn fleet_page(filter: &Filter, page: u32, config: &Config, sources: &Sources) -> Result<Page, Page> {
    let count = async |kind: &str, state: State| {
        let filter = Filter { kind: Some(kind.to_owned()), state, ..Filter::default() };
        (state, sources.api.count(&filter).await)
    };
    let count = &count;
    let of_kind = async |kind: &String| {
        let of_state = join_all(State::EACH.map(|state| count(kind, state))).await;
        Counts { kind: kind.clone(), of_state }
    };
    let of_exporter = async {
        let stuck = sources.stuck(STUCK).await;
        // Where the first question has no answer, the page does not wait for a second one in vain.
        let stalled = if let Some(Err(_)) = &stuck { stuck.clone() } else { sources.stalled(STUCK).await };
        (stuck, stalled)
    };
    let (counts, (stuck, stalled), list) =
        join3(join_all(config.api.kinds.iter().map(of_kind)), of_exporter, sources.api.list(filter, page, PAGE_SIZE))
            .await;
    let is_away = list.is_err();
    let page = Fleet { counts, stuck, stalled, filter: filter.clone(), page, list }.page(moment());
    if is_away { Err(page) } else { Ok(page) }
}

async fn resource_page(id: &str, config: &Config, sources: &Sources) -> Result<Page, Page> {
    let found = match sources.api.resource(id).await {
        Ok(found) => found,
        Err(away) => return Err(unknown(Part::Fleet, "This resource is not known", &away)),
    };
    let of_adapter = async |name: &str| {
        let replicas = sources.passes(name, Some(id), PASSES_OF_ONE).await.unwrap_or_default();
        (name.to_owned(), replicas)
    };
    let of_adapters = join_all(sources.adapters().map(of_adapter));
    let links = &config.links;
    let Some(resource) = found else {
        let resource = Resource { id: id.to_owned(), ..Resource::default() };
        let (reports, children, passes) = (Ok(Vec::new()), Ok(List::default()), of_adapters.await);
        return Ok(Details { resource, reports, children, passes, stuck: None, links }.missing(moment()));
    };
    let ((reports, children), passes, stuck) =
        join3(join(sources.api.reports(id), sources.api.children(id)), of_adapters, sources.stuck(STUCK)).await;
    let children = children.and_then(|list| match list.unreadable {
        0 => Ok(list),
        some => Err(Away { source_name: "API".to_owned(), reason: format!("{some} of its children cannot be read") }),
    });
    Ok(Details { resource, reports, children, passes, stuck, links }.page(moment()))
}

#[cfg(test)]
mod tests;
