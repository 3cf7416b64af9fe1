//! Secrets where everybody may read them, and constants in the place of a credential.

use super::lints;

/// A task with these params, an object, and what follows the resources.
fn task(params: &str, object: &str, rest: &str) -> String {
    let cluster = "  - {name: cluster, source: {api_call: {method: GET, url: /c}}}\n";
    format!(
        "params:\n{cluster}  - {{name: token, source: env.API_TOKEN}}\n{params}resources:\n  - name: x\n    discovery: {{by_name: x, \
         namespace: n}}\n{object}\n{rest}"
    )
}

fn object(kind: &str, fields: &str) -> String {
    let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
    format!("    manifest: {{apiVersion: {version}, kind: {kind}, {fields}}}")
}

const NAMED: &str = "metadata: {name: x, namespace: n}";

/// What the lint says of a task; empty if nothing.
fn said(text: &str) -> String {
    let diagnostics = lints(text);
    let about = |text: &String| text.contains("secret") || text.contains("data of a Secret");
    diagnostics.all().iter().map(|diagnostic| diagnostic.message.clone()).filter(about).collect::<Vec<_>>().join("\n")
}

#[test]
fn check_warns_of_secrets_that_everybody_may_read() {
    let container = |field: &str| {
        object("Deployment", &format!("{NAMED}, spec: {{template: {{spec: {{containers: [{{name: c, {field}}}]}}}}}}"))
    };
    let sensitive = "  - {name: pull, source: cluster.spec.pullSecret, sensitive: true}\n";
    let public = "  - {name: token, source: env.API_TOKEN, sensitive: false}\n";
    let derived = "  - {name: url, source: {expression: \"'https://' + token\"}}\n";
    let payload = |value: &str| {
        format!(
            "post:\n  payloads: [{{name: p, build: {{a: {value}}}}}]\n  post_actions: [{{name: r, api_call: {{method: PUT, url: /s, \
             body: '{{{{ .p }}}}'}}}}]\n"
        )
    };
    let log = "post:\n  post_actions: [{name: l, log: {message: 'is {{ .token }}'}}]\n";
    let map = |value: &str| object("ConfigMap", &format!("{NAMED}, data: {{a: '{value}'}}"));
    let quiet = map("b");
    let cases = [
        ("a ConfigMap", task("", &map("{{ .token }}"), ""), "shows it in a ConfigMap: `data.a`"),
        ("the environment itself", task("", &map("{{ .env.API_TOKEN }}"), ""), "`env.API_TOKEN` is a secret"),
        ("a sensitive param", task(sensitive, &map("{{ .pull }}"), ""), "`pull` is a secret"),
        (
            "its origin",
            task(sensitive, &map("{{ .cluster.spec.pullSecret }}"), ""),
            "`cluster.spec.pullSecret` is a secret",
        ),
        ("what is derived", task(derived, &map("{{ .url }}"), ""), "`url` is a secret"),
        ("beside it", task(sensitive, &map("{{ .cluster.spec.region }}"), ""), ""),
        ("no secret", task(public, &map("{{ .token }}"), ""), ""),
        (
            "an argument",
            task("", &container("args: ['--t={{ .token }}']"), ""),
            "shows it in an argument of a container",
        ),
        ("a command", task("", &container("command: ['{{ .token }}']"), ""), "shows it in an argument of a container"),
        (
            "the environment of a container",
            task("", &container("env: [{name: A, value: '{{ .token }}'}]"), ""),
            "shows it in the environment of a container",
        ),
        (
            "a reference",
            task("", &container("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: token}}}]"), ""),
            "",
        ),
        (
            "an annotation",
            task("", &object("ConfigMap", "metadata: {name: x, namespace: n, annotations: {a: '{{ .token }}'}}"), ""),
            "shows it in an annotation",
        ),
        (
            "a label of a Secret",
            task("", &object("Secret", "metadata: {name: x, namespace: n, labels: {a: '{{ .token }}'}}"), ""),
            "shows it in a label",
        ),
        ("a Secret", task("", &object("Secret", &format!("{NAMED}, stringData: {{a: '{{{{ .token }}}}'}}")), ""), ""),
        ("a payload", task("", &quiet, &payload("'{{ .token }}'")), "the payload `p` sends it"),
        ("a path in a payload", task("", &quiet, &payload("{expression: token}")), "the payload `p` sends it"),
        (
            "what has it within",
            task(sensitive, &quiet, &payload("{expression: toJson(cluster.spec)}")),
            "`cluster.spec` has a secret within it, and the payload `p` sends it",
        ),
        (
            "what has it within, as a template",
            task(sensitive, &quiet, &payload("'{{ .cluster | toJson }}'")),
            "`cluster` has a secret within it",
        ),
        ("a field beside it", task(sensitive, &quiet, &payload("{expression: toJson(cluster.spec.region)}")), ""),
        (
            "whether there is anything",
            task(sensitive, &quiet, &payload("{expression: \"has(cluster.spec) ? 'a' : 'b'\"}")),
            "",
        ),
        (
            "a format",
            task("", &quiet, &payload("{expression: \"'t=%s'.format([token])\"}")),
            "`token` is a secret, and the payload `p` sends it",
        ),
        ("a sum", task("", &quiet, &payload("{expression: \"'t=' + token\"}")), "the payload `p` sends it"),
        ("a list", task("", &quiet, &payload("{expression: \"[token, 'a'].join(',')\"}")), "the payload `p` sends it"),
        (
            "the whole answer",
            task(sensitive, &quiet, &payload("{expression: \"{'cluster': cluster}\"}")),
            "`cluster` has a secret within it",
        ),
        ("its length", task("", &quiet, &payload("{expression: \"token.size()\"}")), ""),
        ("a choice by it", task("", &quiet, &payload("{expression: \"token == 'a' ? cluster.name : 'b'\"}")), ""),
        ("whether it is there", task("", &quiet, &payload("{expression: \"token != '' ? 'True' : 'False'\"}")), ""),
        (
            "a line of the log that has it within",
            task(
                sensitive,
                &quiet,
                "post:\n  post_actions: [{name: l, log: {message: 'is {{ .cluster | toJson }}'}}]\n",
            ),
            "`cluster` has a secret within it: the log shows",
        ),
        ("a line of the log", task("", &quiet, log), "the log shows `[redacted]`"),
    ];
    for (name, text, expected) in cases {
        let said = said(&text);
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{name}: {said:?}\n{text}");
    }
}

