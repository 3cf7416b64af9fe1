//! Diagnostics of keys that the Go adapter does not have.

/// Keys of a resource `job` besides its manifest and its discovery by name, indented by four spaces.
pub(super) const GATES: &[(&str, &str)] = &[
    (
        "undeclared variables and unknown functions",
        "    when: {expression: is_deleting}\n    lifecycle:\n      apply: {when: {expression: frobnicate(event.id)}}\n      patch: [{when: {expression: clusterID}, document: {a: 1}}]\n      recreate: {when: {expression: nope}}\n      orphan: {when: {expression: clusterID == 'x'}}\n",
    ),
    (
        "blank expressions",
        "    when: {expression: \" \"}\n    lifecycle:\n      apply: {when: {expression: \"  \"}}\n      patch: [{when: {expression: \"\\n\"}, document: {a: 1}}]\n      orphan: {when: {expression: \"\"}}\n",
    ),
    (
        "gates without expressions",
        "    when: {}\n    lifecycle: {apply: {}, orphan: {when: {}}, patch: [{document: {a: 1}}]}\n",
    ),
    (
        "gates without anything",
        "    when:\n    owner:\n    lifecycle:\n      create:\n      apply:\n      patch:\n      recreate:\n      orphan:\n      detach:\n      delete:\n",
    ),
    ("a gate that is an expression", "    when: \"true\"\n    lifecycle: {apply: \"true\"}\n"),
    (
        "an expression that does not parse",
        "    when:\n      expression: |\n        !resources.?job.hasValue()\n          || (\n",
    ),
    (
        "orphan and detach",
        "    lifecycle:\n      orphan: {when: {expression: \"true\"}}\n      detach: {when: {expression: \"true\"}}\n",
    ),
    ("a mistake in detach", "    lifecycle: {detach: {when: {expression: nope}}}\n"),
    ("a resource that does not exist", "    when: {expression: has(resources.jbo)}\n"),
];

pub(super) const PATCHES: &[(&str, &str)] = &[
    ("a mapping in place of a list", "    lifecycle: {patch: {when: {expression: \"true\"}, document: {a: 1}}}\n"),
    ("no document", "    lifecycle: {patch: [{when: {expression: \"true\"}}]}\n"),
    ("an empty document", "    lifecycle: {patch: [{when: {expression: \"true\"}, document: {}}]}\n"),
    ("a document that is text", "    lifecycle: {patch: [{when: {expression: \"true\"}, document: \"a: 1\"}]}\n"),
    ("an empty entry", "    lifecycle: {patch: [{}]}\n"),
    (
        "a document with another identity",
        "    lifecycle:\n      patch:\n        - when: {expression: \"true\"}\n          document:\n            apiVersion: batch/v2\n            kind: Job\n            metadata: {name: x, namespace: y, uid: z, resourceVersion: \"1\", finalizers: []}\n",
    ),
    (
        "a document that takes the object away from the adapter",
        "    lifecycle:\n      patch:\n        - when: {expression: \"true\"}\n          document:\n            metadata:\n              labels:\n                hyperfleet.io/adapter: x\n                hyperfleet.io/resource-id: null\n                hyperfleet.io/resource: null\n                hyperfleet.io/disowned: x\n                example.io/tier: gold\n              annotations:\n                hyperfleet.io/generation: \"1\"\n                hyperfleet.io/disowned-by: x\n                hyperfleet.io/ownership-proof: null\n        - when: {expression: \"true\"}\n          document: {metadata: {labels: null, annotations: text}}\n        - when: {expression: \"true\"}\n          document: {metadata: null}\n",
    ),
    (
        "undefined variables",
        "    lifecycle:\n      patch:\n        - when: {expression: \"true\"}\n          document:\n            \"{{ .key }}\": 1\n            spec: [\"{{ .clusterID }}\", \"{{ lower .nope }}\", \"{{ .clusterId\"]\n",
    ),
    (
        "an owner's reference",
        "    owner: {resource: first}\n    lifecycle: {patch: [{when: {expression: \"true\"}, document: {metadata: {ownerReferences: []}}}]}\n",
    ),
];

/// Keys of a resource `job` besides its manifest and its discovery by labels, indented by four spaces.
pub(super) const RETENTION: &[(&str, &str)] = &[
    ("no limit", "    retention: {}\n"),
    ("nothing at all", "    retention:\n"),
    ("a fraction of a version", "    retention: {historyLimit: 0.9}\n"),
    ("more versions than there can be", "    retention: {historyLimit: 1e30}\n"),
    ("no number", "    retention: {historyLimit: .nan}\n"),
    ("one limit that is null", "    retention: {historyLimit: , ttl: 24h}\n"),
    ("limits that are null", "    retention: {historyLimit: ~, ttl: ~}\n"),
    ("a negative limit", "    retention: {historyLimit: -1}\n"),
    ("a limit that is text", "    retention: {historyLimit: \"3\"}\n"),
    ("a lifetime without a unit", "    retention: {ttl: 24}\n"),
    ("a lifetime in days", "    retention: {ttl: 7d}\n"),
    ("a lifetime that is none", "    retention: {ttl: 0s}\n"),
    ("a lifetime below zero", "    retention: {historyLimit: 0, ttl: -24h}\n"),
    ("an empty lifetime", "    retention: {ttl: \"\"}\n"),
    ("a misspelt limit", "    retention: {history_limit: 3}\n"),
];

