//! Each invariant that is judged before a write: one write that breaks it, and the same write in an allowed situation.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cluster::{CONTENT, Cluster, LABELS, OWNER, STRANGER, THING};
use super::judge::{Demand, Write, judge, judge_handover, judge_remains, judge_rest, judge_strangers};
use super::life::{Kind, Settings, Shape};
use crate::world::{ADAPTER, ENTRY};

/// A bundle at rest: each object is wanted, there, and ready.
struct Case {
    demand: Demand,
    cluster: Cluster,
}

/// The objects of the bundle. Whatever has the `apply-order` 0 comes before `map`.
const OBJECTS: [(&str, Kind, &str, i16); 6] = [
    ("map", Kind::Map, "ConfigMap", 1),
    ("foo", Kind::Foo, "Foo", 0),
    ("content", Kind::Content, "ConfigMap", 0),
    ("instance", Kind::Instance, THING, 0),
    ("type", Kind::Type, "CustomResourceDefinition", 0),
    ("team", Kind::Namespace, "Namespace", 0),
];

impl Case {
    fn new() -> Self {
        let shape = |(_, kind, _, apply_order)| {
            let (adoption, reconcile, update, delete) = ("if-unowned", "on-object-change", "apply", "delete");
            let settings =
                Settings { apply_order, delete_order: 0, purge_order: None, adoption, reconcile, update, delete };
            Shape { kind, settings }
        };
        let names = OBJECTS.map(|(name, ..)| name.to_owned()).to_vec();
        let (shapes, is_wanted) = (OBJECTS.map(shape).to_vec(), vec![true; OBJECTS.len()]);
        let annotations = json!({
            "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Foo.example.com,Thing.example.com",
            "applyset.kubernetes.io/additional-namespaces": "team",
        });
        let parent = json!({ "kind": "ConfigMap", "metadata": { "name": ENTRY, "annotations": annotations } });
        let mut cluster = Cluster::default();
        cluster.add(parent);
        for (name, ..) in OBJECTS {
            cluster.add(member(name));
        }
        let contents = vec![0; OBJECTS.len()];
        let demand = Demand { names, shapes, is_wanted, contents, is_deleting: false, is_disowning: false };
        Self { demand, cluster }
    }

    fn place(&self, name: &str) -> usize {
        self.demand.place(name).unwrap_or_default()
    }

    fn live(&mut self, name: &str) -> &mut Value {
        self.cluster.objects.entry(name.to_owned()).or_default()
    }

    fn parent(&mut self) -> &mut Value {
        self.cluster.parent.get_or_insert_default()
    }

    fn settings(&mut self, name: &str) -> &mut Settings {
        let place = self.place(name);
        &mut self.demand.shapes[place].settings
    }

    fn remove(&mut self, name: &str) {
        self.cluster.objects.remove(name);
    }

    fn want(&mut self, name: &str, is_wanted: bool) {
        let place = self.place(name);
        self.demand.is_wanted[place] = is_wanted;
    }

    fn depart(&mut self, name: &str, said: &str) {
        self.live(name)["metadata"]["annotations"]["hyperfleet.io/deletion"] = json!(said);
    }

    fn strip(&mut self, name: &str) {
        self.live(name)["metadata"]["labels"] = json!({});
    }

    /// Has a stranger create an object, also with the labels of a member.
    fn intrude(&mut self, kind: &str, namespace: &str, is_copy: bool) {
        let mut object = member("foreign");
        (object["kind"], object["metadata"]["namespace"]) = (json!(kind), json!(namespace));
        if !is_copy {
            object["metadata"]["labels"] = json!({});
        }
        object["metadata"]["labels"][STRANGER] = json!("yes");
        self.cluster.add(object);
    }
}

/// A ready member.
fn member(name: &str) -> Value {
    let kind = OBJECTS.iter().find(|(it, ..)| *it == name).map(|(_, _, kind, _)| *kind);
    let mut object = json!({
        "kind": kind,
        "metadata": {
            "name": name, "uid": name, "generation": 1, "namespace": if name == "content" { "team" } else { "ns" },
            "annotations": { "hyperfleet.io/deletion": "delete,0,it", CONTENT: "0" },
        },
        "status": {
            "observedGeneration": 1,
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Established", "status": "True" }],
        },
    });
    for label in LABELS {
        object["metadata"]["labels"][label] = json!(if label == OWNER { ADAPTER } else { "its" });
    }
    object
}

