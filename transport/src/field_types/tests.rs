use serde_json::json;

use super::*;

fn told(object: &Value) -> Vec<String> {
    faults(object).iter().map(ToString::to_string).collect()
}

#[test]
fn fields_of_another_type_are_named() {
    let deployment =
        |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec});
    let container = |container: Value| deployment(json!({"template": {"spec": {"containers": [container]}}}));
    let map =
        |kind: &str, data: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "data": data});
    let cases = [
        (
            "text for an integer",
            deployment(json!({"replicas": "3"})),
            vec!["spec.replicas: is text, and Kubernetes wants an integer"],
        ),
        (
            "two faults",
            deployment(json!({"replicas": {"expression": "n"}, "paused": "yes", "minReadySeconds": 3})),
            vec![
                "spec.paused: is text, and Kubernetes wants true or false",
                "spec.replicas: is a mapping, and Kubernetes wants an integer",
            ],
        ),
        (
            "deep",
            container(json!({"name": "a", "env": [{"name": "A", "value": 5}], "ports": [{"containerPort": "80"}]})),
            vec![
                "spec.template.spec.containers[0].env[0].value: is a number, and Kubernetes wants text",
                "spec.template.spec.containers[0].ports[0].containerPort: is text, and Kubernetes wants an integer",
            ],
        ),
        (
            "a quantity may be a number",
            container(json!({"resources": {"limits": {"cpu": 2, "memory": "1Gi"}}})),
            vec![],
        ),
        (
            "a mapping for a list",
            deployment(json!({"template": {"spec": {"containers": {}}}})),
            vec!["spec.template.spec.containers: is a mapping, and Kubernetes wants a list"],
        ),
        (
            "a number in a ConfigMap",
            map("ConfigMap", json!({"a": 5})),
            vec!["data.a: is a number, and Kubernetes wants text"],
        ),
        (
            "no base64",
            map("Secret", json!({"a": "%"})),
            vec![
                "data.a: is text, and Kubernetes wants base64 (`| b64enc`, or plain text in `stringData`) or a time as in RFC 3339",
            ],
        ),
        ("null", deployment(json!({"replicas": null})), vec![]),
        ("unknown fields", deployment(json!({"nope": "3"})), vec![]),
        (
            "an unknown kind",
            json!({"apiVersion": "example.io/v1", "kind": "Deployment", "spec": {"replicas": "3"}}),
            vec![],
        ),
        (
            "a label of an unknown kind",
            json!({"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"labels": {"tier": 1}}}),
            vec!["metadata.labels.tier: is a number, and Kubernetes wants text"],
        ),
    ];
    for (name, object, expected) in cases {
        let mut told = told(&object);
        told.sort();
        assert_eq!(told, expected, "{name}");
    }
}
