//! `serve`: from a loaded configuration to a running adapter, and back down.
//!
//! In: the configuration. Out: nothing, after a clean shutdown. Start-up fails if anything that the adapter cannot do
//! without is missing or cannot be reached: a listener, the Kubernetes client, the API's address, the broker.
//!
//! Down: on the first signal readiness turns false, inputs stop, running passes get their grace period, what waits
//! goes back to the broker; then the listeners close and spans are flushed. The second signal ends at once.

mod inputs;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use lifecycle_core::host::Host;
use lifecycle_core::plan::decision::{Decision, FailReason};
use lifecycle_service::shutdown;
use lifecycle_service::version::Version;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use self::inputs::{Inputs, Running};
use crate::admin::{self, Readiness};
use crate::api::{ApiSettings, HttpApi, RetryPolicy, TokenSettings};
use crate::config::broker::{BrokerConfig, DEFAULT_PARALLELISM};
use crate::config::{Environment, Loaded, dump};
use crate::consumer::InputState;
use crate::dispatch::{DispatchOptions, Dispatcher, Drained, Handler};
use crate::handler::{self, PassHandler};
use crate::input_metrics::CountedInput;
use crate::metrics::{Api, MetricIdentity, Metrics};
use crate::pipeline::Pipeline;
use crate::secret::Secret;
use crate::transport::kubernetes::{self, KubernetesTransport};
use crate::transport::observed::ObservedTransport;

/// What the listeners and the exporter get to close.
const FAREWELL: Duration = Duration::from_secs(5);

/// What `serve` runs with.
#[derive(Debug)]
pub struct Setup {
    /// Both configuration files.
    pub loaded: Loaded,
    /// The broker's file; none where events come by HTTP only.
    pub broker: Option<BrokerConfig>,
    /// The process environment.
    pub environment: Environment,
    /// Whether outgoing calls carry the trace context.
    pub propagate: bool,
    /// The binary's version.
    pub version: Version,
}

/// Runs until a signal, or until there is nothing left to take events from.
///
/// # Errors
/// Start-up failed, or the inputs ended without a signal.
pub async fn serve(setup: Setup) -> anyhow::Result<()> {
    let Setup { loaded, broker, environment, propagate, version } = setup;
    let stop = shutdown::listen().context("failed to listen for signals")?;
    let config = &loaded.adapter;
    let topic = config.topic.clone().unwrap_or_default();
    let subscription = config.subscription_id.clone().unwrap_or_default();
    let metrics = Arc::new(Metrics::new(&MetricIdentity {
        adapter: config.name.clone(),
        version: version.number.to_owned(),
        commit: version.commit.to_owned(),
    }));
    metrics.declare_kinds(loaded.task.resources.iter().map(|resource| resource.kind.kind.as_str()));
    metrics.declare_preconditions(loaded.task.preconditions.iter().map(|precondition| precondition.name.as_str()));
    metrics.declare_decisions(Decision::labels());
    metrics.declare_failures(FailReason::ALL.map(FailReason::as_str));
    metrics.declare_warnings(handler::warnings());
    metrics.declare_topic(&topic);

    let readiness = Readiness::default();
    let shown: Option<Arc<str>> = if config.debug_config { Some(dump::yaml(&loaded)?.into()) } else { None };
    if let Some(yaml) = &shown {
        tracing::info!(config = &**yaml, "Configuration");
    }
    if let Some(broker) = broker.as_ref().filter(|broker| broker.log_config) {
        tracing::info!(broker = ?broker, "Broker configuration");
    }
    let health = admin::serve_health(config.health_listen, readiness.clone(), shown).await?;
    let exposed = admin::serve_metrics(config.metrics_listen, Arc::clone(&metrics)).await?;
    readiness.config_loaded();

    let api = HttpApi::new(api_settings(&loaded, &environment, propagate, &version), Arc::clone(&metrics))
        .context("failed to set up the HyperFleet API client")?;
    let kubernetes = connect(&loaded, &metrics, &version).await?;
    let transport = ObservedTransport::new(kubernetes, Arc::clone(&metrics));
    let parallelism = broker.as_ref().map_or(DEFAULT_PARALLELISM, |broker| broker.parallelism);
    let options = DispatchOptions {
        parallelism: NonZeroUsize::new(parallelism.into()).unwrap_or(NonZeroUsize::MIN),
        event_deadline: config.event_deadline,
        shutdown_grace: config.shutdown_grace,
    };
    let inputs = Inputs::open(&loaded, broker.as_ref(), options.parallelism).await?;

    let handler = PassHandler::new(
        pipeline(loaded, &environment, transport, api),
        Arc::clone(&metrics),
        subscription,
        Timestamp::now,
    );
    let counted = Arc::new(CountedInput::new(Arc::clone(&metrics), topic));
    let dispatcher = Dispatcher::new(Arc::new(handler), options, counted);
    let stopped_by_signal = run(inputs, dispatcher, &readiness, &stop).await;

    metrics.shutting_down();
    tokio::join!(exposed.stop(FAREWELL), health.stop(FAREWELL));
    anyhow::ensure!(stopped_by_signal, "every input has ended without being told to");
    tracing::info!("Adapter shutdown complete");
    Ok(())
}

