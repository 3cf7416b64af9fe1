//! The configuration, and the pack's resources.

use std::path::PathBuf;

use promptkit_deploy::error::{Category, DeployError};
use promptkit_deploy::provider::Checked;
use serde_json::Value;

/// The configuration's JSON Schema.
pub(crate) const SCHEMA: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {
    "directory": {"type": "string"},
    "workspace": {"type": "string", "pattern": "^[a-z0-9-]+$"},
    "dry_run": {"type": "boolean"}
  },
  "required": ["directory", "workspace"],
  "additionalProperties": false
}"#;

/// A checked configuration.
pub(crate) struct Config {
    pub(crate) directory: PathBuf,
    pub(crate) workspace: String,
    pub(crate) is_dry_run: bool,
}

pub(crate) fn read(config: &Value) -> Checked<Config> {
    let mut errors = Vec::new();
    for key in config.as_object().into_iter().flat_map(|members| members.keys()) {
        if !["directory", "workspace", "dry_run"].contains(&key.as_str()) {
            errors.push(format!("{key}: unknown; the keys are directory, workspace and dry_run"));
        }
    }
    let mut text = |key: &str| {
        let value = config[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if value.is_none() {
            errors.push(format!("{key}: missing; set it to a text"));
        }
        value
    };
    let (directory, workspace) = (text("directory"), text("workspace"));
    let is_dry_run = config["dry_run"].as_bool().unwrap_or_default();
    let config = directory.zip(workspace).map(|(directory, workspace)| Config {
        directory: directory.into(),
        workspace,
        is_dry_run,
    });
    Checked { config, errors, warnings: Vec::new() }
}

/// What a pack deploys.
pub(crate) struct Desired {
    pub(crate) pack: String,
    pub(crate) version: String,
    /// Type and name: tools first, agents after them.
    pub(crate) resources: Vec<(String, String)>,
    /// How many events are written that say nothing.
    pub(crate) chatter: u64,
}

pub(crate) fn desired(pack: &str) -> Result<Desired, DeployError> {
    let unreadable =
        |error| DeployError::new(Category::Configuration, "plan", "the pack is not valid JSON").because(&error);
    let pack: Value = serde_json::from_str(pack).map_err(unreadable)?;
    let names = |kind: &str, members: &Value| {
        members.as_object().into_iter().flatten().map(|(name, _)| (kind.to_owned(), name.clone())).collect::<Vec<_>>()
    };
    let text = |member: &str| pack[member].as_str().unwrap_or_default().to_owned();
    let resources = [names("tool", &pack["tools"]), names("agent", &pack["agents"]["members"])].concat();
    Ok(Desired {
        pack: text("id"),
        version: text("version"),
        resources,
        chatter: pack["chatter"].as_u64().unwrap_or_default(),
    })
}
