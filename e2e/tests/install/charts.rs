//! What the charts render, refuse and document.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::process::Command;

use crate::helm::{output, root, tool};

/// The last one has the others in it.
const CHARTS: [&str; 5] = [
    "hyperfleet-adapter",
    "hyperfleet-sweeper",
    "hyperfleet-reconcile-metrics",
    "hyperfleet-console",
    "hyperfleet-lifecycle",
];

const IMAGE: &str = "image.registry=r,image.repository=p,image.tag=1";
const RABBITMQ: &str = "broker.type=rabbitmq,broker.rabbitmq.exchange=e,broker.rabbitmq.urlSecret.name=s";
const FILES: &str = "adapterConfig.yaml=a: 1,adapterTaskConfig.yaml=b: 2";
const ADAPTERS: &str = "config.adapters={a}";
const SCHEME: &str = "api.auth.scheme=ServiceAccount";
const READERS: &str = "access.existingSecret=s";
const PROXY: &str = "access.sidecarPort=4180,sidecarContainers[0].name=proxy";
const SIDECAR: &str = "access.sidecarPort=4180,sidecarContainers[0].name=proxy,config.access.user_header=X-User";

async fn programs() -> Result<std::path::PathBuf> {
    Ok(Path::new(output(tool("build").args(["--where", "helm"])).await?.trim()).to_owned())
}

/// Renders a chart with values of `--set`.
async fn render(chart: &str, values: &[&str]) -> Result<String> {
    let mut helm = Command::new(programs().await?.join("helm"));
    helm.args(["template", "release", "--namespace", "fleet"]).arg(root().join("deploy/charts").join(chart));
    for kind in ["ServiceMonitor", "PodMonitor", "PrometheusRule"] {
        helm.args(["--api-versions", &format!("monitoring.coreos.com/v1/{kind}")]);
    }
    for values in values {
        helm.args(["--set", values]);
    }
    output(&mut helm).await
}