#[test]
fn check_warns_of_constants_that_replace_a_credential() {
    let secret = object("Secret", &format!("{NAMED}, stringData: {{a: '{{{{ .password }}}}'}}"));
    let gate = |when: &str| format!("{secret}\n    when: {{expression: \"{when}\"}}");
    let gated = gate("password != ''");
    let text = "    manifest: |\n      apiVersion: v1\n      kind: Secret\n      metadata: {name: x, namespace: n}\n      stringData:\n        {{- if \
                .password }}\n        a: {{ .password }}\n        {{- end }}";
    let param = |rest: &str| format!("  - {{name: password, source: {rest}}}\n");
    let chained = |rest: &str| format!("  - {{name: raw, source: {rest}}}\n") + &param("{expression: \"raw + 'a'\"}");
    let cases = [
        ("an empty default", param("cluster.a, default: ''"), &secret, "has the `default: \"\"`"),
        ("another default", param("cluster.a, default: x, sensitive: true"), &secret, "has the `default`"),
        ("a constant of an expression", param("{expression: \"cluster.?a.orValue('')\"}"), &secret, "`orValue`"),
        ("a default behind an expression", chained("cluster.a, default: ''"), &secret, "of `raw`"),
        ("a manifest that is text", param("cluster.a, default: ''"), &text.to_owned(), "has the `default: \"\"`"),
        ("no default", param("cluster.a, required: true"), &secret, ""),
        ("a gate that asks", param("cluster.a, default: ''"), &gated, ""),
        (
            "a gate that the constant passes",
            param("cluster.a, default: x, sensitive: true"),
            &gated,
            "has the `default`",
        ),
        ("a gate that knows the constant", param("cluster.a, default: x"), &gate("password != 'x'"), ""),
        (
            "a gate that the constant of an expression passes",
            param("{expression: \"cluster.?a.orValue('x')\"}"),
            &gated,
            "`orValue`",
        ),
        ("a gate that asks the answer", param("cluster.a, default: x"), &gate("cluster.?a.orValue('') != ''"), ""),
        (
            "a gate that asks the answer through a param",
            param("cluster.a, default: x") + "  - {name: is_set, source: {expression: \"has(cluster.a)\"}}\n",
            &gate("is_set"),
            "",
        ),
        ("a gate that asks for another field", param("cluster.a, default: x"), &gate("has(cluster.b)"), "`default`"),
    ];
    for (name, params, object, expected) in cases {
        let text = task(&params, object, "");
        let said = said(&text);
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{name}: {said:?}\n{text}");
    }
}

