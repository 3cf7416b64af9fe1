//! The programs of one system, configured so that they find each other.
//!
//! In: the addresses of a database, a broker and a Kubernetes API server, and the kinds of resources. Out: a [`Setup`] of
//! each program. Fails: never; a program that a journey needs otherwise gets more arguments or variables, or other ones.
//!
//! Each type of resources has a topic of its name, to which its Sentinel sends and its adapters subscribe.
//!
//! API, Sentinel and adapters get the files, flags and variables of the Go programs, so that one of those can run in the
//! place of ours ([`Setup::by`]). Only the adapter's ports are in variables that a Go adapter ignores, because its ports
//! are fixed.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use url::Url;

use crate::process::Setup;

/// The ports of a Go adapter, which nothing changes.
pub const FIXED_PORTS: Ports = Ports { health: 8080, metrics: 9090 };

/// An `OpenAPI` document without schemas, because a Go API does not start without a document.
const OPENAPI: &str = r#"{"openapi": "3.0.0", "info": {"title": "stack", "version": "1"}, "paths": {}}"#;

/// The ports on which a program listens; 0 for any free one, which the program then logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// The Go Sentinel's.
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
    pub database_url: Url,
    /// The kubeconfig of the adapters and of the sweeper.
    pub kubeconfig: PathBuf,
    /// The kinds of resources.
    pub kinds: Vec<Kind>,
    /// The key by which adapters sign ownership proofs, and the sweeper checks them; `None` for objects without proofs.
    pub signing_key: Option<String>,
    /// The block of configuration files by which adapters and the sweeper reach Maestro; `None` without one.
    pub maestro: Option<Value>,
}

/// The name of the file with the token by which the console reads the pages of other programs.
pub const TOKEN: &str = "pages.token";
/// The name of the file with the signing key.
const SIGNING_KEY: &str = "signing.key";

impl Parts {
    /// The topic of the events about a type of resources.
    #[must_use]
    pub fn topic(&self, plural: &str) -> String {
        format!("{}-{plural}", self.topic_prefix)
    }

    /// The API. It needs [`migrate`](Self::migrate) before its first start.
    #[must_use]
    pub fn api(&self, ports: Ports) -> Setup {
        self.api_command("serve", ports)
    }

    /// The API's command that creates the tables, and ends.
    #[must_use]
    pub fn migrate(&self, ports: Ports) -> Setup {
        self.api_command("migrate", ports)
    }

    fn api_command(&self, command: &str, ports: Ports) -> Setup {
        let at = |port: u16| json!({ "host": "127.0.0.1", "port": port });
        let document = "openapi.json";
        let server = json!({ "openapi_schema_path": document, "jwt": { "enabled": false } });
        let config = json!({
            "server": merge(server, &at(self.api_port)), "health": at(ports.health), "metrics": at(ports.metrics),
            "database": self.database(),
            "entities": self.entities(),
            // A Go API would print its spans among the lines of its log.
            "tracing": { "enabled": false },
        });
        let setup = Setup::new("local-api").arguments(&[command]).with_file(document, OPENAPI);
        setup.file("--config", "api.yaml", &config.to_string())
    }

    fn database(&self) -> Value {
        let url = &self.database_url;
        let text = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        json!({
            "dialect": "postgres",
            "host": url.host_str(),
            "port": url.port().unwrap_or(5432),
            "name": text(url.path().trim_start_matches('/')),
            "username": text(url.username()),
            // A server that trusts everybody ignores the password; a program may insist on one.
            "password": text(url.password().unwrap_or("none")),
            "ssl": { "mode": "disable" },
        })
    }

