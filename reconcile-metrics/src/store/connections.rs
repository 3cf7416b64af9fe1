//! Connections: as few as possible, never more than allowed, none that is in doubt.
//!
//! A connection goes back only after its transaction has ended well. An idle connection may have died meanwhile, so a first
//! statement that fails there, or gets no answer, is tried once more on a new connection. The pool of a library would ping, and
//! retry until its time is up; this one must fail fast and say why.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lifecycle_service::files;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::{DatabaseConfig, PasswordSource};

/// A question that the database did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Every connection is in use.
    #[error("no database connection became free in time")]
    Busy,
    /// The password's file cannot be read.
    #[error("failed to read the database password from `{file}`")]
    Password {
        /// The file.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// No connection could be made.
    #[error("failed to connect to the database")]
    Connect(#[source] sqlx::Error),
    /// The time for a connection was up.
    #[error("no connection to the database within {0:?}")]
    Unreachable(Duration),
    /// The time was up.
    #[error("the database did not answer within {0:?}")]
    Timeout(Duration),
    /// The database does not hold the API's tables.
    #[error("the API's tables cannot be read: {0}")]
    Schema(String),
    /// The role may not read the API's tables.
    #[error("the API's tables may not be read: {0}")]
    Permission(String),
    /// The database refused.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
}

impl StoreError {
    /// The value of the label `reason`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Busy | Self::Timeout(_) => "timeout",
            Self::Password { .. } | Self::Connect(_) | Self::Unreachable(_) => "connection",
            Self::Schema(_) => "schema",
            Self::Permission(_) => "permission",
            Self::Query(error) if is_lost(error) => "connection",
            Self::Query(_) => "query",
        }
    }

    /// Every value of [`reason`](Self::reason).
    pub const REASONS: [&'static str; 5] = ["connection", "permission", "query", "schema", "timeout"];

    /// The error and everything that caused it.
    #[must_use]
    pub fn chain(&self) -> String {
        crate::causes::chain(self)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Query(error)
    }
}

/// Whether the connection is gone, rather than the statement wrong.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        // Class 57P: the server is going down, or somebody ended the session.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

/// The server's own limit ended the statement.
fn is_statement_timeout(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.code() == "57014")
}

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A scrape, of which there is one at a time. It waits for nobody.
    Scrape,
    /// Everything else.
    Beside,
}

/// One for scrapes and one for everything else: the exporter must never be the load that tips the database over.
const MAX_CONNECTIONS: usize = 2;
/// The time for a connection, its handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Connections {
    config: DatabaseConfig,
    permits: Semaphore,
    /// One fewer: whatever else is read, a scrape finds a connection. Scrapes share theirs.
    beside_scrapes: Semaphore,
    idle: Mutex<Vec<PgConnection>>,
}

impl Connections {
    pub(super) fn new(config: DatabaseConfig) -> Self {
        let permits = Semaphore::new(MAX_CONNECTIONS);
        let beside_scrapes = Semaphore::new(MAX_CONNECTIONS - 1);
        Self { config, permits, beside_scrapes, idle: Mutex::default() }
    }

    pub(super) async fn read<T>(
        &self,
        reader: Reader,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + limit;
        let _beside = match reader {
            Reader::Scrape => None,
            Reader::Beside => Some(permit(&self.beside_scrapes, deadline).await?),
        };
        let _permit = permit(&self.permits, deadline).await?;
        // Time spent waiting for a permit is not a database timeout.
        let left = deadline.saturating_duration_since(Instant::now());
        let too_late = if left < limit / 2 { StoreError::Busy } else { StoreError::Unreachable(left) };
        // Dropped where this returns early: a connection in doubt is closed, and with it its transaction.
        let mut connection = timeout_at(deadline, self.begin(left)).await.map_err(|_| too_late)??;
        let work = async {
            let answer = read(&mut connection).await?;
            sqlx::raw_sql("COMMIT").execute(&mut connection).await?;
            Ok(answer)
        };
        let answer = match timeout_at(deadline, work).await {
            Err(_) => Err(StoreError::Timeout(limit)),
            Ok(Err(StoreError::Query(error))) if is_statement_timeout(&error) => {
                Err(StoreError::Timeout(self.config.statement_timeout))
            }
            Ok(answer) => answer,
        };
        if answer.is_ok() {
            self.idle().push(connection);
        }
        answer
    }

