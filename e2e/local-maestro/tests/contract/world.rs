//! A server with one consumer, a raw gRPC client, and an HTTP client.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lifecycle_e2e::{PATIENCE, unique};
use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::cloud_event_service_client::CloudEventServiceClient;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue, PublishRequest, SubscriptionRequest};
use local_maestro::{HEARTBEAT_TYPE, LocalMaestro, Options};
use serde_json::{Value, json};
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

/// The source of the tests' events.
pub(crate) const SOURCE: &str = "lifecycle";
/// The consumer that is registered.
pub(crate) const CONSUMER: &str = "cluster-a";
/// The data type in the types of events.
const DATA_TYPE: &str = "io.open-cluster-management.works.v1alpha1.manifestbundles";

pub(crate) struct World {
    pub(crate) maestro: LocalMaestro,
    pub(crate) grpc: CloudEventServiceClient<Channel>,
    http: reqwest::Client,
}

/// An answer over REST.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) operation: String,
    pub(crate) body: Value,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        Self::with(Options { heartbeat: Duration::from_millis(50), ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Result<Self> {
        lifecycle_e2e::init();
        let consumers = vec![CONSUMER.to_owned(), "cluster-b".to_owned()];
        let maestro = LocalMaestro::start(Options { consumers, ..options }).await?;
        let channel = Channel::from_shared(maestro.grpc_url().to_owned())?.connect_lazy();
        Ok(Self { maestro, grpc: CloudEventServiceClient::new(channel), http: reqwest::Client::new() })
    }

    pub(crate) async fn publish(&self, event: CloudEvent) -> Result<(), Status> {
        self.grpc.clone().publish(PublishRequest { event: Some(event) }).await.map(drop)
    }

    /// Publishes an event that the server has to refuse, and returns the text of the refusal.
    pub(crate) async fn refused(&self, event: CloudEvent) -> Result<String> {
        match self.publish(event).await {
            Ok(()) => bail!("the server accepted the event"),
            Err(status) => {
                ensure!(status.code() == Code::Unknown, "{status:?}");
                Ok(status.message().to_owned())
            }
        }
    }

    /// Creates a bundle of one ConfigMap, and returns its id.
    pub(crate) async fn create(&self) -> Result<String> {
        let id = unique("bundle");
        self.publish(create(&id)).await?;
        Ok(id)
    }

    pub(crate) async fn subscribe(&self, source: &str) -> Result<Streaming<CloudEvent>> {
        let request = SubscriptionRequest { source: source.to_owned(), ..SubscriptionRequest::default() };
        Ok(self.grpc.clone().subscribe(request).await?.into_inner())
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let url = format!("{}/api/maestro/v1/{path}", self.maestro.rest_url());
        let request = self.http.request(method.parse()?, url);
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await?;
        let status = response.status().as_u16();
        let operation = response.headers().get("x-operation-id").context("no operation id")?.to_str()?.to_owned();
        let text = response.text().await?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).context(text)? };
        Ok(Answer { status, operation, body })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.send("GET", path, &Value::Null).await
    }

    /// A list by a search, in the order of names.
    pub(crate) async fn search(&self, path: &str, search: &str) -> Result<Answer> {
        let url = format!("{}/api/maestro/v1/{path}", self.maestro.rest_url());
        let query = reqwest::Url::parse_with_params(&url, [("search", search), ("orderBy", "id asc")])?;
        self.get(query.as_str().split_once("/v1/").context("no path")?.1).await
    }

    /// The bundle over REST.
    pub(crate) async fn bundle(&self, id: &str) -> Result<Value> {
        self.get(&format!("resource-bundles/{id}")).await?.expect(200)
    }
}

impl Answer {
    /// Checks the status, and returns the body.
    pub(crate) fn expect(self, status: u16) -> Result<Value> {
        ensure!(self.status == status, "expected {status}: {self:?}");
        Ok(self.body)
    }

