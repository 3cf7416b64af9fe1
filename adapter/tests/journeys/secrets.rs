//! Tests that a credential in an answer of the API is nowhere but where the task puts it.

use anyhow::{Context, Result, ensure};
use lifecycle_e2e::sentinel::Event;
use serde_json::{Value, json};

use crate::world::World;

/// Longer than a reading of a gate, so that a reading shows its beginning, and with characters that JSON escapes.
const CREDENTIAL: &str = "{\"auths\":{\"quay.io\":{\"auth\":\"aHVudGVyMjpodW50ZXIyLWFuZC1tdWNoLW1vcmUtdGhhbi10aGF0LWZvci1hLXB1bGwtc2VjcmV0LW9mLWEtY2x1c3Rlcg==\"}}}";

/// Copies a credential of the cluster into a Secret, and into everything that is printed.
const TASK: &str = r#"
params:
  - {name: generation, source: event.generation, type: int}
  - {name: namespace, source: env.JOURNEY_NAMESPACE, required: true}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .event.id }}"}}}
  - {name: pull, source: cluster.spec.pullSecret, sensitive: true}
  - {name: derived, source: {expression: "'user:' + pull"}}
  - {name: region, source: cluster.spec.region}
resources:
  - name: credentials
    manifest:
      apiVersion: v1
      kind: Secret
      metadata: {name: credentials, namespace: "{{ .namespace }}"}
      stringData: {pull: "{{ .pull }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: credentials}
    lifecycle:
      create:
        when:
          expression: "cluster.spec.pullSecret != '' && cluster.size() > 0 && cluster.spec != {} && derived != region"
  - name: refused
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: refused, namespace: "{{ .namespace }}", labels: {bad: "{{ .pull }}", worse: "{{ .derived | upper }}"}}
    discovery: {namespace: "{{ .namespace }}", by_name: refused}
post:
  payloads:
    - name: status
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: {expression: generation}
        observed_time: "{{ .now }}"
        conditions:
          - {type: Applied, status: "False", reason: Refused, message: {expression: adapter.errorMessage}}
          - {type: Available, status: "False", reason: Refused, message: "{{ .region }}"}
          - {type: Health, status: "False", reason: Refused, message: {expression: adapter.errorMessage}}
  post_actions:
    - name: told
      log: {message: "in {{ .region }}: {{ .pull }}, {{ .derived | upper }}, {{ .pull | b64enc }}, {{ .cluster }}"}
    - name: report
      api_call: {method: PUT, url: "/clusters/{{ .event.id }}/statuses", body: "{{ .status }}"}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn credential_in_an_answer_of_the_api_is_printed_nowhere() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(TASK)?.with("passes", json!({"anonymous": true})).start().await?;
    world.api.put_cluster("c1", 1).await?;
    let spec = json!({ "spec": { "pullSecret": CREDENTIAL, "region": "the-region" } });
    let url = format!("{}/api/hyperfleet/v1/clusters/c1", world.api.url());
    let patched = reqwest::Client::new().patch(url).json(&spec).send().await?;
    ensure!(patched.status().is_success(), "{patched:?}");
    let generation = patched.json::<Value>().await?["generation"].as_i64().context("a generation")?;
    world.topic.publish(&Event::cluster("c1", generation)).await?;
    let report = world.report("c1", 1).await?;
    adapter.await_handled(1.0).await?;

    let stored = world.object("Secret", "credentials").await?;
    let in_base64 = stored["data"]["pull"].as_str().context("the credential is in use")?.to_owned();
    let (_, passes) = adapter.get("health", "/passes").await?;
    assert!(passes.contains("cluster.spec.pullSecret") && passes.contains("the-region"), "{passes}");
    let (_, metrics) = adapter.get("metrics", "/metrics").await?;
    adapter.stop().await?;
    let log = adapter.lines().join("\n");
    let lines =
        ["in the-region: [redacted], [REDACTED]", "cluster.spec.pullSecret = [redacted]", "must be no more than 63"];
    for line in lines {
        assert!(log.contains(line), "no {line} in\n{log}");
    }
    let escaped = Value::from(CREDENTIAL).to_string();
    let encoded = &in_base64;
    let secret = "aHVudGVyMjpodW50ZXIy";
    for (place, text) in
        [("the log", log), ("/passes", passes), ("/metrics", metrics), ("the report", format!("{report:?}"))]
    {
        for secret in [CREDENTIAL, escaped.trim_matches('"'), encoded, secret, &secret.to_uppercase()] {
            assert!(!text.contains(secret), "{place} has {secret}:\n{text}");
        }
    }
    Ok(())
}