#[test]
fn cure_of_a_constant_credential_leaves_the_secret_alone() {
    let secret = object("Secret", &format!("{NAMED}, stringData: {{a: '{{{{ .password }}}}'}}"));
    let help = |source: &str| {
        let params = format!("  - {{name: password, source: {source}}}\n");
        let diagnostics = lints(&task(&params, &secret, ""));
        let found = diagnostics.all().iter().find(|found| found.message.contains("data of a Secret"));
        found.and_then(|found| found.help.clone()).unwrap_or_default()
    };
    for (source, cure) in [
        ("cluster.spec.a, default: x", "\"cluster.?spec.?a.orValue('') != ''\""),
        ("{expression: \"cluster.?spec.?a.orValue('x')\"}", "\"cluster.?spec.?a.orValue('') != ''\""),
        ("a, default: x", "\"event.?a.orValue('') != ''\""),
        ("{expression: \"cluster.?a.orValue('x') + cluster.b\"}", "let `when` ask whether there is a value"),
    ] {
        let help = help(source);
        assert!(help.contains("remove the constant") && help.contains(cure), "{source}: {help}");
    }
}

#[test]
fn check_warns_of_a_credential_of_the_api_that_nobody_calls_secret() {
    let map = |data: &str| object("ConfigMap", &format!("{NAMED}, data: {data}"));
    let param = |name: &str, rest: &str| format!("  - {{name: {name}, source: {rest}}}\n");
    let open = "has the name of a credential";
    let shown = "a ConfigMap shows the credential `password`";
    let cases = [
        ("a credential", param("password", "cluster.spec.a"), "{a: b}", open),
        ("an expression", param("pullSecret", "{expression: \"cluster.?spec.?a.orValue('')\"}"), "{a: b}", open),
        ("a decision", param("password", "cluster.spec.a, sensitive: true"), "{a: b}", ""),
        ("no secret", param("password", "cluster.spec.a, sensitive: false"), "{a: b}", ""),
        ("another name", param("region", "cluster.spec.a"), "{a: b}", ""),
        ("whether it is there", param("hasPassword", "{expression: \"has(cluster.spec.a)\"}"), "{a: b}", ""),
        ("a value of the event", param("key", "event.a"), "{a: b}", ""),
        ("a literal", String::new(), "{password: hunter2}", shown),
        ("an empty literal", String::new(), "{password: ''}", ""),
        ("where it is", String::new(), "{passwordFile: /a}", ""),
    ];
    for (name, params, data, expected) in cases {
        let text = task(&params, &map(data), "");
        let found = lints(&text).to_string();
        let is_told = found.contains(open) || found.contains(shown);
        assert!(found.contains(expected) && is_told != expected.is_empty(), "{name}: {found}");
    }
    let secret = object("Secret", &format!("{NAMED}, stringData: {{password: hunter2}}"));
    assert!(!lints(&task("", &secret, "")).to_string().contains(shown));
}

#[test]
fn check_warns_of_a_password_in_a_config_map() {
    let map = |data: &str| object("ConfigMap", &format!("{NAMED}, data: {{{data}}}"));
    let public = "  - {name: hint, source: cluster.hint, sensitive: false}\n";
    let hints = "  - {name: hints, source: cluster.hints, sensitive: false}\n";
    let constant = "  - {name: hint, source: {expression: \"'a'\"}, sensitive: false}\n";
    let cases = [
        ("a constant", "", map("password: hunter2"), "the credential `password`"),
        (
            "one beside a template",
            "",
            map("password: hunter2, tier: '{{ .cluster.tier }}'"),
            "the credential `password`",
        ),
        ("a value of the API", "", map("dbPassword: '{{ .cluster.spec.pw }}'"), "the credential `dbPassword`"),
        ("what is said to be no secret", public, map("password: '{{ .hint }}'"), ""),
        ("a field of it", hints, map("password: '{{ .hints.password }}'"), ""),
        ("a constant that is said to be none", constant, map("password: '{{ .hint }}'"), ""),
        ("a switch", "", map("ALLOW_EMPTY_PASSWORD: 'yes', reset-password: 'False'"), ""),
        ("a URL", "", map("forgot-password: '{{ .cluster.base }}/forgot', reset-password: 'https://a.b/c'"), ""),
        ("another key", "", map("policy: '{{ .cluster.tier }}'"), ""),
        ("an empty one", "", map("password: '', tier: '{{ .cluster.tier }}'"), ""),
        ("a Secret", "", object("Secret", &format!("{NAMED}, stringData: {{password: hunter2}}")), ""),
    ];
    for (name, params, object, expected) in cases {
        let found = lints(&task(params, &object, ""));
        let found: String =
            found.all().iter().map(ToString::to_string).filter(|it| it.contains("a ConfigMap shows")).collect();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
        assert!(found.is_empty() || found.contains("from a param with `sensitive: false`"), "{name}: {found}");
    }
}
