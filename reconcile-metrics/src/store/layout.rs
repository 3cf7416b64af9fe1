//! Which of the known schemas a database has.
//!
//! In: what the catalogue says about tables and columns. Out: a [`Layout`]. The newest that is complete wins, unless it is
//! not in use yet: the API's change from one table per kind to generic ones left the old tables behind.

use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::{PgConnection, Row as _};

use super::connections::StoreError;
use super::tables::{self, DocumentTable, Tables, Unread, Used};
use crate::config::Kinds;

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Ours: unsettled resources and transitions are recorded by triggers.
    Tracked,
    /// The API's: conditions are rows.
    Rows {
        /// What else is there.
        beside: Beside,
    },
    /// The API's before v0.3.1: a table for each kind, with conditions in a JSONB column.
    Documents(Tables),
}

/// What is beside the rows of conditions, and not used to find what is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Tables of the older schema that hold resources, as an upgrade leaves them behind.
    OlderTables,
    /// Our record, which is not kept: triggers are disabled or gone. The conditions are right all the same.
    UnkeptRecord,
    /// Our record, which is kept, and was not compared with the conditions yet, or disagreed with them.
    DoubtedRecord,
}

/// The triggers that keep the record, and the table of each.
pub(crate) const TRIGGERS: [(&str, &str); 4] = [
    ("reconciled_written", "resource_conditions"),
    ("reconciled_changed", "resource_conditions"),
    ("resource_created", "resources"),
    ("resource_changed", "resources"),
];

impl Layout {
    /// Every value of [`label`](Self::label).
    pub const LABELS: [&'static str; 3] = ["documents", "rows", "tracked"];

    /// The value of the label `schema`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Tracked | Self::Rows { beside: Beside::DoubtedRecord } => "tracked",
            Self::Rows { .. } => "rows",
            Self::Documents(_) => "documents",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Tracked => "our schema: transitions are counted exactly",
            Self::Rows { beside: Beside::Nothing } => "the API's schema: transitions are counted between scrapes",
            Self::Rows { beside: Beside::OlderTables } => {
                "the API's schema, beside tables of its older one, which hold resources and are not read: what was not \
                 moved is in nobody's figures"
            }
            Self::Rows { beside: Beside::UnkeptRecord } => {
                "our schema like the API's, as triggers that keep its record are disabled or gone: transitions that \
                 went past them are not counted; `reconcile-metrics migrate --repair` is the cure of disabled ones, and says which are gone"
            }
            Self::Rows { beside: Beside::DoubtedRecord } => {
                "our schema by the conditions, as its record was not compared with them yet, or disagrees with them: \
                 transitions that went past its triggers are not counted"
            }
            Self::Documents(_) => "the API's older schema: each scrape reads the pending rows one by one",
        }
    }

    /// Whether there is a record of ours, kept or not.
    #[must_use]
    pub fn has_record(&self) -> bool {
        matches!(self, Self::Tracked | Self::Rows { beside: Beside::UnkeptRecord | Beside::DoubtedRecord })
    }

    /// Whether resources are where nobody reads them.
    #[must_use]
    pub fn leaves_resources_unread(&self) -> bool {
        *self == Self::Rows { beside: Beside::OlderTables }
    }

    /// The kinds that have a table each, and its name.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.read_tables().iter().map(|table| (table.kind.as_str(), table.name.as_str()))
    }

    /// The kinds that have parents, and of whose resources it is not known who they are.
    pub fn ownerless(&self, kinds: &Kinds) -> impl Iterator<Item = &str> {
        let ownerless = self.read_tables().iter().filter(|table| table.owner.is_none());
        ownerless.map(|table| table.kind.as_str()).filter(|kind| kinds.has_parent(kind))
    }

    fn read_tables(&self) -> &[DocumentTable] {
        match self {
            Self::Tracked | Self::Rows { .. } => &[],
            Self::Documents(tables) => &tables.read,
        }
    }

    /// The configured kinds whose rows cannot be read, so that nothing is known of them.
    #[must_use]
    pub fn unread(&self) -> &[Unread] {
        match self {
            Self::Tracked | Self::Rows { .. } => &[],
            Self::Documents(tables) => &tables.unread,
        }
    }
}

/// Detects the schema. `newer_was_used`: whether the newer one of two was seen to hold resources, and is not mistaken for one that
/// is not in use yet when it is empty.
///
/// # Errors
/// The database does not answer, or has none of them.
pub(crate) async fn detect(
    connection: &mut PgConnection,
    kinds: &Kinds,
    newer_was_used: &AtomicBool,
) -> Result<Layout, StoreError> {
    let row = sqlx::query(
        "SELECT to_regclass('unsettled_resources') IS NOT NULL AND to_regclass('reconciliation_transitions') IS NOT NULL,
                to_regclass('resources') IS NOT NULL AND to_regclass('resource_conditions') IS NOT NULL",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (tracked, rows): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if tracked && rows {
        let kept = silent_triggers(connection).await?.is_empty();
        return Ok(if kept { Layout::Tracked } else { Layout::Rows { beside: Beside::UnkeptRecord } });
    }
    let tables = tables::find(connection, kinds).await?;
    match (rows, tables.read.is_empty()) {
        (true, _) => {
            let used = tables::used(connection, &tables).await?;
            let newer_was_used = newer_was_used.fetch_or(used.newer, Ordering::Relaxed) || used.newer;
            Ok(match used {
                Used { older: false, .. } => Layout::Rows { beside: Beside::Nothing },
                Used { .. } if newer_was_used => Layout::Rows { beside: Beside::OlderTables },
                // Made by an upgrade that goes on, or was taken back: the fleet is where it was.
                Used { .. } => Layout::Documents(tables),
            })
        }
        (false, false) => Ok(Layout::Documents(tables)),
        (false, true) => {
            let unread: String = tables.unread.iter().map(|unread| format!("; {unread}")).collect();
            Err(StoreError::UnknownSchema(format!(
                "there are no tables `resources` and `resource_conditions`, and no table of a kind that can be read; is \
                 `database.name` or `database.schema` wrong, or `reconcile-metrics migrate` to be run?{unread}"
            )))
        }
    }
}

/// Those of [`TRIGGERS`] that do not keep the record: they are gone, disabled, or fire on replicas only.
pub(crate) async fn silent_triggers(
    connection: &mut PgConnection,
) -> Result<Vec<(&'static str, &'static str)>, sqlx::Error> {
    let enabled = triggers(connection, &["O", "A"]).await?;
    Ok(TRIGGERS.into_iter().filter(|(trigger, _)| !enabled.iter().any(|name| name == trigger)).collect())
}

/// Those of [`TRIGGERS`] that are gone, so that they cannot be enabled.
pub(crate) async fn missing_triggers(connection: &mut PgConnection) -> Result<Vec<&'static str>, sqlx::Error> {
    let present = triggers(connection, &["O", "A", "D", "R"]).await?;
    let names = TRIGGERS.into_iter().map(|(trigger, _)| trigger);
    Ok(names.filter(|trigger| !present.iter().any(|name| name == trigger)).collect())
}

/// The names of the triggers that are there in one of these states.
async fn triggers(connection: &mut PgConnection, states: &[&str]) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT tgname::text FROM pg_trigger
         WHERE tgrelid IN (to_regclass('resources'), to_regclass('resource_conditions')) AND tgenabled::text = ANY($1)",
    )
    .bind(states)
    .fetch_all(connection)
    .await
}
