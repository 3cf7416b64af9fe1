//! Tests of the command `rbac`: its manifests, its values for Helm, and the API server's opinion of both.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use anyhow::{Context as _, Result, ensure};
use assert_cmd::Command;
use http::Request;
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_e2e::unique;
use lifecycle_kube::rights::plural;
use lifecycle_kube::{Cluster, Settings};
use serde_json::{Value, json};

const TASK: &str = r#"params: [{name: id, source: event.id}]
resources:
  - name: place
    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "c-{{ .id }}"}}
    discovery: {by_name: "c-{{ .id }}"}
    lifecycle: {apply: {when: {expression: "!has(resources.place)"}}}
  - name: job
    manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: "{{ .id }}", namespace: jobs}}
    discovery: {namespace: jobs, by_name: "{{ .id }}"}
    recreate_on_change: true
  - name: certificate
    manifest: {apiVersion: example.com/v1, kind: Certificate, metadata: {name: "{{ .id }}", namespace: "c-{{ .id }}"}}
    discovery: {namespace: "c-{{ .id }}", by_name: "{{ .id }}"}
"#;

fn rbac(task: &str, flags: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.yaml"), "adapter: {name: installer}\n").unwrap();
    fs::write(folder.path().join("task.yaml"), task).unwrap();
    let files = ["rbac", "--config", "config.yaml", "--task-config", "task.yaml"];
    let mut command = Command::cargo_bin("hyperfleet-adapter").unwrap();
    command.current_dir(folder.path()).env_clear().args(files).args(flags).output().unwrap()
}

fn documents(text: &[u8]) -> Vec<Value> {
    let text = str::from_utf8(text).unwrap();
    text.split("---\n").skip(1).map(|text| serde_saphyr::from_str(text).unwrap()).collect()
}

#[test]
fn values_have_the_rules_of_the_cluster_and_of_each_namespace() {
    let output = rbac(TASK, &["--output", "values"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("# The name `certificates` of Certificate in example.com is a guess"), "{text}");
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let expected = json!({ "rbac": {
        "rules": [
            rule("", "namespaces", &["create", "get"]),
            rule("example.com", "certificates", &["create", "get", "patch"]),
        ],
        "namespaces": { "jobs": [rule("batch", "jobs", &["create", "delete", "get", "patch"])] },
    } });
    assert_eq!(documents(&output.stdout), [expected]);
}

#[test]
fn task_with_errors_gets_no_roles() {
    let output = rbac("resources: [{name: a}]\n", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("task.yaml:1"), "{output:?}");
}

#[tokio::test]
async fn api_server_accepts_the_manifests_and_allows_no_other_verb() -> Result<()> {
    let control_plane = ControlPlane::shared().await?;
    let client = control_plane.client().await?;
    // The namespace need not exist to be named by a role binding, but that of a Role has to.
    let namespace = control_plane.namespace().await?;
    let account = unique("account");
    let task = TASK.replace("namespace: jobs", &format!("namespace: {}", namespace.name()));
    let output = rbac(&task, &["--service-account", &format!("fleet/{account}")]);
    ensure!(output.status.success(), "{output:?}");
    let printed = documents(&output.stdout);
    let mut paths = Vec::new();
    for manifest in &printed {
        let resource = format!("{}s", manifest["kind"].as_str().context("no kind")?.to_lowercase());
        let place = match manifest["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{resource}"),
            None => format!("/apis/rbac.authorization.k8s.io/v1/{resource}"),
        };
        let request = Request::post(&place).body(serde_json::to_vec(manifest)?)?;
        let created: Value = client.request(request).await?;
        paths.push(format!("{place}/{}", created["metadata"]["name"].as_str().context("no name")?));
    }
    let may = async |verb: &str, group: &str, resource: &str, namespace: &str| -> Result<bool> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": { "user": format!("system:serviceaccount:fleet:{account}"), "resourceAttributes": {
                "group": group, "resource": resource, "verb": verb, "namespace": namespace,
            } },
        });
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer: Value = client.request(Request::post(path).body(serde_json::to_vec(&review)?)?).await?;
        Ok(answer["status"]["allowed"] == true)
    };
    let cases = [
        ("create", "", "namespaces", "", true),
        ("patch", "", "namespaces", "", false),
        ("delete", "", "namespaces", "", false),
        ("delete", "batch", "jobs", namespace.name(), true),
        ("list", "batch", "jobs", namespace.name(), false),
        ("get", "batch", "jobs", "default", false),
        ("patch", "example.com", "certificates", "default", true),
        ("delete", "example.com", "certificates", "default", false),
        ("get", "", "secrets", namespace.name(), false),
    ];
    for (verb, group, resource, namespace, allowed) in cases {
        assert_eq!(may(verb, group, resource, namespace).await?, allowed, "{verb} {resource} in {namespace:?}");
    }
    for path in paths {
        let _: Value = client.request(Request::delete(path).body(Vec::new())?).await?;
    }
    Ok(())
}

#[tokio::test]
async fn plural_of_each_kind_of_kubernetes_is_the_one_that_the_server_serves() -> Result<()> {
    let client = ControlPlane::shared().await?.client().await?;
    let served = Cluster::new(client, "test", Settings::default()).discover().await?;
    ensure!(served.kinds.len() > 40, "the server serves {} kinds", served.kinds.len());
    // Tests that run at the same time install custom kinds, which may have any plural.
    for kind in served.kinds.iter().filter(|kind| kind.kind.group.is_empty() || kind.kind.group.ends_with(".k8s.io")) {
        assert_eq!(plural(&kind.kind), kind.plural, "{:?}", kind.kind);
    }
    Ok(())
}
