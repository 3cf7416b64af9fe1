//! What a test chooses at the start.

use std::collections::BTreeMap;
use std::time::Duration;

/// How the server is set up; the default is plaintext, without authentication, like a server without flags.
#[derive(Debug, Clone)]
pub struct Options {
    /// TLS on the gRPC port. Without it there is neither authentication nor authorisation.
    pub tls: Option<Tls>,
    /// TLS on the REST port as well, with the same certificate.
    pub rest_tls: bool,
    /// How clients say who they are; has no effect without TLS.
    pub authentication: Authentication,
    /// Who may publish and subscribe as which source; `None`: everybody. Has no effect without authentication.
    pub grants: Option<Vec<Grant>>,
    /// The period of heartbeats. The real server's is 10 seconds.
    pub heartbeat: Duration,
    /// Whether a deletion of what is being deleted is told to the agent again, as newer servers do; older ones answer and do
    /// nothing.
    pub repeats_deletions: bool,
    /// The consumers that are registered from the start.
    pub consumers: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tls: None,
            rest_tls: false,
            authentication: Authentication::Mock,
            grants: None,
            heartbeat: Duration::from_secs(10),
            repeats_deletions: false,
            consumers: Vec::new(),
        }
    }
}

/// The server's certificate, all PEM.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate, and those up to its authority.
    pub certificate: String,
    /// The certificate's key.
    pub key: String,
    /// The authority of client certificates; without it no client is asked for one.
    pub client_authority: Option<String>,
}

/// How clients say who they are: the real server's flag `--grpc-authn-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// Everybody may do everything.
    Mock,
    /// The user is the common name of the client's certificate, the groups are its organizations.
    Mtls,
    /// The user is the one whose bearer token this is, by token.
    Tokens(BTreeMap<String, String>),
}

/// A right to a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The user or the group who has the right.
    pub subject: String,
    /// The source.
    pub source: String,
    /// Whether the right is to publish.
    pub publish: bool,
    /// Whether the right is to subscribe.
    pub subscribe: bool,
}
