//! Whether the configuration and the database belong together: asked by `check --database` alone, as it passes over all resources.
//!
//! In: the configured kinds. Out: which kinds the database has, which required adapters never reported on one, and which
//! resources lack the condition. The pass goes by the key in parts, each a transaction of its own, so that no statement lasts long.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::{PgConnection, Row as _};

use super::connections::Reader;
use super::{Store, StoreError, unsigned};

const PART: &str = include_str!("sql/coverage_of_part.sql");
const SILENT: &str = include_str!("sql/silent_adapters.sql");
/// The resources of one part: 0.04 to 0.07 s where everything is cached, and well below a second where nothing is.
const PART_SIZE: i64 = 10_000;
/// The most ids of a kind that are named.
const NAMED: usize = 5;

/// What a pass over all resources found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// The kinds in the database as written, and how many resources each has.
    pub kinds: BTreeMap<String, u64>,
    /// The resources without a condition Reconciled, by kind; of all kinds, those without adapters included.
    pub without_condition: BTreeMap<String, Unconditioned>,
    /// Required adapters that never reported on any resource of a kind that has some, with adapters that did.
    pub silent: Vec<Silent>,
}

/// Resources of one kind that lack the condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unconditioned {
    /// How many they are.
    pub count: u64,
    /// The first ids, a few.
    pub ids: Vec<String>,
}

/// A required adapter that never reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// The kind.
    pub kind: String,
    /// The adapter.
    pub adapter: String,
    /// Adapters that reported on some resource of the kind.
    pub reporting: Vec<String>,
}

impl Store {
    /// Passes over all resources; `limit` is the time for each part.
    ///
    /// # Errors
    /// The database did not answer, or the role cannot read the tables.
    pub async fn coverage(&self, limit: Duration) -> Result<Coverage, StoreError> {
        let mut coverage = Coverage::default();
        let mut after = String::new();
        loop {
            let rows = self.read(Reader::Beside, limit, async |connection: &mut PgConnection| {
                Ok(sqlx::query(PART).bind(&after).bind(PART_SIZE).fetch_all(connection).await?)
            });
            let rows = rows.await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let kind: String = row.try_get(0)?;
                let (count, lacking) = (unsigned(row, 1)?, unsigned(row, 2)?);
                if lacking > 0 {
                    let found = coverage.without_condition.entry(kind.clone()).or_default();
                    found.count += lacking;
                    found.ids.extend(row.try_get::<Option<Vec<String>>, _>(3)?.unwrap_or_default());
                    found.ids.truncate(NAMED);
                }
                *coverage.kinds.entry(kind).or_default() += count;
                after = row.try_get(4)?;
            }
        }
        let pairs = self.kinds().all().iter().filter(|kind| coverage.kinds.contains_key(&kind.name));
        let pairs =
            pairs.flat_map(|kind| kind.required_adapters.iter().map(|adapter| (kind.name.clone(), adapter.clone())));
        let (kinds, adapters): (Vec<String>, Vec<String>) = pairs.unzip();
        let silent = self.read(Reader::Beside, limit, async |connection: &mut PgConnection| {
            let rows = sqlx::query(SILENT).bind(kinds).bind(adapters).fetch_all(connection).await?;
            let silent = |row: &sqlx::postgres::PgRow| {
                Ok(Silent { kind: row.try_get(0)?, adapter: row.try_get(1)?, reporting: row.try_get(2)? })
            };
            Ok(rows.iter().map(silent).collect::<Result<_, sqlx::Error>>()?)
        });
        coverage.silent = silent.await?;
        Ok(coverage)
    }
}
