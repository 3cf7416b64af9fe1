//! Whether a text tells API resources apart, as the value of `hyperfleet.io/resource-id` has to.
//!
//! In: a task, and a template. Out: what the template takes that several API resources can share; nothing if it takes an id as
//! well, itself or through params and captures. A name is no id: the API gives it away again while the former resource is still
//! being deleted. Nothing fails.

use std::collections::BTreeSet;

use lifecycle_core::task::{CaptureSource, ParamSource, Task};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::Template;

/// The last words of fields that hold an id. A link has the id in it.
const IDS: [&str; 4] = ["id", "uid", "uuid", "href"];

/// How fields begin that hold the id of another API resource, which its children share.
const OF_OTHERS: [&str; 4] = ["owner", "owned", "parent", "references"];

/// The variables of a template that takes no id; none if it takes one, or an event decides what it takes.
#[must_use]
pub fn shared_values(task: &Task, template: &Template) -> Option<Vec<String>> {
    let variables = template.variables();
    let is_unique = |path: &String| holds_id(task, &path.split('.').collect::<Vec<_>>(), &mut BTreeSet::new());
    let is_decided = !template.is_malformed() && !template.reads_root();
    (is_decided && !variables.iter().any(is_unique)).then(|| variables.iter().cloned().collect())
}

/// Whether the value at a path is an id, or has one within it.
fn holds_id<'t>(task: &'t Task, path: &[&'t str], seen: &mut BTreeSet<&'t str>) -> bool {
    let [root, fields @ ..] = path else { return false };
    if *root == "event" {
        return fields.is_empty() || is_id(fields);
    }
    if matches!(*root, "config" | "env" | "adapter") {
        return false;
    }
    let of_calls = task.preconditions.iter().any(|precondition| precondition.name == *root);
    if of_calls && (fields.is_empty() || is_id(fields)) {
        return true;
    }
    if !seen.insert(root) {
        return false;
    }
    let captures = task.preconditions.iter().flat_map(|precondition| &precondition.captures);
    let mut captures = captures.filter(|capture| capture.name == *root);
    let mut params = task.params.iter().filter(|param| param.name == *root);
    params.any(|param| of_source(task, &param.source, fields, seen))
        || captures.any(|capture| match &capture.source {
            CaptureSource::Field(field) => is_id(&field.prefix()),
            CaptureSource::Expression(expression) => reads_id(task, expression, seen),
        })
}

/// Whether a param with this source has an id in these fields.
fn of_source<'t>(task: &'t Task, source: &'t ParamSource, fields: &[&'t str], seen: &mut BTreeSet<&'t str>) -> bool {
    let below = |path: &'t str| path.split('.').chain(fields.iter().copied()).collect::<Vec<_>>();
    match source {
        ParamSource::ApiCall(_) => fields.is_empty() || is_id(fields),
        ParamSource::Event(path) => is_id(&below(path)),
        ParamSource::Path(path) => {
            let path = below(path);
            let of_variable = task.times_set(path[0]) > 0;
            if of_variable { holds_id(task, &path, seen) } else { is_id(&path) }
        }
        ParamSource::Expression(expression) => !expression.is_boolean() && reads_id(task, expression, seen),
        ParamSource::Environment(_) | ParamSource::Config(_) | ParamSource::File { .. } => false,
    }
}

fn reads_id<'t>(task: &'t Task, expression: &'t Expression, seen: &mut BTreeSet<&'t str>) -> bool {
    // The keys of a response are variables of its captures.
    expression
        .member_paths()
        .iter()
        .any(|path| holds_id(task, path, seen) || task.times_set(path[0]) == 0 && is_id(path))
}

/// Whether fields lead to an id of the API resource itself.
fn is_id(fields: &[&str]) -> bool {
    let is_of_other = |field: &&str| OF_OTHERS.iter().any(|word| field.to_lowercase().starts_with(word));
    fields.last().is_some_and(|last| ends_in_id(last)) && !fields.iter().any(is_of_other)
}

/// Whether the last word of a name is an id, as in `id`, `network_id`, `networkId` and `infraID`.
fn ends_in_id(name: &str) -> bool {
    IDS.iter().any(|word| {
        let Some(at) = name.len().checked_sub(word.len()).filter(|at| name.is_char_boundary(*at)) else { return false };
        let (before, last) = name.split_at(at);
        let begins_word = before.is_empty() || before.ends_with(['_', '-']) || last.starts_with(char::is_uppercase);
        last.eq_ignore_ascii_case(word) && begins_word
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use lifecycle_core::task::compile::{Surroundings, compile};

    use super::*;

    const TASK: &str = r#"params:
  - {name: clusterId, source: event.id}
  - {name: plain, source: id}
  - {name: kind, source: event.kind}
  - {name: parent, source: event.owned_reference.id}
  - {name: region, source: env.REGION}
  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}}
  - {name: infra, source: cluster.spec.infraID}
  - {name: name, source: cluster.name}
  - {name: long, source: {expression: "'c-' + clusterId"}}
  - {name: isFirst, source: {expression: "clusterId == 'a'"}}
  - {name: spec, source: cluster.spec}
  - {name: deep, source: {expression: "long + '-x'"}}
preconditions:
  - name: again
    api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}
    capture: [{name: uid, field: metadata.uid}, {name: tier, field: spec.tier}, {name: made, expression: "id + '-x'"}]
    conditions: [{field: tier, operator: exists}]
resources: []
"#;

    #[test]
    fn an_id_tells_api_resources_apart_wherever_it_comes_from() {
        let surroundings = Surroundings { read: &|file| Err(format!("no file {file}")), environment: &|_| None };
        let compiled = compile("task.yaml", TASK, &surroundings);
        let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
        let unique = [
            "{{ .event.id }}",
            "{{ .event.href | lower }}",
            "{{ .clusterId }}",
            "{{ .plain }}",
            "{{ .cluster.id }}",
            "{{ index .cluster \"id\" }}",
            "{{ .again.id }}",
            "{{ .infra }}",
            "{{ .long }}",
            "{{ .deep }}",
            "{{ .uid }}",
            "{{ .made }}",
            "{{ .spec.networkId }}",
            "{{ .kind }}-{{ .clusterId }}",
            "{{ toJson . }}",
        ];
        let shared = [
            ("{{ .event.kind }}", "event.kind"),
            ("{{ .kind }}", "kind"),
            ("{{ .parent }}", "parent"),
            ("{{ .event.owned_reference.id }}", "event.owned_reference.id"),
            ("{{ .region }}-{{ .name }}", "name, region"),
            ("{{ .isFirst }}", "isFirst"),
            ("{{ .tier }}", "tier"),
            ("{{ .cluster.spec.region }}", "cluster.spec.region"),
            ("{{ .adapter.name }}", "adapter.name"),
        ];
        let told = |text: &str| {
            let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            shared_values(&task, &template).map(|shared| shared.join(", "))
        };
        for text in unique {
            assert_eq!(told(text), None, "{text}");
        }
        for (text, expected) in shared {
            assert_eq!(told(text).as_deref(), Some(expected), "{text}");
        }
    }
}