    /// Checks that this is an error document, and returns its reason.
    pub(crate) fn error(&self, status: u16, code: u16) -> Result<String> {
        let Self { body, operation, .. } = self;
        ensure!(self.status == status, "{self:?}");
        ensure!(body["kind"] == "Error" && body["id"] == code.to_string().as_str(), "{self:?}");
        ensure!(body["href"] == format!("/api/maestro/v1/errors/{code}"), "{self:?}");
        ensure!(body["code"] == format!("maestro-{code}") && body["operation_id"] == *operation, "{self:?}");
        Ok(body["reason"].as_str().context("no reason")?.to_owned())
    }
}

/// An event with the attributes that every spec event has.
pub(crate) fn event(kind: &str, id: &str, version: i32) -> CloudEvent {
    let event = CloudEvent {
        id: unique("event"),
        source: SOURCE.to_owned(),
        spec_version: "1.0".to_owned(),
        r#type: format!("{DATA_TYPE}.{kind}"),
        ..CloudEvent::default()
    };
    let event = with(event, "contenttype", Attr::CeString("application/json".to_owned()));
    let event = with(event, "ce-clustername", Attr::CeString(CONSUMER.to_owned()));
    let event = with(event, "ce-resourceid", Attr::CeString(id.to_owned()));
    with(event, "ce-resourceversion", Attr::CeInteger(version))
}

/// An event that creates a bundle of one ConfigMap.
pub(crate) fn create(id: &str) -> CloudEvent {
    let metadata = json!({ "name": format!("work-{id}"), "labels": { "app": "a" } });
    with_metadata(with_manifests(event("spec.create_request", id, 0), &[config_map("first")]), &metadata)
}

/// An event that updates a bundle to one other ConfigMap.
pub(crate) fn update(id: &str, version: i32) -> CloudEvent {
    with_manifests(event("spec.update_request", id, version), &[config_map("second")])
}

pub(crate) fn delete(id: &str) -> CloudEvent {
    event("spec.delete_request", id, 0)
}

pub(crate) fn with(mut event: CloudEvent, name: &str, value: Attr) -> CloudEvent {
    event.attributes.insert(name.to_owned(), CloudEventAttributeValue { attr: Some(value) });
    event
}

pub(crate) fn without(mut event: CloudEvent, name: &str) -> CloudEvent {
    event.attributes.remove(name);
    event
}

pub(crate) fn with_data(mut event: CloudEvent, data: &Value) -> CloudEvent {
    event.data = Some(Data::BinaryData(data.to_string().into_bytes()));
    event
}

pub(crate) fn with_manifests(event: CloudEvent, manifests: &[Value]) -> CloudEvent {
    with_data(event, &json!({ "manifests": manifests }))
}

pub(crate) fn with_metadata(event: CloudEvent, metadata: &Value) -> CloudEvent {
    with(event, "ce-metadata", Attr::CeString(metadata.to_string()))
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

/// The next event of a stream that is no heartbeat.
pub(crate) async fn next(stream: &mut Streaming<CloudEvent>) -> Result<CloudEvent> {
    loop {
        let event = tokio::time::timeout(PATIENCE, stream.message()).await.context("no event in time")??;
        let event = event.context("the stream has ended")?;
        if event.r#type != HEARTBEAT_TYPE {
            return Ok(event);
        }
    }
}

/// Waits for so many heartbeats, and fails on any other event.
pub(crate) async fn only_heartbeats(stream: &mut Streaming<CloudEvent>, count: usize) -> Result<()> {
    for _ in 0..count {
        let event = tokio::time::timeout(PATIENCE, stream.message()).await.context("no heartbeat in time")??;
        let event = event.context("the stream has ended")?;
        ensure!(event.r#type == HEARTBEAT_TYPE, "{event:?}");
    }
    Ok(())
}

/// A string attribute of an event.
pub(crate) fn text(event: &CloudEvent, name: &str) -> Option<String> {
    match event.attributes.get(name)?.attr.as_ref()? {
        Attr::CeString(text) => Some(text.clone()),
        _ => None,
    }
}

/// The data of an event.
pub(crate) fn data(event: &CloudEvent) -> Result<Value> {
    match &event.data {
        Some(Data::BinaryData(data)) => Ok(serde_json::from_slice(data)?),
        other => bail!("no binary data: {other:?}"),
    }
}
