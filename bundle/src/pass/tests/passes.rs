//! The order of writes, passes at the same time and broken off, and writes that fail.

use super::*;

#[test]
fn name_that_somebody_elses_terminating_object_holds_keeps_the_next_wave_waiting() {
    let mut world = World::new(vec![map("a", &[]), map("later", &[("apply-order", "1")])]);
    let held = json!({
        "name": "a", "namespace": "team", "finalizers": ["example.io/hold"], "deletionTimestamp": "2026-01-01T00:00:00Z",
    });
    world.store.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": held }));
    let report = world.apply();
    assert_eq!(effects(&report), ["a none", "later none"]);
    let stopped = report.why_stopped().unwrap();
    assert_eq!(stopped, "wave 0: ConfigMap team/a: it is on its way out");
}

#[test]
fn failed_object_stops_its_wave_which_says_so() {
    let job = object("batch/v1", "Job", "migration", &[]);
    let mut world = World::new(vec![job, map("beside", &[]), map("later", &[("apply-order", "1")])]);
    world.apply();
    let failed =
        json!({ "conditions": [{ "type": "Failed", "status": "True", "message": "it has reached its limit" }] });
    world.store.change("migration", &json!({ "status": failed }));
    let report = world.apply();
    assert_eq!(effects(&report), ["migration none", "beside none", "later none"]);
    let shown = report.shown();
    assert_eq!(shown["objects"][0]["readiness"], "Failed");
    assert_eq!(shown["waves"][0], json!({ "name": "wave 0", "objects": 2, "ready": 1, "failed": 1 }));
    assert_eq!(shown["why"], "wave 0: Job.batch team/migration: its condition Failed is True");
}

#[test]
fn older_event_writes_nothing_once_a_newer_one_has_written() {
    let mut world = World::new(vec![map("a", &[])]);
    world.generation = 2;
    world.apply();
    world.writes();
    world.generation = 1;
    world.manifests[0]["data"]["k"] = json!("old");
    let stopped = world.apply().why_stopped().unwrap();
    assert_eq!(stopped, "ConfigMap team/a was written for a newer generation than the event's, 1");
    assert!(world.writes().is_empty());
}

#[test]
fn kind_that_could_not_be_listed_is_not_forgotten() {
    // The bundle itself has the kind served, and may have to repair its server.
    let mut service = object("apiregistration.k8s.io/v1", "APIService", "v1.example.io", &[]);
    service["spec"] = json!({ "group": "example.io", "version": "v1" });
    let mut world = World::new(vec![service, map("a", &[]), foo("b", &[])]);
    world.apply();
    let available = json!({ "conditions": [{ "type": "Available", "status": "True" }] });
    world.store.change("v1.example.io", &json!({ "status": available }));
    world.apply();
    ready(&mut world, "b");
    // The object leaves the manifests just while nobody can say whether it is there.
    world.manifests.pop();
    world.unlisted = Some("Foo");
    let stopped = world.apply().why_stopped().unwrap();
    assert!(stopped.contains("Foo.example.io could not be listed: it is not served"), "{stopped}");
    world.unlisted = None;
    assert_eq!(effects(&world.apply()), ["v1.example.io none", "a none", "b deleted"]);
}

#[test]
fn members_that_cannot_be_listed_fail_the_bundle_before_anything_is_written() {
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    world.writes();
    world.unlisted = Some("ConfigMap");
    let mut running = world.read(Intent::Apply);
    assert_eq!(running.next(), None);
    let failure = running.pass.report().unwrap_err();
    assert!(
        failure
            .message
            .starts_with("failed to list the bundle's objects of the kind v1, Kind=ConfigMap: it is not served"),
        "{failure}"
    );
    assert!(world.writes().is_empty());
}

#[test]
fn parent_is_written_first_for_a_new_generation() {
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    world.writes();
    world.generation = 2;
    world.manifests[0]["data"]["k"] = json!("w");
    world.apply();
    assert_eq!(world.writes(), ["update monitoring", "update a"]);
}

#[test]
fn refused_write_is_named_before_an_object_that_is_not_ready() {
    let mut world = World::new(vec![foo("slow", &[]), map("refused", &[]), foo("also", &[])]);
    world.apply();
    world.manifests[1]["data"]["k"] = json!("w");
    world.store.refuse.push("update refused".to_owned());
    let report = world.apply();
    let stopped = report.why_stopped().unwrap();
    assert!(stopped.starts_with("wave 0: ConfigMap team/refused: "), "{stopped}");
    assert!(report.failure().unwrap().message.starts_with("wave 0: ConfigMap team/refused: "));
}

#[test]
fn new_policy_does_not_recreate() {
    let mut world = World::new(vec![map("a", &[("update-policy", "recreate")])]);
    world.apply();
    let uid = world.store.object("a")["metadata"]["uid"].clone();
    world.manifests = vec![map("a", &[("update-policy", "recreate"), ("delete-policy", "orphan")])];
    assert_eq!(effects(&world.apply()), ["a updated"]);
    assert_eq!(world.store.object("a")["metadata"]["uid"], uid);
    world.manifests[0]["data"]["k"] = json!("w");
    assert_eq!(effects(&world.apply()), ["a recreated"]);
}

