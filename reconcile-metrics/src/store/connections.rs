//! Opens, reuses and limits connections: one for scrapes, and one for everything else. More would add load to a database
//! that is already slow.
//!
//! In: a function that reads. Out: its result. Fails: with a [`StoreError`]. A connection is reused only after its
//! transaction was committed. An idle connection may be dead, so if the first statement on it fails, the reading begins
//! again on a new connection. sqlx's own pool would retry until the scrape's time is over, and then report a timeout
//! instead of the cause.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lifecycle_service::files;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::{DatabaseConfig, PasswordSource};

/// The reason why a reading of the database failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Every connection is in use.
    #[error("no database connection became free in time")]
    Busy,
    /// The password's file cannot be read.
    #[error("failed to read the database password from `{file}`")]
    Password {
        /// The path of the password's file.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The server refused the connection.
    #[error("failed to connect to the database at {address}")]
    Connect {
        /// Host and port, or the directory of a Unix socket and the port.
        address: String,
        /// The error of the client.
        source: sqlx::Error,
    },
    /// No connection was made within the time limit.
    #[error("no connection to the database within {0:?}")]
    Unreachable(Duration),
    /// A statement did not end within the time limit.
    #[error("the database did not answer within {0:?}")]
    Timeout(Duration),
    /// The database does not contain the API's tables, or not in the search path.
    #[error("the API's tables cannot be read: {0}")]
    Schema(String),
    /// The role may not read the API's tables.
    #[error("the API's tables may not be read: {0}")]
    Permission(String),
    /// The database refused a statement.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
}

impl StoreError {
    /// Returns the value of the label `reason`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Busy | Self::Timeout(_) => "timeout",
            Self::Password { .. } | Self::Connect { .. } | Self::Unreachable(_) => "connection",
            Self::Schema(_) => "schema",
            Self::Permission(_) => "permission",
            Self::Query(error) if is_lost(error) => "connection",
            Self::Query(_) => "query",
        }
    }

    /// The possible results of [`reason`](Self::reason), so that each one has a series from the start.
    pub const REASONS: [&'static str; 5] = ["connection", "permission", "query", "schema", "timeout"];

    /// Returns the texts of the error and of its causes.
    #[must_use]
    pub fn chain(&self) -> String {
        crate::error_text::chain(self)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Query(error)
    }
}

/// Whether the connection was lost, so that another one may succeed.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        // Codes 57P..: the server shuts down, or an administrator ended the session.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

/// Whether the server ended the statement because of `statement_timeout`.
fn is_statement_timeout(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.code() == "57014")
}

/// The purpose of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// A scrape; only one runs at a time.
    Scrape,
    /// Everything else: details, `/stuck`, commands.
    Background,
}

/// The time limit for opening a connection, including TLS and authentication.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Connections {
    config: DatabaseConfig,
    /// The permits to use a connection: one for scrapes and one for all other readings, so that background
    /// readings never delay a scrape.
    scrape: Semaphore,
    background: Semaphore,
    idle: Mutex<Vec<PgConnection>>,
}

impl Connections {
    pub(super) fn new(config: DatabaseConfig) -> Self {
        Self { config, scrape: Semaphore::new(1), background: Semaphore::new(1), idle: Mutex::default() }
    }

    pub(super) async fn read<T>(
        &self,
        reader: Reader,
        limit: Duration,
        read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + limit;
        let permits = match reader {
            Reader::Scrape => &self.scrape,
            Reader::Background => &self.background,
        };
        let permit = timeout_at(deadline, permits.acquire()).await;
        let _permit = permit.map_err(|_| StoreError::Busy)?.map_err(|_| StoreError::Busy)?;
        // Time spent waiting for a permit is not a database timeout.
        let left = deadline.saturating_duration_since(Instant::now());
        let too_late = if left < limit / 2 { StoreError::Busy } else { StoreError::Unreachable(left) };
        // An early return drops the connection, which closes it and ends its transaction.
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

    /// Returns a connection on which a transaction has begun.
    async fn begin(&self, left: Duration) -> Result<PgConnection, StoreError> {
        let begin = self.beginning();
        while let Some(mut connection) = { self.idle().pop() } {
            // A proxy may have dropped this idle connection without notice: wait for a quarter of the time, then connect anew.
            // The other idle connections are older, so drop them too.
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

    /// Returns the statements that begin a transaction and set its limits, to send in one message.
    ///
    /// Every reading needs a small part of large tables. `enable_seqscan = off` keeps the planner from scanning a whole
    /// table when its statistics are wrong.
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

/// Opens a connection for a command that writes.
///
/// # Errors
/// Returns an error if no connection could be made.
pub async fn connect(config: &DatabaseConfig) -> Result<PgConnection, StoreError> {
    let mut connection = open(config).await?;
    if let Some(schema) = &config.schema {
        let sql = format!("SET search_path = {}", quoted(schema));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    }
    Ok(connection)
}

/// Makes PostgreSQL end a statement whose client has disconnected. Otherwise the statement of a reading that timed out
/// would run beside the next one's.
const CHECK_CLIENT: &str = "SET client_connection_check_interval = '500ms'";
/// The first version of PostgreSQL with that setting.
const CHECK_CLIENT_SINCE: u32 = 140_000;

/// Opens a connection.
///
/// sqlx leaves Nagle's algorithm on. That delays nothing here, because each request is one write and waits for the answer
/// to the one before.
async fn open(config: &DatabaseConfig) -> Result<PgConnection, StoreError> {
    let connect = async {
        let options = options(config).await?.disable_statement_logging();
        let connected = PgConnection::connect_with(&options).await;
        let address = || format!("{}:{}", options.get_host(), options.get_port());
        let mut connection = connected.map_err(|source| StoreError::Connect { address: address(), source })?;
        if connection.server_version_num().is_some_and(|version| version >= CHECK_CLIENT_SINCE) {
            // Some operating systems do not support it; there only `statement_timeout` ends the statement.
            let _ = sqlx::raw_sql(CHECK_CLIENT).execute(&mut connection).await;
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

/// Quotes an SQL identifier, such as the schema's name, for use in a statement.
fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}
