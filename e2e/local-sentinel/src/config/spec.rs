//! The configuration file's types, without defaults; `resolve` applies those.
//!
//! The JSON Schema is derived from these types: their doc comments are its descriptions.

use lifecycle_service::settings::{DurationText, HealthSpec, LogSpec, MetricsSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The configuration file of the local Sentinel.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SentinelSpec {
    /// The Sentinel itself.
    #[serde(default)]
    pub sentinel: NameSpec,
    /// The servers that the Sentinel calls.
    #[serde(default)]
    pub clients: ClientsSpec,
    /// The message broker. Has no effect if `BROKER_CONFIG_FILE` names a file of its own, as the real Sentinel's.
    #[serde(default)]
    pub broker: BrokerSpec,
    /// The plural type of the resources, such as `clusters`. Required.
    pub resource_type: Option<String>,
    /// Labels that a resource must have to be polled; none by default.
    #[serde(default)]
    pub resource_selector: Vec<LabelSpec>,
    /// The time between two polls; 5s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub poll_interval: Option<DurationText>,
    /// How old the condition Reconciled becomes before a reconciled resource is announced again; by default the age in `message_decision`, else 30m.
    #[schemars(extend("format" = "go-duration"))]
    pub max_age_reconciled: Option<DurationText>,
    /// The same for a resource that is not reconciled; by default the age in `message_decision`, else 10s.
    #[schemars(extend("format" = "go-duration"))]
    pub max_age_unreconciled: Option<DurationText>,
    /// The real Sentinel's rule. May be left out, and must otherwise be the default rule, with any ages.
    pub message_decision: Option<DecisionSpec>,
    /// The real Sentinel's content of events. May be left out, and must otherwise be the usual content.
    pub message_data: Option<Value>,
    /// Has no effect: events have no trace context.
    pub tracing_enabled: Option<bool>,
    /// Has no effect.
    pub debug_config: Option<bool>,
    /// Logging.
    #[serde(default)]
    pub log: LogSpec,
    /// The server of health probes.
    #[serde(default)]
    pub health: HealthSpec,
    /// The server of Prometheus metrics.
    #[serde(default)]
    pub metrics: MetricsSpec,
}

/// The broker's file, which the adapters read as well. Unknown keys are warnings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(extend("x-lenient" = true))]
#[serde(deny_unknown_fields)]
pub struct BrokerFileSpec {
    /// The message broker.
    #[serde(default)]
    pub broker: BrokerSpec,
    /// Has no effect: it is about programs that receive.
    pub subscriber: Option<Value>,
}

/// The Sentinel itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NameSpec {
    /// The name in log lines, requests and connections; local-sentinel by default.
    pub name: Option<String>,
}

/// The servers that the Sentinel calls.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientsSpec {
    /// The HyperFleet API.
    #[serde(default)]
    pub hyperfleet_api: ApiSpec,
    /// The exchange of the events.
    #[serde(default)]
    pub broker: TopicSpec,
}

/// The HyperFleet API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// The API's URL, such as `http://localhost:8000`. Required.
    pub base_url: Option<String>,
    /// Has no effect: the path is always `/api/hyperfleet/v1`.
    pub version: Option<String>,
    /// The time limit of one request; 10s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub timeout: Option<DurationText>,
    /// The most items of a page, 1 to 100; 20 by default.
    pub page_size: Option<u16>,
    /// The bearer token.
    #[serde(default)]
    pub auth: AuthSpec,
}

/// The bearer token.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthSpec {
    /// The file that contains the token; none by default.
    pub token_path: Option<String>,
    /// How long a token is used before its file is read again; 30s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub token_cache_ttl: Option<DurationText>,
}

/// The exchange of the events.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopicSpec {
    /// The name of the exchange, which the adapters' `clients.broker.topic` repeats. Required.
    pub topic: Option<String>,
}

/// The message broker. Unknown keys are warnings, as its file is shared with other programs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(extend("x-lenient" = true))]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// Must be rabbitmq, the default.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Settings of RabbitMQ.
    #[serde(default)]
    pub rabbitmq: RabbitMqSpec,
}

/// Settings of RabbitMQ.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RabbitMqSpec {
    /// The server's URL: `amqp://user:password@host:5672/vhost`, or `amqps://`. Required.
    pub url: Option<String>,
    /// The exchange's type: direct, fanout (the default), topic or headers.
    pub exchange_type: Option<String>,
}

/// A label that a resource must have.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelSpec {
    /// The label's name.
    pub label: String,
    /// The label's value.
    pub value: String,
}

/// The real Sentinel's rule.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionSpec {
    /// Named expressions, of which later ones may use earlier ones.
    #[serde(default)]
    pub params: Vec<ParamSpec>,
    /// The expression that decides.
    pub result: String,
}

/// A named expression.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamSpec {
    /// The name by which other expressions use the value.
    pub name: String,
    /// The expression.
    pub expr: String,
}
