//! The task files of the journeys.
//!
//! Each journey has its own resources. The params, the read of the cluster and the report are shared, and
//! follow the conventions of the shipped examples.

/// Builds a task file with these resources, each of which begins with a line `  - name: <name>`.
pub(crate) fn task(resources: &str) -> String {
    let names: Vec<&str> = resources.lines().filter_map(|line| line.strip_prefix("  - name: ")).collect();
    let all = |condition: fn(&str) -> String| {
        let conditions: Vec<String> = names.iter().map(|name| condition(name)).collect();
        conditions.join(" && ")
    };
    let everything_there = all(|name| format!("resources.?{name}.hasValue()"));
    let nothing_left = all(|name| format!("!resources.?{name}.hasValue()"));
    let post = POST.replace("EVERYTHING_THERE", &everything_there).replace("NOTHING_LEFT", &nothing_left);
    format!("{PHASES_BEFORE}resources:\n{resources}{post}")
}

const PHASES_BEFORE: &str = r#"
params:
  - {name: clusterId, source: event.id, required: true}
  - {name: generation, source: event.generation, type: int, required: true}
  - {name: namespace, source: env.JOURNEY_NAMESPACE, required: true}
preconditions:
  - name: cluster
    api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}
    expression: "true"
"#;

const POST: &str = r#"
post:
  payloads:
    - name: status
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: {expression: generation}
        # Nanoseconds: the API would drop a second report of the same time.
        observed_time: '{{ now | date "2006-01-02T15:04:05.000000000Z07:00" }}'
        conditions:
          - type: Applied
            status: {expression: 'EVERYTHING_THERE ? "True" : "False"'}
            reason: {expression: 'EVERYTHING_THERE ? "Applied" : "Missing"'}
            message: Whether every object is there
          - type: Available
            status: {expression: 'EVERYTHING_THERE ? "True" : "False"'}
            reason: {expression: 'EVERYTHING_THERE ? "Available" : "Missing"'}
            message: Whether every object is there
          - type: Health
            status: {expression: 'adapter.executionStatus == "success" && !adapter.resourcesSkipped ? "True" : "False"'}
            reason:
              expression: |
                adapter.executionStatus != "success"
                  ? "ExecutionFailed:" + adapter.?executionError.?phase.orValue("unknown")
                  : adapter.resourcesSkipped ? "ResourcesSkipped" : "Healthy"
            message: {expression: 'adapter.errorMessage'}
          - type: Finalized
            status:
              expression: |
                cluster.?deleted_time.orValue(null) != null && adapter.executionStatus == "success"
                  && !adapter.resourcesSkipped && NOTHING_LEFT ? "True" : "False"
            reason: Cleanup
            message: Whether every object is gone
        data:
          outcomes: {expression: adapter.outcomes}
  post_actions:
    - name: report
      api_call: {method: PUT, url: "/clusters/{{ .clusterId }}/statuses", body: "{{ .status }}"}
"#;

/// A config map, discovered by name.
pub(crate) const SETTINGS: &str = r#"
  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: "{{ .clusterId }}"
        namespace: "{{ .namespace }}"
        labels: {app: journey}
      data:
        cluster: "{{ .clusterId }}"
        generation: "{{ .generation }}"
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
"#;

/// A secret, discovered by label.
pub(crate) const CREDENTIALS: &str = r#"
  - name: credentials
    manifest:
      apiVersion: v1
      kind: Secret
      metadata:
        name: "{{ .clusterId }}-credentials"
        namespace: "{{ .namespace }}"
        labels: {journey/cluster: "{{ .clusterId }}"}
      stringData:
        generation: "{{ .generation }}"
    discovery:
      namespace: "{{ .namespace }}"
      by_selectors:
        label_selector: {journey/cluster: "{{ .clusterId }}"}
"#;

/// A service account, discovered by name.
pub(crate) const ACCOUNT: &str = r#"
  - name: account
    manifest:
      apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: "{{ .clusterId }}"
        namespace: "{{ .namespace }}"
        annotations: {journey/generation: "{{ .generation }}"}
    discovery: {namespace: "{{ .namespace }}", by_name: "{{ .clusterId }}"}
"#;
