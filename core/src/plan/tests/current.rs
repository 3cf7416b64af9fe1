//! Tests of the current version: gates read it and patches go to it, and the generation in the manifest
//! selects it.

use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, gated, live, pass, selecting, task, version, with};
use super::store::Store;

/// An entry whose manifest sets the generation itself, as tasks for the Go adapter do.
fn of_generation(generation: &str) -> Value {
    let annotations = json!({ "hyperfleet.io/generation": generation });
    with(
        selecting("job"),
        json!({ "manifest": { "metadata": { "name": "job-{{ .stage }}", "annotations": annotations } } }),
    )
}

#[test]
fn gates_read_the_version_of_the_manifests_generation() {
    let task = task(&[gated(of_generation("7"), "delete", "resources.job.metadata.name == \"seven\"")]);
    let mut store = Store::with([version("job", "seven", 7, 1), version("job", "three", 3, 9)]);
    let deleted = pass(&task, &mut store, 3, &[]);
    assert_eq!(deleted.result().2, "deleted", "the newest object is of the event's generation, but not wanted");
}

#[test]
fn event_is_stale_by_the_manifests_generation() {
    let task = task(&[of_generation("7")]);
    let mut store = Store::with([version("job", "job-one", 5, 1)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("update", "GenerationChanged", "updated", "19"));
    store.change("job-one", &json!({ "metadata": { "annotations": { "hyperfleet.io/generation": "8" } } }));
    assert_eq!(pass(&task, &mut store, 9, &[]).result(), ("skip", "StaleEvent", "skipped", "13"));
}

#[test]
fn patches_go_to_the_current_version() {
    let patch = json!({ "lifecycle": { "patch": [
        { "when": { "expression": "!has(resources.job.data)" }, "document": { "data": { "a": "b" } } }
    ] } });
    let task = task(&[with(selecting("job"), patch)]);
    let mut store = Store::with([version("job", "old", 2, 9), version("job", "new", 3, 1)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "patched");
    assert_eq!(store.log, ["patch new"]);
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn update_goes_to_the_version_with_the_rendered_name() {
    let task = task(&[selecting("job")]);
    let mut store = Store::with([version("job", "job-3", 1, 1), version("job", "job-2", 2, 2)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("update", "GenerationChanged", "updated", "19"));
    assert_eq!(store.log, ["update job-3"]);
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn object_of_the_same_name_in_another_namespace_is_another_object() {
    let everywhere = json!({ "discovery": { "namespace": "" } });
    let task = task(&[with(selecting("job"), everywhere)]);
    let elsewhere = json!({ "metadata": { "namespace": "elsewhere" } });
    let mut store = Store::with([with(version("job", "job-3", 1, 1), elsewhere)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("create_version", "NewName", "created", "18"));
    assert_eq!(store.log, ["create job-3"]);
    assert_settled(&task, &mut store, 3, &[]);
}

#[test]
fn manifests_generation_can_come_from_a_later_resource() {
    let generation = "{{ .resources.config.data.generation }}";
    let entry = gated(of_generation(generation), "delete", "resources.job.metadata.name == \"seven\"");
    let task = task(&[entry, config_map("config")]);
    let config = with(live("ConfigMap", "config", json!({}), Some(3)), json!({ "data": { "generation": "7" } }));
    let mut store = Store::with([version("job", "seven", 7, 1), version("job", "three", 3, 9), config]);
    assert_eq!(pass(&task, &mut store, 3, &[]).results()[0].2, "deleted");
}
