//! The keys that flags and environment variables can set, in one table.
//!
//! The command line builds its flags from [`SETTINGS`]; the loader reads its variables from it. Flags win over
//! variables, variables over the file.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_config::decode::{coerce, property};
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use serde_json::{Map, Value};

use super::Environment;

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// Text.
    Text,
    /// Nothing, or `=true` and `=false`.
    Switch,
}

/// One key that can be set from outside of the file.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key's path in the deployment file.
    pub key: &'static str,
    /// The flag's long name, if it has a flag.
    pub flag: Option<&'static str>,
    /// What the flag takes.
    pub kind: FlagKind,
    /// Environment variables, the first one that is set and not empty counts.
    pub variables: &'static [&'static str],
}

impl Setting {
    /// What the key means, for the flag's help: its description in the schema of the deployment file.
    #[must_use]
    pub fn help(&self, schema: &Value) -> String {
        let description = property(schema, &Path::of_keys(self.key)).and_then(|property| property.get("description"));
        description.and_then(Value::as_str).unwrap_or_default().trim_end_matches('.').to_owned()
    }
}

const fn text(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Setting {
    Setting { key, flag: Some(flag), kind: FlagKind::Text, variables }
}

const fn switch(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Setting {
    Setting { key, flag: Some(flag), kind: FlagKind::Switch, variables }
}

const fn variable(key: &'static str, variables: &'static [&'static str]) -> Setting {
    Setting { key, flag: None, kind: FlagKind::Text, variables }
}

/// The flag and the variable that name the deployment file.
pub const ADAPTER_FILE: (&str, &str) = ("config", "HYPERFLEET_ADAPTER_CONFIG");
/// The flag and the variable that name the task file.
pub const TASK_FILE: (&str, &str) = ("task-config", "HYPERFLEET_TASK_CONFIG");

/// Every key that can be set from outside of the file.
pub const SETTINGS: &[Setting] = &[
    switch("debug_config", "debug-config", &["HYPERFLEET_DEBUG_CONFIG"]),
    text("log.level", "log-level", &["LOG_LEVEL"]),
    text("log.format", "log-format", &["LOG_FORMAT"]),
    text("log.output", "log-output", &["LOG_OUTPUT"]),
    text(
        "clients.maestro.grpc_server_address",
        "maestro-grpc-server-address",
        &["HYPERFLEET_MAESTRO_GRPC_SERVER_ADDRESS"],
    ),
    text(
        "clients.maestro.http_server_address",
        "maestro-http-server-address",
        &["HYPERFLEET_MAESTRO_HTTP_SERVER_ADDRESS"],
    ),
    text("clients.maestro.source_id", "maestro-source-id", &["HYPERFLEET_MAESTRO_SOURCE_ID"]),
    text("clients.maestro.client_id", "maestro-client-id", &["HYPERFLEET_MAESTRO_CLIENT_ID"]),
    text("clients.maestro.auth.type", "maestro-auth-type", &["HYPERFLEET_MAESTRO_AUTH_TYPE"]),
    text("clients.maestro.auth.tls_config.ca_file", "maestro-ca-file", &["HYPERFLEET_MAESTRO_CA_FILE"]),
    text("clients.maestro.auth.tls_config.cert_file", "maestro-cert-file", &["HYPERFLEET_MAESTRO_CERT_FILE"]),
    text("clients.maestro.auth.tls_config.key_file", "maestro-key-file", &["HYPERFLEET_MAESTRO_KEY_FILE"]),
    text("clients.maestro.auth.tls_config.http_ca_file", "maestro-http-ca-file", &["HYPERFLEET_MAESTRO_HTTP_CA_FILE"]),
    text("clients.maestro.timeout", "maestro-timeout", &["HYPERFLEET_MAESTRO_TIMEOUT"]),
    text(
        "clients.maestro.server_healthiness_timeout",
        "maestro-server-healthiness-timeout",
        &["HYPERFLEET_MAESTRO_SERVER_HEALTHINESS_TIMEOUT"],
    ),
    text("clients.maestro.retry_attempts", "maestro-retry-attempts", &["HYPERFLEET_MAESTRO_RETRY_ATTEMPTS"]),
    text("clients.maestro.keepalive.time", "maestro-keepalive-time", &["HYPERFLEET_MAESTRO_KEEPALIVE_TIME"]),
    text("clients.maestro.keepalive.timeout", "maestro-keepalive-timeout", &["HYPERFLEET_MAESTRO_KEEPALIVE_TIMEOUT"]),
    switch("clients.maestro.insecure", "maestro-insecure", &["HYPERFLEET_MAESTRO_INSECURE"]),
    text("clients.hyperfleet_api.base_url", "hyperfleet-api-base-url", &["HYPERFLEET_API_BASE_URL"]),
    text("clients.hyperfleet_api.version", "hyperfleet-api-version", &["HYPERFLEET_API_VERSION"]),
    text("clients.hyperfleet_api.timeout", "hyperfleet-api-timeout", &["HYPERFLEET_API_TIMEOUT"]),
    text("clients.hyperfleet_api.retry_attempts", "hyperfleet-api-retry", &["HYPERFLEET_API_RETRY_ATTEMPTS"]),
    text("clients.hyperfleet_api.retry_backoff", "hyperfleet-api-retry-backoff", &["HYPERFLEET_API_RETRY_BACKOFF"]),
    text("clients.hyperfleet_api.base_delay", "hyperfleet-api-base-delay", &["HYPERFLEET_API_BASE_DELAY"]),
    text("clients.hyperfleet_api.max_delay", "hyperfleet-api-max-delay", &["HYPERFLEET_API_MAX_DELAY"]),
    variable("clients.hyperfleet_api.auth.token_path", &["HYPERFLEET_API_AUTH_TOKEN_PATH"]),
    variable("clients.hyperfleet_api.auth.token_cache_ttl", &["HYPERFLEET_API_AUTH_TOKEN_CACHE_TTL"]),
    text(
        "clients.broker.subscription_id",
        "broker-subscription-id",
        &["HYPERFLEET_BROKER_SUBSCRIPTION_ID", "BROKER_SUBSCRIPTION_ID"],
    ),
    text("clients.broker.topic", "broker-topic", &["HYPERFLEET_BROKER_TOPIC", "BROKER_TOPIC"]),
    text(
        "clients.kubernetes.kube_config_path",
        "kubernetes-kube-config-path",
        &["HYPERFLEET_KUBERNETES_KUBE_CONFIG_PATH"],
    ),
    text("clients.kubernetes.api_version", "kubernetes-api-version", &["HYPERFLEET_KUBERNETES_API_VERSION"]),
    text("clients.kubernetes.qps", "kubernetes-qps", &["HYPERFLEET_KUBERNETES_QPS"]),
    text("clients.kubernetes.burst", "kubernetes-burst", &["HYPERFLEET_KUBERNETES_BURST"]),
];

/// Keys set on the command line.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    values: Vec<(&'static Setting, String)>,
}

impl Overrides {
    /// Sets the key of a flag of [`SETTINGS`], by the flag's long name; false if there is no such flag.
    pub fn set(&mut self, flag: &str, text: impl Into<String>) -> bool {
        let setting = SETTINGS.iter().find(|setting| setting.flag == Some(flag));
        self.values.extend(setting.map(|setting| (setting, text.into())));
        setting.is_some()
    }
}

/// One value from outside of the file.
#[derive(Debug, Clone)]
pub(super) struct Given {
    key: String,
    text: String,
    file: &'static str,
    name: String,
}

/// Everything that flags and variables set, the weakest first.
pub(super) fn given(overrides: &Overrides, environment: &Environment, in_file: &Value) -> Vec<Given> {
    let set = |name: &str| environment.get(name).filter(|text| !text.is_empty());
    let mut all = Vec::new();
    for key in scalar_keys(in_file) {
        // The Go adapter's configuration library lets these in for every key that the file has.
        let name = format!("HYPERFLEET_{}", key.to_uppercase().replace(['.', '-'], "_"));
        if let Some(text) = set(&name) {
            all.push(Given { key, text: text.clone(), file: "environment", name });
        }
    }
    for setting in SETTINGS {
        let Some((name, text)) = setting.variables.iter().find_map(|name| Some((*name, set(name)?))) else { continue };
        let lower = matches!(setting.key, "log.level" | "log.format");
        let text = if lower { text.to_lowercase() } else { text.clone() };
        all.push(Given { key: setting.key.to_owned(), text, file: "environment", name: name.to_owned() });
    }
    for (setting, text) in &overrides.values {
        let name = format!("--{}", setting.flag.unwrap_or_default());
        all.push(Given { key: setting.key.to_owned(), text: text.clone(), file: "command line", name });
    }
    all
}

/// Which flag or variable the value of a key came from.
#[derive(Debug, Clone, Default)]
pub(super) struct Origins(BTreeMap<String, (&'static str, String)>);

impl Origins {
    /// Notes where the values come from; the last one of a key is the one that counts.
    pub(super) fn of(given: &[Given]) -> Self {
        Self(given.iter().map(|given| (given.key.clone(), (given.file, given.name.clone()))).collect())
    }

    /// Notes one variable.
    pub(super) fn note_variable(&mut self, key: &str, variable: &str) {
        self.0.insert(key.to_owned(), ("environment", variable.to_owned()));
    }

    /// The keys.
    pub(super) fn keys(&self) -> BTreeSet<String> {
        self.0.keys().map(|key| Path::of_keys(key).to_string()).collect()
    }

    /// A diagnostic about a key: in the file, or in what its value came from.
    pub(super) fn diagnostic(
        &self,
        document: &Document,
        severity: Severity,
        key: &str,
        message: String,
        help: Option<&str>,
    ) -> Diagnostic {
        let help = help.map(str::to_owned);
        match self.0.get(key) {
            None => document.diagnostic(severity, &Path::of_keys(key), message, help),
            Some((file, name)) => {
                Diagnostic::outside(file, name, format!("{key} {message}"), help).as_severity(severity)
            }
        }
    }
}

/// Puts the values in; text that does not fit its key is an error, and the key stays as it was.
pub(super) fn apply(given: Vec<Given>, schema: &Value, value: &mut Value, diagnostics: &mut Diagnostics) {
    for Given { key, text, file, name } in given {
        match coerce(schema, &Path::of_keys(&key), &text) {
            Ok(converted) => insert(value, &key, converted),
            Err(message) => diagnostics.push(Diagnostic::outside(file, &name, format!("{key} {message}"), None)),
        }
    }
}

/// Sets the value of a key, making the mappings around it.
pub(super) fn insert(value: &mut Value, key: &str, converted: Value) {
    let Value::Object(object) = value else { return };
    match key.split_once('.') {
        None => {
            object.insert(key.to_owned(), converted);
        }
        Some((first, rest)) => {
            let child = object.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if child.is_null() {
                *child = Value::Object(Map::new());
            }
            insert(child, rest, converted);
        }
    }
}

fn scalar_keys(value: &Value) -> Vec<String> {
    let Value::Object(object) = value else { return Vec::new() };
    let mut keys = Vec::new();
    for (key, value) in object {
        match value {
            Value::Object(_) => keys.extend(scalar_keys(value).into_iter().map(|below| format!("{key}.{below}"))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => keys.push(key.clone()),
            Value::Null | Value::Array(_) => {}
        }
    }
    keys
}
