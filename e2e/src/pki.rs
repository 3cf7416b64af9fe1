//! Certificates for servers on the loopback interface.

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A new certificate authority, so that a client which trusts it trusts only certificates of this test.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The certificate of the authority as PEM, for clients to trust.
    pub certificate: String,
}

/// The certificate and the key of a server or a client, PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The certificate's private key.
    pub key: String,
}

impl Authority {
    /// Makes an authority of this name.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let key = KeyPair::generate().context("failed to make a key")?;
        let mut params = CertificateParams::new(Vec::new()).context("failed to describe a certificate authority")?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).context("failed to sign a certificate authority")?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// Issues a certificate for a server on the loopback interface, by address and by name.
    pub fn loopback(&self) -> anyhow::Result<Identity> {
        self.server(&["127.0.0.1", "localhost"])
    }

    /// Issues a certificate for exactly these host names and addresses.
    pub fn server(&self, names: &[&str]) -> anyhow::Result<Identity> {
        self.issue("loopback", &[], names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Issues a certificate for a client, which names the client to the server.
    pub fn client(&self, name: &str) -> anyhow::Result<Identity> {
        self.member(name, &[])
    }

    /// Issues a certificate for a client, which names the client and the organizations it belongs to.
    pub fn member(&self, name: &str, organizations: &[&str]) -> anyhow::Result<Identity> {
        self.issue(name, organizations, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        name: &str,
        organizations: &[&str],
        hosts: &[&str],
        usage: ExtendedKeyUsagePurpose,
    ) -> anyhow::Result<Identity> {
        let key = KeyPair::generate().context("failed to make a key")?;
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).context("failed to describe a certificate")?;
        // A new certificate has a name of the library's otherwise.
        params.distinguished_name = DistinguishedName::new();
        if !name.is_empty() {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        for organization in organizations {
            params.distinguished_name.push(DnType::OrganizationName, *organization);
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.issuer).context("failed to sign a certificate")?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// A key pair for service-account tokens, PEM.
pub(crate) struct SigningKey {
    pub(crate) private: String,
    pub(crate) public: String,
}

impl SigningKey {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let key = KeyPair::generate().context("failed to make a key")?;
        Ok(Self { private: key.serialize_pem(), public: key.public_key_pem() })
    }
}
