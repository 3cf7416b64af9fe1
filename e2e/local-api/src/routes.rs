//! The API's paths.
//!
//! In: requests. Out: responses. Fails: with problem documents.
//!
//! Every kind is served below its plural, and below its parent's; `/resources` serves all kinds. A path names at most one
//! parent.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State};
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use crate::body::{self, Change, Creation, Force};
use crate::changes::{Api, Reported, Target};
use crate::list::{ListQuery, Page, Projection};
use crate::listing::Scope;
use crate::model::{BASE, Report, Resource};
use crate::problem::{self, Field, Problem};
use crate::registry::Entity;

/// The path under which every kind is served.
const ALL_KINDS: &str = "resources";
/// The most bytes of a body.
const LARGEST_BODY: usize = 4 << 20;

/// The most names in a path: those of a child's report.
const MOST_PARTS: usize = 5;

type Answer = Result<Response, Problem>;
/// The names in a path: plural and id, and for a path with a parent the child's plural and id.
type Names = Path<BTreeMap<String, String>>;

/// Builds the routes.
pub fn router(api: Api) -> Router {
    let collection = || get(list_resources).post(create);
    let item = || get(read).patch(patch).delete(delete);
    let resources = Router::new()
        .route("/{plural}", collection())
        .route("/{plural}/{id}", item())
        .route("/{plural}/{id}/force-delete", post(force_delete))
        .route("/{plural}/{id}/statuses", get(reports).put(report))
        .route("/{plural}/{id}/{child}", collection())
        .route("/{plural}/{id}/{child}/{child_id}", item())
        .route("/{plural}/{id}/{child}/{child_id}/force-delete", post(force_delete))
        .route("/{plural}/{id}/{child}/{child_id}/statuses", get(reports).put(report));
    Router::new()
        .route("/api/hyperfleet", get(about))
        .nest(BASE, resources)
        .fallback(async || Problem::unknown_endpoint())
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn(problem::complete))
        .layer(middleware::from_fn_with_state(api.clone(), count))
        .with_state(api)
}

/// Counts a request under its path without ids.
async fn count(State(api): State<Api>, request: Request, next: Next) -> Response {
    let (begun, method) = (Instant::now(), request.method().to_string());
    let path = without_ids(&api, request.uri().path());
    let response = next.run(request).await;
    api.metrics.request(&method, &path, response.status().as_u16(), begun.elapsed());
    response
}

/// The path with `-` for everything that a client chooses: each other word would be a series of its own.
fn without_ids(api: &Api, path: &str) -> String {
    let Some(rest) = path.strip_prefix(BASE).and_then(|rest| rest.strip_prefix('/')) else { return "-".to_owned() };
    let is_known =
        |part: &str| [ALL_KINDS, "statuses", "force-delete"].contains(&part) || api.registry.of_plural(part).is_some();
    let parts = rest.split('/').take(MOST_PARTS).map(|part| if is_known(part) { part } else { "-" });
    [BASE].into_iter().chain(parts).collect::<Vec<_>>().join("/")
}

async fn about() -> Json<Value> {
    Json(json!({
        "id": "hyperfleet",
        "kind": "API",
        "href": "/api/hyperfleet",
        "version": lifecycle_service::version::THIS.number,
    }))
}

/// What a path names: the kind, unless it is `/resources`, and the parent.
struct Place<'a> {
    entity: Option<&'a Entity>,
    parent: Option<Target>,
}

fn place<'a>(api: &'a Api, names: &BTreeMap<String, String>) -> Result<Place<'a>, Problem> {
    let name = |key: &str| names.get(key).map(String::as_str).unwrap_or_default();
    let entity = |plural: &str| api.registry.of_plural(plural).ok_or_else(Problem::unknown_endpoint);
    if let Some(child) = names.get("child") {
        let (parent, child) = (entity(name("plural"))?, entity(child)?);
        if child.parent.as_ref() != Some(&parent.kind) {
            return Err(Problem::unknown_endpoint());
        }
        let target = Target { kind: Some(parent.kind.clone()), parent: None, id: name("id").to_owned() };
        return Ok(Place { entity: Some(child), parent: Some(target) });
    }
    let entity = if name("plural") == ALL_KINDS { None } else { Some(entity(name("plural"))?) };
    Ok(Place { entity, parent: None })
}

