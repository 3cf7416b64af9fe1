//! A TLS listener of a private broker.
//!
//! Its certificate is signed by a new authority, so that a client must be configured to trust this broker.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Broker;
use crate::pki::Authority;
use crate::run::free_port;

/// The port of a TLS listener, and the authority that a client must trust.
#[derive(Debug, Clone)]
pub struct Tls {
    port: u16,
    certificate_authority: PathBuf,
}

impl Tls {
    /// The broker under a host name or address, as an `amqps://` URL.
    #[must_use]
    pub fn broker(&self, host: &str) -> Broker {
        Broker { url: format!("amqps://guest:guest@{host}:{}/%2f", self.port) }
    }

    /// The file with the certificate of the broker's authority (PEM).
    #[must_use]
    pub fn certificate_authority(&self) -> &Path {
        &self.certificate_authority
    }
}

/// The configuration of the listener on the broker's side.
pub(super) struct TlsListener {
    pub(super) port: u16,
    files: [PathBuf; 3],
}

impl TlsListener {
    /// Chooses a port, and writes a certificate for `names` into `directory`.
    pub(super) fn prepare(directory: &Path, names: &[&str]) -> anyhow::Result<Self> {
        let write = |name: &str, content: &str| -> anyhow::Result<PathBuf> {
            let path = directory.join(name);
            fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
            Ok(path)
        };
        let authority = Authority::new("lifecycle-e2e broker")?;
        let server = authority.server(names)?;
        let files = [
            write("tls-ca.crt", &authority.certificate)?,
            write("tls.crt", &server.certificate)?,
            write("tls.key", &server.key)?,
        ];
        Ok(Self { port: free_port()?, files })
    }

    /// The configuration on the client's side.
    pub(super) fn client_side(&self) -> Tls {
        let [certificate_authority, ..] = self.files.clone();
        Tls { port: self.port, certificate_authority }
    }

    /// The listener's lines in `rabbitmq.conf`.
    pub(super) fn configuration(&self) -> String {
        let [authority, certificate, key] = self.files.each_ref().map(|path| path.display());
        format!(
            "listeners.ssl.1 = 127.0.0.1:{}\n\
             ssl_options.cacertfile = {authority}\n\
             ssl_options.certfile = {certificate}\n\
             ssl_options.keyfile = {key}\n\
             ssl_options.verify = verify_none\n",
            self.port
        )
    }
}
