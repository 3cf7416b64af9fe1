//! TLS with files that other programs renew.
//!
//! In: the paths of certificate authorities, and of a certificate and its key. Out: a rustls configuration that reads them
//! again at each handshake, so that a renewed file counts from the next connection on. Fails at once if a file cannot be
//! used, and later fails the handshake.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

/// The files of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The certificate authorities that the server's certificate must come from.
    pub authorities: PathBuf,
    /// The client's certificate and its key, if the server wants one.
    pub pair: Option<(PathBuf, PathBuf)>,
}

/// A file that TLS cannot use.
#[derive(Debug, thiserror::Error)]
#[error("{} {why}", path.display())]
pub struct Unusable {
    path: PathBuf,
    why: String,
}

fn unusable(path: &Path, why: impl fmt::Display) -> Unusable {
    Unusable { path: path.to_owned(), why: why.to_string() }
}

/// TLS 1.2 or newer with these files; without files, with no verification at all.
///
/// # Errors
/// A file cannot be read, or does not contain what it should.
pub fn client_config(files: Option<&Files>) -> Result<ClientConfig, Unusable> {
    let mut config = verifying(files)?;
    // A resumed session would have the identity of the certificate with which it began.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn verifying(files: Option<&Files>) -> Result<ClientConfig, Unusable> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| unusable(Path::new("TLS"), error))?.dangerous();
    let Some(files) = files else {
        let anyone = Arc::new(Verifier { provider, authorities: None });
        return Ok(builder.with_custom_certificate_verifier(anyone).with_no_client_auth());
    };
    let verifier = Verifier { provider: Arc::clone(&provider), authorities: Some(files.authorities.clone()) };
    verifier.read(&files.authorities)?;
    let builder = builder.with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = &files.pair else { return Ok(builder.with_no_client_auth()) };
    let pair = Pair { provider, certificate: certificate.clone(), key: key.clone() };
    pair.read()?;
    Ok(builder.with_client_cert_resolver(Arc::new(pair)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Unusable> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unusable(path, format_args!("cannot be read as PEM: {error}")))?;
    if found.is_empty() {
        return Err(unusable(path, "contains no certificate"));
    }
    Ok(found)
}

/// Verifies a server's certificate with the authorities that the file has now; any certificate without a file.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    authorities: Option<PathBuf>,
}

impl Verifier {
    fn read(&self, path: &Path) -> Result<Arc<WebPkiServerVerifier>, Unusable> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots
                .add(certificate)
                .map_err(|error| unusable(path, format_args!("has an unusable certificate: {error}")))?;
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
            .build()
            .map_err(|error| unusable(path, error))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(path) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        let verifier = self.read(path).map_err(|error| rustls::Error::Other(OtherError(Arc::new(error))))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The client's certificate and key, as the files have them now.
#[derive(Debug)]
struct Pair {
    provider: Arc<CryptoProvider>,
    certificate: PathBuf,
    key: PathBuf,
}

impl Pair {
    fn read(&self) -> Result<CertifiedKey, Unusable> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unusable(&self.key, format_args!("has no usable key: {error}")))?;
        CertifiedKey::from_der(chain, key, &self.provider)
            .map_err(|error| unusable(&self.key, format_args!("does not fit {}: {error}", self.certificate.display())))
    }
}

impl ResolvesClientCert for Pair {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        // Without a certificate, the server refuses the handshake, and says why.
        self.read().ok().map(Arc::new)
    }

    fn has_certs(&self) -> bool {
        true
    }
}
