//! Completes a recipe of the documentation to a whole task file.

/// Builds a task file with these params and resources, and a post action that reports their state.
pub(crate) fn task(params: &str, resources: &str) -> String {
    let names: Vec<&str> = resources.lines().filter_map(|line| line.strip_prefix("- name: ")).collect();
    assert!(!names.is_empty(), "a recipe without resources:\n{resources}");
    let all = |condition: fn(&str) -> String| {
        let conditions: Vec<String> = names.iter().map(|name| condition(name)).collect();
        conditions.join(" && ")
    };
    let there = all(|name| format!("resources.?{name}.hasValue()"));
    let gone = all(|name| format!("adapter.outcomes.?{name}.?finalized.orValue(false)"));
    format!("{params}resources:\n{resources}{}", POST.replace("THERE", &there).replace("GONE", &gone))
}

const POST: &str = r#"
post:
  payloads:
    - name: status
      build:
        adapter: "{{ .adapter.name }}"
        observed_generation: {expression: generation}
        observed_time: "{{ .now }}"
        conditions:
          - {type: Applied, status: {expression: 'THERE ? "True" : "False"'}, reason: Applied, message: ""}
          - {type: Available, status: {expression: 'THERE ? "True" : "False"'}, reason: Available, message: ""}
          - {type: Health, status: {expression: 'adapter.executionStatus == "success" ? "True" : "False"'}, reason: Health, message: ""}
          - {type: Finalized, status: {expression: 'GONE ? "True" : "False"'}, reason: Cleanup, message: ""}
  post_actions:
    - name: report
      api_call: {method: PUT, url: "/clusters/{{ .clusterId }}/statuses", body: "{{ .status }}"}
"#;
