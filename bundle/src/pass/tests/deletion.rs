//! What goes and what stays: deletion, removal, disowning, and the objects of others.

use super::*;

#[test]
fn deletion_goes_by_delete_order_and_waits_for_what_is_held() {
    let mut world = World::new(vec![
        map("last", &[("delete-order", "1")]),
        map("first", &[]),
        map("kept", &[("delete-policy", "orphan")]),
    ]);
    world.apply();
    world.store.hold("first");
    world.writes();
    let report = world.pass(Intent::Delete).unwrap();
    assert_eq!(world.writes(), ["delete first", "disown kept"]);
    let held = "deletion wave 0: ConfigMap team/first is still there, held by the finalizer example.io/hold";
    assert_eq!(report.why_stopped().as_deref(), Some(held));
    world.store.remove("first");
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete last"]);
    assert_eq!(world.store.names(), ["kept", "monitoring"]);
    assert_eq!(world.store.object("kept")["metadata"]["labels"], Value::Null);
}

#[test]
fn disowned_bundle_keeps_its_objects_without_labels() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    let report = world.pass(Intent::Disown).unwrap();
    assert_eq!((effects(&report), report.stopped), (vec!["a disowned".to_owned(), "b disowned".to_owned()], None));
    assert_eq!(world.store.object("a")["metadata"]["labels"], Value::Null);
}

#[test]
fn instances_come_after_their_type_and_go_before_it() {
    let mut world = World::new(vec![object("example.io/v1", "Bar", "b", &[]), type_of_bars()]);
    let report = world.apply();
    assert_eq!(effects(&report), ["b none", "bars.example.io created"]);
    let established = [("Established", "True"), ("NamesAccepted", "True")];
    let conditions = established.map(|(kind, status)| json!({ "type": kind, "status": status }));
    world.store.change("bars.example.io", &json!({ "status": { "conditions": conditions } }));
    assert_eq!(effects(&world.apply()), ["b created", "bars.example.io none"]);
    world.writes();
    world.store.hold("b");
    world.pass(Intent::Delete).unwrap();
    assert_eq!(world.writes(), ["delete b"]);
}

#[test]
fn deletion_waits_for_what_would_go_with_it() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let mut world = World::new(vec![namespace, type_of_bars(), map("a", &[])]);
    let established = [("Established", "True"), ("NamesAccepted", "True")];
    let conditions = established.map(|(kind, status)| json!({ "type": kind, "status": status }));
    world.apply();
    world.store.change("bars.example.io", &json!({ "status": { "conditions": conditions, "phase": "Active" } }));
    assert_eq!(world.apply().stopped, None);
    assert!(world.inspected.is_empty());
    world.writes();

    let of_others = |kind: GroupKind, namespace: &str| Identity {
        kind,
        namespace: Some(namespace.to_owned()),
        name: "x".to_owned(),
    };
    let bar = of_others(GroupKind::new("example.io", "Bar"), "somebody");
    world.found.insert("example.io/Bar".to_owned(), bar.clone());
    let report = world.pass(Intent::Delete).unwrap();
    let expected =
        "deletion guard: Bar.example.io somebody/x is not of this bundle; the deletion waits until it is gone";
    assert_eq!((report.why_stopped().as_deref(), report.blocked_by()), (Some(expected), Some(&bar)));
    assert!(world.writes().is_empty());

    world.found = BTreeMap::from([("space".to_owned(), of_others(GroupKind::new("", "ConfigMap"), "space"))]);
    let report = world.pass(Intent::Delete).unwrap();
    let expected =
        "deletion wave 0, namespaces: ConfigMap space/x is not of this bundle; the deletion waits until it is gone";
    assert_eq!(report.why_stopped().as_deref(), Some(expected));
    assert_eq!(report.blocked_by().map(|it| it.kind.clone()), Some(GroupKind::new("", "ConfigMap")));
    assert_eq!(world.writes(), ["delete bars.example.io", "delete a"]);

    world.found.clear();
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete space"]);
    // Types are looked at before anything is deleted, and once more before they go themselves.
    assert_eq!(world.inspected, ["example.io/Bar", "example.io/Bar", "example.io/Bar", "space", "space"]);
}

#[test]
fn types_that_stay_are_not_guarded() {
    let mut definition = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "bars.example.io",
        &[("delete-policy", "orphan-on-delete")],
    );
    definition["spec"] = json!({ "group": "example.io", "names": { "kind": "Bar" } });
    let mut world = World::new(vec![definition]);
    world.apply();
    world.writes();
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!((world.writes(), world.inspected.len()), (vec!["disown bars.example.io".to_owned()], 0));
}

