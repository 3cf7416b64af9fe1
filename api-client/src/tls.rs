//! TLS with the system's certificate authorities.
//!
//! In: the CA bundle that OpenSSL would use (`SSL_CERT_FILE`, `SSL_CERT_DIR`, or the distribution's default
//! path). Out: a TLS configuration that uses *ring*. A missing bundle is not an error here, because plain
//! HTTP needs none; HTTPS calls then fail with `UnknownIssuer`.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// TLS for HTTP clients: trusts the system's authorities, and offers HTTP/2 and HTTP/1.1.
///
/// # Errors
/// The crypto provider supports no TLS version.
pub fn client_config() -> Result<ClientConfig, rustls::Error> {
    with_roots(system_roots())
}

/// TLS for HTTP clients that trust exactly the authorities in `roots`.
///
/// # Errors
/// See [`client_config`].
pub fn with_roots(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    for error in &found.errors {
        tracing::warn!(error = error as &dyn std::error::Error, "A CA certificate could not be read");
    }
    if ignored > 0 {
        tracing::warn!(ignored, "Some CA certificates were not understood");
    }
    if roots.is_empty() {
        tracing::warn!("The system has no CA certificates: no HTTPS server can be trusted");
    }
    roots
}

#[cfg(test)]
mod tests;
