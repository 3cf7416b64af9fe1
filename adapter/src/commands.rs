//! The commands of the program: each takes its arguments and returns an exit code.
//!
//! A command prints its result to standard output, and diagnostics with file, place and cure to standard error.
//! Log lines go to the output that the configuration names.

mod check;
mod dry_run;
mod rbac;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_errors::Chain;
use lifecycle_service::logging::{self, Identity};
use lifecycle_service::program::print;
use lifecycle_service::settings::log_diagnostics;
use lifecycle_service::version;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::args::SchemaOf;
use crate::config::{self, Checked, Environment, Flags, Loaded, Paths, broker, dump};
use crate::field_types;
use crate::serve::Setup;
use crate::trace::{Tracing, TracingSettings};

pub use check::check;
pub use dry_run::{dry_run, legacy_dry_run};
pub use rbac::rbac;

/// The time that the trace exporter gets at shutdown to send its remaining spans.
const FLUSH: std::time::Duration = std::time::Duration::from_secs(5);

/// Runs the adapter until a signal stops it.
///
/// # Errors
/// The configuration has errors, the adapter could not start, or it failed while running.
pub fn serve(flags: &Flags, environment: Environment) -> anyhow::Result<ExitCode> {
    let loaded = match load(flags, &environment) {
        Ok(loaded) => loaded,
        Err(diagnostics) => return print_diagnostics(&diagnostics),
    };
    let broker = match load_broker(&environment) {
        Ok(broker) => broker,
        Err(diagnostics) => return print_diagnostics(&diagnostics),
    };
    anyhow::ensure!(
        broker.is_some() || loaded.adapter.http_listen.is_some(),
        "there is nothing to take events from: write a broker file (BROKER_CONFIG_FILE, or broker.yaml beside the \
         program) with `broker.type`, or set `inputs.http.listen`"
    );
    // Every TLS client of this process uses ring. If a provider is installed already, this call has no effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Events run on the workers, and health, metrics and signals on this thread: no expression of a task delays them.
    let workers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(loaded.adapter.workers.get())
        .enable_all()
        .build()
        .context("failed to start the workers")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("failed to start the runtime")?.block_on(async {
        let identity = Identity::of(&loaded.adapter.name);
        let settings = TracingSettings::from_environment(|name| environment.get(name).cloned(), &identity.component);
        let exporter = settings.export.as_ref().map(|export| Tracing::start(export, &identity)).transpose()?;
        let log = logging::subscriber(loaded.adapter.log, &identity);
        let subscriber = log.with(exporter.as_ref().map(Tracing::layer));
        tracing::subscriber::set_global_default(subscriber).context("failed to install the log subscriber")?;
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        log_diagnostics(&loaded.warnings);
        let propagate = settings.propagate;
        let setup = Setup { loaded, broker, environment, propagate, version: version::THIS };
        let served = crate::serve::serve(setup, workers.handle()).await;
        if let Err(error) = &served {
            tracing::error!(error = %Chain(error.as_ref()), "adapter failed");
        }
        if let Some(exporter) = exporter {
            exporter.shutdown(FLUSH).await;
        }
        served
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the merged configuration.
///
/// # Errors
/// Standard output cannot be written.
pub fn config_dump(flags: &Flags, environment: &Environment) -> anyhow::Result<ExitCode> {
    match load(flags, environment) {
        Ok(loaded) => print(&dump::yaml(&loaded)?),
        Err(diagnostics) => print_diagnostics(&diagnostics),
    }
}

/// Prints the JSON Schema of a configuration file.
///
/// # Errors
/// Standard output cannot be written.
pub fn schema(file: SchemaOf) -> anyhow::Result<ExitCode> {
    let schema = match file {
        SchemaOf::Adapter => config::adapter_schema(),
        SchemaOf::Task => config::task_schema(),
        SchemaOf::Broker => broker::schema(),
    };
    print(&format!("{schema:#}\n"))
}

/// Prints the version, the commit and the build date.
///
/// # Errors
/// Standard output cannot be written.
pub fn version() -> anyhow::Result<ExitCode> {
    print(&format!("{}\n", version::THIS))
}

fn load(flags: &Flags, environment: &Environment) -> Result<Loaded, Diagnostics> {
    config::load(&paths(flags, environment)?, environment, flags, version::THIS.number)
}

/// Checks both files as `check` does: with every diagnostic, and with the task if it has no errors.
fn checked(flags: &Flags, environment: &Environment) -> Checked {
    match paths(flags, environment) {
        Ok(paths) => config::check(&paths, environment, flags, version::THIS.number, field_types::lint),
        Err(diagnostics) => Checked { diagnostics, task: None },
    }
}

fn paths(flags: &Flags, environment: &Environment) -> Result<Paths, Diagnostics> {
    Paths::resolve(flags, environment, &Path::exists)
}

/// Loads the broker's file; returns `None` if there is neither a file nor `BROKER_TYPE`. That is no error here:
/// `serve` reports one if no other input of events is configured.
fn load_broker(environment: &Environment) -> Result<Option<broker::BrokerConfig>, Diagnostics> {
    let program = std::env::current_exe().ok();
    let path = broker::find(environment, program.as_deref().and_then(Path::parent), &Path::exists);
    let has_type = environment.get("BROKER_TYPE").is_some_and(|kind| !kind.is_empty());
    if path.is_none() && !has_type {
        return Ok(None);
    }
    broker::load(path.as_deref(), environment).map(|(config, _)| Some(config))
}

fn print_diagnostics(diagnostics: &Diagnostics) -> anyhow::Result<ExitCode> {
    writeln!(std::io::stderr(), "{diagnostics}").context("failed to print the diagnostics")?;
    Ok(ExitCode::FAILURE)
}
