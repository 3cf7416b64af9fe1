//! Tests of the rules, and the printed roles as a snapshot.

#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::write::{WriteError, WriteErrorKind};

use super::*;
use crate::config::{CONFIGURATION, Config, Environment, Flags};

fn kind(api_version: &str, kind: &str, plural: &str, namespaced: bool, verbs: &[&str]) -> ServedKind {
    let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
    let (kind, plural) = (GroupVersionKind::new(api_version, kind), plural.to_owned());
    ServedKind { kind, plural, namespaced, verbs, has_status: false }
}

fn served() -> Vec<ServedKind> {
    const ALL: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
    vec![
        kind("v1", "ConfigMap", "configmaps", true, ALL),
        kind("v1", "Namespace", "namespaces", false, ALL),
        kind("v1", "Secret", "secrets", true, ALL),
        kind("v1", "Binding", "bindings", true, &["create"]),
        kind("batch/v1", "CronJob", "cronjobs", true, ALL),
        kind("batch/v1", "Job", "jobs", true, ALL),
        kind("batch/v1beta1", "CronJob", "cronjobs", true, ALL),
        kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, ALL),
        kind("volcano.example.com/v1", "Job", "jobs", true, ALL),
    ]
}

fn patterns(texts: &[&str]) -> Vec<KindPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The rules as `group: resources: verbs`, without the one for Events, and the one that lists every kind.
fn lines(rules: &[Value]) -> Vec<String> {
    let list = |rule: &Value, key: &str| {
        let items: Vec<_> = rule[key].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect();
        items.join(",")
    };
    let line = |rule| ["apiGroups", "resources", "verbs"].map(|key| list(rule, key)).join(": ");
    let ([events, every_kind], rules) = rules.split_first_chunk().unwrap();
    assert_eq!((line(events), line(every_kind)), (": events: create".to_owned(), "*: *: list".to_owned()));
    rules.iter().map(line).collect()
}

#[test]
fn rules_name_exactly_the_swept_kinds() {
    type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 11] = [
        (
            "a kind is named in every group",
            &["Job"],
            &[],
            &[],
            &["batch: jobs: get,delete", "volcano.example.com: jobs: get,delete"],
        ),
        ("a kind is named in one group", &["batch/Job"], &[], &[], &["batch: jobs: get,delete"]),
        ("a kind of the core group", &["core/Secret"], &[], &[], &[": secrets: get,delete"]),
        (
            "a group is named, with a kind of two versions",
            &["batch/*"],
            &[],
            &[],
            &["batch: cronjobs,jobs: get,delete"],
        ),
        ("two patterns name the same kind", &["batch/*", "batch/Job"], &[], &[], &["batch: cronjobs,jobs: get,delete"]),
        ("a kind is excluded", &["batch/*"], &["CronJob"], &[], &["batch: jobs: get,delete"]),
        (
            "a cluster-scoped kind is not allowed",
            &["core/Namespace", "ConfigMap"],
            &[],
            &[],
            &[": configmaps: get,delete"],
        ),
        (
            "one of two cluster-scoped kinds is allowed",
            &["Namespace", "ClusterRole"],
            &[],
            &["core/Namespace"],
            &[": namespaces: get,delete"],
        ),
        ("a kind that cannot be listed", &["core/Binding"], &[], &[], &[]),
        ("a kind that is not served", &["core/Pod", "apps/*"], &[], &[], &[]),
        (
            "nothing is included, so every kind is",
            &[],
            &["core/Secret", "volcano.example.com/*"],
            &["Namespace"],
            &[": configmaps,namespaces: get,delete", "batch: cronjobs,jobs: get,delete"],
        ),
    ];
    for (name, include, exclude, cluster_scoped, expected) in cases {
        let filter = KindFilter { include: patterns(include), exclude: patterns(exclude) };
        let (rules, _) = object_rules(&filter, &patterns(cluster_scoped), &served());
        assert_eq!(lines(&rules), expected, "{name}");
    }
}

#[test]
fn comment_names_each_pattern_that_selects_nothing() {
    let filter = KindFilter {
        include: patterns(&["Job", "apps/*", "core/Pod", "core/Binding", "core/Secret"]),
        exclude: patterns(&["core/Secret"]),
    };
    let (_, comment) = object_rules(&filter, &[], &served());
    let named: Vec<_> = comment.lines().filter_map(|line| line.split_once(" selects no kind")).collect();
    let named: Vec<_> = named.into_iter().map(|(pattern, _)| pattern).collect();
    assert_eq!(named, ["`apps/*`", "`core/Pod`", "`core/Binding`", "`core/Secret`"]);
}

fn config(text: &str) -> Config {
    let text = format!("adapters: [a]\napi: {{base_url: 'http://api:8000'}}\n{text}");
    CONFIGURATION.parse("sweeper.yaml", &text, &Environment::new(), &Flags::new()).unwrap().0
}

fn print(config: &Config) -> String {
    let account = Account::parse("fleet/sweeper").unwrap();
    manifests(&config.filter, &config.policy, &config.lease, &served(), &account)
}

#[test]
fn printed_roles_name_rights_and_reasons() {
    let config = config(
        "kinds: {include: [batch/*, core/Secret, core/Namespace, ClusterRole, apps/*]}\n\
         lease: {namespace: leases, name: fleet-a}",
    );
    let config = Config { policy: Policy { cluster_scoped: patterns(&["ClusterRole"]), ..config.policy }, ..config };
    insta::assert_snapshot!(print(&config));
}

#[test]
fn printed_roles_for_every_kind_say_what_they_leave_open() {
    insta::assert_snapshot!(print(&config("")));
}

#[test]
fn unread_group_is_a_warning_if_it_may_hide_a_swept_kind() {
    let filter = KindFilter { include: patterns(&["batch/*", "core/Secret"]), exclude: Vec::new() };
    let unread = ["batch", "metrics.k8s.io"].map(|group| {
        let (kind, call, message) = (WriteErrorKind::Unavailable, format!("list {group}"), "503".to_owned());
        UnreadGroup { group: group.to_owned(), error: WriteError { kind, call, status: Some(503), message } }
    });
    let warnings = warnings(&filter, &unread);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("warning: the API group batch could not be read") && warnings[0].contains("503"));
}
