//! Tests of the loader: defaults, precedence, and every diagnostic of its own.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Write as _;

use lifecycle_core::sweep::{KindPattern, Share};

use super::*;

const LEAST: &str = "adapters: [a]\napi: {base_url: 'http://api:8000'}\n";

fn loaded(text: &str) -> Config {
    CONFIGURATION.parse("sweeper.yaml", text, &Environment::new(), &Flags::new()).unwrap().0
}

fn diagnostics(text: &str) -> String {
    CONFIGURATION.parse("sweeper.yaml", text, &Environment::new(), &Flags::new()).unwrap_err().to_string()
}

#[test]
fn defaults_only_report_and_are_conservative() {
    let config = loaded(LEAST);
    assert!(config.dry_run);
    assert_eq!((config.policy.limits.objects, config.policy.limits.share), (50, Share::Usual));
    assert_eq!(config.policy.grace, Duration::from_secs(1800));
    assert_eq!(config.policy.min_age, Duration::from_secs(3600));
    assert!(config.policy.cluster_scoped.is_empty() && config.policy.signers.is_empty());
    assert!(config.policy.resource_id.is_match("0197a000-0000-7000-8000-00000000000a"));
    for odd in ["cluster-a", "0197A000-0000-7000-8000-00000000000A", "x0197a000-0000-7000-8000-00000000000a", ""] {
        assert!(!config.policy.resource_id.is_match(odd), "{odd}");
    }
}

