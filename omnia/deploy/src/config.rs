//! The deploy configuration of Omnia.
//!
//! In: the configuration, and the environment, in which the token may be. Out: a [`Config`], with every mistake and warning; an
//! unknown key is a mistake, and the nearest one is named. Fails never.
//!
//! [`SCHEMA`] says the same as a JSON Schema (draft-07) for editors and for the CLI; a test compares both. Blocks that targets
//! take as they are, such as `memory`, are checked here and kept as written.

use std::collections::BTreeMap;
use std::fmt;

use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_objects::labels::key_fault;
use promptkit_pack::reader::{Field, Reader};
use promptkit_pack::rule::DNS_LABEL;
use serde_json::Value;
use url::Url;

use crate::labels::Labels;

mod blocks;
mod tools;

pub use self::tools::{Handler, HandlerKind};

/// The name of the configuration in diagnostics.
pub const FILE: &str = "deploy config";
/// The JSON Schema (draft-07) of the configuration.
pub const SCHEMA: &str = include_str!("config/schema.json");
/// The environment variable of the token.
pub const TOKEN: &str = "OMNIA_API_TOKEN";
/// The provider that agents use unless one is named after them.
pub const DEFAULT_PROVIDER: &str = "default";
/// The `kubeconfig` of a program that runs in the cluster to which it deploys.
pub const IN_CLUSTER: &str = "in-cluster";

const KEYS: [&str; 17] = [
    "api_endpoint",
    "api_token",
    "console_endpoint",
    "dry_run",
    "evals",
    "externalAuth",
    "kubeconfig",
    "labels",
    "memory",
    "providers",
    "rollout",
    "runtime",
    "skills",
    "skillsConfig",
    "tool_registry_ref",
    "tools",
    "workspace",
];

/// The deploy configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where objects are written.
    pub target: Target,
    /// The workspace; for a cluster, the namespace.
    pub workspace: String,
    /// The providers, sorted by name.
    pub providers: Vec<Provider>,
    /// The handlers of tools, in the author's order.
    pub tools: Vec<Handler>,
    /// An existing registry of tools.
    pub tool_registry_ref: Option<String>,
    /// The skills of the pack, as objects.
    pub skills: Vec<Value>,
    /// How agents choose skills, as written.
    pub skills_config: Option<Value>,
    /// How the agents run.
    pub runtime: Runtime,
    /// Who may call the agents, as targets take it.
    pub external_auth: Option<Value>,
    /// What agents remember, as written.
    pub memory: Option<Value>,
    /// Which evals run, as written.
    pub evals: Option<Value>,
    /// How a new version of the pack comes to the agents.
    pub rollout: Option<Rollout>,
    /// The base of the links that people follow.
    pub console_endpoint: Option<String>,
    /// The user's labels.
    pub labels: Labels,
    /// Whether nothing is to be written.
    pub dry_run: bool,
}

/// Where objects are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A workspace of Omnia's API.
    Workspace {
        /// The URL of the API, without a slash at its end.
        endpoint: String,
        /// The token.
        token: Token,
    },
    /// Kubernetes itself.
    Cluster {
        /// The path of a kubeconfig; none within the cluster.
        kubeconfig: Option<String>,
    },
}

/// A bearer token, which no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token itself, for the header of a request.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A provider of models that the workspace has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name by which agents know the provider.
    pub name: String,
    /// The name of the provider's object.
    pub reference: String,
    /// What it is for.
    pub role: &'static str,
}

/// How agents run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Runtime {
    /// The number of pods.
    pub replicas: Option<i64>,
    /// The CPU that a pod asks for.
    pub cpu: Option<String>,
    /// The memory that a pod asks for.
    pub memory: Option<String>,
    /// How the number of pods follows the load, with the keys of targets.
    pub autoscaling: Option<Value>,
}

/// How a new version of the pack comes to the agents.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// Which versions are taken: `stable` or `prerelease`.
    pub channel: &'static str,
    /// The steps, as written.
    pub steps: Vec<Value>,
}

/// Checks the configuration. Returns it if it says where to deploy, with every mistake and warning in it: what is deployed can be
/// read and destroyed with a configuration that has other mistakes.
#[must_use]
pub fn check(value: &Value, environment: &BTreeMap<String, String>) -> (Option<Config>, Diagnostics) {
    let reader = Reader::new(FILE);
    let config = config(&reader.root(value), environment);
    (Some(config).filter(Config::is_located), reader.into_found())
}

impl Config {
    fn is_located(&self) -> bool {
        let is_reachable = match &self.target {
            Target::Workspace { endpoint, token } => !endpoint.is_empty() && !token.reveal().is_empty(),
            Target::Cluster { .. } => true,
        };
        is_reachable && DNS_LABEL.accepts(&self.workspace)
    }

    /// The provider of an agent: the one of its name, else the default one.
    #[must_use]
    pub fn provider_of(&self, agent: Option<&str>) -> Option<&Provider> {
        let named = |name: &str| self.providers.iter().find(|provider| provider.name == name);
        agent.and_then(named).or_else(|| named(DEFAULT_PROVIDER))
    }
}

