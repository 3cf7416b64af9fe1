//! The block's types, without defaults; `resolve` applies those.
//!
//! The JSON Schema is derived from these types: their doc comments are its descriptions, which `docs/` shows as well.

use schemars::JsonSchema;
use serde::Deserialize;

/// The connection to Maestro.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaestroSpec {
    /// Host and port of Maestro's gRPC server for sources, such as `maestro-grpc:8090`. Required.
    pub grpc_server_address: Option<String>,
    /// The URL of Maestro's REST server, such as `https://maestro:8000`. Required.
    pub http_server_address: Option<String>,
    /// The name under which the program writes to Maestro, as the source of its events. Adapters with the same source find
    /// each other's works. Required.
    pub source_id: Option<String>,
    /// Accepted for compatibility; it has no effect.
    pub client_id: Option<String>,
    /// How the program authenticates to Maestro.
    pub auth: Option<MaestroAuthSpec>,
    /// The timeout of one request; 10s by default.
    pub timeout: Option<String>,
    /// How long an agent may leave a write unobserved before the adapter sends it again and reports `Available=False`; 2m by
    /// default, and 0s turns it off. The sweeper does not use it.
    pub resend_after: Option<String>,
    /// Accepted for compatibility; it has no effect.
    pub server_healthiness_timeout: Option<String>,
    /// Accepted for compatibility; it has no effect.
    pub retry_attempts: Option<i64>,
    /// Accepted for compatibility; it has no effect.
    pub keepalive: Option<KeepaliveSpec>,
    /// Whether to speak gRPC without TLS, and to accept any certificate of the REST server.
    #[serde(default)]
    pub insecure: bool,
}

/// How the program authenticates to Maestro.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaestroAuthSpec {
    /// Accepted for compatibility; it has no effect.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Files of certificates and keys.
    pub tls_config: Option<TlsSpec>,
    /// A file with a bearer token, which is read again when it changes.
    pub token_file: Option<String>,
}

/// Files of certificates and keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// The file of the certificate authority for the gRPC server; required unless `insecure`. This and the other files are
    /// read again at each new connection.
    pub ca_file: Option<String>,
    /// The file of the client's certificate, for mutual TLS.
    pub cert_file: Option<String>,
    /// The file of the client's private key.
    pub key_file: Option<String>,
    /// The file of the certificate authority for the HTTP server; `ca_file` by default.
    pub http_ca_file: Option<String>,
}

/// Keep-alive pings of the gRPC connection.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepaliveSpec {
    /// The interval between pings.
    pub time: Option<String>,
    /// How long the client waits for the answer to a ping.
    pub timeout: Option<String>,
}
