//! Where events come from.
//!
//! In: messages of a broker, or HTTP requests. Out: [`Incoming`] events in the order in which the source gave
//! them, each with a [`Settlement`] by which whoever processes it says what becomes of the message.
//!
//! An input neither reads nor judges what it hands on, and does not decide what is processed when. Each input
//! bounds how many of its events are unsettled at a time (a broker by prefetch, HTTP by answering 429), so
//! whoever takes them needs no bound of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use lifecycle_core::event::{EventError, LifecycleEvent};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub mod http;
#[cfg(feature = "pubsub")]
pub mod pubsub;
pub mod rabbitmq;

/// A subscription at a broker.
pub trait Input: Send + 'static {
    /// Hands events to `inbox` until `stop`, then unsubscribes, is [`InputState::Disconnected`], and waits until every one
    /// of them is settled. It can run again, and subscribes anew.
    ///
    /// An input does not fail: what it lost it tries to regain for ever, and says so in its [`InputState`].
    fn run(&mut self, inbox: &mpsc::Sender<Incoming>, stop: &CancellationToken) -> impl Future<Output = ()> + Send;
}

/// Whether a source of events can be reached, for the readiness probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputState {
    /// Events can arrive.
    Connected,
    /// No event can arrive until the source is back.
    Disconnected,
}

/// An event that arrived and is not settled yet.
#[derive(Debug)]
pub struct Incoming {
    /// What arrived.
    pub message: Message,
    /// When it arrived.
    pub received_at: Instant,
    /// Says what becomes of it. Dropped unused, the message is requeued.
    pub settlement: Settlement,
}

impl Incoming {
    /// A message that arrives now, and the word of what shall become of it.
    #[must_use]
    pub fn new(message: Message) -> (Self, Settled) {
        let (sender, receiver) = oneshot::channel();
        (Self { message, received_at: Instant::now(), settlement: Settlement(sender) }, Settled(receiver))
    }
}

/// An event as it came off the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Attributes and data in one JSON object.
    Structured(Bytes),
    /// Attributes beside the data.
    Binary {
        /// Names without the transport's prefix, and values.
        attributes: Vec<(String, String)>,
        /// The data.
        body: Bytes,
    },
}

impl Message {
    /// Reads the event.
    ///
    /// # Errors
    /// It is over `max_bytes` or no usable CloudEvent.
    pub fn parse(&self, max_bytes: usize) -> Result<LifecycleEvent, EventError> {
        match self {
            Self::Structured(body) => LifecycleEvent::from_structured(body, max_bytes),
            Self::Binary { attributes, body } => {
                let attributes = attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                LifecycleEvent::from_binary(attributes, body, max_bytes)
            }
        }
    }
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It is done with.
    Ack,
    /// Somebody shall have it again.
    Requeue,
    /// It can never succeed: rejected without requeue, which hands it to the broker's dead-letter exchange
    /// or topic if one is configured, and discards it if none is.
    DeadLetter {
        /// Why, for whoever sent it.
        reason: String,
    },
}

/// The right to say, once, what becomes of a message.
#[derive(Debug)]
pub struct Settlement(oneshot::Sender<Disposition>);

impl Settlement {
    /// Settles. If the message's channel was lost meanwhile nobody listens, and the broker delivers it again.
    pub fn settle(self, disposition: Disposition) {
        let _ = self.0.send(disposition);
    }
}

/// Resolves to what shall become of a message.
#[derive(Debug)]
pub struct Settled(oneshot::Receiver<Disposition>);

impl Future for Settled {
    type Output = Disposition;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Disposition> {
        // Whoever held the right and vanished (a panic, a cancelled task) did not finish the event.
        Pin::new(&mut self.0).poll(context).map(|settled| settled.unwrap_or(Disposition::Requeue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_settlement_that_is_dropped_requeues() {
        let (incoming, settled) = Incoming::new(Message::Structured(Bytes::new()));
        drop(incoming);
        assert_eq!(settled.await, Disposition::Requeue);
    }

    #[tokio::test]
    async fn settling_after_the_channel_is_lost_is_quiet() {
        let (incoming, settled) = Incoming::new(Message::Structured(Bytes::new()));
        drop(settled);
        incoming.settlement.settle(Disposition::Ack);
    }
}
