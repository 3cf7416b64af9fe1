//! A cluster in front of an observer, who tells each change.
//!
//! In: the addresses of the stack. Out: lines with the seconds since the story began. Fails: if a request fails, or a
//! condition is not met in time.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::ListParams;
use kube::{Client, ResourceExt as _};
use lifecycle_e2e::series::Series;
use tokio::time::sleep;

use super::observation::{ClusterState, Kind, ObjectState, Observation, adapters, changes};
use crate::api::{Api, Cluster};
use crate::kubernetes;
use crate::place::Running;
use crate::terminal::{say, step};
use crate::works;

/// How long a story waits for what it tells. The sweeper's passes and the exporter's threshold are within half a minute.
const PATIENCE: Duration = Duration::from_secs(180);
/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(300);

/// What stories act on and look at.
pub(super) struct Scene {
    pub(super) api: Api,
    pub(super) running: Running,
    kubernetes: Client,
    begin: Instant,
    seen: RefCell<Observation>,
}

impl Scene {
    pub(super) async fn open(running: &Running) -> Result<Self> {
        Ok(Self {
            api: Api::new(&running.api),
            running: running.clone(),
            kubernetes: kubernetes::client(&running.kubeconfig).await?,
            begin: Instant::now(),
            seen: RefCell::default(),
        })
    }

    /// Tells the title of a part of the story.
    pub(super) fn title(&self, text: &str) {
        step(text);
    }

    /// Tells what somebody does.
    pub(super) fn tell(&self, line: &str) {
        say(&format!("{:>7.1} s  {line}", self.begin.elapsed().as_secs_f32()));
    }

    /// What can be seen of a cluster now.
    pub(super) async fn observe(&self, cluster: &Cluster) -> Result<Observation> {
        let answer = self.api.look(cluster).await?;
        let mut seen = Observation::default();
        if let Some((document, statuses)) = &answer {
            seen.cluster = Some(ClusterState::read(document));
            seen.adapters = adapters(statuses);
            seen.adapters.values_mut().for_each(|report| *report = report.replace(&cluster.id, "<id>"));
        }
        let place = namespace(cluster);
        // Kubernetes keeps this one in every namespace.
        let others = ListParams::default().fields("metadata.name!=kube-root-ca.crt");
        let mut put = |kind: Kind, name: &str, state: ObjectState| {
            seen.objects.insert((kind, name.replace(&cluster.id, "<id>")), state);
        };
        if let Some(maestro) = &self.running.maestro
            && let Some(work) = works::find(maestro, &place).await?
        {
            let consumer = work["consumer_name"].as_str().unwrap_or("?");
            put(Kind::ManifestWork, &format!("{consumer}/{place}"), ObjectState::of_work(&work));
        }
        if let Some(namespace) = kube::Api::<Namespace>::all(self.kubernetes.clone()).get_opt(&place).await? {
            put(Kind::Namespace, &place, ObjectState::of(&namespace));
        }
        let maps = self.objects::<ConfigMap>(cluster).list(&others).await?;
        for map in &maps.items {
            put(Kind::ConfigMap, &map.name_any(), ObjectState::of(map));
        }
        // Without the label too: a Go adapter writes none.
        let jobs = self.objects::<Job>(cluster).list(&ListParams::default()).await?;
        for job in &jobs.items {
            put(Kind::Job, &job.name_any(), ObjectState::of_job(job));
        }
        let records = kube::Api::<ConfigMap>::namespaced(self.kubernetes.clone(), &self.running.records_namespace);
        if let Some(record) = records.get_opt(&cluster.id).await? {
            put(
                Kind::ConfigMap,
                &format!("{}/{}", self.running.records_namespace, cluster.id),
                ObjectState::of(&record),
            );
        }
        Ok(seen)
    }

    /// The objects of a kind in the namespace of a cluster.
    pub(super) fn objects<K>(&self, cluster: &Cluster) -> kube::Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        kube::Api::namespaced(self.kubernetes.clone(), &namespace(cluster))
    }

    /// Tells each change until the condition holds; then returns what was seen last.
    pub(super) async fn watch(
        &self,
        cluster: &Cluster,
        what: &str,
        mut holds: impl AsyncFnMut(&Observation) -> Result<bool>,
    ) -> Result<Observation> {
        let begin = Instant::now();
        loop {
            let now = self.observe(cluster).await?;
            for line in changes(&self.seen.borrow(), &now) {
                self.tell(&line);
            }
            self.seen.replace(now.clone());
            if holds(&now).await? {
                return Ok(now);
            }
            ensure!(
                begin.elapsed() < PATIENCE,
                "{what} did not happen in {} s: see the logs, {}",
                PATIENCE.as_secs(),
                self.running.logs
            );
            sleep(PERIOD).await;
        }
    }

    /// Creates a cluster.
    pub(super) async fn create(&self, name: &str, spec: &serde_json::Value) -> Result<Cluster> {
        let cluster = self.api.create(name, spec).await?;
        self.tell(&format!("you          create the cluster {} ({}), with {spec}", cluster.name, cluster.id));
        if let Some(console) = &self.running.console {
            self.tell(&format!("console      {console}/resources/{}", cluster.id));
        }
        Ok(cluster)
    }

    /// Watches until the cluster is reconciled.
    pub(super) async fn watch_reconciled(&self, cluster: &Cluster) -> Result<Observation> {
        let reconciled =
            async |seen: &Observation| Ok(seen.cluster.as_ref().is_some_and(|cluster| cluster.is_reconciled));
        self.watch(cluster, "Reconciled=True", reconciled).await
    }

    /// The sum of the values of a part's metric.
    pub(super) async fn figure(&self, part: &str, metric: &str) -> Result<f64> {
        Ok(self.series(part, metric).await?.iter().map(|series| series.value).sum())
    }

    /// The series of a part's metric.
    pub(super) async fn series(&self, part: &str, metric: &str) -> Result<Vec<Series>> {
        let found = self.running.metrics.iter().find(|(known, _)| known == part);
        let (_, url) = found.with_context(|| format!("the stack has no {part}"))?;
        let text = reqwest::get(url).await.with_context(|| format!("{part} does not answer"))?.text().await?;
        Ok(Series::all(&text, metric).collect())
    }
}

/// The namespace that the adapter `foundation` makes for a cluster.
fn namespace(cluster: &Cluster) -> String {
    format!("cluster-{}", cluster.id)
}
