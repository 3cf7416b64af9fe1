//! Files that do not load: mistakes, noise and attacks.

use std::time::Duration;

use proptest::prelude::*;

use super::{ADAPTER, Given, adapter};

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
    ("a stamp that all API resources share", "adapter: {name: a}\nstamp: {resource_id: fleet}\n", &[], &[]),
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