fn config(root: &Field<'_>, environment: &BTreeMap<String, String>) -> Config {
    root.only(&KEYS);
    let tools = tools::read(&root.key("tools"));
    let registry = root.key("tool_registry_ref");
    if registry.filled().is_some() && !tools.is_empty() {
        registry.refuse("excludes `tools`".to_owned(), "remove one of them".to_owned());
    }
    let endpoint = |key: &str| url(&root.key(key));
    Config {
        target: target(root, environment),
        workspace: workspace(&root.key("workspace")),
        providers: providers(&root.key("providers")),
        tools,
        tool_registry_ref: registry.filled(),
        skills: blocks::skills(&root.key("skills")),
        skills_config: blocks::skills_config(&root.key("skillsConfig")),
        runtime: blocks::runtime(&root.key("runtime")),
        external_auth: blocks::external_auth(&root.key("externalAuth")),
        memory: blocks::memory(&root.key("memory")),
        evals: blocks::evals(&root.key("evals")),
        rollout: blocks::rollout(&root.key("rollout")),
        console_endpoint: endpoint("console_endpoint").or_else(|| endpoint("api_endpoint")),
        labels: labels(&root.key("labels")),
        dry_run: root.key("dry_run").flag().unwrap_or_default(),
    }
}

fn target(root: &Field<'_>, environment: &BTreeMap<String, String>) -> Target {
    let (endpoint, token) = (root.key("api_endpoint"), root.key("api_token"));
    if let Some(kubeconfig) = root.key("kubeconfig").filled() {
        if endpoint.is_set() {
            endpoint.refuse("excludes `kubeconfig`".to_owned(), "remove one of them".to_owned());
        }
        return Target::Cluster { kubeconfig: Some(kubeconfig).filter(|path| path != IN_CLUSTER) };
    }
    endpoint.required("write the URL of Omnia's API, or `kubeconfig` to deploy to Kubernetes itself");
    let of_environment = environment.get(TOKEN).filter(|token| !token.is_empty());
    let found = token.filled().or_else(|| of_environment.cloned());
    if found.is_none() {
        token.required(&format!("set the environment variable {TOKEN}, or log in"));
    }
    Target::Workspace { endpoint: url(&endpoint).unwrap_or_default(), token: Token(found.unwrap_or_default()) }
}

fn url(field: &Field<'_>) -> Option<String> {
    let text = field.filled()?;
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    if Url::parse(&text).ok().filter(is_web).is_none() {
        field.refuse("is no URL of a server".to_owned(), "write it as in `https://omnia.example.com`".to_owned());
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}

fn workspace(field: &Field<'_>) -> String {
    field.required("write the name of the workspace");
    let written = field.text().unwrap_or_default();
    let lower = written.to_lowercase();
    if lower != written && DNS_LABEL.accepts(&lower) {
        field.warn(format!("`{written}` is read as `{lower}`"), format!("write `{lower}`"));
    } else {
        field.keeps(&DNS_LABEL);
    }
    lower
}

const ROLES: [&str; 6] = ["llm", "embedding", "tts", "stt", "image", "inference"];

fn providers(field: &Field<'_>) -> Vec<Provider> {
    let mut providers: Vec<Provider> = if field.is_list() {
        field.items().iter().filter_map(provider).collect()
    } else {
        let of_map = |(name, reference)| Provider { name, reference, role: ROLES[0] };
        field.text_entries().into_iter().map(of_map).collect()
    };
    providers.sort_by(|a, b| a.name.cmp(&b.name));
    for pair in providers.windows(2).filter(|pair| pair[0].name == pair[1].name) {
        field.refuse(format!("`{}` is there twice", pair[0].name), "give each provider a name of its own".to_owned());
    }
    match providers.first() {
        None => {
            field
                .refuse("names no provider".to_owned(), "write one, as in `{\"default\": \"my-provider\"}`".to_owned());
        }
        Some(first) if !providers.iter().any(|provider| provider.name == DEFAULT_PROVIDER) => {
            let primary = format!("no provider is named `{DEFAULT_PROVIDER}`: `{}` is the primary one", first.name);
            field.warn(primary, format!("name one `{DEFAULT_PROVIDER}`"));
        }
        Some(_) => {}
    }
    providers
}

fn provider(item: &Field<'_>) -> Option<Provider> {
    item.only(&["name", "ref", "role"]);
    item.key("name").required("write the name by which agents know the provider");
    item.key("ref").required("write the name of a provider of the workspace");
    let role = item.key("role").choice(&ROLES);
    Some(Provider { name: item.key("name").filled()?, reference: item.key("ref").filled()?, role: role? })
}

fn labels(field: &Field<'_>) -> Labels {
    let labels = field.text_entries();
    for (key, _) in &labels {
        if let Some(fault) = key_fault(key) {
            field.key(key).refuse(
                format!("Kubernetes refuses this key: {fault}"),
                "write it as in `example.com/team`".to_owned(),
            );
        }
    }
    labels.into_iter().collect()
}

#[cfg(test)]
mod tests;
