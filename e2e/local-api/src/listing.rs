//! Reads lists of resources.
//!
//! In: what a request asks of a list, and the kind and parent of its path. Out: the list document. Fails: with a
//! [`Problem`]. The total and the items are of the same moment. Statements are not kept prepared, as each search has
//! another one.

use serde_json::Value;
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder};

use crate::changes::Api;
use crate::list::{ListQuery, Target};
use crate::model::Resource;
use crate::problem::Problem;
use crate::store::SELECT;

/// The part of all resources that a path serves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    /// The kind; `None` for all.
    pub kind: Option<&'a str>,
    /// The id of the parent; `None` for children of any parent and for resources without one.
    pub owner: Option<&'a str>,
}

impl Api {
    /// Reads one page of a list.
    ///
    /// # Errors
    /// The database cannot evaluate the search, or cannot be reached.
    pub async fn list(&self, query: &ListQuery, scope: Scope<'_>) -> Result<Value, Problem> {
        let mut transaction = self.pool.begin().await?;
        let isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
        sqlx::query(isolation).execute(&mut *transaction).await?;
        let mut counting = QueryBuilder::<Postgres>::new("SELECT count(*) FROM resources r");
        restrict(&mut counting, query, scope);
        let total: i64 = counting.build_query_scalar().persistent(false).fetch_one(&mut *transaction).await?;
        let mut reading = QueryBuilder::<Postgres>::new(SELECT);
        // Documents are built for the resources of the page alone, and not for all that come before it.
        reading.push(" WHERE r.id IN (SELECT r.id FROM resources r");
        restrict(&mut reading, query, scope);
        query.push_order(&mut reading);
        query.page.push(&mut reading);
        query.push_order(reading.push(")"));
        let found: Vec<(Json<Resource>,)> =
            reading.build_query_as().persistent(false).fetch_all(&mut *transaction).await?;
        transaction.commit().await?;
        let documents = found.into_iter().map(|(Json(resource),)| self.in_order(resource).document());
        Ok(query.document(documents.collect(), total))
    }
}

fn restrict(statement: &mut QueryBuilder<Postgres>, query: &ListQuery, Scope { kind, owner }: Scope<'_>) {
    statement.push(" WHERE true");
    for (column, value) in [("r.kind", kind), ("r.owner_id", owner)] {
        if let Some(value) = value {
            statement.push(format_args!(" AND {column} = ")).push_bind(value.to_owned());
        }
    }
    if let Some(Target { ref_type, id }) = &query.reference {
        statement.push(" AND EXISTS (SELECT FROM resource_references f WHERE f.source_id = r.id AND f.ref_type = ");
        statement.push_bind(ref_type.clone()).push(" AND f.target_id = ").push_bind(id.clone()).push(")");
    }
    if let Some(search) = &query.search {
        search.push(statement.push(" AND "));
    }
}
