//! A real PostgreSQL server.
//!
//! In: nothing. Out: the address of a server on the loopback interface, which all tests of the run share, each with
//! a [`Database`] of its own; a [`PrivateServer`] belongs to one test, with settings of its own. The system's cluster is never touched: data, socket and port are the run's own.
//!
//! Set `LIFECYCLE_E2E_POSTGRES_URL` (`postgres://user:password@host:port`) to use a server that runs already; its
//! user must be allowed to create databases.

mod private;
mod start;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub use private::PrivateServer;

use crate::fault::TcpProxy;
use crate::run::start_or_join;

/// A server, by the address of its administrator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    url: String,
}

/// An empty database that no other test uses. It goes with the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    server: Server,
    name: String,
}

impl Server {
    /// Joins the run's server, or starts it; a start takes a few seconds.
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

    /// Creates a database.
    pub async fn database(&self) -> anyhow::Result<Database> {
        let name = crate::unique("test").replace('-', "_");
        // A copy of template0 is the smallest one, and needs no other session to stay away.
        self.execute("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
        Ok(Database { server: self.clone(), name })
    }

    /// `host:port`.
    fn authority(&self) -> anyhow::Result<&str> {
        let rest = self.url.strip_prefix("postgres://").context("the server's address begins with postgres://")?;
        Ok(rest.rsplit_once('@').map_or(rest, |(_, address)| address))
    }

    async fn execute(&self, database: &str, sql: &str) -> anyhow::Result<()> {
        start::psql(&format!("{}/{database}", self.url), sql).await
    }
}

impl Database {
    /// The database's address, as `database.url` wants it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{}", self.server.url, self.name)
    }

    /// The same on another server, as on a standby.
    #[must_use]
    pub fn on(&self, server: &Server) -> Self {
        Self { server: server.clone(), name: self.name.clone() }
    }

    /// The database's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs statements; the first that fails is the error.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        self.server.execute(&self.name, sql).await
    }

    /// Puts a proxy in front of the server; clients reach the database by [`Database::through`].
    pub async fn proxy(&self) -> anyhow::Result<TcpProxy> {
        TcpProxy::before(self.server.authority()?).await
    }

    /// The same database as seen through a proxy.
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
