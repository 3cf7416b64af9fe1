#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

const EXAMPLE: &str = include_str!("../../example.yaml");

fn load(text: &str) -> Result<Config, String> {
    let loaded = CONFIGURATION.parse("api.yaml", text, &Environment::new(), &Flags::new());
    loaded.map(|(config, _)| config).map_err(|diagnostics| diagnostics.to_string())
}

#[test]
fn example_has_the_defaults_of_the_real_api() {
    let config = load(EXAMPLE).unwrap();
    let addresses = [config.listen, config.health_listen, config.metrics_listen];
    assert_eq!(addresses.map(|address| address.to_string()), ["127.0.0.1:8000", "127.0.0.1:8080", "127.0.0.1:9090"]);
    let kinds: Vec<_> = config.registry.entities().iter().map(|entity| entity.kind.as_str()).collect();
    assert_eq!(kinds, ["Cluster", "NodePool", "Channel", "Version", "WifConfig"]);
}

/// A file of the real API, as far as it concerns this one.
const REAL: &str = "\
server:
  {host: localhost, port: 8000, openapi_schema_path: openapi.yaml, jwt: {enabled: true, configs: [{issuer_url: 'https://i'}]}}
health: {host: localhost, port: 8081}
metrics: {host: localhost, port: 9091}
database:
  {dialect: postgres, host: db, port: 5433, name: fleet, username: api, password: hunter2, ssl: {mode: require}}
logging: {level: debug, format: text, output: stderr}
tracing: {enabled: false}
entities: [{kind: Cluster, plural: clusters, required_adapters: [dns]}]
";

#[test]
fn file_of_the_real_api_loads() {
    let (config, warnings) = CONFIGURATION.parse("api.yaml", REAL, &Environment::new(), &Flags::new()).unwrap();
    let database = &config.database;
    assert_eq!((database.get_host(), database.get_port()), ("db", 5433));
    assert_eq!((database.get_database(), database.get_username()), (Some("fleet"), "api"));
    assert!(matches!(database.get_ssl_mode(), PgSslMode::Require));
    assert_eq!(config.log.level.to_string(), "debug");
    let warned: Vec<_> = warnings.all().iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warned, ["server.jwt.enabled", "server.jwt.configs"], "{warnings}");
    assert!(!warnings.to_string().contains("hunter2"));
    let found = load(&REAL.replace("dialect: postgres", "dialect: mysql")).unwrap_err();
    assert!(found.contains("database.dialect: must be postgres"), "{found}");
}

#[test]
fn flag_wins_over_variable_and_variable_over_file() {
    let environment =
        [("HYPERFLEET_SERVER_PORT".to_owned(), "1".to_owned()), ("HYPERFLEET_HEALTH_PORT".to_owned(), "2".to_owned())];
    let flags = [("server-port", "3".to_owned())];
    let (config, _) = CONFIGURATION.parse("api.yaml", EXAMPLE, &environment.into(), &flags.into()).unwrap();
    assert_eq!((config.listen.port(), config.health_listen.port()), (3, 2));
}

#[test]
fn fault_names_its_place_and_cure() {
    for (from, to, expected) in [
        ("url: postgres:", "url: mysql:", "database.url: is no URL of a PostgreSQL database"),
        ("  - kind: Version", "  - kind: Channel", "\"Channel\" is empty or used twice"),
        ("server:\n", "server:\n  host: here\n", "server.host: is no IP address"),
        ("server:\n", "unknown: 1\nserver:\n", "unknown"),
    ] {
        let text = EXAMPLE.replacen(from, to, 1);
        assert_ne!(text, EXAMPLE, "{from}");
        let found = load(&text).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
    let found = load("{}").unwrap_err();
    assert!(found.contains("database.url: is required") && found.contains("entities: is required"), "{found}");
}
