//! Defaults, flags and variables.

use std::path::Path;
use std::time::Duration;

use lifecycle_api_client::AuthScheme;
use lifecycle_config::decode::{coerce, property};
use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document;
use lifecycle_service::access::Access;
use lifecycle_service::logging::{Format, Output};
use serde_json::json;
use tracing::level_filters::LevelFilter;

use super::super::settings::DEPLOYMENT;
use super::super::{PassesConfig, adapter_schema};
use super::{Folder, Given, adapter, valid};

#[test]
fn faults_of_the_maestro_block_are_warnings_that_keep_serve_from_starting() {
    let secure = "auth: {tls_config: {ca_file: /ca}}";
    let whole = "http_server_address: \"https://m:8000\", grpc_server_address: \"m:8090\", source_id: s";
    let cases = [
        (format!("{whole}, {secure}"), vec![]),
        (format!("{whole}, insecure: true"), vec![]),
        (whole.to_owned(), vec!["clients.maestro.auth.tls_config.ca_file is required"]),
        (
            secure.to_owned(),
            vec!["http_server_address is required", "source_id is required", "grpc_server_address is required"],
        ),
        (format!("{whole}, {secure}, timeout: soon"), vec!["clients.maestro.timeout invalid maestro timeout"]),
        (
            format!("{whole}, auth: {{tls_config: {{ca_file: /ca, cert_file: /c}}}}"),
            vec!["only one of `cert_file` and `key_file`"],
        ),
        (format!("{whole}, insecure: true, auth: {{token_file: /t}}"), vec!["token_file would be sent without TLS"]),
        (
            format!("http_server_address: \"http://m\", grpc_server_address: \"m:1\", source_id: \"a'b\", {secure}"),
            vec!["must begin with `https://` unless `insecure`", "has other characters"],
        ),
    ];
    for (block, expected) in cases {
        let text = format!("adapter: {{name: a}}\nclients: {{maestro: {{{block}}}}}\n");
        let (config, diagnostics) = adapter(&text, &[], &[]);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let faults = config.unwrap().maestro.unwrap().faults;
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        for (fault, part) in faults.iter().zip(expected) {
            assert!(fault.contains(part), "{fault}");
        }
        assert_eq!(diagnostics.count(Severity::Warning), faults.len(), "{diagnostics}");
    }
}

#[test]
fn missing_keys_get_their_defaults() {
    let config = valid("adapter: {name: a}", &[], &[]);
    assert_eq!(
        (config.log.level, config.log.format, config.log.output),
        (LevelFilter::INFO, Format::Json, Output::Stdout)
    );
    assert_eq!((config.api.base_url.as_deref(), config.api.version.as_str()), (None, "v1"));
    assert_eq!((config.api.timeout, config.api.retry_attempts), (Duration::from_secs(10), 3));
    assert_eq!((config.api.base_delay, config.api.max_delay), (Duration::from_secs(1), Duration::from_secs(30)));
    assert_eq!((config.kubernetes.qps, config.kubernetes.burst), (None, None));
    assert_eq!((config.event_deadline, config.shutdown_grace), (Duration::from_secs(60), Duration::from_secs(25)));
    assert_eq!(config.http_listen, None);
    assert_eq!((config.health_listen.port(), config.metrics_listen.port()), (8080, 9090));
    assert_eq!(config.values, json!({"adapter": {"name": "a"}}));
}

#[test]
fn flags_win_over_variables_and_variables_win_over_the_file() {
    let text = "adapter: {name: a}\nclients: {broker: {topic: file}, hyperfleet_api: {retry_attempts: 1}}\n";
    let topic = |variables: &[_], given: &[_]| valid(text, variables, given).topic.clone().unwrap();
    let cases: [(&str, Given, Given, &str); 7] = [
        ("only the file", &[], &[], "file"),
        ("a variable", &[("HYPERFLEET_BROKER_TOPIC", "new")], &[], "new"),
        ("an empty variable is not set", &[("HYPERFLEET_BROKER_TOPIC", "")], &[], "file"),
        ("the old name", &[("BROKER_TOPIC", "old")], &[], "old"),
        ("both names", &[("BROKER_TOPIC", "old"), ("HYPERFLEET_BROKER_TOPIC", "new")], &[], "new"),
        ("the full path", &[("HYPERFLEET_CLIENTS_BROKER_TOPIC", "path"), ("BROKER_TOPIC", "old")], &[], "old"),
        ("a flag", &[("HYPERFLEET_BROKER_TOPIC", "new")], &[("broker-topic", "flag")], "flag"),
    ];
    for (name, variables, given, expected) in cases {
        assert_eq!(topic(variables, given), expected, "{name}");
    }
}

#[test]
fn path_variable_overrides_only_keys_in_the_file() {
    let variables = [("HYPERFLEET_ADAPTER_NAME", "other"), ("HYPERFLEET_CLIENTS_BROKER_TOPIC", "path")];
    let config = valid("adapter: {name: a}", &variables, &[]);
    assert_eq!((config.name.as_str(), config.topic.as_deref()), ("other", None));
    let config = valid("adapter: {name: ''}", &variables, &[]);
    assert_eq!(config.name, "other", "what a variable supplies is not missing");
}