#[tokio::test]
#[ignore = "needs Helm: `e2e/tests/install/run`"]
async fn chart_renders_or_says_what_is_missing() -> Result<()> {
    let (adapter, sweeper, console) = ("hyperfleet-adapter", "hyperfleet-sweeper", "hyperfleet-console");
    let minimal = [IMAGE, RABBITMQ, FILES];
    // The values, and a text of the manifests, or of the error behind `!`.
    let cases: &[(&str, &[&str], &str)] = &[
        (adapter, &[RABBITMQ, FILES], "!image.registry is required"),
        (adapter, &[IMAGE, FILES], "!broker.type is required"),
        (
            adapter,
            &[IMAGE, FILES, "broker.type=rabbitmq,broker.rabbitmq.exchange=e"],
            "!broker.rabbitmq.urlSecret.name",
        ),
        (adapter, &[IMAGE, FILES, "broker.type=rabbitmq,broker.rabbitmq.url=amqp://b"], "!broker.rabbitmq.exchange is"),
        (adapter, &[IMAGE, FILES, "broker.type=googlepubsub"], "!broker.googlepubsub.projectId is required"),
        (adapter, &[IMAGE, RABBITMQ], "!adapterConfig.yaml is required"),
        (
            adapter,
            &[&minimal[..], &["podDisruptionBudget.minAvailable=1"]].concat(),
            "!podDisruptionBudget.minAvailable",
        ),
        (adapter, &[&minimal[..], &["brokr.type=x"]].concat(), "!additional properties 'brokr' not allowed"),
        (adapter, &[&minimal[..], &["adapterConfig.files.x=nowhere"]].concat(), "!adapterConfig.yaml excludes"),
        (adapter, &minimal, "name: release-hyperfleet-adapter-broker"),
        (adapter, &[&minimal[..], &["autoscaling.enabled=true"]].concat(), "kind: HorizontalPodAutoscaler"),
        (adapter, &[&minimal[..], &["rbac.resources={jobs}"]].concat(), "apiGroups: [\"batch\"]"),
        (
            adapter,
            &[&minimal[..], &["adapterConfig.hyperfleetApi.auth.enabled=true"]].concat(),
            "audience: hyperfleet-api",
        ),
        (
            adapter,
            &[
                &minimal[..],
                &[
                    "adapterConfig.hyperfleetApi.auth.enabled=true",
                    "adapterConfig.hyperfleetApi.auth.scheme=ServiceAccount",
                ],
            ]
            .concat(),
            "value: \"ServiceAccount\"",
        ),
        (adapter, &[&minimal[..], &["networkPolicy.enabled=true"]].concat(), "kind: NetworkPolicy"),
        (adapter, &[&minimal[..], &["monitoring.serviceMonitor.enabled=true"]].concat(), "kind: ServiceMonitor"),
        (adapter, &[&minimal[..], &["monitoring.podMonitor.enabled=true"]].concat(), "podMetricsEndpoints"),
        (adapter, &[&minimal[..], &["monitoring.tracing.enabled=true"]].concat(), "OTEL_PROPAGATORS"),
        (adapter, &[&minimal[..], &["signingKey.enabled=true"]].concat(), "!signingKey.secretName is required"),
        (adapter, &[&minimal[..], &["passes.existingSecret=s"]].concat(), "value: /etc/hyperfleet/passes/token"),
        (adapter, &[&minimal[..], &["passes.existingSecret=s,passes.key=k"]].concat(), "- key: k"),
        (adapter, &minimal, "name: release-hyperfleet-adapter-headless"),
        (sweeper, &[IMAGE], "!config.adapters is required"),
        (sweeper, &[IMAGE, ADAPTERS, "plan.existingSecret=s"], "token_file: /etc/hyperfleet/plan/token"),
        (sweeper, &[IMAGE, ADAPTERS], "dry_run: true"),
        (
            sweeper,
            &[IMAGE, ADAPTERS, "ownershipPolicy.enabled=true,ownershipPolicy.serviceAccounts={f/a}"],
            "'system:serviceaccount:f:a', 'system:serviceaccount:fleet:release-hyperfleet-sweeper'",
        ),
        (sweeper, &[IMAGE, ADAPTERS, "monitoring.prometheusRule.enabled=true"], "alert: "),
        (sweeper, &[IMAGE, ADAPTERS, "monitoring.dashboard.enabled=true"], "grafana_dashboard"),
        (sweeper, &[IMAGE, ADAPTERS, "api.auth.enabled=true"], "audience: hyperfleet-api"),
        (sweeper, &[IMAGE, ADAPTERS, "api.auth.enabled=true"], "token_file: /etc/hyperfleet/api/token"),
        (sweeper, &[IMAGE, ADAPTERS, "api.auth.enabled=true"], "auth_scheme: Bearer"),
        (sweeper, &[IMAGE, ADAPTERS, "api.existingSecret=s", SCHEME], "auth_scheme: ServiceAccount"),
        (
            sweeper,
            &[IMAGE, ADAPTERS, "api.existingSecret=s,config.api.auth_scheme=ServiceAccount"],
            "auth_scheme: ServiceAccount",
        ),
        (sweeper, &[IMAGE, ADAPTERS, "api.existingSecret=s,api.auth.enabled=true"], "!set one of api.existingSecret"),
        (sweeper, &[IMAGE, ADAPTERS, "api.auth.scheme=Basic"], "!/api/auth/scheme"),
        ("hyperfleet-reconcile-metrics", &[IMAGE], "!database.existingSecret is required"),
        ("hyperfleet-reconcile-metrics", &[IMAGE, "database.existingSecret=s"], "password_file:"),
        (
            "hyperfleet-reconcile-metrics",
            &[IMAGE, "database.existingSecret=s", "prepare.enabled=true,prepare.username=o,prepare.existingSecret=o"],
            "release-hyperfleet-reconcile-metrics-prepare",
        ),
        (console, &[IMAGE], "!access.existingSecret is required"),
        (console, &[IMAGE, "config.access.user_header=X-User"], "!config.access.user_header counts on connections"),
        (console, &[IMAGE, "access.sidecarPort=4180"], "!access.sidecarPort needs the proxy in sidecarContainers"),
        (console, &[IMAGE, PROXY], "!access.sidecarPort needs config.access.user_header"),
        (console, &[IMAGE, READERS, "config.listen=:80"], "!config.listen is set by the chart"),
        (console, &[IMAGE, READERS, "config.access.token_file=f"], "!config.access.token_file is set by the chart"),
        (console, &[IMAGE, READERS, "api.existingSecret=s,api.auth.enabled=true"], "!set one of api.existingSecret"),
        (console, &[IMAGE, READERS, "adapters[0].name=a"], "!missing property 'url'"),
        (console, &[IMAGE, READERS, "ingress.enabled=true"], "!ingress.host is required"),
        (console, &[IMAGE, READERS], "listen: :8000"),
        (console, &[IMAGE, READERS], "token_file: /etc/hyperfleet/tokens/access"),
        (console, &[IMAGE, "config.access.user_header=X-User", "config.access.proxies={10.0.0.0/8}"], "listen: :8000"),
        (console, &[IMAGE, SIDECAR], "listen: 127.0.0.1:8000"),
        (console, &[IMAGE, SIDECAR], "targetPort: 4180"),
        (console, &[IMAGE, READERS, "sweeper.url=http://{{ .Release.Name }}:8080"], "url: http://release:8080"),
        (
            console,
            &[IMAGE, READERS, "adapters[0].name=a,adapters[0].url=http://a:8080,adapters[0].existingSecret=p"],
            "path: adapter-0",
        ),
        (console, &[IMAGE, READERS, "api.auth.enabled=true"], "audience: hyperfleet-api"),
        (console, &[IMAGE, READERS, "api.auth.enabled=true", SCHEME], "auth_scheme: ServiceAccount"),
        (console, &[IMAGE, READERS, "api.existingSecret=s", SCHEME], "auth_scheme: ServiceAccount"),
        (
            console,
            &[IMAGE, READERS, "api.existingSecret=s,config.api.auth_scheme=ServiceAccount"],
            "auth_scheme: ServiceAccount",
        ),
        (console, &[IMAGE, READERS, "api.auth.scheme=Basic"], "!/api/auth/scheme"),
        (console, &[IMAGE, READERS, "networkPolicy.enabled=true"], "- port: pages"),
        (console, &[IMAGE, READERS, "ingress.enabled=true,ingress.host=console.example.com"], "kind: Ingress"),
        (console, &[IMAGE, READERS, "monitoring.serviceMonitor.enabled=true"], "kind: ServiceMonitor"),
    ];
    for (chart, values, expected) in cases {
        let rendered = render(chart, values).await;
        match (expected.strip_prefix('!'), rendered) {
            (None, Ok(manifests)) => ensure!(manifests.contains(expected), "{chart} {values:?}: {manifests}"),
            (Some(error), Err(refused)) => {
                ensure!(refused.to_string().contains(error), "{chart} {values:?}: {refused}")
            }
            (_, other) => anyhow::bail!("{chart} {values:?}: expected {expected}, not {other:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs Helm: `e2e/tests/install/run`"]
async fn console_has_no_role_and_no_token_of_kubernetes() -> Result<()> {
    let manifests = render("hyperfleet-console", &[IMAGE, READERS]).await?;
    for right in ["kind: Role", "kind: ClusterRole", "serviceAccountToken:"] {
        ensure!(!manifests.contains(right), "{right}: {manifests}");
    }
    // That of the Deployment, and that of `helm test`.
    assert_eq!(manifests.matches("automountServiceAccountToken: false").count(), 2, "{manifests}");
    Ok(())
}

#[tokio::test]
#[ignore = "needs Helm: `e2e/tests/install/run`"]
async fn console_of_the_umbrella_knows_the_release() -> Result<()> {
    let others = ["adapter.enabled=false", "sweeper.enabled=false", "exporter.enabled=false"];
    let console = ["console.image.registry=r,console.image.repository=p,console.image.tag=1"];
    let left_out = render("hyperfleet-lifecycle", &others).await?;
    ensure!(!left_out.contains("kind:"), "without `console.enabled`: {left_out}");
    let enabled = ["console.enabled=true", "console.access.existingSecret=s"];
    let manifests = render("hyperfleet-lifecycle", &[&others[..], &console, &enabled].concat()).await?;
    for url in ["http://release-exporter:8080", "http://release-sweeper-headless:8080"] {
        ensure!(manifests.contains(url), "{url}: {manifests}");
    }
    Ok(())
}

/// The keys of values, or of a schema's properties, as far as both are fixed.
fn keys(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{prefix}.{key}");
        keys(value, &path, found);
        found.insert(path);
    }
}

fn properties(schema: &Value, prefix: &str, found: &mut BTreeSet<String>, free: &mut Vec<String>) {
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}.{key}");
        properties(value, &path, found, free);
        if value["type"] == "object" && value["properties"].is_null() {
            free.push(format!("{path}."));
        }
        found.insert(path);
    }
}

