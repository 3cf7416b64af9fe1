//! Reads the settings of one object of a bundle from its annotations.

use jiff::SignedDuration;
use lifecycle_config::duration::{Units, parse};
use serde_json::Value;

use super::{Policies, Policy};

/// What the annotations of one object say about its handling; the bundle's defaults where they say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The object's policies.
    pub policies: Policies,
    /// The wave in which the object is applied.
    pub apply_order: i16,
    /// The wave in which the object is deleted.
    pub delete_order: i16,
    /// The wave after which the object is deleted although it is still desired; none if it stays.
    pub purge_order: Option<i16>,
    /// How to judge whether the object is ready, as its author wrote it.
    pub status_hint: Option<String>,
}

/// An annotation whose value is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the annotation `{key}` cannot have the value {value}: {valid}")]
pub struct Fault {
    /// The key with its prefix.
    pub key: String,
    /// The value as JSON, since it may be no text.
    pub value: Value,
    /// What to write there instead.
    pub valid: String,
}

impl Settings {
    /// The names of the annotations, without the prefix.
    pub const NAMES: [&str; 9] = [
        "adoption-policy",
        "reconcile-policy",
        "update-policy",
        "delete-policy",
        "reapply-interval",
        "apply-order",
        "delete-order",
        "purge-order",
        "status-hint",
    ];

    /// Reads the annotations `PREFIX/adoption-policy` and so on of a rendered object.
    ///
    /// # Errors
    /// One [`Fault`] for each bad value, so that an author mends all of them at once.
    pub fn read(object: &Value, prefix: &str, defaults: &Policies) -> Result<Self, Vec<Fault>> {
        let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
        let mut reader = Reader { annotations, prefix, faults: Vec::new() };
        let settings = Self {
            policies: Policies {
                adoption: reader.policy("adoption-policy", defaults.adoption),
                reconcile: reader.policy("reconcile-policy", defaults.reconcile),
                update: reader.policy("update-policy", defaults.update),
                delete: reader.policy("delete-policy", defaults.delete),
                reapply: reader.value("reapply-interval", interval).unwrap_or(defaults.reapply),
            },
            apply_order: reader.value("apply-order", order).unwrap_or_default(),
            delete_order: reader.value("delete-order", order).unwrap_or_default(),
            purge_order: reader.value("purge-order", order),
            status_hint: reader.value("status-hint", |text| Ok(text.to_owned())),
        };
        if reader.faults.is_empty() { Ok(settings) } else { Err(reader.faults) }
    }
}

/// Reads one annotation after the other, and collects what is wrong with them.
struct Reader<'a> {
    annotations: Option<&'a Value>,
    prefix: &'a str,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn policy<P: Policy>(&mut self, name: &str, default: P) -> P {
        let value = self.value(name, |text| P::parse(text).map_err(|unknown| unknown.to_string()));
        value.flatten().unwrap_or(default)
    }

    /// The value of an annotation; none if the annotation is absent or, with a fault, if the value is bad.
    fn value<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let annotations = self.annotations?;
        let key = format!("{}/{name}", self.prefix);
        let value = annotations.get(&key)?;
        // An order without quotes is a number in YAML, and the API server accepts text alone.
        let text = value.as_str().ok_or_else(|| "write it as text, in quotes".to_owned());
        match text.and_then(parse) {
            Ok(parsed) => Some(parsed),
            Err(valid) => {
                self.faults.push(Fault { key, value: value.clone(), valid });
                None
            }
        }
    }
}

fn order(text: &str) -> Result<i16, String> {
    text.parse().map_err(|_| format!("write a whole number from {} to {}", i16::MIN, i16::MAX))
}

/// Parses how long an object is not applied again.
///
/// # Errors
/// What to write instead.
pub fn interval(text: &str) -> Result<SignedDuration, String> {
    let duration = parse(text, Units::Go).ok().and_then(|duration| SignedDuration::try_from(duration).ok());
    duration.ok_or_else(|| "write a duration of zero or more, such as 3m33s or 24h".to_owned())
}
