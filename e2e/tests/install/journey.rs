//! One journey from the installation to the end, because each step needs the one before it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use http::Request;
use lifecycle_e2e::{PATIENCE, await_condition, program};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::audit;
use crate::fleet::{FOUNDATION, Fleet, NAMESPACE, PROVISIONER, RECORDS};
use crate::helm::{Helm, output, root, tool};

const FOUNDATION_TASK: &str = include_str!("../../stack/src/tasks/foundation.yaml");
const PROVISIONER_TASK: &str = include_str!("../../stack/src/tasks/provisioner.yaml");

/// The release with one adapter, the sweeper, the exporter and the console.
const UMBRELLA: &str = "fleet";

/// The token by which the console reads the pages of the other programs.
const PAGES_TOKEN: &str = "the token of pages";
/// The token of the console's readers.
const READERS_TOKEN: &str = "the token of readers";

/// Starting Pods on a busy machine takes longer than a server's answer.
const LONG: Duration = Duration::from_secs(180);

/// The installed system.
struct Installed {
    fleet: Fleet,
    helm: Helm,
    started: Instant,
}

impl Installed {
    /// Says how far the journey is, since it takes minutes.
    #[expect(clippy::print_stdout, reason = "progress of a long test")]
    fn step(&self, what: impl Display) {
        println!("{:>6.1} s  {what}", self.started.elapsed().as_secs_f32());
    }

    async fn helm(&self, arguments: &[&str]) -> Result<String> {
        self.helm.run(NAMESPACE, arguments).await
    }