    /// A connection with its transaction begun, within `left`.
    async fn begin(&self, left: Duration) -> Result<PgConnection, StoreError> {
        let begin = self.beginning();
        while let Some(mut connection) = { self.idle().pop() } {
            // A proxy may have dropped this idle connection: spend a quarter of the budget, then connect anew. The connections
            // below it in the list were idle for longer.
            let begun = sqlx::raw_sql(AssertSqlSafe(begin.as_str())).execute(&mut connection);
            match timeout(left / 4, begun).await {
                Ok(Ok(_)) => return Ok(connection),
                Ok(Err(error)) if !is_lost(&error) => return Err(error.into()),
                Ok(Err(_)) => {}
                Err(_) => self.idle().clear(),
            }
        }
        let mut connection = open(&self.config).await?;
        sqlx::raw_sql(AssertSqlSafe(begin.as_str())).execute(&mut connection).await?;
        Ok(connection)
    }

    /// One message for the transaction and its limits.
    ///
    /// Every statement asks for a small part of its tables, whatever the statistics say on the day: without sequential scans the
    /// plan cannot flip to one.
    fn beginning(&self) -> String {
        let milliseconds = self.config.statement_timeout.as_millis().max(1);
        let mut sql = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL lock_timeout = {milliseconds}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SET LOCAL jit = off; \
             SET LOCAL enable_seqscan = off; \
             SET LOCAL max_parallel_workers_per_gather = 0;",
            milliseconds * 2
        );
        if let Some(schema) = &self.config.schema {
            sql.push_str(&format!(" SET LOCAL search_path = {};", quoted(schema)));
        }
        sql
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn permit(permits: &Semaphore, deadline: Instant) -> Result<SemaphorePermit<'_>, StoreError> {
    let permit = timeout_at(deadline, permits.acquire()).await;
    permit.map_err(|_| StoreError::Busy)?.map_err(|_| StoreError::Busy)
}

/// Opens a connection for a command that writes.
///
/// # Errors
/// No connection could be made.
pub async fn connect(config: &DatabaseConfig) -> Result<PgConnection, StoreError> {
    let mut connection = open(config).await?;
    if let Some(schema) = &config.schema {
        let sql = format!("SET search_path = {}", quoted(schema));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    }
    Ok(connection)
}

/// How often the database looks whether its client is still connected: a reading whose time is up must leave no statement behind
/// that runs beside the next one's.
const LOOK_FOR_CLIENT: &str = "SET client_connection_check_interval = '500ms'";
/// The first version that has it.
const LOOKS_FOR_CLIENTS: u32 = 140_000;

/// The library opens the socket and leaves Nagle's algorithm on. It holds nothing back here: each message goes out in one
/// write, after the answer to the one before it.
async fn open(config: &DatabaseConfig) -> Result<PgConnection, StoreError> {
    let connect = async {
        let options = options(config).await?.disable_statement_logging();
        let mut connection = PgConnection::connect_with(&options).await.map_err(StoreError::Connect)?;
        if connection.server_version_num().is_some_and(|version| version >= LOOKS_FOR_CLIENTS) {
            // Some systems cannot look; there `statement_timeout` alone ends the statement.
            let _ = sqlx::raw_sql(LOOK_FOR_CLIENT).execute(&mut connection).await;
        }
        Ok(connection)
    };
    timeout(CONNECT_TIMEOUT, connect).await.map_err(|_| StoreError::Unreachable(CONNECT_TIMEOUT))?
}

async fn options(config: &DatabaseConfig) -> Result<PgConnectOptions, StoreError> {
    let options = config.options.clone();
    Ok(match &config.password {
        PasswordSource::Address => options,
        PasswordSource::Given(password) => options.password(password),
        PasswordSource::File(path) => {
            let text = files::read_text_aside(path, files::SECRET)
                .await
                .map_err(|source| StoreError::Password { file: path.display().to_string(), source })?;
            options.password(text.trim_end_matches(['\r', '\n']))
        }
    })
}

/// An identifier, whatever it contains.
fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}
