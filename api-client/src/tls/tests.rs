#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

use super::*;

/// The variable by which the test passes the server's URL to its child process.
const URL: &str = "TLS_TEST_URL";

/// Starts an HTTPS server on localhost; returns its URL and the certificate of its authority.
async fn server() -> (String, rcgen::Certificate) {
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let issuer = Issuer::from_params(&params, &authority_key);
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate aborts the handshake.
            let Ok(mut connection) = acceptor.accept(connection).await else { continue };
            let mut request = [0; 1024];
            drop(connection.read(&mut request).await);
            drop(connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await);
        }
    });
    (url, authority)
}

async fn call(url: &str, config: ClientConfig) -> Result<u16, String> {
    let client = reqwest::Client::builder().tls_backend_preconfigured(config).no_proxy().build().unwrap();
    let response = client.get(url).send().await;
    response.map(|response| response.status().as_u16()).map_err(|error| lifecycle_errors::Chain(&error).to_string())
}

#[tokio::test]
async fn client_trusts_exactly_the_given_authorities() {
    let (url, authority) = server().await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
    assert_eq!(call(&url, with_roots(roots).unwrap()).await, Ok(204));
    let refused = call(&url, with_roots(RootCertStore::empty()).unwrap()).await.unwrap_err();
    assert!(refused.contains("UnknownIssuer"), "{refused}");
}

/// The test runs itself in a child process, because a test must not change the environment of its own process.
#[tokio::test]
async fn client_trusts_the_bundle_of_the_system() {
    if let Ok(url) = std::env::var(URL) {
        let outcome = call(&url, client_config().unwrap()).await;
        assert_eq!(outcome, Ok(204));
        return;
    }
    let (url, authority) = server().await;
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("ca.pem");
    std::fs::write(&bundle, authority.pem()).unwrap();
    let missing = folder.path().join("missing.pem");
    for (name, bundle, trusted) in [("the bundle", &bundle, true), ("no bundle at all", &missing, false)] {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tls::tests::client_trusts_the_bundle_of_the_system"])
            .env(URL, &url)
            .env("SSL_CERT_FILE", bundle)
            .env("SSL_CERT_DIR", "")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await
            .unwrap();
        assert_eq!(status.success(), trusted, "{name}");
    }
}
