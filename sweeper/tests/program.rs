//! What the program says to a person whose command cannot work: one error, and its cure.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::Command;

/// Runs the program without any variable, and returns its exit code and what it wrote to standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sweeper")).args(arguments).env_clear().output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn missing_configuration_is_an_error_that_names_the_flag() {
    let (code, error) = run(&["plan"]);
    let hint = "no configuration file was given: set --config or HYPERFLEET_SWEEPER_CONFIG";
    assert!(code == Some(1) && error.contains(hint) && error.contains("adapters: is required"), "{error}");
}

#[test]
fn command_does_not_log_what_check_prints() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sweeper.yaml");
    fs::write(&config, "adapters: [a]\napi: {base_url: 'http://127.0.0.1:1'}\n").unwrap();
    let config = config.to_str().unwrap();
    let (code, error) = run(&["plan", "--config", config]);
    assert_eq!((code, error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.starts_with("Error: failed to connect to Kubernetes; outside a pod, set --kubeconfig"), "{error}");
}

#[test]
fn variable_that_overrides_another_place_is_refused_by_each_command_that_acts() {
    let folder = tempfile::tempdir().unwrap();
    let [config, kubeconfig, audit] =
        ["sweeper.yaml", "kubeconfig", "audit.jsonl"].map(|name| folder.path().join(name).display().to_string());
    for file in [&kubeconfig, &audit] {
        fs::write(file, "").unwrap();
    }
    let text = format!(
        "adapters: [a]\napi: {{base_url: 'http://u:hunter2@127.0.0.1:1'}}\nkubernetes: {{kubeconfig: {kubeconfig}}}\n\
         lease: {{namespace: fleet, name: sweeper}}\n"
    );
    fs::write(&config, text).unwrap();
    let plan = "0".repeat(32);
    let [kube, api] = ["KUBECONFIG", "HYPERFLEET_API_BASE_URL"];
    let (other, same) = ("/other/cluster", kubeconfig.as_str());
    let [namespace, name] = ["HYPERFLEET_SWEEPER_LEASE_NAMESPACE", "HYPERFLEET_SWEEPER_LEASE_NAME"];
    let flag = ["--kubeconfig", other];
    let cases: [(&str, &str, &str, &[&str], bool); 9] = [
        ("another cluster", kube, other, &[], true),
        ("the same cluster", kube, same, &[], false),
        ("a flag names the cluster", kube, other, &flag, false),
        ("another API", api, "http://u:hunter2@127.0.0.1:2", &[], true),
        ("the same API", api, "http://u:hunter2@127.0.0.1:1/", &[], false),
        ("a Lease elsewhere", namespace, "default", &[], true),
        ("the same namespace", namespace, "fleet", &[], false),
        ("a flag names the namespace", namespace, "default", &["--lease-namespace", "default"], false),
        ("another Lease", name, "another", &[], true),
    ];
    for command in [&["plan"][..], &["sweep", "--once"], &["approve", &plan], &["restore", &audit]] {
        for (name, variable, value, flags, is_refused) in &cases {
            let mut program = Command::new(env!("CARGO_BIN_EXE_sweeper"));
            program.args(command).args(["--config", &config]).args(*flags).env_clear().env(variable, value);
            let output = program.output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "there is no cluster: {said}");
            let refusal = format!("the variable {variable} overrides `");
            assert_eq!(said.contains(&refusal), *is_refused, "{command:?}, {name}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}

#[test]
fn command_first_says_where_it_acts() {
    let folder = tempfile::tempdir().unwrap();
    let [config, kubeconfig] =
        ["sweeper.yaml", "kubeconfig"].map(|name| folder.path().join(name).display().to_string());
    let cluster = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n\
                   clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n";
    fs::write(&kubeconfig, cluster).unwrap();
    let text =
        format!("adapters: [a]\napi: {{base_url: 'http://127.0.0.1:2'}}\nkubernetes: {{kubeconfig: {kubeconfig}}}\n");
    for (lease, said) in [
        ("lease: {namespace: fleet}", "Lease fleet/hyperfleet-sweeper"),
        ("lease: {namespace: fleet, name: b}", "Lease fleet/b"),
        ("", "no Lease, as `lease.namespace` is not set"),
    ] {
        fs::write(&config, format!("{text}{lease}\n")).unwrap();
        let (_, error) = run(&["approve", &"0".repeat(32), "--config", &config]);
        let first = error.lines().next().unwrap();
        assert!(first.starts_with("cluster http://127.0.0.1:1 (UID of kube-system: unknown: "), "{error}");
        assert!(first.ends_with(&format!("), HyperFleet API http://127.0.0.1:2, {said}")), "{error}");
    }
}

#[test]
fn manifests_are_printed_without_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let [config, audit] = ["sweeper.yaml", "audit.jsonl"].map(|name| folder.path().join(name));
    fs::write(&config, "adapters: [a]\napi: {base_url: 'http://127.0.0.1:1'}\n").unwrap();
    fs::write(&audit, "").unwrap();
    let (code, error) = run(&["restore", "--print", audit.to_str().unwrap(), "--config", config.to_str().unwrap()]);
    assert_eq!((code, error.as_str()), (Some(1), "no record of a deleted object matches\n"));
}