/// Runs inputs and dispatcher until a signal; says whether it was one.
async fn run<H: Handler>(
    inputs: Inputs,
    dispatcher: Dispatcher<H>,
    readiness: &Readiness,
    stop: &CancellationToken,
) -> bool {
    let (inbox, events) = mpsc::channel(1);
    let watcher = tokio::spawn(watch_inputs(inputs.states(), readiness.clone()));
    let mut running = inputs.run(&inbox, stop);
    // The dispatcher ends by itself when the last input has gone.
    drop(inbox);
    let not_ready_once_stopped = async {
        stop.cancelled().await;
        readiness.shutting_down();
    };
    tracing::info!("Adapter is ready to process events");
    let drained = tokio::select! {
        (drained, ()) = async { tokio::join!(dispatcher.run(events, stop.clone()), not_ready_once_stopped) } => drained,
        () = ended_unasked(&mut running, stop) => return false,
    };
    running.ended().await;
    watcher.abort();
    let Drained { finished, requeued, cancelled } = drained;
    tracing::info!(finished, requeued, cancelled, "Drained");
    true
}

/// Waits until every input has ended although nobody said so.
async fn ended_unasked(running: &mut Running, stop: &CancellationToken) {
    running.ended().await;
    if stop.is_cancelled() {
        std::future::pending().await
    }
}

/// Keeps readiness true while every input can be reached.
async fn watch_inputs(mut states: Vec<watch::Receiver<InputState>>, readiness: Readiness) {
    loop {
        let connected = states.iter_mut().all(|state| *state.borrow_and_update() == InputState::Connected);
        readiness.set_broker(connected);
        let changes = states.iter_mut().map(|state| Box::pin(state.changed()));
        if futures::future::select_all(changes).await.0.is_err() {
            // An input that has ended can no longer be reached, and will not come back.
            readiness.set_broker(false);
            return;
        }
    }
}

fn user_agent(environment: &Environment, version: &Version) -> String {
    let own = environment.get("HYPERFLEET_USER_AGENT").filter(|agent| !agent.is_empty());
    own.cloned().unwrap_or_else(|| format!("hyperfleet-adapter/{}", version.number))
}

fn api_settings(loaded: &Loaded, environment: &Environment, propagate: bool, version: &Version) -> ApiSettings {
    let api = &loaded.adapter.api;
    ApiSettings {
        base_url: api.base_url.clone().unwrap_or_default(),
        version: api.version.clone(),
        timeout: api.timeout,
        retry: RetryPolicy {
            attempts: api.retry_attempts,
            backoff: api.retry_backoff,
            base_delay: api.base_delay,
            max_delay: api.max_delay,
        },
        default_headers: api
            .default_headers
            .iter()
            .map(|(name, value)| (name.clone(), Secret::new(value.clone())))
            .collect(),
        token: api
            .auth
            .as_ref()
            .map(|auth| TokenSettings { path: auth.token_path.clone(), cache_ttl: auth.token_cache_ttl }),
        user_agent: user_agent(environment, version),
        propagate,
    }
}

async fn connect(loaded: &Loaded, metrics: &Arc<Metrics>, version: &Version) -> anyhow::Result<KubernetesTransport> {
    let config = &loaded.adapter.kubernetes;
    let agent = format!("hyperfleet-adapter/{}", version.number);
    let client = kubernetes::connect(config.kube_config_path.as_deref(), &agent)
        .await
        .context("failed to set up the Kubernetes client")?;
    let metrics = Arc::clone(metrics);
    let settings = kubernetes::Settings {
        rate_limit: config.qps.map(|qps| (qps, config.burst.unwrap_or(1))),
        observer: Some(Arc::new(move |call: &kubernetes::CallRecord<'_>| {
            metrics.api_request(Api::Kubernetes, call.verb.label(), call.kind, call.status, call.duration);
        })),
        ..kubernetes::Settings::default()
    };
    Ok(KubernetesTransport::new(client, loaded.adapter.name.clone(), settings))
}

fn pipeline<T, A>(loaded: Loaded, environment: &Environment, transport: T, api: A) -> Pipeline<T, A> {
    let host = host(&loaded, environment);
    Pipeline {
        task: Arc::new(loaded.task),
        host,
        resource_id: loaded.adapter.stamp_resource_id,
        signer: loaded.adapter.signer,
        transport,
        api,
        keep_account: false,
    }
}

/// What a task can read of this process.
#[must_use]
pub fn host(loaded: &Loaded, environment: &Environment) -> Host {
    let named = &loaded.task.environment;
    let visible: BTreeMap<&String, &String> = environment.iter().filter(|(name, _)| named.contains(*name)).collect();
    Host {
        name: loaded.adapter.name.clone(),
        version: loaded.adapter.version.clone(),
        config: loaded.adapter.redacted.clone().into(),
        config_unredacted: loaded.adapter.values.clone().into(),
        environment: json!(visible).into(),
    }
}