#[test]
fn values_of_flags_and_variables_take_the_type_of_their_key() {
    let variables = [
        ("HYPERFLEET_DEBUG_CONFIG", "t"),
        ("HYPERFLEET_API_RETRY_ATTEMPTS", "7"),
        ("HYPERFLEET_KUBERNETES_QPS", "1.5"),
        ("HYPERFLEET_API_AUTH_TOKEN_PATH", "/token"),
        ("HYPERFLEET_API_AUTH_SCHEME", "ServiceAccount"),
        ("LOG_LEVEL", "DEBUG"),
    ];
    let config = valid("adapter: {name: a}", &variables, &[("hyperfleet-api-timeout", "2s")]);
    assert!(config.debug_config);
    assert_eq!((config.api.retry_attempts, config.kubernetes.qps), (7, Some(1.5)));
    let auth = config.api.auth.as_ref().unwrap();
    assert_eq!((auth.token_path.as_path(), auth.scheme), (Path::new("/token"), AuthScheme::ServiceAccount));
    assert_eq!((config.log.level, config.api.timeout), (LevelFilter::DEBUG, Duration::from_secs(2)));
}

#[test]
fn every_setting_has_an_existing_key_and_unique_names() {
    let schema = adapter_schema();
    let mut names: Vec<_> = DEPLOYMENT.settings.iter().flat_map(|s| s.flag.iter().chain(s.variables)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for setting in DEPLOYMENT.settings {
        let path = document::Path::of_keys(setting.key);
        let fits = ["1", "1s"].iter().any(|text| coerce(&schema, &path, text).is_ok());
        assert!(fits && property(&schema, &path).is_some_and(|key| key["description"].is_string()), "{}", setting.key);
    }
}

#[test]
fn numbers_in_variables_parse_as_in_go() {
    let burst =
        |text: &str| valid("adapter: {name: a}", &[("HYPERFLEET_KUBERNETES_BURST", text)], &[]).kubernetes.burst;
    for (text, expected) in [("16", 16), ("0x10", 16), ("0o20", 16), ("020", 16), ("0b1_0000", 16), ("1_000", 1000)] {
        assert_eq!(burst(text), Some(expected), "{text}");
    }
    let (_, diagnostics) = adapter("adapter: {name: a}", &[("HYPERFLEET_KUBERNETES_BURST", "0x1g")], &[]);
    assert!(diagnostics.has_errors());
}

#[test]
fn empty_auth_means_no_auth_with_a_warning() {
    for auth in ["{}", "{token_path: ~}"] {
        let text = format!("adapter: {{name: a}}\nclients: {{hyperfleet_api: {{auth: {auth}}}}}\n");
        let (config, diagnostics) = adapter(&text, &[], &[]);
        assert_eq!((config.unwrap().api.auth, diagnostics.has_errors()), (None, false), "{auth}: {diagnostics}");
        assert_eq!(diagnostics.count(Severity::Warning), 1, "{auth}: {diagnostics}");
    }
    let text = "adapter: {name: a}\nclients: {hyperfleet_api: {auth: {token_path: ''}}}\n";
    assert!(adapter(text, &[], &[]).1.has_errors(), "an empty path is no path");
}

#[test]
fn passes_are_shown_to_holders_of_the_token_or_to_all() {
    let config = |passes: &str, variables: &[(&str, &str)]| {
        valid(&format!("adapter: {{name: a}}\npasses: {{{passes}}}\n"), variables, &[]).passes
    };
    let token = || Access::Token("/token".into());
    let from_variable = [("HYPERFLEET_PASSES_TOKEN_FILE", "/token")];
    let cases = [
        ("nothing", config("", &[]), Access::Off, 1000, 8 << 20),
        ("an empty path", config("token_file: \"\"", &[]), Access::Off, 1000, 8 << 20),
        ("limits alone", config("keep: 1, max_bytes: 65536", &[]), Access::Off, 1, 1 << 16),
        ("a token", config("token_file: /token", &[]), token(), 1000, 8 << 20),
        ("a variable", config("", &from_variable), token(), 1000, 8 << 20),
        ("all", config("anonymous: true, keep: 10000, max_bytes: 67108864", &[]), Access::Anonymous, 10_000, 64 << 20),
    ];
    for (name, config, access, keep, max_bytes) in cases {
        assert_eq!(config, PassesConfig { access, keep, max_bytes }, "{name}");
    }
}

#[test]
fn limit_of_unobserved_writes_reaches_the_task() {
    let limit = |block: &str| {
        let text = format!("adapter: {{name: a}}\n{block}\n");
        let folder = Folder::new(&[("config.yaml", &text), ("task/task.yaml", "resources: []\n")]);
        folder.load(&[]).map(|loaded| loaded.task.resend_after)
    };
    let maestro = |key: &str| limit(&format!("clients: {{maestro: {{insecure: true{key}}}}}"));
    let seconds = |seconds: u64| Some(Duration::from_secs(seconds));
    for (name, found, expected) in [
        ("no block", limit(""), seconds(120)),
        ("no key", maestro(""), seconds(120)),
        ("a duration", maestro(", resend_after: 90s"), seconds(90)),
        ("off", maestro(", resend_after: 0s"), None),
    ] {
        assert_eq!(found.unwrap_or_else(|diagnostics| panic!("{name}: {diagnostics}")), expected, "{name}");
    }
    for wrong in ["soon", "-1s"] {
        let diagnostics = maestro(&format!(", resend_after: {wrong}")).unwrap_err().to_string();
        assert!(diagnostics.contains(&format!("\"{wrong}\" is no duration")), "{diagnostics}");
    }
}
