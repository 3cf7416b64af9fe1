//! Applies defaults, and checks rules that the JSON Schema cannot express.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lapin::types::ShortString;
use lapin::uri::AMQPUri;
use lifecycle_api_client::url::segment;
use lifecycle_api_client::{AuthScheme, TokenSettings};
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::{Resolver, Source};
use lifecycle_service::logging::Output;
use lifecycle_service::settings::{health_listen, log, metrics_listen};

use super::default_rule::{is_usual_content, written_ages};
use super::settings::BROKER_FILE;
use super::spec::{ApiSpec, BrokerFileSpec, BrokerSpec, LabelSpec, SentinelSpec};
use super::{ApiConfig, BrokerConfig, BrokerUrl, Config, ExchangeType};
use crate::PROGRAM;
use crate::decision::MaxAges;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
const API_TIMEOUT: Duration = Duration::from_secs(10);
const PAGE_SIZE: u16 = 20;
/// The most items of a page that the API accepts.
const LARGEST_PAGE: u16 = 100;
/// RabbitMQ's own default of a minute would leave a dead connection in use for two minutes.
const HEARTBEAT_SECONDS: u16 = 10;
const TOKEN_CACHE: Duration = Duration::from_secs(30);

/// Checks the values and applies the defaults; `None` without a usable topic and a usable URL of the broker. `apart` is
/// the broker of a file of its own.
pub(super) fn resolve(spec: SentinelSpec, mut resolver: Resolver<'_>, apart: Option<BrokerConfig>) -> Option<Config> {
    let r = &mut resolver;
    let resource_type = required(r, "resource_type", spec.resource_type, "write a plural type, such as `clusters`");
    if !resource_type.is_empty() && segment(&resource_type).is_none() {
        r.error("resource_type", "cannot be part of a path", "write a plural type, such as `clusters`");
    }
    let topic = spec.clients.broker.topic;
    let topic = required(r, "clients.broker.topic", topic, "write the topic of the adapters' `clients.broker.topic`");
    let topic = ShortString::try_new(topic.as_str());
    if topic.is_err() {
        r.error("clients.broker.topic", "has more than the 255 bytes that AMQP allows", None);
    }
    let written = spec.message_decision.as_ref().and_then(written_ages);
    if spec.message_decision.is_some() && written.is_none() {
        r.error(
            "message_decision",
            "is not the default rule, by which this Sentinel decides",
            "leave it out, or change only the ages in it",
        );
    }
    if spec.message_data.as_ref().is_some_and(|data| !is_usual_content(data)) {
        r.error(
            "message_data",
            "is not the usual content, which this Sentinel sends: id, kind, href, generation and the owner",
            "leave it out",
        );
    }
    if spec.tracing_enabled == Some(true) {
        r.warn("tracing_enabled", "has no effect: this Sentinel writes no traces", None);
    }
    let default = MaxAges::default();
    let (reconciled, unreconciled) = written.map(|ages| (ages.reconciled, ages.unreconciled)).unzip();
    let ages = MaxAges {
        reconciled: age(r, "max_age_reconciled", spec.max_age_reconciled, reconciled, default.reconciled),
        unreconciled: age(r, "max_age_unreconciled", spec.max_age_unreconciled, unreconciled, default.unreconciled),
    };
    let api = api(r, spec.clients.hyperfleet_api);
    let selector = selector(r, spec.resource_selector);
    let poll_interval = r.duration("poll_interval", spec.poll_interval.as_deref(), POLL_INTERVAL);
    let log = log(r, &spec.log, Output::Stderr);
    let health_listen = health_listen(r, spec.health.listen.as_deref());
    let metrics_listen = metrics_listen(r, spec.metrics.listen.as_deref());
    // Last, because `?` returns here, and the other diagnostics must be collected before.
    let broker = match apart {
        None => broker(r, spec.broker)?,
        Some(apart) => {
            if r.source("broker.rabbitmq.url") == Source::File {
                r.warn("broker", format!("has no effect beside the file that {BROKER_FILE} names"), "remove it");
            }
            apart
        }
    };
    let name = spec.sentinel.name.filter(|name| !name.is_empty()).unwrap_or_else(|| PROGRAM.to_owned());
    Some(Config {
        name,
        api,
        resource_type,
        selector,
        poll_interval,
        ages,
        topic: topic.ok()?,
        broker,
        log,
        health_listen,
        metrics_listen,
    })
}