#[tokio::test]
#[ignore = "needs Helm: `e2e/tests/install/run`"]
async fn schema_and_readme_have_every_value() -> Result<()> {
    let charts = root().join("deploy/charts");
    for chart in &CHARTS[..4] {
        let read = |file: &str| std::fs::read_to_string(charts.join(chart).join(file)).context(file.to_owned());
        let values: Value = serde_saphyr::from_str(&read("values.yaml")?)?;
        let schema: Value = serde_json::from_str(&read("values.schema.json")?)?;
        let (mut written, mut allowed, mut free) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        keys(&values, "", &mut written);
        properties(&schema, "", &mut allowed, &mut free);
        written.retain(|key| !free.iter().any(|free| key.starts_with(free)));
        // Those that the chart hyperfleet-lifecycle passes on.
        allowed.retain(|key| key != ".global" && key != ".enabled");
        assert_eq!(written, allowed, "{chart}: left values.yaml, right values.schema.json");
    }
    let mut docs = Command::new(programs().await?.join("helm-docs"));
    let printed =
        output(docs.arg("--chart-search-root").arg(&charts).args(["--dry-run", "--log-level", "error"])).await?;
    for chart in CHARTS {
        let readme = std::fs::read_to_string(charts.join(chart).join("README.md"))?;
        ensure!(printed.contains(readme.trim()), "{chart}/README.md is old: run helm-docs, see CONTRIBUTING.md");
    }
    Ok(())
}
