//! Resolves the kinds: from the API's configuration file if `api_config_file` names it, else from `kinds`.

use std::collections::BTreeSet;
use std::path::Path as FilePath;
use std::time::Duration;

use lifecycle_config::decode::suggest;
use lifecycle_config::document::{Document, Path};
use lifecycle_config::settings::Resolver;
use lifecycle_service::files;
use serde::Deserialize;

use crate::config::spec::{ExporterSpec, KindSpec};
use crate::config::{Kind, Kinds};

/// The most kinds: the metrics standard allows fewer than 100 values of one label.
const MAX_KINDS: usize = 50;
/// The most adapters of all kinds together: each is a value of the label `adapter`.
const MAX_ADAPTERS: usize = 50;

/// The part of the API's configuration file that the exporter reads; serde ignores the other keys.
#[derive(Deserialize)]
struct ApiConfig {
    #[serde(default)]
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
struct Entity {
    kind: String,
    required_adapters: Option<Vec<String>>,
}

pub(super) fn kinds(r: &mut Resolver<'_>, spec: &ExporterSpec, default: Duration) -> Kinds {
    let root = Path::of_keys("kinds");
    let entities = spec.api_config_file.as_deref().filter(|file| !file.is_empty()).and_then(|file| entities(r, file));
    let mut kinds = match &entities {
        Some(entities) => {
            entities.iter().map(|entity| kind(&entity.kind, entity.required_adapters.as_deref(), default)).collect()
        }
        None => Vec::new(),
    };
    let mut written = BTreeSet::new();
    for (index, spec) in spec.kinds.iter().enumerate() {
        let at = root.index(index);
        if spec.kind.is_empty() || !written.insert(spec.kind.to_lowercase()) {
            let help = "name each kind once; case does not tell kinds apart, as labels are lower case";
            r.error(at.key("kind"), format!("\"{}\" is empty or listed already", spec.kind), help);
        }
        let place = kinds.iter().position(|kind: &Kind| kind.name == spec.kind);
        let place = match (place, &entities) {
            (Some(place), Some(_)) => {
                if spec.required_adapters.is_some() {
                    r.error(
                        at.key("required_adapters"),
                        "contradicts api_config_file, which contains them",
                        "keep one of the two",
                    );
                }
                place
            }
            (None, Some(_)) => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name.as_str()).collect();
                let meant = suggest(&spec.kind, &names).map_or(names.join(", "), ToOwned::to_owned);
                let message = format!("\"{}\" is none of the entities of api_config_file", spec.kind);
                r.error(at.key("kind"), message, format!("write {meant}").as_str());
                continue;
            }
            (_, None) => {
                kinds.push(kind(&spec.kind, spec.required_adapters.as_deref(), default));
                kinds.len() - 1
            }
        };
        if let Some(kind) = kinds.get_mut(place) {
            thresholds(r, &at, spec, kind, default);
        }
    }
    check(r, &root, &kinds);
    Kinds::new(kinds, default)
}

fn kind(name: &str, required_adapters: Option<&[String]>, stuck_after: Duration) -> Kind {
    let required_adapters = required_adapters.unwrap_or_default().to_vec();
    Kind { name: name.to_owned(), required_adapters, stuck_after, stuck_after_deleting: stuck_after }
}

fn thresholds(r: &mut Resolver<'_>, at: &Path, spec: &KindSpec, kind: &mut Kind, default: Duration) {
    kind.stuck_after = r.duration(at.key("stuck_after"), spec.stuck_after.as_deref(), default);
    let deleting = spec.stuck_after_deleting.as_deref();
    kind.stuck_after_deleting = r.duration(at.key("stuck_after_deleting"), deleting, kind.stuck_after);
}

/// Checks rules that apply to kinds from either file.
fn check(r: &mut Resolver<'_>, root: &Path, kinds: &[Kind]) {
    if kinds.is_empty() {
        let message = "no kinds are known: kinds without pending resources have no series, and no metric says \
                       which adapters stuck resources wait on";
        let help = "name the API's own configuration by api_config_file, or list kinds and required_adapters";
        r.warn(root, message, help);
    }
    if kinds.len() > MAX_KINDS {
        r.error(root, format!("has {} kinds", kinds.len()), format!("at most {MAX_KINDS} may be listed").as_str());
    }
    let adapters: BTreeSet<_> = kinds.iter().flat_map(|kind| &kind.required_adapters).collect();
    if adapters.len() > MAX_ADAPTERS {
        let message = format!("require {} different adapters", adapters.len());
        r.error(root, message, format!("at most {MAX_ADAPTERS} may be named, by all kinds together").as_str());
    }
    for (index, kind) in kinds.iter().enumerate() {
        let adapters: BTreeSet<_> = kind.required_adapters.iter().collect();
        if adapters.len() != kind.required_adapters.len() || kind.required_adapters.iter().any(String::is_empty) {
            let message = format!("of \"{}\" has empty or repeated names", kind.name);
            r.error(root.index(index).key("required_adapters"), message, "name each adapter once");
        }
    }
}

/// Reads the entities of the API's configuration file; adds an error and returns `None` if it has none.
fn entities(r: &mut Resolver<'_>, file: &str) -> Option<Vec<Entity>> {
    let key = Path::of_keys("api_config_file");
    let help = "name the configuration file of the lifecycle API, which has `entities`";
    let text = match files::read_text(FilePath::new(file), files::CONFIGURATION) {
        Ok(text) => text,
        Err(error) => {
            r.error(&key, format!("`{file}` cannot be read: {error}"), help);
            return None;
        }
    };
    // The API's file may contain the database's password, so a diagnostic must not quote it.
    let api: Option<ApiConfig> = Document::parse_secret(file, &text)
        .ok()
        .and_then(|document| serde_json::from_value(document.root().to_value()).ok());
    match api {
        Some(ApiConfig { entities }) if !entities.is_empty() => Some(entities),
        Some(_) => {
            r.error(&key, format!("`{file}` has no entities"), help);
            None
        }
        None => {
            r.error(&key, format!("`{file}` is not a configuration file of the API"), help);
            None
        }
    }
}