#[test]
fn type_or_namespace_does_not_leave_before_what_is_in_it() {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } });
    let mut inner = map("inner", &[]);
    inner["metadata"]["namespace"] = json!("space");
    let mut world = World::new(vec![space, type_of_bars(), inner.clone(), object("example.io/v1", "Bar", "b", &[])]);
    world.apply();
    world.store.change("space", &json!({ "status": { "phase": "Active" } }));
    establish(&mut world);
    assert_eq!(world.apply().stopped, None);
    world.writes();
    for (left, expected) in [
        (
            vec![inner.clone(), type_of_bars()],
            "Namespace space has left the manifests, and ConfigMap space/inner would go with it",
        ),
        (
            vec![object("example.io/v1", "Bar", "b", &[])],
            "CustomResourceDefinition.apiextensions.k8s.io bars.example.io has left the manifests, and Bar.example.io team/b would",
        ),
    ] {
        world.manifests = left;
        let stopped = world.apply().why_stopped().unwrap();
        assert!(stopped.starts_with(expected), "{stopped}");
        assert!(world.writes().is_empty());
    }
}

#[test]
fn copy_of_a_member_that_a_controller_made_is_no_member() {
    let copies: [fn(&mut Value); 3] = [
        // Labels alone.
        |copy| copy["metadata"]["annotations"] = json!({}),
        // Labels and annotations under another name.
        |_| (),
        // An object that a controller has.
        |copy| {
            let reference = json!([{ "apiVersion": "v1", "kind": "X", "name": "x", "uid": "u", "controller": true }]);
            copy["metadata"]["ownerReferences"] = reference;
            copy["metadata"]["annotations"][keys::DELETION] = Value::Null;
        },
    ];
    for (number, make) in copies.into_iter().enumerate() {
        let mut world = World::new(vec![map("a", &[])]);
        world.apply();
        let mut copy = world.store.object("a").clone();
        copy["metadata"]["name"] = json!("copy");
        make(&mut copy);
        world.store.put(copy);
        world.apply();
        world.pass(Intent::Delete).unwrap();
        assert_eq!(world.store.names(), ["copy", "monitoring"], "copy {number}");
    }
}

#[test]
fn member_that_lost_a_mark_stops_the_pass_and_is_named() {
    for (part, key) in [("labels", keys::ADAPTER), ("annotations", keys::DIGEST)] {
        let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
        world.apply();
        world.store.change("a", &json!({ "metadata": { part: { key: null } } }));
        world.manifests.remove(0);
        world.writes();
        for intent in [Intent::Apply, Intent::Delete] {
            let stopped = world.pass(intent).unwrap().why_stopped().unwrap();
            assert!(stopped.starts_with(&format!("ConfigMap team/a has lost `{key}`")), "{stopped}");
            assert!(world.writes().is_empty());
        }
    }
}

#[test]
fn disowning_takes_the_other_marks_off_a_member_that_lost_one() {
    for (part, key) in [("labels", keys::ADAPTER), ("labels", keys::RESOURCE), ("annotations", keys::DIGEST)] {
        let mut world = World::new(vec![map("a", &[])]);
        world.apply();
        world.store.change("a", &json!({ "metadata": { part: { key: null } } }));
        let report = world.pass(Intent::Disown).unwrap();
        assert_eq!((report.why_stopped().as_deref(), effects(&report)), (None, vec!["a disowned".to_owned()]), "{key}");
        assert_eq!(world.store.object("a")["metadata"]["labels"], Value::Null, "{key}");
    }
}

#[test]
fn disowning_leaves_what_is_of_others_and_what_is_on_its_way_out() {
    let mut world = World::new(vec![map("anothers", &[]), map("going", &[]), map("lost", &[])]);
    world.apply();
    // Somebody hands an object over, and forgets the marks of the bundle.
    let labels = json!({ keys::ADAPTER: null, keys::RESOURCE_ID: "another" });
    world.store.change("anothers", &json!({ "metadata": { "labels": labels } }));
    world.store.change("lost", &json!({ "metadata": { "labels": { keys::ADAPTER: null } } }));
    let before = world.store.object("anothers").clone();
    for name in ["going", "lost"] {
        world.store.hold(name);
    }
    let deletion = |name: &str| json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "name": name } });
    world.store.change("going", &deletion("going"));
    world.store.change("lost", &deletion("lost"));
    let mut running = world.read(Intent::Disown);
    while world.step(&mut running).unwrap() {}
    let left = ["anothers", "going", "lost"].map(|name| Version::new(world.store.object(name).clone()));
    running.pass.set.found_again(&[], vec![Observation::Found(left.to_vec())]);
    assert_eq!(running.report().stopped, None);
    assert_eq!(*world.store.object("anothers"), before);
}