fn target(api: &Api, names: &BTreeMap<String, String>) -> Result<Target, Problem> {
    let Place { entity, parent } = place(api, names)?;
    let id = if parent.is_some() { names.get("child_id") } else { names.get("id") };
    Ok(Target {
        kind: entity.map(|entity| entity.kind.clone()),
        parent: parent.map(|parent| parent.id),
        id: id.cloned().unwrap_or_default(),
    })
}

async fn list_resources(State(api): State<Api>, Path(names): Names, RawQuery(query): RawQuery) -> Answer {
    let Place { entity, parent } = place(&api, &names)?;
    let query = ListQuery::parse(query.as_deref().unwrap_or_default())?;
    if let Some(parent) = &parent {
        api.get(parent).await?;
    }
    let kind = match (entity, query.kind.as_deref()) {
        (Some(entity), _) => Some(entity.kind.as_str()),
        (None, Some(kind)) if api.registry.of_kind(kind).is_none() => {
            return Err(Problem::bad_request(format!("the query parameter kind names no kind of this API: {kind}")));
        }
        (None, kind) => kind,
    };
    let scope = Scope { kind, owner: parent.as_ref().map(|parent| parent.id.as_str()) };
    Ok(Json(api.list(&query, scope).await?).into_response())
}

async fn create(State(api): State<Api>, Path(names): Names, body: Bytes) -> Answer {
    let Place { entity, parent } = place(&api, &names)?;
    let creation: Creation = body::decode(&body)?;
    let unknown =
        || Problem::invalid(vec![Field::new("kind", format!("\"{}\" is no kind of this API", creation.kind))]);
    let entity = match entity {
        Some(entity) => entity,
        None => api.registry.of_kind(&creation.kind).ok_or_else(unknown)?,
    };
    let resource = api.create(entity, parent.as_ref(), &creation).await?;
    Ok((StatusCode::CREATED, whole(&resource)).into_response())
}

async fn read(State(api): State<Api>, Path(names): Names, RawQuery(query): RawQuery) -> Answer {
    let projection = Projection::parse(query.as_deref().unwrap_or_default())?;
    let resource = api.get(&target(&api, &names)?).await?;
    let document = match projection {
        Some(projection) => projection.apply(resource.document()),
        None => resource.document(),
    };
    Ok(([(ETAG, etag(&resource))], Json(document)).into_response())
}

async fn patch(State(api): State<Api>, Path(names): Names, headers: HeaderMap, body: Bytes) -> Answer {
    let target = target(&api, &names)?;
    let change: Change = body::decode(&body)?;
    let expected =
        match headers.get(IF_MATCH).map(|value| value.to_str().unwrap_or_default().trim()) {
            None | Some("*") => None,
            Some(tag) => Some(tag.trim_matches('"').parse().map_err(|_| {
                Problem::bad_request("If-Match is no ETag of this API, such as \"3\" for generation 3")
            })?),
        };
    Ok(whole(&api.patch(&target, expected, &change).await?))
}

async fn delete(State(api): State<Api>, Path(names): Names) -> Answer {
    let resource = api.delete(&target(&api, &names)?).await?;
    Ok((StatusCode::ACCEPTED, whole(&resource)).into_response())
}

async fn force_delete(State(api): State<Api>, Path(names): Names, body: Bytes) -> Answer {
    let target = target(&api, &names)?;
    let force: Force = body::decode(&body)?;
    api.force_delete(&target, &force).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn reports(State(api): State<Api>, Path(names): Names, RawQuery(query): RawQuery) -> Answer {
    // The other parameters of lists have no effect on reports.
    let page = Page::parse(query.as_deref().unwrap_or_default())?;
    let (reports, total) = api.reports(&target(&api, &names)?, page).await?;
    Ok(Json(page.document(reports.iter().map(Report::document).collect(), total)).into_response())
}

async fn report(State(api): State<Api>, Path(names): Names, body: Bytes) -> Answer {
    match api.report(&target(&api, &names)?, &body).await? {
        Reported::Stored(report) => Ok((StatusCode::CREATED, Json(report.document())).into_response()),
        Reported::Discarded => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

fn whole(resource: &Resource) -> Response {
    let document: Map<String, Value> = resource.document();
    ([(ETAG, etag(resource))], Json(document)).into_response()
}

fn etag(resource: &Resource) -> String {
    format!("\"{}\"", resource.generation)
}
