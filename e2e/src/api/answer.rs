//! Answers the requests to the fake API, by method and path.

use axum::body::{Body, to_bytes};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::Value;

use super::BASE;
use super::endpoint::{ALL_KINDS, Endpoint};
use super::problem::{bad_query, json_response, problem, unknown_endpoint};
use super::query::Query;
use super::statuses::{Reception, receive};
use super::store::{Report, Store};

pub(super) async fn answer(store: &Store, request: Request<Body>) -> anyhow::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await?;
    let (method, path) = (parts.method.as_str(), parts.uri.path());

    let fixed = store.tables().fixed.get(&(method.to_owned(), path.to_owned())).cloned();
    if let Some((status, document)) = fixed {
        return Ok(json_response(StatusCode::from_u16(status)?, "application/json", &document));
    }
    let below_base = path.strip_prefix(BASE).and_then(|rest| rest.strip_prefix('/'));
    let Some(endpoint) = below_base.and_then(Endpoint::parse) else { return Ok(unknown_endpoint(path)) };
    Ok(match (endpoint, method) {
        (Endpoint::Statuses(owner), "PUT") => put_status(store, owner, path, &body),
        (Endpoint::ForceDelete(resource), "POST") => force_delete(store, resource, path, &body),
        (endpoint, "GET") => match Query::parse(&parts.uri) {
            Ok(query) => read(store, endpoint, path, &query),
            Err(detail) => bad_query(&detail, path),
        },
        (endpoint, _) => not_allowed(endpoint.methods()),
    })
}

fn read(store: &Store, endpoint: Endpoint<'_>, instance: &str, query: &Query) -> Response<Body> {
    match endpoint {
        Endpoint::Collection(collection) => list(store, collection, query),
        Endpoint::Resource(resource) => get(store, resource, instance, query),
        Endpoint::Statuses(owner) => list_statuses(store, owner, instance, query),
        Endpoint::ForceDelete(_) => not_allowed(endpoint.methods()),
    }
}

fn get(store: &Store, path: &str, instance: &str, query: &Query) -> Response<Body> {
    let tables = store.tables();
    match tables.resolve(path).and_then(|path| tables.resources.get(&path)) {
        Some(document) => ok(&query.project(document)),
        None => not_found("the resource does not exist", instance),
    }
}

fn list(store: &Store, collection: &str, query: &Query) -> Response<Body> {
    let tables = store.tables();
    // Lists the nested collection `clusters/c1/nodepools` and the flat one `nodepools`, which spans all clusters.
    let belongs = |path: &str| {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        collection == ALL_KINDS
            || parent == collection
            || (!collection.contains('/') && parent.ends_with(&format!("/{collection}")))
    };
    let found = tables.resources.iter().filter(|(path, _)| belongs(path));
    ok(&query.page(found.map(|(_, document)| document)))
}

/// Removes a resource that is marked as deleted, with its descendants, without waiting for any adapter.
fn force_delete(store: &Store, resource: &str, instance: &str, body: &[u8]) -> Response<Body> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let reason = body.get("reason").and_then(Value::as_str).unwrap_or_default();
    if !(1..=1024).contains(&reason.chars().count()) {
        let field = ("reason".to_owned(), "must have 1 to 1024 characters".to_owned());
        return problem(400, "the reason is not valid", instance, &[field]);
    }
    let mut tables = store.tables();
    let Some(path) = tables.resolve(resource) else { return not_found("the resource does not exist", instance) };
    let is_marked = |document: &Value| document.get("deleted_time").is_some_and(|time| !time.is_null());
    if !tables.resources.get(&path).is_some_and(is_marked) {
        return problem(409, "the resource is not marked as deleted", instance, &[]);
    }
    let descendants = format!("{path}/");
    let stays = |other: &str| other != path && !other.starts_with(&descendants);
    tables.resources.retain(|other, _| stays(other));
    tables.stored.retain(|(owner, _), _| stays(owner));
    no_content()
}

fn list_statuses(store: &Store, owner: &str, instance: &str, query: &Query) -> Response<Body> {
    let tables = store.tables();
    let Some(owner) = tables.resolve(owner) else {
        return not_found("the resource does not exist", instance);
    };
    let found = tables.stored.iter().filter(|((path, _), _)| *path == owner);
    let reports: Vec<Value> = found.map(|(_, stored)| stored.document()).collect();
    ok(&query.page(reports.iter()))
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
        Reception::Discarded => no_content(),
        Reception::Invalid => problem(400, "the report is not valid", instance, &fields),
        Reception::NoResource => not_found("the resource does not exist", instance),
    }
}

fn ok(document: &Value) -> Response<Body> {
    json_response(StatusCode::OK, "application/json", document)
}

fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
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
