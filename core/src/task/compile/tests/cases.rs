//! Task files with mistakes, each with a name, and one file without.

/// A task file with every key.
pub(super) const COMPLETE: &str = include_str!("complete.yaml");

pub(super) const STRUCTURE: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("a list at the top", "- a\n"),
    ("a misspelt key", "parms: []\n"),
    ("a key that nobody has", "resources:\n  - name: a\n    updateStrategy: {}\n"),
    ("a key below lifecycle that nobody has", "resources:\n  - name: a\n    lifecycle: {update: {}}\n"),
    ("a key in camel case", "resources:\n  - recreateOnChange: true\n"),
    ("a mapping in place of a list", "params: {name: a}\n"),
    ("text in place of a mapping", "post: nothing\n"),
    ("a repeated key", "params: []\nparams: []\n"),
    ("quotes around a boolean", "params:\n  - {name: a, source: event.id, required: \"true\"}\n"),
    ("a number in place of a boolean", "params:\n  - {name: a, source: event.id, required: 1}\n"),
    (
        "everything required is missing",
        "params: [{}]\npreconditions: [{}]\nresources: [{}]\npost: {payloads: [{}], post_actions: [{}]}\n",
    ),
    ("two documents", "params: []\n---\nparams: []\n"),
];

pub(super) const PARAMS: &[(&str, &str)] = &[
    ("a source that is a list", "params: [{name: a, source: [event.id]}]\n"),
    ("an empty source", "params: [{name: a, source: \"\"}]\n"),
    ("a source with nothing in it", "params: [{name: a, source: {}}]\n"),
    ("a source with two things in it", "params: [{name: a, source: {expression: \"1\", file: {path: /x}}}]\n"),
    ("a source with an unknown key", "params: [{name: a, source: {expresion: \"1\", expression: \"1\"}}]\n"),
    ("an unknown key further down in a source", "params: [{name: a, source: {file: {path: /x, trimm: true}}}]\n"),
    ("a blank expression", "params: [{name: a, source: {expression: \"  \"}}]\n"),
    ("a file without a path", "params: [{name: a, source: {file: {trim: false}}}]\n"),
    ("a relative file", "params: [{name: a, source: {file: {path: secrets/x}}}]\n"),
    ("an expression that does not parse", "params:\n  - name: a\n    source: {expression: \"event.id ==\"}\n"),
    (
        "an expression of several lines",
        "params:\n  - name: a\n    source:\n      expression: |\n        event.id == '1'\n          && (\n",
    ),
    (
        "an undeclared variable",
        "params:\n  - {name: clusterId, source: event.id}\n  - {name: b, source: {expression: clusterID}}\n",
    ),
    ("an unknown function", "params: [{name: a, source: {expression: \"frobnicate(event.id)\"}}]\n"),
    ("an unknown type", "params: [{name: a, source: event.id, type: integer}]\n"),
    (
        "an environment variable that is not set",
        "params:\n  - {name: a, source: env.NOWHERE, required: true}\n  - {name: b, source: env.REGION, required: true}\n  - {name: c, source: env.NOWHERE, required: true, default: x}\n",
    ),
    ("a method in lower case", "params: [{name: a, source: {api_call: {method: get, url: /x}}}]\n"),
    ("a call without a URL", "params: [{name: a, source: {api_call: {method: GET}}}]\n"),
    (
        "a call with a later param",
        "params:\n  - {name: a, source: {api_call: {method: GET, url: \"/x/{{ .b }}\"}}}\n  - {name: b, source: event.id}\n",
    ),
    (
        "an undefined variable beside a function",
        "params: [{name: a, source: {api_call: {method: GET, url: \"/x/{{ lower .b }}\"}}}]\n",
    ),
    (
        "a template that does not parse",
        "params: [{name: a, source: {api_call: {method: GET, url: \"/x/{{ if }}\"}}}]\n",
    ),
    ("a timeout without a unit", "params: [{name: a, source: {api_call: {method: GET, url: /x, timeout: 10}}}]\n"),
    (
        "an unknown back-off",
        "params: [{name: a, source: {api_call: {method: GET, url: /x, retry_backoff: fibonacci}}}]\n",
    ),
    (
        "a header's undefined variable",
        "params: [{name: a, source: {api_call: {method: GET, url: /x, headers: [{name: X, value: \"{{ .b }}\"}]}}}]\n",
    ),
    (
        "templates in place of a path",
        "params:\n  - {name: a, source: \"{{ .event.id }}\"}\n  - {name: b, source: \"x-{{ .event.id }}\"}\n",
    ),
    (
        "paths whose root nobody has",
        "params:\n  - {name: a, source: event.generatoin}\n  - {name: b, source: clusters.spec.replicas, default: 1}\n  - {name: cluster, source: {api_call: {method: GET, url: /x}}}\n  - {name: c, source: clusters.spec.replicas, default: 1}\n  - {name: d, source: later.a}\n  - {name: later, source: event.id}\n  - {name: e, source: event.custom}\n  - {name: f, source: custom.a}\n  - {name: g, source: cluster.spec}\n  - {name: h, source: generation}\n",
    ),
    (
        "members of `config` that never exist",
        "params:\n  - {name: a, source: config.adapter.nam}\n  - {name: b, source: {expression: config.clients.hyperfleet_api.base_ur}}\n  - {name: c, source: config.client.broker}\n  - {name: d, source: config.clients.hyperfleet_api.default_headers.any}\n  - {name: e, source: {expression: \"config.adapter.?version.orValue('')\"}}\n",
    ),
    (
        "parts of expressions that always fail",
        "params:\n  - {name: count, source: event.count, type: int}\n  - {name: a, source: {expression: \"event.x || timestamp(now()) - duration('30 s') > timestamp('2026-01-02')\"}}\n  - {name: b, source: {expression: \"'x-' + event.generation\"}}\n  - {name: c, source: {expression: \"event.kind + '-' + count\"}}\n  - {name: d, source: {expression: \"'x' + size(event.kind) + string(1)\"}}\n  - {name: e, source: {expression: \"'x' + string(count) + ('a' + event.kind)\"}}\n  - {name: generation, source: event.generation}\n  - {name: g, source: {expression: \"'x-' + generation\"}}\n  - {name: f, source: {expression: \"duration('30s') + duration(event.kind) == duration('1h') && [1].exists(count, 'x' + count == 'x1')\"}}\n",
    ),
    (
        "an unknown function in a template",
        "params: [{name: a, source: {api_call: {method: GET, url: \"/x/{{ qoute .event.id }}\"}}}]\n",
    ),
    (
        "names that the adapter sets itself",
        "params: [{name: resources, source: event.id}, {name: adapter, source: event.id}, {name: timestamp, source: event.id}]\npreconditions: [{name: config, api_call: {method: GET, url: /x}, capture: [{name: event, field: a}]}]\npost: {payloads: [{name: env, build: {}}]}\n",
    ),
    (
        "names that hold a blank",
        "params: [{name: cluster id, source: event.id}]\npost: {payloads: [{name: my status, build: {}}]}\n",
    ),
    (
        "members that never exist",
        "params: [{name: a, source: {expression: adapter.nme}}]\npreconditions:\n  - {name: b, conditions: [{field: adapter.skipReson, operator: exists}]}\n  - {name: c, expression: \"event.owner_references.name == '' || event.ownerReferences.id == '' || event.custom\"}\nresources:\n  - name: job\n    manifest: {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: \"{{ .adapter.nme }}\"}}}\n    discovery: {by_name: x}\n    nested_discoveries: [{name: inner, discovery: {by_name: y}}]\npost:\n  payloads:\n    - name: p\n      build:\n        a: {expression: adapter.outcomes.job.decison}\n        b: {expression: \"adapter.?outcomes[?'jbo'].?finalized.orValue(false)\"}\n        c: {expression: adapter.outcomes.inner.finalized}\n        d: {field: adapter.executionError.reason}\n        e: {expression: \"has(adapter.resourceErrors.job.code)\"}\n        f: \"{{ .adapter.executionStatus }}{{ .adapter.outcomes.job.finalised }}\"\n        g: {expression: \"[adapter].map(adapter, adapter.any) + [adapter.outcomes.job.reason]\"}\n        h: {expression: adapter.conditions.job}\n",
    ),
    (
        "params that can fail",
        "params:\n  - {name: a, default: {}, source: {api_call: {method: GET, url: /x}}}\n  - {name: b, source: {file: {path: /x}}}\n  - {name: c, default: 1, source: {expression: event.size * 2.0}}\n  - {name: d, default: 1, source: {expression: event.size}}\n  - {name: e, default: 1, on_error: default, source: {api_call: {method: GET, url: /x}}}\n  - {name: f, on_error: default, source: event.id}\n  - {name: g, default: 1, required: true, on_error: default, source: event.id}\n  - {name: h, on_error: ignore, source: event.id}\n",
    ),
    (
        "tests for presence of what may be null",
        "params:\n  - {name: a, source: {expression: event.?deleted_time.hasValue()}}\n  - {name: b, source: {expression: \"has(event.deleted_time) && 'deleted_by' in event\"}}\n  - {name: c, source: {expression: \"[event].exists(e, has(e.owner_references))\"}}\n  - {name: d, source: {expression: \"has(event.deleted_time) && event.deleted_time != null\"}}\n  - {name: e, source: {expression: event.?deleted_time.orValue(null) != null}}\n  - {name: f, source: {expression: \"event.?deleted_time.orValue('') != ''\"}}\n  - {name: g, source: {expression: \"event.?deleted_by.optMap(t, true).orValue(false)\"}}\n  - {name: h, source: {expression: \"event.generation > 1 && event.exists(k, k == 'deleted_time')\"}}\n  - {name: i, source: {expression: \"event.?deleted_time.orValue('') == ''\"}}\n",
    ),
    (
        "a header that HTTP does not know",
        "params: [{name: a, source: {api_call: {method: GET, url: /x, headers: [{name: \"X Source\", value: a}, {name: \"X-Größe\", value: a}, {name: X-Source_1, value: a}]}}}]\n",
    ),
    (
        "a fraction of an attempt",
        "params: [{name: a, source: {api_call: {method: GET, url: /x, retry_attempts: 1.5}}}]\n",
    ),
    (
        "an expression that is a tag",
        "preconditions:\n  - name: a\n    expression: !done\nresources:\n  - name: b\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    lifecycle:\n      create:\n        when:\n          expression: !resources.?b.hasValue()\n",
    ),
    (
        "an expression with a comma in a flow mapping",
        "resources:\n  - name: b\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    when: {expression: size(a, b)}\n",
    ),
    (
        "another word with the same beginning",
        "params: [{name: clusterId, source: event.id}, {name: b, source: {expression: clusterStatus}}]\n",
    ),
    ("a precondition without a check", "preconditions: [{name: ready}]\n"),
    ("an empty list of conditions", "preconditions: [{name: ready, conditions: []}]\n"),
    ("a condition without a field", "preconditions: [{name: ready, conditions: [{operator: exists}]}]\n"),
    ("a field from the root", "preconditions: [{name: ready, conditions: [{field: $.a, operator: exists}]}]\n"),
    ("a precondition with a hyphen", "preconditions: [{name: is-ready, expression: \"true\"}]\n"),
    ("a deprecated call", "preconditions: [{name: ready, api_call: {method: GET, url: /x}}]\n"),
    ("an unknown operator", "preconditions: [{name: ready, conditions: [{field: a, operator: notExists}]}]\n"),
    ("an operator without a value", "preconditions: [{name: ready, conditions: [{field: a, operator: equals}]}]\n"),
    (
        "an operator that wants a list",
        "preconditions: [{name: ready, conditions: [{field: a, operator: in, value: x}]}]\n",
    ),
    (
        "an operator that wants nothing",
        "preconditions: [{name: ready, conditions: [{field: a, operator: exists, value: true}]}]\n",
    ),
    (
        "orders of what is no number",
        "params: [{name: size, source: event.size}]\npreconditions: [{name: ready, conditions: [{field: size, operator: greaterThan, value: big}, {field: size, operator: lessThan, value: \"5\"}, {field: size, operator: greaterThan, value: 1.5}]}]\n",
    ),
    (
        "preconditions that read what comes later",
        "params: [{name: size, source: event.size}, {name: both, source: event.id}]\npreconditions:\n  - {name: first, conditions: [{field: status.a, operator: exists}, {field: resources.job, operator: exists}, {field: siz, operator: exists}]}\n  - {name: second, expression: \"!resources.?job.hasValue() && status != '' && both != ''\"}\n  - {name: third, api_call: {method: GET, url: \"/x/{{ .status }}/{{ .resources.job.metadata.name }}/{{ .resources.jbo.a }}\"}}\nresources:\n  - name: job\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\npost: {payloads: [{name: status, build: {a: {field: resources.job}, b: {field: nope}}}, {name: both, build: {}}]}\n",
    ),
    (
        "both spellings of a value",
        "preconditions: [{name: ready, conditions: [{field: a, operator: in, value: [x], values: [y]}]}]\n",
    ),
    (
        "a field that does not parse",
        "preconditions: [{name: ready, conditions: [{field: \"{.a[\", operator: exists}]}]\n",
    ),
    (
        "conditions and an expression",
        "preconditions: [{name: ready, expression: \"true\", conditions: [{field: a, operator: exists}]}]\n",
    ),
    (
        "a capture of nothing",
        "preconditions: [{name: ready, api_call: {method: GET, url: /x}, capture: [{name: a}]}]\n",
    ),
    (
        "a capture of two things",
        "preconditions: [{name: ready, api_call: {method: GET, url: /x}, capture: [{name: a, field: b, expression: c}]}]\n",
    ),
    (
        "a capture without a call",
        "preconditions: [{name: ready, expression: \"true\", capture: [{name: a, field: b}]}]\n",
    ),
    (
        "an unknown log level",
        "preconditions: [{name: ready, expression: \"true\", log: {message: hello, level: loud}}]\n",
    ),
];

