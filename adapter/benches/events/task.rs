//! The task that is measured: one read of the API, one ConfigMap, one status report.

use super::options::Shape;

/// The id of one of the resources, as long as real ones are.
pub(crate) fn resource_id(number: usize) -> String {
    format!("2opdkciuv7itslp5guihmgoue0{number:06}")
}

/// The task file.
pub(crate) fn task(namespace: &str, shape: Shape) -> String {
    let discovery = match shape {
        Shape::ByName => "by_name: settings-{{ .clusterId }}",
        Shape::Selector => "by_selectors: { label_selector: { example.com/cluster: '{{ .clusterId }}' } }",
    };
    TASK.replace("$NAMESPACE", namespace).replace("$DISCOVERY", discovery)
}

const TASK: &str = r#"
params:
  - { name: clusterId, source: event.id, required: true }
  - { name: generation, source: event.generation, type: int, required: true }
preconditions:
  - name: cluster
    api_call: { method: GET, url: "/clusters/{{ .clusterId }}" }
    capture:
      - { name: clusterName, field: name }
      - { name: release, field: spec.release }
    conditions:
      - { field: release, operator: exists }
resources:
  - name: settings
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
    discovery:
      namespace: $NAMESPACE
      $DISCOVERY
post:
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
