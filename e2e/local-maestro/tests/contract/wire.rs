//! The bytes of an event: which parts the server reads, and which it drops.

use anyhow::{Result, ensure};
use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue, PublishRequest};
use prost::Message as _;
use serde_json::{Value, json};

use crate::world::{CONSUMER, World, config_map, create, delete, event, with, with_data, without};

/// One field of a message: its number, its length and its bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut encoded = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        encoded.push(0x80 | u8::try_from(length & 0x7f).unwrap_or_default());
        length >>= 7;
    }
    encoded.push(u8::try_from(length).unwrap_or_default());
    encoded.extend_from_slice(bytes);
    encoded
}

#[tokio::test]
async fn bytes_written_by_hand_create_a_bundle() -> Result<()> {
    let world = World::new().await?;
    let attribute = |name: &str, value: Vec<u8>| field(5, &[field(1, name.as_bytes()), field(2, &value)].concat());
    let text = |text: &str| field(3, text.as_bytes());
    let message = [
        field(1, b"e-1"),
        field(2, b"by-hand"),
        field(3, b"1.0"),
        field(4, b"io.open-cluster-management.works.v1alpha1.manifestbundles.spec.create_request"),
        attribute("contenttype", text("application/json")),
        // Seconds of 2026-11-25T00:00:00Z.
        attribute("ce-time", field(7, &[0x08, 0x80, 0xca, 0x98, 0xd8, 0x06])),
        attribute("ce-clustername", text(CONSUMER)),
        attribute("ce-resourceid", text("by-hand-1")),
        // The integer 3.
        attribute("ce-resourceversion", vec![0x10, 0x03]),
        field(6, json!({ "manifests": [config_map("first")] }).to_string().as_bytes()),
    ]
    .concat();
    let request = PublishRequest::decode(field(1, &message).as_slice())?;
    world.grpc.clone().publish(request).await?;
    let bundle = world.maestro.bundle("by-hand-1");
    let payload = bundle.as_ref().map(|bundle| &bundle.payload);
    let member = |name: &str| payload.and_then(|payload| payload.get(name)).cloned().unwrap_or_default();
    assert_eq!(bundle.as_ref().map(|bundle| (bundle.version, bundle.source.as_str())), Some((3, "by-hand")));
    assert_eq!((member("id"), member("time")), ("e-1".into(), "2026-11-25T00:00:00Z".into()));
    Ok(())
}

#[tokio::test]
async fn attributes_without_prefix_are_dropped_in_silence() -> Result<()> {
    let world = World::new().await?;
    let standard = with(without(create("new"), "ce-resourceid"), "resourceid", Attr::CeString("new".to_owned()));
    let text = world.refused(standard).await?;
    ensure!(text.starts_with("failed to decode cloudevent: failed to get resourceid extension: "), "{text}");
    // A type in a prefixed attribute is no type, and a surplus attribute changes nothing.
    world.publish(with(create("new"), "subject", Attr::CeInteger(1))).await?;
    Ok(())
}

#[tokio::test]
async fn text_and_proto_data_count_as_no_data() -> Result<()> {
    let world = World::new().await?;
    let mut event = create("text");
    event.data = Some(Data::TextData(json!({ "manifests": [config_map("first")] }).to_string()));
    world.publish(event).await?;
    assert_eq!(world.bundle("text").await?["manifests"], json!([]));
    Ok(())
}

#[tokio::test]
async fn events_of_unknown_encoding_are_refused() -> Result<()> {
    let world = World::new().await?;
    let bare = CloudEvent { attributes: std::collections::HashMap::new(), ..create("new") };
    let versionless = CloudEvent { spec_version: String::new(), ..create("new") };
    let empty = {
        let mut event = create("new");
        event.attributes.insert("ce-subject".to_owned(), CloudEventAttributeValue { attr: None });
        event
    };
    for event in [bare, versionless, empty] {
        let text = world.refused(event).await?;
        ensure!(text.starts_with("failed to convert to cloudevent: "), "{text}");
    }
    let nothing = world.grpc.clone().publish(PublishRequest { event: None }).await;
    ensure!(nothing.is_err_and(|status| status.message().starts_with("failed to convert to cloudevent: ")));
    Ok(())
}

#[tokio::test]
async fn numbers_and_times_may_be_strings() -> Result<()> {
    let world = World::new().await?;
    world.publish(with(create("new"), "ce-resourceversion", Attr::CeString("12".to_owned()))).await?;
    assert_eq!(world.bundle("new").await?["version"], 12);
    let time = Attr::CeString("2026-11-25T00:00:00Z".to_owned());
    world.publish(with(delete("new"), "ce-deletiontimestamp", time)).await?;
    ensure!(world.bundle("new").await?["deleted_at"].is_string());
    Ok(())
}

#[tokio::test]
async fn structured_events_are_read_from_the_data_alone() -> Result<()> {
    let world = World::new().await?;
    let document = json!({
        "specversion": "1.0", "id": "e-1", "source": "structured",
        "type": "io.open-cluster-management.works.v1alpha1.manifestbundles.spec.create_request",
        "datacontenttype": "application/json",
        "clustername": CONSUMER, "resourceid": "structured-1", "resourceversion": 0,
        "metadata": "{\"labels\":{\"a\":\"b\"}}",
        "data": { "manifests": [config_map("first")] },
    });
    let outer = with(
        event("spec.delete_request", "outer", 9),
        "contenttype",
        Attr::CeString("application/cloudevents+json".to_owned()),
    );
    world.publish(with_data(outer, &document)).await?;
    let bundle = world.bundle("structured-1").await?;
    assert_eq!((&bundle["version"], &bundle["metadata"]["labels"]), (&Value::from(1), &json!({ "a": "b" })));
    Ok(())
}

#[tokio::test]
async fn metadata_and_data_have_to_be_json() -> Result<()> {
    let world = World::new().await?;
    let list = with(create("new"), "ce-metadata", Attr::CeString("[]".to_owned()));
    let mut broken = create("new");
    broken.data = Some(Data::BinaryData(b"{".to_vec()));
    for event in [list, broken] {
        let text = world.refused(event).await?;
        ensure!(text.starts_with("failed to decode cloudevent: "), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn message_of_more_than_four_mebibytes_is_refused() -> Result<()> {
    let world = World::new().await?;
    let mut large = config_map("large");
    large["data"] = json!({ "value": "x".repeat(4 << 20) });
    let event = with_data(create("large"), &json!({ "manifests": [large] }));
    ensure!(world.publish(event).await.is_err() && world.maestro.bundle("large").is_none());
    Ok(())
}
