//! Tasks whose objects Kubernetes rejects, or whose reports the API rejects.

use super::cases::{Parts, resource, with_resources};

fn named(kind: &str, name: &str) -> String {
    let resource = resource("job", "    retention: {historyLimit: 1}\n");
    let resource = resource
        .replace("apiVersion: example.io/v1, kind: Task", kind)
        .replace("metadata: {name: job}", &format!("metadata: {{name: {name}}}"));
    let params = "params: [{name: clusterId, source: event.id}, {name: region, source: event.region}, {name: count, source: event.count}]\n";
    let resources = resource
        .replace("by_name: job", r#"by_selectors: {label_selector: {hyperfleet.io/resource-id: "{{ .event.id }}"}}"#);
    params.to_owned() + &with_resources(resources)
}

/// The task with one object of a kind and a fixed name, discovered by that name.
fn fixed(kind: &str, name: &str) -> String {
    let resource = resource("job", "").replace("apiVersion: example.io/v1, kind: Task", kind);
    with_resources(
        resource
            .replace("metadata: {name: job}", &format!("metadata: {{name: {name}}}"))
            .replace("by_name: job", &format!("by_name: {name}")),
    )
}

const CONFIG_MAP: &str = "apiVersion: example.io/v1, kind: Config";
const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole";

/// The task with a bundle, which has these keys.
fn bundle(keys: &str) -> String {
    with_resources(format!(
        "  - name: job\n    bundle:\n      manifests: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x}}}}]{keys}\n    \
         lifecycle: {{delete: {{when: {{expression: event.gone}}}}}}\n"
    ))
}

pub(super) fn names() -> Vec<(&'static str, String)> {
    vec![
        ("an upper-case letter", fixed(CONFIG_MAP, "installJob")),
        ("an underscore in a template", named(CONFIG_MAP, "\"{{ .clusterId }}_{{ now | date `150405` }}\"")),
        ("the time as the proposal writes it", named(CONFIG_MAP, "'{{ .clusterId }}-job-{{ .now | replace \":\" \"-\" }}'")),
        ("upper case by a function", named(CONFIG_MAP, "\"{{ .region | upper }}-{{ .event.generation }}\"")),
        ("a dot in the name of a namespace", fixed("apiVersion: v1, kind: Namespace", "a.b")),
        ("a slash in the name of a role", fixed(ROLE, "a/b")),
        (
            "a namespace that is none",
            with_resources(resource("job", "").replace("{name: job}}", "{name: job, namespace: My_Space}}")),
        ),
        ("the parent of a bundle", bundle("\n      name: My_Set\n      namespace: a.b")),
        (
            "a name in a text",
            with_resources("  - name: job\n    manifest: |\n      apiVersion: example.io/v1\n      kind: Config\n      metadata:\n        name: My_Map\n        labels: {tier: x}\n    discovery: {by_name: My_Map}\n".to_owned()),
        ),
    ]
}

fn conditioned(condition: &str) -> String {
    let sound = Parts::sound();
    let payloads = sound.payloads.replace("{type: Available, status: \"True\"}", condition);
    Parts { payloads, ..sound }.text()
}

pub(super) fn conditions() -> Vec<(&'static str, String)> {
    vec![
        ("no status", conditioned("{type: Available, reason: Ready}")),
        ("a status without a value", conditioned("{type: Available, status: }")),
        ("a status that is a boolean", conditioned("{type: Available, status: True}")),
        (
            "a status whose expression gives a boolean",
            conditioned(
                "{type: Available, status: {expression: \"resources.?job.hasValue() && event.generation > 1\"}}",
            ),
        ),
        ("a status that is another text", conditioned("{type: Available, status: Ready}")),
        ("no type", conditioned("{status: \"True\"}")),
    ]
}

fn capitalized() -> String {
    let sound = Parts::sound();
    let payloads = [
        ("{type:", "{Type:"),
        (" status:", " Status:"),
        (" conditions:", " Conditions:"),
        ("observed_generation:", "Observed_Generation:"),
    ];
    let payloads = payloads.iter().fold(sound.payloads, |text, (from, to)| text.replace(from, to));
    Parts { payloads, ..Parts::sound() }.text()
}

pub(super) fn in_order() -> Vec<(&'static str, String)> {
    vec![
        ("keys that only the API's decoder takes for its own", capitalized()),
        ("a name with the time", named(CONFIG_MAP, "\"{{ .clusterId }}-job-{{ .now | date `20060102-150405` }}\"")),
        ("a name with a number", named(CONFIG_MAP, "\"{{ .clusterId | lower }}-{{ printf `%03d` .count }}\"")),
        (
            "a name that depends",
            named(CONFIG_MAP, "\"{{ if .region }}x{{ else }}Not_X{{ end }}-{{ .event.generation }}\""),
        ),
        ("a bundle without keys", bundle("")),
        ("a role with a colon", fixed(ROLE, "\"example:Admin\"")),
        (
            "an entry that only patches",
            with_resources(resource(
                "job",
                "    lifecycle:\n      apply: {when: {expression: \"false\"}}\n      patch:\n        - when: {expression: \"resources.job.metadata.?labels[?'b'].orValue('') != '2'\"}\n          document: {metadata: {labels: {b: \"2\"}}}\n",
            )),
        ),
        ("a status whose keys are templates", conditioned("{\"{{ .event.kind }}\": a}")),
    ]
}
