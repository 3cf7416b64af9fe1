//! Configuration: from two files, the environment and flags to what the process runs with.
//!
//! In: paths, the environment as a value, and the flags that were given. Out: [`Loaded`], or every diagnostic of
//! both files at once. A value comes from a flag, else from the environment, else from the file, else from
//! its default; the task file takes neither flags nor variables.
//!
//! Nothing is connected to here: whether a server can be reached is found out by who talks to it.

pub mod broker;
pub mod dump;
pub mod files;
pub mod settings;
pub mod signing;
pub mod spec;

mod resolve;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_config::decode::{Typing, normalize, schema_of};
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_config::settings::{Resolver, Settings};
use lifecycle_core::api_call::RetryBackoff;
use lifecycle_core::proof::Signer;
use lifecycle_core::task::Task;
use lifecycle_core::task::compile::{Compiled, Surroundings, compile};
use lifecycle_core::task::lint::lint;
use lifecycle_core::task::spec::TaskSpec;
use lifecycle_core::template::Template;
use lifecycle_service::logging::LogSettings;
use serde_json::Value;

pub use self::files::Paths;
use self::settings::DEPLOYMENT;
use self::spec::AdapterSpec;
pub use lifecycle_config::settings::{Environment, Flags};

/// What the process runs with, beside the task; every default is in place.
#[derive(Debug)]
pub struct AdapterConfig {
    /// The adapter's name.
    pub name: String,
    /// The version that the configuration was written for; may be empty.
    pub version: String,
    /// Whether the merged configuration is logged and served.
    pub debug_config: bool,
    /// Logging.
    pub log: LogSettings,
    /// The lifecycle API.
    pub api: ApiConfig,
    /// The subscription, which `serve` needs.
    pub subscription_id: Option<String>,
    /// The topic, which `serve` needs.
    pub topic: Option<String>,
    /// The Kubernetes API.
    pub kubernetes: KubernetesConfig,
    /// The value of the resource-id label; the event's `id` if none.
    pub stamp_resource_id: Option<Template>,
    /// Proves what is stamped; no proof if none.
    pub signer: Option<Signer>,
    /// The time that one event may take.
    pub event_deadline: Duration,
    /// The time that running events get to finish on shutdown.
    pub shutdown_grace: Duration,
    /// Where `CloudEvents` are taken by HTTP, if anywhere.
    pub http_listen: Option<SocketAddr>,
    /// Where health is served.
    pub health_listen: SocketAddr,
    /// Where metrics are served.
    pub metrics_listen: SocketAddr,
    /// The merged file as `config.` sources, templates and expressions see it, secrets included.
    pub values: Value,
    /// The same with secrets redacted.
    pub redacted: Value,
}

/// The lifecycle API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Where it is, which `serve` needs.
    pub base_url: Option<String>,
    /// The version in relative URLs.
    pub version: String,
    /// The time for one attempt.
    pub timeout: Duration,
    /// Attempts in total.
    pub retry_attempts: u32,
    /// How the delay grows.
    pub retry_backoff: RetryBackoff,
    /// The first delay.
    pub base_delay: Duration,
    /// The longest delay.
    pub max_delay: Duration,
    /// Headers of every request, by lower-case name.
    pub default_headers: BTreeMap<String, String>,
    /// The bearer token.
    pub auth: Option<AuthConfig>,
}

/// A bearer token in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// The file.
    pub token_path: PathBuf,
    /// How long a token is kept; zero reads it for every attempt.
    pub token_cache_ttl: Duration,
}

/// The Kubernetes API.
#[derive(Debug, Clone, PartialEq)]
pub struct KubernetesConfig {
    /// A kubeconfig file; the cluster that the process runs in if none.
    pub kube_config_path: Option<PathBuf>,
    /// Requests per second; no limit if none.
    pub qps: Option<f64>,
    /// Requests at once.
    pub burst: Option<u32>,
}

/// A sound configuration.
#[derive(Debug)]
pub struct Loaded {
    /// The deployment.
    pub adapter: AdapterConfig,
    /// The task.
    pub task: Task,
    /// The task file as written, for [`dump`].
    document: Document,
    /// Where it was read from.
    task_path: PathBuf,
    /// What is worth a warning.
    pub warnings: Diagnostics,
}

/// Loads both files.
///
/// # Errors
/// Every diagnostic of both files, of the files that the task refers to, and of flags and variables.
pub fn load(
    paths: &Paths,
    environment: &Environment,
    flags: &Flags,
    program_version: &str,
) -> Result<Loaded, Diagnostics> {
    let Examined { adapter, task, mut diagnostics } = examine(paths, environment, flags, program_version);
    diagnostics.sort();
    match (adapter, task) {
        (Some(adapter), Some(SoundTask { task, document })) if !diagnostics.has_errors() => {
            Ok(Loaded { adapter, task, document, task_path: paths.task.clone(), warnings: diagnostics })
        }
        _ => Err(diagnostics),
    }
}

/// What is said of both files.
#[derive(Debug)]
pub struct Checked {
    /// Every diagnostic, and what a sound task probably does not mean.
    pub diagnostics: Diagnostics,
    /// The task, if it has no error.
    pub task: Option<Task>,
}

/// Lists every diagnostic of both files, and what a sound task probably does not mean.
#[must_use]
pub fn check(paths: &Paths, environment: &Environment, flags: &Flags, program_version: &str) -> Checked {
    let Examined { task, mut diagnostics, .. } = examine(paths, environment, flags, program_version);
    if let Some(SoundTask { task, document }) = &task {
        diagnostics.extend(lint(task, document));
    }
    diagnostics.sort();
    Checked { diagnostics, task: task.map(|sound| sound.task) }
}

/// What could be made of both files.
struct Examined {
    adapter: Option<AdapterConfig>,
    task: Option<SoundTask>,
    diagnostics: Diagnostics,
}

/// A task without an error, and the file that it stands in.
struct SoundTask {
    task: Task,
    document: Document,
}

fn examine(paths: &Paths, environment: &Environment, flags: &Flags, program_version: &str) -> Examined {
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
    let task = match files::read(&paths.task) {
        Ok(text) => load_task(&paths.task, &text, environment, &mut diagnostics),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    Examined { adapter, task, diagnostics }
}

/// Loads the deployment file from its text, and the signing key from `key`; `None` only if nothing can be made of it.
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

fn load_task(path: &Path, text: &str, environment: &Environment, diagnostics: &mut Diagnostics) -> Option<SoundTask> {
    let surroundings = Surroundings {
        read: &|reference| files::read_reference(directory(path), reference),
        environment: &|name| environment.get(name).cloned(),
    };
    let Compiled { task, document, diagnostics: found } = compile(&path.display().to_string(), text, &surroundings);
    diagnostics.extend(found);
    task.zip(document).map(|(task, document)| SoundTask { task, document })
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Loaded {
    /// The task file as written, checked, with the manifests that it refers to.
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
