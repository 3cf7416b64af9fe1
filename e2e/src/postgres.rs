//! A real PostgreSQL server.
//!
//! In: nothing. Out: the address of a server on the loopback interface. All tests of the run share it, and
//! each creates its own [`Database`]. A [`PrivateServer`] belongs to one test, which chooses its settings.
//! Data and port belong to the run: the system's own PostgreSQL is not used.
//!
//! The variable `LIFECYCLE_E2E_POSTGRES_URL` (`postgres://user:password@host:port`) names an existing server
//! to use instead; its user must be allowed to create databases.

mod private;
mod start;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub use private::PrivateServer;

use crate::fault::TcpProxy;
use crate::run::start_or_join;

/// A server, by its administrator's URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    url: String,
}

/// An empty database that no other test uses. The database is deleted with the server's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    server: Server,
    name: String,
}

impl Server {
    /// Connects to the run's server, or starts one, which takes a few seconds.
    pub async fn shared() -> anyhow::Result<Self> {
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        let server = SHARED
            .get_or_try_init(|| async {
                match std::env::var("LIFECYCLE_E2E_POSTGRES_URL") {
                    Ok(url) => Ok(Self { url: url.trim_end_matches('/').to_owned() }),
                    Err(_) => start_or_join("postgres", start::start, answers).await,
                }
            })
            .await?;
        Ok(server.clone())
    }

    /// Creates an empty database with a unique name for one test.
    pub async fn database(&self) -> anyhow::Result<Database> {
        let name = crate::unique("test").replace('-', "_");
        // template0 accepts no connections, so copying it never fails because of another session; template1 may.
        self.execute("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
        Ok(Database { server: self.clone(), name })
    }

    /// The `host:port` of the server's URL.
    fn authority(&self) -> anyhow::Result<&str> {
        let rest = self.url.strip_prefix("postgres://").context("the server's address begins with postgres://")?;
        Ok(rest.rsplit_once('@').map_or(rest, |(_, address)| address))
    }

    async fn execute(&self, database: &str, sql: &str) -> anyhow::Result<()> {
        start::psql(&format!("{}/{database}", self.url), sql).await.map(drop)
    }
}

impl Database {
    /// The database's URL, for the configuration key `database.url`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{}", self.server.url, self.name)
    }

    /// The database of the same name on another server, such as a standby.
    #[must_use]
    pub fn on(&self, server: &Server) -> Self {
        Self { server: server.clone(), name: self.name.clone() }
    }

    /// Returns the name of the database on its server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Executes SQL statements; stops at the first that fails.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        self.server.execute(&self.name, sql).await
    }

    /// Executes a query. Returns a line for each row, with `|` between the columns.
    pub async fn query(&self, sql: &str) -> anyhow::Result<String> {
        start::psql(&self.url(), sql).await
    }

    /// Starts a proxy for the server; clients connect to the database with [`Database::through`].
    pub async fn proxy(&self) -> anyhow::Result<TcpProxy> {
        TcpProxy::before(self.server.authority()?).await
    }

    /// The same database, with a URL that leads through the proxy.
    pub fn through(&self, proxy: &TcpProxy) -> anyhow::Result<Self> {
        let url = self.server.url.replacen(self.server.authority()?, &proxy.address().to_string(), 1);
        Ok(Self { server: Server { url }, name: self.name.clone() })
    }
}

async fn answers(server: &Server) -> bool {
    match server.authority() {
        Ok(address) => TcpStream::connect(address).await.is_ok(),
        Err(_) => false,
    }
}