/// Cases for the key `owner`: the case's name, and the entries of `resources`.
pub(super) const OWNERS: &[(&str, &str)] = &[
    ("nobody", "  - {name: a, owner: {}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n"),
    ("itself", "  - {name: a, owner: {resource: a}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n"),
    (
        "a later resource",
        "  - {alias: a, owner: {resource: b}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n  - {alias: b, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "a resource that does not exist",
        "  - {name: space, manifest: {apiVersion: v1, kind: Namespace}, discovery: {by_name: x}}\n  - {name: a, owner: {resource: sapce}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n  - {name: b, owner: {resource: nobody}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "the first resource names one that does not exist",
        "  - {name: a, owner: {resource: b}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "an object inside another one",
        "  - {name: work, manifest: {apiVersion: v1, kind: ConfigMap}, discovery: {by_name: x}, nested_discoveries: [{name: inner, discovery: {by_name: x}}]}\n  - {name: a, owner: {resource: inner}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "a resource that keeps versions",
        "  - {name: run, retention: {historyLimit: 1}, manifest: {apiVersion: batch/v1, kind: Job}, discovery: {by_selectors: {label_selector: {a: b}}}}\n  - {name: a, owner: {resource: run}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "maestro on either side",
        "  - {name: work, transport: {client: maestro, maestro: {target_cluster: x}}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n  - {name: a, owner: {resource: work}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n  - {name: b, owner: {resource: a}, transport: {client: maestro, maestro: {target_cluster: x}}, manifest: {apiVersion: v1, kind: Pod}, discovery: {by_name: x}}\n",
    ),
    (
        "another namespace",
        "  - {name: one, manifest: {apiVersion: v1, kind: Secret, metadata: {name: \"{{ .clusterId }}\", namespace: one}}, discovery: {by_name: x}}\n  - {name: two, owner: {resource: one}, manifest: {apiVersion: v1, kind: Secret, metadata: {namespace: two}}, discovery: {by_name: x}}\n  - name: three\n    owner: {resource: one}\n    manifest: |\n      apiVersion: v1\n      kind: Secret\n    discovery: {by_name: x, namespace: three}\n",
    ),
    (
        "an owner in a namespace of objects in none",
        "  - {name: secret, manifest: {apiVersion: v1, kind: Secret}, discovery: {by_name: x}}\n  - {name: custom, manifest: {apiVersion: example.io/v1, kind: Custom, metadata: {namespace: y}}, discovery: {by_name: x}}\n  - {name: a, owner: {resource: secret}, manifest: {apiVersion: v1, kind: Namespace}, discovery: {by_name: x}}\n  - {name: b, owner: {resource: custom}, manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding}, discovery: {by_name: x}}\n",
    ),
    (
        "owners as they should be",
        "  - {name: space, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: x}}, discovery: {by_name: x, namespace: one}}\n  - {name: role, owner: {resource: space}, manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}, discovery: {by_name: x}}\n  - {name: secret, owner: {resource: role}, manifest: {apiVersion: v1, kind: Secret, metadata: {namespace: two}}, discovery: {by_name: x, namespace: two}}\n  - {name: config, owner: {resource: secret}, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: \"{{ .clusterId }}\"}}, discovery: {by_name: x}}\n  - {name: custom, owner: {resource: secret}, manifest: {apiVersion: example.io/v1, kind: Custom}, discovery: {by_name: x}}\n",
    ),
];

/// A file with many mistakes, each of which has to be reported.
pub(super) const EVERYTHING: &str = r#"resources:
  - name: run
    when: {expression: nope}
    owner: {resource: run}
    retention: {historyLimit: -1, ttl: soon}
    manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: "{{ .nope }}"}}
    discovery: {by_name: run}
    lifecycle:
      apply: {when: {expression: "1 +"}}
      patch:
        - document: {kind: Job, "{{ .nope }}": 1}
        - when: {expression: " "}
          document: {}
      orphan: {when: {expression: nope()}}
      detach: {when: {expression: ""}}
  - name: space
    when: {expression: "true"}
    owner: {resource: rnu}
    manifest: {apiVersion: v1, kind: Namespace}
"#;
