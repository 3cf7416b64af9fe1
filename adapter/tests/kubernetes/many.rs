//! Queries and commands with many objects.

use std::collections::BTreeMap;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use lifecycle_e2e::fault::When;
use lifecycle_e2e::unique;
use lifecycle_kube::Settings;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::PropagationPolicy::Background;
use lifecycle_objects::write::{Command, Executed};
use lifecycle_transport::Transport;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{World, target, text, transport};

#[tokio::test]
async fn selector_query_reads_every_page() -> Result<()> {
    let world = World::new().await?;
    let elsewhere = world.control_plane.namespace().await?;
    let proxy = world.control_plane.proxy().await?;
    let settings = Settings { page_size: 2, ..Settings::default() };
    let transport = transport(&proxy.access()?.kubeconfig, settings).await?;
    let labels = BTreeMap::from([("test".to_owned(), unique("label")), ("tier".to_owned(), "1".to_owned())]);
    for index in 0..5 {
        let mut object = world.map(&format!("map-{index}"), json!({}));
        object["metadata"]["labels"] = json!(labels);
        transport.create(&object, &Destination::ThisCluster).await?;
        object["metadata"]["namespace"] = json!(elsewhere.name());
        transport.create(&object, &Destination::ThisCluster).await?;
    }
    transport.create(&world.map("other", json!({})), &Destination::ThisCluster).await?;

    let query = world.query("v1", "ConfigMap", QueryBy::Labels(labels));
    let found = transport.find(&query).await?;
    let names: Vec<&str> = found.iter().map(|object| text(object, "/metadata/name")).collect();
    assert_eq!(names, ["map-0", "map-1", "map-2", "map-3", "map-4"]);
    assert_eq!((text(&found[0], "/apiVersion"), text(&found[0], "/kind")), ("v1", "ConfigMap"));
    assert_eq!(proxy.count(&When::method("GET").path_ends("/configmaps")), 3);

    let everywhere = transport.find(&Query { namespace: None, ..query }).await?;
    assert_eq!(everywhere.len(), 10);
    Ok(())
}

/// Lists a thousand objects page by page, and deletes them with one command.
#[tokio::test(flavor = "multi_thread")]
async fn thousand_objects_are_found_and_deleted() -> Result<()> {
    const OBJECTS: usize = 1000;
    let world = World::new().await?;
    let labels = BTreeMap::from([("test".to_owned(), unique("label"))]);
    let creations = stream::iter(0..OBJECTS).map(async |index| {
        let mut object = world.map(&format!("map-{index}"), json!({ "index": index.to_string() }));
        object["metadata"]["labels"] = json!(labels);
        world.create(&object).await
    });
    creations.buffer_unordered(32).try_collect::<Vec<_>>().await?;

    let query = world.query("v1", "ConfigMap", QueryBy::Labels(labels));
    let start = Instant::now();
    let found = world.transport.find(&query).await?;
    let listed = start.elapsed();
    assert_eq!(found.len(), OBJECTS);

    let targets = found.iter().map(target).collect();
    let start = Instant::now();
    let executed = world.execute(Command::Delete { targets, propagation: Background }).await;
    eprintln!("{OBJECTS} objects: listed in {listed:?}, deleted in {:?}", start.elapsed());
    assert_eq!(executed, Executed::Deleted);
    assert_eq!(world.transport.find(&query).await?, Vec::<Value>::new());
    Ok(())
}
