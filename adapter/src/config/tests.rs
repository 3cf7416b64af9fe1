#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_api_client::AuthScheme;
use lifecycle_config::decode::{coerce, property};
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document;
use lifecycle_core::api_call::RetryBackoff;
use lifecycle_core::proof::Signer;
use lifecycle_service::access::Access;
use lifecycle_service::logging::{Format, Output};
use proptest::prelude::*;
use serde_json::json;
use tracing::level_filters::LevelFilter;

use super::settings::DEPLOYMENT;
use super::{AdapterConfig, Environment, Flags, Loaded, PassesConfig, Paths, check, dump, load, load_adapter};
use crate::field_types;

const ADAPTER: &str = include_str!("tests/adapter.yaml");
const TASK: &str = include_str!("tests/task.yaml");
const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: installer, namespace: \"{{ .clusterId }}\"}\n";
const SIGNING_KEY: &str = "0123456789abcdef0123456789abcdef";
const STATUS: &str = "adapter: \"{{ .adapter.name }}\"\nconditions: []\n";

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn flags(given: &[(&'static str, &str)]) -> Flags {
    let is_listed = |flag| DEPLOYMENT.settings.iter().any(|setting| setting.flag == Some(flag));
    assert!(given.iter().all(|(flag, _)| is_listed(*flag)), "{given:?}");
    given.iter().map(|(flag, text)| (*flag, (*text).to_owned())).collect()
}

fn adapter(
    text: &str,
    variables: &[(&str, &str)],
    given: &[(&'static str, &str)],
) -> (Option<AdapterConfig>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let (variables, given) = (environment(variables), flags(given));
    let no_key = |_: &Path| Err("it does not exist".to_owned());
    let config = load_adapter("config.yaml", text, &variables, &given, "1.2.3", &no_key, &mut diagnostics);
    diagnostics.sort();
    (config, diagnostics)
}

fn valid(text: &str, variables: &[(&str, &str)], given: &[(&'static str, &str)]) -> AdapterConfig {
    let (config, diagnostics) = adapter(text, variables, given);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    config.unwrap()
}

/// A temporary directory with the configuration files of one adapter.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, variables: &[(&str, &str)]) -> Result<Loaded, Diagnostics> {
        let paths = Paths { adapter: self.path("config.yaml"), task: self.path("task/task.yaml") };
        load(&paths, &environment(variables), &Flags::default(), "1.2.3")
    }
}

fn complete_folder() -> Folder {
    Folder::new(&[
        ("config.yaml", ADAPTER),
        ("task/task.yaml", TASK),
        ("task/manifests/job.yaml", JOB),
        ("task/status.yaml", STATUS),
        ("secret/key", SIGNING_KEY),
    ])
}

#[test]
fn load_reads_a_complete_pair_of_files() {
    let loaded = complete_folder().load(&[("REGION", "eu")]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let config = &loaded.adapter;
    assert_eq!(
        (config.name.as_str(), config.version.as_str(), config.debug_config),
        ("cluster-installer", "1.2.0", true)
    );
    assert_eq!(
        (config.log.level, config.log.format, config.log.output),
        (LevelFilter::WARN, Format::Text, Output::Stderr)
    );
    assert_eq!(config.api.timeout, Duration::from_secs(111));
    assert_eq!((config.api.retry_attempts, config.api.retry_backoff), (5, RetryBackoff::Linear));
    assert_eq!(config.api.auth.as_ref().unwrap().token_cache_ttl, Duration::from_secs(30));
    assert_eq!((config.kubernetes.qps, config.kubernetes.burst), (Some(50.0), Some(80)));
    assert_eq!((config.event_deadline, config.shutdown_grace), (Duration::from_secs(90), Duration::from_secs(20)));
    assert_eq!(config.http_listen.unwrap().to_string(), "[::]:8081");
    assert_eq!(config.health_listen.to_string(), "127.0.0.1:8082");
    assert_eq!(config.metrics_listen.to_string(), "[::1]:9091");
    assert_eq!(loaded.task.resources.len(), 1);
    assert_eq!(loaded.task.environment.iter().collect::<Vec<_>>(), ["REGION"]);
    let warnings: Vec<_> = loaded.warnings.all().iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(warnings, ["clients.maestro"]);
}

#[test]
fn task_reads_its_version_from_the_deployment_file() {
    let variables = [("REGION", "eu")];
    let loaded = complete_folder().load(&variables).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let host = crate::serve::host(&loaded, &environment(&variables));
    assert_eq!(host.version, "1.2.0", "the program is 1.2.3");
}

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
fn dump_redacts_secrets_and_shows_the_rest() {
    let folder = complete_folder();
    let loaded = folder.load(&[("REGION", "eu")]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    insta::assert_snapshot!(dump::yaml(&loaded).unwrap());
    assert_eq!(loaded.adapter.values["clients"]["maestro"]["auth"]["tls_config"]["key_file"], json!("/certs/key"));
    assert_eq!(loaded.adapter.redacted["clients"]["maestro"]["auth"]["tls_config"]["key_file"], json!(dump::REDACTED));
    assert_eq!(loaded.adapter.values["clients"]["maestro"].get("insecure"), None, "zeros are left out");
}

/// A folder whose deployment file sets `signing.key_file`, with `key` as the content of that file.
fn signing_folder(key: &str) -> Folder {
    let deployment = "adapter: {name: a}\nsigning: {key_file: secret/key}\n";
    Folder::new(&[("config.yaml", deployment), ("task/task.yaml", "post: {payloads: []}\n"), ("secret/key", key)])
}

#[test]
fn signing_key_loads_by_relative_path_and_is_never_printed() {
    let folder = signing_folder(&format!("{SIGNING_KEY}\n"));
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    assert_eq!(loaded.adapter.signer, Some(Signer::new(SIGNING_KEY.as_bytes()).unwrap()));
    let dump = dump::yaml(&loaded).unwrap();
    assert!(dump.contains("key_file: secret/key"), "{dump}");
    for output in [dump, format!("{loaded:?}"), loaded.adapter.values.to_string()] {
        assert!(!output.contains(SIGNING_KEY), "{output}");
    }

    let elsewhere = folder.path("secret/key").display().to_string();
    let named = folder.load(&[("HYPERFLEET_SIGNING_KEY_FILE", &elsewhere)]);
    assert!(named.is_ok_and(|loaded| loaded.adapter.signer.is_some()), "a variable may name it, by an absolute path");
}

#[test]
fn world_readable_signing_key_loads_with_a_warning() {
    let folder = signing_folder(SIGNING_KEY);
    fs::set_permissions(folder.path("secret/key"), fs::Permissions::from_mode(0o444)).unwrap();
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.adapter.signer.is_some());
    let root = folder.0.path().display().to_string();
    insta::assert_snapshot!(loaded.warnings.to_string().replace(&root, "/folder"));
}

#[test]
fn unusable_signing_key_file_is_an_error_with_a_cure() {
    let too_short = signing_folder(&SIGNING_KEY[1..]);
    let too_long = signing_folder(&SIGNING_KEY.repeat(1 << 12));
    let a_folder = signing_folder(SIGNING_KEY);
    fs::remove_file(a_folder.path("secret/key")).unwrap();
    fs::create_dir(a_folder.path("secret/key")).unwrap();
    let missing = signing_folder(SIGNING_KEY);
    fs::remove_dir_all(missing.path("secret")).unwrap();
    let diagnostics = [too_short, too_long, a_folder, missing].map(|folder| {
        let root = folder.0.path().display().to_string();
        folder.load(&[]).unwrap_err().to_string().replace(&root, "/folder")
    });
    insta::assert_snapshot!(diagnostics.join("\n"));
}

#[test]
fn load_reports_the_errors_of_all_files_at_once() {
    let folder = Folder::new(&[
        ("config.yaml", "adapter: {nam: x}\nlog: {format: xml}\n"),
        (
            "task/task.yaml",
            "parms: []\npost: {payloads: [{name: p, build_ref: ../config.yaml}, {name: q, build_ref: manifests}]}\nresources:\n  - name: a\n    manifest: {ref: job.yaml}\n    discovery: {by_name: x}\n",
        ),
        ("task/manifests/job.yaml", JOB),
    ]);
    let diagnostics = folder.load(&[]).unwrap_err().to_string();
    let root = folder.0.path().display().to_string();
    insta::assert_snapshot!(diagnostics.replace(&root, "/folder"));
}

#[test]
fn missing_files_are_diagnostics() {
    let folder = Folder::new(&[]);
    let diagnostics = folder.load(&[]).unwrap_err().to_string();
    assert_eq!(diagnostics.matches("failed to read the file: it does not exist").count(), 2, "{diagnostics}");
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
    let schema = super::adapter_schema();
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
fn dump_redacts_headers_that_may_hold_credentials() {
    let names = [
        "Authorization",
        "Cookie",
        "X-Token",
        "X-Secret",
        "X-Api-Key",
        "X-Passphrase",
        "X-Pwd",
        "X-Credential",
        "X-Signature",
        "X-Session",
    ];
    let headers = names.map(|name| format!("{name}: hunter2")).join(", ");
    let text = format!(
        "adapter: {{name: a}}\nclients: {{hyperfleet_api: {{default_headers: {{{headers}, X-Region: eu}}}}}}\n"
    );
    let folder = Folder::new(&[("config.yaml", &text), ("task/task.yaml", "resources: []\n")]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let output = dump::yaml(&loaded).unwrap();
    assert!(!output.contains("hunter2") && output.contains(": eu"), "{output}");
}

#[test]
fn dump_redacts_credentials_in_urls() {
    let address = "https://user:hunter2@gate.example/fleet?access_token=hunter2&region=eu";
    let text = format!(
        "adapter: {{name: a}}\nclients:\n  hyperfleet_api: {{base_url: \"{address}\"}}\n  \
         maestro: {{http_server_address: \"{address}\", grpc_server_address: \"user:hunter2@gate.example:8090\"}}\n"
    );
    let folder = Folder::new(&[("config.yaml", &text), ("task/task.yaml", "resources: []\n")]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let output = dump::yaml(&loaded).unwrap();
    assert!(!output.contains("hunter2") && !output.contains("user:"), "{output}");
    let expected = "https://**REDACTED**@gate.example/fleet?access_token=**REDACTED**&region=eu";
    assert_eq!(output.matches(expected).count(), 2, "{output}");
    assert_eq!(loaded.adapter.api.base_url.as_deref(), Some(address), "calls go to the address as it is");
}

#[test]
fn reading_a_file_stops_at_its_size_limit() {
    let endless = PathBuf::from("/dev/zero");
    let checked = |adapter: PathBuf, task: PathBuf| {
        let listed = check(
            &Paths { adapter, task },
            &environment(&[("REGION", "eu")]),
            &Flags::default(),
            "1.2.3",
            field_types::lint,
        );
        listed.diagnostics.to_string()
    };
    let folder = complete_folder();
    let (config, task) = (folder.path("config.yaml"), folder.path("task/task.yaml"));
    let refers = |name: &str| {
        fs::remove_file(folder.path(name)).unwrap();
        std::os::unix::fs::symlink(&endless, folder.path(name)).unwrap();
        checked(config.clone(), task.clone())
    };
    let cases = [
        ("the deployment file", checked(endless.clone(), task.clone())),
        ("the task file", checked(config.clone(), endless.clone())),
        ("the broker's file", super::broker::load(Some(&endless), &environment(&[])).unwrap_err().to_string()),
        ("a manifest", refers("task/manifests/job.yaml")),
        ("a payload", refers("task/status.yaml")),
    ];
    for (name, text) in cases {
        assert!(text.contains("it has more than 2097152 bytes"), "{name}: {text}");
    }
}

/// Pairs of name and value: environment variables, or flags.
type Given = &'static [(&'static str, &'static str)];
type Case = (&'static str, &'static str, Given, Given);

const INVALID_FILES: &[Case] = &[
    ("no name", "log: {level: info}\n", &[], &[]),
    ("an empty file", "", &[], &[]),
    ("a misspelt key", "adapter: {name: a}\nclient: {}\n", &[], &[]),
    ("a key of a later version", "adapter: {name: a, frameworkVersion: 1.0.0}\nsweeping: {grace: 5m}\n", &[], &[]),
    ("a duration that is a number", "adapter: {name: a}\nclients: {hyperfleet_api: {timeout: 0}}\n", &[], &[]),
    ("a duration without a unit", "adapter: {name: a}\nclients: {hyperfleet_api: {timeout: \"10\"}}\n", &[], &[]),
    ("text in place of a number", "adapter: {name: a}\nclients: {kubernetes: {burst: many}}\n", &[], &[]),
    (
        "a limit below zero",
        "adapter: {name: a}\nclients: {kubernetes: {qps: -1, burst: -2, api_version: v1}}\n",
        &[],
        &[],
    ),
    ("unknown log settings", "adapter: {name: a}\nlog: {level: loud, format: xml, output: syslog}\n", &[], &[]),
    ("an unknown back-off", "adapter: {name: a}\nclients: {hyperfleet_api: {retry_backoff: none}}\n", &[], &[]),
    (
        "auth without a token",
        "adapter: {name: a}\nclients: {hyperfleet_api: {auth: {token_cache_ttl: -1s}}}\n",
        &[],
        &[],
    ),
    (
        "an unknown scheme",
        "adapter: {name: a}\nclients: {hyperfleet_api: {auth: {token_path: /token, scheme: Basic}}}\n",
        &[],
        &[],
    ),
    ("a relative token", "adapter: {name: a}\nclients: {hyperfleet_api: {auth: {token_path: token}}}\n", &[], &[]),
    ("another version", "adapter: {name: a, version: 1.3.0}\n", &[], &[]),
    ("an unreadable version", "adapter: {name: a, version: latest}\n", &[], &[]),
    ("invalid addresses", "adapter: {name: a}\nhealth: {listen: 8080}\nmetrics: {listen: \":http\"}\n", &[], &[]),
    ("too many workers", "adapter: {name: a}\nworkers: 65\n", &[], &[]),
    ("no workers", "adapter: {name: a}\nworkers: 0\n", &[], &[]),
    ("passes for all and for a token", "adapter: {name: a}\npasses: {token_file: t, anonymous: true}\n", &[], &[]),
    ("too many passes", "adapter: {name: a}\npasses: {keep: 10001, max_bytes: 67108865}\n", &[], &[]),
    ("no passes", "adapter: {name: a}\npasses: {keep: 0, max_bytes: 8 MiB, kept: 1}\n", &[], &[]),
    ("a deadline of zero", "adapter: {name: a}\nevent_deadline: 0s\nshutdown_grace: -1s\n", &[], &[]),
    ("signing without a key", "adapter: {name: a}\nsigning: {}\n", &[], &[]),
    ("signing with an empty key", "adapter: {name: a}\nsigning: {key_file: \"\"}\n", &[], &[]),
    ("a key that is not there", "adapter: {name: a}\nsigning: {key_file: /run/key}\n", &[], &[]),
    ("a name that is no label value", "adapter: {name: My Adapter}\n", &[], &[]),
    ("a stamp that is no label value", "adapter: {name: a}\nstamp: {resource_id: clusters/1}\n", &[], &[]),
    ("a stamp that does not parse", "adapter: {name: a}\nstamp: {resource_id: \"{{ .event.id\"}\n", &[], &[]),
    (
        "a maestro block",
        "adapter: {name: a}\nclients: {maestro: {timeout: soon, http_server_address: \"http://m\"}}\n",
        &[],
        &[],
    ),
    (
        "an address and headers that cannot be used",
        "adapter: {name: a}\nclients: {hyperfleet_api: {base_url: \"http//u:hunter2@api:8000\", default_headers: {\"X Source\": a, x-text: \"a\\nb\", X-Ok: b}}}\n",
        &[],
        &[],
    ),
    ("an API address without a scheme", "adapter: {name: a}\n", &[("HYPERFLEET_API_BASE_URL", "CHANGE_ME")], &[]),
    (
        "numbers with fractions",
        "adapter: {name: a}\nclients: {kubernetes: {qps: 0.5, burst: 0.9}, hyperfleet_api: {retry_attempts: 2.5}}\n",
        &[],
        &[],
    ),
    (
        "a variable of the wrong type",
        "adapter: {name: a}\n",
        &[("HYPERFLEET_API_RETRY_ATTEMPTS", "many"), ("HYPERFLEET_API_TIMEOUT", "5")],
        &[],
    ),
    (
        "a variable with an unknown value",
        "adapter: {name: a}\n",
        &[("HYPERFLEET_API_RETRY_BACKOFF", "none"), ("LOG_LEVEL", "LOUD")],
        &[],
    ),
    (
        "auth by a variable, without a token",
        "adapter: {name: a}\n",
        &[("HYPERFLEET_API_AUTH_TOKEN_CACHE_TTL", "5s")],
        &[],
    ),
    ("a flag of the wrong type", "adapter: {name: a}\n", &[], &[("kubernetes-qps", "fast"), ("debug-config", "maybe")]),
];

#[test]
fn invalid_deployment_files_are_diagnosed() {
    let render = |(name, text, variables, given): &Case| {
        format!("##### {name}\n{text}{variables:?} {given:?}\n-----\n{}\n", adapter(text, variables, given).1)
    };
    insta::assert_snapshot!(INVALID_FILES.iter().map(render).collect::<Vec<_>>().join("\n"));
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
fn file_paths_resolve_by_flag_then_variable_then_default() {
    let variables = [("HYPERFLEET_ADAPTER_CONFIG", "env.yaml"), ("HYPERFLEET_TASK_CONFIG", "envtask.yaml")];
    let usual = |path: &Path| path == Path::new("./configs/config.yaml");
    let resolve = |adapter: Option<&str>, task: Option<&str>, variables: &[_], exists: &dyn Fn(&Path) -> bool| {
        let given = [("config", adapter), ("task-config", task)];
        let flags = given.into_iter().filter_map(|(flag, path)| Some((flag, path?.to_owned()))).collect();
        Paths::resolve(&flags, &environment(variables), exists)
            .map(|paths| format!("{} {}", paths.adapter.display(), paths.task.display()))
            .map_err(|diagnostics| diagnostics.all().len())
    };
    let cases = [
        ("flags", resolve(Some("a"), Some("t"), &variables, &usual), Ok("a t".to_owned())),
        ("variables", resolve(None, Some(""), &variables, &usual), Ok("env.yaml envtask.yaml".to_owned())),
        ("a usual place", resolve(None, Some("t"), &[], &usual), Ok("./configs/config.yaml t".to_owned())),
        ("no task", resolve(None, None, &[], &usual), Err(1)),
        ("nothing", resolve(None, None, &[], &|_| false), Err(2)),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn published_schemas_describe_every_key() {
    for schema in [super::adapter_schema(), super::task_schema(), super::broker::schema()] {
        assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
        let definitions = schema["$defs"].as_object().into_iter().flatten().map(|(_, definition)| definition);
        for definition in definitions.chain([&schema]) {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{key}: {property}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn loading_arbitrary_text_never_panics(at in 0..ADAPTER.len(), noise: String) {
        let at = (0..=at).rev().find(|at| ADAPTER.is_char_boundary(*at)).unwrap_or(0);
        let _ = adapter(&format!("{}{noise}{}", &ADAPTER[..at], &ADAPTER[at..]), &[], &[]);
        let _ = adapter(&noise, &[], &[]);
    }
}

#[test]
fn hostile_deployment_files_are_errors_within_a_minute() {
    let aliases: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)).collect();
    let cases = [
        ("deep lists", "[".repeat(50_000)),
        ("deep mappings", "{a: ".repeat(50_000)),
        ("an alias bomb", format!("a0: &a0 [x, x, x, x]\n{aliases}adapter: *a29\n")),
        ("a deep template", format!("adapter: {{name: x}}\nstamp: {{resource_id: '{{{{ {}'}}\n", "(".repeat(50_000))),
        ("a long duration", format!("adapter: {{name: x}}\nevent_deadline: {}h\n", "9".repeat(1 << 20))),
        ("a long number", format!("adapter: {{name: x}}\nclients: {{kubernetes: {{qps: {}}}}}\n", "9".repeat(1 << 20))),
        ("a key that is repeated over a megabyte", "a: &a 1\n".repeat(1 << 17)),
    ];
    for (name, text) in cases {
        let (done, end) = std::sync::mpsc::channel();
        let work = move || done.send(adapter(&text, &[], &[]).1.has_errors());
        let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
        assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(true), "{name}");
        worker.join().unwrap().unwrap();
    }
}

#[test]
fn check_runs_lints_that_load_skips() {
    let files = [
        ("config.yaml", ADAPTER),
        ("secret/key", SIGNING_KEY),
        (
            "task/task.yaml",
            "resources: [{name: ns, manifest: {apiVersion: v1, kind: Namespace}, discovery: {by_name: x}}]\n",
        ),
    ];
    let folder = Folder::new(&files);
    let paths = Paths { adapter: folder.path("config.yaml"), task: folder.path("task/task.yaml") };
    let listed = check(&paths, &environment(&[]), &Flags::default(), "1.2.3", field_types::lint);
    let listed: Vec<_> = listed.diagnostics.all().iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(listed, ["clients.maestro", "post"]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert_eq!(loaded.warnings.all().len(), 1, "lints are for `check` alone");
}

#[test]
fn report_that_the_api_rejects_fails_check_but_not_load() {
    let status = STATUS.replace("conditions: []", "conditions: [{type: Available}]");
    let task = "post:\n  payloads: [{name: status, build_ref: status.yaml}]\n  post_actions: [{name: report, api_call: {method: PUT, url: /x, body: \"{{ .status }}\"}}]\n";
    let files = [("config.yaml", "adapter: {name: a}\n"), ("task/task.yaml", task), ("task/status.yaml", &status)];
    let folder = Folder::new(&files);
    let paths = Paths { adapter: folder.path("config.yaml"), task: folder.path("task/task.yaml") };
    let listed =
        check(&paths, &environment(&[]), &Flags::default(), "1.2.3", field_types::lint).diagnostics.to_string();
    assert!(
        listed.contains("error: post.payloads[0].build_ref: the condition `Available` has no `status`"),
        "{listed}"
    );
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.warnings.is_empty(), "as the Go adapter, `serve` starts");
}

#[test]
fn dump_has_the_text_of_each_manifest_file() {
    let task = serde_json::json!({ "resources": [
        { "manifest": { "ref": "a" } },
        { "bundle": { "manifests": [{ "ref": "b" }, { "kind": "Pod" }, "text", { "ref": "missing" }] } },
    ] });
    let read = |file: &str| if file == "missing" { Err(String::new()) } else { Ok(format!("text of {file}")) };
    let dumped = super::dump::with_manifests(task, &read);
    assert_eq!(dumped.pointer("/resources/0/manifest"), Some(&"text of a".into()));
    let expected = serde_json::json!(["text of b", { "kind": "Pod" }, "text", { "ref": "missing" }]);
    assert_eq!(dumped.pointer("/resources/1/bundle/manifests"), Some(&expected));
}

#[test]
fn members_of_config_are_the_keys_of_the_deployment_file() {
    let schema = super::adapter_schema();
    for (mapping, members) in lifecycle_core::task::compile::CONFIG_MEMBERS {
        let found =
            property(&schema, &document::Path::of_keys(mapping)).unwrap_or_else(|| panic!("no key `{mapping}`"));
        let reference =
            found.get("$ref").or_else(|| found.pointer("/anyOf/0/$ref")).and_then(serde_json::Value::as_str);
        let resolved = reference.and_then(|path| schema.pointer(path.trim_start_matches('#'))).unwrap_or(found);
        let keys = resolved["properties"].as_object().unwrap_or_else(|| panic!("`{mapping}` has no fixed keys"));
        let keys: std::collections::BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        assert_eq!(keys, members.iter().copied().collect(), "{mapping}");
    }
}
