//! Sends events to Maestro, over one connection for the whole process.
//!
//! In: the request of `event::request`. Out: nothing; Maestro has stored the write. Fails with what a refusal means
//! ([`Refusal`]).
//!
//! The connection opens with the first write. An idle one is pinged only while a call runs, as Maestro's limits want it.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::header::AUTHORIZATION;
use http::uri::Scheme;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use lifecycle_api_client::token::TokenFile;
use lifecycle_errors::Chain;
use lifecycle_objects::write::WriteErrorKind;
use lifecycle_proto::PublishRequest;
use lifecycle_proto::cloud_event_service_client::CloudEventServiceClient;
use prost::Message as _;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tower::{Service as _, service_fn};

use crate::call::Watch;
use crate::event;
use crate::refusal::Refusal;
use crate::tls::{Files, Unusable, client_config};

/// How long the server has to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// The largest message that Maestro reads, in bytes.
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// Sends events in the order of the calls, over one connection.
#[derive(Debug)]
pub struct Publisher {
    channel: Channel,
    token: Option<TokenFile>,
    timeout: Duration,
    watch: Watch,
}

impl Publisher {
    /// Connects to `address` (host and port) with the first event: with TLS if there are files.
    ///
    /// # Errors
    /// The address is none, or a file cannot be used.
    pub(crate) fn new(
        address: &str,
        files: Option<&Files>,
        token: Option<PathBuf>,
        timeout: Duration,
        watch: Watch,
    ) -> Result<Self, NotSetUp> {
        // The scheme is always http, because the connector below, not tonic's own, adds TLS.
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|_| NotSetUp::Address)?
            .connect_timeout(CONNECT_WITHIN)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_WITHIN);
        if endpoint.uri().port_u16().is_none() {
            return Err(NotSetUp::Address);
        }
        let channel = match files {
            None => endpoint.connect_lazy(),
            Some(files) => {
                let config = client_config(Some(files))?;
                let mut tcp = HttpConnector::new();
                tcp.enforce_http(false);
                tcp.set_nodelay(true);
                let https = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http2();
                let https = https.wrap_connector(tcp);
                endpoint.connect_with_connector_lazy(service_fn(move |uri: Uri| {
                    let mut https = https.clone();
                    async move { https.call(with_tls(uri)?).await }
                }))
            }
        };
        let token = token.map(|path| TokenFile::new(path, Duration::ZERO));
        Ok(Self { channel, token, timeout, watch })
    }

    /// Sends an event, once.
    ///
    /// # Errors
    /// Maestro refused it, or did not answer: then it may have stored it.
    pub async fn publish(&self, verb: &'static str, request: PublishRequest) -> Result<(), Refusal> {
        let size = request.encoded_len();
        if size > LARGEST_MESSAGE {
            let message = format!("the work takes {size} bytes, and Maestro reads at most {LARGEST_MESSAGE}");
            return Err(Refusal::unsent(WriteErrorKind::Invalid, message));
        }
        let mut request = tonic::Request::new(request);
        if let Some(token) = &self.token {
            request.metadata_mut().insert(AUTHORIZATION.as_str(), bearer(token).await?);
        }
        let mut client = CloudEventServiceClient::new(self.channel.clone());
        let sent = async {
            match tokio::time::timeout(self.timeout, client.publish(request)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(status)) => Err(Refusal::of_grpc(&status)),
                Err(_) => Err(Refusal::silence(format!("no answer within {:?}", self.timeout))),
            }
        };
        self.watch.over(verb, sent).await
    }

    /// Sends an event that Maestro cannot read, and thereby refuses before it looks at anything else.
    ///
    /// # Errors
    /// No server answered, or one that takes no calls.
    pub async fn probe(&self) -> Result<(), Refusal> {
        match self.publish("probe", event::unreadable()).await {
            Err(refusal) if refusal.status.is_none_or(|status| status == 503) => Err(refusal),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

async fn bearer(token: &TokenFile) -> Result<AsciiMetadataValue, Refusal> {
    let header = token.token().await;
    let header = header.map_err(|error| Refusal::unsent(WriteErrorKind::Forbidden, Chain(&error).to_string()))?;
    let mut value = AsciiMetadataValue::try_from(header.as_bytes())
        .map_err(|_| Refusal::unsent(WriteErrorKind::Forbidden, "the token is no ASCII text"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Why no event can be sent.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// The address has no host or no port.
    #[error("the gRPC server's address is none such as maestro-grpc:8090")]
    Address,
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] Unusable),
}

fn with_tls(uri: Uri) -> Result<Uri, Box<dyn std::error::Error + Send + Sync>> {
    let mut parts = uri.into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn address_without_a_port_is_refused() {
        for address in ["maestro", "", "http://maestro:8090", "maestro:port"] {
            let publisher = Publisher::new(
                address,
                None,
                None,
                Duration::from_secs(1),
                Watch::new(std::sync::Arc::new(|| Box::new(|_| ()))),
            );
            assert!(matches!(publisher, Err(NotSetUp::Address)), "{address}");
        }
    }
}
