//! The programs of one system, configured so that they find each other.
//!
//! In: the addresses of a database, a broker and a Kubernetes API server, and the kinds of resources. Out: a [`Setup`] of
//! each program. Fails: never; a program that a journey needs otherwise gets more arguments or variables, or other ones.
//!
//! Each type of resources has a topic of its name, to which its Sentinel sends and its adapters subscribe.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::process::Setup;

/// The ports on which a program listens; 0 for any free one, which the program then logs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ports {
    /// The port of health probes.
    pub health: u16,
    /// The port of metrics.
    pub metrics: u16,
}

/// A kind of resources.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    /// The name, such as `Cluster`.
    pub name: String,
    /// The type in paths, such as `clusters`.
    pub plural: String,
    /// The kind of the parent, and what becomes of these resources when their parent is deleted: `restrict`, `cascade` or
    /// `orphan`. `None` for a kind without a parent.
    pub parent: Option<(String, String)>,
    /// The names of the adapters that must report before a resource is reconciled.
    pub adapters: Vec<String>,
}

/// How often a Sentinel polls, and how old a condition is when an event is due; durations in Go's notation.
#[derive(Debug, Clone, Copy)]
pub struct Cadence {
    /// The time between two polls.
    pub poll_interval: &'static str,
    /// The age while a resource is not reconciled.
    pub unreconciled: &'static str,
    /// The age while it is.
    pub reconciled: &'static str,
}

impl Cadence {
    /// The real Sentinel's.
    pub const PRODUCTION: Self = Self { poll_interval: "5s", unreconciled: "10s", reconciled: "30m" };
    /// As short as a test allows.
    pub const TEST: Self = Self { poll_interval: "100ms", unreconciled: "200ms", reconciled: "30m" };
}

/// The parts of one system.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The port of the API.
    pub api_port: u16,
    /// The URL by which the others reach the API, without a path.
    pub api_url: String,
    /// The URL of the broker.
    pub broker_url: String,
    /// The prefix of all topics, so that systems can share a broker.
    pub topic_prefix: String,
    /// The URL of the API's database.
    pub database_url: String,
    /// The kubeconfig of the adapters and of the sweeper.
    pub kubeconfig: PathBuf,
    /// The kinds of resources.
    pub kinds: Vec<Kind>,
}

impl Parts {
    /// The topic of the events about a type of resources.
    #[must_use]
    pub fn topic(&self, plural: &str) -> String {
        format!("{}-{plural}", self.topic_prefix)
    }

    /// The local API.
    #[must_use]
    pub fn api(&self, ports: Ports) -> Setup {
        let at = |port: u16| json!({ "host": "127.0.0.1", "port": port });
        let config = json!({
            "server": at(self.api_port), "health": at(ports.health), "metrics": at(ports.metrics),
            "database": { "url": self.database_url },
            "entities": self.entities(),
        });
        Setup::new("local-api").arguments(&["serve"]).file("--config", "api.yaml", &config.to_string())
    }

    /// A local Sentinel of one type of resources.
    #[must_use]
    pub fn sentinel(&self, ports: Ports, plural: &str, cadence: Cadence) -> Setup {
        let config = json!({
            "clients": {
                "hyperfleet_api": { "base_url": self.api_url, "page_size": 100 },
                "broker": { "topic": self.topic(plural) },
            },
            "broker": { "rabbitmq": { "url": self.broker_url, "exchange_type": "topic" } },
            "resource_type": plural,
            "poll_interval": cadence.poll_interval,
            "max_age_unreconciled": cadence.unreconciled,
            "max_age_reconciled": cadence.reconciled,
            "health": listen(ports.health),
            "metrics": listen(ports.metrics),
        });
        Setup::new("local-sentinel").arguments(&["serve"]).file("--config", "sentinel.yaml", &config.to_string())
    }

    /// An adapter of one type of resources. Replicas of an adapter have the same name, which is that of their queue.
    #[must_use]
    pub fn adapter(&self, ports: Ports, name: &str, plural: &str, task: &str) -> Setup {
        let deployment = json!({
            "adapter": { "name": name },
            "log": { "level": "debug" },
            "clients": {
                "hyperfleet_api": { "base_url": self.api_url },
                "broker": { "subscription_id": name, "topic": self.topic(plural) },
                "kubernetes": { "kube_config_path": self.kubeconfig },
            },
            "health": listen(ports.health),
            "metrics": listen(ports.metrics),
        });
        let rabbitmq = json!({ "url": self.broker_url, "exchange_type": "topic" });
        let broker = json!({ "broker": { "type": "rabbitmq", "rabbitmq": rabbitmq } });
        Setup::new("hyperfleet-adapter")
            .arguments(&["serve"])
            .file("--config", "adapter.yaml", &deployment.to_string())
            .file("--task-config", "task.yaml", task)
            .file_of_variable("BROKER_CONFIG_FILE", "broker.yaml", &broker.to_string())
    }

    /// A sweeper of these adapters' objects, with its Lease in a namespace. `settings` are more keys of its configuration.
    #[must_use]
    pub fn sweeper(&self, ports: Ports, adapters: &[String], lease_namespace: &str, settings: &Value) -> Setup {
        let config = json!({
            "adapters": adapters,
            "api": { "base_url": self.api_url },
            "kubernetes": { "kubeconfig": self.kubeconfig },
            "lease": { "namespace": lease_namespace },
            "health": listen(ports.health),
            "metrics": listen(ports.metrics),
        });
        let text = merge(config, settings).to_string();
        Setup::new("sweeper").arguments(&["run"]).file("--config", "sweeper.yaml", &text)
    }

    /// The exporter, on the API's database. `settings` are more keys of its configuration.
    #[must_use]
    pub fn exporter(&self, ports: Ports, settings: &Value) -> Setup {
        let kinds = self.kinds.iter().map(|kind| json!({ "kind": kind.name, "required_adapters": kind.adapters }));
        let config = json!({
            "database": { "url": self.database_url },
            "kinds": kinds.collect::<Vec<_>>(),
            "health": listen(ports.health),
            "metrics": listen(ports.metrics),
        });
        let text = merge(config, settings).to_string();
        Setup::new("reconcile-metrics").arguments(&["serve"]).file("--config", "exporter.yaml", &text)
    }

    fn entities(&self) -> Vec<Value> {
        let entity = |kind: &Kind| {
            let mut entity = json!({ "kind": kind.name, "plural": kind.plural, "required_adapters": kind.adapters });
            if let Some((parent, on_delete)) = &kind.parent {
                entity["parent_kind"] = json!(parent);
                entity["on_parent_delete"] = json!(on_delete);
            }
            entity
        };
        self.kinds.iter().map(entity).collect()
    }
}

/// Adds the keys of `settings`, also below keys that both have.
fn merge(mut config: Value, settings: &Value) -> Value {
    match (&mut config, settings) {
        (Value::Object(config), Value::Object(settings)) => {
            for (key, setting) in settings {
                let former = config.remove(key).unwrap_or_default();
                config.insert(key.clone(), merge(former, setting));
            }
        }
        (config, settings) => *config = settings.clone(),
    }
    config
}

fn listen(port: u16) -> Value {
    json!({ "listen": format!("127.0.0.1:{port}") })
}
