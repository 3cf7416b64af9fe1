//! `serve`: starts an adapter from a loaded configuration, handles events on worker threads, and shuts it down.
//!
//! In: the configuration. Out: nothing, after a clean shutdown. Fails at the start if a listener cannot be
//! bound, the Kubernetes client cannot be built, the API's URL is missing, or the first subscription at the
//! broker fails.
//!
//! The adapter takes events only while every dependency of the task answers: see [`crate::dependency`].
//!
//! Events are handled on the threads of a runtime of their own, the workers, which [`crate::commands`] starts. Health,
//! metrics and signals stay on the caller's thread, so that a task's long expression delays none of them.
//!
//! On the first signal the readiness probe fails, inputs stop, running passes get their grace period, and
//! waiting events are requeued. Then the listeners close and the trace exporter sends its last spans. A second
//! signal ends the process at once.

mod inputs;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use http::header::USER_AGENT;
use jiff::Timestamp;
use lifecycle_api_client::{RetryPolicy, Settings, TokenSettings};
use lifecycle_core::api_call::ApiCall;
use lifecycle_core::decision::Decision;
use lifecycle_core::process_variables::Host;
use lifecycle_core::task::{ParamSource, Resource, Task, TransportKind};
use lifecycle_kube::Cluster;
use lifecycle_maestro::Maestro;
use lifecycle_objects::failure::FailReason;
use lifecycle_service::access::Access;
use lifecycle_service::logging;
use lifecycle_service::shutdown;
use lifecycle_service::version::Version;
use lifecycle_transport::kubernetes::KubernetesTransport;
use lifecycle_transport::maestro::MaestroTransport;
use lifecycle_transport::router::{DeletionObserver, Router};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::inputs::{Inputs, Running};
use crate::admin;
use crate::api::{self, ApiSetupError, HttpApi, Identity, Observers};
use crate::config::broker::{BrokerConfig, DEFAULT_PARALLELISM};
use crate::config::{Environment, Loaded, MaestroConfig, dump};
use crate::consumer::InputState;
use crate::dependency::{Dependency, Intake, Supervisor, Suspicion, kubernetes, maestro};
use crate::dispatch::{DispatchOptions, Dispatcher, Drained, Handler};
use crate::handler::{self, PassHandler};
use crate::input_metrics::CountedInput;
use crate::metrics::{MetricIdentity, Metrics, WriteResult};
use crate::passes::Passes;
use crate::pipeline::Pipeline;
use crate::readiness::Readiness;
use crate::task_page;

/// How often the adapter asks again while something else answers in the API's place: as seldom as it probes a
/// dependency that is down for long.
const ASK_AGAIN: Duration = Duration::from_secs(15);
/// The time that the listeners and the trace exporter get to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The loaded configuration and the process's surroundings, from which [`serve()`] starts.
#[derive(Debug)]
pub struct Setup {
    /// The deployment file and the task file, loaded and checked.
    pub loaded: Loaded,
    /// The broker's file; `None` if events come over HTTP only.
    pub broker: Option<BrokerConfig>,
    /// The environment variables of the process, which params can read.
    pub environment: Environment,
    /// Whether outgoing calls carry the trace context.
    pub propagate: bool,
    /// The version of the program, for logs, metrics and the `User-Agent`.
    pub version: Version,
}

/// Runs until a signal, or until every input has ended; handles events on `workers`.
///
/// # Errors
/// The start failed, or the inputs ended without a signal.
pub async fn serve(setup: Setup, workers: &Handle) -> anyhow::Result<()> {
    let Setup { loaded, broker, version, .. } = &setup;
    let stop = shutdown::listen().context("failed to listen for signals")?;
    let config = &loaded.adapter;
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
    metrics.declare_topic(config.topic.as_deref().unwrap_or_default());

    let readiness = Readiness::default();
    let shown: Option<Arc<str>> = if config.debug_config { Some(dump::yaml(loaded)?.into()) } else { None };
    if let Some(yaml) = &shown {
        tracing::info!(config = &**yaml, "Configuration");
    }
    if let Some(broker) = broker.as_ref().filter(|broker| broker.log_config) {
        tracing::info!(broker = ?broker, "Broker configuration");
    }
    let passes = Arc::new(Passes::new(config.passes.keep, config.passes.max_bytes));
    let shows_passes = config.passes.access != Access::Off;
    let account = admin::passes::Source {
        identity: logging::Identity::of(&config.name),
        access: config.passes.access.clone(),
        started: Timestamp::now(),
        passes: Arc::clone(&passes),
        task: if shows_passes { task_page::page(&config.name, &loaded.task).to_string().into() } else { Bytes::new() },
        readiness: readiness.clone(),
        metrics: Arc::clone(&metrics),
        stop: stop.clone(),
    };
    let pages = shown.map(admin::config_page).into_iter().chain(admin::passes::pages(account));
    let health = admin::serve_health(config.health_listen, stop.clone(), readiness.clone(), pages).await?;
    let exposed = admin::serve_metrics(config.metrics_listen, Arc::clone(&metrics)).await?;
    readiness.config_loaded();

    let adapting = adapt(setup, Arc::clone(&metrics), shows_passes.then_some(passes), readiness, stop);
    let ended = AbortOnDropHandle::new(workers.spawn(adapting)).await.context("the adapter panicked")?;
    metrics.shutting_down();
    tokio::join!(exposed.stop(CLOSE_TIMEOUT), health.stop(CLOSE_TIMEOUT));
    ended?;
    tracing::info!("Adapter shutdown complete");
    Ok(())
}

