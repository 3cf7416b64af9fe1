//! The handle of a running server.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_proto::CloudEvent;
use lifecycle_proto::cloud_event_service_server::CloudEventServiceServer;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::broadcast;
use crate::connection::{Connections, Listener};
use crate::database::{Bundle, Consumer, Database};
use crate::faults::Faults;
use crate::grpc::{Gate, Service};
use crate::options::{Options, Tls};
use crate::rest;
use crate::state::Shared;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No port could be had.
    #[error("failed to listen")]
    Listen(#[from] std::io::Error),
    /// A certificate or key is no PEM.
    #[error("failed to read a certificate or key")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// Certificate and key do not fit.
    #[error("failed to use the certificate")]
    Certificate(#[from] rustls::Error),
    /// The authority of clients cannot be used.
    #[error("failed to use the authority of client certificates")]
    Authority(#[from] rustls::server::VerifierBuilderError),
}

/// The tables at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot(Database);

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct LocalMaestro {
    pub(crate) shared: Arc<Shared>,
    connections: Connections,
    grpc_url: String,
    rest_url: String,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

impl LocalMaestro {
    /// Starts a server on free ports of the loopback interface.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let faults = Faults::default();
        let (outbox, waiting) = mpsc::unbounded_channel();
        // The real channel has no room at all; one place is the least that this kind of channel can have.
        let (broadcaster, events) = mpsc::channel(1);
        let shared = Shared::new(outbox, broadcaster.clone(), faults.clone());
        shared.with(|state| state.repeats_deletions = options.repeats_deletions);
        let connections = Connections::default();
        let tls = options.tls.as_ref().map(acceptor).transpose()?;
        let rest_tls = tls.clone().filter(|_| options.rest_tls);
        let (grpc_scheme, rest_scheme) = (scheme(tls.is_some()), scheme(rest_tls.is_some()));
        let authentication = tls.is_some().then_some(options.authentication);
        let grpc = Listener::bind(tls, connections.clone()).await?;
        let rest = Listener::bind(rest_tls, connections.clone()).await?;
        let (grpc_url, rest_url) =
            (format!("{grpc_scheme}://{}", grpc.address), format!("{rest_scheme}://{}", rest.address));
        let service = Service { shared: Arc::clone(&shared), gate: Gate { authentication, grants: options.grants } };
        let subscribers = shared.subscribers.clone();
        let routes = rest::router(Arc::clone(&shared));
        let tasks = vec![
            spawn(broadcast::pump(waiting, broadcaster, faults.clone())),
            spawn(broadcast::broadcast(events, subscribers.clone())),
            spawn(broadcast::beat(options.heartbeat, subscribers, faults)),
            spawn(async move {
                let service = CloudEventServiceServer::new(service);
                let server = tonic::transport::Server::builder().add_service(service);
                // The listener never fails, so neither does the server.
                let _ = server.serve_with_incoming(grpc.incoming()).await;
            }),
            spawn(async move {
                let _ = axum::serve(rest, routes).await;
            }),
        ];
        let server = Self { shared, connections, grpc_url, rest_url, _tasks: tasks };
        for name in options.consumers {
            server.register(&name);
        }
        Ok(server)
    }

    /// The address of the gRPC service, with `http` or `https`.
    #[must_use]
    pub fn grpc_url(&self) -> &str {
        &self.grpc_url
    }

    /// The address of the REST interface, without a path.
    #[must_use]
    pub fn rest_url(&self) -> &str {
        &self.rest_url
    }

    /// The faults that the test switches on.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Registers a consumer, and returns its id in REST paths.
    pub fn register(&self, name: &str) -> String {
        let (now, id) = (Timestamp::now(), Uuid::new_v4().to_string());
        let consumer =
            Consumer { id: id.clone(), name: name.to_owned(), labels: Value::Null, created_at: now, updated_at: now };
        self.shared.with(|state| state.database.consumers.insert(id.clone(), consumer));
        id
    }

    /// The row of a bundle.
    #[must_use]
    pub fn bundle(&self, id: &str) -> Option<Bundle> {
        self.shared.with(|state| state.database.bundles.get(id).cloned())
    }

    /// All rows of bundles, by id.
    #[must_use]
    pub fn bundles(&self) -> Vec<Bundle> {
        self.shared.with(|state| state.database.bundles.values().cloned().collect())
    }

    /// Every event that Publish got, also those that it refused, in order.
    #[must_use]
    pub fn published(&self) -> Vec<CloudEvent> {
        self.shared.with(|state| state.published.clone())
    }

    /// Method and path, with the query, of every request over REST, in order.
    #[must_use]
    pub fn rest_requests(&self) -> Vec<String> {
        self.shared.with(|state| state.rest_requests.clone())
    }

    /// The number of open streams for a source.
    #[must_use]
    pub fn subscribers(&self, source: &str) -> usize {
        self.shared.subscribers.count(source)
    }

    /// Changes a bundle as another client does that sends the same content; returns the new version.
    pub fn bump_version(&self, id: &str) -> Option<i32> {
        self.shared.bump(id)
    }

    /// Makes the last write of a bundle, and its deletion, older by `age`: it stands for time that passes.
    pub fn backdate(&self, id: &str, age: Duration) {
        self.shared.with(|state| {
            if let Some(bundle) = state.database.bundles.get_mut(id) {
                bundle.updated_at -= age;
                bundle.deleted_at = bundle.deleted_at.map(|at| at - age);
            }
        });
    }

    /// Whether the agent of a consumer has still to hear of a bundle.
    #[must_use]
    pub fn is_queued(&self, consumer: &str, id: &str) -> bool {
        self.shared.with(|state| state.agent(consumer).queue.iter().any(|queued| queued == id))
    }

    /// Breaks the connections of all streams, without a word: the real server does not end them either.
    pub fn drop_streams(&self) {
        self.shared.subscribers.cut();
    }

    /// Ends all streams with the code `Unavailable`, as a proxy does.
    pub fn end_streams(&self) {
        self.shared.subscribers.end();
    }

    /// Answers reads over REST from the tables as they are now, until [`LocalMaestro::thaw_reads`].
    ///
    /// The real server has one database and does not do this: it stands for a reading that is older than the client's
    /// next decision.
    pub fn freeze_reads(&self) {
        self.shared.with(|state| state.frozen = Some(state.database.clone()));
    }

    /// Answers reads over REST from the tables again.
    pub fn thaw_reads(&self) {
        self.shared.with(|state| state.frozen = None);
    }

    /// The tables as they are now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.shared.with(|state| state.database.clone()))
    }

    /// Breaks all connections and goes on with other tables, or with the same ones. Addresses and agents stay.
    pub fn restart(&self, tables: Option<Snapshot>) {
        self.shared.with(|state| {
            if let Some(Snapshot(database)) = tables {
                state.database = database;
            }
            state.frozen = None;
            let database = &state.database;
            for (consumer, agent) in state.agents.iter_mut().filter(|(_, agent)| !agent.is_offline) {
                agent.resync(database, consumer);
            }
        });
        self.connections.cut();
        self.shared.wake();
    }

    /// Breaks all connections, and each new one at once, until [`LocalMaestro::resume`].
    pub fn pause(&self) {
        self.connections.refuse(true);
    }

    /// Takes connections again.
    pub fn resume(&self) {
        self.connections.refuse(false);
    }
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https" } else { "http" }
}

/// TLS 1.3 alone, as the real server. A client without a certificate gets through the handshake, and is refused later.
fn acceptor(tls: &Tls) -> Result<TlsAcceptor, StartError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match &tls.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
                roots.add(certificate?)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build()?)
        }
    };
    let chain = CertificateDer::pem_slice_iter(tls.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(tls.key.as_bytes())?;
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
