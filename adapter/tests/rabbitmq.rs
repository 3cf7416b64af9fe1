//! Tests of the RabbitMQ input and the dispatcher with a real broker, from a message to its settlement.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hyperfleet_adapter::consumer::rabbitmq::{ExchangeType, RabbitMqInput, RabbitMqOptions, Topology};
use hyperfleet_adapter::consumer::{Disposition, Input, InputState};
use hyperfleet_adapter::dispatch::{DispatchOptions, Dispatcher, Drained, Handled, Handler, NoMetrics};
use lapin::BasicProperties;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_e2e::rabbitmq::{Broker, PrivateBroker, Topic};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

const SUBSCRIPTION: &str = "job";

/// The resource and generation of a handled event.
type Pass = (String, i64);

/// A handler that records its events. Each pass waits for a permit before it ends.
struct Recorder {
    /// The passes in the order of their starts.
    started: watch::Sender<Vec<Pass>>,
    permits: Semaphore,
    running: Mutex<BTreeMap<String, usize>>,
}

impl Recorder {
    fn new(permits: usize) -> Arc<Self> {
        let permits = Semaphore::new(permits);
        Arc::new(Self { started: watch::Sender::default(), permits, running: Mutex::default() })
    }

    async fn until(&self, what: &str, condition: impl Fn(&[Pass]) -> bool) -> Result<Vec<Pass>> {
        let mut started = self.started.subscribe();
        let seen = timeout(PATIENCE, started.wait_for(|started| condition(started))).await;
        let seen = seen.with_context(|| format!("no {what}, but {:?}", self.started.borrow()))??;
        Ok(seen.clone())
    }

    async fn until_started(&self, count: usize) -> Result<Vec<Pass>> {
        self.until(&format!("{count} passes"), |started| started.len() >= count).await
    }
}

impl Handler for Recorder {
    async fn handle(&self, event: LifecycleEvent, _deadline: Instant) -> Handled {
        let resource = event.resource_id;
        let beside = std::mem::replace(self.running.lock().unwrap().entry(resource.clone()).or_default(), 1);
        assert_eq!(beside, 0, "two concurrent passes for {resource}");
        self.started.send_modify(|started| started.push((resource.clone(), event.generation.0)));
        self.permits.acquire().await.unwrap().forget();
        self.running.lock().unwrap().insert(resource, 0);
        Handled::Done
    }
}

/// An input with its dispatcher, connected as in the adapter.
struct Adapter {
    state: watch::Receiver<InputState>,
    stop: CancellationToken,
    input: JoinHandle<()>,
    dispatcher: JoinHandle<Drained>,
}

fn topology(topic: &str, exchange_type: ExchangeType) -> Topology {
    Topology::new(topic, SUBSCRIPTION, None, exchange_type, None)
}

fn options(broker: &Broker, topology: Topology) -> RabbitMqOptions {
    RabbitMqOptions {
        url: broker.url().parse().unwrap(),
        topology,
        prefetch: NonZeroU16::new(32).unwrap(),
        consumer_tag: String::new(),
        connection_name: "test".to_owned(),
    }
}

impl Adapter {
    async fn start(broker: &Broker, topic: &Topic, handler: &Arc<Recorder>, grace: Duration) -> Result<Self> {
        let connected = watch::Sender::new(InputState::Disconnected);
        let state = connected.subscribe();
        let options = options(broker, topology(topic.name(), ExchangeType::Topic));
        let mut input = RabbitMqInput::connect(options, connected).await?;
        let limits = DispatchOptions {
            parallelism: NonZeroUsize::new(8).unwrap(),
            event_deadline: PATIENCE,
            shutdown_grace: grace,
        };
        let stop = CancellationToken::new();
        let (sender, inbox) = mpsc::channel(32);
        let dispatcher =
            Dispatcher::new(Arc::clone(handler), limits, Arc::new(NoMetrics), watch::Sender::default().subscribe());
        Ok(Self {
            state,
            input: tokio::spawn({
                let stop = stop.clone();
                async move { input.run(&sender, &stop).await }
            }),
            dispatcher: tokio::spawn(dispatcher.run(inbox, stop.clone())),
            stop,
        })
    }

