//! The two indexes that make scrapes cheap, on any database with the API's tables.
//!
//! In: a connection of the tables' owner. Out: statements that build the indexes, or remove them, without holding up writers, and
//! what became of each. It can fail because the role may not do it; what an earlier build that broke off has left behind is
//! replaced.

use sqlx::{AssertSqlSafe, PgConnection};

/// An index, and the columns it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// What stands after `ON` in the statement that builds it.
    pub on: &'static str,
}

/// What the statement of a scrape reads in place of the two tables.
///
/// The second one includes no column that a report or a change of a resource's spec updates: such updates stay as cheap as they
/// were, and leave the pages visible to all, which index-only scans need.
pub const INDEXES: [Index; 2] = [
    Index {
        name: "idx_reconcile_metrics_unreconciled",
        on: "resource_conditions (resource_id) INCLUDE (last_transition_time) WHERE type = 'Reconciled' AND status = 'False'",
    },
    Index { name: "idx_reconcile_metrics_resources", on: "resources (id) INCLUDE (kind, created_time, deleted_time)" },
];

/// One step of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The index.
    pub index: Index,
    /// The statements; none where nothing is to be done.
    pub statements: Vec<String>,
    /// What is the case once they are done.
    pub outcome: &'static str,
}

/// The statement that the database refused.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The state of the indexes is not known.
    #[error("failed to look for the indexes")]
    Look(#[source] sqlx::Error),
    /// A statement failed.
    #[error("failed to run `{0}`, which takes the tables' owner")]
    Failed(String, #[source] sqlx::Error),
}

/// Says what is to be done for each index.
///
/// # Errors
/// The database did not answer.
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
        (None, true) => (Vec::new(), "is not there"),
        (Some(_), true) => (vec![drop], "is removed"),
        (None, false) => (vec![create], "is built"),
        (Some(true), false) => (Vec::new(), "is there already"),
        (Some(false), false) => (vec![drop, create], "is built anew, as an earlier build broke off"),
    };
    Step { index, statements, outcome }
}

/// Runs the statements of a step. Writers go on meanwhile; the build waits for transactions that began before it.
///
/// # Errors
/// The database refused one.
pub async fn run(connection: &mut PgConnection, step: &Step) -> Result<(), PrepareError> {
    // A build may take longer than the role's other statements may.
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
    fn step_replaces_an_invalid_index_and_leaves_a_valid_one() {
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