/// Connects to the servers that the task needs, and handles events until a signal.
///
/// # Errors
/// The start failed, or the inputs ended without a signal.
async fn adapt(
    setup: Setup,
    metrics: Arc<Metrics>,
    passes: Option<Arc<Passes>>,
    readiness: Readiness,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Setup { loaded, broker, environment, propagate, version } = setup;
    let config = &loaded.adapter;
    let topic = config.topic.clone().unwrap_or_default();
    let subscription = config.subscription_id.clone().unwrap_or_default();
    let mut supervisor = Supervisor::new(readiness.clone(), Arc::clone(&metrics));
    let suspicion = supervisor.suspicion();
    let identity = Arc::new(Identity::new(readiness.clone()));
    let observers = Observers { propagate, suspicion: suspicion.clone(), metrics: Arc::clone(&metrics), identity };
    let api = api_settings(&loaded, &environment, &version)
        .and_then(|settings| HttpApi::new(settings, observers))
        .context("failed to set up the HyperFleet API client")?;
    if api_calls(&loaded.task).any(|call| api.may_target_api(call.url.source())) {
        supervisor.watch(Dependency::Hyperfleet, suspicion, api.probe());
    }
    let is_remote = |resource: &Resource| matches!(resource.transport, TransportKind::Maestro { .. });
    let resources = &loaded.task.resources;
    let suspicion = supervisor.suspicion();
    let kubernetes = if resources.is_empty() || !resources.iter().all(is_remote) {
        let cluster = connect(&loaded, &metrics, &version, suspicion.clone()).await?;
        if !resources.is_empty() {
            supervisor.watch(Dependency::Kubernetes, suspicion, kubernetes::probe(cluster.clone()));
        }
        Some(KubernetesTransport::new(cluster))
    } else {
        None
    };
    let maestro = if resources.iter().any(is_remote) {
        let suspicion = supervisor.suspicion();
        let maestro = connect_maestro(config.maestro.as_ref(), &metrics, suspicion.clone())
            .context("failed to set up the Maestro client")?;
        supervisor.watch(Dependency::Maestro, suspicion, maestro::probe(maestro.clone()));
        Some(MaestroTransport::new(maestro))
    } else {
        None
    };
    let transport = Router::new(kubernetes, maestro, deletions(Arc::clone(&metrics)));
    let parallelism = broker.as_ref().map_or(DEFAULT_PARALLELISM, |broker| broker.parallelism);
    let options = DispatchOptions {
        parallelism: NonZeroUsize::new(parallelism.into()).unwrap_or(NonZeroUsize::MIN),
        event_deadline: config.event_deadline,
        shutdown_grace: config.shutdown_grace,
    };
    let inputs = Inputs::open(&loaded, broker.as_ref(), options.parallelism).await?;

    let asking_again = AbortOnDropHandle::new(tokio::spawn(api.ask_again(ASK_AGAIN)));
    let handler = PassHandler::new(
        pipeline(loaded, &environment, transport, api),
        Arc::clone(&metrics),
        subscription,
        Timestamp::now,
    );
    let handler = match passes {
        Some(passes) => handler.keeping(passes),
        None => handler,
    };
    let counted = Arc::new(CountedInput::new(Arc::clone(&metrics), topic));
    let intake = supervisor.intake();
    let dispatcher = Dispatcher::new(Arc::new(handler), options, counted, intake.clone());
    let supervising = AbortOnDropHandle::new(tokio::spawn(supervisor.run()));
    let ended = run(inputs, dispatcher, intake, &readiness, &stop).await;
    drop((supervising, asking_again));
    ended
}

/// Runs inputs and dispatcher until a signal.
///
/// # Errors
/// The first subscription failed, or every input ended without a signal.
async fn run<H: Handler>(
    inputs: Inputs,
    dispatcher: Dispatcher<H>,
    intake: watch::Receiver<Intake>,
    readiness: &Readiness,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let (inbox, events) = mpsc::channel(1);
    let mut running = inputs.run(&inbox, &intake, stop);
    let watcher = tokio::spawn(watch_input(running.state(), intake, readiness.clone()));
    // The dispatcher returns when the last sender of its inbox is dropped; the inputs hold the others.
    drop(inbox);
    // The dispatcher also returns when every input has ended, which is an error before a signal.
    let stopped = async {
        stop.cancelled().await;
        Ok(())
    };
    let dispatching = AbortOnDropHandle::new(tokio::spawn(dispatcher.run(events, stop.clone())));
    let drained = tokio::select! {
        drained = async { tokio::try_join!(dispatching, stopped) } => drained,
        ended = ended_without_signal(&mut running, stop) => return ended,
    };
    // A panic of the dispatcher ends the process at once, although inputs would go on.
    let (drained, ()) = drained.context("the dispatcher failed")?;
    running.ended().await?;
    watcher.abort();
    let Drained { finished, requeued, cancelled } = drained;
    tracing::info!(finished, requeued, cancelled, "Drained");
    Ok(())
}

