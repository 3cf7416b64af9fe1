//! What is true at the end of every journey, whatever happened on the way.
//!
//! In: a system in which nobody changes resources any more. Out: nothing. Fails: with the first resource or object that
//! breaks an invariant; with the system's own state if the API and the exporter do not agree in time.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PartialObjectMeta};
use lifecycle_e2e::parts::Kind;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;

use super::{System, UNRECONCILED, is_reconciled};

/// The most resources that the API returns at once.
const PAGE: usize = 100;

impl System {
    /// Checks that every resource is reconciled or reported as stuck, that every reconciled one has its adapters' objects,
    /// and that no object is left of a resource that the API no longer has.
    pub(crate) async fn check_invariants(&self) -> Result<()> {
        let mut known = BTreeSet::new();
        let mut expected = BTreeMap::new();
        for kind in &self.parts.kinds {
            let what = format!("every {} to be reconciled, or reported as stuck", kind.name);
            for resource in await_condition(&what, PATIENCE, async || self.accounted(kind).await).await? {
                let id = resource["id"].as_str().context("no id")?.to_owned();
                if is_reconciled(&resource) && resource["deleted_time"].is_null() {
                    let generation = resource["generation"].to_string();
                    let of_adapter = |adapter: &String| ((adapter.clone(), id.clone()), generation.clone());
                    expected.extend(kind.adapters.iter().map(of_adapter));
                }
                known.insert(id);
            }
        }
        // The resources were read first: their adapters delete objects before the API removes them.
        let mut found = BTreeMap::new();
        for object in self.owned_objects().await? {
            let (labels, annotations) = (object.metadata.labels, object.metadata.annotations);
            let label = |key| labels.as_ref().and_then(|labels| labels.get(key)).cloned().unwrap_or_default();
            let (adapter, id) = (label("hyperfleet.io/adapter"), label("hyperfleet.io/resource-id"));
            ensure!(known.contains(&id), "leaked: {:?} of {adapter}, for {id}", object.metadata.name);
            let generation = annotations.and_then(|mut annotations| annotations.remove("hyperfleet.io/generation"));
            found.insert((adapter, id), generation.unwrap_or_default());
        }
        for ((adapter, id), generation) in expected {
            let applied = found.get(&(adapter.clone(), id.clone()));
            ensure!(
                applied == Some(&generation),
                "lost: the object of {adapter} for {id}: {applied:?} of {generation}"
            );
        }
        Ok(())
    }

    /// Returns all resources of a kind, if each is reconciled or reported by the exporter.
    async fn accounted(&self, kind: &Kind) -> Result<Vec<Value>> {
        let resources = self.list(&kind.plural, "").await?;
        let unreconciled = self.list(&kind.plural, "status.conditions.Reconciled='False'").await?;
        let counted = self.figure(UNRECONCILED, &[("resource_type", &kind.name.to_lowercase())]).await?;
        let count = unreconciled.len();
        ensure!(
            counted.to_string() == count.to_string(),
            "{}: the exporter counts {counted}, the API {count}",
            kind.name
        );
        let ids: BTreeSet<_> = unreconciled.iter().map(|resource| resource["id"].as_str()).collect();
        let stuck = if ids.is_empty() { Vec::new() } else { self.stuck().await? };
        let reported: BTreeSet<_> = stuck.iter().map(|item| item["id"].as_str()).collect();
        for resource in &resources {
            match ids.contains(&resource["id"].as_str()) {
                true => ensure!(reported.contains(&resource["id"].as_str()), "not reported as stuck: {resource}"),
                false => ensure!(is_reconciled(resource), "neither reconciled nor unreconciled: {resource}"),
            }
        }
        Ok(resources)
    }

    /// The resources of a type that a search finds.
    async fn list(&self, plural: &str, search: &str) -> Result<Vec<Value>> {
        let mut found = Vec::new();
        loop {
            let page = found.len() / PAGE + 1;
            let path = format!("{plural}?page={page}&size={PAGE}&search={search}");
            let mut answer = self.send("GET", &path, &Value::Null, 200).await?;
            let items = answer["items"].as_array_mut().context("no list")?;
            let is_last = items.len() < PAGE;
            found.append(items);
            if is_last {
                return Ok(found);
            }
        }
    }

    /// The objects with the label of an adapter of this system that no adapter has disowned.
    async fn owned_objects(&self) -> Result<Vec<PartialObjectMeta<ConfigMap>>> {
        let adapters: Vec<_> = self.parts.kinds.iter().flat_map(|kind| kind.adapters.iter().cloned()).collect();
        let selector = format!("hyperfleet.io/adapter in ({}),!hyperfleet.io/disowned", adapters.join(","));
        let objects: Api<ConfigMap> = self.namespace.api().await?;
        Ok(objects.list_metadata(&ListParams::default().labels(&selector)).await?.items)
    }

    /// The exporter's page of stuck resources.
    pub(crate) async fn stuck(&self) -> Result<Vec<Value>> {
        let url = format!("{}/stuck?size=500", self.exporter.url("health").await?);
        let page: Value = reqwest::get(url).await?.error_for_status()?.json().await?;
        Ok(page["items"].as_array().context("no list")?.clone())
    }
}