#[test]
fn instance_that_is_to_stay_keeps_its_type_and_everything_else() {
    let bar = |name: &str, annotations: &[(&str, &str)]| object("example.io/v1", "Bar", name, annotations);
    let mut world = World::new(vec![type_of_bars(), bar("kept", &[("delete-policy", "orphan")]), map("a", &[])]);
    world.apply();
    establish(&mut world);
    assert_eq!(world.apply().stopped, None);
    world.writes();
    let stopped = world.pass(Intent::Delete).unwrap().why_stopped().unwrap();
    let type_name = "CustomResourceDefinition.apiextensions.k8s.io bars.example.io";
    let expected =
        format!("deletion guard: Bar.example.io team/kept is to stay, but would go with {type_name}; write ");
    assert!(stopped.starts_with(&expected), "{stopped}");
    assert!(world.writes().is_empty());
    // So it is, too, if both leave the manifests. Their stages leave the parent.
    let all = std::mem::replace(&mut world.manifests, vec![map("a", &[])]);
    let stopped = world.apply().why_stopped().unwrap();
    assert!(stopped.starts_with(&expected), "{stopped}");
    assert_eq!(world.writes(), ["update monitoring"]);
    world.manifests = all;

    // Both cures.
    let said = |text: String| json!({ "metadata": { "annotations": { keys::DELETION: text } } });
    let mut other = World { store: world.store.clone(), ..World::new(world.manifests.clone()) };
    world.store.change("bars.example.io", &said(format!("orphan,0,{type_name}")));
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.store.names(), ["kept", "monitoring", "bars.example.io"]);
    other.store.change("kept", &said("delete,0,Bar.example.io team/kept".to_owned()));
    assert_eq!(other.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(other.store.names(), ["monitoring"]);
}

#[test]
fn what_serves_a_type_goes_once_the_type_is_gone() {
    let mut world = World::new(vec![type_of_bars(), map("operator", &[])]);
    world.apply();
    establish(&mut world);
    world.apply();
    world.writes();
    world.store.hold("bars.example.io");
    let stopped = world.pass(Intent::Delete).unwrap().why_stopped().unwrap();
    assert!(stopped.starts_with("deletion wave 0, types: "), "{stopped}");
    assert_eq!(world.writes(), ["delete bars.example.io"]);
    world.store.remove("bars.example.io");
    assert_eq!(world.pass(Intent::Delete).unwrap().stopped, None);
    assert_eq!(world.writes(), ["delete operator"]);
}

#[test]
fn api_service_leaves_alone_while_that_of_another_version_stays() {
    let service = |version: &str| {
        let name = format!("{version}.example.io");
        let mut object = object("apiregistration.k8s.io/v1", "APIService", &name, &[]);
        object["spec"] = json!({ "group": "example.io", "version": version });
        object
    };
    let bar = || object("example.io/v1", "Bar", "b", &[]);
    let mut world = World::new(vec![service("v1"), service("v1beta1"), bar()]);
    world.apply();
    for name in ["v1.example.io", "v1beta1.example.io"] {
        let available = json!({ "conditions": [{ "type": "Available", "status": "True" }] });
        world.store.change(name, &json!({ "status": available }));
    }
    assert_eq!(world.apply().stopped, None);
    world.writes();
    world.manifests = vec![service("v1"), bar()];
    assert_eq!(world.apply().stopped, None);
    let writes = world.writes();
    assert!(writes.contains(&"delete v1beta1.example.io".to_owned()), "{writes:?}");
    assert!(world.inspected.is_empty(), "{:?}", world.inspected);
    world.manifests = vec![bar()];
    let stopped = world.apply().why_stopped().unwrap();
    assert!(stopped.contains("APIService.apiregistration.k8s.io v1.example.io has left the manifests"), "{stopped}");
}

