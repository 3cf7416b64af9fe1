//! TLS, certificates and tokens, and their renewal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use lifecycle_maestro::{Settings, tls};
use lifecycle_objects::write::WriteErrorKind;
use local_maestro::{Authentication, Grant, LocalMaestro, Options, Tls};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::world::{CONSUMER, client, kind, settings, work};

/// A certificate authority of the test.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    fn new() -> Result<Self> {
        let (key, mut params) = (KeyPair::generate()?, CertificateParams::new(Vec::new())?);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    fn issue(&self, hosts: &[&str], name: &str) -> Result<(String, String)> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, "adapters");
        Ok((params.signed_by(&key, &self.issuer)?.pem(), key.serialize_pem()))
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}

async fn server(
    authority: &Authority,
    clients: Option<&Authority>,
    authentication: Authentication,
) -> Result<LocalMaestro> {
    lifecycle_e2e::init();
    let (certificate, key) = authority.issue(&["127.0.0.1"], "maestro")?;
    let client_authority = clients.map(|clients| clients.certificate.clone());
    let grant = Grant { subject: "tester".to_owned(), source: "tester".to_owned(), publish: true, subscribe: false };
    let options = Options {
        tls: Some(Tls { certificate, key, client_authority }),
        rest_tls: true,
        authentication,
        grants: Some(vec![grant]),
        consumers: vec![CONSUMER.to_owned()],
        ..Options::default()
    };
    Ok(LocalMaestro::start(options).await?)
}

fn secure(server: &LocalMaestro, authorities: &Path, pair: Option<(PathBuf, PathBuf)>) -> Settings {
    Settings {
        grpc_files: Some(tls::Files { authorities: authorities.to_owned(), pair }),
        http_files: Some(tls::Files { authorities: authorities.to_owned(), pair: None }),
        ..settings(server.grpc_url(), server.rest_url())
    }
}

#[tokio::test]
async fn certificate_proves_who_writes_and_a_renewed_one_counts_at_the_next_connection() -> Result<()> {
    let (servers, clients) = (Authority::new()?, Authority::new()?);
    let server = server(&servers, Some(&clients), Authentication::Mtls).await?;
    let folder = tempfile::tempdir()?;
    let authorities = write(folder.path(), "ca", &servers.certificate)?;
    // A certificate of somebody who may not publish as this source.
    let (certificate, key) = clients.issue(&[], "stranger")?;
    let pair = (write(folder.path(), "cert", &certificate)?, write(folder.path(), "key", &key)?);
    let client = client(secure(&server, &authorities, Some(pair)))?;
    assert_eq!(kind(client.create(&work("w", "one"), CONSUMER).await), WriteErrorKind::Forbidden);

    let (certificate, key) = clients.issue(&[], "tester")?;
    write(folder.path(), "cert", &certificate)?;
    write(folder.path(), "key", &key)?;
    assert_eq!(kind(client.create(&work("w", "one"), CONSUMER).await), WriteErrorKind::Forbidden, "the old connection");
    server.restart(None);
    // The first call may find the broken connection.
    let first = client.create(&work("w", "one"), CONSUMER).await;
    if first.is_err() {
        assert_eq!(kind(first), WriteErrorKind::Unreachable);
        client.create(&work("w", "one"), CONSUMER).await?;
    }
    assert!(client.get(CONSUMER, "w").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn token_is_read_again_when_its_file_changes() -> Result<()> {
    let servers = Authority::new()?;
    let tokens = BTreeMap::from([("good".to_owned(), "tester".to_owned())]);
    let server = server(&servers, None, Authentication::Tokens(tokens)).await?;
    let folder = tempfile::tempdir()?;
    let authorities = write(folder.path(), "ca", &servers.certificate)?;
    let token = write(folder.path(), "token", "bad\n")?;
    let client = client(Settings { token: Some(token.clone()), ..secure(&server, &authorities, None) })?;
    assert!(client.create(&work("w", "one"), CONSUMER).await.is_err());
    std::fs::write(&token, "good\n")?;
    client.create(&work("w", "one"), CONSUMER).await?;
    std::fs::remove_file(&token)?;
    assert_eq!(kind(client.create(&work("v", "one"), CONSUMER).await), WriteErrorKind::Forbidden);
    Ok(())
}

#[tokio::test]
async fn server_of_another_authority_is_not_spoken_to_until_the_file_names_it() -> Result<()> {
    let (servers, others) = (Authority::new()?, Authority::new()?);
    let server = server(&servers, None, Authentication::Mock).await?;
    let folder = tempfile::tempdir()?;
    let authorities = write(folder.path(), "ca", &others.certificate)?;
    let client = client(secure(&server, &authorities, None))?;
    assert_eq!(kind(client.create(&work("w", "one"), CONSUMER).await), WriteErrorKind::Unreachable);
    assert_eq!(kind(client.get(CONSUMER, "w").await), WriteErrorKind::Unreachable);
    assert_eq!(server.published().len(), 0);
    write(folder.path(), "ca", &servers.certificate)?;
    client.create(&work("w", "one"), CONSUMER).await?;
    assert!(client.get(CONSUMER, "w").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn unusable_file_keeps_the_client_from_starting() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = Authority::new()?;
    let (certificate, key) = authority.issue(&[], "tester")?;
    let (_, other) = authority.issue(&[], "tester")?;
    let path = |name: &str, text: &str| write(folder.path(), name, text);
    let (ca, certificate, key, other) =
        (path("ca", &authority.certificate)?, path("cert", &certificate)?, path("key", &key)?, path("other", &other)?);
    let empty = path("empty", "")?;
    let cases = [
        (ca.clone(), None, None),
        (ca.clone(), Some((certificate.clone(), key.clone())), None),
        (folder.path().join("none"), None, Some("cannot be read")),
        (empty.clone(), None, Some("contains no certificate")),
        (ca.clone(), Some((certificate.clone(), empty)), Some("has no usable key")),
        (ca, Some((certificate, other)), Some("does not fit")),
    ];
    for (authorities, pair, expected) in cases {
        let files = Some(tls::Files { authorities, pair });
        let built = client(Settings { grpc_files: files, ..settings("127.0.0.1:1", "http://127.0.0.1:1") });
        let told = built.err().map(|error| format!("{error:#}"));
        match (told, expected) {
            (None, None) => {}
            (Some(told), Some(expected)) => assert!(told.contains(expected), "{told}"),
            (told, expected) => panic!("{told:?} instead of {expected:?}"),
        }
    }
    Ok(())
}