#[test]
fn object_that_has_served_does_not_run_again_if_somebody_deletes_it_early() {
    let mut world = World::new(vec![map("once", &[("purge-order", "1")]), foo("slow", &[("apply-order", "1")])]);
    world.apply();
    world.store.remove("once");
    world.writes();
    world.apply();
    ready(&mut world, "slow");
    assert_eq!(world.apply().stopped, None);
    assert!(world.writes().is_empty());
}

#[test]
fn object_that_has_served_and_is_to_stay_from_now_on_is_created() {
    let mut world = World::new(vec![map("a", &[("purge-order", "0")])]);
    world.apply();
    world.manifests = vec![map("a", &[])];
    world.writes();
    let report = world.apply();
    assert_eq!((effects(&report), report.is_applied()), (vec!["a created".to_owned()], true));
    // To serve again is to run again.
    world.manifests = vec![map("a", &[("purge-order", "0")])];
    assert_eq!(effects(&world.apply()), ["a deleted"]);
}

#[test]
fn object_that_an_overtaken_pass_creates_is_found_by_the_next_one() {
    for generation in [1, 2] {
        let mut world = World::new(vec![foo("slow", &[]), object("v1", "Secret", "late", &[("apply-order", "1")])]);
        world.apply();
        ready(&mut world, "slow");
        world.writes();
        let mut overtaken = world.read(Intent::Apply);
        while world.store.log.is_empty() {
            assert!(world.step(&mut overtaken).unwrap());
        }
        assert_eq!(world.writes(), ["update monitoring"], "what follows is the creation");
        (world.generation, world.manifests) = (generation, vec![foo("slow", &[])]);
        assert_eq!(world.apply().stopped, None);
        world.writes();
        assert_eq!(world.finish(overtaken).unwrap().stopped, None);
        assert_eq!(world.writes(), ["create late"]);
        assert_eq!(effects(&world.apply()), ["slow none", "late deleted"]);
        for _ in 0..2 {
            world.apply();
        }
        let kinds = &world.store.object("monitoring")["metadata"]["annotations"][applyset::GROUP_KINDS];
        assert_eq!(kinds, "Foo.example.io");
        world.writes();
        world.apply();
        assert!(world.writes().is_empty());
    }
}

#[test]
fn two_passes_at_the_same_time_run_an_object_that_serves_once_only_once() {
    let manifests = || vec![map("once", &[("purge-order", "0")]), map("a", &[])];
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    world.manifests = manifests();
    // The second pass has read everything before the first one begins.
    let late = world.read(Intent::Apply);
    world.apply();
    world.writes();
    let report = world.finish(late).unwrap();
    assert_eq!(world.writes(), ["update monitoring"]);
    assert_eq!(report.why_stopped().as_deref(), Some("the parent: the parent changed"));
    assert_eq!(effects(&report), ["once none", "a none"]);
}

#[test]
fn objects_of_one_priority_are_written_before_those_of_the_next() {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "role" } });
    let mut world = World::new(vec![object("apps/v1", "Deployment", "d", &[]), map("a", &[]), role, space]);
    let mut running = world.read(Intent::Apply);
    let mut batches = Vec::new();
    running.drive(|commands| {
        batches.push(commands.len());
        commands.into_iter().map(|command| world.execute(command).unwrap()).collect()
    });
    assert_eq!(batches, [1, 1, 1, 1]);
    assert_eq!(world.writes(), ["create space", "create role", "create a", "create d"]);
}

#[test]
fn failure_keeps_what_may_need_it_from_being_written() {
    let role =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "role" } });
    let mut world = World::new(vec![object("apps/v1", "Deployment", "d", &[]), role]);
    world.store.refuse.push("create role".to_owned());
    let report = world.apply();
    assert_eq!(effects(&report), ["d none", "role failed"]);
    assert!(report.why_stopped().unwrap().starts_with("wave 0: ClusterRole.rbac.authorization.k8s.io role: "));
}

#[test]
fn object_that_somebody_creates_again_and_again_is_left_after_one_try() {
    let mut world = World::new(vec![map("a", &[("update-policy", "recreate")])]);
    world.apply();
    world.manifests[0]["data"]["k"] = json!("w");
    let mut running = world.read(Intent::Apply);
    let holder = || world.store.object("a").clone();
    let taken = |object: Value| Executed::DeletedNotCreated(NotCreated::NameTaken(Some(object)));
    let mut tries = 0;
    running.drive(|_| {
        tries += 1;
        vec![taken(holder())]
    });
    assert_eq!(tries, 2);
    assert!(running.report().why_stopped().unwrap().contains("is created by somebody else as soon as it is gone"));
}

