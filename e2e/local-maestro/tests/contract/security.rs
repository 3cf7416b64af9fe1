//! TLS, authentication and rights.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use lifecycle_e2e::pki::{Authority, Identity};
use lifecycle_proto::cloud_event_service_client::CloudEventServiceClient;
use lifecycle_proto::{PublishRequest, SubscriptionRequest};
use local_maestro::{Authentication, Grant, LocalMaestro, Options, Tls};
use tonic::transport::{Certificate, Channel, ClientTlsConfig};
use tonic::{Code, Request, Status};

use crate::world::{CONSUMER, SOURCE, World, create};

async fn start(authority: &Authority, authentication: Authentication, grants: &[Grant]) -> Result<LocalMaestro> {
    lifecycle_e2e::init();
    let Identity { certificate, key } = authority.loopback()?;
    let tls = Tls { certificate, key, client_authority: Some(authority.certificate.clone()) };
    let options = Options {
        tls: Some(tls),
        rest_tls: true,
        authentication,
        grants: Some(grants.to_vec()),
        consumers: vec![CONSUMER.to_owned()],
        ..Options::default()
    };
    Ok(LocalMaestro::start(options).await?)
}

fn client(
    maestro: &LocalMaestro,
    authority: &Authority,
    identity: Option<Identity>,
) -> Result<CloudEventServiceClient<Channel>> {
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.certificate));
    let tls = match identity {
        Some(Identity { certificate, key }) => tls.identity(tonic::transport::Identity::from_pem(certificate, key)),
        None => tls,
    };
    let channel = Channel::from_shared(maestro.grpc_url().to_owned())?.tls_config(tls)?.connect_lazy();
    Ok(CloudEventServiceClient::new(channel))
}

fn grant(subject: &str, publish: bool, subscribe: bool) -> Grant {
    Grant { subject: subject.to_owned(), source: SOURCE.to_owned(), publish, subscribe }
}

async fn publish(client: &CloudEventServiceClient<Channel>, id: &str, token: Option<&str>) -> Result<(), Status> {
    let mut request = Request::new(PublishRequest { event: Some(create(id)) });
    if let Some(token) = token {
        let header = format!("Bearer {token}").parse().map_err(|_| Status::internal("no header"))?;
        request.metadata_mut().insert("authorization", header);
    }
    client.clone().publish(request).await.map(drop)
}

async fn subscribe(client: &CloudEventServiceClient<Channel>, source: &str) -> Result<(), Status> {
    let request = SubscriptionRequest { source: source.to_owned(), ..SubscriptionRequest::default() };
    client.clone().subscribe(request).await.map(drop)
}

fn refusal(result: Result<(), Status>) -> Option<(Code, String)> {
    result.err().map(|status| (status.code(), status.message().to_owned()))
}

#[tokio::test]
async fn certificate_names_the_user_and_the_groups() -> Result<()> {
    let authority = Authority::new("clients")?;
    let grants = [grant("writer", true, false), grant("readers", false, true)];
    let maestro = start(&authority, Authentication::Mtls, &grants).await?;
    let writer = client(&maestro, &authority, Some(authority.member("writer", &["somebody"])?))?;
    let reader = client(&maestro, &authority, Some(authority.member("anybody", &["others", "readers"])?))?;
    publish(&writer, "a", None).await?;
    subscribe(&reader, SOURCE).await?;
    let forbidden = |verb: &str| Some((Code::Unknown, format!("unauthorized to {verb} from source {SOURCE}")));
    assert_eq!(refusal(publish(&reader, "b", None).await), forbidden("publish the event"));
    assert_eq!(refusal(subscribe(&writer, SOURCE).await), forbidden("subscribe the event"));
    assert_eq!(refusal(subscribe(&reader, "").await).map(|(code, _)| code), Some(Code::Unknown));
    Ok(())
}

#[tokio::test]
async fn certificate_without_name_or_organization_is_refused() -> Result<()> {
    let authority = Authority::new("clients")?;
    let maestro = start(&authority, Authentication::Mtls, &[grant("a", true, true)]).await?;
    for identity in [None, Some(authority.client("a")?), Some(authority.member("", &["a"])?)] {
        let client = client(&maestro, &authority, identity)?;
        assert_eq!(refusal(publish(&client, "a", None).await).map(|(code, _)| code), Some(Code::Unauthenticated));
    }
    Ok(())
}

#[tokio::test]
async fn token_names_the_user() -> Result<()> {
    let authority = Authority::new("clients")?;
    let tokens = BTreeMap::from([("secret".to_owned(), "writer".to_owned()), ("other".to_owned(), "b".to_owned())]);
    let maestro = start(&authority, Authentication::Tokens(tokens), &[grant("writer", true, false)]).await?;
    let client = client(&maestro, &authority, None)?;
    publish(&client, "a", Some("secret")).await?;
    let cases = [(None, Code::Unauthenticated), (Some("unknown"), Code::Unknown), (Some("other"), Code::Unknown)];
    for (token, code) in cases {
        assert_eq!(refusal(publish(&client, "b", token).await).map(|(code, _)| code), Some(code), "{token:?}");
    }
    Ok(())
}

#[tokio::test]
async fn mock_authentication_allows_everything_even_with_tls() -> Result<()> {
    let authority = Authority::new("clients")?;
    let maestro = start(&authority, Authentication::Mock, &[]).await?;
    let client = client(&maestro, &authority, None)?;
    publish(&client, "a", None).await?;
    subscribe(&client, "any").await?;
    // REST asks nobody who they are.
    let root = reqwest::Certificate::from_pem(authority.certificate.as_bytes())?;
    let http = reqwest::Client::builder().tls_certs_only([root]).build()?;
    let url = format!("{}/api/maestro/v1/resource-bundles/a", maestro.rest_url());
    ensure!(url.starts_with("https://") && http.get(url).send().await?.status() == 200);
    Ok(())
}

#[tokio::test]
async fn without_tls_nobody_is_asked() -> Result<()> {
    let options = Options { authentication: Authentication::Mtls, grants: Some(Vec::new()), ..Options::default() };
    let world = World::with(options).await?;
    world.create().await?;
    world.subscribe("any").await?;
    Ok(())
}

#[tokio::test]
async fn server_speaks_tls_1_3_alone() -> Result<()> {
    let authority = Authority::new("clients")?;
    let maestro = start(&authority, Authentication::Mock, &[]).await?;
    let root = reqwest::Certificate::from_pem(authority.certificate.as_bytes())?;
    let old = reqwest::Client::builder().tls_certs_only([root]).tls_version_max(reqwest::tls::Version::TLS_1_2);
    ensure!(old.build()?.get(maestro.rest_url()).send().await.is_err());
    Ok(())
}