pub(super) const RESOURCES: &[(&str, &str)] = &[
    ("no discovery", "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Namespace}\n"),
    ("no manifest", "resources:\n  - name: a\n    discovery: {by_name: x}\n"),
    (
        "a name with a hyphen",
        "resources:\n  - name: my-job\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "name and alias",
        "resources:\n  - name: a\n    alias: b\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "a duplicate name",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n  - alias: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "both ways of discovery",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x, by_selectors: {label_selector: {a: b}}}\n",
    ),
    (
        "neither way of discovery",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {namespace: x}\n",
    ),
    (
        "a selector without labels",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_selectors: {label_selector: {}}}\n",
    ),
    (
        "labels that cannot be",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery:\n      by_selectors:\n        label_selector: {\"Example.io/x\": \"-\", \"{{ .adapter.name }}\": ok}\n",
    ),
    (
        "the maestro transport",
        "resources:\n  - name: a\n    transport: {client: maestro, maestro: {target_cluster: \"{{ .nope }}\"}}\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "the maestro transport without its settings",
        "resources:\n  - name: a\n    transport: {client: maestro}\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "an executor that a patch would lose",
        "resources:\n  - name: a\n    transport: {client: maestro, maestro: {target_cluster: c}}\n    manifest: {apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: x}, spec: {executor: {}}}\n    discovery: {by_name: x}\n    lifecycle: {orphan: {when: {expression: \"false\"}}}\n",
    ),
    (
        "an unknown transport",
        "resources:\n  - name: a\n    transport: {client: desire}\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n",
    ),
    (
        "an action that spans strings",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: ConfigMap, data: {a: \"{{ if .env.X }}1\", b: \"2{{ end }}\"}}\n    discovery: {by_name: x}\n",
    ),
    (
        "a kind that is a template",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: \"{{ .adapter.name }}\"}\n    discovery: {by_name: x}\n",
    ),
    (
        "text without a kind",
        "resources:\n  - name: a\n    manifest: |\n      apiVersion: v1\n      metadata: {}\n    discovery: {by_name: x}\n",
    ),
    (
        "undefined variables deep in a manifest",
        "params: [{name: clusterId, source: event.id}]\nresources:\n  - name: a\n    manifest:\n      apiVersion: v1\n      kind: Pod\n      metadata:\n        name: \"{{ .clusterID }}\"\n        labels: {\"{{ .labelKey }}\": x}\n      spec: {containers: [{image: \"{{ .image\"}]}\n    discovery: {by_name: x}\n",
    ),
    (
        "an undefined variable in a referenced manifest",
        "params: [{name: clusterId, source: event.id}]\nresources:\n  - name: a\n    manifest: {ref: job.yaml}\n    discovery: {by_name: x}\n",
    ),
    (
        "a referenced manifest that is not there",
        "resources:\n  - name: a\n    manifest: {ref: none.yaml}\n    discovery: {by_name: x}\n",
    ),
    (
        "keys beside a reference",
        "params: [{name: clusterId, source: event.id}]\nresources:\n  - name: a\n    manifest: {ref: sound.yaml, kind: Job}\n    discovery: {by_name: x}\n",
    ),
    ("an empty reference", "resources:\n  - name: a\n    manifest: {ref: \"\"}\n    discovery: {by_name: x}\n"),
    (
        "both ways to recreate",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    recreate_on_change: true\n    lifecycle: {recreate: {when: {expression: \"true\"}}}\n",
    ),
    (
        "an undeclared variable in old and new gates",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    lifecycle:\n      create: {when: {expression: nope}}\n      recreate: {when: {expression: nope}}\n      delete: {when: {expression: \"has(resources.b.status)\"}}\n",
    ),
    (
        "a payload in gates, a discovery and a manifest",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod, metadata: {name: \"{{ .status }}\"}, spec: '{{ with index .resources \"a\" }}{{ .a }}{{ end }}'}\n    discovery: {by_name: \"{{ .status }}\"}\n    lifecycle:\n      create: {when: {expression: \"status != ''\"}}\n      apply: {when: {expression: \"status != ''\"}}\n      delete: {when: {expression: \"status != ''\"}}\n      patch: [{when: {expression: \"resources.a.a == 1\"}, document: {a: \"{{ .status }}\"}}]\npost: {payloads: [{name: status, build: {}}]}\n",
    ),
    (
        "a text with two documents",
        "resources:\n  - name: a\n    manifest: |\n      # first\n      ---\n      apiVersion: v1\n      kind: Pod\n      ---\n      apiVersion: v1\n      kind: Secret\n    discovery: {by_name: x}\n  - name: b\n    manifest: |\n      ---\n      apiVersion: v1\n      kind: Pod\n      ---\n      # nothing\n    discovery: {by_name: x}\n",
    ),
    (
        "gates without expressions",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    lifecycle: {create: {}, recreate: {when: {}}, delete: {when: {expression: \" \"}, propagationPolicy: background}}\n",
    ),
    (
        "nested discoveries",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    nested_discoveries:\n      - {name: Inner, discovery: {by_name: \"{{ .nope }}\"}}\n      - {name: a, discovery: {by_name: x}}\n      - {name: b}\n",
    ),
    (
        "two nested discoveries of one name",
        "resources:\n  - name: a\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: x}\n    nested_discoveries: [{name: inner, discovery: {by_name: x}}, {name: inner, discovery: {by_name: y}}]\n  - name: b\n    manifest: {apiVersion: v1, kind: Pod}\n    discovery: {by_name: y}\n    nested_discoveries: [{name: inner, discovery: {by_name: z}}]\n",
    ),
    (
        "entries as the proposal writes them",
        "resources:\n  - name: patched\n    discovery: {by_name: x}\n    lifecycle: {patch: [{when: {expression: \"true\"}, document: {data: {a: b}}}]}\n  - name: released\n    discovery: {by_name: x}\n    lifecycle: {orphan: {when: {expression: \"true\"}}}\n  - alias: space\n    manifest: {apiVersion: v1, kind: Namespace, metadata: {name: x}}\n  - alias: job\n    owner: {resource: space}\n    manifest: {apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: x}}\n",
    ),
];

pub(super) const POST: &[(&str, &str)] = &[
    ("a payload of nothing", "post: {payloads: [{name: p}]}\n"),
    ("a payload of two things", "post: {payloads: [{name: p, build: {}, build_ref: sound.yaml}]}\n"),
    ("a payload without a condition", "post: {payloads: [{name: p, build: {}, when: {}}]}\n"),
    (
        "an expression of a payload that does not parse",
        "post:\n  payloads:\n    - name: p\n      build:\n        conditions:\n          - type: Available\n            status: {expression: \"a ? b\"}\n",
    ),
    (
        "field and expression in one value",
        "post: {payloads: [{name: p, build: {a: {field: x, expression: y, other: z}}}]}\n",
    ),
    (
        "an undefined variable of a payload",
        "post: {payloads: [{name: p, build: {a: [\"{{ .nope }}\"], \"{{ .key }}\": 1}}]}\n",
    ),
    ("a referenced payload that is not there", "post: {payloads: [{name: p, build_ref: none.yaml}]}\n"),
    ("a referenced payload that is a list", "post: {payloads: [{name: p, build_ref: list.yaml}]}\n"),
    ("a mistake in a referenced payload", "post: {payloads: [{name: p, build_ref: status.yaml}]}\n"),
    ("a path of a payload that does not parse", "post: {payloads: [{name: p, build: {a: {field: \"{.a[\"}}}]}\n"),
    (
        "log lines that do not render",
        "post: {post_actions: [{name: a, log: {message: \"{{ .nope }} {{ if }}\"}}, {name: b, log: {message: \"{{ .nope }}\"}}]}\n",
    ),
    (
        "methods that a time does not have",
        "post: {post_actions: [{name: a, log: {message: \"{{ .now.Unix }} {{ printf `%d` 1 }}\"}}]}\n",
    ),
    ("an action with a hyphen", "post: {post_actions: [{name: report-status, log: {message: x}}]}\n"),
    ("an action that does nothing", "post: {post_actions: [{name: report}]}\n"),
    (
        "an undefined variable of a body",
        "post: {payloads: [{name: status, build: {}}], post_actions: [{name: report, api_call: {method: PUT, url: /x, body: \"{{ .statsu }}\"}}]}\n",
    ),
    ("the whole environment", "post: {post_actions: [{name: report, log: {message: \"{{ .env }}\"}}]}\n"),
];