    async fn stop(self) -> Result<Drained> {
        self.stop.cancel();
        let drained = self.dispatcher.await?;
        timeout(PATIENCE, self.input).await??;
        Ok(drained)
    }

    async fn until_state(&mut self, wanted: InputState) -> Result<()> {
        let seen = timeout(PATIENCE, self.state.wait_for(|state| *state == wanted)).await;
        seen.with_context(|| format!("never {wanted:?}"))??;
        Ok(())
    }
}

async fn await_ready(broker: &Broker, queue: &str, wanted: u32) -> Result<()> {
    await_condition(&format!("{wanted} messages in {queue}"), PATIENCE, async || {
        let depth = broker.depth(queue).await?;
        ensure!(depth.ready == wanted && depth.consumers == 0, "{depth:?}");
        Ok(())
    })
    .await
}

fn pass(resource: &str, generation: i64) -> Pass {
    (resource.to_owned(), generation)
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_of_the_go_adapter_is_consumed() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let queue = topic.subscribe(SUBSCRIPTION).await?;
    assert_eq!(topology(topic.name(), ExchangeType::Topic).queue(), queue);
    topic.publish(&Event::cluster("c", 1)).await?;

    let handler = Recorder::new(9);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    handler.until_started(1).await?;
    topic.publish(&Event::node_pool("c", "n", 2)).await?;
    assert_eq!(handler.until_started(2).await?, [pass("c", 1), pass("n", 2)]);
    adapter.stop().await?;
    await_ready(&broker, &queue, 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_stop_a_go_consumer_are_accepted() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(9);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;

    let mut headers = FieldTable::default();
    headers.insert("x-delivery-count".into(), AMQPValue::LongInt(2));
    let properties = BasicProperties::default().with_headers(headers).with_content_type("text/plain".into());
    topic.publish_raw(&Event::cluster("structured", 1).to_bytes()?, properties).await?;
    handler.until_started(1).await?;

    let mut headers = FieldTable::default();
    for (name, value) in [("specversion", "1.0"), ("id", "e"), ("source", "s"), ("type", "t")] {
        headers.insert(format!("cloudEvents:{name}").into(), AMQPValue::LongString(value.into()));
    }
    let properties = BasicProperties::default().with_headers(headers).with_content_type("application/json".into());
    topic.publish_raw(br#"{"id": "binary", "generation": 2}"#, properties).await?;

    assert_eq!(handler.until_started(2).await?, [pass("structured", 1), pass("binary", 2)]);
    adapter.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn event_longer_than_a_frame_is_received() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(9);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    let long = "x".repeat(200_000);
    topic.publish(&Event::cluster("c", 7).with("notes", long.into())).await?;
    assert_eq!(handler.until_started(1).await?, [pass("c", 7)]);
    adapter.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_longer_than_a_frame_do_not_block_the_queue() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(9);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    let mut headers = FieldTable::default();
    headers.insert("long".into(), AMQPValue::LongString("x".repeat(60_000).as_str().into()));
    let properties = BasicProperties::default().with_headers(headers);
    topic.publish_raw(&Event::cluster("long", 1).to_bytes()?, properties).await?;
    topic.publish(&Event::cluster("c", 1)).await?;
    let mut passes = handler.until_started(2).await?;
    // Passes of two resources are tasks of their own, and either may start first.
    passes.sort();
    assert_eq!(passes, [pass("c", 1), pass("long", 1)]);
    adapter.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_message_is_discarded_without_a_policy() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(9);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    topic.publish_raw(b"poison", BasicProperties::default()).await?;
    topic.publish(&Event::cluster("c", 1)).await?;
    assert_eq!(handler.until_started(1).await?, [pass("c", 1)]);
    adapter.stop().await?;
    await_ready(&broker, &topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_message_is_dead_lettered_by_the_brokers_policy() -> Result<()> {
    let private = PrivateBroker::start().await?;
    let broker = private.broker();
    let topic = broker.topic().await?;
    let connection = broker.connect().await?;
    let channel = connection.create_channel().await?;
    let (exchange, queue) = (ExchangeDeclareOptions::default(), QueueDeclareOptions::default());
    let fanout = lapin::ExchangeKind::Fanout;
    channel.exchange_declare("dead".into(), fanout, exchange, FieldTable::default()).await?;
    channel.queue_declare("dead".into(), queue, FieldTable::default()).await?;
    let binding = QueueBindOptions::default();
    channel.queue_bind("dead".into(), "dead".into(), "".into(), binding, FieldTable::default()).await?;
    let definition = r#"{"dead-letter-exchange": "dead"}"#;
    private.control(&["set_policy", "dead-letters", "^topic-", definition, "--apply-to", "queues"]).await?;

    let handler = Recorder::new(9);
    let adapter = Adapter::start(broker, &topic, &handler, PATIENCE).await?;
    topic.publish_raw(b"poison", BasicProperties::default()).await?;
    let dead = topic.take("dead", PATIENCE).await?;
    assert_eq!(dead.body, b"poison");
    let headers = dead.properties.headers().as_ref().context("no headers")?;
    assert_eq!(headers.inner().get("x-first-death-reason"), Some(&AMQPValue::LongString("rejected".into())));
    adapter.stop().await?;
    await_ready(broker, &topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_requeues_passes_that_have_not_ended() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(0);
    let adapter = Adapter::start(&broker, &topic, &handler, Duration::ZERO).await?;
    for (resource, generation) in [("a", 3), ("a", 2), ("b", 1)] {
        topic.publish(&Event::cluster(resource, generation)).await?;
    }
    handler.until_started(2).await?;
    let drained = adapter.stop().await?;
    assert_eq!((drained.finished, drained.cancelled), (0, 2));
    await_ready(&broker, &topic.queue_name(SUBSCRIPTION), 3).await
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_finishes_running_passes_and_acknowledges_them() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(0);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    topic.publish(&Event::cluster("a", 1)).await?;
    handler.until_started(1).await?;
    adapter.stop.cancel();
    handler.permits.add_permits(1);
    assert_eq!(adapter.stop().await?, Drained { finished: 1, requeued: 0, cancelled: 0 });
    await_ready(&broker, &topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_connection_is_regained_and_its_events_redelivered() -> Result<()> {
    let broker = Broker::shared().await?;
    let proxy = broker.proxy().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(0);
    let mut adapter = Adapter::start(&broker.through(&proxy)?, &topic, &handler, PATIENCE).await?;
    adapter.until_state(InputState::Connected).await?;
    topic.publish(&Event::cluster("a", 1)).await?;
    handler.until_started(1).await?;

    proxy.refuse();
    adapter.until_state(InputState::Disconnected).await?;
    proxy.await_connections(2).await;
    proxy.restore();
    adapter.until_state(InputState::Connected).await?;
    topic.publish(&Event::cluster("b", 1)).await?;
    let passes = handler.until_started(2).await?;
    assert_eq!(passes, [pass("a", 1), pass("b", 1)], "the redelivered event waits until its first pass has ended");
    handler.permits.add_permits(9);
    assert_eq!(handler.until_started(3).await?.last(), Some(&pass("a", 1)));
    adapter.stop().await?;
    await_ready(&broker, &topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_input_is_disconnected_while_passes_run() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let sender = watch::Sender::new(InputState::Disconnected);
    let mut state = sender.subscribe();
    let mut input =
        RabbitMqInput::connect(options(&broker, topology(topic.name(), ExchangeType::Topic)), sender).await?;
    let (inbox, mut events) = mpsc::channel(32);
    let (first, second) = (CancellationToken::new(), CancellationToken::new());
    let running = tokio::spawn({
        let (first, second) = (first.clone(), second.clone());
        async move {
            input.run(&inbox, &first).await;
            input.run(&inbox, &second).await;
        }
    });
    assert_eq!(*state.borrow_and_update(), InputState::Connected);
    topic.publish(&Event::cluster("a", 1)).await?;
    let unsettled = timeout(PATIENCE, events.recv()).await?.context("no event")?;
    first.cancel();
    timeout(PATIENCE, state.wait_for(|state| *state == InputState::Disconnected)).await??;
    unsettled.settlement.settle(Disposition::Ack);
    timeout(PATIENCE, state.wait_for(|state| *state == InputState::Connected)).await??;
    second.cancel();
    Ok(timeout(PATIENCE, running).await??)
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_queue_is_declared_again() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let handler = Recorder::new(9);
    let mut adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    let connection = broker.connect().await?;
    let channel = connection.create_channel().await?;
    let queue = topic.queue_name(SUBSCRIPTION);
    adapter.state.mark_unchanged();
    channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await?;
    timeout(PATIENCE, adapter.state.changed()).await??;
    adapter.until_state(InputState::Connected).await?;
    topic.publish(&Event::cluster("a", 1)).await?;
    handler.until_started(1).await?;
    adapter.stop().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_resource_are_handled_in_order_and_one_by_one() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    topic.subscribe(SUBSCRIPTION).await?;
    let resources = ["a", "b", "c"];
    let last = 40;
    for generation in 1..=last {
        for resource in resources {
            topic.publish(&Event::cluster(resource, generation)).await?;
        }
    }
    let handler = Recorder::new(Semaphore::MAX_PERMITS);
    let adapter = Adapter::start(&broker, &topic, &handler, PATIENCE).await?;
    let all = |passes: &[Pass]| resources.iter().all(|resource| passes.contains(&pass(resource, last)));
    let passes = handler.until("last generation of each resource", all).await?;
    for resource in resources {
        let generations: Vec<i64> = passes.iter().filter(|pass| pass.0 == resource).map(|pass| pass.1).collect();
        assert!(generations.is_sorted_by(|earlier, later| earlier < later), "{resource}: {generations:?}");
    }
    adapter.stop().await?;
    await_ready(&broker, &topic.queue_name(SUBSCRIPTION), 0).await
}

async fn refusal(broker: &Broker, topology: Topology) -> Result<String> {
    let refused = RabbitMqInput::connect(options(broker, topology), watch::Sender::new(InputState::Disconnected)).await;
    let error = refused.err().context("connected, although it should be refused")?;
    Ok(format!("{:#}", anyhow::Error::from(error)))
}

#[tokio::test(flavor = "multi_thread")]
async fn mismatched_broker_objects_are_errors_with_a_cure_at_startup() -> Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let name = topic.name();

    let error = refusal(&broker, topology(name, ExchangeType::Fanout)).await?;
    let expected = format!(
        "exchange `{name}` exists with other properties than durable and of type `fanout`; \
         set broker.rabbitmq.exchange_type to the type that its publisher declares, or delete the exchange: "
    );
    assert!(error.starts_with(&expected) && error.contains("inequivalent arg 'type'"), "{error}");

    let connection = broker.connect().await?;
    let channel = connection.create_channel().await?;
    let transient = unique("transient");
    let queue = format!("{transient}-{SUBSCRIPTION}");
    channel.queue_declare(queue.as_str().into(), QueueDeclareOptions::default(), FieldTable::default()).await?;
    let error = refusal(&broker, topology(&transient, ExchangeType::Topic)).await?;
    let expected =
        format!("queue `{queue}` exists with other properties than durable and without arguments; delete it, or ");
    assert!(error.starts_with(&expected) && error.contains("inequivalent arg 'durable'"), "{error}");

    let error = refusal(&broker, topology(&"x".repeat(256), ExchangeType::Topic)).await?;
    assert!(error.starts_with("exchange name of 256 bytes is longer than the 255"), "{error}");

    let proxy = broker.proxy().await?;
    proxy.refuse();
    let error = refusal(&broker.through(&proxy)?, topology(name, ExchangeType::Topic)).await?;
    let expected = format!("failed to connect to the broker at amqp://{} (virtual host /): ", proxy.address());
    assert!(error.starts_with(&expected), "{error}");
    Ok(())
}