#[test]
fn written_values_reach_what_uses_them() {
    let mut key = tempfile::NamedTempFile::new().unwrap();
    key.write_all(&[7; 32]).unwrap();
    let text = "adapters: [a, b]\ndry_run: false\ngrace: 7m\nmin_age: 8m\nresource_id_pattern: 'c-[0-9]+'\n\
         kinds: {include: [Job, ClusterRole], exclude: [core/Secret], cluster_scoped: [ClusterRole]}\n\
         limits: {objects: 3, percent: 4, deletions_at_once: 2}\n\
         api: {base_url: 'http://api', version: v2, timeout: 9s, token_file: /token, auth_scheme: ServiceAccount, requests_per_second: 11}\n\
         lease: {namespace: n, name: l, duration: 30s, renew_deadline: 20s, retry: 3s}\n";
    let config = loaded(&format!("{text}signing_key_files: [{}]\n", key.path().display()));
    let policy = &config.policy;
    assert_eq!(policy.adapters, ["a", "b"].map(str::to_owned).into());
    assert_eq!((policy.grace.as_secs(), policy.min_age.as_secs()), (420, 480));
    assert_eq!(policy.resource_id.as_str(), "^(?:c-[0-9]+)$");
    let texts = |patterns: &[KindPattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(texts(&policy.cluster_scoped), "ClusterRole");
    assert_eq!(
        (texts(&config.filter.include), texts(&config.filter.exclude)),
        ("Job ClusterRole".to_owned(), "core/Secret".to_owned())
    );
    assert_eq!((policy.limits.objects, policy.limits.share, config.deletions_at_once.get()), (3, Share::Percent(4), 2));
    assert!(!config.dry_run);
    let api = ApiConfig {
        base_url: "http://api".to_owned(),
        version: "v2".to_owned(),
        timeout: Duration::from_secs(9),
        token_file: Some("/token".into()),
        auth_scheme: AuthScheme::ServiceAccount,
        requests_per_second: 11,
    };
    assert_eq!(config.api, api);
    let lease = leader::Settings {
        namespace: Some("n".to_owned()),
        name: "l".to_owned(),
        duration: Duration::from_secs(30),
        renew_deadline: Duration::from_secs(20),
        retry: Duration::from_secs(3),
    };
    assert_eq!(config.lease, lease);
}

#[test]
fn plan_page_is_for_holders_of_the_token_or_for_all() {
    let access = |plan: &str| loaded(&format!("{LEAST}plan: {{{plan}}}\n")).plan_access;
    assert_eq!(loaded(LEAST).plan_access, Access::Off);
    assert_eq!(access("token_file: ''"), Access::Off);
    assert_eq!(access("token_file: /token"), Access::Token("/token".into()));
    assert_eq!(access("anonymous: true"), Access::Anonymous);
    let both = diagnostics(&format!("{LEAST}plan: {{token_file: /token, anonymous: true}}\n"));
    for part in ["plan.anonymous: contradicts plan.token_file", "keep one of the two"] {
        assert!(both.contains(part), "{both}");
    }
}

#[test]
fn flag_wins_over_variable_and_variable_over_file() {
    let text = format!("{LEAST}grace: 1h\n");
    let environment = Environment::from([("HYPERFLEET_SWEEPER_GRACE".to_owned(), "2h".to_owned())]);
    let flags = Flags::from([("grace", "3h".to_owned())]);
    let grace = |environment: &Environment, flags: &Flags| {
        CONFIGURATION.parse("sweeper.yaml", &text, environment, flags).unwrap().0.policy.grace.as_secs() / 3600
    };
    assert_eq!(grace(&Environment::new(), &Flags::new()), 1);
    assert_eq!(grace(&environment, &Flags::new()), 2);
    assert_eq!(grace(&environment, &flags), 3);
}

#[test]
fn own_pattern_of_ids_matches_whole_ids_only() {
    let config = loaded(&format!("{LEAST}resource_id_pattern: 'c-[0-9]+|d'\n"));
    assert!(config.policy.resource_id.is_match("c-12") && config.policy.resource_id.is_match("d"));
    assert!(!config.policy.resource_id.is_match("c-12x") && !config.policy.resource_id.is_match("xd"));
}

#[test]
fn signing_key_is_read_when_the_configuration_loads() {
    let mut key = tempfile::NamedTempFile::new().unwrap();
    key.write_all(&[7; 32]).unwrap();
    let text = format!("{LEAST}signing_key_files: [{}]\n", key.path().display());
    assert_eq!(loaded(&text).policy.signers.len(), 1);
    let missing = diagnostics(&format!("{LEAST}signing_key_files: [/nowhere/key]\n"));
    assert!(missing.contains("signing_key_files") && missing.contains("has no usable key"), "{missing}");
}

#[test]
fn every_mistake_is_reported_at_once() {
    let text = "adapters: ['']\ngrace: 0s\nresource_id_pattern: '('\nkinds: {include: [jobs], cluster_scoped: ['*']}\n\
                limits: {percent: 101, deletions_at_once: 0}\nlease: {duration: 10s, renew_deadline: 10s, retry: 10s}\n\
                maestro: {http_server_address: 'http://maestro', timeout: x}\n";
    let said = diagnostics(text);
    for key in [
        "adapters",
        "api.base_url",
        "grace",
        "resource_id_pattern",
        "kinds.include",
        "kinds.cluster_scoped",
        "limits.percent",
        "limits.deletions_at_once",
        "lease.renew_deadline",
        "lease.retry",
        "maestro.grpc_server_address",
        "maestro.http_server_address",
        "maestro.source_id",
        "maestro.timeout",
        "maestro.auth.tls_config.ca_file",
    ] {
        assert!(said.contains(key), "{key}: {said}");
    }
    assert!(diagnostics("{}").contains("adapters"), "adapters are required");
}

#[test]
fn unusable_url_of_the_api_is_refused_without_being_printed() {
    for url in ["api:8000", "http//u:hunter2@api", "ftp://api", "http://api?tenant=a", "/api"] {
        let said = diagnostics(&format!("adapters: [a]\napi: {{base_url: '{url}'}}\n"));
        assert!(
            said.contains("api.base_url: is no URL with `http://` or `https://`, a host and no query"),
            "{url}: {said}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn missing_folder_of_the_audit_file_is_a_warning_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let said = |file: &std::path::Path| {
        let text = format!("{LEAST}audit: {{file: {}}}\n", file.display());
        CONFIGURATION.parse("sweeper.yaml", &text, &Environment::new(), &Flags::new()).unwrap().1.to_string()
    };
    let missing = folder.path().join("missing");
    let warning = said(&missing.join("audit.jsonl"));
    assert!(warning.contains("audit.file") && warning.contains(&*missing.to_string_lossy()), "{warning}");
    let warning = said(&folder.path().join("audit.jsonl"));
    assert!(!warning.contains("audit.file"), "{warning}");
}

#[test]
fn cluster_scoped_kinds_need_a_signing_key() {
    let mut key = tempfile::NamedTempFile::new().unwrap();
    key.write_all(&[7; 32]).unwrap();
    let signed = format!("signing_key_files: [{}]\n", key.path().display());
    for kinds in ["cluster_scoped: [core/Namespace]", "include: [ClusterRole], cluster_scoped: [ClusterRole]"] {
        let text = format!("{LEAST}kinds: {{{kinds}}}\n");
        let said = diagnostics(&text);
        assert!(
            said.contains("kinds.cluster_scoped") && said.contains("name the key's file in `signing_key_files`"),
            "{said}"
        );
        let config = loaded(&format!("{text}{signed}"));
        assert_eq!((config.policy.cluster_scoped.len(), config.policy.signers.len()), (1, 1), "{kinds}");
    }
    let named = loaded(&format!("{LEAST}kinds: {{goes_along: [core/Secret]}}\n")).policy.goes_along;
    assert_eq!(named, ["core/Secret".parse().unwrap()]);
}

#[test]
fn missing_signing_key_is_a_warning_that_names_the_risk() {
    let said = CONFIGURATION.parse("sweeper.yaml", LEAST, &Environment::new(), &Flags::new()).unwrap().1.to_string();
    assert!(said.contains("signing_key_files") && said.contains("by the names of their adapters alone"), "{said}");
}

#[test]
fn kinds_that_leave_out_the_works_of_maestro_are_a_warning() {
    let maestro =
        "maestro: {grpc_server_address: 'm:1', http_server_address: 'http://m:2', source_id: s, insecure: true}";
    for (kinds, is_swept) in [
        ("{}", true),
        ("{include: [ManifestWork]}", true),
        ("{include: [core/ConfigMap]}", false),
        ("{exclude: [work.open-cluster-management.io/*]}", false),
    ] {
        let text = format!("adapters: [a]\napi: {{base_url: 'http://api'}}\nkinds: {kinds}\n{maestro}\n");
        let (_, warnings) = CONFIGURATION.parse("sweeper.yaml", &text, &Environment::new(), &Flags::new()).unwrap();
        assert_eq!(!warnings.to_string().contains("leaves its works out"), is_swept, "{kinds}: {warnings}");
    }
}
