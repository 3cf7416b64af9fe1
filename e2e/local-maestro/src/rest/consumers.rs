//! Consumers. Their paths have ids; bundles and events have names.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::problem::{self, Problem};
use super::query::{Columns, ListQuery};
use super::{BASE, look};
use crate::database::Consumer;
use crate::refusal::ServiceError;
use crate::search::{Cell, Row};
use crate::state::Shared;
use crate::validation::is_dns_label;

/// What searches and orders may name.
const COLUMNS: Columns = Columns { plain: &["id", "name", "created_at", "updated_at"], json: &["labels"] };

impl Row for Consumer {
    fn cell(&self, column: &str) -> Cell<'_> {
        match column {
            "id" => Cell::Text(&self.id),
            "name" => Cell::Text(&self.name),
            "created_at" => Cell::Time(self.created_at),
            "updated_at" => Cell::Time(self.updated_at),
            _ => Cell::Null,
        }
    }

    fn member(&self, column: &str, steps: &[String]) -> Option<&Value> {
        let labels = Some(&self.labels).filter(|_| column == "labels")?;
        steps.iter().try_fold(labels, |value, step| value.get(step))
    }

    fn written(&self) -> u64 {
        self.updated_at.as_microsecond().unsigned_abs()
    }
}

pub(super) async fn list(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Result<Json<Value>, Problem> {
    let query = ListQuery::parse(query.as_deref().unwrap_or_default(), &COLUMNS)?;
    let list = look(&shared, |database| query.answer("ConsumerList", database.consumers.values(), document))?;
    Ok(Json(list))
}

pub(super) async fn read(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let found = look(&shared, |database| database.consumers.get(&id).map(document));
    Ok(Json(found.ok_or_else(|| ServiceError::not_found("Consumer", &id))?))
}

pub(super) async fn create(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let body = problem::body(request).await?;
    if body.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty()) {
        return Err(ServiceError::validation("id must be empty").into());
    }
    let id = Uuid::new_v4().to_string();
    let name = body.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).unwrap_or(&id).to_owned();
    if !is_dns_label(&name) {
        return Err(ServiceError::general(format!("Unable to create Consumer: invalid name {name:?}")).into());
    }
    let now = Timestamp::now();
    let labels = body.get("labels").cloned().unwrap_or_default();
    let consumer = Consumer { id: id.clone(), name, labels, created_at: now, updated_at: now };
    let document = document(&consumer);
    shared.with(|state| {
        if state.database.has_consumer(&consumer.name) {
            return Err(ServiceError::conflict("This Consumer already exists"));
        }
        state.database.consumers.insert(id, consumer);
        Ok(())
    })?;
    Ok((StatusCode::CREATED, Json(document)))
}

pub(super) async fn patch(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let body = problem::body(request).await?;
    let document = shared.with(|state| {
        let consumer = state.database.consumers.get_mut(&id)?;
        // Labels are all that can be changed.
        if let Some(labels) = body.get("labels") {
            consumer.labels = labels.clone();
            consumer.updated_at = Timestamp::now();
        }
        Some(document(consumer))
    });
    Ok(Json(document.ok_or_else(|| ServiceError::not_found("Consumer", &id))?))
}

pub(super) async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    shared.with(|state| {
        let found = state.database.consumers.get(&id).ok_or_else(|| ServiceError::not_found("Consumer", &id))?;
        if state.database.bundles.values().any(|bundle| bundle.consumer == found.name) {
            return Err(ServiceError::new(4, "Consumer has resources, so it cannot be deleted"));
        }
        state.database.consumers.remove(&id);
        Ok(())
    })?;
    Ok(StatusCode::NO_CONTENT)
}

fn document(consumer: &Consumer) -> Value {
    json!({
        "id": consumer.id,
        "kind": "Consumer",
        "href": format!("{BASE}/consumers/{}", consumer.id),
        "name": consumer.name,
        "labels": consumer.labels,
        "created_at": consumer.created_at.to_string(),
        "updated_at": consumer.updated_at.to_string(),
    })
}
