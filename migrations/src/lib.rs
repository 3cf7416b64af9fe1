//! Applies the SQL files of this folder, which are compiled in, to a database of our own.
//!
//! In: a connection of the tables' owner. Out: a database with the newest schema. Fails: if another program created the
//! tables, if an applied migration differs from the compiled one, or if a statement fails. Each migration is one
//! transaction. The local API runs them, and `reconcile-metrics migrate`.

use std::borrow::Cow;

use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{PgConnection, SqlSafeStr as _};

macro_rules! migration {
    ($version:literal, $name:literal) => {
        ($version, $name, include_str!(concat!("../", $version, "_", $name, ".up.sql")))
    };
}

/// Version, name and statements of each migration. `sqlx migrate revert` reads the `down` files from the folder.
pub const MIGRATIONS: [(i64, &str, &str); 2] =
    [migration!(20260901000000, "create_resources"), migration!(20260901000100, "index_unreconciled_resources")];

/// The table in which sqlx records applied migrations.
const RECORD: &str = "_sqlx_migrations";
/// The first line of a file that sqlx must not run in a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

/// A failure to list or apply migrations.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// Another program created the tables.
    #[error(
        "the database belongs to another program, which created its table `resources`, so its tables stay as they are; \
         `reconcile-metrics prepare` builds the indexes that the exporter needs"
    )]
    NotOurs,
    /// A statement of a migration failed, or the applied migrations differ from the compiled ones.
    #[error("a migration failed")]
    Failed(#[from] MigrateError),
    /// The database refused a statement.
    #[error("a query failed")]
    Query(#[from] sqlx::Error),
}

/// A migration, and whether it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The number of the migration, which orders the migrations.
    pub version: i64,
    /// The name of the migration, such as `create_resources`.
    pub name: &'static str,
    /// Whether the database already has the migration.
    pub applied: bool,
}

/// Lists every migration.
///
/// # Errors
/// See [`MigrationError`].
pub async fn list(connection: &mut PgConnection) -> Result<Vec<Listed>, MigrationError> {
    refuse_others(connection).await?;
    let recorded: bool =
        sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(RECORD).fetch_one(&mut *connection).await?;
    let applied = if recorded { connection.list_applied_migrations(RECORD).await? } else { Vec::new() };
    let is_applied = |version| applied.iter().any(|migration| migration.version == version);
    let listed = |&(version, name, _): &(i64, &'static str, _)| Listed { version, name, applied: is_applied(version) };
    Ok(MIGRATIONS.iter().map(listed).collect())
}

/// Applies every pending migration.
///
/// # Errors
/// See [`MigrationError`].
pub async fn apply(connection: &mut PgConnection) -> Result<(), MigrationError> {
    refuse_others(connection).await?;
    Ok(migrator().run(&mut *connection).await?)
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
    let migrations = MIGRATIONS.iter().map(|&(version, name, sql)| {
        let description = Cow::Owned(name.replace('_', " "));
        let outside_transaction = sql.starts_with(NO_TRANSACTION);
        Migration::new(version, description, MigrationType::ReversibleUp, sql.into_sql_str(), outside_transaction)
    });
    Migrator::with_migrations(migrations.collect())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_compiled_in() {
        let names = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().map(|file| file.unwrap().file_name());
        let names: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
        let written: BTreeSet<&str> = names.iter().filter_map(|name| name.strip_suffix(".up.sql")).collect();
        let compiled: BTreeSet<String> =
            MIGRATIONS.iter().map(|(version, name, _)| format!("{version}_{name}")).collect();
        assert_eq!(written, compiled.iter().map(String::as_str).collect());
        for name in &compiled {
            assert!(names.contains(&format!("{name}.down.sql")), "{name} cannot be reverted");
        }
    }
}
