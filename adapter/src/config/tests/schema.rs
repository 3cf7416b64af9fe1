//! The published schemas, and the members that tasks read.

use std::collections::BTreeSet;

use lifecycle_config::decode::property;
use lifecycle_config::document;
use serde_json::{Value, json};

use super::super::{adapter_schema, broker, task_schema};

#[test]
fn published_schemas_describe_every_key() {
    for schema in [adapter_schema(), task_schema(), broker::schema()] {
        assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
        let definitions = schema["$defs"].as_object().into_iter().flatten().map(|(_, definition)| definition);
        for definition in definitions.chain([&schema]) {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{key}: {property}");
            }
        }
    }
}

#[test]
fn members_of_config_are_the_keys_of_the_deployment_file() {
    let schema = adapter_schema();
    for (mapping, members) in lifecycle_core::task::compile::CONFIG_MEMBERS {
        let found =
            property(&schema, &document::Path::of_keys(mapping)).unwrap_or_else(|| panic!("no key `{mapping}`"));
        let reference = found.get("$ref").or_else(|| found.pointer("/anyOf/0/$ref")).and_then(Value::as_str);
        let resolved = reference.and_then(|path| schema.pointer(path.trim_start_matches('#'))).unwrap_or(found);
        let keys = resolved["properties"].as_object().unwrap_or_else(|| panic!("`{mapping}` has no fixed keys"));
        let keys: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        assert_eq!(keys, members.iter().copied().collect(), "{mapping}");
    }
}
