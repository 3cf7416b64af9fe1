//! The task files of the benchmark. Each task reads a cluster, keeps one ConfigMap, and reports four conditions.

use super::options::Shape;

/// Builds the id of a resource, with the length of real ids.
pub(crate) fn resource_id(number: usize) -> String {
    format!("2opdkciuv7itslp5guihmgoue0{number:06}")
}

/// Builds the task file for a shape.
pub(crate) fn task(namespace: &str, shape: Shape) -> String {
    let (params, discovery) = match shape {
        Shape::Captures => (PRECONDITION, "by_name: settings-{{ .clusterId }}"),
        Shape::Remote => {
            return TASK.replace("$PARAMS", PRECONDITION).replace("$SETTINGS", WORK).replace("$NAMESPACE", namespace);
        }
        Shape::Expressions => {
            (EXPRESSIONS, "by_selectors: { label_selector: { example.com/cluster: '{{ .clusterId }}' } }")
        }
    };
    let settings = SETTINGS.replace("$DISCOVERY", discovery);
    TASK.replace("$PARAMS", params).replace("$SETTINGS", &settings).replace("$NAMESPACE", namespace)
}

/// A precondition with an API call and three captures from its answer.
const PRECONDITION: &str = r#"
preconditions:
  - name: cluster
    api_call: { method: GET, url: "/clusters/{{ .clusterId }}" }
    capture:
      - { name: clusterName, field: name }
      - { name: release, field: spec.release }
      - { name: region, field: spec.region }
    conditions:
      - { field: release, operator: exists }
"#;

/// A param with an API call, and params that compute values from its answer.
const EXPRESSIONS: &str = r#"
  - { name: cluster, source: { api_call: { method: GET, url: "/clusters/{{ .clusterId }}" } }, required: true }
  - { name: clusterName, source: { expression: 'cluster.name' } }
  - { name: release, source: { expression: 'cluster.spec.release' } }
  - { name: region, source: { expression: 'cluster.?spec.?region.orValue("none")' } }
  - name: isReconciled
    source: { expression: 'cluster.status.conditions.exists(c, c.type == "Reconciled" && c.status == "True")' }
  - { name: size, source: { expression: 'cluster.spec.nodes > 3 ? "large" : "small"' } }
preconditions:
  - name: hasRelease
    expression: 'release != ""'
"#;

const SETTINGS: &str = r#"  - name: settings
    manifest:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: settings-{{ .clusterId }}
        namespace: $NAMESPACE
        labels:
          example.com/cluster: "{{ .clusterId }}"
      data:
        name: "{{ .clusterName }}"
        release: "{{ .release }}"
        region: "{{ .region }}"
    discovery:
      namespace: $NAMESPACE
      $DISCOVERY
"#;

/// The same ConfigMap on a remote cluster.
const WORK: &str = r#"  - name: work
    transport: { client: maestro, maestro: { target_cluster: bench } }
    manifest:
      apiVersion: work.open-cluster-management.io/v1
      kind: ManifestWork
      metadata:
        name: settings-{{ .clusterId }}
      spec:
        workload:
          manifests:
            - apiVersion: v1
              kind: ConfigMap
              metadata:
                name: settings-{{ .clusterId }}
                namespace: $NAMESPACE
              data:
                name: "{{ .clusterName }}"
                release: "{{ .release }}"
                region: "{{ .region }}"
    discovery:
      by_name: settings-{{ .clusterId }}
    nested_discoveries:
      - name: settings
        discovery: { namespace: $NAMESPACE, by_name: "settings-{{ .clusterId }}" }
"#;

const TASK: &str = r#"
params:
  - { name: clusterId, source: event.id, required: true }
  - { name: generation, source: event.generation, type: int, required: true }
$PARAMS
resources:
$SETTINGSpost:
  payloads:
    - name: statusPayload
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: { expression: generation }
        observed_time: '{{ now | date "2006-01-02T15:04:05Z07:00" }}'
        conditions:
          - type: Applied
            status: { expression: 'resources.?settings.hasValue() ? "True" : "False"' }
            reason: ResourcesApplied
            message: Whether the settings are there
          - type: Available
            status: { expression: 'resources.?settings.?data.?release.orValue("") == release ? "True" : "False"' }
            reason: SettingsCurrent
            message: Whether the settings name the wanted release
          - type: Placed
            status: { expression: 'resources.?settings.?data.?region.orValue("") == region ? "True" : "False"' }
            reason: RegionKnown
            message: Whether the settings name the region
          - type: Health
            status:
              expression: 'adapter.executionStatus == "success" && !adapter.resourcesSkipped ? "True" : "False"'
            reason:
              expression: 'adapter.resourcesSkipped ? "ResourcesSkipped" : "Healthy"'
            message:
              expression: 'adapter.resourcesSkipped ? adapter.skipReason : "Every step succeeded"'
  post_actions:
    - name: reportStatus
      api_call: { method: PUT, url: "/clusters/{{ .clusterId }}/statuses", body: "{{ .statusPayload }}" }
"#;
