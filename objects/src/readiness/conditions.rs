//! The conditions of a live object.
//!
//! In: the object's `status.conditions`. Out: the conditions in their order. Fails with [`Malformed`] if the list, or
//! any element, does not have the form of conditions: the odd element could be the one that says "not ready".

use std::fmt;

use serde_json::{Map, Value};

use super::Judgement;
use super::live::{Live, Malformed, word};

/// All conditions of an object, in their order.
pub(super) struct Conditions<'o>(Vec<Condition<'o>>);

/// One condition. Its text is a sentence for people.
pub(super) struct Condition<'o> {
    /// The condition's `type`.
    pub(super) name: &'o str,
    /// True, False, Unknown, or anything else that the controller wrote; empty if it wrote nothing.
    status: &'o str,
    /// The condition's reason; empty if it has none.
    pub(super) reason: &'o str,
    position: usize,
    fields: &'o Map<String, Value>,
}

impl<'o> Conditions<'o> {
    pub(super) fn of(live: &Live<'o>) -> Result<Self, Malformed> {
        let listed = live.list("status.conditions")?.iter().enumerate();
        listed.map(|(position, value)| Condition::read(position, value)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Condition<'o>> {
        self.0.iter()
    }

    /// Finds the condition of a type.
    ///
    /// Fails if there are several with different statuses: nothing says which of them is the current one.
    pub(super) fn find(&self, name: &str) -> Result<Option<&Condition<'o>>, Malformed> {
        let mut found = self.iter().filter(|condition| condition.name == name);
        let first = found.next();
        match first {
            Some(first) if found.any(|other| other.status != first.status) => {
                Err(Malformed::new("status.conditions", "free of contradictions"))
            }
            first => Ok(first),
        }
    }

    /// Whether the condition of a type exists, and has the status True.
    pub(super) fn is_true(&self, name: &str) -> Result<bool, Malformed> {
        Ok(self.find(name)?.is_some_and(Condition::is_true))
    }

    /// The judgement about the first of these types whose condition is missing or not True; `None` if all are True.
    pub(super) fn first_not_true(&self, names: &[impl AsRef<str>]) -> Result<Option<Judgement>, Malformed> {
        for name in names.iter().map(AsRef::as_ref) {
            match self.find(name)? {
                Some(condition) if condition.is_true() => {}
                Some(condition) => return Ok(Some(Judgement::in_progress(condition.to_string()))),
                None => return Ok(Some(Judgement::in_progress(format!("it has no condition {name} yet")))),
            }
        }
        Ok(None)
    }
}

impl<'o> Condition<'o> {
    fn read(position: usize, value: &'o Value) -> Result<Self, Malformed> {
        let Value::Object(fields) = value else {
            return Err(Malformed::new(format!("status.conditions[{position}]"), "a mapping"));
        };
        let text = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(value) => {
                value.as_str().ok_or_else(|| Malformed::new(format!("status.conditions[{position}].{key}"), "text"))
            }
        };
        let (name, status, reason) = (text("type")?, text("status")?, text("reason")?);
        if name.is_empty() {
            return Err(Malformed::new(format!("status.conditions[{position}].type"), "set"));
        }
        Ok(Self { name, status, reason, position, fields })
    }

    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(super) fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// The generation about which the condition speaks; none if the condition does not tell.
    pub(super) fn observed_generation(&self) -> Result<Option<i64>, Malformed> {
        let key = "observedGeneration";
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_i64()
                .map(Some)
                .ok_or_else(|| Malformed::new(format!("status.conditions[{}].{key}", self.position), "a whole number")),
        }
    }
}

impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its condition {} is {}", word(self.name), word(self.status))?;
        match self.reason {
            "" => Ok(()),
            reason => write!(f, " because of {}", word(reason)),
        }
    }
}
