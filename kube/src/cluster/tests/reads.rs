//! Tests of lists and discovery against a fake API server.

use std::collections::BTreeMap;

use super::*;

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("x".to_owned(), "1".to_owned())])
}

async fn list(cluster: &Cluster) -> Result<Vec<Value>, WriteError> {
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    cluster.list(&kind, Some("team"), Selector::Labels(&labels()), Form::Full)?.read_all().await
}

/// Serves two pages of a list, and `last` as the third.
fn pages(last: (u16, Value)) -> impl Fn(&str) -> (u16, Value) {
    let item = |name: &str| json!({ "metadata": { "name": name, "namespace": "team", "uid": "u" } });
    move |line: &str| match line {
        line if line.contains("continue=t1") => (200, page("t2", json!([item("c")]))),
        line if line.contains("continue=t2") => last.clone(),
        _ => (200, page("t1", json!([item("a"), item("b")]))),
    }
}

fn page(token: &str, items: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "continue": token, "resourceVersion": "7" }, "items": items })
}

#[tokio::test]
async fn list_is_read_to_its_end() {
    let (server, client) = Server::start(pages((200, page("", json!([]))))).await;
    let found = list(&cluster(client)).await.unwrap();
    assert_eq!(found.len(), 3);
    let third = json!({ "name": "c", "namespace": "team", "uid": "u" });
    assert_eq!(found[2], json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": third }));
    assert_eq!(server.lines()[1], "GET /api/v1/namespaces/team/configmaps?labelSelector=x%3D1&limit=100");
    assert_eq!(server.lines().len(), 4);
}

#[tokio::test]
async fn list_whose_next_page_is_the_same_again_fails() {
    let error = list(&answering(pages((200, page("t2", json!([]))))).await).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable, "{error}");
    assert!(error.message.contains("the token of its next page is that of this page"), "{error}");
}

#[tokio::test]
async fn list_with_a_failed_page_fails() {
    let error = list(&answering(pages(status(410, "Expired", Value::Null))).await).await.unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (WriteErrorKind::Expired, "failed to list ConfigMap in team: no (HTTP status 410)")
    );
    let error = list(&answering(pages((200, json!({})))).await).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn failed_page_is_not_the_end_of_a_list() {
    let cluster = answering(pages(status(410, "Expired", Value::Null))).await;
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let mut pages = cluster.list(&kind, Some("team"), Selector::Labels(&labels()), Form::Full).unwrap();
    assert_eq!(pages.next().await.unwrap().map(|page| page.len()), Some(2));
    assert_eq!(pages.next().await.unwrap().map(|page| page.len()), Some(1));
    for _ in 0..2 {
        assert_eq!(pages.next().await.unwrap_err().kind, WriteErrorKind::Expired);
    }
}

#[tokio::test]
async fn list_without_labels_is_refused() {
    let cluster = answering(|_| (200, Value::Null)).await;
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let refused = cluster.list(&kind, None, Selector::Labels(&BTreeMap::new()), Form::Full).err();
    assert_eq!(refused.map(|error| error.kind), Some(WriteErrorKind::Invalid));
}

/// Serves the group `apps` in two versions, of which v2 is preferred, and answers 503 for the group `away`.
fn groups(line: &str) -> (u16, Value) {
    let version = |version: &str| json!({ "groupVersion": format!("apps/{version}"), "version": version });
    let kinds = |names: &[&str]| {
        let kind = |name: &&str| json!({ "name": name, "kind": name.to_uppercase(), "namespaced": true, "verbs": ["list", "delete"] });
        json!({ "resources": names.iter().map(kind).collect::<Vec<_>>() })
    };
    match line {
        "GET /api" => (200, json!({ "versions": ["v1"] })),
        "GET /apis" => (
            200,
            json!({ "groups": [
                { "name": "apps", "versions": [version("v1"), version("v2")], "preferredVersion": version("v2") },
                { "name": "away", "versions": [{ "groupVersion": "away/v1", "version": "v1" }] },
            ] }),
        ),
        "GET /apis/apps/v1" => (200, kinds(&["a", "b"])),
        "GET /apis/apps/v2" => (200, kinds(&["a", "a/scale"])),
        _ => status(503, "ServiceUnavailable", Value::Null),
    }
}

#[tokio::test]
async fn discovery_gives_each_kind_once_and_names_unread_groups() {
    let (server, client) = Server::start(groups).await;
    let cluster = cluster(client);
    let found = cluster.discover().await.unwrap();
    let kinds: Vec<String> = found.kinds.iter().map(|served| served.kind.to_string()).collect();
    assert_eq!(kinds, ["v1, Kind=ConfigMap", "v1, Kind=Namespace", "apps/v2, Kind=A", "apps/v1, Kind=B"]);
    let unread: Vec<String> = found.unread.iter().map(|unread| unread.error.to_string()).collect();
    assert_eq!(unread, ["failed to discover the kinds of away/v1: no (HTTP status 503)"]);
    assert!(found.kinds[2].has_verbs(&["list", "delete"]) && !found.kinds[2].has_verbs(&["list", "watch"]));

    cluster.get(&named("ConfigMap", "team", "a")).await.unwrap_err();
    let lookups = server.lines().iter().filter(|line| *line == "GET /api/v1").count();
    assert_eq!(lookups, 1, "the kinds of a discovery are remembered");
}

#[tokio::test]
async fn discovery_fails_if_the_groups_cannot_be_read() {
    let cluster = answering(|line| if line == "GET /apis" { (200, json!({})) } else { groups(line) }).await;
    let error = cluster.discover().await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Unavailable);
    let message = "failed to discover the groups under /apis: the list of groups: ";
    assert!(error.to_string().starts_with(message), "{error}");
}
