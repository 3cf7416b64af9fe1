//! Answers the requests to the fake API, by method and path.

use axum::body::{Body, to_bytes};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::BASE;
use super::problem::{json_response, problem};
use super::statuses::{Reception, receive};
use super::store::{Report, Store};

const DEFAULT_SIZE: usize = 20;
const LARGEST_SIZE: usize = 100;

pub(super) async fn answer(store: &Store, request: Request<Body>) -> anyhow::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await?;
    let (method, path) = (parts.method.as_str(), parts.uri.path());

    let fixed = store.tables().fixed.get(&(method.to_owned(), path.to_owned())).cloned();
    if let Some((status, document)) = fixed {
        return Ok(json_response(StatusCode::from_u16(status)?, "application/json", &document));
    }
    let Some(rest) = path.strip_prefix(BASE).and_then(|rest| rest.strip_prefix('/')) else {
        return Ok(not_found("there is no such endpoint", path));
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    // Collections and ids alternate in a path, so an even number of segments is a resource.
    let is_item = rest.matches('/').count() % 2 == 1;
    Ok(match (rest.strip_suffix("/statuses"), method) {
        (Some(owner), "GET") => list_statuses(store, owner, path, parts.uri.query()),
        (Some(owner), "PUT") => put_status(store, owner, path, &body),
        (Some(_), _) => not_allowed("GET, PUT"),
        (None, "GET") if is_item => get(store, rest, path),
        (None, "GET") => list(store, rest, parts.uri.query()),
        (None, _) => not_allowed("GET"),
    })
}

fn get(store: &Store, path: &str, instance: &str) -> Response<Body> {
    let tables = store.tables();
    match tables.resolve(path).and_then(|path| tables.resources.get(&path)) {
        Some(document) => ok(document),
        None => not_found("the resource does not exist", instance),
    }
}

fn list(store: &Store, collection: &str, query: Option<&str>) -> Response<Body> {
    let tables = store.tables();
    // Lists the nested collection `clusters/c1/nodepools` and the flat one `nodepools`, which spans all clusters.
    let belongs = |path: &str| {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        parent == collection || (!collection.contains('/') && parent.ends_with(&format!("/{collection}")))
    };
    let found = tables.resources.iter().filter(|(path, _)| belongs(path)).map(|(_, document)| document.clone());
    page(found.collect(), query)
}

fn list_statuses(store: &Store, owner: &str, instance: &str, query: Option<&str>) -> Response<Body> {
    let tables = store.tables();
    let Some(owner) = tables.resolve(owner) else {
        return not_found("the resource does not exist", instance);
    };
    let found = tables.stored.iter().filter(|((path, _), _)| *path == owner).map(|(_, stored)| stored.document());
    page(found.collect(), query)
}

fn put_status(store: &Store, owner: &str, instance: &str, body: &[u8]) -> Response<Body> {
    let mut tables = store.tables();
    let path = tables.resolve(owner);
    let generation = path.as_ref().and_then(|path| tables.resources.get(path)?.get("generation")?.as_i64());
    let now = jiff::Timestamp::now();
    let key = path.clone().unwrap_or_else(|| owner.to_owned());
    let (reception, kept, fields) = {
        let stored = |adapter: &str| tables.stored.get(&(key.clone(), adapter.to_owned()));
        receive(body, generation, stored, now)
    };
    let parsed =
        serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
    tables.reports.entry(key.clone()).or_default().push(Report { body: parsed, reception });
    let document = kept.as_ref().map_or(Value::Null, |kept| kept.document());
    if let (Reception::Stored, Some(kept)) = (reception, kept) {
        tables.stored.insert((key, kept.adapter().to_owned()), kept);
    }
    match reception {
        Reception::Stored | Reception::Dropped => json_response(StatusCode::CREATED, "application/json", &document),
        Reception::Discarded => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Reception::Invalid => problem(400, "the report is not valid", instance, &fields),
        Reception::NoResource => not_found("the resource does not exist", instance),
    }
}

fn page(items: Vec<Value>, query: Option<&str>) -> Response<Body> {
    let number = |name: &str, default: usize| {
        let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok()).unwrap_or(default)
    };
    let page = number("page", 1).max(1);
    let size = number("size", DEFAULT_SIZE).clamp(1, LARGEST_SIZE);
    let total = items.len();
    let items: Vec<Value> = items.into_iter().skip((page - 1) * size).take(size).collect();
    ok(&json!({"items": items, "page": page, "size": items.len(), "total": total}))
}

fn ok(document: &Value) -> Response<Body> {
    json_response(StatusCode::OK, "application/json", document)
}

fn not_found(detail: &str, instance: &str) -> Response<Body> {
    problem(404, detail, instance, &[])
}

/// The only error that is not a problem document: the real server's HTTP library produces it.
fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from("Method Not Allowed\n"));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
