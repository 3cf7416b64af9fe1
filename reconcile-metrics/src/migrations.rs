//! The schema's changes, compiled in, and the command that applies them.
//!
//! In: a database that is ours. Out: the same with the newest schema, or with an older one. It can fail because the
//! database belongs to another program, because a migration that was applied is not the one that is compiled in, or
//! because a statement fails; each migration is one transaction. Nothing but the command runs them.

use std::borrow::Cow;

use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr as _};

use crate::store::{missing_triggers, silent_triggers};

macro_rules! migration {
    ($version:literal, $name:literal) => {
        (
            $version,
            $name,
            include_str!(concat!("../../migrations/", $version, "_", $name, ".up.sql")),
            include_str!(concat!("../../migrations/", $version, "_", $name, ".down.sql")),
        )
    };
}

/// Version, name, and the statements there and back.
pub const MIGRATIONS: [(i64, &str, &str, &str); 2] =
    [migration!(20260901000000, "create_resources"), migration!(20260901000100, "track_unsettled_resources")];

/// The table in which applied migrations are recorded.
const RECORD: &str = "_sqlx_migrations";
/// A file that begins with it is not run in a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

/// Resources whose record is not what it is to be.
const DISAGREEMENTS: &str = "
    SELECT coalesce(is_now.resource_id, was.resource_id)
    FROM unsettled_resources_now is_now
    FULL JOIN unsettled_resources was ON was.resource_id = is_now.resource_id
    WHERE is_now IS DISTINCT FROM was
    ORDER BY 1";
/// How long a repair waits for a lock; writers queue behind it meanwhile.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// Migrations that were not applied, or not reverted.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The tables are there, but no migration of ours made them.
    #[error(
        "the database belongs to another program: it has a table `resources` that no migration of ours made; \
         the exporter reads it as it is, and `reconcile-metrics index` offers the index that helps"
    )]
    NotOurs,
    /// There is nothing to repair.
    #[error("the database has no record of unsettled resources yet; run `reconcile-metrics migrate` first")]
    NoRecord,
    /// A trigger that keeps the record was dropped.
    #[error(
        "the trigger{} {} {} gone, and only the migration makes them: run `reconcile-metrics migrate --revert-to {}`, \
         which drops the record and its counts of transitions, then `reconcile-metrics migrate`",
        if .0.len() == 1 { "" } else { "s" },
        .0.join(", "),
        if .0.len() == 1 { "is" } else { "are" },
        MIGRATIONS[0].0
    )]
    TriggersGone(Vec<&'static str>),
    /// There is no such migration.
    #[error("there is no migration {0}; `migrate --list` shows them")]
    Unknown(i64),
    /// A migration failed.
    #[error("a migration failed")]
    Failed(#[from] MigrateError),
    /// The database refused.
    #[error("a query failed")]
    Query(#[from] sqlx::Error),
}

/// A migration, and whether it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its version.
    pub version: i64,
    /// What it does.
    pub name: &'static str,
    /// Whether the database has it.
    pub applied: bool,
}

/// Lists every migration.
///
/// # Errors
/// The database does not answer, or belongs to another program: then none of them is pending, either.
pub async fn list(connection: &mut PgConnection) -> Result<Vec<Listed>, MigrationError> {
    refuse_others(connection).await?;
    let recorded: bool =
        sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(RECORD).fetch_one(&mut *connection).await?;
    let applied = if recorded { connection.list_applied_migrations(RECORD).await? } else { Vec::new() };
    let is_applied = |version| applied.iter().any(|migration| migration.version == version);
    let listed =
        |&(version, name, _, _): &(i64, &'static str, _, _)| Listed { version, name, applied: is_applied(version) };
    Ok(MIGRATIONS.iter().map(listed).collect())
}

/// Applies every migration that is not.
///
/// # Errors
/// See [`MigrationError`].
pub async fn apply(connection: &mut PgConnection) -> Result<(), MigrationError> {
    refuse_others(connection).await?;
    Ok(migrator().run(&mut *connection).await?)
}

/// Reverts every migration after `version`; 0 reverts all.
///
/// # Errors
/// See [`MigrationError`].
pub async fn revert_to(connection: &mut PgConnection, version: i64) -> Result<(), MigrationError> {
    if version != 0 && !MIGRATIONS.iter().any(|(known, ..)| *known == version) {
        return Err(MigrationError::Unknown(version));
    }
    refuse_others(connection).await?;
    Ok(migrator().undo(&mut *connection, version).await?)
}

/// Makes the record true after something went past the triggers that keep it, and enables these again: how many
/// resources it was wrong about. Writers go on meanwhile: one resource at a time is locked.
///
/// # Errors
/// See [`MigrationError`]; what was put right until then stays so.
pub async fn repair(connection: &mut PgConnection) -> Result<usize, MigrationError> {
    refuse_others(connection).await?;
    if !list(connection).await?.iter().all(|migration| migration.applied) {
        return Err(MigrationError::NoRecord);
    }
    let gone = missing_triggers(connection).await?;
    if !gone.is_empty() {
        return Err(MigrationError::TriggersGone(gone));
    }
    sqlx::raw_sql(PATIENCE).execute(&mut *connection).await?;
    // First, so that nothing goes past while the rest is put right.
    for (trigger, table) in silent_triggers(connection).await? {
        let sql = format!("ALTER TABLE {table} ENABLE TRIGGER {trigger}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
    }
    let wrong: Vec<String> = sqlx::query_scalar(DISAGREEMENTS).fetch_all(&mut *connection).await?;
    for id in &wrong {
        let mut transaction = connection.begin().await?;
        // As writers do before they rewrite conditions. What they committed until then is seen by the next statement.
        sqlx::query("SELECT FROM resources WHERE id = $1 FOR NO KEY UPDATE")
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("SELECT settle_resource($1, false)").bind(id).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    Ok(wrong.len())
}

async fn refuse_others(connection: &mut PgConnection) -> Result<(), MigrationError> {
    let foreign: bool = sqlx::query_scalar(
        "SELECT (to_regclass('resources') IS NOT NULL OR to_regclass('clusters') IS NOT NULL) AND to_regclass($1) IS NULL",
    )
    .bind(RECORD)
    .fetch_one(&mut *connection)
    .await?;
    if foreign { Err(MigrationError::NotOurs) } else { Ok(()) }
}

fn migrator() -> Migrator {
    let both = MIGRATIONS.iter().flat_map(|&(version, name, up, down)| {
        [(MigrationType::ReversibleUp, up), (MigrationType::ReversibleDown, down)].map(|(kind, sql)| {
            let description = Cow::Owned(name.replace('_', " "));
            Migration::new(version, description, kind, sql.into_sql_str(), sql.starts_with(NO_TRANSACTION))
        })
    });
    Migrator::with_migrations(both.collect())
}
