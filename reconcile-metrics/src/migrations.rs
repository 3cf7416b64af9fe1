//! The schema's changes, compiled in, and the command that applies them.
//!
//! In: a database that is ours. Out: the same with the newest schema, or with an older one. It can fail because the
//! database belongs to another program, because a migration that was applied is not the one that is compiled in, or
//! because a statement fails; each migration is one transaction. Nothing but the command runs them.

use std::borrow::Cow;

use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{PgConnection, SqlSafeStr as _};

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
    [migration!(20260901000000, "create_resources"), migration!(20260901000100, "index_unreconciled_resources")];

/// The table in which applied migrations are recorded.
const RECORD: &str = "_sqlx_migrations";
/// A file that begins with it is not run in a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

/// Migrations that were not applied, or not reverted.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The tables are there, but no migration of ours made them.
    #[error(
        "the database belongs to another program: it has a table `resources` that no migration of ours made; \
         the exporter reads it as it is, and `reconcile-metrics prepare` builds the indexes that help"
    )]
    NotOurs,
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