/// An age: that of the key, else that of the rule, else the default.
fn age(r: &mut Resolver<'_>, key: &str, given: Option<String>, written: Option<String>, default: Duration) -> Duration {
    let Some(text) = written.filter(|_| given.is_none()) else { return r.duration(key, given.as_deref(), default) };
    if parse_nanoseconds(&text, Units::Go).is_err() {
        r.error("message_decision", format!("has {text:?} as an age"), "write a duration such as 30m");
    }
    r.duration("message_decision", Some(&text), default)
}

/// Resolves the broker's file.
pub(super) fn broker_file(spec: BrokerFileSpec, mut resolver: Resolver<'_>) -> Option<BrokerConfig> {
    broker(&mut resolver, spec.broker)
}

fn required(r: &mut Resolver<'_>, key: &str, given: Option<String>, help: &str) -> String {
    let given = given.unwrap_or_default();
    if given.is_empty() {
        r.error(key, "is required", help);
    }
    given
}

fn api(r: &mut Resolver<'_>, spec: ApiSpec) -> ApiConfig {
    let (key, help) = ("clients.hyperfleet_api.base_url", "write the API's URL, such as `http://localhost:8000`");
    let base_url = required(r, key, spec.base_url, help);
    let timeout = r.duration("clients.hyperfleet_api.timeout", spec.timeout.as_deref(), API_TIMEOUT);
    let page_size = r.within("clients.hyperfleet_api.page_size", spec.page_size, PAGE_SIZE, &(1..=LARGEST_PAGE));
    let key = "clients.hyperfleet_api.auth.token_cache_ttl";
    let cache_ttl = r.duration(key, spec.auth.token_cache_ttl.as_deref(), TOKEN_CACHE);
    let path = spec.auth.token_path.filter(|path| !path.is_empty()).map(PathBuf::from);
    ApiConfig {
        base_url,
        timeout,
        page_size,
        token: path.map(|path| TokenSettings { path, cache_ttl, scheme: AuthScheme::Bearer }),
    }
}

/// The labels by name. The API's search has no notation for a quote in a value.
fn selector(r: &mut Resolver<'_>, labels: Vec<LabelSpec>) -> BTreeMap<String, String> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let mut selector = BTreeMap::new();
    for LabelSpec { label, value } in labels {
        if !is_name(&label) || value.contains(['\'', '\\']) {
            let message = format!("cannot be searched by: {label:?} with the value {value:?}");
            r.error("resource_selector", message, "write letters, digits, `-`, `_`, `.` or `/`, and no quotes");
        } else if let Some(other) = selector.insert(label.clone(), value) {
            let message =
                format!("has the label {label:?} twice, so no resource would match; the other value is {other:?}");
            r.error("resource_selector", message, "write each label once");
        }
    }
    selector
}

fn broker(r: &mut Resolver<'_>, spec: BrokerSpec) -> Option<BrokerConfig> {
    let is_supported = matches!(spec.kind.as_deref(), None | Some("" | "rabbitmq"));
    if !is_supported {
        r.error("broker.type", "must be rabbitmq", "leave it out");
    }
    let given = spec.rabbitmq.exchange_type.as_deref();
    let exchange_type = r.choice("broker.rabbitmq.exchange_type", given, &ExchangeType::NAMES, ExchangeType::Fanout);
    let key = "broker.rabbitmq.url";
    let text = required(r, key, spec.rabbitmq.url, "write it, or set BROKER_RABBITMQ_URL");
    if text.is_empty() {
        return None;
    }
    let help = "write amqp://USER:PASSWORD@HOST:PORT/VHOST (or amqps://), with special characters percent-encoded";
    // The library's parser drops an IPv6 address, and would connect to this host instead.
    if text.contains('[') {
        r.error(key, "has an IPv6 address, which is not supported", help);
        return None;
    }
    let Ok(mut uri) = text.parse::<AMQPUri>() else {
        r.error(key, "is not an AMQP URL", help);
        return None;
    };
    // As in the Go client, `amqp://host/` means the default virtual host.
    if uri.vhost.is_empty() {
        uri.vhost = "/".to_owned();
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
    Some(BrokerConfig { url: BrokerUrl(uri), exchange_type })
}
