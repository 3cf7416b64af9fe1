//! The kinds of resources that the API serves, and how they depend on each other.
//!
//! In: the `entities` of the configuration. Out: a [`Registry`]. Fails: with every fault of the entities, each with its
//! place. Pure.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Deserialize;

/// One kind, as the configuration has it; the keys are those of the real API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntitySpec {
    /// The kind, such as `Cluster`.
    #[serde(default)]
    pub kind: String,
    /// The kind in paths, such as `clusters`.
    #[serde(default)]
    pub plural: String,
    /// The kind of the parent, without which no resource of this kind can be created.
    pub parent_kind: Option<String>,
    /// What becomes of these resources when their parent is deleted: `restrict` refuses the deletion while there are any, `cascade` deletes them too, `orphan` lets them live on without a parent. `restrict` by default.
    pub on_parent_delete: Option<String>,
    /// The adapters whose reports decide whether a resource is reconciled, and when a deleted one is removed.
    #[serde(default)]
    pub required_adapters: Vec<String>,
    /// The least length of a name; no limit by default.
    pub name_min_len: Option<usize>,
    /// The greatest length of a name; 100 by default.
    pub name_max_len: Option<usize>,
    /// The kinds of references that a resource may have to others.
    #[serde(default)]
    pub references: Vec<ReferenceSpec>,
}

/// A reference that a resource may have to others.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceSpec {
    /// The role of the other resources, such as `wif_config`.
    #[serde(default)]
    pub ref_type: String,
    /// The kind of the other resources.
    #[serde(default)]
    pub target_kind: String,
    /// The least number of them; 0 by default.
    #[serde(default)]
    pub min: usize,
    /// The greatest number of them; 0, the default, means no limit.
    #[serde(default)]
    pub max: usize,
}

/// What becomes of a resource when its parent is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnParentDelete {
    /// The parent cannot be deleted before.
    Restrict,
    /// It is deleted with its parent.
    Cascade,
    /// It lives on without a parent.
    Orphan,
}

/// One kind of resource.
#[derive(Debug, Clone)]
pub struct Entity {
    /// The kind, such as `Cluster`.
    pub kind: String,
    /// The kind in paths, such as `clusters`.
    pub plural: String,
    /// The kind of the parent.
    pub parent: Option<String>,
    /// What becomes of a resource when its parent is deleted.
    pub on_parent_delete: OnParentDelete,
    /// The adapters whose reports decide.
    pub required_adapters: Vec<String>,
    /// The lengths that a name may have.
    pub name_length: RangeInclusive<usize>,
    /// The references that a resource may have.
    pub references: Vec<ReferenceRule>,
}

/// A reference that a resource may have to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceRule {
    /// The role of the other resources.
    pub ref_type: String,
    /// Their kind.
    pub target_kind: String,
    /// How many there may be.
    pub count: RangeInclusive<usize>,
}

/// A fault of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The index of the entity.
    pub entity: usize,
    /// The key of the entity.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
}

/// The kinds that the API serves.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    entities: Vec<Entity>,
}

/// Words of the API's paths, which no plural may be.
const RESERVED: [&str; 4] = ["resources", "statuses", "force-delete", "openapi"];
/// The length of the column `resources.name`.
const LONGEST_NAME: usize = 100;