#[test]
fn cluster_scoped_object_is_found_although_its_manifest_has_a_namespace() {
    let mut world = World::new(vec![object("example.io/v1", "Foo", "wide", &[])]);
    world.apply();
    // The server drops the namespace.
    let mut live = world.store.object("wide").clone();
    world.store.remove("wide");
    live["metadata"].as_object_mut().unwrap().remove("namespace");
    world.store.put(live);
    world.writes();
    assert_eq!((world.apply().stopped, world.writes()), (None, vec![]));
    world.manifests.clear();
    world.apply();
    assert_eq!(world.store.names(), ["monitoring"]);
}

#[test]
fn member_that_a_person_disowned_is_left_alone() {
    let mut world = World::new(vec![map("a", &[("adoption-policy", "always")])]);
    world.apply();
    world.store.change("a", &json!({ "metadata": { "labels": { keys::DISOWNED: "c1" } } }));
    world.manifests[0]["data"]["k"] = json!("w");
    let report = world.apply();
    assert_eq!(effects(&report), ["a failed"]);
    assert!(report.why_stopped().unwrap().contains("nobody: it was disowned"));
    world.pass(Intent::Delete).unwrap();
    assert!(world.store.names().contains(&"a"));
}

#[test]
fn object_leaves_by_the_policy_with_which_it_was_last_written() {
    let mut world = World::new(vec![map("a", &[("delete-policy", "orphan")]), map("b", &[])]);
    world.apply();
    world.manifests.clear();
    world.store.change("b", &json!({ "metadata": { "annotations": { "hyperfleet.io/delete-policy": "orphan" } } }));
    world.apply();
    assert_eq!(world.store.names(), ["a", "monitoring"]);
}

#[test]
fn object_that_is_written_once_goes_by_its_latest_policy() {
    let secret = |annotations: &[(&str, &str)]| map("a", &[annotations, &[("reconcile-policy", "once")]].concat());
    let mut world = World::new(vec![secret(&[])]);
    world.apply();
    world.store.change("a", &json!({ "data": { "k": "operator's" } }));
    world.manifests = vec![secret(&[("delete-policy", "orphan")])];
    world.writes();
    let report = world.apply();
    assert_eq!((effects(&report), world.writes()), (vec!["a updated".to_owned()], vec!["patch a".to_owned()]));
    world.apply();
    assert!(world.writes().is_empty());
    // A person's edit is undone, as the manifests win.
    world.store.change("a", &json!({ "metadata": { "annotations": { keys::DELETION: "delete,0,ConfigMap team/a" } } }));
    world.apply();
    assert_eq!(world.writes(), ["patch a"]);
    world.manifests.clear();
    world.apply();
    let left = world.store.object("a");
    assert_eq!((&left["metadata"]["labels"], &left["data"]["k"]), (&Value::Null, &json!("operator's")));
}

#[test]
fn pass_of_an_older_event_does_not_take_a_policy_back() {
    let once = |annotations: &[(&str, &str)]| map("a", &[annotations, &[("reconcile-policy", "once")]].concat());
    let mut world = World::new(vec![once(&[])]);
    world.apply();
    let old = world.parent();
    (world.generation, world.manifests) = (2, vec![once(&[("delete-policy", "orphan")])]);
    world.apply();
    // It has read the parent before, and the members after that.
    (world.generation, world.manifests) = (1, vec![once(&[])]);
    let mut running = world.read(Intent::Apply);
    running.parent = old;
    world.writes();
    let stopped = world.finish(running).unwrap().why_stopped().unwrap();
    assert!(stopped.ends_with("was written for a newer generation than the event's, 1"), "{stopped}");
    assert!(world.writes().is_empty());
}

#[test]
fn object_whose_policy_of_deletion_somebody_removed_is_kept_and_named() {
    let mut world = World::new(vec![map("a", &[]), map("b", &[])]);
    world.apply();
    world.store.change("a", &json!({ "metadata": { "annotations": { keys::DELETION: null } } }));
    let report = world.pass(Intent::Delete).unwrap();
    assert_eq!(effects(&report), ["a failed", "b deleted"]);
    let stopped = report.why_stopped().unwrap();
    assert!(stopped.contains("write `delete,0,ConfigMap team/a` there to have it deleted"), "{stopped}");
    // Disowning deletes nothing, and needs no policy.
    assert_eq!(world.pass(Intent::Disown).unwrap().stopped, None);
}

