//! Reads all resources, to compare the configuration with the database; only `check --database` does that.
//!
//! In: the configured kinds. Out: the kinds in the database, required adapters that never reported on a kind, and resources
//! without a condition Reconciled. Fails: with a [`StoreError`]. It reads the resources in parts, by primary key, each in a
//! transaction of its own, so that no statement runs long.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::{PgConnection, Row as _};

use super::connections::Reader;
use super::{Store, StoreError, unsigned};

const PART: &str = include_str!("sql/coverage_of_part.sql");
const SILENT: &str = include_str!("sql/silent_adapters.sql");
/// The resources of one part. Reading them took 0.04 to 0.07 s from the cache, and less than a second from disk.
const PART_SIZE: i64 = 10_000;
/// The most ids that are returned for a kind.
const NAMED: usize = 5;

/// The result of reading all resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// The number of resources of each kind in the database.
    pub kinds: BTreeMap<String, u64>,
    /// The resources without a condition Reconciled, by kind. Kinds without required adapters are included, although the
    /// API writes no condition for them.
    pub without_condition: BTreeMap<String, WithoutCondition>,
    /// Required adapters that never reported on any resource of a kind.
    pub silent: Vec<Silent>,
}

/// Resources of one kind without a condition Reconciled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WithoutCondition {
    /// The number of such resources.
    pub count: u64,
    /// The ids of the first few.
    pub ids: Vec<String>,
}

/// A required adapter that never reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// The kind of resource that requires the adapter.
    pub kind: String,
    /// The name of the adapter that never reported.
    pub adapter: String,
    /// Adapters that did report on resources of the kind.
    pub reporting: Vec<String>,
}

impl Store {
    /// Reads all resources; `limit` is the time limit for each part.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn coverage(&self, limit: Duration) -> Result<Coverage, StoreError> {
        let mut coverage = Coverage::default();
        let mut after = String::new();
        loop {
            let rows = self.read(Reader::Background, limit, async |connection: &mut PgConnection| {
                Ok(sqlx::query(PART).bind(&after).bind(PART_SIZE).fetch_all(connection).await?)
            });
            let rows = rows.await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let kind: String = row.try_get("kind")?;
                let (count, lacking) = (unsigned(row, "resources")?, unsigned(row, "without_condition")?);
                if lacking > 0 {
                    let found = coverage.without_condition.entry(kind.clone()).or_default();
                    found.count += lacking;
                    found.ids.extend(row.try_get::<Option<Vec<String>>, _>("ids")?.unwrap_or_default());
                    found.ids.truncate(NAMED);
                }
                *coverage.kinds.entry(kind).or_default() += count;
                after = row.try_get("last_id")?;
            }
        }
        let pairs = self.kinds().all().iter().filter(|kind| coverage.kinds.contains_key(&kind.name));
        let pairs =
            pairs.flat_map(|kind| kind.required_adapters.iter().map(|adapter| (kind.name.clone(), adapter.clone())));
        let (kinds, adapters): (Vec<String>, Vec<String>) = pairs.unzip();
        let silent = self.read(Reader::Background, limit, async |connection: &mut PgConnection| {
            let rows = sqlx::query(SILENT).bind(kinds).bind(adapters).fetch_all(connection).await?;
            let silent = |row: &sqlx::postgres::PgRow| {
                Ok(Silent {
                    kind: row.try_get("kind")?,
                    adapter: row.try_get("adapter")?,
                    reporting: row.try_get("reporting")?,
                })
            };
            Ok(rows.iter().map(silent).collect::<Result<_, sqlx::Error>>()?)
        });
        coverage.silent = silent.await?;
        Ok(coverage)
    }
}
