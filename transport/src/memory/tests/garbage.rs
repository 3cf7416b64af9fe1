//! Tests of garbage collection: owners and dependents.

use super::*;

#[tokio::test]
async fn garbage_collection_deletes_dependents_without_owner() {
    let owned = |name: &str, owners: &[&Value]| {
        let mut object = map(name, json!({}));
        let reference = |owner: &&Value| json!({ "apiVersion": "v1", "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"] });
        object["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
        object
    };
    let names = |store: &MemoryTransport| -> Vec<String> {
        store.objects().iter().map(|object| metadata_text(object, "name").to_owned()).collect()
    };
    let store = store();
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    let namespace = store.create(&namespace, &Destination::ThisCluster).await.unwrap();
    let first = store.create(&map("first", json!({})), &Destination::ThisCluster).await.unwrap();
    let second = store.create(&map("second", json!({})), &Destination::ThisCluster).await.unwrap();
    let child = store.create(&owned("child", &[&first]), &Destination::ThisCluster).await.unwrap();
    store.create(&owned("grandchild", &[&child]), &Destination::ThisCluster).await.unwrap();
    store.create(&owned("of-both", &[&first, &second]), &Destination::ThisCluster).await.unwrap();
    store.create(&owned("of-the-namespace", &[&namespace]), &Destination::ThisCluster).await.unwrap();
    let mut held = owned("held", &[&first]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    store.create(&held, &Destination::ThisCluster).await.unwrap();
    let everything = ["child", "first", "grandchild", "held", "of-both", "of-the-namespace", "second", "a"];
    store.collect_garbage();
    assert_eq!(names(&store), everything, "all owners are there");

    store.delete(&target(&first), PropagationPolicy::Background).await.unwrap();
    assert_eq!(names(&store).len(), everything.len() - 1, "a deletion leaves the rest to the collector");
    store.collect_garbage();
    assert_eq!(names(&store), ["held", "of-both", "of-the-namespace", "second", "a"]);
    assert!(is_terminating(&store.objects()[0]));
    store.collect_garbage();
    assert_eq!(names(&store).len(), 5, "a terminating object waits for its finalizer");

    store.delete(&target(&second), PropagationPolicy::Orphan).await.unwrap();
    store.collect_garbage();
    assert_eq!(names(&store), ["held", "of-both", "of-the-namespace", "a"], "an orphan outlives its owner");
}
