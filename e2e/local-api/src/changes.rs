//! Changes resources, each request in one transaction.
//!
//! In: a request's path and body, already read. Out: the resource or report to answer with. Fails: with a [`Problem`],
//! and then nothing is changed. The answer follows the commit.
//!
//! Transactions lock a parent before its children, so that these locks cause no deadlock. References can cause one:
//! PostgreSQL then ends one of the transactions, and the API tries that one again.

/// Runs an expression over a connection as one transaction, and again where [`Attempts`] says so. A closure would do, but
/// the compiler cannot prove that the future of an asynchronous closure with borrowed arguments is `Send`.
macro_rules! in_transaction {
    ($api:expr, |$connection:ident| $change:expr) => {{
        let mut attempts = $crate::changes::Attempts::default();
        loop {
            let mut transaction = $api.pool.begin().await?;
            let $connection = &mut *transaction;
            let change = $change;
            if let Some(done) = attempts.end(transaction, change).await? {
                break done;
            }
        }
    }};
}

mod create;
mod delete;
mod patch;
mod references;
mod report;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

pub use report::Reported;

use crate::admission::microseconds;
use crate::aggregation::{aggregate, sort};
use crate::metrics::Metrics;
use crate::model::Resource;
use crate::problem::Problem;
use crate::registry::{Entity, Registry};
use crate::store::{self, Lock};

/// How often a transaction is tried again that PostgreSQL ended because of a deadlock.
const DEADLOCKS: usize = 5;
/// PostgreSQL's code of a deadlock.
const DEADLOCK: &str = "40P01";

/// The API behind its paths.
#[derive(Clone)]
pub struct Api {
    /// The database.
    pub pool: PgPool,
    /// The kinds that are served.
    pub registry: Arc<Registry>,
    /// The time, which a test may set.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// The path to a resource: its kind, its parent if the path names one, and its id.
#[derive(Debug, Clone)]
pub struct Target {
    /// The kind; `None` below `/resources`, where the row tells the kind.
    pub kind: Option<String>,
    /// The id of the parent that the path names.
    pub parent: Option<String>,
    /// The id of the resource.
    pub id: String,
}

impl Target {
    /// The resource by its id alone.
    #[must_use]
    pub fn of(id: &str) -> Self {
        Self { kind: None, parent: None, id: id.to_owned() }
    }

    /// The problem of a resource that does not exist.
    #[must_use]
    pub fn not_found(&self) -> Problem {
        Problem::not_found(self.kind.as_deref().unwrap_or("Resource"), &self.id)
    }

    /// Whether the path leads to this resource.
    fn is(&self, resource: &Resource) -> bool {
        self.kind.as_ref().is_none_or(|kind| *kind == resource.kind)
            && self.parent.as_ref().is_none_or(|parent| resource.owner_id.as_ref() == Some(parent))
    }
}

impl Api {
    /// The time, as PostgreSQL can store it.
    fn now(&self) -> Timestamp {
        microseconds((self.clock)())
    }

    /// The entity of a stored resource.
    pub(crate) fn entity(&self, resource: &Resource) -> Result<&Entity, Problem> {
        self.registry.of_kind(&resource.kind).ok_or_else(|| {
            Problem::conflict(format!("the kind {} of {} is not among the entities", resource.kind, resource.id))
        })
    }

    /// Reads a resource at a path, with its conditions in order.
    ///
    /// # Errors
    /// There is no such resource.
    pub async fn get(&self, target: &Target) -> Result<Resource, Problem> {
        let mut connection = self.pool.acquire().await?;
        self.read(&mut connection, target, Lock::None).await.map_err(Failure::into_problem)
    }

    async fn read(&self, connection: &mut PgConnection, target: &Target, lock: Lock) -> Result<Resource, Failure> {
        let found = self.find(connection, &target.id, lock).await?;
        Ok(found.filter(|resource| target.is(resource)).ok_or_else(|| target.not_found())?)
    }

    async fn find(&self, connection: &mut PgConnection, id: &str, lock: Lock) -> sqlx::Result<Option<Resource>> {
        Ok(store::find(connection, id, lock).await?.map(|resource| self.in_order(resource)))
    }

    /// The resource with its conditions in the API's order: a table has none.
    pub(crate) fn in_order(&self, mut resource: Resource) -> Resource {
        if let Some(entity) = self.registry.of_kind(&resource.kind) {
            sort(&mut resource.conditions, &entity.required_adapters);
        }
        resource
    }

    /// Reads a resource and locks it; before a deleted one, its ancestors, which its removal may remove too.
    async fn lock(&self, connection: &mut PgConnection, target: &Target) -> Result<Resource, Failure> {
        let seen = self.read(connection, target, Lock::None).await?;
        if seen.is_deleted() {
            let mut ancestors = Vec::new();
            let mut next = seen.owner_id.clone();
            while let Some(id) = next {
                next = store::find(connection, &id, Lock::None).await?.and_then(|parent| parent.owner_id);
                ancestors.push(id);
            }
            for id in ancestors.iter().rev() {
                store::find(connection, id, Lock::Update).await?;
            }
        }
        let locked = self.read(connection, target, Lock::Update).await?;
        // Another request deleted it in between: now its ancestors must be locked first.
        if locked.is_deleted() && !seen.is_deleted() { Err(Failure::Again) } else { Ok(locked) }
    }

    /// Computes the conditions of a resource again, and stores those that differ.
    async fn aggregate(&self, connection: &mut PgConnection, resource: &mut Resource) -> Result<(), Failure> {
        let entity = self.entity(resource)?;
        let reports = store::reports(connection, &resource.kind, &resource.id).await?;
        let children = store::children(connection, &resource.id).await?.len() as u64;
        let conditions = aggregate(resource, &entity.required_adapters, &reports, children);
        if conditions != resource.conditions {
            store::put_conditions(connection, &resource.id, &conditions).await?;
            self.metrics.reconciliation(resource, &conditions);
            resource.conditions = conditions;
        }
        Ok(())
    }
}

/// The attempts at one change, each a transaction.
#[derive(Debug, Default)]
struct Attempts {
    deadlocks: usize,
}

impl Attempts {
    /// Commits an attempt that succeeded. `None` asks for another one; an error changes nothing.
    async fn end<T>(
        &mut self,
        transaction: Transaction<'_, Postgres>,
        attempt: Result<T, Failure>,
    ) -> Result<Option<T>, Problem> {
        match attempt {
            Ok(done) => {
                transaction.commit().await?;
                return Ok(Some(done));
            }
            Err(Failure::Problem(problem)) => return Err(problem),
            Err(Failure::Again) => {}
            Err(Failure::Database(error)) if is_deadlock(&error) && self.deadlocks < DEADLOCKS => self.deadlocks += 1,
            Err(Failure::Database(error)) => return Err(error.into()),
        }
        transaction.rollback().await?;
        Ok(None)
    }
}

/// Why a change is not made.
enum Failure {
    Problem(Problem),
    Database(sqlx::Error),
    /// Others changed what the transaction had read without a lock: begin again.
    Again,
}

impl Failure {
    fn into_problem(self) -> Problem {
        match self {
            Self::Problem(problem) => problem,
            Self::Database(error) => error.into(),
            Self::Again => Problem::internal(),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == DEADLOCK)
}
