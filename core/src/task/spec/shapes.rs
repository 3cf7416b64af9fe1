//! The two keys, `source` and `manifest`, whose values an author can write in more than one form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::SourceMappingSpec;

/// The source of a param's value.
#[derive(Debug, Clone)]
pub enum SourceSpec {
    /// A path such as `event.id` or `env.REGION`.
    Path(String),
    /// A mapping `{ api_call | expression | file }`.
    Mapping(Box<SourceMappingSpec>),
}

struct SourceVisitor;

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = SourceSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path (`event.id`) or a mapping with one of `api_call`, `expression` and `file`")
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<SourceSpec, E> {
        Ok(SourceSpec::Path(path.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SourceSpec, A::Error> {
        SourceMappingSpec::deserialize(MapAccessDeserializer::new(map)).map(|spec| SourceSpec::Mapping(Box::new(spec)))
    }
}

impl<'de> Deserialize<'de> for SourceSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

impl JsonSchema for SourceSpec {
    fn schema_name() -> Cow<'static, str> {
        "SourceSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "description": "A path: `event.id`, `env.REGION`, `config.adapter.name`, or into an earlier param." },
                generator.subschema_for::<SourceMappingSpec>(),
            ]
        })
    }
}

/// The manifest of a resource.
#[derive(Debug, Clone)]
pub enum ManifestSpec {
    /// The manifest as a mapping in the task file.
    Inline(Map<String, Value>),
    /// The name of a file beside the task file.
    Reference(String),
    /// The manifest as a block of text, which is a template.
    Text(String),
}

struct ManifestVisitor;

impl<'de> Visitor<'de> for ManifestVisitor {
    type Value = ManifestSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping, a block of text, or `{ ref: file }`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ManifestSpec, E> {
        Ok(ManifestSpec::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ManifestSpec, A::Error> {
        let map = Map::deserialize(MapAccessDeserializer::new(map))?;
        Ok(match map.get("ref") {
            // No Kubernetes object has a top-level key `ref`, so this mapping is a reference. Other keys
            // beside `ref` have no effect, as in the Go adapter.
            Some(Value::String(file)) => ManifestSpec::Reference(file.clone()),
            Some(_) | None => ManifestSpec::Inline(map),
        })
    }
}

impl<'de> Deserialize<'de> for ManifestSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManifestVisitor)
    }
}

impl JsonSchema for ManifestSpec {
    fn schema_name() -> Cow<'static, str> {
        "ManifestSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "description": "A manifest as text: a template that renders to YAML." },
                {
                    "type": "object",
                    "description": "A manifest, or `{ ref: file }` for a file beside the task file that holds its text.",
                    "properties": { "ref": { "type": "string", "description": "The file." } },
                    "additionalProperties": true
                }
            ]
        })
    }
}
