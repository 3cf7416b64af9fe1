//! Builds or removes the two indexes that make scrapes cheap, on any database with the API's tables.
//!
//! In: a connection of the tables' owner. Out: the statements, and the state of each index afterwards. Fails: if the role
//! does not own the tables, or a statement fails. `CONCURRENTLY` lets the API write meanwhile. A build that broke off leaves
//! an invalid index behind, which the next run replaces.

use sqlx::{AssertSqlSafe, PgConnection};

/// An index and its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// The index's name in PostgreSQL, without the schema.
    pub name: &'static str,
    /// The text after `ON` in `CREATE INDEX`: table, columns and condition.
    pub on: &'static str,
}

/// The indexes that a scrape reads in place of the two tables.
///
/// The second one contains no column that a report or a change of a resource's specification updates, so PostgreSQL need
/// not write to it then.
pub const INDEXES: [Index; 2] = [
    Index {
        name: "idx_reconcile_metrics_unreconciled",
        on: "resource_conditions (resource_id) INCLUDE (last_transition_time) WHERE type = 'Reconciled' AND status = 'False'",
    },
    Index { name: "idx_reconcile_metrics_resources", on: "resources (id) INCLUDE (kind, created_time, deleted_time)" },
];

/// The work for one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The index that the step's statements build or remove.
    pub index: Index,
    /// The statements to run; empty if the index is already as wanted.
    pub statements: Vec<String>,
    /// The state of the index after the statements, to print behind its name.
    pub outcome: &'static str,
}

/// A failure to build or remove the indexes.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The query for existing indexes failed.
    #[error("failed to look for the indexes")]
    Look(#[source] sqlx::Error),
    /// PostgreSQL refused or aborted a statement of a step.
    #[error("failed to run `{0}`, which only the tables' owner may run")]
    Failed(String, #[source] sqlx::Error),
}

/// Determines the statements for each index.
///
/// # Errors
/// Returns an error if the catalogue cannot be read.
pub async fn steps(connection: &mut PgConnection, remove: bool) -> Result<Vec<Step>, PrepareError> {
    let mut steps = Vec::new();
    for index in INDEXES {
        let is_valid: Option<bool> = sqlx::query_scalar(
            "SELECT indisvalid AND indisready FROM pg_index WHERE indexrelid = to_regclass(quote_ident($1))",
        )
        .bind(index.name)
        .fetch_optional(&mut *connection)
        .await
        .map_err(PrepareError::Look)?;
        steps.push(step(index, is_valid, remove));
    }
    Ok(steps)
}

fn step(index: Index, is_valid: Option<bool>, remove: bool) -> Step {
    let Index { name, on } = index;
    let (create, drop) =
        (format!("CREATE INDEX CONCURRENTLY {name} ON {on}"), format!("DROP INDEX CONCURRENTLY {name}"));
    let (statements, outcome) = match (is_valid, remove) {
        (None, true) => (Vec::new(), "does not exist"),
        (Some(_), true) => (vec![drop], "is removed"),
        (None, false) => (vec![create], "is built"),
        (Some(true), false) => (Vec::new(), "exists already"),
        (Some(false), false) => (vec![drop, create], "is built again, because an earlier build broke off"),
    };
    Step { index, statements, outcome }
}

/// Runs the statements of a step. PostgreSQL waits for transactions that began earlier.
///
/// # Errors
/// Returns the first statement that failed.
pub async fn run(connection: &mut PgConnection, step: &Step) -> Result<(), PrepareError> {
    // The role may have a statement_timeout that is shorter than a build.
    let unlimited = "SET statement_timeout = 0".to_owned();
    for statement in std::iter::once(&unlimited).chain(&step.statements) {
        let done = sqlx::raw_sql(AssertSqlSafe(statement.as_str())).execute(&mut *connection).await;
        done.map_err(|error| PrepareError::Failed(statement.clone(), error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_replaces_an_invalid_index_and_keeps_a_valid_one() {
        let [index, _] = INDEXES;
        let cases = [
            (None, false, vec!["CREATE"]),
            (Some(true), false, vec![]),
            (Some(false), false, vec!["DROP", "CREATE"]),
            (None, true, vec![]),
            (Some(true), true, vec!["DROP"]),
            (Some(false), true, vec!["DROP"]),
        ];
        for (is_valid, remove, verbs) in cases {
            let step = step(index, is_valid, remove);
            let found: Vec<_> = step.statements.iter().filter_map(|sql| sql.split(' ').next()).collect();
            assert_eq!(found, verbs, "{is_valid:?} {remove}");
            assert!(step.statements.iter().all(|sql| sql.contains(" CONCURRENTLY ")), "{step:?}");
        }
    }
}
