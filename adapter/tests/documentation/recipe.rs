//! Completes a recipe of the documentation to a whole task file.

/// Builds a task file with these params and resources, and a post action that reports their state.
pub(crate) fn task(params: &str, resources: &str) -> String {
    let text = format!("\n{resources}");
    let entries: Vec<(&str, bool)> = text
        .split("\n- name: ")
        .skip(1)
        .map(|entry| {
            (entry.lines().next().unwrap_or_default(), ["delete: ", "orphan: "].iter().any(|gate| entry.contains(gate)))
        })
        .collect();
    assert!(!entries.is_empty(), "a recipe without resources:\n{resources}");
    let there: Vec<String> = entries.iter().map(|(name, _)| format!("resources.?{name}.hasValue()")).collect();
    let ended = entries.iter().filter(|(_, ends)| *ends);
    let gone = ended.map(|(name, _)| format!("adapter.outcomes.?{name}.?finalized.orValue(false)"));
    let gone: Vec<String> = std::iter::once("is_deleting".to_owned()).chain(gone).collect();
    let (there, gone) = (there.join(" && "), gone.join(" && "));
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