/// Waits until every input has ended without a signal, which is an error. Never returns after a signal.
async fn ended_without_signal(running: &mut Running, stop: &CancellationToken) -> anyhow::Result<()> {
    running.ended().await?;
    if stop.is_cancelled() {
        std::future::pending().await
    }
    anyhow::bail!("every input ended without a shutdown signal")
}

/// Keeps the readiness probe up to date with the broker connection, starting when the adapter first takes
/// events.
async fn watch_input(
    mut state: watch::Receiver<InputState>,
    mut intake: watch::Receiver<Intake>,
    readiness: Readiness,
) {
    let ready = async {
        intake.wait_for(|intake| *intake == Intake::Open).await.is_ok()
            && state.wait_for(|state| *state == InputState::Connected).await.is_ok()
    };
    if !ready.await {
        return;
    }
    tracing::info!("Adapter is ready to process events");
    loop {
        readiness.set_broker(*state.borrow_and_update() == InputState::Connected);
        if state.changed().await.is_err() {
            // Without a broker the sender is dropped at the start, and no connection can be lost.
            return;
        }
    }
}

/// Every API call that the task may make.
fn api_calls(task: &Task) -> impl Iterator<Item = &ApiCall> {
    let params = task.params.iter().filter_map(|param| match &param.source {
        ParamSource::ApiCall(call) => Some(call),
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::Path(_)
        | ParamSource::Expression(_)
        | ParamSource::File { .. } => None,
    });
    let preconditions = task.preconditions.iter().filter_map(|precondition| precondition.api_call.as_ref());
    params.chain(preconditions).chain(task.actions.iter().filter_map(|action| action.api_call.as_ref()))
}

fn user_agent(environment: &Environment, version: &Version) -> String {
    let own = environment.get("HYPERFLEET_USER_AGENT").filter(|agent| !agent.is_empty());
    own.cloned().unwrap_or_else(|| format!("hyperfleet-adapter/{}", version.number))
}

fn api_settings(loaded: &Loaded, environment: &Environment, version: &Version) -> Result<Settings, ApiSetupError> {
    let api = &loaded.adapter.api;
    let user_agent = user_agent(environment, version);
    Ok(Settings {
        base_url: api.base_url.clone().unwrap_or_default(),
        version: api.version.clone(),
        timeout: api.timeout,
        retry: RetryPolicy {
            attempts: api.retry_attempts,
            backoff: api::backoff(api.retry_backoff),
            base_delay: api.base_delay,
            max_delay: api.max_delay,
        },
        default_headers: api::default_headers(&api.default_headers)?,
        token: api.auth.as_ref().map(|auth| TokenSettings {
            path: auth.token_path.clone(),
            cache_ttl: auth.token_cache_ttl,
            scheme: auth.scheme,
        }),
        user_agent: user_agent.parse().map_err(|_| ApiSetupError::Header(format!("{USER_AGENT}: {user_agent}")))?,
    })
}

async fn connect(
    loaded: &Loaded,
    metrics: &Arc<Metrics>,
    version: &Version,
    suspicion: Suspicion,
) -> anyhow::Result<Cluster> {
    let config = &loaded.adapter.kubernetes;
    let agent = format!("hyperfleet-adapter/{}", version.number);
    let client = lifecycle_kube::connect(config.kube_config_path.as_deref(), &agent)
        .await
        .context("failed to set up the Kubernetes client")?;
    let settings = lifecycle_kube::Settings {
        rate_limit: config.qps.map(|qps| (qps, config.burst.unwrap_or(1))),
        observer: Some(kubernetes::observer(Arc::clone(metrics), suspicion)),
        former_managers: &kubernetes::FORMER_MANAGERS,
        ..lifecycle_kube::Settings::default()
    };
    Ok(Cluster::new(client, loaded.adapter.name.clone(), settings))
}

fn connect_maestro(
    config: Option<&MaestroConfig>,
    metrics: &Arc<Metrics>,
    suspicion: Suspicion,
) -> anyhow::Result<Maestro> {
    let config = config.context("the task uses the maestro transport, and `clients.maestro` is missing")?;
    anyhow::ensure!(config.faults.is_empty(), "{}", config.faults.join("; "));
    let observer = maestro::observer(Arc::clone(metrics), suspicion);
    Ok(Maestro::new(config.settings.clone(), observer)?)
}

/// Returns an observer that counts and times deletions.
fn deletions(metrics: Arc<Metrics>) -> DeletionObserver {
    Arc::new(move |kind| {
        let running = metrics.deletion_started(kind);
        Box::new(move |is_accepted| running.finish(if is_accepted { WriteResult::Success } else { WriteResult::Error }))
    })
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
        keep_readings: false,
    }
}

/// The host values that the task's params can read: configuration, environment variables, and version.
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

#[cfg(test)]
mod tests;
