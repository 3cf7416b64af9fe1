//! The `PromptPack`, which names the version and where its text is.
//!
//! In: the pack, and the default provider. Out: the spec for each target; today's API takes the text itself. Fails: without a
//! version, where Kubernetes would refuse the object.

use promptkit_pack::rule::VERSION;
use serde_json::{Map, Value, json};

use super::{Making, Surface, config_map, present};

pub(super) fn content(making: &Making<'_>) -> Map<String, Value> {
    let (pack, config) = (making.inputs.pack, making.inputs.config);
    match making.inputs.surface {
        Surface::Versioned => {
            let spec = present([
                ("packId", Some(json!(pack.id))),
                ("version", Some(json!(pack.version))),
                ("configMapRef", Some(json!(making.names.config_map))),
                ("providerRef", config.provider_of(None).map(|provider| json!(provider.reference))),
                ("description", pack.description.as_ref().map(|text| json!(text))),
            ]);
            present([("spec", Some(spec.into()))])
        }
        Surface::Current => {
            let skills = Some(&config.skills).filter(|skills| !skills.is_empty());
            let spec = present([
                ("version", Some(json!(pack.version))),
                ("skills", skills.map(|skills| json!(skills))),
                ("skillsConfig", config.skills_config.clone()),
            ]);
            present([("spec", Some(spec.into())), ("content", Some(json!({ config_map::KEY: pack.text })))])
        }
        Surface::Cluster => {
            if !VERSION.accepts(&pack.version) {
                let null = Value::Null;
                let place = making.of_pack.root(&null).key("version");
                place.refuse(format!("`{}` is not {}", pack.version, VERSION.pattern), VERSION.cure.to_owned());
            }
            let source = json!({ "type": "configmap", "configMapRef": { "name": making.names.config_map } });
            let rollout = json!({ "type": "immediate" });
            present([("spec", Some(json!({ "source": source, "version": pack.version, "rollout": rollout })))])
        }
    }
}
