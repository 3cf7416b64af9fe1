//! A plan as JSON, and which plans count as a first look.

#![expect(clippy::unwrap_used, reason = "tests")]

use futures::executor::block_on;
use jiff::{SignedDuration, ToSpan as _};
use lifecycle_objects::id::Generation;
use serde_json::json;

use super::*;
use crate::config::{CONFIGURATION, Environment, Flags};
use crate::survey::survey;
use crate::world::World;

const NOW: Timestamp = Timestamp::constant(1_767_261_600, 0);

fn config(adapters: &str, api: &str) -> Config {
    let text = format!(
        "adapters: [{adapters}]\nresource_id_pattern: 'r[0-9]'\nlimits: {{percent: 100}}\napi: {{base_url: '{api}'}}\n"
    );
    CONFIGURATION.parse("test", &text, &Environment::new(), &Flags::new()).unwrap().0
}

/// A plan with the orphan `free`, and the orphan `owned`, which another object owns.
fn plan(config: &Config) -> Value {
    let world = World::default();
    world.set_resources([("r0".to_owned(), Generation(1))].into());
    for (name, owners) in [("free", json!([])), ("owned", json!([{ "name": "another" }]))] {
        let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r1" });
        let metadata = json!({ "name": name, "namespace": "team", "uid": format!("uid-of-{name}"), "labels": labels,
                               "ownerReferences": owners });
        world.add(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    }
    let policy = (&config.policy, &config.filter);
    let found = block_on(survey(&world, &world, policy, &mut Strikes::default(), async || None, || NOW));
    json(&found.after_grace(NOW), config, NOW)
}

#[test]
fn plan_is_a_first_strike_against_what_would_be_deleted() {
    let config = config("a", "http://api");
    let plan = plan(&config);
    let later = NOW + SignedDuration::from_hours(24);
    let strikes = first_strikes(&plan.to_string(), &config, later).unwrap();
    assert_eq!((strikes.count(), strikes.oldest()), (1, Some(NOW)), "{plan}");
    let verdicts: Vec<_> = plan["objects"].as_array().unwrap().iter().map(|object| &object["verdict"]).collect();
    assert_eq!(verdicts, ["delete", "has_owner"]);
}

#[test]
fn plan_names_the_kinds_of_a_bundle_that_stay() {
    let mut config = config("a", "http://api");
    config.filter.include = vec!["core/ConfigMap".parse().unwrap(), "apps/*".parse().unwrap()];
    let world = World::default();
    world.set_resources([("r0".to_owned(), Generation(1))].into());
    let labels = json!({ "hyperfleet.io/adapter": "a", "hyperfleet.io/resource-id": "r1" });
    for (name, kinds) in [("some", "Cache.example.io,ConfigMap,Deployment.apps,Secret"), ("all", "ConfigMap")] {
        let mut labels = labels.clone();
        labels["applyset.kubernetes.io/id"] = json!("applyset-x-v1");
        let annotations = json!({ "applyset.kubernetes.io/tooling": "hyperfleet-lifecycle/1",
                                  "applyset.kubernetes.io/contains-group-kinds": kinds });
        let metadata =
            json!({ "name": name, "namespace": "team", "uid": name, "labels": labels, "annotations": annotations });
        world.add(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    }
    let policy = (&config.policy, &config.filter);
    let found = block_on(survey(&world, &world, policy, &mut Strikes::default(), async || None, || NOW));
    let plan = json(&found, &config, NOW);
    let stays = |name: &str| {
        let objects = plan["objects"].as_array().unwrap();
        objects.iter().find(|object| object["name"] == name).unwrap()["stays"].clone()
    };
    assert_eq!(stays("some"), json!(["Secret", "Cache.example.io"]), "{plan}");
    assert_eq!(stays("all"), Value::Null);
    let text = text(&found, None);
    let said = "of its bundle, objects of these kinds stay, which `kinds` leaves out: Secret, Cache.example.io";
    assert!(text.contains(said), "{text}");
}

#[test]
fn plan_of_another_sweep_is_refused_with_its_cure() {
    let own = config("a, b", "http://api/");
    let text = plan(&own).to_string();
    assert!(first_strikes(&text, &config("b, a", "http://api"), NOW).is_ok(), "the same API and adapters");
    let cases = [
        (
            "another API",
            config("a, b", "http://other"),
            NOW,
            "made with `api.base_url` http://api, and now it is http://other",
        ),
        ("other adapters", config("a", "http://api"), NOW, "made for the adapters a, b, and now they are a"),
        ("the future", own.clone(), NOW - 1.second(), "which is in the future; correct this machine's clock"),
        ("too old", own, NOW + SignedDuration::from_secs(24 * 3600 + 1), "more than 24 hours ago; make another one"),
    ];
    for (name, config, now, said) in cases {
        let error = first_strikes(&text, &config, now).unwrap_err();
        assert!(error.contains(said), "{name}: {error}");
    }
    let mut strict = config("a, b", "http://api");
    strict.policy.limits.objects = 0;
    let error = first_strikes(&plan(&strict).to_string(), &strict, NOW).unwrap_err();
    assert!(error.contains("was held") && error.contains("1 of 1 objects are orphans"), "{error}");
    let error = first_strikes("{}", &config("a", "http://api"), NOW).unwrap_err();
    assert!(error.contains("is no plan: missing field") && error.contains("sweeper plan --output json"), "{error}");
}