    /// A Sentinel of one type of resources.
    #[must_use]
    pub fn sentinel(&self, ports: Ports, plural: &str, cadence: Cadence) -> Setup {
        let config = json!({
            "clients": {
                "hyperfleet_api": { "base_url": self.api_url, "page_size": 100 },
                "broker": { "topic": self.topic(plural) },
            },
            "resource_type": plural,
            "poll_interval": cadence.poll_interval,
            "message_decision": rule(cadence),
            "message_data": {
                "id": "resource.id", "kind": "resource.kind", "href": "resource.href",
                "generation": "resource.generation",
                "owner_references": {
                    "id": "resource.owner_references.id", "href": "resource.owner_references.href",
                    "kind": "resource.owner_references.kind",
                },
            },
            "tracing_enabled": false,
        });
        Setup::new("local-sentinel")
            .arguments(&["serve"])
            .file("--config", "sentinel.yaml", &config.to_string())
            .file_of_variable("BROKER_CONFIG_FILE", "broker.yaml", &self.broker())
            .arguments(&["--health-server-bindaddress", &listen(ports.health)])
            .arguments(&["--metrics-server-bindaddress", &listen(ports.metrics)])
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
        });
        let signing = json!({ "signing": { "key_file": SIGNING_KEY } });
        let deployment = if self.signing_key.is_some() { merge(deployment, &signing) } else { deployment };
        let deployment = match &self.maestro {
            Some(maestro) => merge(deployment, &json!({ "clients": { "maestro": maestro } })),
            None => deployment,
        };
        self.with_signing_key(Setup::new("hyperfleet-adapter"))
            .arguments(&["serve"])
            .file("--config", "adapter.yaml", &deployment.to_string())
            .file("--task-config", "task.yaml", task)
            .file_of_variable("BROKER_CONFIG_FILE", "broker.yaml", &self.broker())
            .variable("HYPERFLEET_HEALTH_LISTEN", &listen(ports.health))
            .variable("HYPERFLEET_METRICS_LISTEN", &listen(ports.metrics))
            // Spans among the lines of the log help nobody.
            .variable("HYPERFLEET_TRACING_ENABLED", "false")
    }

    fn broker(&self) -> String {
        let rabbitmq = json!({ "url": self.broker_url, "exchange_type": "topic" });
        json!({ "broker": { "type": "rabbitmq", "rabbitmq": rabbitmq } }).to_string()
    }

    /// A sweeper of these adapters' objects, with its Lease in a namespace. `settings` are more keys of its configuration.
    #[must_use]
    pub fn sweeper(&self, ports: Ports, adapters: &[String], lease_namespace: &str, settings: &Value) -> Setup {
        let config = json!({
            "adapters": adapters,
            "api": { "base_url": self.api_url },
            "kubernetes": { "kubeconfig": self.kubeconfig },
            "lease": { "namespace": lease_namespace },
            "health": { "listen": listen(ports.health) },
            "metrics": { "listen": listen(ports.metrics) },
        });
        let keys = json!({ "signing_key_files": [SIGNING_KEY] });
        let config = if self.signing_key.is_some() { merge(config, &keys) } else { config };
        let config = match &self.maestro {
            Some(maestro) => merge(config, &json!({ "maestro": maestro })),
            None => config,
        };
        let text = merge(config, settings).to_string();
        self.with_signing_key(Setup::new("sweeper")).arguments(&["run"]).file("--config", "sweeper.yaml", &text)
    }

    fn with_signing_key(&self, setup: Setup) -> Setup {
        match &self.signing_key {
            Some(key) => setup.with_file(SIGNING_KEY, key),
            None => setup,
        }
    }

    /// The exporter, on the API's database. `settings` are more keys of its configuration.
    #[must_use]
    pub fn exporter(&self, ports: Ports, settings: &Value) -> Setup {
        let kinds = self.kinds.iter().map(|kind| json!({ "kind": kind.name, "required_adapters": kind.adapters }));
        let config = json!({
            "database": { "url": self.database_url.as_str() },
            "kinds": kinds.collect::<Vec<_>>(),
            "health": { "listen": listen(ports.health) },
            "metrics": { "listen": listen(ports.metrics) },
        });
        let text = merge(config, settings).to_string();
        Setup::new("reconcile-metrics").arguments(&["serve"]).file("--config", "exporter.yaml", &text)
    }

    /// The console, with its pages at a port of its own. `sources` are the keys that name the other programs; they may name the file
    /// [`TOKEN`], which has this token.
    #[must_use]
    pub fn console(&self, ports: Ports, listen_port: u16, token: &str, sources: &Value) -> Setup {
        let kinds = self.kinds.iter().map(|kind| kind.name.as_str());
        let config = json!({
            "listen": listen(listen_port),
            "api": { "base_url": self.api_url, "kinds": kinds.collect::<Vec<_>>() },
            "health": { "listen": listen(ports.health) },
            "metrics": { "listen": listen(ports.metrics) },
        });
        let text = merge(config, sources).to_string();
        Setup::new("hyperfleet-console").arguments(&["serve"]).with_file(TOKEN, token).file(
            "--config",
            "console.yaml",
            &text,
        )
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

fn listen(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// The Go Sentinel's default rule, with other ages. It has no default: the file must contain it.
fn rule(cadence: Cadence) -> Value {
    let older =
        |state: &str, age: &str| format!("{state} && has_ref_time && now - timestamp(ref_time) > duration('{age}')");
    let params = [
        ("ref_time", "condition('Reconciled').last_updated_time".to_owned()),
        ("is_reconciled", "condition('Reconciled').status == 'True'".to_owned()),
        ("has_ref_time", "ref_time != ''".to_owned()),
        ("is_new_resource", "resource.generation == 1 && !has_ref_time".to_owned()),
        ("generation_mismatch", "resource.generation > condition('Reconciled').observed_generation".to_owned()),
        ("reconciled_and_stale", older("is_reconciled", cadence.reconciled)),
        ("not_reconciled_and_debounced", older("!is_reconciled", cadence.unreconciled)),
    ];
    let names = params[3..].iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let params = params.iter().map(|(name, expr)| json!({ "name": name, "expr": expr }));
    json!({ "params": params.collect::<Vec<_>>(), "result": names.join(" || ") })
}
