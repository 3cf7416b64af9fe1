//! Makes drafts the objects of a bundle for one event: places them, and finds what keeps them from being written.
//!
//! In: the objects of the manifests, and what is the same for all of them. Out: [`Rendered`] objects, ready to be written. Fails:
//! with everything that is wrong with any object, each with its cure. All objects are prepared before the first is written, so
//! that one bad object keeps the whole bundle from being written.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::kinds::is_namespaced;
use serde_json::Value;

use super::checks;
use super::draft::Draft;
use super::member::Rendered;
use super::setting::Setting;

/// An object of the manifests.
#[derive(Debug)]
pub enum Source {
    /// The same at each event, and drafted when the task was loaded.
    Drafted(Arc<Draft>),
    /// Rendered for one event.
    Rendered(Value),
}

impl From<Value> for Source {
    fn from(rendered: Value) -> Self {
        Self::Rendered(rendered)
    }
}

/// Why the objects of a bundle cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The place of the object among all; none if the fault is none of a single object.
    pub source: Option<usize>,
    /// The fault and its cure, with the object's name.
    pub text: String,
}

/// Prepares all objects of a bundle.
///
/// # Errors
/// Each fault of each object, with the object's name.
pub fn prepare(
    objects: impl IntoIterator<Item = impl Into<Source>>,
    setting: &Setting<'_>,
) -> Result<Vec<Rendered>, Vec<String>> {
    prepare_in_place(objects, setting).map_err(|faults| faults.into_iter().map(|fault| fault.text).collect())
}

/// As [`prepare`]; the faults tell their objects.
///
/// # Errors
/// Each fault of each object.
pub fn prepare_in_place(
    objects: impl IntoIterator<Item = impl Into<Source>>,
    setting: &Setting<'_>,
) -> Result<Vec<Rendered>, Vec<Fault>> {
    // The objects are stamped when they are written; that this cannot fail then is known before the first of them is.
    setting.marks.check().map_err(|failure| vec![Fault { source: None, text: failure.message }])?;
    let (mut drafts, mut faults) = (Vec::new(), Vec::new());
    let at = |source: usize| move |text: String| Fault { source: Some(source), text };
    for (source, object) in objects.into_iter().enumerate() {
        match object.into() {
            Source::Drafted(draft) => drafts.push((source, draft)),
            Source::Rendered(object) => match Draft::new(object, setting.prefix, &setting.defaults) {
                Ok(draft) => drafts.push((source, Arc::new(draft))),
                Err(found) => faults.extend(found.into_iter().map(at(source))),
            },
        }
    }
    let scopes: BTreeMap<GroupKind, bool> = drafts.iter().filter_map(|(_, draft)| scope(draft)).collect();
    let sources: Vec<usize> = drafts.iter().map(|(source, _)| *source).collect();
    let mut prepared = Vec::with_capacity(drafts.len());
    for (source, draft) in drafts {
        let identity = identity(&draft, &scopes, &setting.namespace);
        let found = setting.marks.faults(&draft.object, &identity);
        faults.extend(found.into_iter().map(|fault| format!("{identity}: {fault}")).map(at(source)));
        let digest = draft.digest.text(draft.settings.policies.reconcile, setting.generation);
        prepared.push(Rendered { draft, identity, digest });
    }
    let of_set = checks::duplicates(&prepared).into_iter().chain(checks::deadlocks(&prepared));
    faults.extend(of_set.map(|(place, text)| Fault { source: sources.get(place).copied(), text }));
    if faults.is_empty() { Ok(prepared) } else { Err(faults) }
}

/// Whether the kind that an object defines is namespaced; none if it defines no kind.
fn scope(draft: &Draft) -> Option<(GroupKind, bool)> {
    let kind = &draft.reference.kind;
    if !GroupKind::new(&kind.group, &kind.kind).is_custom_resource_definition() {
        return None;
    }
    let text = |pointer: &str| draft.object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let kind = GroupKind { group: text("/spec/group")?, kind: text("/spec/names/kind")? };
    Some((kind, text("/spec/scope")? == "Namespaced"))
}

/// Puts an object into its namespace. Whether a kind that neither Kubernetes nor the set defines is namespaced is known to the
/// author alone.
fn identity(draft: &Draft, scopes: &BTreeMap<GroupKind, bool>, namespace: &str) -> Identity {
    let mut identity = Identity::from(draft.reference.clone());
    match is_namespaced(&draft.reference.kind).or_else(|| scopes.get(&identity.kind).copied()) {
        Some(true) => drop(identity.namespace.get_or_insert_with(|| namespace.to_owned())),
        Some(false) => identity.namespace = None,
        None => {}
    }
    identity
}