    /// The Pods of a program.
    async fn pods(&self, instance: &str, program: &str) -> Result<Vec<Value>> {
        let selector = format!("app.kubernetes.io/instance={instance},app.kubernetes.io/name={program}");
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selector}");
        Ok(self.fleet.get(&path).await?["items"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until a Deployment has all of its Pods.
    async fn await_available(&self, name: &str) -> Result<()> {
        let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}");
        await_condition(&format!("deployment {name} to be available"), LONG, async || {
            let deployment = self.fleet.get(&path).await?;
            let (spec, status) = (&deployment["spec"], &deployment["status"]);
            ensure!(
                status["availableReplicas"] == spec["replicas"] && status["unavailableReplicas"].is_null(),
                "{status}"
            );
            Ok(())
        })
        .await
    }

    /// What an upgrade must not replace: the Deployment's identity and selector, and its service account.
    async fn identity(&self, name: &str) -> Result<Value> {
        let deployment = self.fleet.get(&format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}")).await?;
        Ok(json!({
            "uid": deployment["metadata"]["uid"],
            "selector": deployment["spec"]["selector"],
            "account": deployment["spec"]["template"]["spec"]["serviceAccountName"],
        }))
    }

    /// The rules that a program prints for its chart.
    async fn rights(&self, name: &str, arguments: &[&str]) -> Result<(Vec<Value>, Value)> {
        let mut command = Command::new(program(name)?);
        command.args(["rbac", "--output", "values"]).args(arguments).env("RECORDS_NAMESPACE", RECORDS);
        let values: Value = serde_saphyr::from_str(&output(&mut command).await?)?;
        Ok((values["rbac"]["rules"].as_array().cloned().unwrap_or_default(), values["rbac"].clone()))
    }

    /// Waits until the console's pages miss no source and show the cluster, each adapter, and each replica of the sweeper.
    async fn await_console(&self, cluster: &str) -> Result<()> {
        let service = self.fleet.get(&format!("/api/v1/namespaces/{NAMESPACE}/services/fleet-console")).await?;
        let address = service["spec"]["clusterIP"].as_str().context("the console's Service has no address")?;
        let read = async |path: &str, token| self.fleet.page(&format!("http://{address}:8000{path}"), token).await;
        let (status, _) = read("/", None).await?;
        ensure!(status == 401, "{status} without a token");
        let mut pages = vec![
            ("/".to_owned(), "Cluster".to_owned()),
            (format!("/resources/{cluster}"), "is reconciled at generation".to_owned()),
            (format!("/adapters/{FOUNDATION}"), FOUNDATION.to_owned()),
            (format!("/adapters/{PROVISIONER}"), "addon".to_owned()),
        ];
        let sweepers = self.pods(UMBRELLA, "sweeper").await?;
        ensure!(sweepers.len() == 2, "{sweepers:?}");
        for pod in &sweepers {
            let name = pod["metadata"]["name"].as_str().context("a Pod has no name")?;
            pages.push(("/sweeper".to_owned(), name.to_owned()));
        }
        await_condition("the console to show the fleet", LONG, async || {
            for (path, shown) in &pages {
                let (status, page) = read(path, Some(READERS_TOKEN)).await?;
                ensure!(status == 200, "{path}: {status}");
                ensure!(!page.contains("class=\"away\""), "{path} misses a source: {page}");
                ensure!(page.contains(shown), "{path} does not show `{shown}`: {page}");
            }
            Ok(())
        })
        .await
    }

    /// Whether a namespace of a cluster still exists.
    async fn has_place(&self, cluster: &str) -> Result<bool> {
        let name = format!("cluster-{cluster}");
        let namespaces = self.fleet.get("/api/v1/namespaces").await?;
        let mut items = namespaces["items"].as_array().into_iter().flatten();
        Ok(items.any(|namespace| namespace["metadata"]["name"] == *name))
    }
}

fn deployment(name: &str, topic: &str) -> Value {
    json!({
        "adapter": { "name": name },
        "log": { "level": "debug" },
        "clients": { "broker": { "subscription_id": name, "topic": topic } },
    })
}

#[tokio::test]
#[ignore = "needs a node: `e2e/tests/install/run`"]
async fn charts_install_upgrade_and_leave_nothing() -> Result<()> {
    let started = Instant::now();
    let fleet = Fleet::start().await?;
    let helm = Helm::new(&fleet.directory).await?;
    let installed = Installed { fleet, helm, started };
    let Installed { fleet, helm, .. } = &installed;
    installed.step("the node, the API, the broker and the database run");

    let adapter_image = helm.load("hyperfleet-adapter").await?;
    let sweeper_image = helm.load("sweeper").await?;
    let exporter_image = helm.load("reconcile-metrics").await?;
    let console_image = helm.load("hyperfleet-console").await?;
    installed.step("the images are packed and on the node");

    // What an administrator makes before the installation: Secrets, and a role of the database that only reads.
    let secret = |name: &str, data: Value| json!({ "metadata": { "name": name }, "stringData": data });
    let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    fleet.post(&secrets, &secret("broker", json!({ "url": fleet.broker_url()? }))).await?;
    let key = json!({ "signing.key": "a key of at least thirty-two bytes" });
    fleet.post(&secrets, &secret("signing", key)).await?;
    fleet.post(&secrets, &secret("exporter", json!({ "password": "reader" }))).await?;
    fleet.post(&secrets, &secret("owner", json!({ "password": "owner" }))).await?;
    fleet.post(&secrets, &secret("pages", json!({ "token": PAGES_TOKEN }))).await?;
    fleet.post(&secrets, &secret("readers", json!({ "token": READERS_TOKEN }))).await?;
    fleet
        .database
        .execute(&format!(
            "CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT CONNECT ON DATABASE \"{}\" TO reader; \
         GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON resources, resource_conditions, adapter_statuses TO reader",
            fleet.database.name()
        ))
        .await?;

    let topic = fleet.parts.topic("clusters");
    let adapter_values = |name: &str, task: &str, rights: &Value| {
        json!({
            "image": adapter_image,
            "fullnameOverride": name,
            "adapterConfig": {
                "yaml": deployment(name, &topic),
                "hyperfleetApi": { "baseUrl": format!("http://hyperfleet-api:{}", fleet.parts.api_port) },
            },
            "adapterTaskConfig": { "yaml": task },
            "broker": { "type": "rabbitmq", "rabbitmq": { "exchange": topic, "urlSecret": { "name": "broker" } } },
            "signingKey": { "enabled": true, "secretName": "signing" },
            "passes": { "existingSecret": "pages" },
            "env": [{ "name": "RECORDS_NAMESPACE", "value": RECORDS }],
            "rbac": rights,
        })
    };
    let task_file = |name: &str, task: &str| helm.values(name, task);
    let config_file = |name: &str| helm.values(&format!("{name}.config.yaml"), &deployment(name, &topic).to_string());
    let mut granted = Vec::new();
    let mut values = Vec::new();
    for (name, task) in [(FOUNDATION, FOUNDATION_TASK), (PROVISIONER, PROVISIONER_TASK)] {
        let (config, task_path) = (config_file(name)?, task_file(&format!("{name}.yaml"), task)?);
        let files = ["--config", &config.display().to_string(), "--task-config", &task_path.display().to_string()];
        let (rules, rights) = installed.rights("hyperfleet-adapter", &files).await?;
        granted.push((name, audit::granted(&rules)));
        values.push(adapter_values(name, task, &rights));
    }
    let sweeper_config = json!({
        "adapters": [FOUNDATION, PROVISIONER],
        "api": { "base_url": format!("http://hyperfleet-api:{}", fleet.parts.api_port) },
        "kinds": { "include": ["core/Namespace", "core/ConfigMap", "batch/Job"], "cluster_scoped": ["core/Namespace"] },
        "interval": "1s", "grace": "2s", "min_age": "1s", "limits": { "percent": 100 },
        "lease": { "duration": "6s", "renew_deadline": "3s", "retry": "500ms" },
    });
    let mut seen_by_an_administrator = sweeper_config.clone();
    seen_by_an_administrator["signing_key_files"] =
        json!([helm.values("signing.key", "a key of at least thirty-two bytes")?]);
    seen_by_an_administrator["kubernetes"] = json!({ "kubeconfig": fleet.directory.join("kubeconfig") });
    seen_by_an_administrator["lease"]["namespace"] = json!(NAMESPACE);
    let path = helm.values("sweeper.yaml", &seen_by_an_administrator.to_string())?;
    let (_, sweeper_rights) = installed.rights("sweeper", &["--config", &path.display().to_string()]).await?;
    let accounts = [FOUNDATION, PROVISIONER].map(|name| format!("{NAMESPACE}/{name}"));
    let adapters = [FOUNDATION, PROVISIONER]
        .map(|name| json!({ "name": name, "url": format!("http://{name}-headless:8080"), "existingSecret": "pages" }));
    let umbrella = json!({
        "adapter": values[0],
        "sweeper": {
            "image": sweeper_image,
            "dryRun": false,
            "config": sweeper_config,
            "signingKeys": [{ "secretName": "signing" }],
            "plan": { "existingSecret": "pages" },
            "rbac": sweeper_rights,
            "ownershipPolicy": {
                "enabled": true,
                "serviceAccounts": accounts,
            },
        },
        "exporter": {
            "image": exporter_image,
            "config": {
                "database": {
                    "host": "postgres", "port": fleet.parts.database_url.port(), "name": fleet.database.name(),
                    "username": "reader", "ssl_mode": "disable",
                },
                "kinds": [{ "kind": "Cluster", "required_adapters": [FOUNDATION, PROVISIONER] }],
            },
            "database": { "existingSecret": "exporter" },
            "prepare": { "enabled": true, "username": "postgres", "existingSecret": "owner" },
            "stuck": { "existingSecret": "pages" },
        },
        "console": {
            "enabled": true,
            "image": console_image,
            "config": {
                "api": { "base_url": format!("http://hyperfleet-api:{}", fleet.parts.api_port), "kinds": ["Cluster"] },
            },
            "access": { "existingSecret": "readers" },
            // The chart knows their URLs.
            "exporter": { "existingSecret": "pages" },
            "sweeper": { "existingSecret": "pages" },
            "adapters": adapters,
        },
    });
    let umbrella = helm.values("umbrella.json", &umbrella.to_string())?.display().to_string();
    let provisioner = helm.values("provisioner.json", &values[1].to_string())?.display().to_string();

    let wait = ["--wait", "--timeout", "180s"];
    let install = ["install", UMBRELLA, "{charts}/hyperfleet-lifecycle", "--values", &umbrella];
    installed.helm(&[&install[..], &wait].concat()).await?;
    // The provisioner begins as a release of the Go adapter's chart, whose values then go to this chart as they are.
    let former = json!({
        "image": adapter_image,
        "fullnameOverride": PROVISIONER,
        "adapterConfig": values[1]["adapterConfig"],
        "adapterTaskConfig": values[1]["adapterTaskConfig"],
        "broker": {
            "type": "rabbitmq",
            "rabbitmq": { "url": fleet.broker_url()?, "exchange": topic, "exchangeType": "topic" },
        },
        "rbac": { "resources": ["jobs"] },
    });
    let former = helm.values("former.json", &former.to_string())?.display().to_string();
    let former_chart = root().join("e2e/tests/install/former-chart").display().to_string();
    let install = ["install", PROVISIONER, &former_chart, "--values", &former];
    installed.helm(&[&install[..], &wait].concat()).await?;
    let identity = installed.identity(PROVISIONER).await?;
    for values in [&former, &provisioner] {
        let upgrade = ["upgrade", PROVISIONER, "{charts}/hyperfleet-adapter", "--values", values];
        installed.helm(&[&upgrade[..], &wait].concat()).await?;
        assert_eq!(installed.identity(PROVISIONER).await?, identity, "the release is another one");
    }
    installed.step("both releases are installed, one of them by an upgrade, and their Pods ready");
    for release in [UMBRELLA, PROVISIONER] {
        installed.helm(&["test", release]).await?;
    }
    installed.step("helm test passed");

    let cluster = fleet.create_with("one", &json!({ "region": "eu", "addon": true })).await?;
    // The sweeper deletes nothing while the API has no resource at all.
    let stays = fleet.create("stays").await?;
    fleet.await_reconciled(&cluster).await?;
    let pods = fleet.get(&format!("/api/v1/namespaces/cluster-{cluster}/pods")).await?;
    let mut pods = pods["items"].as_array().into_iter().flatten();
    ensure!(pods.any(|pod| pod["status"]["phase"] == "Succeeded"), "no Pod of the Job has completed");
    let route = format!("/api/v1/namespaces/cluster-{cluster}/configmaps/addon-route");
    ensure!(fleet.get(&route).await?["data"]["traffic"] == "on", "the last wave of the bundle is missing");
    installed.step("a cluster is reconciled by a Job whose Pod ran, with a bundle of three waves");
    installed.await_console(&cluster).await?;
    installed.step("the console shows it to readers with the token, and misses no source");

    // Update, another Job, deletion and disowning.
    let body = json!({ "spec": { "region": "us", "addon": true } });
    let (status, answer) = fleet.api("PATCH", &format!("clusters/{cluster}"), &body).await?;
    ensure!(status == 200, "{status}: {answer}");
    fleet.await_reconciled(&cluster).await?;
    let (status, answer) = fleet.api("DELETE", &format!("clusters/{cluster}"), &Value::Null).await?;
    ensure!(status < 300, "{status}: {answer}");
    fleet.await_removed(&cluster).await?;
    let record = fleet.get(&format!("/api/v1/namespaces/{RECORDS}/configmaps/{cluster}")).await?;
    ensure!(record["metadata"]["labels"]["hyperfleet.io/disowned"] == *cluster, "{record}");
    installed.step("it was changed, deleted, and its record disowned");

    let orphan = fleet.create("orphan").await?;
    fleet.await_reconciled(&orphan).await?;
    force_delete(fleet, &orphan).await?;
    await_condition("the orphan to be swept", LONG, async || {
        ensure!(!installed.has_place(&orphan).await?, "its namespace exists");
        Ok(())
    })
    .await?;
    installed.step("what a force-delete left behind is swept");

    // Two replicas, and another log level: new Pods replace the old ones while events are under way.
    let upgrade = ["upgrade", PROVISIONER, "{charts}/hyperfleet-adapter", "--reuse-values"];
    let more = ["--set", "replicaCount=2,adapterConfig.log.level=info"];
    let (upgraded, clusters) =
        tokio::try_join!(async { installed.helm(&[&upgrade[..], &more, &wait].concat()).await }, async {
            let mut clusters = Vec::new();
            for number in 0..4 {
                let cluster = fleet.create(&format!("under-way-{number}")).await?;
                fleet.await_reconciled(&cluster).await?;
                clusters.push(cluster);
            }
            anyhow::Ok(clusters)
        },)?;
    ensure!(upgraded.contains("REVISION: 4"), "{upgraded}");
    for adapter in [FOUNDATION, PROVISIONER] {
        await_condition("the queue to be empty", PATIENCE, async || {
            let waiting = fleet.waiting(adapter).await?;
            ensure!(waiting == 0, "{waiting} messages wait");
            Ok(())
        })
        .await?;
    }
    installed.step("an upgrade to two replicas, with events under way");

    // Too little memory: the new Pod is killed, and the old ones go on.
    let starve = ["--set", "resources.limits.memory=6Mi,resources.requests.memory=6Mi"];
    installed.helm(&[&upgrade[..], &starve].concat()).await?;
    await_condition("a Pod to be killed for its memory limit", LONG, async || {
        let pods = installed.pods(PROVISIONER, "hyperfleet-adapter").await?;
        let states = pods.iter().filter_map(|pod| pod["status"]["containerStatuses"].as_array()).flatten();
        let killed = states.filter(|state| {
            [&state["state"], &state["lastState"]].iter().any(|state| state["terminated"]["reason"] == "OOMKilled")
        });
        ensure!(killed.count() > 0, "{pods:?}");
        Ok(())
    })
    .await?;
    let cluster = fleet.create("despite").await?;
    fleet.await_reconciled(&cluster).await?;
    installed.helm(&[&["rollback", PROVISIONER, "4"][..], &wait].concat()).await?;
    installed.step("a Pod was killed for its memory, the others went on, and a rollback healed it");

    output(tool("node/cluster").arg("restart").arg(&fleet.directory)).await?;
    for name in [FOUNDATION, PROVISIONER, "fleet-sweeper", "fleet-exporter", "fleet-console"] {
        installed.await_available(name).await?;
    }
    let cluster = fleet.create("after-restart").await?;
    fleet.await_reconciled(&cluster).await?;
    installed.step("the node restarted, and a cluster was reconciled");

    // The leader's Pod goes without a word: another replica takes over.
    let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/fleet-sweeper");
    let holder = fleet.get(&lease).await?["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    let pods = installed.pods(UMBRELLA, "sweeper").await?;
    let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
    let leader = names.clone().find(|name| holder.contains(name)).with_context(|| format!("{holder}: {pods:?}"))?;
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{leader}");
    let now = Request::delete(path).body(serde_json::to_vec(&json!({ "gracePeriodSeconds": 0 }))?)?;
    let _: Value = fleet.client.request(now).await?;
    let orphan = &clusters[0];
    force_delete(fleet, orphan).await?;
    await_condition("the orphan to be swept by another leader", LONG, async || {
        ensure!(!installed.has_place(orphan).await?, "its namespace exists");
        Ok(())
    })
    .await?;
    ensure!(installed.has_place(&stays).await?, "the namespace of a living cluster is gone");
    let heir = fleet.get(&lease).await?["spec"]["holderIdentity"].clone();
    ensure!(heir != *holder, "{heir}");
    installed.step("another replica of the sweeper leads and sweeps");

    // Roles: nothing was refused, and every verb was used.
    let log = fleet.directory.join("audit.jsonl");
    for (name, granted) in &granted {
        let requests = audit::requests(&log, NAMESPACE, name)?;
        assert_eq!(requests.refused, BTreeSet::new(), "{name} was refused");
        let unused: Vec<_> = granted.difference(&requests.allowed).map(String::as_str).collect();
        // An update of the Job `check`, for a change that comes while it runs and is 20 s old.
        let rare: &[&str] = if *name == PROVISIONER { &["patch batch/jobs"] } else { &[] };
        assert_eq!(unused, rare, "{name}: rights that nothing needed");
    }
    let sweeper = audit::requests(&log, NAMESPACE, "fleet-sweeper")?;
    assert_eq!(sweeper.refused, BTreeSet::new(), "the sweeper was refused");
    for account in ["fleet-exporter", "fleet-console"] {
        let asked = audit::requests(&log, NAMESPACE, account)?;
        assert!(asked.allowed.is_empty() && asked.refused.is_empty(), "{account} asked Kubernetes: {asked:?}");
    }
    installed.step("no request was refused, and no right was for nothing");

    for release in [PROVISIONER, UMBRELLA] {
        installed.helm(&["uninstall", release, "--wait", "--timeout", "120s"]).await?;
    }
    await_condition("nothing to be left", PATIENCE, async || nothing_is_left(fleet).await).await?;
    installed.step("both releases are uninstalled, and nothing of them is left");
    Ok(())
}

async fn force_delete(fleet: &Fleet, cluster: &str) -> Result<()> {
    let (status, answer) = fleet.api("DELETE", &format!("clusters/{cluster}"), &Value::Null).await?;
    ensure!(status < 300, "{status}: {answer}");
    let body = json!({ "reason": "a test" });
    let (status, answer) = fleet.api("POST", &format!("clusters/{cluster}/force-delete"), &body).await?;
    ensure!(status < 300, "{status}: {answer}");
    Ok(())
}

/// Fails if an object of a release exists, of the kinds that the charts make. The sweeper's Lease stays: the sweeper made it.
async fn nothing_is_left(fleet: &Fleet) -> Result<()> {
    let mut left = Vec::new();
    for (group, kinds) in [
        ("api/v1", &["configmaps", "secrets", "services", "serviceaccounts", "pods"][..]),
        ("apis/apps/v1", &["deployments", "replicasets"]),
        ("apis/batch/v1", &["jobs"]),
        ("apis/policy/v1", &["poddisruptionbudgets"]),
        ("apis/rbac.authorization.k8s.io/v1", &["roles", "rolebindings", "clusterroles", "clusterrolebindings"]),
        ("apis/admissionregistration.k8s.io/v1", &["validatingadmissionpolicies", "validatingadmissionpolicybindings"]),
    ] {
        for kind in kinds {
            let list = fleet.get(&format!("/{group}/{kind}")).await?;
            for object in list["items"].as_array().into_iter().flatten() {
                let instance = &object["metadata"]["labels"]["app.kubernetes.io/instance"];
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                if instance == UMBRELLA || instance == PROVISIONER || name.starts_with("hyperfleet-") {
                    left.push(format!("{kind}/{name}"));
                }
            }
        }
    }
    // The Service of the API beside the cluster is the test's own.
    left.retain(|name| name != "services/hyperfleet-api");
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}
