//! The adapter's state between two calls, and whose it is.
//!
//! In: the text that the client kept. Out: the state, or an empty one with a warning where the text is another environment's
//! or another scope's; the client has one file for all of them, and `destroy -e b` must not delete what `a` deployed. Fails: on
//! text that is no state, because to go on as if nothing were deployed would leave everything behind.
//!
//! States of the Go adapters have no owner and are taken over. They can read ours: the members that they know are the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::{ResourceStatus, nullable};

/// The environment that the client uses when nobody named one.
const DEFAULT_ENVIRONMENT: &str = "default";

/// Whose state it is: a state is never used for another owner's call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// The provider's name.
    pub provider: String,
    /// The environment's name.
    pub environment: String,
    /// Where the provider deploys to: a workspace, or an account and a region.
    pub scope: String,
}

impl Owner {
    /// Names an owner; no environment is the client's default one.
    #[must_use]
    pub fn new(provider: &str, environment: &str, scope: &str) -> Self {
        let environment = if environment.is_empty() { DEFAULT_ENVIRONMENT } else { environment };
        Self { provider: provider.to_owned(), environment: environment.to_owned(), scope: scope.to_owned() }
    }

    /// Says how the owner of a state differs from this one. What was not written cannot differ.
    fn difference(&self, state: &State) -> Option<String> {
        let rows = [
            ("provider", &state.provider, &self.provider),
            ("environment", &state.environment, &self.environment),
            ("scope", &state.scope, &self.scope),
        ];
        let other = rows.into_iter().find(|(_, written, own)| !written.is_empty() && written != own);
        other.map(|(what, written, own)| format!("{what} \"{written}\", and this is \"{own}\""))
    }
}

/// One deployed resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The resource's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// AWS's identifier.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arn: String,
    /// Kubernetes' identifier.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Kubernetes' version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// What became of it in the last call.
    pub status: ResourceStatus,
    /// What the provider needs to find it again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Entry {
    /// Describes a resource without identifiers.
    #[must_use]
    pub fn new(kind: &str, name: &str, status: ResourceStatus) -> Self {
        let (arn, uid, resource_version, metadata) = Default::default();
        Self { kind: kind.to_owned(), name: name.to_owned(), arn, uid, resource_version, status, metadata }
    }

    fn is(&self, kind: &str, name: &str) -> bool {
        self.kind == kind && self.name == name
    }
}

/// What is deployed, in the order in which it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The resources. Go writes an empty list as `null`.
    #[serde(deserialize_with = "nullable")]
    pub resources: Vec<Entry>,
    /// The pack's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pack_id: String,
    /// The pack's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The provider's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The environment's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// Where it was deployed to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// What the engine remembers of its resources.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub memory: Value,
}

/// A text that is no state.
#[derive(Debug, thiserror::Error)]
#[error(
    "prior_state is not a state of this adapter; restore the file .promptarena/deploy.state, or remove it to start anew"
)]
pub struct StateError(#[source] serde_json::Error);

/// The state that a call starts from.
#[derive(Debug, Default)]
pub struct Prior {
    /// What is deployed. Entries of a dry run are left out: what they name does not exist.
    pub state: State,
    /// Why the text was not used: it is another owner's.
    pub foreign: Option<String>,
}

/// An array would pass for a structure with its members in order, and an empty one for an empty state.
fn decode(text: &str) -> serde_json::Result<State> {
    serde_json::from_str::<serde_json::Map<_, _>>(text).and_then(|members| serde_json::from_value(members.into()))
}

impl Prior {
    /// Reads the text that the client kept; no text is an empty state.
    ///
    /// # Errors
    /// The text is no state.
    pub fn read(text: &str, owner: &Owner) -> Result<Self, StateError> {
        let mut state = if text.is_empty() { State::default() } else { decode(text).map_err(StateError)? };
        let foreign = owner.difference(&state);
        if foreign.is_some() {
            state = State::default();
        }
        state.resources.retain(|entry| entry.status != ResourceStatus::Planned);
        let Owner { provider, environment, scope } = owner.clone();
        state = State { provider, environment, scope, ..state };
        let warning = |difference| format!("the stored state is ignored: it is of {difference}");
        Ok(Self { state, foreign: foreign.map(warning) })
    }
}

impl State {
    /// Finds an entry.
    #[must_use]
    pub fn find(&self, kind: &str, name: &str) -> Option<&Entry> {
        self.resources.iter().find(|entry| entry.is(kind, name))
    }

    /// Replaces the entry of the same type and name, in its place, or appends it.
    pub fn record(&mut self, entry: Entry) {
        match self.resources.iter_mut().find(|old| old.is(&entry.kind, &entry.name)) {
            Some(old) => *old = entry,
            None => self.resources.push(entry),
        }
    }

    /// Drops an entry: the resource no longer exists.
    pub fn forget(&mut self, kind: &str, name: &str) {
        self.resources.retain(|entry| !entry.is(kind, name));
    }
}

#[cfg(test)]
mod tests;
