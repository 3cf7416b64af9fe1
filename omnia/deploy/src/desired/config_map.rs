//! The `ConfigMap`, which keeps the text of the pack.
//!
//! In: the pack. Out: its text as it was sent; nothing where the server makes the object itself. Fails: if Kubernetes would
//! refuse the size.

use serde_json::{Map, Value, json};

use super::{Making, Surface, present};

/// The most that Kubernetes keeps in the data of a `ConfigMap`.
const LIMIT: usize = 1024 * 1024;
/// The key of the pack's text.
pub(super) const KEY: &str = "pack.json";

pub(super) fn content(making: &Making<'_>) -> Option<Map<String, Value>> {
    let text = &making.inputs.pack.text;
    match making.inputs.surface {
        Surface::Current => return None,
        Surface::Versioned => {}
        Surface::Cluster if text.len() > LIMIT => {
            let message = format!("has {} bytes, and a ConfigMap keeps {LIMIT}", text.len());
            making.of_pack.root(&Value::Null).refuse(message, "split the pack".to_owned());
        }
        Surface::Cluster => {}
    }
    Some(present([("data", Some(json!({ KEY: text })))]))
}
