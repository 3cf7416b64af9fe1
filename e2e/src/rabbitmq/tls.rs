//! A second listener of a private broker, which speaks TLS.
//!
//! Its certificate is signed by an authority of its own, so who trusts anything else does not trust this broker.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Broker;
use crate::pki::Authority;
use crate::run::free_port;

/// Where a broker speaks TLS, and whom a client has to trust for that.
#[derive(Debug, Clone)]
pub struct Tls {
    port: u16,
    certificate_authority: PathBuf,
}

impl Tls {
    /// The broker as a client reaches it by this host name or address, over `amqps://`.
    #[must_use]
    pub fn broker(&self, host: &str) -> Broker {
        Broker { url: format!("amqps://guest:guest@{host}:{}/%2f", self.port) }
    }

    /// The file with the certificate of the authority that signed the broker's, PEM.
    #[must_use]
    pub fn certificate_authority(&self) -> &Path {
        &self.certificate_authority
    }
}

/// The listener as the broker is told of it.
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

    /// What clients have to know.
    pub(super) fn client_side(&self) -> Tls {
        let [certificate_authority, ..] = self.files.clone();
        Tls { port: self.port, certificate_authority }
    }

    /// Its lines of `rabbitmq.conf`.
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
