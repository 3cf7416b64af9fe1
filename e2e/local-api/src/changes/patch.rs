//! Changes what a user wants of a resource.

use serde_json::Value;
use sqlx::PgConnection;

use super::{Api, Failure, Target};
use crate::body::Change;
use crate::model::{CALLER, Resource};
use crate::problem::Problem;
use crate::store;

impl Api {
    /// Replaces `spec`, labels or references. Raises the generation if one of them differs, or if references are given.
    /// `expected` is the generation that the caller read, if the caller says so.
    ///
    /// # Errors
    /// The body is invalid, the resource does not exist, is being deleted, or has another generation by now.
    pub async fn patch(&self, target: &Target, expected: Option<i64>, change: &Change) -> Result<Resource, Problem> {
        Ok(in_transaction!(self, |connection| self.patch_once(connection, target, expected, change).await))
    }

    async fn patch_once(
        &self,
        connection: &mut PgConnection,
        target: &Target,
        expected: Option<i64>,
        change: &Change,
    ) -> Result<Resource, Failure> {
        let mut resource = self.lock(connection, target).await?;
        let entity = self.entity(&resource)?;
        change.check(entity)?;
        if resource.is_deleted() {
            let Resource { kind, id, .. } = &resource;
            return Err(Problem::conflict(format!("{kind} {id} is being deleted, and cannot be changed")).into());
        }
        if let Some(expected) = expected.filter(|expected| *expected != resource.generation) {
            return Err(Problem::outdated(expected, resource.generation).into());
        }
        let spec = change.spec.clone().map(Value::Object).filter(|spec| *spec != resource.spec);
        let labels = change.labels.clone().filter(|labels| *labels != resource.labels);
        if spec.is_none() && labels.is_none() && change.references.is_none() {
            return Ok(resource);
        }
        if let Some(references) = &change.references {
            resource.references = self.resolve(connection, entity, references).await?;
            store::put_references(connection, &resource.id, &resource.references).await?;
        }
        if let Some(labels) = labels {
            store::put_labels(connection, &resource.id, &labels).await?;
            resource.labels = labels;
        }
        resource.spec = spec.unwrap_or(resource.spec);
        resource.generation += 1;
        resource.updated_time = self.now();
        resource.updated_by = CALLER.to_owned();
        store::update(connection, &resource).await?;
        self.aggregate(connection, &mut resource).await?;
        Ok(resource)
    }
}