/// What makes the write possible, and what makes the write break the invariant.
type Change = fn(&mut Case);

const CREATE_MAP: (Write<'_>, &str, Change) = (Write::Create("ConfigMap"), "map", |it| it.remove("map"));
const CREATE_CONTENT: (Write<'_>, &str, Change) = (Write::Create("ConfigMap"), "content", |it| it.remove("content"));
const CREATE_INSTANCE: (Write<'_>, &str, Change) = (Write::Create(THING), "instance", |it| it.remove("instance"));
const UPDATE_MAP: (Write<'_>, &str, Change) = (Write::Update, "map", |_| ());
const ADOPT_MAP: (Write<'_>, &str, Change) = (Write::Update, "map", |it| it.strip("map"));
const REMOVE_MAP: (Write<'_>, &str, Change) = (Write::Delete, "map", |it| it.want("map", false));
const DISOWN_MAP: (Write<'_>, &str, Change) = (Write::Disown, "map", |it| {
    it.want("map", false);
    it.depart("map", "orphan,0,it");
});
const DISOWN_INSTANCE: (Write<'_>, &str, Change) = (Write::Disown, "instance", |it| {
    it.want("instance", false);
    it.depart("instance", "orphan,0,it");
});
const RECREATE_MAP: (Write<'_>, &str, Change) = (Write::Delete, "map", |it| it.settings("map").update = "recreate");
const PURGE_MAP: (Write<'_>, &str, Change) = (Write::Delete, "map", |it| {
    it.settings("map").purge_order = Some(0);
    it.parent()["data"]["memory"] = json!(json!({ "completed": { "ConfigMap ns/map": "" } }).to_string());
});
const REMOVE_TYPE: (Write<'_>, &str, Change) = (Write::Delete, "type", |it| {
    it.want("type", false);
    it.remove("instance");
    it.want("instance", false);
});
const REMOVE_TEAM: (Write<'_>, &str, Change) = (Write::Delete, "team", |it| {
    it.want("team", false);
    it.remove("content");
    it.want("content", false);
});
const DEPART_MAP: (Write<'_>, &str, Change) = (Write::Depart, "map", |it| {
    it.settings("map").reconcile = "once";
    it.depart("map", "orphan,0,it");
});
const HAND_OVER_MAP: (Write<'_>, &str, Change) = (Write::Disown, "map", |it| it.demand.is_disowning = true);
const HAND_OVER_PARENT: (Write<'_>, &str, Change) = (Write::Disown, ENTRY, |it| it.cluster.objects.clear());
const REMOVE_PARENT: (Write<'_>, &str, Change) = (Write::Delete, ENTRY, |it| it.cluster.objects.clear());

const UNREADY_FOO: Change = |it| it.live("foo")["status"] = Value::Null;

#[test]
fn judge_notices_each_broken_invariant_and_allows_the_same_write_otherwise() {
    let rows: &[((Write<'_>, &str, Change), Change, &str)] = &[
        (UPDATE_MAP, |it| it.demand.names.clear(), "it is at no place of the life"),
        (CREATE_MAP, |it| it.want("map", false), "it is not wanted"),
        (CREATE_MAP, |it| it.parent()["metadata"] = Value::Null, "the parent does not name the kind"),
        (
            CREATE_CONTENT,
            |it| it.parent()["metadata"]["annotations"]["applyset.kubernetes.io/additional-namespaces"] = json!(""),
            "the parent does not name the namespace",
        ),
        (CREATE_CONTENT, |it| it.remove("team"), "it is written before Some(\"team\") is there"),
        (CREATE_INSTANCE, |it| it.remove("type"), "it is written before Some(\"type\") is there"),
        (CREATE_INSTANCE, |it| it.live("type")["status"] = Value::Null, "Some(\"type\") is not ready"),
        (CREATE_MAP, UNREADY_FOO, "Some(\"foo\") is not ready"),
        (CREATE_MAP, |it| it.strip("foo"), "Some(\"foo\") is not ready"),
        (UPDATE_MAP, UNREADY_FOO, "Some(\"foo\") is not ready"),
        (RECREATE_MAP, UNREADY_FOO, "Some(\"foo\") is not ready"),
        (UPDATE_MAP, |it| it.want("map", false), "it is not wanted"),
        (UPDATE_MAP, |it| it.remove("map"), "there is no such object"),
        (UPDATE_MAP, |it| it.live("map")["metadata"]["deletionTimestamp"] = json!("now"), "it is terminating"),
        (ADOPT_MAP, |it| it.live("map")["metadata"]["labels"]["hyperfleet.io/disowned"] = json!(""), "it was disowned"),
        (ADOPT_MAP, |it| it.cluster.parent = None, "no parent"),
        (ADOPT_MAP, |it| it.live("map")["metadata"]["labels"][OWNER] = json!("another"), "it is somebody else's"),
        (ADOPT_MAP, |it| it.settings("map").adoption = "never", "it is somebody else's"),
        (REMOVE_MAP, |it| it.remove("map"), "there is no such object"),
        (REMOVE_MAP, |it| it.strip("map"), "it is no member"),
        (DISOWN_MAP, |it| it.strip("map"), "it is no member"),
        (DISOWN_MAP, |it| it.want("map", true), "it is wanted"),
        (RECREATE_MAP, |it| it.settings("map").update = "apply", "it is wanted, and has not served"),
        (PURGE_MAP, UNREADY_FOO, "it is purged before Some(\"foo\") is ready"),
        (REMOVE_MAP, |it| it.depart("map", "orphan,0,it"), "its policy is orphan"),
        (REMOVE_MAP, |it| it.depart("map", "orphan-on-apply,0,it"), "its policy is orphan-on-apply"),
        (DISOWN_MAP, |it| it.depart("map", "orphan-on-delete,0,it"), "its policy is orphan-on-delete"),
        (REMOVE_MAP, UNREADY_FOO, "something leaves before Some(\"foo\") is ready"),
        (
            REMOVE_MAP,
            |it| {
                it.want("foo", false);
                it.depart("foo", "delete,-1,it");
            },
            "and foo of turn (false, -1, 2) is there",
        ),
        (REMOVE_MAP, |it| it.want("instance", false), "and instance of turn (false, 0, 0) is there"),
        (REMOVE_MAP, |it| it.want("type", false), "and type of turn (false, 0, 1) is there"),
        (REMOVE_TYPE, |it| it.cluster.add(member("instance")), "and instance of turn (false, 0, 0) is there"),
        (REMOVE_TEAM, |it| it.cluster.add(member("content")), "and content of turn (false, 0, 2) is there"),
        (REMOVE_TEAM, |it| it.want("map", false), "and map of turn (false, 0, 2) is there"),
        (REMOVE_TEAM, |it| it.intrude("ConfigMap", "team", false), "[\"foreign\"] would go with it"),
        (REMOVE_TEAM, |it| it.intrude("ConfigMap", "team", true), "[\"foreign\"] would go with it"),
        (REMOVE_TYPE, |it| it.intrude(THING, "elsewhere", false), "[\"foreign\"] would go with it"),
        (REMOVE_TYPE, |it| it.intrude(THING, "elsewhere", true), "[\"foreign\"] would go with it"),
        (REMOVE_PARENT, |it| it.cluster.add(member("map")), "[\"map\"] are still members"),
        (DISOWN_INSTANCE, |it| it.want("type", false), "it is disowned, and type would wait for it for ever"),
        (HAND_OVER_PARENT, |it| it.cluster.add(member("map")), "[\"map\"] are still members"),
        (HAND_OVER_MAP, |it| it.strip("map"), "it is no member"),
        (HAND_OVER_MAP, |it| it.live("map")["metadata"]["labels"][OWNER] = json!("another"), "it is no member"),
        (DEPART_MAP, UNREADY_FOO, "Some(\"foo\") is not ready"),
        (DEPART_MAP, |it| it.depart("map", "delete,0,it"), "it says so already"),
        (DEPART_MAP, |it| it.settings("map").reconcile = "on-object-change", "it is not written once"),
        (DEPART_MAP, |it| it.want("map", false), "it is no wanted member"),
        (DEPART_MAP, |it| it.strip("map"), "it is no wanted member"),
        (REMOVE_MAP, |it| it.demand.is_disowning = true, "it is handed over"),
    ];
    for ((write, name, allow), breaks, words) in rows {
        let mut case = Case::new();
        allow(&mut case);
        let verdict = judge(*write, name, &case.cluster, &case.demand).map_err(|error| format!("{error:#}"));
        assert_eq!(verdict, Ok(()), "{write:?} of {name}, before it breaks `{words}`");
        breaks(&mut case);
        let verdict = judge(*write, name, &case.cluster, &case.demand).map_err(|error| format!("{error:#}"));
        assert!(
            verdict.as_ref().is_err_and(|error| error.contains(words)),
            "{write:?} of {name}: {verdict:?}, not `{words}`"
        );
    }
}

#[test]
fn judge_notices_what_strangers_lost() {
    let mut case = Case::new();
    case.intrude("ConfigMap", "team", true);
    let made = BTreeSet::from(["foreign".to_owned()]);
    assert!(judge_strangers(&made, &case.cluster).is_ok());
    case.cluster.strangers[0]["metadata"]["deletionTimestamp"] = json!("now");
    let verdict = judge_strangers(&made, &case.cluster).map_err(|error| error.to_string());
    assert_eq!(verdict, Err("what strangers made is gone: [\"foreign\"]".to_owned()));
}

/// The words of an error; empty if there is none.
fn words(verdict: anyhow::Result<()>) -> String {
    verdict.err().map(|error| format!("{error:#}")).unwrap_or_default()
}

#[test]
fn judge_notices_what_is_wrong_with_a_bundle_at_rest() {
    let rows: [(Change, &str, &str); 9] = [
        (|_| (), "", ""),
        (|it| it.remove("map"), "", "map is not there"),
        (|it| it.live("map")["metadata"]["annotations"][CONTENT] = json!("1"), "", "map has another content"),
        (|it| it.depart("map", "orphan,0,it"), "", "map is to go by"),
        (|it| it.depart("map", "delete,1,it"), "", "map is to go by"),
        (|it| it.want("map", false), "", "map is not wanted, and still a member"),
        (|it| it.strip("map"), "", "map is somebody else's, and nothing is said of it"),
        (|it| it.strip("map"), "map is taken", ""),
        (|_| (), "something", "nobody is in its way, but: something"),
    ];
    for (number, (change, why, expected)) in rows.into_iter().enumerate() {
        let mut case = Case::new();
        change(&mut case);
        let found = words(judge_rest(&case.cluster, &case.demand, why));
        assert!(found.is_empty() == expected.is_empty() && found.starts_with(expected), "row {number}: {found}");
    }
    // What has served need not be there, but what is to stay from now on does.
    let (_, _, serve) = PURGE_MAP;
    let mut case = Case::new();
    serve(&mut case);
    case.remove("map");
    assert_eq!(words(judge_rest(&case.cluster, &case.demand, "")), "");
    case.settings("map").purge_order = None;
    assert_eq!(words(judge_rest(&case.cluster, &case.demand, "")), "map is not there");
}

#[test]
fn judge_notices_what_a_bundle_left() {
    let rows: [(Change, &str, &str); 6] = [
        (|it| it.cluster.objects.clear(), "", "the parent is not disowned"),
        (|it| it.cluster.add(member("map")), "map is still a member", "map is left with the label"),
        (|it| it.strip("map"), "map was created, and is left", ""),
        (
            |it| it.live("map")["metadata"]["labels"] = json!({ OWNER: ADAPTER }),
            "map was created",
            "map is left with the label",
        ),
        (
            |it| it.live("other")["metadata"]["labels"] = json!({ OWNER: ADAPTER }),
            "other is left as the adapter's",
            "other is left",
        ),
        (|it| it.live("other")["metadata"]["labels"] = json!({ OWNER: "another" }), "", ""),
    ];
    for (number, (change, deleted, disowned)) in rows.into_iter().enumerate() {
        let mut case = Case::new();
        case.cluster.objects.clear();
        change(&mut case);
        let parent = case.cluster.parent.take();
        let found = words(judge_remains(&case.cluster, |object| {
            object["metadata"]["uid"] == "map" || object["metadata"]["uid"] == Value::Null && number < 4
        }));
        assert!(found.is_empty() == deleted.is_empty() && found.starts_with(deleted), "row {number}: {found}");
        case.cluster.parent = parent;
        if number > 0 {
            case.parent()["metadata"]["labels"]["hyperfleet.io/disowned"] = json!("c1");
        }
        let found = words(judge_handover(&case.cluster));
        assert!(found.is_empty() == disowned.is_empty() && found.starts_with(disowned), "row {number}: {found}");
    }
    let mut case = Case::new();
    case.cluster.objects.clear();
    assert_eq!(words(judge_remains(&case.cluster, |_| false)), "the parent is still there");
    case.cluster.parent = None;
    assert_eq!(words(judge_handover(&case.cluster)), "the parent is gone");
}
