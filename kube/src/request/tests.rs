#![expect(clippy::unwrap_used, reason = "tests")]

use http::Method;
use proptest::prelude::*;

use serde_json::json;

use super::*;
use crate::call::Verb;

fn job(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef {
        kind: GroupVersionKind::new("batch/v1", "Job"),
        namespace: Some(namespace.to_owned()).filter(|text| !text.is_empty()),
        name: name.to_owned(),
    }
}

fn served(namespaced: bool) -> ServedKind {
    let kind = GroupVersionKind::new("batch/v1", "Job");
    ServedKind { kind, plural: "jobs".to_owned(), namespaced, verbs: Vec::new(), has_status: false }
}

fn object_path(namespaced: bool, namespace: &str, name: &str) -> Result<String, String> {
    let object = job(namespace, name);
    let endpoint = Endpoint::new(&served(namespaced), &object)?;
    endpoint.object(&Call { verb: Verb::Get, object: &object }).map_err(|error| error.message)
}

#[test]
fn object_path_depends_on_scope_namespace_and_name() {
    let cases = [
        ("in a namespace", true, "team-a", "build", Ok("/apis/batch/v1/namespaces/team-a/jobs/build")),
        ("cluster-scoped", false, "", "build", Ok("/apis/batch/v1/jobs/build")),
        ("cluster-scoped, with a namespace that is ignored", false, "team-a", "build", Ok("/apis/batch/v1/jobs/build")),
        ("an RBAC name", false, "", "system:node", Ok("/apis/batch/v1/jobs/system:node")),
        ("a star is a namespace of that name", true, "*", "build", Ok("/apis/batch/v1/namespaces/%2A/jobs/build")),
        ("no namespace", true, "", "build", Err("Job is a namespaced kind: the namespace is missing")),
        ("no name", true, "team-a", "", Err("the name is empty")),
        ("a name that climbs", true, "team-a", "..", Err("\"..\" cannot be a name")),
        ("a name with a path", true, "team-a", "x/status", Err("\"x/status\" cannot be a name")),
        ("a namespace with a path", true, "a/b", "build", Err("\"a/b\" cannot be a name")),
        (
            "a name with a query",
            true,
            "team-a",
            "x?dryRun=All",
            Ok("/apis/batch/v1/namespaces/team-a/jobs/x%3FdryRun%3DAll"),
        ),
    ];
    for (name, namespaced, namespace, object, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(object_path(namespaced, namespace, object), expected, "{name}");
    }
}

#[test]
fn core_group_is_served_under_api_and_others_under_apis() {
    assert_eq!(group_version_path(&GroupVersionKind::new("v1", "Pod")), "/api/v1");
    assert_eq!(group_version_path(&GroupVersionKind::new("apps/v1", "Deployment")), "/apis/apps/v1");
}

#[test]
fn write_requests_name_field_manager_and_media_type() {
    let object = json!({ "metadata": { "name": "a" } });

    let request = create("/x", "my adapter", true, &object);
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.uri(), "/x?fieldManager=my%20adapter&fieldValidation=Strict&dryRun=All");
    assert_eq!(create("/x", "me", false, &object).uri(), "/x?fieldManager=me&fieldValidation=Strict");

    let request = apply("/x/a", "me", &object);
    assert_eq!(request.method(), Method::PATCH);
    assert_eq!(request.uri(), "/x/a?fieldManager=me&fieldValidation=Strict&force=true");
    assert_eq!(request.headers()[CONTENT_TYPE], "application/apply-patch+yaml");
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(body, object);

    let request = merge_patch("/x/a", "my adapter-patch", &json!({ "metadata": { "uid": "u-1" } }));
    assert_eq!(request.method(), Method::PATCH);
    assert_eq!(request.uri(), "/x/a?fieldManager=my%20adapter-patch&fieldValidation=Strict");
    assert_eq!(request.headers()[CONTENT_TYPE], "application/merge-patch+json");

    let request = delete("/x/a", &object);
    assert_eq!(request.method(), Method::DELETE);
    assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
}

#[test]
fn page_of_a_list_has_selector_limit_token_and_form() {
    let first = list("/x", "a=1,b=2", 5, "", Form::Full);
    assert_eq!(first.uri(), "/x?labelSelector=a%3D1%2Cb%3D2&limit=5");
    assert_eq!(first.headers()[ACCEPT], "application/json");
    let next = list("/x", "a=1", 5, "t+/=", Form::MetadataOnly);
    assert_eq!(next.uri(), "/x?labelSelector=a%3D1&limit=5&continue=t%2B%2F%3D");
    assert_eq!(next.headers()[ACCEPT], METADATA_ONLY);
}

proptest! {
    #[test]
    fn each_name_is_one_path_segment(namespace in ".*", name in ".*") {
        if let Ok(path) = object_path(true, &namespace, &name) {
            let uri: http::Uri = path.parse().unwrap();
            let segments: Vec<&str> = uri.path().split('/').collect();
            let expected = if namespace.is_empty() { 6 } else { 8 };
            prop_assert_eq!(segments.len(), expected);
            prop_assert_eq!(uri.query(), None);
            let request = get(&path);
            prop_assert_eq!(request.uri().path(), path);
        }
    }
}
