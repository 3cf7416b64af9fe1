#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::settings::{Environment, Flags};

use super::*;

fn load_text(text: &str) -> Result<Config, String> {
    let loaded = CONFIGURATION.parse("console.yaml", text, &Environment::new(), &Flags::new());
    loaded.map(|(config, _)| config).map_err(|diagnostics| diagnostics.to_string())
}

#[test]
fn file_with_an_api_loads_with_defaults() {
    let config = load_text("api: {base_url: 'http://api:8000'}").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8000");
    assert!(config.access.anonymous && config.access.proxies.len() == 2, "{:?}", config.access);
    assert_eq!(config.api.kinds, ["Cluster", "NodePool"]);
    assert_eq!((config.refresh, config.api.timeout), (Duration::from_secs(2), Duration::from_secs(5)));
    assert!(config.exporter.is_none() && config.adapters.is_empty() && config.sweeper.is_none());
}

#[test]
fn health_port_is_a_host_and_a_port() {
    let cases = [
        ("http://reconcile-metrics:8080", Some(("reconcile-metrics", 8080))),
        ("http://reconcile-metrics", Some(("reconcile-metrics", 80))),
        ("http://[::1]:8080/", Some(("::1", 8080))),
        ("https://reconcile-metrics:8080", None),
        ("http://user:secret@reconcile-metrics:8080", None),
        ("http://reconcile-metrics:8080/stuck", None),
        ("reconcile-metrics:8080", None),
    ];
    for (url, expected) in cases {
        let loaded = load_text(&format!("api: {{base_url: 'http://api'}}\nexporter: {{url: '{url}'}}"));
        let found = loaded.ok().and_then(|config| config.exporter).map(|peer| (peer.host, peer.port));
        assert_eq!(found, expected.map(|(host, port)| (host.to_owned(), port)), "{url}");
    }
}

#[test]
fn mistakes_are_reported_at_once_with_their_cures() {
    let text = "listen: :8000\nrefresh: 10ms\naccess: {proxies: [here]}\napi: {kinds: [\"a'b\"]}\nexporter: {url: nowhere}\n\
                adapters: [{name: dns, url: 'http://dns'}, {name: dns, url: 'http://other'}, {name: '', url: 'http://x'}]\n\
                links: {trace: 'https://traces', logs: 'javascript:alert({trace_id})'}\n";
    insta::assert_snapshot!(load_text(text).unwrap_err());
}

#[test]
fn address_beyond_this_machine_needs_access() {
    let of = |access: &str| {
        load_text(&format!("api: {{base_url: 'http://api'}}\nlisten: 0.0.0.0:8000\naccess: {access}")).is_ok()
    };
    assert!(!of("{}"));
    assert!(of("{token_file: token}"));
    assert!(of("{user_header: X-Forwarded-User, proxies: [10.0.0.0/8]}"));
    assert!(!of("{user_header: 'no header'}"));
}
