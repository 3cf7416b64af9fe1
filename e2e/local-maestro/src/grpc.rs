//! The gRPC service.
//!
//! In: requests. Out: stored events, and streams of status events. Fails: with the code `Unknown` and a text, except
//! where authentication or a fault refuses the request.

mod authentication;

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use jiff::Timestamp;
use lifecycle_proto::cloud_event_service_server::CloudEventService;
use lifecycle_proto::{CloudEvent, PublishRequest, SubscriptionRequest};
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status};

pub(crate) use authentication::Gate;

use crate::connection::Connection;
use crate::event::{Event, decode};
use crate::publish::EventType;
use crate::refusal::{Refusal, ServiceError};
use crate::resync;
use crate::state::Shared;

/// The service, for one server.
pub(crate) struct Service {
    pub(crate) shared: Arc<Shared>,
    pub(crate) gate: Gate,
}

#[tonic::async_trait]
impl CloudEventService for Service {
    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<()>, Status> {
        if let Some(event) = &request.get_ref().event {
            self.shared.with(|state| state.published.push(event.clone()));
        }
        if self.shared.faults.takes_unavailable() {
            return Err(Status::unavailable("the server is not available, as the test demands"));
        }
        if self.shared.faults.takes_hanging() {
            return std::future::pending().await;
        }
        // The real server's interceptor for metrics reads the event before anybody asks for the user.
        let event = decode(request.get_ref().event.as_ref()).map_err(Refusal::Convert)?;
        let user = self.gate.authenticate(&request)?;
        self.gate.authorize_publish(user.as_ref(), &event.source)?;
        self.take(&event).await?;
        if self.shared.faults.takes_lost_answer() {
            connection(&request).cut();
            return std::future::pending().await;
        }
        Ok(Response::new(()))
    }

    type SubscribeStream = Pin<Box<dyn Stream<Item = Result<CloudEvent, Status>> + Send + 'static>>;

    async fn subscribe(
        &self,
        request: Request<SubscriptionRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let user = self.gate.authenticate(&request)?;
        // The real server reads neither the name of a cluster nor a type of data.
        let source = request.get_ref().source.clone();
        self.gate.authorize_subscribe(user.as_ref(), &source)?;
        let (id, stream) = self.shared.subscribers.add(source, connection(&request), self.shared.faults.pace());
        let mut response: Response<Self::SubscribeStream> = Response::new(Box::pin(stream));
        let id = MetadataValue::try_from(id.to_string()).map_err(|error| Status::internal(error.to_string()))?;
        response.metadata_mut().insert("subscription-id", id);
        Ok(response)
    }
}

impl Service {
    async fn take(&self, event: &Event) -> Result<(), Refusal> {
        let kind = EventType::parse(&event.kind)?;
        if kind.action == "update_request" && self.shared.faults.takes_locked() {
            let reason = "failed to acquire the advisory lock".to_owned();
            return Err(Refusal::Update(ServiceError::new(26, reason)));
        }
        if !kind.is_status_resync() {
            return self.shared.store(event, &kind);
        }
        let events = self.shared.with(|state| resync::answer(&state.database, event, Timestamp::now()))?;
        self.shared.broadcast(events).await;
        Ok(())
    }
}

fn connection<T>(request: &Request<T>) -> Connection {
    request.extensions().get::<Connection>().cloned().unwrap_or_default()
}
