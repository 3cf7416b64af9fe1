//! Configuration: merges two files, the environment and flags into the values that the process runs with.
//!
//! In: the files' paths, the environment as a value, and the flags. Out: [`Loaded`]. Fails with every
//! diagnostic of both files at once. A flag wins over an environment variable, a variable over the file, and
//! the file over the default; flags and variables never change the task file.
//!
//! Loading opens no connection: the clients find out at run time whether a server answers.

pub mod broker;
pub mod dump;
pub mod files;
pub mod settings;
pub mod signing;
pub mod spec;

mod maestro;
mod reserved;
mod resolve;
mod stamp;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_api_client::AuthScheme;
use lifecycle_check::lint::lint;
use lifecycle_config::decode::{Typing, normalize, schema_of};
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_config::settings::{Resolver, Settings};
use lifecycle_core::api_call::RetryBackoff;
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Compiled, Surroundings, compile};
use lifecycle_core::task::spec::TaskSpec;
use lifecycle_language::template::Template;
use lifecycle_objects::proof::Signer;
use lifecycle_service::access::Access;
use lifecycle_service::logging::LogSettings;
use serde_json::Value;

pub use self::files::Paths;
pub use self::maestro::MaestroConfig;
use self::settings::DEPLOYMENT;
use self::spec::AdapterSpec;
pub use lifecycle_config::settings::{Environment, Flags};

/// The resolved deployment file: every default is filled in. The task is separate, in [`Loaded`].
#[derive(Debug)]
pub struct AdapterConfig {
    /// The adapter's name, which reports, metrics and the labels of written objects carry.
    pub name: String,
    /// The version of the program that the configuration was written for; may be empty.
    pub version: String,
    /// Whether the adapter logs the merged configuration, and serves it over HTTP.
    pub debug_config: bool,
    /// Level, format and output of the log.
    pub log: LogSettings,
    /// The client of the HyperFleet API.
    pub api: ApiConfig,
    /// The broker subscription, without which `serve` refuses to start.
    pub subscription_id: Option<String>,
    /// The broker topic, without which `serve` refuses to start.
    pub topic: Option<String>,
    /// The client of the Kubernetes API.
    pub kubernetes: KubernetesConfig,
    /// The client of Maestro; `None` without the block `clients.maestro`.
    pub maestro: Option<MaestroConfig>,
    /// The template for the value of the label `hyperfleet.io/resource-id`; the event's `id` if `None`.
    pub stamp_resource_id: Option<Template>,
    /// Signs the labels of every written object; `None` writes no ownership proof.
    pub signer: Option<Signer>,
    /// The deadline of one event's reconcile pass.
    pub event_deadline: Duration,
    /// The time that running passes get to finish at shutdown.
    pub shutdown_grace: Duration,
    /// The number of threads that handle events.
    pub workers: NonZeroUsize,
    /// The address at which the adapter accepts `CloudEvents` over HTTP, if it does.
    pub http_listen: Option<SocketAddr>,
    /// The pages `/passes` and `/task`.
    pub passes: PassesConfig,
    /// The address of the health server.
    pub health_listen: SocketAddr,
    /// The address of the metrics server.
    pub metrics_listen: SocketAddr,
    /// The merged file as params from `config.…`, templates and expressions read it, with secrets.
    pub values: Value,
    /// The merged file with secrets redacted, for logs and for `/config`.
    pub redacted: Value,
}

/// The pages of the last passes and of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassesConfig {
    /// The clients that may read the pages; without any, no pass is kept.
    pub access: Access,
    /// The most passes that are kept.
    pub keep: usize,
    /// The most bytes of the kept passes.
    pub max_bytes: usize,
}

/// The client of the HyperFleet API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The API's URL, without which `serve` refuses to start.
    pub base_url: Option<String>,
    /// The API version that the client puts into relative URLs, such as `v1`.
    pub version: String,
    /// The timeout of one attempt.
    pub timeout: Duration,
    /// The largest number of attempts of one call, the first included.
    pub retry_attempts: u32,
    /// How the delay between attempts grows.
    pub retry_backoff: RetryBackoff,
    /// The delay before the second attempt.
    pub base_delay: Duration,
    /// The upper bound of the delay between attempts.
    pub max_delay: Duration,
    /// Headers that every request carries, by lower-case name.
    pub default_headers: BTreeMap<String, String>,
    /// The source of the bearer token; `None` sends no token.
    pub auth: Option<AuthConfig>,
}

/// A bearer token that is read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// The path of the file that contains the bearer token.
    pub token_path: PathBuf,
    /// How long the client keeps a token before it reads the file again; zero reads the file for every attempt.
    pub token_cache_ttl: Duration,
    /// The word before the token in the header `Authorization`.
    pub scheme: AuthScheme,
}

/// The client of the Kubernetes API.
#[derive(Debug, Clone, PartialEq)]
pub struct KubernetesConfig {
    /// A kubeconfig file; `None` uses the service account of the pod that the adapter runs in.
    pub kube_config_path: Option<PathBuf>,
    /// The rate limit in requests per second; `None` sets no limit.
    pub qps: Option<f64>,
    /// How many requests may exceed `qps` at once.
    pub burst: Option<u32>,
}

/// The result of [`load`]: a configuration without errors.
#[derive(Debug)]
pub struct Loaded {
    /// The deployment file with defaults, environment variables and flags applied.
    pub adapter: AdapterConfig,
    /// The compiled task file, which the pipeline runs for each event.
    pub task: Task,
    /// The task file as written, which [`dump`] prints.
    document: Document,
    /// The path of the task file.
    task_path: PathBuf,
    /// The warnings of both files.
    pub warnings: Diagnostics,
}

