//! Sends events to Maestro, over one connection for the whole process.
//!
//! In: the request of [`event`](crate::event). Out: nothing; Maestro has stored the write. Fails with what a refusal means
//! ([`Refusal`]). Maestro answers nearly every failure with the code `Unknown` and a text, so the text decides.
//!
//! The connection opens with the first write. An idle one is pinged only while a call runs, as Maestro's limits want it.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::header::AUTHORIZATION;
use http::uri::Scheme;
use hyper_rustls::HttpsConnectorBuilder;
use lifecycle_api_client::token::TokenFile;
use lifecycle_core::write::WriteErrorKind;
use lifecycle_errors::Chain;
use lifecycle_proto::PublishRequest;
use lifecycle_proto::cloud_event_service_client::CloudEventServiceClient;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Service as _, service_fn};

use crate::tls::{Files, Unusable, client_config};

/// How long the server has to answer a connection, a ping or a token's reading.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Why Maestro did not store a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the refusal means.
    pub kind: WriteErrorKind,
    /// Maestro's text, or that of the network.
    pub message: String,
}

/// Sends events in the order of the calls, over one connection.
#[derive(Debug)]
pub struct Publisher {
    channel: Channel,
    token: Option<TokenFile>,
    timeout: Duration,
}

impl Publisher {
    /// Connects to `address` (host and port) with the first event: with TLS if there are files.
    ///
    /// # Errors
    /// The address is none, or a file cannot be used.
    pub fn new(
        address: &str,
        files: Option<&Files>,
        token: Option<PathBuf>,
        timeout: Duration,
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
                let https = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http2().build();
                endpoint.connect_with_connector_lazy(service_fn(move |uri: Uri| {
                    let mut https = https.clone();
                    async move { https.call(with_tls(uri)?).await }
                }))
            }
        };
        let token = token.map(|path| TokenFile::new(path, Duration::ZERO));
        Ok(Self { channel, token, timeout })
    }

    /// Sends an event, once.
    ///
    /// # Errors
    /// Maestro refused it, or did not answer: then it may have stored it.
    pub async fn publish(&self, request: PublishRequest) -> Result<(), Refusal> {
        let mut request = tonic::Request::new(request);
        if let Some(token) = &self.token {
            let header = token
                .token()
                .await
                .map_err(|error| Refusal { kind: WriteErrorKind::Forbidden, message: Chain(&error).to_string() })?;
            let mut value = tonic::metadata::AsciiMetadataValue::try_from(header.as_bytes()).map_err(|_| Refusal {
                kind: WriteErrorKind::Forbidden,
                message: "the token is no ASCII text".to_owned(),
            })?;
            value.set_sensitive(true);
            request.metadata_mut().insert(AUTHORIZATION.as_str(), value);
        }
        let mut client = CloudEventServiceClient::new(self.channel.clone());
        match tokio::time::timeout(self.timeout, client.publish(request)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) => Err(meaning(&status)),
            Err(_) => Err(Refusal {
                kind: WriteErrorKind::Unreachable,
                message: format!("no answer within {:?}", self.timeout),
            }),
        }
    }
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

/// What the texts of Maestro mean, the first that is found.
const TEXTS: [(&str, WriteErrorKind); 12] = [
    ("fk_resources_consumers", WriteErrorKind::NotFound),
    ("not the latest", WriteErrorKind::Conflict),
    ("under deletion", WriteErrorKind::Conflict),
    ("maestro-6:", WriteErrorKind::AlreadyExists),
    ("maestro-7:", WriteErrorKind::NotFound),
    ("maestro-8:", WriteErrorKind::Invalid),
    ("failed to decode", WriteErrorKind::Invalid),
    ("failed to convert", WriteErrorKind::Invalid),
    ("failed to parse", WriteErrorKind::Invalid),
    ("unsupported action", WriteErrorKind::Invalid),
    ("unauthorized to", WriteErrorKind::Forbidden),
    ("maestro-", WriteErrorKind::Unavailable),
];

fn meaning(status: &Status) -> Refusal {
    let found = TEXTS.iter().find(|(text, _)| status.message().contains(text));
    // A status that the client made of an error of its own has a source.
    let is_local = std::error::Error::source(status).is_some();
    let kind = match (status.code(), found) {
        (Code::Unknown, Some((_, kind))) => *kind,
        (Code::Unauthenticated | Code::PermissionDenied | Code::InvalidArgument, _) => WriteErrorKind::Forbidden,
        (Code::ResourceExhausted, _) => WriteErrorKind::TooManyRequests,
        _ if is_local => WriteErrorKind::Unreachable,
        _ => WriteErrorKind::Unavailable,
    };
    let message = if is_local { Chain(status).to_string() } else { status.message().to_owned() };
    Refusal { kind, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_maestro_decides_what_a_refusal_means() {
        let cases = [
            ("failed to create resource: maestro-6: This Resource already exists", WriteErrorKind::AlreadyExists),
            (
                "failed to create resource: maestro-9: Unable to create Resource: … violates foreign key constraint \
                 \"fk_resources_consumers\"",
                WriteErrorKind::NotFound,
            ),
            (
                "failed to update resource: maestro-6: the resource version is not the latest, the latest version: 4",
                WriteErrorKind::Conflict,
            ),
            ("failed to update resource: maestro-6: the resource is under deletion, id: x", WriteErrorKind::Conflict),
            ("failed to get resource: maestro-7: Resource with id='x' not found", WriteErrorKind::NotFound),
            (
                "failed to create resource: maestro-8: the manifest bundle in the resource is invalid, …",
                WriteErrorKind::Invalid,
            ),
            ("failed to decode cloudevent: failed to get resourceid extension: …", WriteErrorKind::Invalid),
            ("unauthorized to publish the event from source s", WriteErrorKind::Forbidden),
            ("failed to update resource: maestro-26: advisory lock", WriteErrorKind::Unavailable),
            ("something else", WriteErrorKind::Unavailable),
        ];
        for (text, expected) in cases {
            assert_eq!(meaning(&Status::unknown(text)).kind, expected, "{text}");
        }
        assert_eq!(meaning(&Status::unauthenticated("no certificate")).kind, WriteErrorKind::Forbidden);
        assert_eq!(meaning(&Status::unavailable("draining")).kind, WriteErrorKind::Unavailable);
    }

    #[tokio::test]
    async fn address_without_a_port_is_refused() {
        for address in ["maestro", "", "http://maestro:8090", "maestro:port"] {
            let publisher = Publisher::new(address, None, None, Duration::from_secs(1));
            assert!(matches!(publisher, Err(NotSetUp::Address)), "{address}");
        }
    }
}
