#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

const EXAMPLE: &str = include_str!("../../example.yaml");

fn load(text: &str) -> Result<Config, String> {
    let loaded = parse("api.yaml", text, &Environment::new(), &Flags::new());
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

#[test]
fn flag_wins_over_variable_and_variable_over_file() {
    let environment =
        [("HYPERFLEET_SERVER_PORT".to_owned(), "1".to_owned()), ("HYPERFLEET_HEALTH_PORT".to_owned(), "2".to_owned())];
    let flags = [("server-port", "3".to_owned())];
    let (config, _) = parse("api.yaml", EXAMPLE, &environment.into(), &flags.into()).unwrap();
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
