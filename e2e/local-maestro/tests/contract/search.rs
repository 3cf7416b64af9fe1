//! Both dialects of searches, and the third truth value.

use anyhow::{Result, ensure};
use lifecycle_proto::cloud_event_attribute_value::Attr;
use serde_json::{Value, json};

use crate::world::{World, create, delete, with, with_metadata, without};

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().into_iter().flatten().filter_map(|item| item["id"].as_str()).collect()
}

/// Bundles of two sources and two consumers, with and without labels.
async fn world() -> Result<World> {
    let world = World::new().await?;
    let labelled = |id: &str, labels: &Value| with_metadata(create(id), &json!({ "labels": labels }));
    let elsewhere = |event| with(event, "ce-clustername", Attr::CeString("cluster-b".to_owned()));
    let mut others = labelled("d", &json!({ "app": "y" }));
    others.source = "other".to_owned();
    for event in [
        labelled("a", &json!({ "app": "x", "tier": "front", "hyperfleet.io/name": "it's" })),
        elsewhere(labelled("b", &json!({ "app": "y" }))),
        without(create("c"), "ce-metadata"),
        others,
    ] {
        world.publish(event).await?;
    }
    world.publish(delete("b")).await?;
    Ok(world)
}

#[tokio::test]
async fn searches_find_what_their_conditions_hold_of() -> Result<()> {
    let world = world().await?;
    let labels = "payload->'metadata'->'labels'";
    let cases: [(String, &[&str]); 24] = [
        ("source='lifecycle'".into(), &["a", "b", "c"]),
        ("source = 'lifecycle' and consumer_name = 'cluster-a'".into(), &["a", "c"]),
        ("source='lifecycle' and (consumer_name='cluster-a' or consumer_name='cluster-b')".into(), &["a", "b", "c"]),
        ("source='other' or source='lifecycle' and consumer_name='cluster-b'".into(), &["b", "d"]),
        ("id in ('a','d')".into(), &["a", "d"]),
        ("source != 'lifecycle'".into(), &["d"]),
        ("id like 'a%'".into(), &["a"]),
        ("version > 0 and id < 'c'".into(), &["a", "b"]),
        ("deleted_at is null".into(), &["a", "c", "d"]),
        ("deleted_at is not null".into(), &["b"]),
        // Unknown and false is false, so its opposite is true; unknown alone has no opposite.
        ("not (deleted_at > '2020-01-01T00:00:00Z' and id = 'none')".into(), &["a", "b", "c", "d"]),
        ("not (deleted_at > '2020-01-01T00:00:00Z')".into(), &[]),
        ("name = 'c'".into(), &["c"]),
        ("source='nobody'".into(), &[]),
        (format!(r#"{labels}@>'{{"app":"x"}}'"#), &["a"]),
        (format!(r#"source='lifecycle' and {labels}@>'{{"app":"y"}}'"#), &["b"]),
        (format!(r#"{labels}@>'{{"app":"x","tier":"front"}}'"#), &["a"]),
        // Rows without the label are unknown, not unequal.
        (format!("{labels}->>'app'<>'x'"), &["b", "d"]),
        (format!("{labels}->>'tier'<>'back'"), &["a"]),
        (format!("{labels}->>'app'in('x','z')"), &["a"]),
        (format!("{labels}->>'app' not in ('x')"), &["b", "d"]),
        (format!("{labels}->>'app'='y' and SOURCE='other'"), &["d"]),
        (format!("{labels}->>'tier'<>null"), &["a"]),
        (format!("{labels}->>'hyperfleet.io/name'='it\\'s'"), &["a"]),
    ];
    for (search, expected) in cases {
        let list = world.search("resource-bundles", &search).await?.expect(200)?;
        ensure!(ids(&list) == expected, "{search}: {:?}", ids(&list));
        ensure!(list["total"] == expected.len(), "{search}: {list}");
    }
    Ok(())
}

#[tokio::test]
async fn unknown_syntax_is_a_search_error() -> Result<()> {
    let world = world().await?;
    let label = "payload->'metadata'->'labels'->>'a'='b'";
    let cases = [
        "source".to_owned(),
        "source='a".to_owned(),
        "source='a' and".to_owned(),
        "(source='a'".to_owned(),
        "source='a') or (source='b'".to_owned(),
        "source=='a'".to_owned(),
        "source='a' xor id='b'".to_owned(),
        "nothing='a'".to_owned(),
        "source='a'; drop".to_owned(),
        "source is 'a'".to_owned(),
        "id in 'a'".to_owned(),
        "created_at > 'yesterday'".to_owned(),
        format!("source != 'a' and {label}"),
        format!("deleted_at is null and {label}"),
        format!("not ({label})"),
        "payload->'metadata'@>'no json'".to_owned(),
        "payload->>metadata='a'".to_owned(),
        vec![label.to_owned(); 12].join(" or "),
    ];
    for search in cases {
        let answer = world.search("resource-bundles", &search).await?;
        let reason = answer.error(400, 23).map_err(|error| error.context(search.clone()))?;
        ensure!(reason.starts_with("Failed to parse search query"), "{search}: {reason}");
    }
    let most = vec![label.to_owned(); 11].join(" or ");
    world.search("resource-bundles", &most).await?.expect(200)?;
    Ok(())
}
