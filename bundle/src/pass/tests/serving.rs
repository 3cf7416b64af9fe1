//! Jobs that Kubernetes deletes after they have finished.

use super::*;

fn job(stay: i64) -> Value {
    let mut job = object("batch/v1", "Job", "job", &[]);
    job["spec"] = json!({ "ttlSecondsAfterFinished": stay });
    job
}

fn finished(condition: &str) -> Value {
    json!({ "status": { "conditions": [{ "type": condition, "status": "True" }] } })
}

fn world() -> World {
    let mut world = World::new(vec![job(60), map("next", &[("apply-order", "1")])]);
    world.apply();
    world.writes();
    world
}

#[test]
fn job_that_kubernetes_deleted_after_it_completed_has_served() {
    let mut world = world();
    world.store.change("job", &finished("Complete"));
    // The memory precedes whatever comes after the Job.
    assert_eq!(world.apply().stopped, None);
    assert_eq!(world.writes(), ["update monitoring", "create next"]);
    world.store.remove("job");
    for _ in 0..3 {
        let report = world.apply();
        assert_eq!((report.stopped.clone(), report.is_applied()), (None, true), "{:?}", effects(&report));
    }
    assert!(world.writes().is_empty());
    world.manifests[0]["data"] = json!({ "k": "another release" });
    world.apply();
    assert!(world.writes().contains(&"create job".to_owned()), "its content has changed");
}

#[test]
fn job_that_is_gone_without_having_completed_runs_again() {
    for status in [json!({}), finished("Failed"), finished("Suspended")] {
        let mut world = world();
        world.store.change("job", &status);
        assert!(world.apply().stopped.is_some());
        world.store.remove("job");
        world.apply();
        assert!(world.writes().contains(&"create job".to_owned()), "{status}");
    }
}

#[test]
fn suspended_job_that_somebody_deletes_is_created_again() {
    let mut suspended = job(60);
    suspended["spec"]["suspend"] = json!(true);
    let mut world = World::new(vec![suspended]);
    world.apply();
    world.store.change("job", &finished("Suspended"));
    assert_eq!(world.apply().stopped, None, "it is as its manifest demands");
    world.store.remove("job");
    world.writes();
    world.apply();
    assert!(world.writes().contains(&"create job".to_owned()));
}

#[test]
fn job_that_may_be_gone_before_it_is_seen_is_refused() {
    let world = World::new(Vec::new());
    for stay in [0, 59] {
        let faults = prepare(vec![job(stay)], &world.setting()).unwrap_err();
        let expected =
            format!("Job.batch team/job: `spec.ttlSecondsAfterFinished` is {stay}, so it may be gone before");
        assert!(faults.len() == 1 && faults[0].starts_with(&expected), "{faults:?}");
    }
}

#[test]
fn rules_of_an_aggregated_role_are_its_controllers() {
    let role = |rules: Value| {
        let mut role = object("rbac.authorization.k8s.io/v1", "ClusterRole", "role", &[]);
        role["aggregationRule"] = json!({ "clusterRoleSelectors": [] });
        role["rules"] = rules;
        role
    };
    let world = World::new(Vec::new());
    for empty in [json!([]), json!(null)] {
        let rendered = prepare(vec![role(empty)], &world.setting()).unwrap();
        assert_eq!(rendered[0].draft.object.get("rules"), None);
    }
    let faults = prepare(vec![role(json!([{ "verbs": ["get"] }]))], &world.setting()).unwrap_err();
    assert!(faults[0].contains("its `rules` belong to the controller that aggregates them"), "{faults:?}");
    let mut plain = role(json!([]));
    plain.as_object_mut().unwrap().remove("aggregationRule");
    let rendered = prepare(vec![plain], &world.setting()).unwrap();
    assert_eq!(rendered[0].draft.object["rules"], json!([]));
}