#[test]
fn namespace_that_members_lack_is_created_once_and_stays() {
    let mut inner = map("inner", &[]);
    inner["metadata"]["namespace"] = json!("space");
    let other = {
        let mut other = inner.clone();
        other["metadata"]["name"] = json!("other");
        other
    };
    let world = World::new(vec![inner, other]);
    let not_found = || {
        Executed::Failed(WriteError {
            kind: WriteErrorKind::NamespaceMissing,
            call: "create ConfigMap space/inner".to_owned(),
            status: Some(404),
            message: "namespaces \"space\" not found".to_owned(),
        })
    };
    let denied = Executed::Failed(WriteError {
        kind: WriteErrorKind::Forbidden,
        call: "create Namespace space".to_owned(),
        status: Some(403),
        message: "no".to_owned(),
    });
    for (creates, answer, expected) in [
        (true, Executed::Created(json!({})), vec![2, 1, 2]),
        (true, denied, vec![2, 1, 2]),
        (false, Executed::Deleted, vec![2]),
    ] {
        let setting = Setting { creates_namespaces: creates, ..world.setting() };
        let rendered = prepare(world.manifests.clone(), &setting).unwrap();
        let mut running =
            world.begin(Beginning { setting, intent: Intent::Apply, rendered, memory: None, is_last: false }, None);
        let mut batches = Vec::new();
        running.drive(|commands| {
            let is_namespace =
                matches!(&commands[0], Command::Create { desired, .. } if desired["kind"] == "Namespace");
            batches.push(commands.len());
            commands.iter().map(|_| if is_namespace { answer.clone() } else { not_found() }).collect()
        });
        assert_eq!(batches, expected);
        assert!(running.report().failure().is_some());
    }
}

#[test]
fn pass_broken_off_after_any_call_leads_to_the_same_state() -> Result<()> {
    let manifests = || {
        vec![
            map("a", &[("purge-order", "1")]),
            map("b", &[("delete-policy", "orphan")]),
            map("c", &[("apply-order", "1"), ("update-policy", "recreate")]),
            map("d", &[("apply-order", "2")]),
        ]
    };
    // A life: everything is created, two objects change, one leaves, and everything goes.
    let life = |world: &mut World| {
        let steps: [Chapter; 4] = [
            (Intent::Apply, |_| ()),
            (Intent::Apply, |world| {
                world.manifests[0]["data"]["k"] = json!("w");
                world.manifests[2]["data"]["k"] = json!("w");
            }),
            (Intent::Apply, |world| drop(world.manifests.remove(1))),
            (Intent::Delete, |_| ()),
        ];
        let mut states = Vec::new();
        for (intent, change) in steps {
            change(world);
            while let Err(Crashed) = world.pass(intent) {
                world.crash_after = None;
            }
            states.push(world.state());
        }
        states
    };
    let mut calm = World::new(manifests());
    let expected = life(&mut calm);
    let calls = calm.calls;
    ensure!(calls > 12, "the life has {calls} calls");
    for call in 0..calls {
        let mut world = World::new(manifests());
        world.crash_after = Some(call);
        ensure!(life(&mut world) == expected, "broken off after call {call}");
    }
    Ok(())
}

#[test]
fn member_whose_namespace_is_being_deleted_waits_and_says_so_before_what_is_not_ready() {
    let in_space = |mut object: Value| {
        object["metadata"]["namespace"] = json!("space");
        object
    };
    let mut world = World::new(vec![foo("slow", &[]), in_space(foo("inner", &[]))]);
    world.store.terminating_namespaces = vec!["space".to_owned()];
    let report = world.apply();
    let why = "wave 0: Foo.example.io space/inner: namespace space is being deleted, and takes no new objects until it is gone";
    assert_eq!((report.why_stopped().as_deref(), report.failure()), (Some(why), None));
    assert!(!report.is_applied());
    assert_eq!(world.writes(), ["create monitoring", "create slow", "create inner"]);
    world.store.terminating_namespaces.clear();
    assert!(world.apply().why_stopped().unwrap().contains("Foo.example.io team/slow"));
    assert!(world.writes().contains(&"create inner".to_owned()));

    let mut world = World::new(vec![in_space(map("inner", &[])), foo("needs-it", &[])]);
    world.store.terminating_namespaces = vec!["space".to_owned()];
    assert_eq!(effects(&world.apply()), ["inner none", "needs-it none"]);
    assert_eq!(world.writes(), ["create monitoring", "create inner"]);
}

#[test]
fn object_that_was_deleted_for_its_recreation_waits_for_its_namespace() {
    let mut world = World::new(vec![map("inner", &[("update-policy", "recreate")])]);
    world.apply();
    world.manifests[0]["data"]["k"] = json!("another");
    let mut running = world.read(Intent::Apply);
    let gone = WriteError {
        kind: WriteErrorKind::NamespaceTerminating,
        call: "create ConfigMap team/inner".to_owned(),
        status: Some(403),
        message: "no".to_owned(),
    };
    running.drive(|_| vec![Executed::DeletedNotCreated(NotCreated::Failed(gone.clone()))]);
    let report = running.report();
    assert_eq!((report.failure(), report.objects[0].effect.as_str(), report.has_members()), (None, "deleted", false));
    assert!(report.why_stopped().unwrap().contains("namespace team is being deleted"));
}
