//! Checks the bodies of requests that create or change a resource.
//!
//! In: the body's bytes, and the kind. Out: its fields. Fails: with a [`Problem`] that names every invalid field. Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::{Field, Problem};
use crate::registry::Entity;

/// The body of a creation. Unknown fields are ignored, as by the real API.
#[derive(Debug, Clone, Deserialize)]
pub struct Creation {
    /// The kind; must be that of the path.
    #[serde(default)]
    pub kind: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// What the user wants.
    pub spec: Option<Map<String, Value>>,
    /// Labels in Kubernetes' syntax.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// The ids of other resources, by role.
    #[serde(default)]
    pub references: Option<References>,
}

/// The body of a change: each field that is set replaces the resource's own whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What the user wants now.
    pub spec: Option<Map<String, Value>>,
    /// The labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// The ids of other resources, by role.
    pub references: Option<References>,
}

/// The targets of references, by their role.
pub type References = BTreeMap<String, Vec<Target>>;

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Target {
    /// The id of the resource.
    pub id: String,
}

/// The body of a force-deletion.
#[derive(Debug, Clone, Deserialize)]
pub struct Force {
    /// Why the resource is removed without its adapters' consent.
    #[serde(default)]
    pub reason: String,
}

/// The most characters of the reason of a force-deletion.
const LONGEST_REASON: usize = 1024;

static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").ok());
static LABEL_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
    )
    .ok()
});
static LABEL_VALUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$").ok());

/// Decodes a body.
///
/// # Errors
/// The body is not the JSON that it must be.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::malformed(error.to_string()))
}

impl Creation {
    /// Checks every field that can be checked without the database. Returns the spec.
    ///
    /// # Errors
    /// Fields are invalid.
    pub fn check(&self, entity: &Entity) -> Result<Map<String, Value>, Problem> {
        let mut fields = Vec::new();
        if self.kind != entity.kind {
            fields.push(Field::new("kind", format!("must be {}", entity.kind)));
        }
        let length = self.name.chars().count();
        if !entity.name_length.contains(&length) {
            let (least, most) = (entity.name_length.start(), entity.name_length.end());
            fields.push(Field::new("name", format!("must have {least} to {most} characters")));
        } else if !matches(&NAME, &self.name) {
            fields.push(Field::new("name", "must be of lower-case letters, digits, and hyphens between them"));
        }
        if self.spec.is_none() {
            fields.push(Field::new("spec", "is required"));
        }
        check_labels(self.labels.as_ref(), &mut fields);
        check_references(entity, &self.references.clone().unwrap_or_default(), &mut fields);
        match &self.spec {
            Some(spec) if fields.is_empty() => Ok(spec.clone()),
            _ => Err(Problem::invalid(fields)),
        }
    }
}

impl Change {
    /// Checks every field that can be checked without the database.
    ///
    /// # Errors
    /// No field is set, or fields are invalid.
    pub fn check(&self, entity: &Entity) -> Result<(), Problem> {
        if self.spec.is_none() && self.labels.is_none() && self.references.is_none() {
            return Err(Problem::bad_request("the body changes nothing: set spec, labels or references"));
        }
        let mut fields = Vec::new();
        check_labels(self.labels.as_ref(), &mut fields);
        if let Some(references) = &self.references {
            check_references(entity, references, &mut fields);
        }
        if fields.is_empty() { Ok(()) } else { Err(Problem::invalid(fields)) }
    }
}

impl Force {
    /// Checks the reason.
    ///
    /// # Errors
    /// There is none, or it is too long.
    pub fn check(&self) -> Result<(), Problem> {
        let length = self.reason.chars().count();
        if (1..=LONGEST_REASON).contains(&length) {
            return Ok(());
        }
        Err(Problem::invalid(vec![Field::new("reason", format!("must have 1 to {LONGEST_REASON} characters"))]))
    }
}

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn check_labels(labels: Option<&BTreeMap<String, String>>, fields: &mut Vec<Field>) {
    for (key, value) in labels.into_iter().flatten() {
        if key.len() > 255 || !matches(&LABEL_KEY, key) {
            fields.push(Field::new(format!("labels.{key}"), "is no label key of Kubernetes"));
        }
        if !matches(&LABEL_VALUE, value) {
            fields.push(Field::new(format!("labels.{key}"), "has a value that is no label value of Kubernetes"));
        }
    }
}

fn check_references(entity: &Entity, references: &References, fields: &mut Vec<Field>) {
    for role in references.keys() {
        if !entity.references.iter().any(|rule| rule.ref_type == *role) {
            fields.push(Field::new(format!("references.{role}"), format!("{} has no such reference", entity.kind)));
        }
    }
    for rule in &entity.references {
        let count = references.get(&rule.ref_type).map_or(0, Vec::len);
        if !rule.count.contains(&count) {
            let (least, most) = (rule.count.start(), rule.count.end());
            let most = if *most == usize::MAX { String::new() } else { format!(" to {most}") };
            let message = format!("must have {least}{most} {}, and has {count}", rule.target_kind);
            fields.push(Field::new(format!("references.{}", rule.ref_type), message));
        }
    }
}