#[test]
fn inspection_that_fails_or_is_not_answered_keeps_everything() {
    let mut world = World::new(vec![type_of_bars(), map("a", &[])]);
    world.apply();
    establish(&mut world);
    world.apply();
    let failure = WriteError {
        kind: WriteErrorKind::Forbidden,
        call: "inspect".to_owned(),
        status: Some(403),
        message: "no".to_owned(),
    };
    for (found, expected) in [
        (vec![Err(failure)], "deletion guard: failed to inspect: no (HTTP 403)"),
        (vec![], "deletion guard: it is not known what would go"),
    ] {
        let mut running = world.read(Intent::Delete);
        assert_eq!(running.next(), Some(Need::Siblings));
        running.pass.answer(Answer::Siblings(Siblings::default()));
        assert!(matches!(running.next(), Some(Need::Request(Request::Inspect(..)))));
        running.pass.answer(Answer::Response(Response::Inspected(found)));
        assert_eq!(running.next(), None);
        let stopped = running.report().why_stopped().unwrap();
        assert!(stopped.starts_with(expected), "{stopped}");
    }
}

/// What was found in the last look, list by list.
type Found = fn(&Version) -> Vec<Observation>;

#[test]
fn last_look_keeps_the_memory_unless_every_list_is_empty() {
    let cases: [(&str, Found, Option<&str>, bool); 6] = [
        ("nothing", |_| vec![Observation::Found(Vec::new()), Observation::Found(Vec::new())], None, false),
        (
            "a member",
            |it| vec![Observation::Found(Vec::new()), Observation::Found(vec![it.clone()])],
            Some("ConfigMap team/a was created meanwhile; the next event finds it"),
            false,
        ),
        (
            "a member, and a list that failed",
            |it| vec![Observation::Found(vec![it.clone()]), Observation::Unknown("it is down".to_owned())],
            Some("it is down"),
            true,
        ),
        (
            "one list of two",
            |_| vec![Observation::Found(Vec::new())],
            Some("the members were not read once more"),
            true,
        ),
        ("no list", |_| Vec::new(), Some("the members were not read once more"), true),
        ("a list that is forbidden", |_| vec![Observation::Forbidden("no".to_owned())], Some("no"), true),
    ];
    for (name, found, stopped, has_failed) in cases {
        let mut world = World::new(vec![map("a", &[]), object("v1", "Secret", "b", &[])]);
        world.apply();
        let member = Version::new(world.store.object("a").clone());
        let mut running = world.read_for(Intent::Delete, true);
        while world.store.names().len() > 1 {
            assert!(world.step(&mut running).unwrap());
        }
        assert!(matches!(running.next(), Some(Need::Request(Request::Read(_)))), "{name}");
        running.pass.answer(Answer::Response(Response::Read(found(&member))));
        assert_eq!(running.next(), None);
        let report = running.report();
        assert_eq!(report.why_stopped().as_deref(), stopped, "{name}");
        assert_eq!((report.is_complete(), report.failure().is_some()), (stopped.is_none(), has_failed), "{name}");
    }
}

#[test]
fn pass_that_nobody_goes_on_with_is_not_complete() {
    let mut world = World::new(vec![map("a", &[])]);
    world.apply();
    let mut running = world.read_for(Intent::Delete, true);
    assert!(!world.read_for(Intent::Delete, true).report().is_complete(), "nothing was done");
    while world.store.names().len() > 1 {
        assert!(world.step(&mut running).unwrap());
    }
    assert!(matches!(running.next(), Some(Need::Request(Request::Read(_)))));
    assert_eq!(running.report().why_stopped().as_deref(), Some("the members were not read once more"));
}

#[test]
fn command_without_an_answer_has_failed() {
    let world = World::new(vec![map("a", &[]), map("b", &[])]);
    let mut running = world.read(Intent::Apply);
    running.drive(|_| vec![Executed::Created(json!({ "metadata": { "name": "a" } }))]);
    let report = running.report();
    assert_eq!(effects(&report), ["a created", "b failed"]);
    assert!(report.failure().unwrap().message.contains("there was no answer"));
}

#[test]
fn object_of_others_is_named_although_the_memory_was_not_kept_after_it() {
    let widget = Identity { kind: GroupKind::new("example.io", "Widget"), namespace: None, name: "theirs".to_owned() };
    let before = Some(Box::new(StoppedBy::Others(widget.clone())));
    let stopped = Stop { step: None, by: StoppedBy::Memory { failure: None, before }, why: String::new() };
    let report = Report { intent: Intent::Apply, objects: Vec::new(), steps: Vec::new(), stopped: Some(stopped) };
    assert_eq!((report.blocked_by(), report.lacks_parent()), (Some(&widget), true));
}
