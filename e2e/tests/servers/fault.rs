//! Tests of injected faults, as a Kubernetes client, an AMQP client and an HTTP client observe them.

use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::fault::{Fault, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::rabbitmq::Broker;
use lifecycle_e2e::sentinel::Event;
use serde_json::json;

/// A test namespace, a proxy of the API server, and a client for config maps that uses the proxy.
async fn through_a_proxy() -> anyhow::Result<(TestNamespace, Proxy, Api<ConfigMap>)> {
    let control_plane = ControlPlane::shared().await?;
    let namespace = control_plane.namespace().await?;
    let proxy = control_plane.proxy().await?;
    let maps = Api::namespaced(proxy.access()?.client().await?, namespace.name());
    Ok((namespace, proxy, maps))
}

fn config_map(name: &str) -> anyhow::Result<ConfigMap> {
    Ok(serde_json::from_value(json!({"metadata": {"name": name}}))?)
}

#[tokio::test]
async fn injected_status_looks_like_the_api_servers_own() -> anyhow::Result<()> {
    let (_namespace, proxy, maps) = through_a_proxy().await?;
    let cases = [
        (409, "AlreadyExists"),
        (410, "Expired"),
        (422, "Invalid"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ];
    for (code, reason) in cases {
        proxy.heal();
        proxy.inject(When::method("POST").path_ends("/configmaps").nth(1), Fault::Status(code));
        let name = format!("refused-{code}");
        let refused = maps.create(&PostParams::default(), &config_map(&name)?).await.err();
        let Some(kube::Error::Api(status)) = refused else { anyhow::bail!("{code}: {refused:?}") };
        assert_eq!((status.code, status.reason.as_str()), (code, reason));
        maps.create(&PostParams::default(), &config_map(&name)?).await.context("the second request passes")?;
    }
    assert_eq!(proxy.count(&When::method("POST")), 2 * cases.len());
    Ok(())
}

#[tokio::test]
async fn injected_429_has_a_retry_after_header() -> anyhow::Result<()> {
    let (namespace, proxy, _) = through_a_proxy().await?;
    proxy.inject(When::any(), Fault::TooManyRequests { retry_after: 7 });
    let access = proxy.access()?;
    let authority = reqwest::Certificate::from_pem(&std::fs::read(&access.certificate_authority)?)?;
    let client = reqwest::Client::builder().tls_certs_only([authority]).build()?;
    let url = format!("{}/api/v1/namespaces/{}/configmaps?limit=1", proxy.url(), namespace.name());
    let response = client.get(url).bearer_auth(&access.token).send().await?;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers().get("retry-after").context("no header")?, "7");
    let path = format!("GET /api/v1/namespaces/{}/configmaps?limit=1", namespace.name());
    assert_eq!(proxy.lines(), [path]);
    Ok(())
}

#[tokio::test]
async fn reset_before_loses_the_request_and_reset_after_the_answer() -> anyhow::Result<()> {
    let (namespace, proxy, maps) = through_a_proxy().await?;
    let direct: Api<ConfigMap> = namespace.api().await?;
    for (name, fault, exists) in [("before", Fault::ResetBefore, false), ("after", Fault::ResetAfter, true)] {
        proxy.heal();
        proxy.inject(When::method("POST"), fault);
        let lost = maps.create(&PostParams::default(), &config_map(name)?).await.err();
        assert!(matches!(lost, Some(kube::Error::HyperError(_) | kube::Error::Service(_))), "{name}: {lost:?}");
        assert_eq!(direct.get_opt(name).await?.is_some(), exists, "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn held_request_reaches_the_server_after_release() -> anyhow::Result<()> {
    let (namespace, proxy, maps) = through_a_proxy().await?;
    let direct: Api<ConfigMap> = namespace.api().await?;
    let gate = proxy.hold(When::method("POST"));
    let create = tokio::spawn(async move {
        maps.create(&PostParams::default(), &config_map("held")?).await.map_err(anyhow::Error::from)
    });
    gate.reached().await;
    assert!(direct.get_opt("held").await?.is_none(), "the server has not seen it");
    gate.release();
    create.await??;
    assert!(direct.get_opt("held").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn held_answer_is_that_of_a_request_that_was_carried_out() -> anyhow::Result<()> {
    let (namespace, proxy, maps) = through_a_proxy().await?;
    let direct: Api<ConfigMap> = namespace.api().await?;
    let gate = proxy.hold_answer(When::method("POST"));
    let (params, map) = (PostParams::default(), config_map("held")?);
    let mut create = pin!(maps.create(&params, &map));
    tokio::select! {
        answer = &mut create => anyhow::bail!("it was answered: {answer:?}"),
        () = gate.reached() => {}
    }
    assert!(direct.get_opt("held").await?.is_some(), "the server has carried it out");
    assert!(futures::poll!(&mut create).is_pending());
    gate.release();
    create.await?;
    Ok(())
}

#[tokio::test]
async fn silenced_request_gets_no_answer() -> anyhow::Result<()> {
    let (_namespace, proxy, maps) = through_a_proxy().await?;
    proxy.inject(When::method("GET").first(1), Fault::Silence);
    let (params, get) = (ListParams::default(), When::method("GET"));
    let mut list = pin!(maps.list(&params));
    tokio::select! {
        answer = &mut list => anyhow::bail!("it was answered: {answer:?}"),
        arrived = proxy.await_count(&get, 1, PATIENCE) => arrived?,
    }
    assert!(futures::poll!(&mut list).is_pending());
    Ok(())
}

#[tokio::test]
async fn watch_streams_through_the_proxy() -> anyhow::Result<()> {
    let (namespace, _proxy, maps) = through_a_proxy().await?;
    let direct: Api<ConfigMap> = namespace.api().await?;
    let version = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
    let mut events = pin!(maps.watch(&WatchParams::default(), &version).await?);
    direct.create(&PostParams::default(), &config_map("watched")?).await?;
    loop {
        let event = tokio::time::timeout(PATIENCE, events.next()).await?.context("the watch ended")??;
        match event {
            WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("watched") => return Ok(()),
            _ => {}
        }
    }
}

#[tokio::test]
async fn cut_proxy_resets_connections_and_later_accepts_new_ones() -> anyhow::Result<()> {
    let broker = Broker::shared().await?;
    let proxy = broker.proxy().await?;
    let seen = broker.through(&proxy)?;
    let topic = seen.topic().await?;
    proxy.cut();
    let lost = tokio::time::timeout(PATIENCE, topic.publish(&Event::cluster("c1", 1))).await?;
    assert!(lost.is_err(), "a cut connection does not publish");

    proxy.refuse();
    assert!(seen.connect().await.is_err(), "refused");
    proxy.restore();
    seen.connect().await?;
    assert!(proxy.connections() >= 3, "refused connections count");
    Ok(())
}

#[tokio::test]
async fn plain_http_server_can_be_proxied() -> anyhow::Result<()> {
    let api = lifecycle_e2e::api::LocalApi::start().await?;
    api.put_cluster("c1", 1).await?;
    let proxy = Proxy::before_http(&api.url()).await?;
    proxy.inject(When::any().nth(2), Fault::Status(503));
    let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build()?;
    let url = format!("{}/api/hyperfleet/v1/clusters/c1", proxy.url());
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(client.get(&url).send().await?.status().as_u16());
    }
    assert_eq!(seen, [200, 503, 200]);
    assert_eq!(api.requests().len(), 2, "the refused request did not reach the server");
    Ok(())
}
