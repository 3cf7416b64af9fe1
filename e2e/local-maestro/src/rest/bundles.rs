//! Resource bundles: lists, reads and deletion. They are created and updated over gRPC alone.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::query::{Columns, ListQuery};
use super::{BASE, look};
use crate::database::Bundle;
use crate::refusal::ServiceError;
use crate::search::{Cell, Row};
use crate::state::Shared;

/// What searches and orders may name.
const COLUMNS: Columns = Columns {
    plain: &["id", "name", "source", "consumer_name", "version", "created_at", "updated_at", "deleted_at"],
    json: &["payload"],
};

impl Row for Bundle {
    fn cell(&self, column: &str) -> Cell<'_> {
        match column {
            "id" | "name" => Cell::Text(&self.id),
            "source" => Cell::Text(&self.source),
            "consumer_name" => Cell::Text(&self.consumer),
            "version" => Cell::Number(self.version.into()),
            "created_at" => Cell::Time(self.created_at),
            "updated_at" => Cell::Time(self.updated_at),
            "deleted_at" => self.deleted_at.map_or(Cell::Null, Cell::Time),
            _ => Cell::Null,
        }
    }

    fn member(&self, column: &str, steps: &[String]) -> Option<&Value> {
        let (first, rest) = steps.split_first()?;
        let first = self.payload.get(first).filter(|_| column == "payload")?;
        rest.iter().try_fold(first, |value, step| value.get(step))
    }

    fn written(&self) -> u64 {
        self.written
    }
}

pub(super) async fn list(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Result<Json<Value>, Problem> {
    let query = ListQuery::parse(query.as_deref().unwrap_or_default(), &COLUMNS)?;
    let list = look(&shared, |database| query.answer("ResourceBundleList", database.bundles.values(), document))?;
    Ok(Json(list))
}

pub(super) async fn read(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let found = look(&shared, |database| database.bundles.get(&id).map(document));
    Ok(Json(found.ok_or_else(|| ServiceError::not_found("ResourceBundle", &id))?))
}

pub(super) async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> StatusCode {
    // The answer is the same for missing bundles, and for those that are being deleted already.
    shared.delete(&id);
    StatusCode::NO_CONTENT
}

/// The bundle as REST shows it: neither `source` nor `executer` is a part.
fn document(bundle: &Bundle) -> Value {
    let id = &bundle.id;
    let part = |name: &str, default: Value| match bundle.data().and_then(|data| data.get(name)) {
        None | Some(Value::Null) => default,
        Some(part) => part.clone(),
    };
    let mut document = json!({
        "id": id,
        "kind": "ResourceBundle",
        "href": format!("{BASE}/resource-bundles/{id}"),
        "name": id,
        "consumer_name": bundle.consumer,
        "version": bundle.version,
        "created_at": bundle.created_at.to_string(),
        "updated_at": bundle.updated_at.to_string(),
        "metadata": bundle.metadata().unwrap_or_default(),
        "manifests": part("manifests", json!([])),
        "delete_option": part("deleteOption", json!({})),
        "manifest_configs": part("manifestConfigs", json!([])),
    });
    if let Some(time) = bundle.deleted_at {
        document["deleted_at"] = time.to_string().into();
    }
    if let Some(status) = &bundle.status {
        let mut members = Map::new();
        members.insert("ObservedVersion".to_owned(), status.version.into());
        members.insert("SequenceID".to_owned(), status.sequence_id.as_str().into());
        members.insert("conditions".to_owned(), status.conditions.clone().into());
        members.insert("resourceStatus".to_owned(), status.resource_status.clone().into());
        document["status"] = Value::Object(members);
    }
    document
}
