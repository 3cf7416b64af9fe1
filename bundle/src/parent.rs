//! The parent of a bundle: the ConfigMap that keeps the set's [`Memory`], and names its members as `ApplySets` do.
//!
//! In: the live parent, if there is one. Out: the memory that it has; the parent to write. Fails: if the live parent is another
//! tool's, or cannot be understood; then nothing is known about the set.

use std::collections::BTreeSet;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::observation::Version;
use serde_json::{Value, json};

use super::applyset::{self, Contents};
use super::memory::{Memory, Stored};

/// The key of the parent's `data` that holds the memory. It says as much as the annotations, so that an edit of these loses nothing.
const MEMORY: &str = "memory";

/// Reads what the live parent has.
///
/// # Errors
/// [`FailReason::DiscoveryFailed`]: it belongs to another tool, or somebody changed what it says.
pub fn read(live: &Version) -> Result<Stored, Failure> {
    let refused = |cause: String| {
        let message = format!("the parent ConfigMap {}/{}: {cause}", live.namespace(), live.name());
        Failure::new(FailReason::DiscoveryFailed, message)
    };
    let contents = Contents::read(live.object()).map_err(|error| refused(error.to_string()))?;
    let text = live.object().pointer("/data").and_then(|data| data.get(MEMORY)).and_then(Value::as_str);
    let mut memory: Memory = text.map_or_else(|| Ok(Memory::default()), serde_json::from_str).map_err(|error| {
        refused(format!(
            "its data `{MEMORY}` was changed by somebody else ({error}); write `{{}}` there, and all objects that have \
             served and were deleted are created once more"
        ))
    })?;
    let own = live.namespace();
    let others = |namespaces: &BTreeSet<String>| -> BTreeSet<String> {
        namespaces.iter().filter(|namespace| *namespace != own).cloned().collect()
    };
    let is_exact = memory.kinds.keys().all(|kind| contents.group_kinds.contains(kind))
        && others(&contents.namespaces) == others(&memory.namespaces);
    let unlisted = contents.group_kinds.into_iter().filter(|kind| !memory.kinds.contains_key(kind));
    memory.unlisted = unlisted.collect();
    memory.namespaces.extend(others(&contents.namespaces));
    let generation = live.generation().filter(|_| applyset::is_marked(live.object()));
    Ok(Stored { memory, generation, is_exact })
}

/// Writes the memory into the stamped object of the parent. `version` is this tool's.
pub fn write(memory: &Memory, parent: &mut Value, version: &str) {
    let contents =
        Contents { group_kinds: memory.group_kinds().cloned().collect(), namespaces: memory.namespaces.clone() };
    contents.write(parent, version);
    // Texts and times have a form in JSON.
    parent["data"] = json!({ MEMORY: serde_json::to_string(memory).unwrap_or_default() });
}

#[cfg(test)]
mod tests;