impl Registry {
    /// Checks the entities.
    ///
    /// # Errors
    /// Every fault of the entities.
    pub fn new(specs: &[EntitySpec]) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut fault = |entity: usize, key: &'static str, message: String| {
            faults.push(Fault { entity, key, message });
        };
        let kinds: BTreeSet<_> = specs.iter().map(|spec| spec.kind.as_str()).collect();
        let (mut seen, mut plurals) = (BTreeSet::new(), BTreeSet::new());
        let mut entities = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            if spec.kind.is_empty() || !seen.insert(&spec.kind) {
                fault(index, "kind", format!("\"{}\" is empty or used twice", spec.kind));
            }
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if spec.plural.is_empty() || !spec.plural.chars().all(is_plain) || !plurals.insert(&spec.plural) {
                let message = format!("\"{}\" is used twice, or is no word of lower-case letters", spec.plural);
                fault(index, "plural", message);
            }
            if RESERVED.contains(&spec.plural.as_str()) {
                fault(index, "plural", format!("\"{}\" is a path of the API", spec.plural));
            }
            if let Some(parent) = &spec.parent_kind
                && !kinds.contains(parent.as_str())
            {
                fault(index, "parent_kind", format!("\"{parent}\" is not among the entities"));
            }
            let on_parent_delete = match spec.on_parent_delete.as_deref() {
                None | Some("" | "restrict") => OnParentDelete::Restrict,
                Some("cascade") => OnParentDelete::Cascade,
                Some("orphan") => OnParentDelete::Orphan,
                Some(other) => {
                    fault(index, "on_parent_delete", format!("\"{other}\" is not restrict, cascade or orphan"));
                    continue;
                }
            };
            let least = spec.name_min_len.unwrap_or_default().max(1);
            let most = spec.name_max_len.filter(|most| *most > 0).unwrap_or(LONGEST_NAME);
            if least > most || most > LONGEST_NAME {
                let message = format!("no name has {least} to {most} characters; the most are {LONGEST_NAME}");
                fault(index, "name_max_len", message);
            }
            let mut roles = BTreeSet::new();
            for ReferenceSpec { ref_type, target_kind, min, max } in &spec.references {
                if ref_type.is_empty() || !roles.insert(ref_type) {
                    fault(index, "references", format!("ref_type \"{ref_type}\" is empty or used twice"));
                }
                if !kinds.contains(target_kind.as_str()) {
                    fault(index, "references", format!("target_kind \"{target_kind}\" is not among the entities"));
                }
                if *max != 0 && max < min {
                    fault(index, "references", format!("{ref_type} has a max {max} below its min {min}"));
                }
            }
            entities.push(Entity {
                kind: spec.kind.clone(),
                plural: spec.plural.clone(),
                parent: spec.parent_kind.clone().filter(|parent| !parent.is_empty()),
                on_parent_delete,
                required_adapters: spec.required_adapters.clone(),
                name_length: least..=most,
                references: spec.references.iter().map(rule).collect(),
            });
        }
        let registry = Self { entities };
        for (index, entity) in registry.entities.iter().enumerate() {
            let parent = |entity: &Entity| entity.parent.iter().cloned().collect();
            if registry.reaches(entity, &entity.kind, parent) {
                fault(index, "parent_kind", format!("{} is its own ancestor", entity.kind));
            }
            let needs = |entity: &Entity| {
                let required = entity.references.iter().filter(|rule| *rule.count.start() > 0);
                required.map(|rule| rule.target_kind.clone()).collect()
            };
            if registry.reaches(entity, &entity.kind, needs) {
                let message = format!("{} needs a reference to itself, so none can be the first", entity.kind);
                fault(index, "references", message);
            }
        }
        if faults.is_empty() { Ok(registry) } else { Err(faults) }
    }

    /// Whether steps from one kind to the next lead from `from` to `to`.
    fn reaches(&self, from: &Entity, to: &str, next: impl Fn(&Entity) -> Vec<String>) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), next(from));
        while let Some(kind) = open.pop() {
            if kind == to {
                return true;
            }
            if seen.insert(kind.clone())
                && let Some(entity) = self.of_kind(&kind)
            {
                open.extend(next(entity));
            }
        }
        false
    }

    /// The entity of a kind; case matters.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.kind == kind)
    }

    /// The entity that a path names.
    #[must_use]
    pub fn of_plural(&self, plural: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.plural == plural)
    }

    /// Every kind, in the order of the configuration.
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }
}

fn rule(spec: &ReferenceSpec) -> ReferenceRule {
    let most = if spec.max == 0 { usize::MAX } else { spec.max };
    ReferenceRule { ref_type: spec.ref_type.clone(), target_kind: spec.target_kind.clone(), count: spec.min..=most }
}

#[cfg(test)]
mod tests;
