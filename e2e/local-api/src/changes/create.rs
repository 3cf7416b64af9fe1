//! Creates resources.

use serde_json::{Map, Value};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Api, Failure, Target};
use crate::body::Creation;
use crate::model::{BASE, CALLER, Resource};
use crate::problem::Problem;
use crate::registry::Entity;
use crate::store::{self, Lock};

impl Api {
    /// Creates a resource, as a child of the parent that the path names.
    ///
    /// # Errors
    /// The body is invalid, the parent does not exist or is being deleted, or the name is taken.
    pub async fn create(&self, entity: &Entity, parent: Option<&Target>, body: &Creation) -> Result<Resource, Problem> {
        if let (Some(kind), None) = (&entity.parent, parent) {
            let parents = self.registry.of_kind(kind).map_or(kind.as_str(), |parent| parent.plural.as_str());
            let (plural, kind) = (&entity.plural, &entity.kind);
            return Err(Problem::needs_parent(format!(
                "a {kind} needs a parent: POST {BASE}/{parents}/{{id}}/{plural} instead"
            )));
        }
        let spec = body.check(entity)?;
        Ok(in_transaction!(self, |connection| self.create_once(connection, entity, parent, body, spec.clone()).await))
    }

    async fn create_once(
        &self,
        connection: &mut PgConnection,
        entity: &Entity,
        parent: Option<&Target>,
        body: &Creation,
        spec: Map<String, Value>,
    ) -> Result<Resource, Failure> {
        let parent = match parent {
            Some(parent) => Some(self.read(connection, parent, Lock::Share).await?),
            None => None,
        };
        if let Some(parent) = parent.as_ref().filter(|parent| parent.is_deleted()) {
            let message = format!("{} {} is being deleted, and gets no more children", parent.kind, parent.id);
            return Err(Problem::conflict(message).into());
        }
        let (now, id) = (self.now(), Uuid::now_v7().to_string());
        let base = parent.as_ref().map_or(BASE, |parent| parent.href.as_str());
        let mut resource = Resource {
            href: format!("{base}/{}/{id}", entity.plural),
            id,
            kind: entity.kind.clone(),
            name: body.name.clone(),
            spec: Value::Object(spec),
            generation: 1,
            created_time: now,
            updated_time: now,
            created_by: CALLER.to_owned(),
            updated_by: CALLER.to_owned(),
            deleted_time: None,
            deleted_by: None,
            owner_id: parent.as_ref().map(|parent| parent.id.clone()),
            owner_kind: parent.as_ref().map(|parent| parent.kind.clone()),
            owner_href: parent.as_ref().map(|parent| parent.href.clone()),
            labels: body.labels.clone().unwrap_or_default(),
            references: self.resolve(connection, entity, &body.references.clone().unwrap_or_default()).await?,
            conditions: Vec::new(),
        };
        store::insert(connection, &resource).await.map_err(|error| name_taken(error, &resource))?;
        self.aggregate(connection, &mut resource).await?;
        Ok(resource)
    }
}

/// Says which name another resource has, if that is what the database refused.
pub(super) fn name_taken(error: sqlx::Error, resource: &Resource) -> Failure {
    if error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation) {
        let Resource { kind, name, .. } = resource;
        return Problem::exists(format!("another {kind} has the name '{name}'")).into();
    }
    error.into()
}