/// Loads both configuration files.
///
/// # Errors
/// Every diagnostic of both files, of the files that the task refers to, and of flags and variables.
pub fn load(
    paths: &Paths,
    environment: &Environment,
    flags: &Flags,
    program_version: &str,
) -> Result<Loaded, Diagnostics> {
    let ReadFiles { adapter, task, mut diagnostics } = read_files(paths, environment, flags, program_version);
    diagnostics.sort();
    match (adapter, task) {
        (Some(adapter), Some(ValidTask { task, document })) if !diagnostics.has_errors() => {
            Ok(Loaded { adapter, task, document, task_path: paths.task.clone(), warnings: diagnostics })
        }
        _ => Err(diagnostics),
    }
}

/// The result of [`check()`]: what it found in the two configuration files.
#[derive(Debug)]
pub struct Checked {
    /// Every error, warning and note of both files.
    pub diagnostics: Diagnostics,
    /// The compiled task; `None` if it has an error.
    pub task: Option<Task>,
}

/// Finds faults of a task without errors, and of the document that it was compiled from.
pub type Lint = fn(&Task, &Document) -> Diagnostics;

/// Lists every error, warning and note of both files, and lints the task: by the lints of `check`, and by another one.
#[must_use]
pub fn check(
    paths: &Paths,
    environment: &Environment,
    flags: &Flags,
    program_version: &str,
    other_lint: Lint,
) -> Checked {
    let ReadFiles { task, mut diagnostics, .. } = read_files(paths, environment, flags, program_version);
    if let Some(ValidTask { task, document }) = &task {
        diagnostics.extend(lint(task, document));
        diagnostics.extend(other_lint(task, document));
    }
    diagnostics.sort();
    Checked { diagnostics, task: task.map(|valid| valid.task) }
}

/// The results of reading both files, before a caller decides whether diagnostics are fatal.
struct ReadFiles {
    adapter: Option<AdapterConfig>,
    task: Option<ValidTask>,
    diagnostics: Diagnostics,
}

/// A task without errors, and the document that it was compiled from.
struct ValidTask {
    task: Task,
    document: Document,
}

fn read_files(paths: &Paths, environment: &Environment, flags: &Flags, program_version: &str) -> ReadFiles {
    let mut diagnostics = Diagnostics::default();
    let adapter = match files::read(&paths.adapter) {
        Ok(text) => {
            let file = paths.adapter.display().to_string();
            let key = |path: &Path| signing::read(&directory(&paths.adapter).join(path));
            load_adapter(&file, &text, environment, flags, program_version, &key, &mut diagnostics)
        }
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    let mut task = match files::read(&paths.task) {
        Ok(text) => load_task(&paths.task, &text, environment, &mut diagnostics),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    if let (Some(adapter), Some(valid)) = (&adapter, &mut task) {
        valid.task.resend_after = maestro::resend_after_of(adapter);
        maestro::match_with_task(adapter, &valid.task, &paths.adapter.display().to_string(), &mut diagnostics);
        stamp::match_with_task(adapter, &valid.task, &paths.adapter.display().to_string(), &mut diagnostics);
        reserved::check_adapter_labels(&adapter.name, &valid.task, &valid.document, &mut diagnostics);
    }
    ReadFiles { adapter, task, diagnostics }
}

/// Loads the deployment file from its text, and the signing key by `key`. Returns `None` if the text is not
/// YAML or does not decode; errors of single values still return a configuration.
pub fn load_adapter(
    file: &str,
    text: &str,
    environment: &Environment,
    flags: &Flags,
    program_version: &str,
    key: &signing::Source<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<AdapterConfig> {
    let document = match Document::parse(file, text) {
        Ok(document) => document,
        Err(found) => {
            diagnostics.extend(found);
            return None;
        }
    };
    let schema = adapter_schema();
    let settings = Settings::merge(&DEPLOYMENT, &schema, document, environment, flags, diagnostics);
    let spec: AdapterSpec = settings.decode(diagnostics)?;
    let values = dump::visible(&schema, settings.values());
    Some(resolve::resolve(&spec, values, Resolver::new(&settings, diagnostics), program_version, key))
}

fn load_task(path: &Path, text: &str, environment: &Environment, diagnostics: &mut Diagnostics) -> Option<ValidTask> {
    let surroundings = Surroundings {
        read: &|reference| files::read_reference(directory(path), reference),
        environment: &|name| environment.get(name).cloned(),
    };
    let Compiled { task, document, diagnostics: found } = compile(&path.display().to_string(), text, &surroundings);
    diagnostics.extend(found);
    task.zip(document).map(|(task, document)| ValidTask { task, document })
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Loaded {
    /// The task file's values for [`dump`], with the texts of the manifests that the task refers to.
    fn task_values(&self) -> Value {
        let schema = task_schema();
        let ignored = &mut Diagnostics::default();
        let values = normalize(&self.document, &schema, Typing::Strict, &BTreeSet::new(), ignored);
        let read = |reference: &str| files::read_reference(directory(&self.task_path), reference);
        dump::with_manifests(dump::visible(&schema, &values), &read)
    }
}

/// The JSON Schema of the deployment file.
#[must_use]
pub fn adapter_schema() -> Value {
    schema_of::<AdapterSpec>()
}

/// The JSON Schema of the task file.
#[must_use]
pub fn task_schema() -> Value {
    schema_of::<TaskSpec>()
}

#[cfg(test)]
mod tests;
