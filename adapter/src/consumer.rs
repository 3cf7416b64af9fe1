//! The inputs: they receive events from a broker or over HTTP.
//!
//! In: messages of a broker, or HTTP requests. Out: [`Incoming`] events in the order in which the source
//! delivered them. Each event carries a [`Settlement`], by which the dispatcher acknowledges, requeues or
//! dead-letters the message.
//!
//! An input neither parses events nor chooses their order. Each input limits its own unsettled events (a broker
//! by its prefetch count, HTTP by the status 429), so that the dispatcher needs no limit.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_errors::Chain;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub mod http;
#[cfg(feature = "pubsub")]
pub mod pubsub;
pub mod rabbitmq;

/// A subscription to a broker.
pub trait Input: Send + 'static {
    /// Sends events to `inbox` until `stop`. Then unsubscribes, sets the state [`InputState::Disconnected`],
    /// and waits until every event it sent is settled. A second call subscribes again.
    ///
    /// An input never fails: after a lost connection it reconnects, without a limit of attempts, and publishes
    /// its [`InputState`].
    fn run(&mut self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) -> impl Future<Output = ()> + Send;
}

/// Whether the input is connected to its broker, for the readiness probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputState {
    /// The input is connected, so that events can arrive.
    Connected,
    /// No event can arrive until the input has reconnected.
    Disconnected,
}

/// An event that arrived and is not settled yet.
#[derive(Debug)]
pub struct Incoming {
    /// The message, not parsed yet.
    pub message: Message,
    /// The time at which the adapter received the message, from which the waiting time of its event counts.
    pub received_at: Instant,
    /// Settles the message. Dropping the settlement requeues the message.
    pub settlement: Settlement,
}

impl Incoming {
    /// Pairs a message that arrived just now with the future of its disposition.
    #[must_use]
    pub fn new(message: Message) -> (Self, Settled) {
        let (sender, receiver) = oneshot::channel();
        (Self { message, received_at: Instant::now(), settlement: Settlement(sender) }, Settled(receiver))
    }
}

/// An event as the transport encoded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Structured mode of CloudEvents: one JSON object with attributes and data.
    Structured(Bytes),
    /// Binary mode of CloudEvents: the data is the body, the attributes are headers.
    Binary {
        /// Pairs of attribute name, without the transport's prefix, and value.
        attributes: Vec<(String, String)>,
        /// The message's body: the `data` of the event.
        body: Bytes,
    },
    /// The input itself could not take the message, for this reason; so it is logged and counted as every other
    /// message that is no event.
    Refused(String),
}

impl Message {
    /// Parses the event.
    ///
    /// # Errors
    /// The message is larger than `max_bytes`, or is not a valid CloudEvent. Returns the error's whole text.
    pub fn parse(&self, max_bytes: usize) -> Result<LifecycleEvent, String> {
        let parsed = match self {
            Self::Refused(reason) => return Err(reason.clone()),
            Self::Structured(body) => LifecycleEvent::from_structured(body, max_bytes),
            Self::Binary { attributes, body } => {
                let attributes = attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                LifecycleEvent::from_binary(attributes, body, max_bytes)
            }
        };
        parsed.map_err(|error| Chain(&error).to_string())
    }
}

/// The settlement of a message: acknowledge, requeue, or dead-letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Acknowledge: the broker forgets the message.
    Ack,
    /// Requeue: the broker delivers the message again, to any consumer.
    Requeue,
    /// Reject without requeue, because the event can never succeed. The broker moves the message to its
    /// dead-letter exchange or topic; without one, it discards the message.
    DeadLetter {
        /// Why the event can never succeed, for its sender.
        reason: String,
    },
}

/// Settles one message, once. Dropping it requeues the message.
#[derive(Debug)]
pub struct Settlement(oneshot::Sender<Disposition>);

impl Settlement {
    /// Settles the message. Has no effect if the input lost its connection, because the broker then redelivers
    /// every unsettled message.
    pub fn settle(self, disposition: Disposition) {
        let _ = self.0.send(disposition);
    }
}

/// A future of the disposition that the holder of the [`Settlement`] chooses.
#[derive(Debug)]
pub struct Settled(oneshot::Receiver<Disposition>);

impl Future for Settled {
    type Output = Disposition;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Disposition> {
        // A settlement that was dropped means that its pass panicked or was cancelled, so the event needs
        // another delivery.
        Pin::new(&mut self.0).poll(context).map(|settled| settled.unwrap_or(Disposition::Requeue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dropped_settlement_requeues_the_message() {
        let (incoming, settled) = Incoming::new(Message::Structured(Bytes::new()));
        drop(incoming);
        assert_eq!(settled.await, Disposition::Requeue);
    }

    #[tokio::test]
    async fn settling_after_the_channel_is_lost_has_no_effect() {
        let (incoming, settled) = Incoming::new(Message::Structured(Bytes::new()));
        drop(settled);
        incoming.settlement.settle(Disposition::Ack);
    }
}
